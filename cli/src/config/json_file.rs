//! Small JSON files of Dunlin's own, changed by one process at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use dunlin_host::files::make_private;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// What a file holds; the default where there is none. A link that leads nowhere is no absent file: whoever made it meant
/// that there is one.
///
/// # Errors
/// It cannot be read, or holds something else.
pub fn read<T: Default + DeserializeOwned>(path: &Path) -> io::Result<T> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(T::default());
        }
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// Changes what a file holds. On the disk when this returns; only the user may read it.
///
/// # Errors
/// It cannot be read or written; it is as it was then.
pub fn update<T: Default + Serialize + DeserializeOwned, R>(
    path: &Path,
    change: impl FnOnce(&mut T) -> R,
) -> io::Result<R> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    make_private(folder)?;
    // Two Dunlins may change it at once. Released when it is closed, also when the process is killed.
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(0o600)
        .open(path.with_extension("lock"))?;
    lock.lock()?;
    let mut known: T = read(path)?;
    let value = change(&mut known);
    // `tempfile` creates with 0600.
    let mut file = tempfile::Builder::new()
        .prefix(".new.")
        .tempfile_in(folder)?;
    let mut text = serde_json::to_vec_pretty(&known)?;
    text.push(b'\n');
    // What is larger could not be read again.
    if text.len() as u64 > MAX_FILE_BYTES {
        let problem = format!("it would be larger than {MAX_FILE_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    file.write_all(&text)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    // The rename itself must survive a power cut.
    File::open(folder)?.sync_all()?;
    Ok(value)
}
