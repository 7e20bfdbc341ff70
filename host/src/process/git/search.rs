//! Looks for repositories.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use super::super::mounts::{self, Entry};
use super::super::placeholder;
use super::judge::{PACK_CHAIN, PACKS, TABLES, is_plain, is_verified};
use super::read::{
    MAX_FOLDERS, common_of, for_each, has_head, is_no_folder, list, make_readable, open_folder,
    real_path, target_of,
};
use super::{COMMON, GitFolder, GitLink, Mark, Repositories, SUFFIX, Status, Unread, settings};
use crate::display::grouped;

/// How long a search may take: a supervisor has twice as long before it is killed.
const MAX_TIME: Duration = Duration::from_secs(5);

/// Files and folders in these, at most: one folder may hold millions.
const MAX_ENTRIES_SEEN: usize = 5_000_000;

/// Repositories that are protected, at most: each takes some mounts.
const MAX_REPOSITORIES: usize = 300;

/// Bytes of a part of a folder's listing.
const LISTING_BYTES: usize = 32 * 1024;

/// How many folders lie between `.git/modules` and the folder of a submodule, at most: its name may hold slashes.
const MAX_MODULE_DEPTH: usize = 8;

/// What the names begin with of a `.git` and of a `HEAD` that were set aside.
const ASIDE: &str = ".git.set-aside";
const HEAD_ASIDE: &str = "HEAD.set-aside";

/// Characters of a path in an error.
const MAX_SHOWN_CHARS: usize = 200;

/// Entries of a setting that is a folder, such as `hooks`.
const MAX_ENTRIES: usize = 1_000;

/// What has ended a search before everything was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Folders,
    Repositories,
    Entries,
    Time,
    Path,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Folders => write!(f, "more than {} folders", grouped(MAX_FOLDERS as u64)),
            Limit::Repositories => write!(f, "more than {MAX_REPOSITORIES} git repositories"),
            Limit::Entries => write!(
                f,
                "more than {} million files",
                MAX_ENTRIES_SEEN / 1_000_000
            ),
            Limit::Time => write!(f, "it took more than {} s", MAX_TIME.as_secs()),
            Limit::Path => f.write_str("a path is too long"),
        }
    }
}

impl Repositories {
    /// Looks only below these folders, as nothing is known yet.
    #[cfg(test)]
    pub(in crate::process) fn find(roots: &[&Path]) -> Repositories {
        Repositories::search(&[], roots, None)
    }

    /// Looks for all repositories at and below these folders, without following links. What lies at the `known` paths is
    /// looked at before the rest. Then the upper folders come first, so that those count that a person would work in if
    /// there are too many.
    pub(in crate::process) fn find_known_first(
        known: &[OsString],
        roots: &[&Path],
    ) -> Repositories {
        Repositories::search(known, roots, None)
    }

    /// Looks again after a command. Folders of the user that have become unreadable since are made readable: a
    /// repository in them would still be one.
    pub(in crate::process) fn find_after(roots: &[&Path], before: &Repositories) -> Repositories {
        let known: Vec<OsString> = before.paths().collect();
        Repositories::search(&known, roots, Some(before))
    }

    fn search(known: &[OsString], roots: &[&Path], before: Option<&Repositories>) -> Repositories {
        let mut search = Search {
            roots,
            before,
            found: Repositories::default(),
            seen: 0,
            entries: 0,
            is_over: false,
            follows: false,
            postponed: Vec::new(),
            deadline: Instant::now() + MAX_TIME,
        };
        for path in known.iter().map(Path::new) {
            search.look_first(path);
        }
        search.follows = true;
        for (path, is_folder) in std::mem::take(&mut search.postponed) {
            match is_folder {
                true => search.add_folder(&path, true),
                false => search.add_below(&path, MAX_MODULE_DEPTH),
            }
        }
        search.walk();
        let roots = roots.iter().map(|root| root.as_os_str().to_owned());
        search.found.roots = roots.collect();
        search.found
    }
}

struct Search<'a> {
    roots: &'a [&'a Path],
    before: Option<&'a Repositories>,
    found: Repositories,
    seen: usize,
    entries: usize,
    /// Whether a limit is reached.
    is_over: bool,
    /// Whether what a repository leads to is looked at. First come all that were known, each by itself.
    follows: bool,
    /// Folders that known ones lead to, and whether each is that of a repository. The others may hold some.
    postponed: Vec<(PathBuf, bool)>,
    deadline: Instant,
}

impl Search<'_> {
    fn walk(&mut self) {
        let mut todo: VecDeque<PathBuf> = self.roots.iter().map(|root| (*root).into()).collect();
        let mut buffer = Vec::with_capacity(LISTING_BYTES);
        while let Some(folder) = todo.pop_front() {
            if !self.may_go_on() {
                return;
            }
            let listing = match self.opened(&folder, |folder| Listing::read(folder, &mut buffer)) {
                Ok(listing) => listing,
                Err(error) => {
                    self.cannot_look(&folder, false, &error);
                    continue;
                }
            };
            self.entries += listing.entries;
            for (git, is_folder) in &listing.git {
                let path = folder.join(git);
                match is_folder {
                    true => self.add_folder(&path, false),
                    false => self.add_link(&path),
                }
            }
            let is_one = listing.names.are_a_repository();
            if is_one && (listing.names.aside || has_head(&folder)) {
                self.add_folder(&folder, false);
                // What else lies at a root is not a setting only because a command made a HEAD there.
                if self.roots.contains(&folder.as_path())
                    && !listing.names.config
                    && let Some(found) = self.found.folders.get_mut(&folder)
                    && !found.is_of_worktree()
                {
                    found.settings.clear();
                }
            }
            todo.extend(listing.folders);
        }
    }

    /// Looks at what was a repository, or led to one.
    fn look_first(&mut self, path: &Path) {
        if !self.may_go_on() {
            // After a command, the review finds that it was not looked at.
            let why = format!("{}: it takes too long to look at it", path.display());
            self.found.unreachable.get_or_insert(why);
            return;
        }
        let is_git = path
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(".git") || is_aside(name));
        match mounts::look(path) {
            Ok(Entry::Folder(_)) if self.is_within(path) && (is_git || has_head(path)) => {
                self.add_folder(path, false);
            }
            Ok(Entry::File(_) | Entry::Link(Some(_))) if self.is_within(path) && is_git => {
                self.add_link(path);
            }
            _ => {}
        }
    }

    fn may_go_on(&mut self) -> bool {
        self.seen += 1;
        let repositories = self.found.folders.len().max(self.found.unread.len());
        // Only the search before a command is for mounts. What that one left out is not new for the one after it.
        let is_counted = self.before.is_none_or(|before| before.is_incomplete);
        let limits = [
            (self.seen > MAX_FOLDERS, Limit::Folders),
            (
                is_counted && repositories >= MAX_REPOSITORIES,
                Limit::Repositories,
            ),
            (self.entries > MAX_ENTRIES_SEEN, Limit::Entries),
            (Instant::now() >= self.deadline, Limit::Time),
        ];
        let limit = limits.into_iter().find(|(is_reached, _)| *is_reached);
        if let Some((_, limit)) = limit {
            self.is_over = true;
            self.found.is_incomplete = true;
            self.found.limit.get_or_insert(limit);
        }
        limit.is_none()
    }

    fn is_within(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Reads a folder; one that a command has made unreadable is made readable first.
    fn opened<T>(
        &mut self,
        folder: &Path,
        mut read: impl FnMut(&Path) -> io::Result<T>,
    ) -> io::Result<T> {
        match (read(folder), self.before) {
            (Err(error), Some(before)) if error.kind() == io::ErrorKind::PermissionDenied => {
                let id = mounts::id_at(folder)?;
                if before.unread.values().any(|unread| unread.id == id) {
                    return Err(error);
                }
                make_readable(folder).map_err(|_| error)?;
                self.found.opened.push(folder.to_owned());
                read(folder)
            }
            (read, _) => read,
        }
    }

    /// Notes a folder that is there and cannot be looked at.
    fn cannot_look(&mut self, path: &Path, is_git: bool, error: &io::Error) {
        if is_no_folder(error) {
            return;
        }
        let id = match mounts::id_at(path) {
            Ok(id) => id,
            Err(error) if is_no_folder(&error) => return,
            Err(error) => {
                self.found.is_incomplete = true;
                if !is_too_long(&error) {
                    return;
                }
                self.found.limit.get_or_insert(Limit::Path);
                let path = path.to_string_lossy();
                let path = crate::display::shorten(&path, MAX_SHOWN_CHARS);
                let error = format!("{path}: {error}");
                self.found.unreachable.get_or_insert(error);
                return;
            }
        };
        let unread = Unread { id, is_git: false };
        let unread = self.found.unread.entry(path.to_owned()).or_insert(unread);
        unread.is_git |= is_git;
    }

    /// Adds the folder of a repository, and those of its submodules and worktrees.
    ///
    /// `is_reference`: something leads there, and nothing else says that it is a repository.
    fn add_folder(&mut self, path: &Path, is_reference: bool) {
        if let Some(known) = self.found.folders.get_mut(path) {
            known.is_reference &= is_reference;
            return;
        }
        if !self.may_go_on() {
            return;
        }
        let entries = match self.opened(path, list) {
            Ok(entries) => entries,
            Err(error) => return self.cannot_look(path, !is_reference, &error),
        };
        self.entries += entries.len();
        let Ok(id) = mounts::id_at(path) else {
            return;
        };
        let mut folder = GitFolder {
            id,
            settings: Default::default(),
            data: Vec::new(),
            has_head: false,
            is_aside: path.file_name().is_some_and(is_aside),
            verified: Default::default(),
            links: Default::default(),
            worktrees: settings::worktrees(path)
                .into_iter()
                .map(PathBuf::into_os_string)
                .collect(),
            has_common: false,
            common: None,
            is_reference,
        };
        let mut more = Vec::new();
        for (name, kind) in entries {
            let entry = path.join(&name);
            // Of another command that runs.
            if placeholder::is_at(&entry).unwrap_or_default() {
                continue;
            }
            if name == COMMON {
                folder.has_common = true;
                folder.common = common_of(path).map(PathBuf::into_os_string);
            }
            folder.has_head |= name.eq_ignore_ascii_case("HEAD");
            folder.is_aside |= is_head_aside(&name);
            let is_plain = is_plain(&name, kind);
            let is_read = !name.to_string_lossy().contains(SUFFIX);
            if kind == FileType::Directory && is_read {
                match name.as_bytes() {
                    b"modules" | b"worktrees" => more.push(entry.clone()),
                    b"objects" => {
                        self.find_links_of_objects(&entry, &mut folder.links);
                        for name in [PACKS, PACK_CHAIN] {
                            let mark = Mark::of(&path.join(name));
                            if !mark.is_of_nothing() {
                                folder.verified.insert(name.into(), mark);
                            }
                        }
                    }
                    b"reftable" => {
                        self.find_links(&entry, &mut folder.links);
                        let mark = Mark::of(&path.join(TABLES));
                        folder.verified.insert(TABLES.into(), mark);
                    }
                    _ => self.find_links(&entry, &mut folder.links),
                }
            }
            if is_plain {
                folder.data.push(name.clone());
            }
            if !is_plain {
                folder.settings.insert(name, Mark::of(&entry));
            } else if is_verified(&name) {
                folder.verified.insert(name, Mark::of(&entry));
            }
        }
        // The repository may be moved with all that is in it.
        let within = |link: OsString| Path::new(&link).strip_prefix(path).map(OsString::from);
        folder.links = folder
            .links
            .into_iter()
            .filter_map(|it| within(it).ok())
            .collect();
        // With a new HEAD it is one again.
        folder.is_aside &= !folder.has_head;
        let common = folder.common().map(Path::to_owned);
        self.found.folders.insert(path.to_owned(), folder);
        if let Some(common) = common.filter(|common| self.is_within(common)) {
            self.lead_to(common);
        }
        for folder in more {
            match self.follows {
                true => self.add_below(&folder, MAX_MODULE_DEPTH),
                false => self.postponed.push((folder, false)),
            }
        }
    }

    /// Adds the folder of a repository that something leads to.
    fn lead_to(&mut self, path: PathBuf) {
        match self.follows {
            true => self.add_folder(&path, true),
            false => self.postponed.push((path, true)),
        }
    }

    /// Looks for symbolic links in a folder of a repository: git opens files in it by their names, and writes to them. No
    /// number of names in a folder ends this.
    fn find_links(&mut self, top: &Path, links: &mut BTreeSet<OsString>) {
        let mut todo = vec![top.to_owned()];
        while let Some(folder) = todo.pop() {
            if !self.may_go_on() {
                return self.cannot_look(top, false, &io::Error::other("too much is in it"));
            }
            let looked = self.opened(&folder, |folder| {
                let (mut entries, mut folders) = (0, Vec::new());
                for_each(folder, MAX_ENTRIES_SEEN, |name, kind| {
                    entries += 1;
                    match kind {
                        FileType::Symlink => {
                            links.insert(folder.join(name).into_os_string());
                        }
                        FileType::Directory => folders.push(folder.join(name)),
                        _ => {}
                    }
                })?;
                Ok((entries, folders))
            });
            match looked {
                Ok((entries, folders)) => {
                    self.entries += entries;
                    todo.extend(folders);
                }
                Err(error) => {
                    self.cannot_look(&folder, false, &error);
                    if is_too_long(&error) {
                        // Git may reach it by a shorter path, from within the worktree.
                        return self.cannot_look(top, false, &error);
                    }
                }
            }
        }
    }

    /// The same of the folder of objects. Git writes an object under a name that is not there yet: only its folders can
    /// lead elsewhere.
    fn find_links_of_objects(&mut self, objects: &Path, links: &mut BTreeSet<OsString>) {
        let entries = match self.opened(objects, list) {
            Ok(entries) => entries,
            Err(error) => return self.cannot_look(objects, false, &error),
        };
        self.entries += entries.len();
        let found = entries
            .iter()
            .filter(|(_, kind)| *kind == FileType::Symlink);
        links.extend(found.map(|(name, _)| objects.join(name).into_os_string()));
        for folder in ["info", "pack"] {
            self.find_links(&objects.join(folder), links);
        }
    }

    /// Adds the repositories of submodules or worktrees.
    fn add_below(&mut self, folder: &Path, depth: usize) {
        let entries = match self.opened(folder, list) {
            Ok(entries) => entries,
            Err(error) => return self.cannot_look(folder, false, &error),
        };
        self.entries += entries.len();
        for (name, kind) in entries {
            let path = folder.join(name);
            if kind == FileType::Symlink {
                self.add_link(&path);
            }
            if kind != FileType::Directory {
                continue;
            }
            let has = |name: &str| path.join(name).symlink_metadata().is_ok();
            let is_one = ["HEAD", "config", "commondir", "gitdir"]
                .into_iter()
                .any(has);
            if is_one {
                self.add_folder(&path, false);
            } else if depth > 0 && self.may_go_on() {
                self.add_below(&path, depth - 1);
            } else {
                self.found.is_incomplete = true;
            }
        }
        if self.is_over {
            self.cannot_look(folder, false, &io::Error::other("too much is in it"));
        }
    }

    /// Adds a `.git` that is not a folder, and the repository that it leads to.
    fn add_link(&mut self, path: &Path) {
        // Each may lead through many other links.
        if !self.may_go_on() {
            return;
        }
        let Ok(meta) = path.symlink_metadata() else {
            return;
        };
        let target = target_of(path);
        let link = GitLink {
            number: meta.ino(),
            mark: Mark::of(path),
            target: target.clone().map(PathBuf::into_os_string),
        };
        self.found.links.insert(path.to_owned(), link);
        if let Some(target) = target.filter(|target| self.is_within(target)) {
            self.lead_to(target);
        }
    }
}

fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
}

/// What of a folder matters to the search.
#[derive(Default)]
struct Listing {
    folders: Vec<PathBuf>,
    names: GitNames,
    /// What is called `.git`, and whether it is a folder. Some file systems do not tell upper case from lower case.
    git: Vec<(OsString, bool)>,
    entries: usize,
}

impl Listing {
    /// Reads a folder. Nothing is allocated for its files: a project has many.
    fn read(folder: &Path, buffer: &mut Vec<u8>) -> io::Result<Listing> {
        let mut listing = Listing::default();
        let opened = open_folder(folder)?;
        let mut entries = RawDir::new(opened, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
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
            if name.eq_ignore_ascii_case(".git") || is_aside(name) {
                listing.git.push((name.to_owned(), is_folder));
            }
            if is_folder {
                listing.folders.push(folder.join(name));
            }
        }
        Ok(listing)
    }
}

/// Whether a folder of this name is a `.git` that was set aside.
pub(super) fn is_aside(name: &OsStr) -> bool {
    let start = name.as_bytes().get(..ASIDE.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(ASIDE.as_bytes()))
}

/// Whether a file of this name was the `HEAD` of a repository.
fn is_head_aside(name: &OsStr) -> bool {
    name.as_bytes().starts_with(HEAD_ASIDE.as_bytes())
}

/// What git takes a folder without `.git` for a repository by.
#[derive(Default)]
struct GitNames {
    head: bool,
    /// Whether there is a `HEAD` that was set aside.
    aside: bool,
    objects: bool,
    refs: bool,
    common: bool,
    config: bool,
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
    }

    fn are_a_repository(&self) -> bool {
        (self.head || self.aside) && (self.common || self.objects && self.refs)
    }
}

impl Mark {
    /// Looks at a file or folder as it is now.
    pub(super) fn of(path: &Path) -> Mark {
        let Ok(meta) = path.symlink_metadata() else {
            return Mark::default();
        };
        let time_of = |meta: &Metadata| {
            let time = meta.ctime().wrapping_mul(1_000_000_000);
            time.wrapping_add(meta.ctime_nsec())
        };
        let one = |name: &OsStr, meta: &Metadata| {
            // Whoever reads a folder or makes a placeholder in it does not change it.
            let of_file = u64::from(!meta.is_dir());
            Status {
                name: name.to_owned(),
                number: meta.ino(),
                changed: if meta.is_dir() { 0 } else { time_of(meta) },
                bytes: meta.len() * of_file,
                names: meta.nlink() * of_file,
            }
        };
        let mut parts = vec![one(OsStr::new(""), &meta)];
        // What a link leads to counts as well.
        let target = meta.is_symlink().then(|| real_path(path).ok()).flatten();
        let target = target.and_then(|path| Some((path.symlink_metadata().ok()?, path)));
        parts.extend(target.iter().map(|(meta, _)| one(OsStr::new(""), meta)));
        let (meta, path) = match &target {
            Some((meta, path)) => (meta, path.as_path()),
            None => (&meta, path),
        };
        if meta.is_dir() {
            let entries = list(path).ok().filter(|it| it.len() <= MAX_ENTRIES);
            match entries {
                Some(entries) => {
                    for (name, _) in entries {
                        if let Ok(meta) = path.join(&name).symlink_metadata() {
                            parts.push(one(&name, &meta));
                        }
                    }
                }
                // Then any change counts.
                None => parts.push(Status {
                    changed: time_of(meta),
                    ..one(OsStr::new(""), meta)
                }),
            }
            parts.sort();
        }
        Mark(parts)
    }
}
