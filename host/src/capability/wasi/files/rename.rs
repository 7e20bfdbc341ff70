//! A name in an open folder that becomes another one.
//!
//! What was looked at is what is renamed: between the two, whoever else writes in the folder may put something else there, such
//! as a link that leads out of the project from its new place. So what has the new name is looked at once more, and gets its
//! old name back if it is something else. A file system without the flags for that renames without the second look.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, RenameFlags, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::error::Fault;
use super::{Answer, ErrorCode};

/// A name in an open folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name<'a> {
    folder: &'a OwnedFd,
    name: &'a OsStr,
}

/// What has a name; a link is one, wherever it leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: FileType,
    device: u64,
    inode: u64,
}

impl<'a> Name<'a> {
    pub(super) fn at(folder: &'a OwnedFd, name: &'a OsStr) -> Name<'a> {
        Name { folder, name }
    }

    /// What has the name, if anything.
    pub(super) fn look(&self) -> Result<Option<Found>, Fault> {
        match statat(self.folder, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Found {
                kind: FileType::from_raw_mode(stat.st_mode),
                device: stat.st_dev,
                inode: stat.st_ino,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives what was found under this name the other one, in place of a file that has it. Something else that is found here or
    /// there by then is left as it is.
    pub(super) fn rename(&self, found: &Found, to: &Name<'_>) -> Answer<()> {
        let replaced = to.look()?;
        if replaced.is_some_and(|it| it.kind.is_dir()) {
            return Err(ErrorCode::IsDirectory.into());
        }
        // Two names of one file: nothing happens, as POSIX has it.
        if replaced == Some(*found) {
            return Ok(());
        }
        // What was there stands under the old name then, until that is removed.
        let flags = match replaced {
            Some(_) => RenameFlags::EXCHANGE,
            None => RenameFlags::NOREPLACE,
        };
        match renameat_with(self.folder, self.name, to.folder, to.name, flags) {
            Ok(()) => {}
            // File systems that know no such flag.
            Err(Errno::INVAL | Errno::NOSYS) => {
                return Ok(renameat(self.folder, self.name, to.folder, to.name)?);
            }
            Err(Errno::EXIST) => return Err(ErrorCode::Busy.into()),
            Err(error) => return Err(error.into()),
        }
        let is_same = |name: &Name<'_>, what| name.look().is_ok_and(|it| it == what);
        if !is_same(to, Some(*found)) || !is_same(self, replaced) {
            // Whoever has put it there takes part in what becomes of it; where that fails it keeps the new name.
            let _ = renameat_with(to.folder, to.name, self.folder, self.name, flags);
            return Err(ErrorCode::Busy.into());
        }
        if replaced.is_some() {
            unlinkat(self.folder, self.name, AtFlags::empty())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::open;

    fn code(answer: Answer<()>) -> Option<ErrorCode> {
        match answer {
            Ok(()) => None,
            Err(Fault::Code(code)) => Some(code),
            Err(Fault::Trap(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn what_was_looked_at_is_what_is_renamed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        let (folder, sub) = (
            open::folder(&root).unwrap(),
            open::folder(&root.join("sub")).unwrap(),
        );
        let old = Name::at(&folder, OsStr::new("a"));
        let new = Name::at(&sub, OsStr::new("b"));
        let (a, b) = (root.join("a"), root.join("sub/b"));
        let text = |path| fs::read_to_string(path).ok();

        fs::write(&a, "one").unwrap();
        let one = old.look().unwrap().unwrap();
        assert_eq!(code(old.rename(&one, &new)), None);
        assert_eq!((text(&a), text(&b)), (None, Some("one".to_owned())));
        // In place of another file.
        fs::write(&a, "two").unwrap();
        let two = old.look().unwrap().unwrap();
        assert_eq!(code(old.rename(&two, &new)), None);
        assert_eq!((text(&a), text(&b)), (None, Some("two".to_owned())));
        // Something else was put there since, where there is a file and where there is none.
        for has_new in [true, false] {
            fs::write(&a, "three").unwrap();
            let three = old.look().unwrap().unwrap();
            fs::rename(&a, root.join("kept")).unwrap();
            symlink("../../outside", &a).unwrap();
            assert_eq!(code(old.rename(&three, &new)), Some(ErrorCode::Busy));
            assert!(a.is_symlink() && !b.is_symlink());
            assert_eq!(text(&b).is_some(), has_new);
            fs::remove_file(&a).unwrap();
            fs::create_dir(&a).unwrap();
            assert_eq!(code(old.rename(&three, &new)), Some(ErrorCode::Busy));
            assert!(a.is_dir());
            fs::remove_dir(&a).unwrap();
            let _ = fs::remove_file(&b);
        }
        // Two names of one file.
        fs::write(&a, "four").unwrap();
        fs::hard_link(&a, &b).unwrap();
        let four = old.look().unwrap().unwrap();
        assert_eq!(code(old.rename(&four, &new)), None);
        assert!(a.exists() && b.exists());
        fs::remove_file(&b).unwrap();
        fs::create_dir(&b).unwrap();
        assert_eq!(code(old.rename(&four, &new)), Some(ErrorCode::IsDirectory));
        fs::remove_file(&a).unwrap();
        fs::remove_dir(&b).unwrap();
        assert_eq!(code(old.rename(&four, &new)), Some(ErrorCode::NoEntry));
    }
}
