//! Writes an edited file: as a whole or not at all, and only over the content that the edit was made for.
//!
//! The folder is opened link-free, and everything else happens through that handle, so a link that is
//! put in the way later leads nowhere. A temporary file beside the file takes the new content, its bits
//! and its owner, goes to the disk, and is renamed over the file right after one more look at what stands
//! there. The temporary file has a fixed name and is locked: of two Dunlins that edit one file one is
//! refused, and what a killed one left behind is recognised by being unlocked.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

use super::ContentHash;
use super::prepare::hash_of;
use super::sibling::temporary_name;
use crate::display::shown;
use crate::open;

/// Why a file could not be replaced. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ReplaceError {
    /// Somebody else was faster.
    #[error("{path} changed at the last moment; read the file again, then retry", path = shown(.path))]
    Changed { path: PathBuf },
    /// Somebody else was faster, and then something else took the name that the file had.
    #[error("{path} changed at the last moment; the file that had this name is now {aside}", path = shown(.path), aside = shown(.aside))]
    LeftAside { path: PathBuf, aside: PathBuf },
    /// Another Dunlin is at it.
    #[error("another Dunlin is editing {path} at this moment; try again", path = shown(.path))]
    Busy { path: PathBuf },
    /// A new file in its place would belong to somebody else.
    #[error("{path} belongs to another user, and the changed file would not", path = shown(.path))]
    Owner { path: PathBuf },
    /// Something has the name already.
    #[error("{path} exists already", path = shown(.path))]
    Exists { path: PathBuf },
    /// There is no such folder.
    #[error("there is no {path}", path = shown(.path))]
    NotFound { path: PathBuf },
    /// Something is in the folder.
    #[error("{path} is not empty", path = shown(.path))]
    NotEmpty { path: PathBuf },
    /// It is something else.
    #[error("{path} is not a folder", path = shown(.path))]
    NotFolder { path: PathBuf },
    /// A file stays on its disk.
    #[error("{path} is on another file system; files can only be renamed within one", path = shown(.path))]
    OtherFileSystem { path: PathBuf },
    /// The file system refused.
    #[error("cannot write {path}", path = shown(.path))]
    Io { path: PathBuf, source: io::Error },
}

/// Puts `new` in the place of a file that holds `base`; `None`: that does not exist, and the folders above
/// it are made.
///
/// `before` runs when everything is ready and nothing has happened yet, with the folders that were made,
/// outermost first; its failure stops it. Blocks until the disk has it.
pub(crate) fn replace<E: From<ReplaceError>>(
    path: &Path,
    base: Option<ContentHash>,
    new: &[u8],
    before: impl FnOnce(&[PathBuf]) -> Result<(), E>,
) -> Result<(), E> {
    fill(path, base, new, None, before)
}

/// Puts `new` back in the place of a file that holds `base`, as [`replace`] does, with these permission bits if there are any.
/// `made` gets the folders that were made for it.
pub(crate) fn restore(
    path: &Path,
    base: Option<ContentHash>,
    new: &[u8],
    mode: Option<u32>,
    made: impl FnOnce(&[PathBuf]),
) -> Result<(), ReplaceError> {
    fill(path, base, new, mode, |folders| {
        made(folders);
        Ok(())
    })
}

fn fill<E: From<ReplaceError>>(
    path: &Path,
    base: Option<ContentHash>,
    new: &[u8],
    mode: Option<u32>,
    before: impl FnOnce(&[PathBuf]) -> Result<(), E>,
) -> Result<(), E> {
    let place = Place::open(path, base.is_none())?;
    let filled = place.fill(base, new, mode, before);
    if filled.is_err() {
        remove_folders(&place.new_folders);
    }
    filled
}

/// A name in an open folder.
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) folder: OwnedFd,
    pub(super) name: &'a OsStr,
    pub(super) new_folders: Vec<PathBuf>,
}

/// What a file has beside its content.
pub(super) struct Current {
    pub(super) mode: u32,
    /// Which file of its file system it is.
    pub(super) id: u64,
    owner: (u32, u32),
}

impl<'a> Place<'a> {
    /// Opens the folder of a path; makes it, if `make`, with all that is missing above it.
    pub(super) fn open(path: &'a Path, make: bool) -> Result<Place<'a>, ReplaceError> {
        let io = |source| ReplaceError::Io {
            path: path.to_owned(),
            source,
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io(Errno::ISDIR.into()));
        };
        let mut new_folders = Vec::new();
        let folder = match open::folder(parent) {
            Err(e) if make && e.kind() == io::ErrorKind::NotFound => {
                make_folders(parent, &mut new_folders)
            }
            opened => opened,
        };
        Ok(Place {
            path,
            folder: folder.map_err(io)?,
            name,
            new_folders,
        })
    }

    fn fill<E: From<ReplaceError>>(
        &self,
        base: Option<ContentHash>,
        new: &[u8],
        mode: Option<u32>,
        before: impl FnOnce(&[PathBuf]) -> Result<(), E>,
    ) -> Result<(), E> {
        let current = self.current(base)?;
        let mut temporary = Temporary::make(self, current.as_ref(), mode)?;
        temporary
            .file
            .write_all(new)
            .and_then(|()| temporary.file.sync_all())
            .map_err(|e| self.io(e))?;
        before(&self.new_folders)?;
        self.current(base)?;
        temporary.put_in_place(base.is_none())?;
        Ok(())
    }

    /// Looks at the file: it must hold `base`.
    pub(super) fn current(
        &self,
        base: Option<ContentHash>,
    ) -> Result<Option<Current>, ReplaceError> {
        self.current_of(self.name, base)
    }

    /// The same under another name in the folder.
    pub(super) fn current_of(
        &self,
        name: &OsStr,
        base: Option<ContentHash>,
    ) -> Result<Option<Current>, ReplaceError> {
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) if base.is_none() => return Ok(None),
            Err(Errno::NOENT | Errno::LOOP) => return Err(self.changed()),
            Err(e) => return Err(self.io(e.into())),
        };
        let meta = file.metadata().map_err(|e| self.io(e))?;
        let hash = if meta.is_file() {
            hash_of(&file).map_err(|e| self.io(e))?
        } else {
            None
        };
        if hash.is_none() || hash != base {
            return Err(self.changed());
        }
        Ok(Some(Current {
            mode: meta.mode() & 0o7777,
            id: meta.ino(),
            owner: (meta.uid(), meta.gid()),
        }))
    }

    pub(super) fn changed(&self) -> ReplaceError {
        ReplaceError::Changed {
            path: self.path.to_owned(),
        }
    }

    pub(super) fn exists(&self) -> ReplaceError {
        ReplaceError::Exists {
            path: self.path.to_owned(),
        }
    }

    pub(super) fn io(&self, source: io::Error) -> ReplaceError {
        ReplaceError::Io {
            path: self.path.to_owned(),
            source,
        }
    }
}

/// A locked file beside the one it is going to replace. Removed when dropped.
pub(super) struct Temporary<'a> {
    place: &'a Place<'a>,
    name: OsString,
    file: File,
    /// Whether it stands under its own name still.
    there: bool,
}

impl<'a> Temporary<'a> {
    /// `bits`: which permission bits it gets, whatever those of the present file are.
    pub(super) fn make(
        place: &'a Place<'a>,
        current: Option<&Current>,
        bits: Option<u32>,
    ) -> Result<Self, ReplaceError> {
        let name = temporary_name(place.name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // New files get what the user's mask leaves of this, as from any program.
        let mode = Mode::from_raw_mode(if current.is_some() || bits.is_some() {
            0o600
        } else {
            0o666
        });
        let create = || rustix::fs::openat(&place.folder, &name, flags, mode);
        let created = match create() {
            Err(Errno::EXIST) => {
                place.sweep(&name)?;
                create()
            }
            created => created,
        };
        let file = match created {
            Ok(fd) => File::from(fd),
            Err(Errno::EXIST) => return Err(place.busy()),
            Err(e) => return Err(place.io(e.into())),
        };
        let temporary = Temporary {
            place,
            name,
            file,
            there: true,
        };
        temporary.lock()?;
        place.keep_what_was_aside();
        if let Some(current) = current {
            temporary.take_over(current)?;
        }
        if let Some(bits) = bits {
            // Not the bits that lend somebody the owner's rights.
            let bits = Mode::from_raw_mode(bits & 0o777);
            rustix::fs::fchmod(&temporary.file, bits).map_err(|e| place.io(e.into()))?;
        }
        Ok(temporary)
    }

    /// Locks the file, and makes sure that nobody took it for a killed one's before.
    fn lock(&self) -> Result<(), ReplaceError> {
        let (place, file) = (self.place, &self.file);
        rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| place.busy())?;
        let same = rustix::fs::statat(&place.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .and_then(|named| Ok(named.st_ino == rustix::fs::fstat(file)?.st_ino));
        match same {
            Ok(true) => Ok(()),
            _ => Err(place.busy()),
        }
    }

    /// Takes over owner and bits, in this order: changing the owner takes away some of the bits.
    fn take_over(&self, current: &Current) -> Result<(), ReplaceError> {
        let place = self.place;
        let own = self.file.metadata().map_err(|e| place.io(e))?;
        if (own.uid(), own.gid()) != current.owner {
            let (uid, gid) = current.owner;
            rustix::fs::fchown(
                &self.file,
                Some(Uid::from_raw(uid)),
                Some(Gid::from_raw(gid)),
            )
            .map_err(|_| ReplaceError::Owner {
                path: place.path.to_owned(),
            })?;
        }
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(current.mode))
            .map_err(|e| place.io(e.into()))
    }

    /// Renames it. `new`: nothing may stand there.
    fn put_in_place(&mut self, new: bool) -> Result<(), ReplaceError> {
        let place = self.place;
        let flags = if new {
            RenameFlags::NOREPLACE
        } else {
            RenameFlags::empty()
        };
        let renamed =
            rustix::fs::renameat_with(&place.folder, &self.name, &place.folder, place.name, flags);
        match renamed {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                return Err(ReplaceError::Changed {
                    path: place.path.to_owned(),
                });
            }
            // File systems that know no such flag; that nothing stands there was seen a moment ago.
            Err(Errno::INVAL | Errno::NOSYS) if new => {
                rustix::fs::renameat(&place.folder, &self.name, &place.folder, place.name)
                    .map_err(|e| place.io(e.into()))?;
            }
            Err(e) => return Err(place.io(e.into())),
        }
        self.there = false;
        // The rename itself must survive a power cut; if that cannot be had it has still happened.
        let _ = rustix::fs::fsync(&place.folder);
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.there {
            // What cannot be removed is recognised as left over the next time.
            let _ = rustix::fs::unlinkat(&self.place.folder, &self.name, AtFlags::empty());
        }
    }
}

impl Place<'_> {
    /// Removes the temporary file of a killed Dunlin; one in use is left alone.
    fn sweep(&self, name: &OsStr) -> Result<(), ReplaceError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let left = match rustix::fs::openat(&self.folder, name, flags, Mode::empty()) {
            Ok(left) => left,
            Err(Errno::NOENT) => return Ok(()),
            Err(e) => return Err(self.io(e.into())),
        };
        rustix::fs::flock(&left, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| self.busy())?;
        rustix::fs::unlinkat(&self.folder, name, AtFlags::empty()).map_err(|e| self.io(e.into()))
    }

    fn busy(&self) -> ReplaceError {
        ReplaceError::Busy {
            path: self.path.to_owned(),
        }
    }
}

/// Makes a folder and what is missing above it, through handles: nothing of it can be a link.
fn make_folders(path: &Path, made: &mut Vec<PathBuf>) -> io::Result<OwnedFd> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::NOENT.into());
    };
    let folder = match open::folder(parent) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => make_folders(parent, made)?,
        opened => opened?,
    };
    match rustix::fs::mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => made.push(path.to_owned()),
        Err(Errno::EXIST) => {}
        Err(e) => return Err(e.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(&folder, name, flags, Mode::empty())?)
}

/// Removes folders, given outermost first, as far as they are empty.
pub(crate) fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        if let (Some(parent), Some(name)) = (folder.parent(), folder.file_name())
            && let Ok(parent) = open::folder(parent)
        {
            // Somebody may have put something in: then it stays.
            let _ = rustix::fs::unlinkat(&parent, name, AtFlags::REMOVEDIR);
        }
    }
}

#[cfg(test)]
mod tests;
