//! Names that come and go: files and symbolic links that are removed or renamed, and folders.
//!
//! As in `replace`, the folder is opened link-free, and everything happens through that handle, to the name itself and never
//! to what it might lead to. Whoever puts something else under the name after the check, or writes into the file, loses
//! nothing: what has the name is renamed to a temporary name first, checked there once more, and only then removed. The
//! temporary name is fixed, and held by the lock of the temporary file that `replace` uses: what a killed Dunlin left under it
//! is found by the next change of the name, and kept under another one, since it may be anybody's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::replace::{Place, ReplaceError, Temporary, remove_folders};
use super::sibling::{aside_name, kept_name};
use super::{ContentHash, EntryKind};

/// Removes what has a name, if it is of this kind and holds `base`, and the empty ones of the folders above it. Of a file
/// with several names this one goes; of a symbolic link, nothing happens to what it leads to; a folder has to be empty.
///
/// `before` runs when nothing has happened yet, with the permission bits of a file or a folder; its failure stops it.
pub(crate) fn remove<E: From<ReplaceError>>(
    path: &Path,
    kind: EntryKind,
    base: ContentHash,
    folders: &[PathBuf],
    before: impl FnOnce(Option<u32>) -> Result<(), E>,
) -> Result<(), E> {
    let place = Place::open(path, false)?;
    match kind {
        EntryKind::File => place.remove_file(base, before)?,
        EntryKind::Link => place.remove_link(base, before)?,
        EntryKind::Folder => place.remove_folder(before)?,
    }
    remove_folders(folders);
    Ok(())
}

/// Makes a symbolic link where nothing is.
pub(crate) fn put_link(path: &Path, to: &Path) -> Result<Vec<PathBuf>, ReplaceError> {
    let place = Place::open(path, true)?;
    match rustix::fs::symlinkat(to, &place.folder, place.name) {
        Ok(()) => Ok(place.new_folders),
        Err(error) => {
            remove_folders(&place.new_folders);
            Err(match error {
                Errno::EXIST => place.changed(),
                error => place.io(error.into()),
            })
        }
    }
}

/// Gives a file that holds `base` a name that nothing has; missing folders above that are made.
///
/// `before` runs when nothing has happened yet, with the permission bits and the folders that were made, outermost first; its
/// failure stops it.
pub(crate) fn rename<E: From<ReplaceError>>(
    path: &Path,
    to: &Path,
    base: ContentHash,
    before: impl FnOnce(u32, &[PathBuf]) -> Result<(), E>,
) -> Result<(), E> {
    let old = Place::open(path, false)?;
    let Some(seen) = old.current(Some(base))? else {
        return Err(old.changed().into());
    };
    let new = Place::open(to, true)?;
    let renamed = before(seen.mode, &new.new_folders).and_then(|()| Ok(old.rename(&new, base)?));
    if renamed.is_err() {
        remove_folders(&new.new_folders);
    }
    renamed
}

/// Makes a folder where nothing is, and those above it that are missing. `mode`: its permission bits, if they are not the
/// usual ones.
///
/// `before` runs when nothing but the folders above has been made, with those, outermost first; its failure stops it.
pub(crate) fn make_folder<E: From<ReplaceError>>(
    path: &Path,
    mode: Option<u32>,
    before: impl FnOnce(&[PathBuf]) -> Result<(), E>,
) -> Result<(), E> {
    let place = Place::open(path, true)?;
    let made = before(&place.new_folders).and_then(|()| Ok(place.make_folder(mode)?));
    if made.is_err() {
        remove_folders(&place.new_folders);
    }
    made
}

impl Place<'_> {
    fn remove_file<E: From<ReplaceError>>(
        &self,
        base: ContentHash,
        before: impl FnOnce(Option<u32>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(seen) = self.current(Some(base))? else {
            return Err(self.changed().into());
        };
        before(Some(seen.mode))?;
        // What `before` does takes its time.
        let Some(now) = self.current(Some(base))? else {
            return Err(self.changed().into());
        };
        Ok(self.take_away_file(now.id, base)?)
    }

    fn remove_link<E: From<ReplaceError>>(
        &self,
        base: ContentHash,
        before: impl FnOnce(Option<u32>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.link(self.name, base)?;
        before(None)?;
        let id = self.link(self.name, base)?;
        Ok(self.take_away(|aside| self.link(aside, base).ok() == Some(id))?)
    }

    fn remove_folder<E: From<ReplaceError>>(
        &self,
        before: impl FnOnce(Option<u32>) -> Result<(), E>,
    ) -> Result<(), E> {
        let stat = rustix::fs::statat(&self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW);
        let stat = stat.map_err(|e| self.folder_error(e))?;
        if !FileType::from_raw_mode(stat.st_mode).is_dir() {
            return Err(self.folder_error(Errno::NOTDIR).into());
        }
        before(Some(stat.st_mode & 0o7777))?;
        rustix::fs::unlinkat(&self.folder, self.name, AtFlags::REMOVEDIR)
            .map_err(|e| self.folder_error(e))?;
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }

    fn folder_error(&self, error: Errno) -> ReplaceError {
        let path = self.path.to_owned();
        match error {
            Errno::EXIST | Errno::NOTEMPTY => ReplaceError::NotEmpty { path },
            Errno::NOTDIR => ReplaceError::NotFolder { path },
            Errno::NOENT => ReplaceError::NotFound { path },
            error => self.io(error.into()),
        }
    }

    fn make_folder(&self, mode: Option<u32>) -> Result<(), ReplaceError> {
        let usual = Mode::from_raw_mode(mode.map_or(0o777, |_| 0o700));
        rustix::fs::mkdirat(&self.folder, self.name, usual).map_err(|e| match e {
            Errno::EXIST => self.exists(),
            e => self.io(e.into()),
        })?;
        if let Some(mode) = mode {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fail = |e: Errno| self.io(e.into());
            let made = rustix::fs::openat(&self.folder, self.name, flags, Mode::empty());
            let bits = Mode::from_raw_mode(mode & 0o777);
            rustix::fs::fchmod(made.map_err(fail)?, bits).map_err(fail)?;
        }
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }

    /// Gives a file that holds `base` the other name.
    fn rename(&self, new: &Place<'_>, base: ContentHash) -> Result<(), ReplaceError> {
        let Some(now) = self.current(Some(base))? else {
            return Err(self.changed());
        };
        let flags = RenameFlags::NOREPLACE;
        let names = (&self.folder, self.name, &new.folder, new.name);
        match rustix::fs::renameat_with(names.0, names.1, names.2, names.3, flags) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(new.exists()),
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(Errno::XDEV) => {
                return Err(ReplaceError::OtherFileSystem {
                    path: new.path.to_owned(),
                });
            }
            // File systems that know no such flag, too: without it, something might be overwritten.
            Err(e) => return Err(new.io(e.into())),
        }
        if new.id_of(new.name).ok() != Some(now.id) {
            // It is somebody else's, and gets its name back. Where that is taken by now it keeps the other one.
            let _ = rustix::fs::renameat_with(names.2, names.3, names.0, names.1, flags);
            return Err(self.changed());
        }
        // The new name first: after a power cut a file with two names is better than one with none.
        let _ = rustix::fs::fsync(&new.folder);
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }

    /// Looks at a symbolic link of this name: it must hold the path of this hash. The value is its id.
    fn link(&self, name: &OsStr, base: ContentHash) -> Result<u64, ReplaceError> {
        // The id first: where another link takes the name in between, the removal finds an id that it did not expect.
        let id = match self.id_of(name) {
            Ok(id) => id,
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(e) => return Err(self.io(e.into())),
        };
        match rustix::fs::readlinkat(&self.folder, name, Vec::new()) {
            Ok(found) if ContentHash::of(found.to_bytes()) == base => Ok(id),
            Ok(_) | Err(Errno::NOENT | Errno::INVAL) => Err(self.changed()),
            Err(e) => Err(self.io(e.into())),
        }
    }

    /// Which file of its file system has this name.
    fn id_of(&self, name: &OsStr) -> rustix::io::Result<u64> {
        let stat = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(stat.st_ino)
    }

    /// Removes the file that has this id and holds `base`.
    fn take_away_file(&self, id: u64, base: ContentHash) -> Result<(), ReplaceError> {
        self.take_away(|aside| {
            let found = self.current_of(aside, Some(base));
            found.is_ok_and(|found| found.is_some_and(|found| found.id == id))
        })
    }

    /// Removes a name. `is_expected` checks what had it, under the name that it gets until it is removed; what is not expected
    /// gets its name back, and so does what cannot be removed.
    fn take_away(&self, is_expected: impl FnOnce(&OsStr) -> bool) -> Result<(), ReplaceError> {
        // Whoever has the lock has the temporary name, too. Making it has freed that, where it could be.
        let _locked = Temporary::make(self, None, Some(0o600))?;
        let aside = aside_name(self.name);
        match self.rename_to_free(self.name, &aside) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(e) => return Err(self.io(e.into())),
        }
        if !is_expected(&aside) {
            return Err(self.give_back(&aside, self.changed()));
        }
        if let Err(e) = rustix::fs::unlinkat(&self.folder, &aside, AtFlags::empty()) {
            return Err(self.give_back(&aside, self.io(e.into())));
        }
        // The removal itself must survive a power cut; if that cannot be had it is still removed.
        let _ = rustix::fs::fsync(&self.folder);
        Ok(())
    }

    /// Gives back the name. Where something has it by now, the other file gets a name that nothing is removed from, and the
    /// error says which.
    fn give_back(&self, aside: &OsStr, error: ReplaceError) -> ReplaceError {
        if self.rename_to_free(aside, self.name).is_ok() {
            return error;
        }
        let kept = kept_name(self.name);
        let name = match self.rename_to_free(aside, &kept) {
            Ok(()) => &kept,
            Err(_) => aside,
        };
        ReplaceError::LeftAside {
            path: self.path.to_owned(),
            aside: self.path.with_file_name(name),
        }
    }

    /// Frees the temporary name. What has it was left by a Dunlin that was killed while it removed the file, or is anybody's:
    /// it gets a name that nothing is removed from.
    pub(super) fn keep_what_was_aside(&self) {
        let _ = self.rename_to_free(&aside_name(self.name), &kept_name(self.name));
    }

    /// Renames something in the folder to a name that nothing has.
    fn rename_to_free(&self, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
        let (folder, flags) = (&self.folder, RenameFlags::NOREPLACE);
        match rustix::fs::renameat_with(folder, from, folder, to, flags) {
            // File systems that know no such flag.
            Err(Errno::INVAL | Errno::NOSYS) if self.id_of(to) == Err(Errno::NOENT) => {
                rustix::fs::renameat(folder, from, folder, to)
            }
            renamed => renamed,
        }
    }
}

#[cfg(test)]
mod tests;
