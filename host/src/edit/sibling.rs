//! The names that files have beside their own while they are changed, and how such a name is recognised.

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
pub(crate) enum Original<'a> {
    /// The file of this name.
    Name(&'a str),
    /// One whose name was too long to be recognised.
    Cut,
}

/// What such a name stands for; `None`: it is none of these. Whoever protects a file protects what it was.
pub(crate) fn original(sibling: &str) -> Option<Original<'_>> {
    let (name, rest) = sibling.strip_prefix('.')?.rsplit_once(MARK)?;
    if ![TEMPORARY, ASIDE, KEPT]
        .iter()
        .any(|end| rest.ends_with(end))
    {
        return None;
    }
    Some(match sibling.len() < MAX_NAME_BYTES {
        true => Original::Name(name),
        false => Original::Cut,
    })
}

/// The name under which a file is written before it takes its place.
pub(crate) fn temporary_name(name: &OsStr) -> OsString {
    sibling_name(name, TEMPORARY)
}

/// The name that a file has from when it gives up its own until it is removed.
pub(crate) fn aside_name(name: &OsStr) -> OsString {
    sibling_name(name, ASIDE)
}

/// A name for a file that can neither be removed nor get its name back. Unlike the other two it is another one each time:
/// what has it is somebody's.
pub(crate) fn kept_name(name: &OsStr) -> OsString {
    let micros = jiff::Timestamp::now().as_microsecond();
    sibling_name(name, &format!("-{micros}{KEPT}"))
}

/// A hidden name for a file beside this one. Long names are cut: a name has at most 255 bytes.
fn sibling_name(name: &OsStr, suffix: &str) -> OsString {
    let bytes = name.as_bytes();
    let hash = ContentHash::of(bytes).to_hex();
    let suffix = format!("{MARK}{}{suffix}", &hash[..8]);
    let room = MAX_NAME_BYTES - ".".len() - suffix.len();
    let mut sibling = OsString::from(".");
    sibling.push(OsStr::from_bytes(&bytes[..bytes.len().min(room)]));
    sibling.push(suffix);
    sibling
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sibling_name_is_recognised() {
        for make in [temporary_name, aside_name, kept_name] {
            for name in [".env", "a.txt", "a.dunlin-x.tmp"] {
                let sibling = make(name.as_ref()).into_string().unwrap();
                assert_eq!(original(&sibling), Some(Original::Name(name)), "{sibling}");
            }
            let long = "a".repeat(MAX_NAME_BYTES);
            let sibling = make(long.as_ref()).into_string().unwrap();
            assert_eq!(sibling.len(), MAX_NAME_BYTES);
            assert_eq!(original(&sibling), Some(Original::Cut));
        }
        for other in [
            "",
            ".env",
            "a.dunlin-1.tmp",
            ".a.dunlin-1",
            ".a.dunlin-1.txt",
            ".tmp",
        ] {
            assert_eq!(original(other), None, "{other}");
        }
    }
}
