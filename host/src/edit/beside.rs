//! The names that files have beside their own while they are changed, and how such a name is told again.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::ContentHash;

/// Bytes of the longest name. Source: `NAME_MAX` of Linux.
const MAX_NAME_BYTES: usize = 255;

/// What stands before the hash of the name.
const MARK: &str = ".dunlin-";

/// How each of the names ends.
const TEMPORARY: &str = ".tmp";
const ASIDE: &str = ".removed";
const KEPT: &str = ".kept";

/// What a name beside another one stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behind<'a> {
    /// The file of this name.
    Name(&'a str),
    /// One whose name was too long to be told again.
    Cut,
}

/// What such a name stands for; `None`: it is none of these. Whoever protects a file protects what it was.
pub(crate) fn behind(beside: &str) -> Option<Behind<'_>> {
    let (name, rest) = beside.strip_prefix('.')?.rsplit_once(MARK)?;
    if ![TEMPORARY, ASIDE, KEPT]
        .iter()
        .any(|end| rest.ends_with(end))
    {
        return None;
    }
    Some(match beside.len() < MAX_NAME_BYTES {
        true => Behind::Name(name),
        false => Behind::Cut,
    })
}

/// The name under which a file is written before it takes its place.
pub(crate) fn temporary_name(name: &OsStr) -> OsString {
    name_beside(name, TEMPORARY)
}

/// The name that a file has from when it gives up its own until it is removed.
pub(crate) fn aside_name(name: &OsStr) -> OsString {
    name_beside(name, ASIDE)
}

/// A name for a file that can neither be removed nor get its name back. Unlike the other two it is another one each time:
/// what has it is somebody's.
pub(crate) fn kept_name(name: &OsStr) -> OsString {
    let micros = jiff::Timestamp::now().as_microsecond();
    name_beside(name, &format!("-{micros}{KEPT}"))
}

/// A hidden name for a file beside this one. Long names are cut: a name has at most 255 bytes.
fn name_beside(name: &OsStr, suffix: &str) -> OsString {
    let bytes = name.as_bytes();
    let hash = ContentHash::of(bytes).to_hex();
    let suffix = format!("{MARK}{}{suffix}", &hash[..8]);
    let room = MAX_NAME_BYTES - ".".len() - suffix.len();
    let mut beside = OsString::from(".");
    beside.push(OsStr::from_bytes(&bytes[..bytes.len().min(room)]));
    beside.push(suffix);
    beside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_beside_another_one_is_told_again() {
        for make in [temporary_name, aside_name, kept_name] {
            for name in [".env", "a.txt", "a.dunlin-x.tmp"] {
                let beside = make(name.as_ref()).into_string().unwrap();
                assert_eq!(behind(&beside), Some(Behind::Name(name)), "{beside}");
            }
            let long = "a".repeat(MAX_NAME_BYTES);
            let beside = make(long.as_ref()).into_string().unwrap();
            assert_eq!(beside.len(), MAX_NAME_BYTES);
            assert_eq!(behind(&beside), Some(Behind::Cut));
        }
        for other in [
            "",
            ".env",
            "a.dunlin-1.tmp",
            ".a.dunlin-1",
            ".a.dunlin-1.txt",
            ".tmp",
        ] {
            assert_eq!(behind(other), None, "{other}");
        }
    }
}
