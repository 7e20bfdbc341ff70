//! The hostile guests, compiled to components: one plugin for each bad thing that a plugin may try.

/// One embedded component.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// What it tries: the folder it stands in.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
    /// SHA-256 of the component, lower-case hexadecimal, computed when it was built.
    pub digest: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/guests.rs"));

/// The guest that stands in the folder `name`.
///
/// # Panics
///
/// When there is none.
pub fn guest(name: &str) -> Embedded {
    *ALL.iter()
        .find(|guest| guest.name == name)
        .unwrap_or_else(|| panic!("there is no guest named {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guest_is_a_component() {
        const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
        for Embedded { name, bytes, .. } in ALL {
            assert!(bytes.starts_with(COMPONENT), "{name} is not a component");
        }
        assert_eq!(guest("echo").name, "echo");
    }
}
