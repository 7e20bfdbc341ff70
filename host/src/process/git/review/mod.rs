//! What a command made of the repositories: looked at after it has ended.

mod measures;
mod said;
mod unread;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::aside::{self, Entry};
use super::extent::{Limit, MAX_REPOSITORIES};
use super::judge::{is_conflicts, is_harmless, is_of_worktree, is_trustworthy};
use super::listing::is_aside;
use super::{COMMON, GitFolder, GitLink, Mark, Repositories, SUFFIX, settings};
use crate::process::access::Access;
use crate::process::mounts::FileId;
use said::Sentences;
pub(in crate::process) use said::{MAX_SAID_BYTES, named};

/// How long the judgement of what was found may take. After that, what is new or was changed is set aside unread.
const MAX_JUDGING: Duration = Duration::from_secs(2);

/// How long it may take to move things out of the project, which is slower than to rename them.
const MAX_MOVING: Duration = Duration::from_secs(6);

/// Settings of one repository that are renamed although the time is over. With more, it is made unusable instead.
const MAX_RENAMED_LATE: usize = 200;

/// Sentences about one command that nothing depends on. More of them nobody reads.
const MAX_SENTENCES: usize = 20;

/// Sentences that the user has to act upon.
const MAX_URGENT: usize = 200;

/// Paths that one sentence names.
const MAX_NAMED: usize = 5;

/// Characters of a path in a sentence: all sentences must fit into what is heard of a supervisor.
const MAX_PATH_CHARS: usize = 200;

/// What is known of a command whose work is reviewed.
#[derive(Debug, Clone, Copy)]
pub(in crate::process) struct Means<'a> {
    /// What could not be changed is known by what the command itself found when it started: a change there is the
    /// user's own. `None`: nothing could be protected.
    pub(in crate::process) protected: Option<&'a Repositories>,
    /// Where repositories are moved that nobody has asked for.
    pub(in crate::process) place: &'a Path,
    /// Neither it nor another command meanwhile was meant to make a repository.
    pub(in crate::process) is_plain: bool,
    /// When the review has to be over.
    pub(in crate::process) until: Instant,
}

/// What a review has come to.
#[derive(Debug)]
pub(in crate::process) struct Reviewed {
    /// A sentence for the user about each thing that was found.
    pub(in crate::process) sentences: Vec<String>,
    /// Whether everything that a command may have made was looked at, and set aside where it can do harm.
    pub(in crate::process) is_complete: bool,
}

/// Compares the repositories before and after a command, and sets aside what it must not have made: any repository, or
/// the settings that can do harm.
pub(in crate::process) fn review(
    access: &Access,
    before: &Repositories,
    after: &Repositories,
    means: Means<'_>,
) -> Reviewed {
    let protected = means.protected.into_iter();
    let mut review = Review {
        access,
        before,
        index: Index::of(before),
        after,
        means,
        protected: protected
            .clone()
            .flat_map(|it| it.guarded().map(|(_, folder)| folder.id))
            .collect(),
        protected_unread: protected
            .clone()
            .flat_map(|it| {
                // As they are mounted.
                let is_read_only = |(path, is_git): &(&Path, bool)| {
                    *is_git || !access.writable.iter().any(|granted| granted == path)
                };
                let guarded = it.unread().filter(is_read_only);
                guarded.filter_map(|(path, _)| Some(it.unread.get(path)?.id))
            })
            .collect(),
        frozen: protected.flat_map(|it| it.frozen(access, before)).collect(),
        sharing: after.sharing(),
        unseen: Vec::new(),
        moved: Vec::new(),
        place: means.place.join(format!("{:016x}", rand::random::<u64>())),
        judged_until: means.until.min(Instant::now() + MAX_JUDGING),
        moved_until: means.until.min(Instant::now() + MAX_MOVING),
        urgent: Sentences::at_most(MAX_URGENT),
        changes: Sentences::at_most(MAX_URGENT),
        sentences: Sentences::at_most(MAX_SENTENCES),
        unusable: BTreeSet::new(),
        gone: HashSet::new(),
        left: Vec::new(),
        later: Vec::new(),
        // Where both searches had to leave out folders for their number, the next command would find no more.
        is_complete: !after.is_incomplete
            || before.is_incomplete
                && before.limit == after.limit
                && after.limit != Some(Limit::Time),
    };
    if !before.is_whole() || !after.is_whole() {
        let limit = after.limit.or(before.limit);
        let limit = limit.unwrap_or(Limit::Repositories);
        let left_out = review.named(before.left_out.keys().map(PathBuf::as_path), ", such as ");
        review.urge(format!(
            "Dunlin could not look at all of the project ({limit}{left_out}): not all git settings were protected. Look for changed and new .git folders before you run git here."
        ));
    }
    let compared = review.named(before.only_compared(), ": ");
    if !compared.is_empty() {
        review.say(format!(
            "More than {MAX_REPOSITORIES} git repositories are here. These could be changed by the command, and Dunlin only compared their settings afterwards{compared}."
        ));
    }
    if let Some(first) = after.opened.first() {
        let others = and_more(after.opened.len() - 1);
        review.say(format!(
            "The command made {}{others} unreadable. Dunlin made that readable, to look for git settings there.",
            review.short(Some(first))
        ));
    }
    review.too_much_to_protect();
    // Inner ones first: an outer one may be set aside as a whole. Before all others what was there before: however much a
    // command has made, the user's own are judged.
    let is_known = |(_, folder): &(&PathBuf, &GitFolder)| review.known(folder).is_some();
    let (known, new): (Vec<_>, Vec<_>) = after.folders.iter().rev().partition(is_known);
    for (path, folder) in &known {
        match review.is_over() {
            true => review.left.push(path),
            false => review.folder(path, folder),
        }
    }
    for (path, unread) in &after.unread {
        match review.is_over() {
            true => review.left.push(path),
            false => review.unread(path, unread),
        }
    }
    review.not_reached();
    for (path, folder) in &new {
        match review.is_over() {
            true => review.left.push(path),
            false => review.folder(path, folder),
        }
    }
    // They lead nowhere but to what was judged, and a command makes a million of them in a minute.
    for (path, link) in &after.links {
        match review.is_over() {
            true => review.left.push(path),
            false => review.link(path, link),
        }
    }
    for (why, path, id, name) in std::mem::take(&mut review.later) {
        review.set_aside(why, path, id, name);
    }
    // There may be many, and a repository that is gone does not need it.
    for (path, folder) in known.iter().chain(&new) {
        review.planted_links(path, folder);
        review.strays(path, folder);
    }
    review.say_what_is_gone();
    review.say_what_is_left();
    if let Some(first) = review.unseen.first() {
        let others = and_more(review.unseen.len() - 1);
        let first = review.short(Some(first));
        review.urge(format!(
            "Dunlin could not look for git settings in {first}{others}: look there before you run git."
        ));
    }
    if !review.moved.is_empty() {
        // What cannot be removed takes space and does nothing else.
        let _ = aside::remove_old(means.place, SystemTime::now());
        let shown = review.moved.iter().take(MAX_NAMED);
        let shown: Vec<String> = shown.map(|path| review.short(Some(path))).collect();
        let more = review.moved.len() - shown.len();
        let more = match more {
            0 => String::new(),
            _ => format!(" and {more} more"),
        };
        review.urge(format!(
            "A git repository appeared that the command line does not create, or that Dunlin cannot check: {}{more}. Dunlin moved it to {}, with {SUFFIX} behind its name and that of its HEAD. The command could change what is in it: look at it before you rename it and move it back.",
            shown.join(", "),
            review.short(Some(&review.place))
        ));
    }
    let mut sentences = review.urgent.into_all();
    sentences.extend(review.changes.into_all());
    sentences.extend(review.sentences.into_all());
    Reviewed {
        sentences,
        is_complete: review.is_complete,
    }
}

/// Whether a command with this access could change anything at this path, and not only below it.
fn could_change(access: &Access, path: &Path) -> bool {
    let mut refused = access.read_only.iter().chain(&access.hidden);
    let is_refused = refused.any(|rule| path.starts_with(rule));
    let mut written = access.written().filter(|it| !access.is_narrowed(it));
    let narrowed = access.narrowed.as_deref();
    let is_narrowed = narrowed.is_some_and(|folder| path.starts_with(folder));
    let is_written = |written: &Path| {
        let is_meant = !is_narrowed || narrowed.is_some_and(|folder| written.starts_with(folder));
        is_meant && path.starts_with(written)
    };
    !is_refused && written.any(is_written)
}

fn and_more(others: usize) -> String {
    match others {
        0 => String::new(),
        _ => format!(" and {others} more folders"),
    }
}

/// Why something is set aside.
const UNEXPECTED: &str = "A git repository appeared, though the command line runs no git";
const HARMFUL: &str =
    "The command made git settings that can run programs or lead out of the project";
const ASTRAY: &str = "The command made a git file that names files outside of the worktree";
const ASTRAY_WITHIN: &str = "The command made a git file with a second name, a reference that leads out of refs, or what \
                             makes a repository of a folder in git's own data";
const UNSAFE_CONFLICTS: &str =
    "The command left conflicts for git rerere, which writes to the files that are named there";
const LED_AWAY: &str = "The command led the worktree of a git repository elsewhere";
const UNREAD: &str = "The command made a git repository that cannot be looked at";

/// The file without which git takes a folder for no repository.
const HEAD: &str = "HEAD";

/// What was there before a command, by what identifies it: a command can make any number of things that are looked up.
struct Index<'a> {
    folders: BTreeMap<FileId, Vec<(&'a Path, &'a GitFolder)>>,
    /// The folders with which others share settings.
    shared: BTreeMap<&'a Path, Vec<&'a Path>>,
    links: HashSet<&'a GitLink>,
    unread: BTreeSet<FileId>,
}

impl<'a> Index<'a> {
    fn of(before: &'a Repositories) -> Index<'a> {
        let mut folders: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (path, folder) in &before.folders {
            let same = folders.entry(folder.id).or_default();
            same.push((path.as_path(), folder));
        }
        Index {
            folders,
            shared: before.sharing(),
            links: before.links.values().collect(),
            unread: before.unread.values().map(|unread| unread.id).collect(),
        }
    }

    fn folders(&self, id: FileId) -> impl Iterator<Item = (&'a Path, &'a GitFolder)> {
        self.folders.get(&id).into_iter().flatten().copied()
    }
}

struct Review<'a> {
    access: &'a Access,
    before: &'a Repositories,
    index: Index<'a>,
    after: &'a Repositories,
    means: Means<'a>,
    /// The folders that could not be changed.
    protected: BTreeSet<FileId>,
    /// Those that could not be changed of what could not be looked at.
    protected_unread: BTreeSet<FileId>,
    /// Those in which nothing at all could be changed.
    frozen: BTreeSet<FileId>,
    /// The folders with which others share settings, and these others.
    sharing: BTreeMap<&'a Path, Vec<&'a Path>>,
    /// What could not be looked at.
    unseen: Vec<PathBuf>,
    /// What was moved out of the project, and where to.
    moved: Vec<PathBuf>,
    place: PathBuf,
    judged_until: Instant,
    moved_until: Instant,
    /// What the user has to act upon.
    urgent: Sentences,
    /// What Dunlin has set aside or removed. However much there is to say of the rest, the user misses these otherwise.
    changes: Sentences,
    sentences: Sentences,
    /// The repositories that were made unusable.
    unusable: BTreeSet<PathBuf>,
    /// The repositories that were set aside as a whole.
    gone: HashSet<PathBuf>,
    /// What there was no time for at all.
    left: Vec<&'a Path>,
    /// What is set aside once the repositories in it are: they would not be found under its new name.
    later: Vec<(&'static str, &'a Path, FileId, &'a OsStr)>,
    is_complete: bool,
}

impl<'a> Review<'a> {
    fn say(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    /// Says what the user has to act upon.
    fn urge(&mut self, sentence: String) {
        self.urgent.push(sentence);
    }

    /// Whether the command could change nothing in a folder, nor in what lies in it, by any name.
    fn is_frozen(&self, path: &Path) -> bool {
        let mut around = path.ancestors();
        around.any(|path| {
            let folder = self.after.folders.get(path);
            folder.is_some_and(|folder| self.frozen.contains(&folder.id))
        })
    }

    /// Whether there is no time left to judge anything.
    fn is_late(&self) -> bool {
        Instant::now() >= self.judged_until
    }

    /// Whether there is no time left to move anything out of the project.
    fn is_hurried(&self) -> bool {
        Instant::now() >= self.moved_until
    }

    /// Whether there is no time left for anything.
    fn is_over(&self) -> bool {
        Instant::now() >= self.means.until
    }

    /// The same repository before the command. It may have been moved together with a folder that it lies in.
    fn known(&self, folder: &GitFolder) -> Option<&'a GitFolder> {
        let mut known = self.index.folders(folder.id);
        // What was not a repository can hold what was set aside before, or what another command has prepared.
        let known =
            known.find(|(path, known)| known.has_head || self.index.shared.contains_key(path));
        known.map(|(_, known)| known)
    }

    /// Whether a folder was there before the command, with the same settings.
    fn was_there(&self, folder: &GitFolder) -> bool {
        let mut before = self.index.folders(folder.id);
        before.any(|(_, known)| known.settings == folder.settings)
    }

    /// Whether the settings in a folder were protected, or are judged by themselves.
    fn is_judged(&self, path: &Path) -> bool {
        let folder = self.after.folders.get(path);
        folder.is_some_and(|folder| {
            let is_known = self.known(folder).is_some();
            is_known || !folder.is_reference && !self.access.roots().contains(&path)
        })
    }

    /// Whether the command could change nothing at this path, by where it lies.
    fn is_within_frozen(&self, path: &Path) -> bool {
        let mut around = path.ancestors();
        around.any(|path| {
            let folder = self.after.folders.get(path).map(|folder| folder.id);
            let id = folder.or_else(|| self.after.unread.get(path).map(|unread| unread.id));
            id.is_some_and(|id| self.frozen.contains(&id))
        })
    }

    fn link(&mut self, path: &Path, link: &GitLink) {
        if path.file_name().is_some_and(is_aside) {
            // Git does not follow it.
            return;
        }
        let target = link.target();
        let is_judged = target.is_some_and(|target| self.is_judged(target));
        // It may have been moved together with a folder that it lies in.
        let was_there = self.index.links.contains(link);
        // It may lead to what was there before, also outside of what a command can change.
        let is_outside = target.is_none_or(|target| !self.after.folders.contains_key(target));
        if was_there && (is_judged || is_outside) {
            return;
        }
        // The user's git would make a repository of what is none yet, and nobody would have looked at its settings.
        let folder = target.and_then(|target| self.after.folders.get(target));
        let leads_to_one = is_judged
            && folder.is_some_and(|folder| folder.has_head)
            && !link.mark.has_other_names();
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) if self.means.is_plain || !leads_to_one => {
                let why = if self.means.is_plain {
                    UNEXPECTED
                } else {
                    HARMFUL
                };
                let entry = Entry::of_number(folder, name, link.number);
                if !self.take_out(&entry) {
                    self.rename(why, &entry, "");
                }
            }
            _ => self.say(format!(
                "New git worktree or submodule: {}.",
                self.short(path.parent())
            )),
        }
    }

    /// What a command has made or changed in a folder and can do harm. Without `commondir`.
    fn harmful<'f>(&self, path: &Path, folder: &'f GitFolder) -> Vec<&'f OsStr> {
        let known = self.known(folder);
        let is_allowed = |name: &OsString, mark: &Mark| {
            let known = known.and_then(|known| known.settings.get(name));
            self.is_users_own(folder, name, known, mark)
                || self.access.writable.contains(&path.join(name))
                || !mark.has_other_names()
                    && !self.is_late()
                    && is_harmless(path, name, &self.access.project)
        };
        let settings = folder.settings.iter();
        let is_read = |name: &OsStr| name != COMMON && !name.to_string_lossy().contains(SUFFIX);
        let settings = settings.filter(|(name, mark)| is_read(name) && !is_allowed(name, mark));
        let was_there = |name: &OsString, mark: &Mark| {
            known
                .and_then(|known| known.verified.get(name))
                .is_some_and(|it| it.is_like(mark))
        };
        let verified = folder.verified.iter().filter(|(name, mark)| {
            let is_trusted = || !self.is_late() && is_trustworthy(path, name);
            !was_there(name, mark) && (mark.has_other_names() || !is_trusted())
        });
        let harmful = settings.chain(verified);
        harmful.map(|(name, _)| name.as_os_str()).collect()
    }

    /// Whether a setting is as it was, or could be changed by nobody but the user.
    fn is_users_own(
        &self,
        folder: &GitFolder,
        name: &OsStr,
        known: Option<&Mark>,
        mark: &Mark,
    ) -> bool {
        let is_protected = |known: &Mark| {
            let found = self.means.protected;
            self.protected.contains(&folder.id)
                && !known.has_other_names()
                && found.is_some_and(|found| found.has_kept(folder.id, name, known))
        };
        known.is_some_and(|known| known.is_like(mark) || is_protected(known))
    }

    /// Whether the worktree that a folder's settings name is another one than before, and none of the project's.
    fn leads_elsewhere(&self, path: &Path, folder: &GitFolder) -> bool {
        let known = self.known(folder);
        let was_there = |worktree: &Path| {
            known.is_some_and(|known| known.worktrees().any(|known| known == worktree))
        };
        let mut worktrees = folder.worktrees();
        let project = &self.access.project;
        worktrees.any(|it| !was_there(it) && !settings::is_own_worktree(it, path, project))
    }

    /// Whether a repository that was there before has its worktree here.
    fn is_known_worktree(&self, path: &Path) -> bool {
        let mut before = self.before.folders.values();
        before.any(|folder| folder.worktrees().any(|worktree| worktree == path))
    }

    /// Whether a command has made a repository with harmful settings here, or led one elsewhere.
    fn is_made_harmful(&self, path: &Path, folder: &GitFolder) -> bool {
        let is_new = self.known(folder).is_none();
        self.leads_elsewhere(path, folder) || is_new && !self.harmful(path, folder).is_empty()
    }

    /// Whether the repository that this one shares settings with is none that a command could have made or changed.
    fn shares_safely(&self, path: &Path, folder: &GitFolder) -> bool {
        let is_within = |common: &Path| {
            let mut roots = self.access.roots().into_iter();
            roots.any(|root| common.starts_with(root))
        };
        let known = self.known(folder);
        let known = known.and_then(|known| known.settings.get(OsStr::new(COMMON)));
        let mark = folder.settings.get(OsStr::new(COMMON));
        let name = OsStr::new(COMMON);
        let is_known = mark.is_some_and(|mark| self.is_users_own(folder, name, known, mark));
        match folder.common() {
            None => !folder.has_common,
            Some(common) if !is_within(common) => is_known,
            // It was made unusable, together with this one.
            Some(common) if self.after.unread.contains_key(common) => is_known,
            Some(common) => {
                let is_safe = self.is_judged(common)
                    && self
                        .after
                        .folders
                        .get(common)
                        .is_some_and(|shared| !self.is_made_harmful(common, shared));
                let is_own = mark.is_some_and(|mark| !mark.has_other_names());
                let is_harmless = || is_harmless(path, OsStr::new(COMMON), &self.access.project);
                is_safe && (is_known || is_own && is_harmless())
            }
        }
    }

    /// Whether what may be a repository lies here that was not there before.
    fn holds_new_ones(&self, path: &Path) -> bool {
        let below = self.after.folders.range(path.to_owned()..);
        let mut below = below.take_while(|(inner, _)| inner.starts_with(path));
        below.any(|(_, folder)| self.known(folder).is_none())
    }

    fn folder(&mut self, path: &'a Path, folder: &'a GitFolder) {
        if self.is_frozen(path) {
            // Whatever is new there is the user's own, such as a rebase in another terminal.
            if self.leads_elsewhere(path, folder) && folder.has_head {
                self.set_aside(LED_AWAY, path, folder.id, OsStr::new(HEAD));
            }
            return;
        }
        let known = self.known(folder);
        let is_new = known.is_none();
        let name = path.file_name().unwrap_or_default();
        // Git looks at what is noted of worktrees whatever is missing there.
        let is_git = name.eq_ignore_ascii_case(".git") || is_of_worktree(path);
        let is_one = folder.has_head || self.sharing.contains_key(path);
        // What is called `.git` becomes a repository with the user's next `git init`, which keeps its settings.
        let may_become_one = is_git && !self.was_there(folder);
        if is_new && folder.is_reference {
            // What leads there is set aside.
            return;
        }
        if !is_one && !may_become_one {
            return self.no_repository_yet(path, folder);
        }
        if is_new && self.index.unread.contains(&folder.id) {
            // It was there before, and there was no time to look at it.
            if self.protected_unread.contains(&folder.id) {
                return;
            }
            if folder.has_head {
                return self.make_unusable(path, folder.id);
            }
        }
        let is_root = self.access.roots().contains(&path);
        if is_new && self.means.is_plain {
            self.whole(UNEXPECTED, path, folder.id);
            return;
        }
        let had_settings = known.is_some_and(|known| !known.settings.is_empty());
        let mut harmful = self.harmful(path, folder);
        if !self.shares_safely(path, folder) {
            harmful.push(OsStr::new(COMMON));
        }
        let looks_like_one = is_root && !had_settings && (is_new || !folder.settings.is_empty());
        // Git would write what another repository tracks over its settings.
        let is_overlaid = is_new && !is_git && self.is_known_worktree(path);
        let is_led_away = self.leads_elsewhere(path, folder) || is_overlaid;
        let is_bad = is_led_away || is_new && !harmful.is_empty();
        if looks_like_one || is_bad && folder.has_head {
            let what = match self.leads_elsewhere(path, folder) && !is_new {
                true => LED_AWAY,
                false => HARMFUL,
            };
            // The rest of it may be the user's own files. Without this one it is not a repository.
            self.set_aside(what, path, folder.id, OsStr::new(HEAD));
            if !is_git {
                return;
            }
        }
        let (holding, alone): (Vec<_>, Vec<_>) = harmful
            .iter()
            .copied()
            .partition(|name| self.holds_new_ones(&path.join(name)));
        let why = |name: &OsStr| match folder.settings.contains_key(name) {
            true => HARMFUL,
            false if is_conflicts(name) => UNSAFE_CONFLICTS,
            false => ASTRAY,
        };
        let later = holding.into_iter();
        let later = later.map(|name| (why(name), path, folder.id, name));
        self.later.extend(later);
        match alone.len() > MAX_SENTENCES {
            true => self.set_aside_many(path, folder.id, &alone),
            false => {
                for name in alone {
                    self.set_aside(why(name), path, folder.id, name);
                }
            }
        }
        self.say_what_changed(path, folder, known, &harmful);
        // A worktree is told of by the `.git` that leads there.
        if is_new && harmful.is_empty() && folder.has_head && !folder.has_common {
            self.say(format!("New git repository: {}.", self.short(Some(path))));
        }
    }

    /// Sets aside harmful settings in a folder of a repository where git keeps others, or would if it had a `HEAD`.
    fn no_repository_yet(&mut self, path: &Path, folder: &GitFolder) {
        let mut around = path.ancestors().skip(1);
        if !around.any(|it| self.after.folders.contains_key(it)) {
            return;
        }
        // A folder of one of these names holds submodules.
        let is_file = |name: &OsStr| !path.join(name).is_dir();
        let settings = ["config", "config.worktree"].map(OsStr::new);
        let mut harmful = self.harmful(path, folder);
        harmful.retain(|name| settings.contains(name));
        if !self.shares_safely(path, folder) {
            harmful.push(OsStr::new(COMMON));
        }
        for name in harmful.into_iter().filter(|name| is_file(name)) {
            self.set_aside(HARMFUL, path, folder.id, name);
        }
    }
}
