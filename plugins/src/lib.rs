//! Dunlin's built-in tools, compiled to WebAssembly components and embedded.

/// One embedded component.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// The plugin's name: the folder it stands in.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
    /// SHA-256 of the component, lower-case hexadecimal, computed when it was built.
    pub digest: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// What speaks the Model Context Protocol.
pub mod bridge {
    use super::Embedded;

    include!(concat!(env!("OUT_DIR"), "/bridge.rs"));
}
