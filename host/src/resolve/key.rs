//! Paths as the permission file writes them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path in the permission file: JSON has only Unicode, so bytes that are none are written `%XX`
/// (and `%` itself as `%25`). Nearly every path comes out unchanged.
pub(crate) fn path_to_key(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut key = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '%' {
                key.push_str("%25");
            } else {
                key.push(c);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(key, "%{byte:02X}");
        }
    }
    key
}

/// The reverse of [`path_to_key`]; `%` that starts no two hexadecimal digits stands for itself.
pub(crate) fn key_to_path(key: &str) -> PathBuf {
    let bytes = key.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |i: usize| bytes.get(i).and_then(|b| (*b as char).to_digit(16));
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    PathBuf::from(OsString::from_vec(out))
}
