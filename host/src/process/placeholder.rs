//! Placeholders for what must not come into being while a command runs.
//!
//! A mount needs something to be mounted on. So where a rule is about a path at which there is nothing, an empty file or
//! folder is made there for as long as the command runs. Its mode is one that nobody uses, which tells it from a file
//! of the user's: a placeholder that was left behind by a killed process is used, and removed, by the next command.
//!
//! Several commands may need the same placeholder at once. Each holds a shared lock on it, and the last one removes it:
//! removing what others have mounted something on would take the mount away from them.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, linkat,
    mkdirat, openat, renameat_with, statat, unlinkat,
};
use rustix::io::{Errno, pread};

use super::access::Held;
use super::git::with_access;
use super::mounts::{self, Entry};

/// What a `commondir` says in the repository itself: the folder that it is in. Git cannot read an empty one.
pub(super) const ITSELF: &str = ".\n";

const FILE_MODE: Mode = Mode::from_raw_mode(0o404);
const FOLDER_MODE: Mode = Mode::from_raw_mode(0o505);

/// How often a placeholder is tried that other commands remove or lock meanwhile.
const MAX_TRIES: usize = 20;

/// The pause before the next try at a lock. Whoever removes a placeholder holds its lock for two system calls.
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// The placeholders of one command. They stay until [`Placeholders::remove`] is called.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    made: Vec<Made>,
}

#[derive(Debug)]
struct Made {
    path: PathBuf,
    /// Open and locked, unless it is a folder on the way to one.
    placeholder: Option<OwnedFd>,
    is_folder: bool,
}

impl Placeholders {
    /// Makes what is missing at these paths.
    pub(super) fn make<'a>(&mut self, all: impl Iterator<Item = &'a Held>) -> io::Result<()> {
        for held in all {
            self.make_one(held).map_err(|e| {
                io::Error::new(e.kind(), format!("hold {}: {e}", held.path.display()))
            })?;
        }
        Ok(())
    }

    fn make_one(&mut self, held: &Held) -> io::Result<()> {
        let mut way: Vec<&Path> = held.path.ancestors().skip(1).collect();
        way.reverse();
        for folder in way {
            match mounts::look(folder)? {
                Entry::Folder(_) => {}
                // A link is held instead, and below a file there can be nothing.
                Entry::Link(_) | Entry::File(_) => return Ok(()),
                Entry::Nothing => {
                    if !self.make_way(folder)? {
                        return Ok(());
                    }
                }
            }
        }
        let (Some(parent), Some(name)) = (held.path.parent(), held.path.file_name()) else {
            return Ok(());
        };
        let Entry::Folder(parent) = mounts::look(parent)? else {
            return Ok(());
        };
        let mut is_locked = false;
        for _ in 0..MAX_TRIES {
            let made = match held.is_folder {
                true => mkdirat(&parent, name, FOLDER_MODE),
                false if held.text.is_empty() => make_file(&parent, name).map(drop),
                false => make_whole(&parent, name, &held.text),
            };
            match made {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(e) => return unmakeable(e),
            }
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let opened = match openat(&parent, name, flags, Mode::empty()) {
                Ok(opened) => opened,
                Err(Errno::NOENT) => continue,
                // Something of the user's that cannot be read: it is there, so that it needs no placeholder.
                Err(_) => return Ok(()),
            };
            if made.is_ok() {
                // The mask of this process took bits away.
                let mode = if held.is_folder {
                    FOLDER_MODE
                } else {
                    FILE_MODE
                };
                rustix::fs::fchmod(&opened, mode)?;
            } else if !is_placeholder(&opened)? {
                return Ok(());
            }
            // Never waits: a hostile command may hold the lock as long as it likes.
            is_locked = match flock(&opened, FlockOperation::NonBlockingLockShared) {
                Ok(()) => false,
                Err(Errno::WOULDBLOCK) => true,
                Err(e) => return Err(e.into()),
            };
            if is_locked {
                std::thread::sleep(LOCK_PAUSE);
                continue;
            }
            // Whoever held it last may have removed it until then.
            if is_still(&parent, name, &opened)? {
                self.made.push(Made {
                    path: held.path.clone(),
                    placeholder: Some(opened),
                    is_folder: held.is_folder,
                });
                return Ok(());
            }
        }
        Err(io::Error::other(match is_locked {
            true => "another program keeps the placeholder there locked; end that program",
            false => "other commands keep removing the placeholder; try again",
        }))
    }

    /// Makes a folder on the way to a placeholder. `false`: nobody can.
    fn make_way(&mut self, folder: &Path) -> io::Result<bool> {
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else {
            return Ok(false);
        };
        let Entry::Folder(parent) = mounts::look(parent)? else {
            return Ok(false);
        };
        match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {
                self.made.push(Made {
                    path: folder.to_owned(),
                    placeholder: None,
                    is_folder: true,
                });
                Ok(true)
            }
            Err(Errno::EXIST) => Ok(true),
            Err(e) => unmakeable(e).map(|()| false),
        }
    }

    /// Removes those that nobody else holds and that are still empty.
    pub(super) fn remove(self) {
        for made in self.made.into_iter().rev() {
            // The command may have made the folder read-only. What cannot be removed is used again by the next command.
            let folder = made.path.parent().unwrap_or(&made.path);
            let _ = with_access(folder, || made.remove());
        }
    }
}

/// Where this user may not make anything, a command may not either.
fn unmakeable(error: Errno) -> io::Result<()> {
    match error {
        Errno::ACCESS | Errno::PERM | Errno::ROFS | Errno::NOTDIR | Errno::NOENT => Ok(()),
        error => Err(error.into()),
    }
}

impl Made {
    fn remove(&self) -> io::Result<()> {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let Entry::Folder(parent) = mounts::look(parent)? else {
            return Ok(());
        };
        if let Some(placeholder) = &self.placeholder {
            flock(placeholder, FlockOperation::NonBlockingLockExclusive)?;
            let is_unused = is_still(&parent, name, placeholder)? && is_placeholder(placeholder)?;
            if !is_unused {
                return Ok(());
            }
        }
        let flags = match self.is_folder {
            true => AtFlags::REMOVEDIR,
            false => AtFlags::empty(),
        };
        Ok(unlinkat(&parent, name, flags)?)
    }
}

/// Whether there is a placeholder at a path.
pub(super) fn is_at(path: &Path) -> io::Result<bool> {
    match mounts::look(path)? {
        Entry::Folder(_) | Entry::File(_) => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            match openat(CWD, path, flags, Mode::empty()) {
                Ok(opened) => is_placeholder(&opened),
                // Whoever made it can read it.
                Err(_) => Ok(false),
            }
        }
        Entry::Nothing | Entry::Link(_) => Ok(false),
    }
}

/// Makes an empty file that is not there yet.
fn make_file(parent: &OwnedFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    openat(parent, name, flags, FILE_MODE)
}

/// Makes a file with a text that is not there yet, so that nobody reads it before the text is in it.
fn make_whole(parent: &OwnedFd, name: &OsStr, text: &str) -> rustix::io::Result<()> {
    let mut unfinished = name.to_owned();
    unfinished.push(format!(".{}", std::process::id()));
    let written = make_file(parent, &unfinished)?;
    rustix::fs::fchmod(&written, FILE_MODE)?;
    let moved = || {
        let moved = renameat_with(parent, &unfinished, parent, name, RenameFlags::NOREPLACE);
        match moved {
            // Some file systems cannot refuse to replace by that; a second name replaces nothing anywhere.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(parent, &unfinished, parent, name, AtFlags::empty())?;
                unlinkat(parent, &unfinished, AtFlags::empty())
            }
            moved => moved,
        }
    };
    let made = rustix::io::write(&written, text.as_bytes()).and_then(|_| moved());
    if made.is_err() {
        let _ = unlinkat(parent, &unfinished, AtFlags::empty());
    }
    made
}

/// Whether a file or folder has the mode of a placeholder and holds nothing that anybody could have put into it.
fn is_placeholder(opened: &OwnedFd) -> io::Result<bool> {
    let status = fstat(opened)?;
    let mode = Mode::from_raw_mode(status.st_mode);
    Ok(match FileType::from_raw_mode(status.st_mode) {
        FileType::Directory => mode == FOLDER_MODE && is_empty(opened)?,
        FileType::RegularFile if mode == FILE_MODE => {
            // One byte more than there may be.
            let mut text = [0; ITSELF.len() + 1];
            let read = pread(opened, &mut text, 0)?;
            read == 0 || &text[..read] == ITSELF.as_bytes()
        }
        _ => false,
    })
}

fn is_empty(folder: &OwnedFd) -> io::Result<bool> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a name in a folder still stands for what was opened.
fn is_still(parent: impl AsFd, name: &std::ffi::OsStr, opened: &OwnedFd) -> io::Result<bool> {
    let there = match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(there) => there,
        Err(Errno::NOENT) => return Ok(false),
        Err(e) => return Err(e.into()),
    };
    let opened = fstat(opened)?;
    Ok((there.st_dev, there.st_ino) == (opened.st_dev, opened.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_placeholder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("held");
        let held = [Held::new(path.clone(), true)];
        let mut first = Placeholders::default();
        first.make(held.iter()).unwrap();
        assert!(is_at(&path).unwrap());

        // Shared locks go together, an exclusive one is not waited for.
        let mut second = Placeholders::default();
        second.make(held.iter()).unwrap();
        first.remove();
        second.remove();
        std::fs::create_dir(&path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(FOLDER_MODE.as_raw_mode());
        std::fs::set_permissions(&path, mode).unwrap();
        let hostile = std::fs::File::open(&path).unwrap();
        flock(&hostile, FlockOperation::LockExclusive).unwrap();
        let error = Placeholders::default().make(held.iter()).unwrap_err();
        assert!(error.to_string().contains("locked"), "{error}");
        assert!(error.to_string().contains("held"), "{error}");

        drop(hostile);
        let mut third = Placeholders::default();
        third.make(held.iter()).unwrap();
        third.remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_folder_that_became_read_only_keeps_no_placeholder() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().canonicalize().unwrap().join("inner");
        let mode = |mode| std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(folder.path(), mode(0o777)).unwrap();
        let path = inner.join("held");
        let made = std::thread::spawn(move || {
            // The superuser may write everywhere, so that this thread becomes somebody else for the file system.
            #[expect(unsafe_code, reason = "it takes a number")]
            unsafe {
                libc::setfsuid(65_534)
            };
            std::fs::create_dir(&inner).unwrap();
            let held = [Held::new(path.clone(), false)];
            let mut placeholders = Placeholders::default();
            placeholders.make(held.iter()).unwrap();
            let was_there = path.exists();
            std::fs::set_permissions(&inner, mode(0o555)).unwrap();
            placeholders.remove();
            (was_there, path.exists())
        });
        assert_eq!(made.join().unwrap(), (true, false));
    }
}
