//! Reads files and folders that a command may have made.
//!
//! Such a file can be a link, a FIFO that nobody writes to, or endless. Such a folder can refuse to be listed, or hold
//! a million entries. Any folder on the way to it can be exchanged for a link by another command, so no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, chmodat, fstat, openat, openat2,
    statat,
};
use rustix::io::Errno;

/// Folders that are looked at, at most: a project of 100,000 files has about 10,000, which take a tenth of a second.
pub(super) const MAX_FOLDERS: usize = 300_000;

/// Bytes of a `.git` file or a `commondir`: a path.
pub(super) const MAX_LINK_BYTES: usize = 8 * 1024;

/// How much of a `HEAD` git looks at to tell a repository.
const HEAD_BYTES: usize = 255;

/// Digits of the shortest hash.
const HASH_DIGITS: usize = 40;

/// Entries of a folder that are listed and kept, at most: nothing that belongs to git in itself has as many.
const MAX_LISTED: usize = 20_000;

/// The content of a regular file of at most `most` bytes.
pub(in crate::process) fn read_short(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let bytes = read_start(path, most.saturating_add(1))?;
    match bytes.len() > most {
        true => Err(io::Error::other("the file is too long")),
        false => Ok(bytes),
    }
}

/// The first `most` bytes of a regular file.
pub(super) fn read_start(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = open(path, flags | OFlags::NOCTTY)?;
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::from(opened)
        .take(most as u64)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Where a path leads to. The kernel follows its links, and bounds them: there may be many long ones.
pub(super) fn real_path(path: &Path) -> io::Result<PathBuf> {
    let opened = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))
}

/// The path in a `.git` file or a `commondir`, as git reads it: without the end of the line.
pub(super) fn without_line_end(mut text: &[u8]) -> &[u8] {
    while let Some(rest) = text.strip_suffix(b"\n").or(text.strip_suffix(b"\r")) {
        text = rest;
    }
    text
}

fn open(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS;
    Ok(openat2(CWD, path, flags, Mode::empty(), resolve)?)
}

/// Opens a folder that can be listed, and whose entries can be looked at.
pub(in crate::process) fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = open(path, flags)?;
    // Only who may search a folder may look at an entry, also at this one.
    statat(&opened, c".", AtFlags::empty())?;
    Ok(opened)
}

/// Lets the owner of a folder list it and look at what is in it.
pub(super) fn make_readable(path: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = open(path, flags)?;
    let mode = Mode::from_raw_mode(fstat(&opened)?.st_mode) | Mode::RWXU;
    // The kernel changes no mode through a descriptor that only stands for a path, but through its name.
    let name = format!("/proc/self/fd/{}", opened.as_raw_fd());
    Ok(chmodat(CWD, name, mode, AtFlags::empty())?)
}

/// Tries again after a folder was made writable for its owner.
pub(in crate::process) fn with_access<T>(
    folder: &Path,
    work: impl Fn() -> io::Result<T>,
) -> io::Result<T> {
    match work() {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_readable(folder)?;
            work()
        }
        done => done,
    }
}

/// Whether an error says that there is no folder.
pub(super) fn is_no_folder(error: &io::Error) -> bool {
    let errors = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP];
    errors
        .iter()
        .any(|it| error.raw_os_error() == Some(it.raw_os_error()))
}

pub(super) fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
}

/// The names in a folder, and what they are.
pub(super) fn list(path: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for_each(path, MAX_LISTED, |name, kind| {
        entries.push((name.to_owned(), kind));
    })?;
    Ok(entries)
}

/// Looks at each name in a folder without keeping it.
///
/// # Errors
/// The folder cannot be read, or it has more than `most` entries.
pub(super) fn for_each(
    path: &Path,
    most: usize,
    mut see: impl FnMut(&OsStr, FileType),
) -> io::Result<()> {
    let mut seen = 0;
    for entry in Dir::new(open_folder(path)?)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        seen += 1;
        if seen > most {
            return Err(io::Error::other("it has too many entries"));
        }
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => {
                let status = statat(CWD, path.join(name), AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(status.st_mode)
            }
            kind => kind,
        };
        see(name, kind);
    }
    Ok(())
}

/// The folder that a repository shares settings with, by its `commondir`.
pub(super) fn common_of(folder: &Path) -> Option<PathBuf> {
    let text = read_short(&folder.join("commondir"), MAX_LINK_BYTES).ok()?;
    let named = OsStr::from_bytes(without_line_end(&text));
    real_path(&folder.join(named)).ok()
}

/// Where a `.git` leads to that is a file or a symbolic link.
pub(super) fn target_of(path: &Path) -> Option<PathBuf> {
    let is_folder = |path: &PathBuf| path.is_dir();
    if path.symlink_metadata().ok()?.is_symlink() {
        return real_path(path).ok().filter(is_folder);
    }
    let text = read_short(path, MAX_LINK_BYTES).ok()?;
    let named = without_line_end(text.strip_prefix(b"gitdir: ")?);
    let target = path.parent()?.join(OsStr::from_bytes(named));
    real_path(&target).ok().filter(is_folder)
}

/// Whether there is a `HEAD` that git takes for one. It may be one if its path is too long for Dunlin: git can reach it from
/// within the folder.
pub(super) fn has_head(folder: &Path) -> bool {
    let path = folder.join("HEAD");
    match read_start(&path, HEAD_BYTES) {
        Ok(text) => {
            let hash = text.get(..HASH_DIGITS);
            text.starts_with(b"ref:")
                || hash.is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit))
        }
        // Git used to make a link of it.
        Err(error) => is_too_long(&error) || path.is_symlink(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("fifo"))
            .status();
        assert!(made.unwrap().success());
        assert_eq!(read_short(&at("file"), 5).unwrap(), b"12345");
        assert_eq!(read_start(&at("file"), 2).unwrap(), b"12");
        assert!(read_short(&at("file"), 4).is_err());
        for path in [at("link"), at("fifo"), at("none"), "/dev/zero".into()] {
            assert!(read_short(&path, 5).is_err(), "{}", path.display());
        }
    }
}
