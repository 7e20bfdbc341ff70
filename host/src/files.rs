//! Makes private folders, and opens files that may have been replaced by a pipe.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Only the user may look into Dunlin's folders: they hold conversations and permissions.
const PRIVATE_FOLDER_MODE: u32 = 0o700;

/// Makes a folder and what is missing above it, readable by the user alone.
pub fn make_private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_FOLDER_MODE)
        .create(folder)
}

/// Opens a file that is expected to be regular: a pipe in its place must not hold the program up.
pub fn open_regular(path: &Path) -> io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
}
