//! Takes away what git must not read.
//!
//! This happens outside of the sandbox, while other commands may exchange any folder on the way for a link or for another
//! folder. So each folder is opened without following links, and compared with what the search has seen.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat, renameat_with,
    statat, unlinkat,
};
use rustix::io::Errno;

use super::SUFFIX;
use super::read::with_access;
use crate::files::make_private;
use crate::process::mounts::{self, FileId};

/// How long what was moved out of a project is kept. Test suites make repositories with each run.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What is to be renamed, as the search has seen it.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    pub(super) folder: &'a Path,
    pub(super) name: &'a OsStr,
    /// The folder itself.
    folder_id: Option<FileId>,
    /// The number of the file or folder itself.
    number: Option<u64>,
}

/// Why something was not moved out of the project.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotTakenOut {
    /// It is where it was.
    #[error(transparent)]
    Failed(#[from] io::Error),
    /// Something else was moved, and cannot be moved back.
    #[error("something else was moved to {}", .place.display())]
    Stranded {
        /// Where that is now.
        place: PathBuf,
        /// Why it cannot be moved back.
        #[source]
        error: io::Error,
    },
}

impl<'a> Entry<'a> {
    /// Whatever has this name in this very folder: all of it is the command's. The name may hold slashes.
    pub(super) fn of_folder(folder: &'a Path, id: FileId, name: &'a OsStr) -> Entry<'a> {
        Entry {
            folder,
            name,
            folder_id: Some(id),
            number: None,
        }
    }

    /// This very file or folder, whatever folder it is in now.
    pub(super) fn of_number(folder: &'a Path, name: &'a OsStr, number: u64) -> Entry<'a> {
        Entry {
            folder,
            name,
            folder_id: None,
            number: Some(number),
        }
    }

    /// Renames it to what git does not read, and returns the new name.
    pub(super) fn set_aside(&self) -> io::Result<OsString> {
        with_access(self.folder, || {
            let folder = self.open()?;
            let way = Path::new(self.name);
            match (way.parent(), way.file_name()) {
                (Some(below), Some(name)) if !below.as_os_str().is_empty() => {
                    let opened = open_below(folder.as_fd(), below)?;
                    let aside = self.rename(opened.as_fd(), name)?;
                    Ok(below.join(aside).into_os_string())
                }
                _ => self.rename(folder.as_fd(), self.name),
            }
        })
    }

    /// Moves what lies deeper into the folder itself, under a name that git does not read, and returns that. Below `refs`, git
    /// follows a reference to any name.
    pub(super) fn set_aside_above(&self) -> io::Result<OsString> {
        let way = Path::new(self.name);
        let (Some(below), Some(name)) = (way.parent(), way.file_name()) else {
            return Err(replaced());
        };
        with_access(&self.folder.join(below), || {
            let folder = self.open()?;
            let aside = with_end(name, SUFFIX);
            match below.as_os_str().is_empty() {
                true => move_to((folder.as_fd(), name), (folder.as_fd(), &aside)),
                false => {
                    let opened = open_below(folder.as_fd(), below)?;
                    move_to((opened.as_fd(), name), (folder.as_fd(), &aside))
                }
            }
        })
    }

    /// Moves it into this folder, which commands do not see, under a name that git does not read. Returns where it is now.
    ///
    /// # Errors
    /// It cannot be moved there, for example because that is another file system.
    pub(super) fn take_out(&self, place: &Path) -> Result<PathBuf, NotTakenOut> {
        let folder = self.open()?;
        if !self.is_it(folder.as_fd(), self.name)? {
            return Err(replaced().into());
        }
        make_private(place)?;
        let aside = with_end(self.name, SUFFIX);
        let opened = mounts::look(place)?.file_or_folder();
        let opened = opened.ok_or_else(replaced)?;
        let aside = move_to((folder.as_fd(), self.name), (opened.as_fd(), &aside))?;
        // It may have been exchanged in between.
        if self.is_it(opened.as_fd(), &aside)? {
            return Ok(place.join(aside));
        }
        let back = renameat_with(&opened, &aside, &folder, self.name, RenameFlags::NOREPLACE);
        match back {
            Ok(()) => Err(replaced().into()),
            Err(error) => Err(NotTakenOut::Stranded {
                place: place.join(aside),
                error: error.into(),
            }),
        }
    }

    fn open(&self) -> io::Result<OwnedFd> {
        let opened = mounts::look(self.folder)?.file_or_folder();
        let opened = opened.ok_or_else(replaced)?;
        match self.folder_id {
            Some(id) if mounts::id(&opened)? != id => Err(replaced()),
            _ => Ok(opened),
        }
    }

    fn is_it(&self, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<bool> {
        let Some(number) = self.number else {
            return Ok(true);
        };
        Ok(statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino == number)
    }

    fn rename(&self, folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<OsString> {
        if !self.is_it(folder, name)? {
            return Err(replaced());
        }
        let aside = move_to((folder, name), (folder, &with_end(name, SUFFIX)))?;
        // It may have been exchanged in between.
        if self.is_it(folder, &aside)? {
            return Ok(aside);
        }
        renameat_with(folder, &aside, folder, name, RenameFlags::NOREPLACE)?;
        Err(replaced())
    }
}

/// Removes what was moved into this folder longer ago than [`KEPT`].
pub(super) fn remove_old(place: &Path, now: SystemTime) -> io::Result<()> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let age = now.duration_since(entry.metadata()?.modified()?);
        if age.is_ok_and(|age| age > KEPT) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Removes a symbolic link below this very folder of a repository.
pub(super) fn remove_link(repository: &Path, id: FileId, link: &Path) -> io::Result<()> {
    let (Some(below), Some(name)) = (link.parent(), link.file_name()) else {
        return Err(replaced());
    };
    with_access(&repository.join(below), || {
        let entry = Entry::of_folder(repository, id, name);
        let repository = entry.open()?;
        let folder = match below.as_os_str().is_empty() {
            true => repository,
            false => open_below(repository.as_fd(), below)?,
        };
        let status = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::Symlink => Ok(unlinkat(&folder, name, AtFlags::empty())?),
            _ => Err(replaced()),
        }
    })
}

fn open_below(folder: BorrowedFd<'_>, below: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
    Ok(openat2(folder, below, flags, Mode::empty(), resolve)?)
}

/// Moves something to a name that nothing has, with this one or one that begins so, and returns it.
fn move_to(from: (BorrowedFd<'_>, &OsStr), to: (BorrowedFd<'_>, &OsStr)) -> io::Result<OsString> {
    // A command can take any name that it can guess.
    let random = with_end(to.1, &format!("-{:016x}", rand::random::<u64>()));
    let moved = |name: &OsStr| renameat_with(from.0, from.1, to.0, name, RenameFlags::NOREPLACE);
    match moved(to.1) {
        Ok(()) => Ok(to.1.to_owned()),
        Err(Errno::EXIST) => {
            moved(&random)?;
            Ok(random)
        }
        // Some file systems cannot refuse to replace: then only the random name is nobody's.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            renameat(from.0, from.1, to.0, &random)?;
            Ok(random)
        }
        Err(error) => Err(error.into()),
    }
}

fn replaced() -> io::Error {
    io::Error::other("something else is there now")
}

fn with_end(name: &OsStr, end: &str) -> OsString {
    let mut name = name.to_owned();
    name.push(end);
    name
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn id(path: &Path) -> FileId {
        mounts::id_at(path).unwrap()
    }

    #[test]
    fn nothing_behind_a_link_on_the_way_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["repository/refs", "outside/heads"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        symlink("nowhere", at("outside/heads/key")).unwrap();
        // While the search looked, this was a folder.
        symlink("../../outside/heads", at("repository/refs/heads")).unwrap();
        let repository = at("repository");
        let removed = |link: &str| remove_link(&repository, id(&repository), Path::new(link));
        assert!(removed("refs/heads/key").is_err());
        assert!(at("outside/heads/key").is_symlink());
        let entry = |name| Entry::of_folder(&repository, id(&repository), OsStr::new(name));
        assert!(entry("refs/heads/key").set_aside().is_err());
        // The link itself is what is meant here.
        removed("refs/heads").unwrap();
        assert!(!at("repository/refs/heads").is_symlink());
        fs::write(at("repository/refs/file"), "").unwrap();
        assert!(removed("refs/file").is_err(), "it is not a link any more");
    }

    #[test]
    fn what_was_moved_is_removed_after_a_month() {
        let folder = tempfile::tempdir().unwrap();
        let moved = folder.path().join("0123/lib/.git.set-aside");
        fs::create_dir_all(&moved).unwrap();
        let now = SystemTime::now();
        remove_old(folder.path(), now + KEPT / 2).unwrap();
        assert!(moved.exists());
        remove_old(folder.path(), now + KEPT * 2).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(remove_old(&moved, now).is_err());
    }

    #[test]
    fn what_was_exchanged_stays() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a", "b"] {
            fs::create_dir(root.join(name)).unwrap();
            fs::write(root.join(name).join("HEAD"), "").unwrap();
        }
        let (a, b) = (root.join("a"), root.join("b"));
        let of_other = Entry::of_folder(&a, id(&b), OsStr::new("HEAD"));
        assert!(of_other.set_aside().is_err() && a.join("HEAD").exists());
        let other = Entry::of_number(&root, OsStr::new("a"), id(&b).number);
        assert!(other.set_aside().is_err() && a.exists());
        let same = Entry::of_number(&root, OsStr::new("a"), id(&a).number);
        assert_eq!(same.set_aside().unwrap(), "a.set-aside");
        let place = root.join("place");
        let other = Entry::of_number(&root, OsStr::new("b"), id(&root).number);
        assert!(other.take_out(&place).is_err() && b.exists());
        let same = Entry::of_number(&root, OsStr::new("b"), id(&b).number);
        let taken = same.take_out(&place).unwrap();
        assert_eq!(taken, place.join("b.set-aside"));
        assert!(taken.join("HEAD").exists() && !b.exists());
    }
}
