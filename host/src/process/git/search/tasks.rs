//! Looks into the repositories that the search has noted, and into the folders within them.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use rustix::fs::FileType;

use super::super::super::{mounts, placeholder};
use super::super::extent::{Budget, Extent, Limit, Limits};
use super::super::judge::{
    PACK_CHAIN, PACKS, TABLES, is_plain, is_verified, leads_out_of_refs, may_be_reference,
};
use super::super::listing::{MODULE_NAMES, is_aside, is_head_aside};
use super::super::read::{common_of, for_each, is_too_long, list, target_of};
use super::super::{COMMON, GitFolder, Mark, SUFFIX, settings};
use super::Search;

/// Files and folders of one task that are looked at before it is the turn of the next one. It doubles with every turn, so
/// that small repositories and folders are looked at whole before large ones.
const FIRST_TURN: usize = 64;

/// Folders of a repository that git reads settings or what is to be done from. No worktree is called so.
const READ_FOLDERS: [&str; 7] = [
    "branches",
    "hooks",
    "info",
    "rebase-apply",
    "rebase-merge",
    "remotes",
    "sequencer",
];

/// Something that is looked at by itself, as it may hold any number of files and folders.
pub(super) struct Task {
    work: Work,
    budget: Budget,
    /// What is left of its time.
    time: Duration,
    group: Group,
}

/// What is looked at one after the other. Each group has time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// The repositories of the project itself and of what was granted.
    Own,
    /// Others that were there before.
    Known,
    Other,
}

pub(super) enum Work {
    Repository(Box<Repository>),
    /// A `.git` that is not a folder.
    Link(PathBuf),
    Part(Part),
}

/// The folder of a repository, without what is in its folders.
pub(super) struct Repository {
    path: PathBuf,
    /// Whether what its links lead to counts: only if it is compared.
    is_compared: bool,
    /// What was found so far, and what is still to be looked at.
    begun: Option<(GitFolder, IntoIter<(OsString, FileType)>)>,
}

/// A folder in that of a repository.
pub(super) struct Part {
    repository: PathBuf,
    top: PathBuf,
    kind: PartKind,
    /// Whether only repositories are looked for in it.
    is_light: bool,
    /// What is still to be looked at, and whether it can be the folder of a submodule or worktree by where it lies.
    todo: Vec<(PathBuf, bool)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    /// Git opens files in it by their names and writes to them, also through symbolic links.
    Written,
    /// The same, of references.
    References,
    /// The folder of objects. Git writes an object under a name that is not there yet: only its folders can lead elsewhere.
    Objects,
    /// It holds the repositories of submodules or worktrees, whose names may hold slashes.
    Repositories,
    /// Anything else, which may hold repositories.
    Other,
}

/// Whether git keeps repositories in a folder of this name in that of a repository.
pub(super) fn holds_repositories(name: &OsStr) -> bool {
    name == "modules" || name == "worktrees"
}

/// Whether there may be a folder in a folder. Where a file system counts them as its names, most folders of objects need not
/// be listed.
fn may_hold_folders(folder: &Path) -> bool {
    const NONE: u64 = 2;
    !folder
        .symlink_metadata()
        .is_ok_and(|meta| meta.nlink() == NONE)
}

fn has_other_names(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.nlink() > 1)
}

impl PartKind {
    fn of(name: &OsStr) -> PartKind {
        match name.as_bytes() {
            _ if holds_repositories(name) => PartKind::Repositories,
            b"objects" => PartKind::Objects,
            b"refs" => PartKind::References,
            // What was set aside is not read by git.
            _ if name.to_string_lossy().contains(SUFFIX) => PartKind::Other,
            _ => PartKind::Written,
        }
    }
}

impl Task {
    pub(super) fn new(work: Work, extent: Extent, limits: &Limits, group: Group) -> Task {
        Task {
            work,
            budget: Budget::new(extent),
            time: limits.looking_into_one,
            group,
        }
    }
}

impl Work {
    pub(super) fn repository(path: &Path, is_compared: bool) -> Work {
        Work::Repository(Box::new(Repository {
            path: path.to_owned(),
            is_compared,
            begun: None,
        }))
    }

    pub(super) fn part(repository: &Path, name: &OsStr, is_light: bool) -> Work {
        let top = repository.join(name);
        Work::Part(Part {
            repository: repository.to_owned(),
            todo: vec![(top.clone(), false)],
            top,
            kind: PartKind::of(name),
            is_light,
        })
    }
}

impl Part {
    /// Whether git itself writes to it, and keeps no repositories in it.
    fn is_data(&self) -> bool {
        let is_plain = |name: &OsStr| is_plain(name, FileType::Directory);
        self.top.file_name().is_some_and(is_plain) && self.kind != PartKind::Repositories
    }

    /// Whether git writes to files in it that are there. Others may keep files with several names in folders of their own.
    fn is_written_in_place(&self) -> bool {
        self.is_data() && self.kind != PartKind::Objects
    }

    /// Whether git would write through a link in this folder of it.
    fn is_written(&self, folder: &Path) -> bool {
        match self.kind {
            PartKind::Written | PartKind::References => true,
            PartKind::Objects => {
                let below = ["info", "pack"].map(|name| self.top.join(name));
                folder == self.top || below.iter().any(|below| folder.starts_with(below))
            }
            PartKind::Repositories | PartKind::Other => false,
        }
    }
}

impl Search<'_> {
    /// Looks into everything that was noted.
    pub(super) fn look_into_all(&mut self) {
        while !self.tasks.is_empty() {
            for group in [Group::Own, Group::Known, Group::Other] {
                self.look_into(group);
            }
        }
    }

    /// Looks into the repositories of a group in turns.
    fn look_into(&mut self, group: Group) {
        let start = Instant::now();
        let deadline = self.until.min(start + self.time_left[group as usize]);
        let mut turn = FIRST_TURN;
        loop {
            let all = std::mem::take(&mut self.tasks);
            let (now, later): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|task| task.group == group);
            self.tasks = later;
            if now.is_empty() {
                break;
            }
            for mut task in now {
                let began = Instant::now();
                task.budget.deadline = deadline.min(began + task.time);
                std::mem::swap(&mut self.budget, &mut task.budget);
                let is_done = self.advance(&mut task.work, turn);
                std::mem::swap(&mut self.budget, &mut task.budget);
                task.time = task.time.saturating_sub(began.elapsed());
                match task.budget.reached {
                    Some(limit) => self.give_up(&task.work, limit),
                    None if is_done => {}
                    None => self.tasks.push(task),
                }
            }
            turn = turn.saturating_mul(2);
        }
        let left = &mut self.time_left[group as usize];
        *left = left.saturating_sub(start.elapsed());
    }

    /// Does some of a task. Returns whether that was all, unless the budget is used up.
    fn advance(&mut self, work: &mut Work, turn: usize) -> bool {
        if !self.may_go_on() {
            return false;
        }
        match work {
            Work::Repository(repository) => self.look_at_names(repository, turn),
            Work::Link(path) => {
                self.follow(path);
                true
            }
            Work::Part(part) => self.look_into_part(part, turn),
        }
    }

    /// Notes what was not looked at whole.
    fn give_up(&mut self, work: &Work, limit: Limit) {
        let (path, error) = match work {
            Work::Repository(repository) => (&repository.path, "it takes too long to look at it"),
            // It leads nowhere, as far as anybody knows.
            Work::Link(_) => return,
            Work::Part(part) => (&part.top, "too much is in it"),
        };
        self.cannot_look(path, &io::Error::other(error));
        if let Some(unread) = self.found.unread.get_mut(path) {
            unread.is_unreached = limit == Limit::Time;
        }
    }

    /// Finds where a `.git` leads to.
    fn follow(&mut self, path: &Path) {
        let Some(target) = target_of(path) else {
            return;
        };
        if let Some(link) = self.found.links.get_mut(path) {
            link.target = Some(target.clone().into_os_string());
        }
        if self.is_within(&target) {
            self.note(&target, true);
        }
    }

    /// Looks at so many names in the folder of a repository.
    fn look_at_names(&mut self, repository: &mut Repository, turn: usize) -> bool {
        let path = repository.path.clone();
        let begun = match repository.begun.take() {
            Some(begun) => Some(begun),
            None => self.begin(&path),
        };
        let Some((mut folder, mut entries)) = begun else {
            return true;
        };
        for _ in 0..turn {
            // Each may be a folder with many files.
            if self.budget.is_late() {
                return false;
            }
            match entries.next() {
                Some((name, kind)) => self.look_at_name(repository, &mut folder, name, kind),
                None => {
                    self.add(&path, folder);
                    return true;
                }
            }
        }
        repository.begun = Some((folder, entries));
        false
    }

    fn begin(&mut self, path: &Path) -> Option<(GitFolder, IntoIter<(OsString, FileType)>)> {
        if self.has_enough(self.found.folders.len()) {
            self.leave_out(path);
            return None;
        }
        let entries = match self.opened(path, list) {
            Ok(entries) => entries,
            Err(error) => {
                self.cannot_look(path, &error);
                return None;
            }
        };
        self.budget.spend_entries(entries.len());
        let has = |is: fn(&OsStr) -> bool| entries.iter().any(|(name, _)| is(name));
        // Some file systems find it under other spellings.
        let has_head = has(|name| name.eq_ignore_ascii_case("HEAD"))
            || has(|name| !name.as_bytes().is_ascii())
                && path.join("HEAD").symlink_metadata().is_ok();
        // With a new HEAD it is one again.
        let is_aside = path.file_name().is_some_and(is_aside) || has(is_head_aside);
        let is_aside = is_aside && !has_head;
        let worktrees = settings::worktrees(path).into_iter();
        let folder = GitFolder {
            id: mounts::id_at(path).ok()?,
            settings: Default::default(),
            data: Vec::new(),
            has_head,
            is_aside,
            verified: Default::default(),
            links: Default::default(),
            strays: Default::default(),
            worktrees: worktrees.map(PathBuf::into_os_string).collect(),
            has_common: false,
            common: None,
            is_reference: true,
        };
        self.guard(path, is_aside);
        Some((folder, entries.into_iter()))
    }

    fn look_at_name(
        &mut self,
        repository: &Repository,
        folder: &mut GitFolder,
        name: OsString,
        kind: FileType,
    ) {
        let path = &repository.path;
        let entry = path.join(&name);
        // Git may reach it by a shorter path, from within the folder.
        if let Err(error) = entry.symlink_metadata() {
            return self.cannot_look(&entry, &error);
        }
        // Of another command that runs.
        if placeholder::is_at(&entry).unwrap_or_default() {
            return;
        }
        let mark = |path: &Path| match repository.is_compared || self.before.is_none() {
            true => Mark::of(path),
            false => Mark::without_target(path),
        };
        if name == COMMON {
            folder.has_common = true;
            folder.common = common_of(path).map(PathBuf::into_os_string);
        }
        let is_plain = is_plain(&name, kind);
        let is_folder = kind == FileType::Directory;
        let verified: &[&str] = match name.as_bytes() {
            b"objects" if is_folder => &[PACKS, PACK_CHAIN],
            b"reftable" if is_folder => &[TABLES],
            _ => &[],
        };
        let marks = verified.iter().map(|it| (it.into(), mark(&path.join(it))));
        let marks = marks.filter(|(_, mark): &(OsString, _)| !mark.is_of_nothing());
        folder.verified.extend(marks);
        let is_read_by_git = || READ_FOLDERS.iter().any(|it| name.eq_ignore_ascii_case(it));
        if is_folder && !is_plain && self.roots.contains(&path.as_path()) && !is_read_by_git() {
            // A worktree of a bare repository that somebody works in is none of its settings.
            let leads_to = target_of(&entry.join(".git"));
            if leads_to.is_some_and(|target| target.starts_with(path.join("worktrees"))) {
                return self.note_link(&entry.join(".git"));
            }
        }
        if is_plain {
            folder.data.push(name.clone());
            // What cannot be read is none for git either.
            let has_other_names = kind == FileType::RegularFile && has_other_names(&entry);
            let leads_out =
                || may_be_reference(&name) && matches!(leads_out_of_refs(&entry), Ok(true));
            if has_other_names || leads_out() {
                folder.strays.insert(name.clone(), mark(&entry));
            }
            if is_verified(&name) {
                folder.verified.insert(name.clone(), mark(&entry));
            }
        } else {
            folder.settings.insert(name.clone(), mark(&entry));
        }
        let is_git = name.eq_ignore_ascii_case(".git") || is_aside(&name);
        match (is_git, is_folder) {
            (true, true) => self.note(&entry, false),
            (true, false) => self.note_link(&entry),
            (false, true) => {
                let group = self.group(path, Some(folder.id));
                self.add_part(path, &name, group);
            }
            (false, false) => {}
        }
    }

    /// Adds a repository that was looked at.
    fn add(&mut self, path: &Path, folder: GitFolder) {
        let common = folder.common().map(Path::to_owned);
        self.found.folders.insert(path.to_owned(), folder);
        // The walk may have been unable to look at it.
        self.found.unread.remove(path);
        if let Some(common) = common.filter(|common| self.is_within(common)) {
            self.note(&common, true);
        }
    }

    /// Looks at so many folders of a part.
    fn look_into_part(&mut self, part: &mut Part, turn: usize) -> bool {
        for _ in 0..turn {
            let Some((folder, is_place)) = part.todo.pop() else {
                return true;
            };
            if !self.may_go_on() {
                return false;
            }
            let listing = match self.visit(&folder, is_place) {
                Ok(listing) => listing,
                Err(error) => {
                    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
                    self.cannot_look(&folder, &error);
                    if is_place
                        && MODULE_NAMES.into_iter().any(has)
                        && let Some(unread) = self.found.unread.get_mut(&folder)
                    {
                        unread.is_git = true;
                    }
                    if is_too_long(&error) {
                        // Git may reach it by a shorter path, from within the worktree.
                        self.cannot_look(&part.top, &error);
                    }
                    continue;
                }
            };
            let holds_places = part.kind == PartKind::Repositories
                && (folder == part.top || is_place && !listing.is_repository);
            let links = listing.links.iter().filter(|_| !part.is_light);
            for name in links {
                let link = folder.join(name);
                if holds_places {
                    self.note_link(&link);
                }
                if part.is_written(&folder) {
                    self.note_written_link(part, &link);
                }
            }
            // Git writes a `HEAD` into some of them.
            let is_data = part.is_data() && !part.is_light;
            for name in listing.names.make_a_repository().filter(|_| is_data) {
                // What is in it may change.
                self.note_stray(part, &folder.join(name), Mark::default());
            }
            if part.is_written_in_place()
                && !part.is_light
                && let Err(error) = self.look_at_files(part, &folder)
            {
                self.cannot_look(&part.top, &error);
            }
            let mut folders = self.without_parts(&folder, listing);
            if part.is_light && part.kind == PartKind::Objects {
                folders.retain(|folder| may_hold_folders(folder));
            }
            let folders = folders.into_iter();
            part.todo
                .extend(folders.map(|folder| (folder, holds_places)));
        }
        false
    }

    /// Notes a link that git would write through. A part with too many of them counts as one with too many folders.
    fn note_written_link(&mut self, part: &Part, link: &Path) {
        // The repository may be moved with all that is in it.
        let Ok(below) = link.strip_prefix(&part.repository) else {
            return;
        };
        let links = self.links.entry(part.repository.clone()).or_default();
        match links.len() < self.limits.links {
            true => {
                links.insert(below.into());
            }
            false => self.budget.exceeds(Limit::Entries),
        }
    }

    /// Notes the files in a folder that can be changed under another name, of which git makes none, and the references that
    /// lead out of `refs`.
    ///
    /// # Errors
    /// One of them may be such, and cannot be looked at.
    fn look_at_files(&mut self, part: &Part, folder: &Path) -> io::Result<()> {
        let mut failed = Ok(());
        for_each(folder, self.budget.entries, |name, kind| {
            if kind != FileType::RegularFile || self.budget.is_late() {
                return;
            }
            let path = folder.join(name);
            // Git follows another reference to any file, whatever git-check-ref-format(1) says of its name.
            let leads_out = match part.kind {
                PartKind::References => leads_out_of_refs(&path),
                _ => Ok(false),
            };
            let is_astray = match leads_out {
                Ok(leads_out) => leads_out || has_other_names(&path),
                Err(error) if is_too_long(&error) => {
                    failed = Err(error);
                    false
                }
                // Git cannot read it either, until somebody changes its mode.
                Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
            };
            if is_astray {
                self.note_stray(part, &path, Mark::of(&path));
            }
        })?;
        failed
    }

    /// The same of what leads git astray otherwise.
    fn note_stray(&mut self, part: &Part, path: &Path, mark: Mark) {
        let Ok(below) = path.strip_prefix(&part.repository) else {
            return;
        };
        let strays = self.strays.entry(part.repository.clone()).or_default();
        match strays.len() < self.limits.links {
            true => drop(strays.insert(below.into(), mark)),
            false => self.budget.exceeds(Limit::Entries),
        }
    }
}
