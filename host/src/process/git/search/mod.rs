//! Looks for repositories.
//!
//! First the search only notes where repositories are: those that are known, and what the names in the folders of the
//! project tell. Only after that it looks into each repository and each folder within one (`tasks`). Each has limits of
//! its own and they take turns: whatever a command puts into one of them, all others are looked at as if it were not there.

mod submodules;
mod tasks;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::FileType;

use super::super::mounts::{self, Entry, FileId};
use super::extent::{Budget, Extent, Limit, Limits, MAX_REPOSITORIES};
use super::judge::is_plain;
use super::listing::{self, Listing, is_git_name};
use super::read::{has_head, is_no_folder, is_too_long, make_readable, target_of};
use super::{GitLink, Mark, Repositories, Unread};
use tasks::{Group, Task, Work, holds_repositories};

/// Characters of a path in an error.
const MAX_SHOWN_CHARS: usize = 200;

impl Repositories {
    /// Looks only below these folders, as nothing is known yet.
    #[cfg(test)]
    pub(in crate::process) fn find(roots: &[&Path]) -> Repositories {
        Repositories::find_within(&[], roots, Limits::default())
    }

    #[cfg(test)]
    pub(super) fn find_within(known: &[OsString], roots: &[&Path], limits: Limits) -> Repositories {
        Repositories::search(known, roots, None, limits)
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
        Repositories::find_after_within(roots, before, Limits::after(before.is_incomplete))
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
        let own = roots.iter().flat_map(|root| {
            let git = root.join(".git");
            [Some(root.to_path_buf()), target_of(&git), Some(git)]
        });
        let left_out = before
            .into_iter()
            .flat_map(|before| before.left_out.values());
        let until = Instant::now() + limits.all;
        let mut budget = Budget::new(limits.outside);
        budget.deadline = budget.deadline.min(until);
        let mut search = Search {
            roots,
            own: own.flatten().collect(),
            before,
            left_out: left_out.copied().collect(),
            until,
            known: known.iter().map(Path::new).collect(),
            known_ids: before.into_iter().flat_map(Repositories::ids).collect(),
            limits,
            found: Repositories::default(),
            guarded: 0,
            aside: 0,
            budget,
            noted: HashMap::new(),
            tasks: Vec::new(),
            is_part: HashSet::new(),
            links: BTreeMap::new(),
            strays: BTreeMap::new(),
            time_left: [limits.looking; 3],
            buffer: Vec::with_capacity(listing::BYTES),
        };
        let mut upper_first: Vec<_> = known.iter().map(Path::new).collect();
        upper_first.sort_by_key(|path| path.components().count());
        for path in upper_first {
            search.note_at(path);
        }
        search.walk();
        if let Some(limit) = search.budget.reached {
            search.is_incomplete(limit);
        }
        search.look_into_all();
        if before.is_some_and(|before| search.has_gaps(before)) {
            search.look_at_submodules();
        }
        search.finish()
    }
}

struct Search<'a> {
    roots: &'a [&'a Path],
    /// What the user works in, if these are repositories.
    own: HashSet<PathBuf>,
    before: Option<&'a Repositories>,
    /// What was left out before the command.
    left_out: BTreeSet<FileId>,
    /// When everything but submodules has to be looked at.
    until: Instant,
    /// Where repositories were before, and which folders these were: they may have been moved.
    known: HashSet<&'a Path>,
    known_ids: BTreeSet<FileId>,
    limits: Limits,
    found: Repositories,
    /// How many of those that were found are protected, and how many more of those that had been set aside. Otherwise a
    /// command that makes many of these would leave no place for the repositories that the user makes later.
    guarded: usize,
    aside: usize,
    /// What is left for the walk or the task.
    budget: Budget,
    /// Where repositories are.
    noted: HashMap<PathBuf, Noted>,
    /// What is still to be looked at.
    tasks: Vec<Task>,
    /// The folders within repositories that were ever among them.
    is_part: HashSet<PathBuf>,
    /// Links that git would write through, by the repository.
    links: BTreeMap<PathBuf, BTreeSet<OsString>>,
    /// The [strays](super::GitFolder::strays) in the subfolders of each repository.
    strays: BTreeMap<PathBuf, BTreeMap<OsString, Mark>>,
    /// The time for all tasks of each group.
    time_left: [Duration; 3],
    buffer: Vec<u8>,
}

/// What the search for a repository tells before the look into it.
struct Noted {
    /// Whether something leads there, and nothing else says that it is a repository.
    is_reference: bool,
    /// Whether it is a root that only looks like a repository.
    has_no_settings: bool,
}

impl Search<'_> {
    /// Whether anything was not looked at that could be looked at before the command.
    fn has_gaps(&self, before: &Repositories) -> bool {
        let mut unread = self.found.unread.keys();
        let is_new = |path: &PathBuf| !before.unread.contains_key(path);
        self.found.is_incomplete || !before.left_out.is_empty() || unread.any(is_new)
    }

    fn walk(&mut self) {
        let mut todo: VecDeque<PathBuf> = self.roots.iter().map(|root| (*root).into()).collect();
        while let Some(folder) = todo.pop_front() {
            if !self.may_go_on() {
                return;
            }
            match self.visit(&folder, false) {
                Ok(listing) => todo.extend(self.without_parts(&folder, listing)),
                Err(error) => self.cannot_look(&folder, &error),
            }
        }
    }

    /// Lists a folder and notes the repositories that are in it, or that it is.
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
                true => self.note(&path, false),
                false => self.note_link(&path),
            }
        }
        let is_one = listing.names.are_a_repository();
        let is_one = is_one && (listing.names.aside || has_head(folder));
        if is_one || is_place && listing.names.are_of_a_module() {
            self.note(folder, false);
        }
        let noted = self.noted.get_mut(folder);
        listing.is_repository = is_git_name(folder) || noted.is_some();
        // What else lies at a root is not a setting only because a command made a HEAD there.
        if let Some(noted) = noted {
            noted.has_no_settings = is_one && self.roots.contains(&folder) && !listing.names.config;
        }
        Ok(listing)
    }

    /// The folders in a folder that are looked at with it. Those that belong to a repository are looked at later.
    fn without_parts(&mut self, folder: &Path, listing: Listing) -> Vec<PathBuf> {
        let mut folders = listing.folders;
        // One that was left out is not looked into.
        folders.retain(|path| !is_git_name(path) || self.noted.contains_key(path));
        if listing.is_repository {
            let group = self.group(folder, None);
            folders.retain(|path| {
                let name = path.file_name().unwrap_or_default();
                !self.add_part(folder, name, group)
            });
        }
        folders
    }

    /// Notes a folder in that of a repository, to look at it later. `false`: it does not belong to git.
    fn add_part(&mut self, repository: &Path, name: &OsStr, group: Group) -> bool {
        // Whoever works in a bare repository has folders of their own beside it.
        if self.roots.contains(&repository)
            && !is_git_name(repository)
            && !is_plain(name, FileType::Directory)
        {
            return false;
        }
        // Nobody works in a folder of a `.git`, and it may take long to look into those of many. A command may have hidden a
        // repository there: then only repositories are looked for.
        let is_git = repository
            .file_name()
            .is_some_and(|name| name.eq_ignore_ascii_case(".git"));
        let is_unguarded = |it: &Repositories| it.unguarded.contains(repository);
        let is_light = is_git
            && !holds_repositories(name)
            && (is_unguarded(&self.found) || self.before.is_some_and(is_unguarded));
        if is_light && self.before.is_none() {
            return true;
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
            let part = Work::part(repository, name, is_light);
            self.tasks
                .push(Task::new(part, extent, &self.limits, group));
        }
        true
    }

    fn is_known(&self, path: &Path, id: Option<FileId>) -> bool {
        self.known.contains(path) || id.is_some_and(|id| self.known_ids.contains(&id))
    }

    fn group(&self, path: &Path, id: Option<FileId>) -> Group {
        match (self.own.contains(path), self.is_known(path, id)) {
            (true, _) => Group::Own,
            (false, true) => Group::Known,
            (false, false) => Group::Other,
        }
    }

    /// Notes a folder in which git keeps a repository.
    ///
    /// `is_reference`: something leads there, and nothing else says that it is a repository.
    fn note(&mut self, path: &Path, is_reference: bool) {
        if let Some(noted) = self.noted.get_mut(path) {
            noted.is_reference &= is_reference;
            return;
        }
        let id = mounts::id_at(path).ok();
        if self.was_left_out(id) {
            return;
        }
        let noted = Noted {
            is_reference,
            has_no_settings: false,
        };
        self.noted.insert(path.to_owned(), noted);
        let is_known = self.is_known(path, id);
        self.add_task(Work::repository(path, is_known), self.group(path, id));
    }

    /// Notes a `.git` that is not a folder. Where it leads to is looked at later: each may lead through many other links.
    fn note_link(&mut self, path: &Path) {
        let meta = match path.symlink_metadata() {
            Ok(meta) => meta,
            Err(error) => return self.cannot_look(path, &error),
        };
        if self.was_left_out(mounts::id_at(path).ok()) {
            return;
        }
        if self.has_enough(self.found.links.len()) {
            return self.leave_out(path);
        }
        let link = GitLink {
            number: meta.ino(),
            // What it leads to is judged by itself.
            mark: Mark::without_target(path),
            target: None,
        };
        if self.found.links.insert(path.to_owned(), link).is_none() {
            self.add_task(Work::Link(path.to_owned()), self.group(path, None));
        }
    }

    fn add_task(&mut self, work: Work, group: Group) {
        let task = Task::new(work, self.limits.step, &self.limits, group);
        self.tasks.push(task);
    }

    /// Notes what may be a repository at a path, or may lead to one. `false`: it is not known what is there, for example as
    /// the path is too long for Dunlin. Git may reach it from a folder on the way. So it is with what was left out before.
    fn note_at(&mut self, path: &Path) -> bool {
        let is_git = is_git_name(path);
        match mounts::look(path) {
            Ok(Entry::Folder(_)) if self.is_within(path) && (is_git || has_head(path)) => {
                self.note(path, false);
                !self.was_left_out(mounts::id_at(path).ok())
            }
            Ok(Entry::File(_) | Entry::Link(Some(_))) if self.is_within(path) && is_git => {
                self.note_link(path);
                !self.was_left_out(mounts::id_at(path).ok())
            }
            Ok(Entry::Nothing) => path
                .symlink_metadata()
                .is_err_and(|error| is_no_folder(&error)),
            // Git goes through no link to a submodule.
            Ok(Entry::Folder(_) | Entry::File(_) | Entry::Link(_)) => true,
            Err(_) => false,
        }
    }

    /// Counts one more folder.
    fn may_go_on(&mut self) -> bool {
        match self.budget.folders.checked_sub(1) {
            Some(left) => self.budget.folders = left,
            None => self.budget.exceeds(Limit::Folders),
        }
        !self.budget.is_late() && self.budget.reached.is_none()
    }

    /// Whether there are as many as can be compared. After a command, nothing is left out that is new.
    fn has_enough(&self, found: usize) -> bool {
        self.before.is_none() && found >= self.limits.compared
    }

    /// Notes whether what was found is protected: before a command, each takes mounts.
    fn guard(&mut self, path: &Path, is_aside: bool) {
        let count = match is_aside {
            true => &mut self.aside,
            false => &mut self.guarded,
        };
        *count += 1;
        if self.before.is_none() && *count > MAX_REPOSITORIES {
            self.found.unguarded.insert(path.to_owned());
        }
    }

    /// Notes that something is there and was not looked at, so that it is not new after the command.
    fn leave_out(&mut self, path: &Path) {
        match mounts::id_at(path) {
            Ok(id) => {
                self.found.left_out.insert(path.to_owned(), id);
            }
            Err(error) if is_no_folder(&error) => {}
            Err(_) => self.is_incomplete(Limit::Repositories),
        }
    }

    fn was_left_out(&self, id: Option<FileId>) -> bool {
        id.is_some_and(|id| self.left_out.contains(&id))
    }

    fn is_incomplete(&mut self, limit: Limit) {
        self.found.is_incomplete = true;
        self.found.limit.get_or_insert(limit);
    }

    fn finish(mut self) -> Repositories {
        for (path, noted) in &self.noted {
            if let Some(folder) = self.found.folders.get_mut(path) {
                folder.is_reference = noted.is_reference;
                if noted.has_no_settings && !folder.is_of_worktree() {
                    folder.settings.clear();
                }
            }
            if let Some(unread) = self.found.unread.get_mut(path) {
                unread.is_git |= !noted.is_reference;
            }
        }
        for (path, links) in self.links {
            if let Some(folder) = self.found.folders.get_mut(&path) {
                folder.links = links;
            }
        }
        for (path, strays) in self.strays {
            if let Some(folder) = self.found.folders.get_mut(&path) {
                folder.strays.extend(strays);
            }
        }
        let roots = self.roots.iter().map(|root| root.as_os_str().to_owned());
        self.found.roots = roots.collect();
        self.found
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
    fn cannot_look(&mut self, path: &Path, error: &io::Error) {
        if is_no_folder(error) {
            return;
        }
        let mut around = path.ancestors();
        let is_own = around.any(|path| self.own.contains(path) && !self.roots.contains(&path));
        if !is_own && self.has_enough(self.found.unread.len()) {
            return self.leave_out(path);
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
            names_unseen: false,
        };
        // Each takes a mount.
        if self.before.is_none() && !is_own && self.found.unread.len() >= MAX_REPOSITORIES {
            self.found.unguarded.insert(path.to_owned());
        }
        self.found.unread.entry(path.to_owned()).or_insert(unread);
    }
}
