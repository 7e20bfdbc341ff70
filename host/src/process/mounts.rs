//! Mounts by handle instead of by path.
//!
//! The contents of a project belong to whoever ran a command there before: any part of a path may have become a link.
//! So each path is opened once without following links, and what is mounted, and where, is what was opened.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags, fstat, openat2, statx,
};
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::path::Arg;
use serde::{Deserialize, Serialize};

use super::sys;

/// What stands at a path.
#[derive(Debug)]
pub(super) enum Entry {
    /// Nothing, or nothing that this user may look at: then the command may not either.
    Nothing,
    /// The path ends with a symbolic link, which was opened, or a link stands in its middle.
    Link(Option<OwnedFd>),
    /// A folder.
    Folder(OwnedFd),
    /// A file of any kind.
    File(OwnedFd),
}

impl Entry {
    /// The file or folder.
    pub(super) fn file_or_folder(self) -> Option<OwnedFd> {
        match self {
            Entry::Folder(opened) | Entry::File(opened) => Some(opened),
            Entry::Nothing | Entry::Link(_) => None,
        }
    }
}

/// Opens what is at a path, without following links and without any right to its content.
pub(super) fn look(path: &Path) -> io::Result<Entry> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(opened) => opened,
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(Entry::Nothing),
        Err(Errno::LOOP) => return Ok(Entry::Link(None)),
        Err(e) => return Err(e.into()),
    };
    Ok(match FileType::from_raw_mode(fstat(&opened)?.st_mode) {
        FileType::Symlink => Entry::Link(Some(opened)),
        FileType::Directory => Entry::Folder(opened),
        _ => Entry::File(opened),
    })
}

/// What tells a file or folder from every other one. A file system uses the number of what was removed again, so it is
/// the number together with the time at which it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct FileId {
    device: (u32, u32),
    pub(super) number: u64,
    /// Nanoseconds since 1970; 0 where the file system does not keep it.
    made: i64,
}

/// What was opened.
pub(super) fn id(opened: impl AsFd) -> io::Result<FileId> {
    file_id(opened.as_fd(), c"", AtFlags::EMPTY_PATH)
}

/// What is at a path, whose last part may be a link.
pub(super) fn id_at(path: &Path) -> io::Result<FileId> {
    file_id(CWD, path, AtFlags::SYMLINK_NOFOLLOW)
}

fn file_id(folder: BorrowedFd<'_>, path: impl Arg, flags: AtFlags) -> io::Result<FileId> {
    let found = statx(folder, path, flags, StatxFlags::INO | StatxFlags::BTIME)?;
    let has_time = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
    let made = found.stx_btime;
    let nanoseconds = made.tv_sec.saturating_mul(1_000_000_000);
    Ok(FileId {
        device: (found.stx_dev_major, found.stx_dev_minor),
        number: found.stx_ino,
        made: match has_time {
            true => nanoseconds.saturating_add(made.tv_nsec.into()),
            false => 0,
        },
    })
}

/// The first symbolic link on the way to a path.
pub(super) fn first_link(path: &Path) -> io::Result<Option<OwnedFd>> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    for part in parts {
        if let Entry::Link(Some(link)) = look(part)? {
            return Ok(Some(link));
        }
    }
    Ok(None)
}

/// A copy of what is mounted at and below a file or folder, with its attributes. It is mounted nowhere yet.
pub(super) fn copy(of: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(of, c"", flags)?)
}

/// Mounts a copy over a file, a folder or a link.
pub(super) fn put(copy: impl AsFd, over: impl AsFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(copy, c"", over, c"", flags)?)
}

/// Makes a copy and everything mounted below it read-only.
pub(super) fn make_read_only(copy: BorrowedFd<'_>) -> io::Result<()> {
    sys::mount_read_only(copy, c"")
}

/// Makes a mount of a file or folder at its own place: a mount can be neither renamed nor removed.
pub(super) fn pin(place: impl AsFd) -> io::Result<()> {
    put(copy(&place)?, place)
}

/// Keeps a file or folder, and everything below it, from being changed.
pub(super) fn freeze(place: impl AsFd) -> io::Result<()> {
    let copy = copy(&place)?;
    make_read_only(copy.as_fd())?;
    put(copy, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_the_number_of_another_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let make = || {
            std::fs::create_dir(&path).unwrap();
            let id = id_at(&path).unwrap();
            assert_eq!(
                id,
                super::id(look(&path).unwrap().file_or_folder().unwrap()).unwrap()
            );
            std::fs::remove_dir(&path).unwrap();
            id
        };
        let first = make();
        // Clocks of file systems tick some hundred times a second.
        let other = (0..1_000_000).map(|_| make()).find(|it| *it != first);
        assert!(other.is_some(), "{first:?}");
    }
}
