//! Looks for repositories.
//!
//! First come the repositories that are known and their settings, then the folders of the project outside of repositories.
//! Only after that the search looks into the folders within repositories, each of which has limits of its own: whatever
//! a command puts into one of them, everything else is looked at as if it were not there.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::super::mounts::{self, Entry, FileId};
use super::super::placeholder;
use super::extent::{Budget, Extent, Limit, Limits};
use super::index::submodules;
use super::judge::{PACK_CHAIN, PACKS, TABLES, is_plain, is_verified};
use super::listing;
use super::listing::{Listing, MODULE_NAMES, is_aside, is_git_name, is_head_aside};
use super::read::{common_of, has_head, is_no_folder, list, make_readable, target_of};
use super::{COMMON, GitFolder, GitLink, Mark, Repositories, SUFFIX, Unread, settings};

/// Folders of a part of a repository that are looked at before it is the turn of the next part. It doubles with every turn, so
/// that small parts are looked at whole before large ones.
const FIRST_TURN: usize = 64;

/// Repositories that are protected, at most: each takes some mounts.
pub(super) const MAX_REPOSITORIES: usize = 300;

/// Repositories that were set aside and are kept as they are, at most. They do not count as repositories: otherwise a command
/// that makes many would leave no place for those that the user makes later. Any more are read by nobody, and count as
/// new ones if something renames them back.
const MAX_ASIDE: usize = 300;

/// Characters of a path in an error.
const MAX_SHOWN_CHARS: usize = 200;

impl Repositories {
    /// Looks only below these folders, as nothing is known yet.
    #[cfg(test)]
    pub(in crate::process) fn find(roots: &[&Path]) -> Repositories {
        Repositories::search(&[], roots, None, Limits::default())
    }

    /// Looks for all repositories at and below these folders, without following links. What lies at the `known` paths is
    /// looked at before the rest. Then the upper folders come first, so that those count that a person would work in if
    /// there are too many.
    pub(in crate::process) fn find_known_first(
        known: &[OsString],
        roots: &[&Path],
    ) -> Repositories {
        Repositories::search(known, roots, None, Limits::default())
    }

    /// Looks again after a command. Folders of the user that have become unreadable since are made readable: a
    /// repository in them would still be one.
    pub(in crate::process) fn find_after(roots: &[&Path], before: &Repositories) -> Repositories {
        Repositories::find_after_within(roots, before, Limits::after(before))
    }

    pub(super) fn find_after_within(
        roots: &[&Path],
        before: &Repositories,
        limits: Limits,
    ) -> Repositories {
        let known: Vec<OsString> = before.paths().collect();
        Repositories::search(&known, roots, Some(before), limits)
    }

    fn search(
        known: &[OsString],
        roots: &[&Path],
        before: Option<&Repositories>,
        limits: Limits,
    ) -> Repositories {
        let mut search = Search {
            roots,
            before,
            known: known.iter().map(Path::new).collect(),
            known_ids: before.into_iter().flat_map(Repositories::ids).collect(),
            limits,
            found: Repositories::default(),
            aside: 0,
            budget: Budget::new(limits.step),
            postponed: Vec::new(),
            parts: Vec::new(),
            is_part: HashSet::new(),
            buffer: Vec::with_capacity(listing::BYTES),
        };
        for path in known.iter().map(Path::new) {
            search.look_first(path);
        }
        search.end_step();
        search.add_postponed();
        search.budget = Budget::new(limits.outside);
        search.walk();
        search.end_step();
        if before.is_some() && search.found.is_incomplete {
            search.look_at_submodules();
            search.end_step();
        }
        for is_known in [true, false] {
            search.look_into_parts(is_known);
        }
        let roots = roots.iter().map(|root| root.as_os_str().to_owned());
        search.found.roots = roots.collect();
        search.found
    }
}

struct Search<'a> {
    roots: &'a [&'a Path],
    before: Option<&'a Repositories>,
    /// Where repositories were before, and which folders these were: they may have been moved.
    known: HashSet<&'a Path>,
    known_ids: BTreeSet<FileId>,
    limits: Limits,
    found: Repositories,
    /// How many of those that were found had been set aside.
    aside: usize,
    /// What is left for the step or the part that is looked at.
    budget: Budget,
    /// Folders of repositories that others lead to. First come all that were known, each by itself.
    postponed: Vec<PathBuf>,
    /// Folders within repositories that are still to be looked at.
    parts: Vec<Part>,
    /// All that were ever among them.
    is_part: HashSet<PathBuf>,
    buffer: Vec<u8>,
}

/// A folder in that of a repository. It is looked at by itself, as it may hold any number of others.
struct Part {
    repository: PathBuf,
    top: PathBuf,
    kind: PartKind,
    /// What is still to be looked at, and whether it can be the folder of a submodule or worktree by where it lies.
    todo: Vec<(PathBuf, bool)>,
    budget: Budget,
    is_known: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// Git opens files in it by their names and writes to them, also through symbolic links.
    Written,
    /// The folder of objects. Git writes an object under a name that is not there yet: only its folders can lead elsewhere.
    Objects,
    /// It holds the repositories of submodules or worktrees, whose names may hold slashes.
    Repositories,
    /// Anything else, which may hold repositories.
    Other,
}

impl PartKind {
    fn of(name: &OsStr) -> PartKind {
        match name.as_bytes() {
            b"modules" | b"worktrees" => PartKind::Repositories,
            b"objects" => PartKind::Objects,
            // What was set aside is not read by git.
            _ if name.to_string_lossy().contains(SUFFIX) => PartKind::Other,
            _ => PartKind::Written,
        }
    }
}

impl Part {
    /// Whether git would write through a link in this folder of it.
    fn is_written(&self, folder: &Path) -> bool {
        match self.kind {
            PartKind::Written => true,
            PartKind::Objects => {
                let below = ["info", "pack"].map(|name| self.top.join(name));
                folder == self.top || below.iter().any(|below| folder.starts_with(below))
            }
            PartKind::Repositories | PartKind::Other => false,
        }
    }
}

impl Search<'_> {
    fn walk(&mut self) {
        let mut todo: VecDeque<PathBuf> = self.roots.iter().map(|root| (*root).into()).collect();
        while let Some(folder) = todo.pop_front() {
            if !self.may_go_on() || self.has_enough() {
                return;
            }
            match self.visit(&folder, false) {
                Ok(listing) => todo.extend(self.without_parts(&folder, listing)),
                Err(error) => self.cannot_look(&folder, false, &error),
            }
        }
    }

    /// Lists a folder and adds the repositories that are in it, or that it is.
    ///
    /// `is_place`: submodules or worktrees are kept where it lies.
    fn visit(&mut self, folder: &Path, is_place: bool) -> io::Result<Listing> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let most = self.budget.entries;
        let read = self.opened(folder, |folder| Listing::read(folder, most, &mut buffer));
        self.buffer = buffer;
        let mut listing = read?;
        self.budget.spend_entries(listing.entries);
        for (git, is_folder) in &listing.git {
            let path = folder.join(git);
            match is_folder {
                true => self.add_folder(&path, false),
                false => self.add_link(&path),
            }
        }
        self.add_postponed();
        let is_one = listing.names.are_a_repository();
        let is_one = is_one && (listing.names.aside || has_head(folder));
        if is_one || is_place && listing.names.are_of_a_module() {
            self.add_folder(folder, false);
            self.add_postponed();
            listing.is_repository = true;
        }
        // What else lies at a root is not a setting only because a command made a HEAD there.
        if is_one
            && self.roots.contains(&folder)
            && !listing.names.config
            && let Some(found) = self.found.folders.get_mut(folder)
            && !found.is_of_worktree()
        {
            found.settings.clear();
        }
        let unread = self.found.unread.get(folder);
        listing.is_repository |= is_git_name(folder)
            || self.found.folders.contains_key(folder)
            || unread.is_some_and(|unread| unread.is_git);
        Ok(listing)
    }

    /// The folders in a folder that are looked at with it. Those that belong to a repository are looked at later.
    fn without_parts(&mut self, folder: &Path, listing: Listing) -> Vec<PathBuf> {
        let mut folders = listing.folders;
        if listing.is_repository {
            let is_known = self.is_known(folder, None);
            folders.retain(|path| {
                let name = path.file_name().unwrap_or_default();
                !self.add_part(folder, name, is_known)
            });
        }
        folders
    }

    /// Notes a folder in that of a repository, to look at it later. `false`: it does not belong to git.
    fn add_part(&mut self, repository: &Path, name: &OsStr, is_known: bool) -> bool {
        // Whoever works in a bare repository has folders of their own beside it.
        if self.roots.contains(&repository)
            && !is_git_name(repository)
            && !is_plain(name, FileType::Directory)
        {
            return false;
        }
        let top = repository.join(name);
        if self.is_part.insert(top.clone()) {
            let folders = match is_plain(name, FileType::Directory) {
                true => self.limits.part_folders,
                false => self.limits.step.folders,
            };
            let extent = Extent {
                folders,
                ..self.limits.step
            };
            self.parts.push(Part {
                repository: repository.to_owned(),
                todo: vec![(top.clone(), false)],
                top,
                kind: PartKind::of(name),
                budget: Budget::new(extent),
                is_known,
            });
        }
        true
    }

    fn is_known(&self, path: &Path, id: Option<FileId>) -> bool {
        self.known.contains(path) || id.is_some_and(|id| self.known_ids.contains(&id))
    }

    /// Looks into the folders of those repositories that were known, or of the others, in turns.
    fn look_into_parts(&mut self, is_known: bool) {
        let deadline = Instant::now() + self.limits.step.time;
        let mut turn = FIRST_TURN;
        loop {
            let all = std::mem::take(&mut self.parts);
            let (now, later): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|part| part.is_known == is_known);
            self.parts = later;
            if now.is_empty() {
                return;
            }
            for mut part in now {
                part.budget.deadline = deadline;
                std::mem::swap(&mut self.budget, &mut part.budget);
                self.look_into(&mut part, turn);
                std::mem::swap(&mut self.budget, &mut part.budget);
                match part.budget.reached {
                    Some(limit) => self.give_up(&part, limit),
                    None if part.todo.is_empty() => {}
                    None => self.parts.push(part),
                }
            }
            turn = turn.saturating_mul(2);
        }
    }

    /// Looks at so many folders of a part.
    fn look_into(&mut self, part: &mut Part, turn: usize) {
        for _ in 0..turn {
            let Some((folder, is_place)) = part.todo.pop() else {
                return;
            };
            if !self.may_go_on() {
                return;
            }
            let listing = match self.visit(&folder, is_place) {
                Ok(listing) => listing,
                Err(error) => {
                    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
                    let is_git = is_place && MODULE_NAMES.into_iter().any(has);
                    // Each takes a mount.
                    if !self.has_enough() {
                        self.cannot_look(&folder, is_git, &error);
                    }
                    if is_too_long(&error) {
                        // Git may reach it by a shorter path, from within the worktree.
                        self.cannot_look(&part.top, false, &error);
                    }
                    continue;
                }
            };
            let holds_places = part.kind == PartKind::Repositories
                && (folder == part.top || is_place && !listing.is_repository);
            for name in &listing.links {
                let link = folder.join(name);
                if holds_places {
                    self.add_link(&link);
                    self.add_postponed();
                }
                // The repository may be moved with all that is in it.
                if part.is_written(&folder)
                    && let Some(found) = self.found.folders.get_mut(&part.repository)
                    && let Ok(link) = link.strip_prefix(&part.repository)
                {
                    found.links.insert(link.into());
                }
            }
            let folders = self.without_parts(&folder, listing).into_iter();
            part.todo
                .extend(folders.map(|folder| (folder, holds_places)));
        }
    }

    /// Notes a part of a repository that was not looked at whole.
    fn give_up(&mut self, part: &Part, limit: Limit) {
        let is_unreached = limit == Limit::Time;
        let error = io::Error::other("too much is in it");
        self.cannot_look(&part.top, false, &error);
        if let Some(unread) = self.found.unread.get_mut(&part.top) {
            unread.is_unreached = is_unreached;
        }
    }

    /// Looks where indexes name submodules, after a walk that has not come everywhere: git looks into each of them by itself
    /// when it is run in the repository, so that one cannot be used unless they were seen.
    fn look_at_submodules(&mut self) {
        let mut done = HashSet::new();
        loop {
            let folders: Vec<(PathBuf, PathBuf)> = self.worktrees().collect();
            let mut is_over = true;
            for (folder, worktree) in folders {
                if !done.insert((folder.clone(), worktree.clone())) {
                    continue;
                }
                is_over = false;
                if !self.look_at_submodules_of(&folder, &worktree) {
                    let error = io::Error::other("its submodules cannot be looked at");
                    self.cannot_look(&folder, true, &error);
                }
            }
            if is_over {
                return;
            }
        }
    }

    /// The folders of repositories that were found, and where their worktrees are.
    fn worktrees(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let own = self.found.folders.keys().filter(|path| is_git_name(path));
        let own = own.filter_map(|path| Some((path.clone(), path.parent()?.to_owned())));
        let links = self.found.links.iter();
        let linked = links.filter_map(|(path, link)| {
            Some((link.target()?.to_owned(), path.parent()?.to_owned()))
        });
        own.chain(linked)
    }

    /// Whether all submodules that an index names were looked at.
    fn look_at_submodules_of(&mut self, folder: &Path, worktree: &Path) -> bool {
        let index = folder.join("index");
        if index
            .symlink_metadata()
            .is_err_and(|error| is_no_folder(&error))
        {
            return true;
        }
        let settings = common_of(folder).unwrap_or_else(|| folder.to_owned());
        let Some(submodules) = submodules(&index, &settings) else {
            return false;
        };
        submodules.into_iter().all(|path| {
            let is_seen = self.may_go_on();
            if is_seen {
                self.look_first(&worktree.join(path).join(".git"));
            }
            is_seen
        })
    }

    /// Looks at what was a repository, or led to one.
    fn look_first(&mut self, path: &Path) {
        if !self.may_go_on() {
            // After a command, the review finds that it was not looked at.
            let why = format!("{}: it takes too long to look at it", path.display());
            self.found.unreachable.get_or_insert(why);
            return;
        }
        let is_git = is_git_name(path);
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

    /// Counts one more folder.
    fn may_go_on(&mut self) -> bool {
        match self.budget.folders.checked_sub(1) {
            Some(left) => self.budget.folders = left,
            None => {
                self.budget.reached.get_or_insert(Limit::Folders);
            }
        }
        !self.budget.is_late() && self.budget.reached.is_none()
    }

    /// Whether there are more repositories than can be protected.
    fn has_enough(&mut self) -> bool {
        let repositories = self.found.folders.len() - self.aside;
        let repositories = repositories.max(self.found.unread.len());
        // Only the search before a command is for mounts. What that one left out is not new for the one after it.
        let is_counted = self.before.is_none_or(|before| before.is_incomplete);
        let has_enough = is_counted && repositories >= MAX_REPOSITORIES;
        if has_enough {
            self.is_incomplete(Limit::Repositories);
        }
        has_enough
    }

    fn is_incomplete(&mut self, limit: Limit) {
        self.found.is_incomplete = true;
        self.found.limit.get_or_insert(limit);
    }

    /// The next step has limits of its own.
    fn end_step(&mut self) {
        if let Some(limit) = self.budget.reached {
            self.is_incomplete(limit);
        }
        self.budget = Budget::new(self.limits.step);
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
        let unread = Unread {
            id,
            is_git: false,
            is_unreached: false,
        };
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
        if self.has_enough() || !self.may_go_on() {
            return;
        }
        let entries = match self.opened(path, list) {
            Ok(entries) => entries,
            Err(error) => return self.cannot_look(path, !is_reference, &error),
        };
        self.budget.spend_entries(entries.len());
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
        let is_known = self.is_known(path, Some(id));
        for (name, kind) in entries {
            // There may be many, each with many files.
            if self.budget.is_late() {
                let error = io::Error::other("it takes too long to look at it");
                return self.cannot_look(path, !is_reference, &error);
            }
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
            if kind == FileType::Directory {
                self.add_part(path, &name, is_known);
            }
            let verified: &[&str] = match name.as_bytes() {
                b"objects" => &[PACKS, PACK_CHAIN],
                b"reftable" => &[TABLES],
                _ => &[],
            };
            if kind == FileType::Directory {
                let marks = verified
                    .iter()
                    .map(|it| (it.into(), Mark::of(&path.join(it))));
                let marks = marks.filter(|(_, mark): &(OsString, _)| !mark.is_of_nothing());
                folder.verified.extend(marks);
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
        // With a new HEAD it is one again.
        folder.is_aside &= !folder.has_head;
        if folder.is_aside {
            if self.aside == MAX_ASIDE {
                return;
            }
            self.aside += 1;
        }
        let common = folder.common().map(Path::to_owned);
        self.found.folders.insert(path.to_owned(), folder);
        // An earlier step may have had no time for it.
        self.found.unread.remove(path);
        if let Some(common) = common.filter(|common| self.is_within(common)) {
            self.postponed.push(common);
        }
    }

    /// Adds the folders that others lead to, which may lead to more.
    fn add_postponed(&mut self) {
        while let Some(path) = self.postponed.pop() {
            self.add_folder(&path, true);
        }
    }

    /// Adds a `.git` that is not a folder, and the repository that it leads to.
    fn add_link(&mut self, path: &Path) {
        // Each may lead through many other links.
        if self.has_enough() || !self.may_go_on() {
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
            self.postponed.push(target);
        }
    }
}

fn is_too_long(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error())
}
