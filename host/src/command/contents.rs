//! The content of files that a yes to a command line is bound to.
//!
//! It is read when the line is read, before anybody is asked: so a yes is one to what the files held then, whatever is
//! written to them while the question stands.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

/// Largest file that a yes is bound to, in bytes. It is read for each call; a larger one cannot be granted.
pub(crate) const MAX_BOUND_BYTES: u64 = 64 * 1024 * 1024;

/// What is at each of these paths. What cannot be read is missing.
pub(super) fn of(paths: &[PathBuf]) -> BTreeMap<PathBuf, String> {
    let read = |path: &PathBuf| Some((path.clone(), state_of(path).ok()?));
    paths.iter().filter_map(read).collect()
}

/// What a yes is bound to at a path: the content of a file, and of a folder that it is there.
pub(crate) fn state_of(path: &Path) -> io::Result<String> {
    match path.is_dir() {
        true => Ok("folder".to_owned()),
        false => sha256_of_file(path),
    }
}

fn sha256_of_file(path: &Path) -> io::Result<String> {
    // Not blocking, for what may have become a pipe.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut file = file.take(MAX_BOUND_BYTES + 1);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut length = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        length += read as u64;
        hash.update(&buffer[..read]);
    }
    if length > MAX_BOUND_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {} MiB",
            MAX_BOUND_BYTES / (1024 * 1024)
        )));
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}
