//! Opens exactly the file that was authorised.
//!
//! Between the check of a path and its use, somebody may put a symbolic link in its place. What was
//! authorised is a path without links; here it is opened without following any, component by
//! component, so what is opened is what was checked, or nothing.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// Opens a resolved path for reading. Never blocks on pipes and devices, never becomes a controlling
/// terminal's reader; `ELOOP` means that a link appeared since the path was resolved.
pub(crate) fn for_reading(path: &Path) -> io::Result<File> {
    open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map(File::from)
}

/// Opens a folder, for what is done in it by name. The path is absolute and resolved.
///
/// # Errors
/// There is no such folder; `ELOOP`: a link appeared on the way there since the path was resolved.
pub fn folder(path: &Path) -> io::Result<OwnedFd> {
    open(path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens a resolved path only to look at it.
pub(crate) fn for_metadata(path: &Path) -> io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    open(path, flags)
}

/// The same where the last part of the path may be a link, which is looked at itself.
pub(crate) fn for_metadata_of_name(path: &Path) -> io::Result<OwnedFd> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return for_metadata(path);
    };
    #[cfg(target_os = "linux")]
    let flags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(folder(above)?, name, flags, Mode::empty())?)
}

/// How a file is opened to be changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// It is made where there is none.
    pub(crate) creates: bool,
    /// There must be none.
    pub(crate) is_new: bool,
}

/// Opens a file of a resolved folder for reading and writing. Never blocks on pipes, empties nothing: what it opened
/// has to be looked at first.
pub(crate) fn for_changing(above: &Path, name: &OsStr, how: Change) -> io::Result<File> {
    let mut flags =
        OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    flags.set(OFlags::CREATE, how.creates);
    flags.set(OFlags::EXCL, how.is_new);
    let opened = openat(folder(above)?, name, flags, Mode::from_raw_mode(0o666))?;
    Ok(File::from(opened))
}

fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{ResolveFlags, openat2};
        match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            // Kernels before 5.6, and sandboxes around us that know no such call.
            Err(Errno::NOSYS | Errno::PERM | Errno::OPNOTSUPP) => {}
            result => return Ok(result?),
        }
    }
    walk(path, flags)
}

/// The same with what every system has: each component opened below the one before.
fn walk(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut parts = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part),
            _ => None,
        })
        .peekable();
    let mut at = openat(CWD, "/", step, Mode::empty())?;
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_some() {
            step
        } else {
            flags | OFlags::NOFOLLOW
        };
        at = match openat(&at, part, flags, Mode::empty()) {
            // `O_DIRECTORY` on a link says "not a directory".
            Err(Errno::NOTDIR) if is_link(&at, part) => return Err(Errno::LOOP.into()),
            result => result?,
        };
    }
    Ok(at)
}

fn is_link(folder: &OwnedFd, name: &std::ffi::OsStr) -> bool {
    rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_never_followed() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "content").unwrap();
        symlink("real", root.join("folder")).unwrap();
        symlink("real/file", root.join("link")).unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        for (path, outcome) in [
            ("real/file", Ok("content")),
            ("link", Err(Errno::LOOP)),
            ("folder/file", Err(Errno::LOOP)),
            ("real/none", Err(Errno::NOENT)),
            ("real/file/below", Err(Errno::NOTDIR)),
        ] {
            for open in [open, walk] {
                let found = open(&root.join(path), flags).map(|fd| {
                    let mut text = String::new();
                    File::from(fd).read_to_string(&mut text).unwrap();
                    text
                });
                match outcome {
                    Ok(text) => assert_eq!(found.unwrap(), text, "{path}"),
                    Err(errno) => {
                        assert_eq!(
                            found.unwrap_err().raw_os_error(),
                            Some(errno.raw_os_error()),
                            "{path}"
                        );
                    }
                }
            }
        }
    }
}
