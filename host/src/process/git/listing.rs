//! What the names in a folder tell about repositories.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, RawDir};

use super::read::open_folder;

/// Bytes of a part of a listing as the system gives it.
pub(super) const BYTES: usize = 32 * 1024;

/// What the names begin with of a `.git` and of a `HEAD` that were set aside.
const ASIDE: &str = ".git.set-aside";
const HEAD_ASIDE: &str = "HEAD.set-aside";

/// What of a folder matters to the search.
#[derive(Default)]
pub(super) struct Listing {
    pub(super) folders: Vec<PathBuf>,
    pub(super) names: GitNames,
    /// What is called `.git`, and whether it is a folder. Some file systems do not tell upper case from lower case.
    pub(super) git: Vec<(OsString, bool)>,
    /// Symbolic links.
    pub(super) links: Vec<OsString>,
    pub(super) entries: usize,
    /// Whether git keeps a repository in it, or may do so.
    pub(super) is_repository: bool,
}

impl Listing {
    /// Reads a folder, as far as one entry more than it may have. Nothing is allocated for its files: a project has many.
    pub(super) fn read(folder: &Path, most: usize, buffer: &mut Vec<u8>) -> io::Result<Listing> {
        let mut listing = Listing::default();
        let mut is_ascii = true;
        let opened = open_folder(folder)?;
        let mut entries = RawDir::new(opened, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            listing.names.see(name);
            is_ascii &= name.as_bytes().is_ascii();
            listing.entries += 1;
            if listing.entries > most {
                break;
            }
            let kind = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => {
                    let status = folder.join(name).symlink_metadata();
                    status.map_or(FileType::Unknown, |status| {
                        FileType::from_raw_mode(status.mode())
                    })
                }
                kind => kind,
            };
            let is_folder = kind == FileType::Directory;
            if kind == FileType::Symlink {
                listing.links.push(name.to_owned());
            }
            if name.eq_ignore_ascii_case(".git") || is_aside(name) {
                listing.git.push((name.to_owned(), is_folder));
            }
            if is_folder {
                listing.folders.push(folder.join(name));
            }
        }
        if !is_ascii {
            listing.see_other_spellings(folder);
        }
        Ok(listing)
    }

    /// Sees what is there under a name that is spelled otherwise: a folder that does not tell upper case from lower case may
    /// also ignore letters that nobody sees, such as a joiner in `.git`. Only the system knows.
    fn see_other_spellings(&mut self, folder: &Path) {
        let names = [".git", "objects", "refs"].into_iter().chain(MODULE_NAMES);
        for name in names.map(OsStr::new) {
            let Ok(meta) = folder.join(name).symlink_metadata() else {
                continue;
            };
            self.names.see(name);
            let mut seen = self.git.iter();
            if name == ".git" && !seen.any(|(git, _)| git.eq_ignore_ascii_case(name)) {
                self.git.push((name.to_owned(), meta.is_dir()));
            }
        }
    }
}

/// Whether what lies here is called `.git`, or was before it was set aside.
pub(crate) fn is_git_name(path: &Path) -> bool {
    let name = path.file_name();
    name.is_some_and(|name| name.eq_ignore_ascii_case(".git") || is_aside(name))
}

/// Whether a folder of this name is a `.git` that was set aside.
pub(super) fn is_aside(name: &OsStr) -> bool {
    let start = name.as_bytes().get(..ASIDE.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(ASIDE.as_bytes()))
}

/// Whether a file of this name was the `HEAD` of a repository.
pub(super) fn is_head_aside(name: &OsStr) -> bool {
    name.as_bytes().starts_with(HEAD_ASIDE.as_bytes())
}

/// Whether git may take this folder for a repository, now or once there is more in it: something lies at its `HEAD`, or at
/// where Dunlin renames one to. Git looks at the text of a link there, and not at where it leads. A folder is no `HEAD`.
pub(crate) fn may_be_repository(folder: &Path) -> bool {
    ["HEAD", HEAD_ASIDE].iter().any(|name| {
        use io::ErrorKind::{NotADirectory, NotFound};
        match folder.join(name).symlink_metadata() {
            Ok(meta) => !meta.is_dir(),
            Err(error) => !matches!(error.kind(), NotFound | NotADirectory),
        }
    })
}

/// What a folder holds where git keeps a submodule or worktree: one of these, at least.
pub(super) const MODULE_NAMES: [&str; 4] = ["HEAD", "config", "commondir", "gitdir"];

/// What git takes a folder without `.git` for a repository by.
#[derive(Default)]
pub(super) struct GitNames {
    head: bool,
    /// Whether there is a `HEAD` that was set aside.
    pub(super) aside: bool,
    objects: bool,
    refs: bool,
    common: bool,
    pub(super) config: bool,
    /// Whether there is one of [`MODULE_NAMES`].
    of_module: bool,
}

impl GitNames {
    fn see(&mut self, name: &OsStr) {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        self.head |= is("HEAD");
        self.aside |= is_head_aside(name);
        self.objects |= is("objects");
        self.refs |= is("refs");
        self.common |= is("commondir");
        self.config |= is("config");
        self.of_module |= MODULE_NAMES.into_iter().any(is);
    }

    pub(super) fn are_of_a_module(&self) -> bool {
        self.of_module
    }

    /// What makes a folder a repository as soon as it has a `HEAD`: what it shares with others, or where that is.
    pub(super) fn make_a_repository(&self) -> impl Iterator<Item = &'static str> {
        let shared = (self.objects && self.refs).then_some("objects");
        shared
            .into_iter()
            .chain(self.common.then_some(super::COMMON))
    }

    pub(super) fn are_a_repository(&self) -> bool {
        (self.head || self.aside) && (self.common || self.objects && self.refs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the system finds under a name counts, however it is spelled in the listing.
    #[test]
    fn the_system_is_asked_where_names_are_not_ascii() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for name in [".git", "objects", "refs", "\u{e4}"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        std::fs::write(folder.join("HEAD"), "").unwrap();
        let mut seen = Listing::default();
        seen.see_other_spellings(folder);
        assert!(seen.names.are_a_repository() && !seen.names.config);
        let mut buffer = Vec::with_capacity(BYTES);
        let read = Listing::read(folder, 10, &mut buffer).unwrap();
        for listing in [seen, read] {
            assert_eq!(listing.git, [(OsString::from(".git"), true)]);
        }
    }
}
