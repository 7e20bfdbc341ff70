//! Looks for repositories.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, openat};

use super::judge::is_plain;
use super::{GitFolder, GitLink, Mark, Repositories};

/// Folders that are looked at, at most: a project of 100,000 files has about 10,000.
pub(super) const MAX_FOLDERS: usize = 20_000;

/// Files and folders in these, at most: one folder may hold millions.
const MAX_ENTRIES_SEEN: usize = 2_000_000;

/// Repositories that are protected, at most: each takes some mounts.
const MAX_REPOSITORIES: usize = 300;

/// Bytes of a part of a folder's listing.
const LISTING_BYTES: usize = 32 * 1024;

/// How many folders lie between `.git/modules` and the folder of a submodule, at most: its name may hold slashes.
const MAX_MODULE_DEPTH: usize = 8;

/// Bytes of a `.git` file or a `commondir`: a path.
const MAX_LINK_BYTES: u64 = 8 * 1024;

/// Entries of a setting that is a folder, such as `hooks`.
const MAX_ENTRIES: usize = 1_000;

impl Repositories {
    /// Looks for all repositories at and below these folders, without following links. The upper folders come first, so
    /// that those count that a person would work in if there are too many.
    pub(in crate::process) fn find(roots: &[&Path]) -> Repositories {
        let mut search = Search {
            roots,
            found: Repositories::default(),
            seen: 0,
            entries: 0,
        };
        search.walk();
        search.found
    }
}

struct Search<'a> {
    roots: &'a [&'a Path],
    found: Repositories,
    seen: usize,
    entries: usize,
}

impl Search<'_> {
    fn walk(&mut self) {
        let mut todo: VecDeque<PathBuf> = self.roots.iter().map(|root| (*root).into()).collect();
        let mut buffer = Vec::with_capacity(LISTING_BYTES);
        while let Some(folder) = todo.pop_front() {
            if !self.may_go_on() {
                return;
            }
            let listing = Listing::read(&folder, &mut buffer);
            self.entries += listing.entries;
            if let Some(is_folder) = listing.git {
                let path = folder.join(".git");
                match is_folder {
                    true => self.add_folder(&path),
                    false => self.add_link(&path),
                }
            }
            match listing.names.are_a_repository() {
                true => self.add_folder(&folder),
                false => todo.extend(listing.folders),
            }
        }
    }

    fn may_go_on(&mut self) -> bool {
        self.seen += 1;
        let may = self.seen <= MAX_FOLDERS
            && self.found.folders.len() < MAX_REPOSITORIES
            && self.entries <= MAX_ENTRIES_SEEN;
        self.found.is_incomplete |= !may;
        may
    }

    fn is_within(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Adds the folder of a repository, and those of its submodules and worktrees.
    fn add_folder(&mut self, path: &Path) {
        if self.found.folders.contains_key(path) || !self.may_go_on() {
            return;
        }
        let Ok(meta) = path.symlink_metadata() else {
            return;
        };
        let mut folder = GitFolder {
            id: (meta.dev(), meta.ino()),
            settings: Default::default(),
            has_common: false,
        };
        let mut more = Vec::new();
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name == "commondir" {
                folder.has_common = true;
            }
            if !is_plain(&name) {
                folder.settings.insert(name, Mark::of(&entry.path()));
            } else if name == "modules" || name == "worktrees" {
                more.push(entry.path());
            }
        }
        self.found.folders.insert(path.to_owned(), folder);
        for folder in more {
            self.add_below(&folder, MAX_MODULE_DEPTH);
        }
    }

    /// Adds the repositories of submodules or worktrees.
    fn add_below(&mut self, folder: &Path, depth: usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let path = entry.path();
            let has = |name: &str| path.join(name).symlink_metadata().is_ok();
            if has("HEAD") || has("config") || has("commondir") {
                self.add_folder(&path);
            } else if depth > 0 && self.may_go_on() {
                self.add_below(&path, depth - 1);
            } else {
                self.found.is_incomplete = true;
            }
        }
    }

    /// Adds a `.git` that is no folder, and the repository that it leads to.
    fn add_link(&mut self, path: &Path) {
        let target = target_of(path);
        let link = GitLink {
            mark: Mark::of(path),
            target: target.clone(),
        };
        self.found.links.insert(path.to_owned(), link);
        if let Some(target) = target.filter(|target| self.is_within(target)) {
            self.add_folder(&target);
        }
    }
}

/// What of a folder matters to the search.
#[derive(Default)]
struct Listing {
    folders: Vec<PathBuf>,
    names: GitNames,
    /// Whether there is a `.git`, and whether it is a folder.
    git: Option<bool>,
    entries: usize,
}

impl Listing {
    /// Reads a folder. Nothing is allocated for its files: a project has many.
    fn read(folder: &Path, buffer: &mut Vec<u8>) -> Listing {
        let mut listing = Listing::default();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(opened) = openat(CWD, folder, flags, Mode::empty()) else {
            return listing;
        };
        let mut entries = RawDir::new(opened, buffer.spare_capacity_mut());
        while let Some(Ok(entry)) = entries.next() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            listing.names.see(name);
            listing.entries += 1;
            if listing.entries > MAX_ENTRIES_SEEN {
                break;
            }
            let is_folder = match entry.file_type() {
                FileType::Directory => true,
                // Some file systems do not say.
                FileType::Unknown => folder
                    .join(name)
                    .symlink_metadata()
                    .is_ok_and(|meta| meta.is_dir()),
                _ => false,
            };
            if name == ".git" {
                listing.git = Some(is_folder);
            } else if is_folder {
                listing.folders.push(folder.join(name));
            }
        }
        listing
    }
}

/// Where a `.git` leads to that is a file or a symbolic link.
fn target_of(path: &Path) -> Option<PathBuf> {
    let is_folder = |path: &PathBuf| path.is_dir();
    if path.symlink_metadata().ok()?.is_symlink() {
        return path.canonicalize().ok().filter(is_folder);
    }
    let text = read_short(path)?;
    let named = text.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    let target = path.parent()?.join(OsStr::from_bytes(named));
    target.canonicalize().ok().filter(is_folder)
}

/// The content of a short regular file.
pub(super) fn read_short(path: &Path) -> Option<Vec<u8>> {
    let meta = path.symlink_metadata().ok()?;
    if !meta.is_file() || meta.len() > MAX_LINK_BYTES {
        return None;
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).ok()?;
    file.take(MAX_LINK_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

/// What git takes a folder without `.git` for a repository by.
#[derive(Default)]
struct GitNames {
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
}

impl GitNames {
    fn see(&mut self, name: &OsStr) {
        match name.as_bytes() {
            b"HEAD" => self.head = true,
            b"objects" => self.objects = true,
            b"refs" => self.refs = true,
            b"commondir" => self.common = true,
            _ => {}
        }
    }

    fn are_a_repository(&self) -> bool {
        self.head && (self.common || self.objects && self.refs)
    }
}

impl Mark {
    /// Looks at a file or folder as it is now.
    pub(super) fn of(path: &Path) -> Mark {
        let Ok(meta) = path.symlink_metadata() else {
            return Mark::default();
        };
        let one = |name: &OsStr, meta: &Metadata| {
            let time = meta.ctime().wrapping_mul(1_000_000_000);
            let time = time.wrapping_add(meta.ctime_nsec());
            // Whoever reads a folder or makes a placeholder in it does not change it.
            let time = if meta.is_dir() { 0 } else { time };
            (
                name.to_owned(),
                meta.ino(),
                time,
                meta.len() * u64::from(!meta.is_dir()),
            )
        };
        let mut parts = vec![one(OsStr::new(""), &meta)];
        if meta.is_dir() {
            for entry in fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .take(MAX_ENTRIES)
            {
                if let Ok(meta) = entry.metadata() {
                    parts.push(one(&entry.file_name(), &meta));
                }
            }
            parts.sort();
        }
        Mark(parts)
    }
}
