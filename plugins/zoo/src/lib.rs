//! The zoo: hostile guests, one for each bad thing that a plugin may try, and what has to come of it.
//!
//! The guests stand in `plugins/zoo/guests` and are compiled by the build script. [`TRIALS`] says of each what it tries and which
//! line has to stop it; the tests hold the host to it, and so does `dunlin plugin zoo`, on the machine of whoever asks.

mod trial;
mod trials;
mod wasi;

use std::io::Read;
use std::sync::LazyLock;

pub use trial::{End, Trial, line_of};
pub use trials::TRIALS;
pub use wasi::{Attempt, WASI};

/// A guest that behaves: whatever the others do, it works afterwards.
pub const WELL_BEHAVED: &str = "echo";

/// Bytes that are unpacked at once.
const BUFFER_BYTES: usize = 64 * 1024;

static PIECE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guests.br"));

include!(concat!(env!("OUT_DIR"), "/guests.rs"));

/// One compiled guest.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    /// The folder it stands in: what it tries.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
    /// SHA-256 of the component, lower-case hexadecimal, computed when it was built.
    pub digest: &'static str,
}

/// All of them, sorted by name. Unpacks them at the first call, which takes some milliseconds.
pub fn all() -> &'static [Guest] {
    static ALL: LazyLock<Vec<Guest>> = LazyLock::new(unpack);
    &ALL
}

/// The guest of this name.
pub fn guest(name: &str) -> Option<Guest> {
    all().iter().find(|guest| guest.name == name).copied()
}

fn unpack() -> Vec<Guest> {
    let mut bytes = Vec::new();
    // What cannot be unpacked is missing, and whoever looks for it says so.
    let _ = brotli_decompressor::Decompressor::new(PIECE, BUFFER_BYTES).read_to_end(&mut bytes);
    let bytes: &'static [u8] = bytes.leak();
    let mut start = 0;
    let guest = |&(name, end, digest): &(&'static str, usize, &'static str)| {
        let range = start..end;
        start = end;
        let bytes = bytes.get(range)?;
        Some(Guest {
            name,
            bytes,
            digest,
        })
    };
    PACKED.iter().filter_map(guest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guest_is_a_component() {
        const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
        assert_eq!(all().len(), PACKED.len());
        for Guest { name, bytes, .. } in all() {
            assert!(bytes.starts_with(COMPONENT), "{name} is not a component");
        }
        assert!(guest(WELL_BEHAVED).is_some());
    }

    #[test]
    fn every_guest_is_tried() {
        // The measure of the others, that of a call's time, one whose harm is how much it writes in the background, and one that
        // has settings: tests of their own see to these.
        let tried = |name: &str| {
            [WELL_BEHAVED, "bare", "behind", "settled"].contains(&name)
                || name == "wasi"
                || TRIALS.iter().any(|trial| trial.guest == name)
        };
        let names = all().iter().map(|guest| guest.name);
        let forgotten: Vec<_> = names.filter(|name| !tried(name)).collect();
        assert!(forgotten.is_empty(), "{forgotten:?}");
        for trial in TRIALS {
            assert!(guest(trial.guest).is_some(), "{} is missing", trial.guest);
        }
    }
}
