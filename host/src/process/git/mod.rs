//! Git repositories in what a command may change.
//!
//! A repository decides what the *user's* git does next, outside of the sandbox: its settings name programs (hooks,
//! filters, editors) or lead to other settings. So commands may change of a repository only what commits need, which
//! cannot name a program. Everything else in it is read-only while they run, also what future versions of git may add.
//!
//! Unless the command line runs git, every repository is read-only as a whole, and one that the command makes is set
//! aside when it has ended, whatever is in it.
//!
//! What a line that runs git makes cannot be protected by a mount: a new repository, or a setting that was not there.
//! That is looked for afterwards and set aside if it can do harm (`review`).

mod aside;
mod baseline;
mod continuing;
mod extent;
mod index;
mod judge;
mod listing;
mod mark;
mod read;
mod review;
mod search;
mod settings;
mod states;
#[cfg(test)]
mod tests;
mod worktree;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::access::{Access, Held, Trees};
use super::mounts::FileId;
use super::placeholder;
pub(super) use baseline::{Baseline, Kind};
pub(crate) use listing::{is_git_name, may_be_repository};
use mark::Mark;
use read::real_path;
pub(super) use read::{open_folder, read_short, with_access};
pub(super) use review::{MAX_SAID_BYTES, Means, named, review};
pub(crate) use worktree::{LinkedWorktree, linked_worktree};

/// The file in which a worktree names the repository that it shares settings with.
const COMMON: &str = "commondir";

/// Settings in the folder of one repository that are protected one by one, at most: each takes a mount. A folder with more
/// is read-only as a whole.
const MAX_SETTINGS: usize = 200;

/// Objects with further names elsewhere that are protected one by one, at most: each takes a mount.
const MAX_OBJECTS: usize = 5_000;

/// What is added to the name of a setting that is set aside. Git reads nothing of such a name.
const SUFFIX: &str = ".set-aside";

/// Repositories below some folders, as they were at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Repositories {
    /// The folders below which these were looked for.
    roots: BTreeSet<OsString>,
    /// The folders where git keeps a repository (`.git`, `.git/modules/…`, `.git/worktrees/…`, bare repositories).
    #[serde(with = "pairs")]
    folders: BTreeMap<PathBuf, GitFolder>,
    /// `.git` that is a file or a link.
    #[serde(with = "pairs")]
    links: BTreeMap<PathBuf, GitLink>,
    /// Folders that could not be looked at.
    #[serde(with = "pairs")]
    unread: BTreeMap<PathBuf, Unread>,
    /// Those of all these that take no mounts, as there are too many: they are only compared.
    #[serde(default)]
    unguarded: BTreeSet<PathBuf>,
    /// Repositories and `.git` that were not looked at, as there are too many even to compare them.
    #[serde(default, with = "pairs")]
    left_out: BTreeMap<PathBuf, FileId>,
    /// Which limit has ended the search.
    #[serde(default)]
    limit: Option<extent::Limit>,
    /// Folders that the search has made readable.
    #[serde(skip)]
    opened: Vec<PathBuf>,
    /// A folder whose path is too long to be looked at or protected, and why.
    #[serde(skip)]
    unreachable: Option<String>,
    /// Whether the search ended before it had come everywhere.
    is_incomplete: bool,
    /// Which rebases and the like in progress the command may change that starts now.
    #[serde(skip)]
    states: states::States,
}

/// A folder where git keeps a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct GitFolder {
    id: FileId,
    /// What is in it and can be a setting.
    #[serde(with = "pairs")]
    settings: BTreeMap<OsString, Mark>,
    /// What is in it and is not a setting.
    data: Vec<OsString>,
    /// Whether there is a `HEAD`. Git takes nothing for a repository without it.
    has_head: bool,
    /// Whether Dunlin has set it aside. Whoever renames it back must find what it was.
    is_aside: bool,
    /// What names files that git writes without looking at their paths.
    #[serde(with = "pairs")]
    verified: BTreeMap<OsString, Mark>,
    /// Symbolic links among what git writes to when it commits or fetches, relative to the folder. It would write to
    /// whatever they lead to.
    links: BTreeSet<OsString>,
    /// What leads git astray among its own data, relative to the folder: references that it would write elsewhere, and what
    /// makes a folder there a repository.
    #[serde(default, with = "pairs")]
    strays: BTreeMap<OsString, Mark>,
    /// Where its settings say that the worktree is.
    worktrees: Vec<OsString>,
    /// Whether it shares the settings of another one, as that of a worktree does.
    has_common: bool,
    /// The folder of that one, if it is there.
    common: Option<OsString>,
    /// Whether it is known only because something leads there.
    is_reference: bool,
}

/// A folder that could not be looked at, or that holds too much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Unread {
    id: FileId,
    /// Whether git keeps a repository in it.
    is_git: bool,
    /// Whether it is not known to hold too much: the time was over before all of it was looked at.
    #[serde(default)]
    is_unreached: bool,
    /// Whether it is a repository whose index names a submodule that was not looked at.
    #[serde(default)]
    names_unseen: bool,
}

/// A `.git` that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct GitLink {
    /// The number of the file or link itself.
    number: u64,
    mark: Mark,
    /// Where it leads to, if there is a folder.
    target: Option<OsString>,
}

/// Maps by names that need not be text, as lists of pairs.
mod pairs {
    use std::collections::BTreeMap;
    use std::ffi::{OsStr, OsString};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: AsRef<OsStr>, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_seq(map.iter().map(|(key, value)| (key.as_ref(), value)))
    }

    pub(super) fn deserialize<
        'de,
        K: From<OsString> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    >(
        from: D,
    ) -> Result<BTreeMap<K, V>, D::Error> {
        let pairs: Vec<(OsString, V)> = Vec::deserialize(from)?;
        let pairs = pairs.into_iter();
        Ok(pairs.map(|(key, value)| (K::from(key), value)).collect())
    }
}

/// What is in a folder; of a link, nothing.
fn list(folder: &Path) -> Vec<PathBuf> {
    let is_folder = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let entries = is_folder.then(|| std::fs::read_dir(folder).ok()).flatten();
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

impl GitFolder {
    /// Whether it was set aside and nobody works in it.
    fn is_kept_aside(&self, path: &Path, access: &Access) -> bool {
        self.is_aside && !access.roots().contains(&path)
    }

    fn common(&self) -> Option<&Path> {
        self.common.as_deref().map(Path::new)
    }

    /// Whether it is what a repository notes about one of its worktrees.
    fn is_of_worktree(&self) -> bool {
        self.has_common && self.settings.contains_key(OsStr::new("gitdir"))
    }

    fn worktrees(&self) -> impl Iterator<Item = &Path> {
        self.worktrees.iter().map(Path::new)
    }
}

impl GitLink {
    fn target(&self) -> Option<&Path> {
        self.target.as_deref().map(Path::new)
    }
}

impl Repositories {
    /// The folders of repositories, outer ones before inner ones.
    pub(super) fn folders(&self) -> impl Iterator<Item = (&Path, FileId)> {
        let folders = self.folders.iter();
        folders.map(|(path, folder)| (path.as_path(), folder.id))
    }

    /// The same without those that are not protected, and those that were set aside: these are read-only as a whole,
    /// wherever they are moved.
    pub(super) fn folders_in_place<'a>(
        &'a self,
        access: &'a Access,
    ) -> impl Iterator<Item = (&'a Path, FileId)> {
        let in_place = self.guarded();
        let in_place = in_place.filter(|(path, folder)| !folder.is_kept_aside(path, access));
        in_place.map(|(path, folder)| (path.as_path(), folder.id))
    }

    /// Where repositories are kept, and what leads to them.
    fn paths(&self) -> impl Iterator<Item = OsString> {
        let paths = self.folders.keys().chain(self.links.keys());
        paths.map(|path| path.as_os_str().to_owned())
    }

    /// Whether everything was found and looked at.
    fn is_whole(&self) -> bool {
        !self.is_incomplete && self.left_out.is_empty()
    }

    /// All folders of repositories.
    fn ids(&self) -> impl Iterator<Item = FileId> {
        self.folders.values().map(|folder| folder.id)
    }

    /// Those of them that are not protected, and are no mere remains of one.
    fn only_compared(&self) -> impl Iterator<Item = &Path> {
        let folders = self.folders.iter();
        let compared =
            folders.filter(|(path, folder)| !folder.is_aside && self.unguarded.contains(*path));
        compared.map(|(path, _)| path.as_path())
    }

    /// The folders of repositories that are protected while a command runs.
    fn guarded(&self) -> impl Iterator<Item = (&PathBuf, &GitFolder)> {
        let folders = self.folders.iter();
        folders.filter(|(path, _)| !self.unguarded.contains(*path))
    }

    /// A folder whose path is too long to be looked at or protected, and what the system says about it.
    pub(super) fn unreachable(&self) -> Option<&str> {
        self.unreachable.as_deref()
    }

    /// Folders of repositories that are read-only as a whole, as too much is in them to protect each setting by itself.
    /// Without those that were granted themselves.
    fn crowded<'a>(&'a self, access: &'a Access) -> impl Iterator<Item = &'a Path> {
        let crowded = self.guarded().filter(|(path, folder)| {
            folder.settings.len() > MAX_SETTINGS && !access.writable.contains(path)
        });
        crowded.map(|(path, _)| path.as_path())
    }

    /// What of repositories this command must not change: all of them, unless its line runs git, and in any case what was set
    /// aside. Without those that were granted, or whose `refs` were.
    pub(super) fn read_only(&self, access: &Access) -> Vec<PathBuf> {
        let roots = access.roots();
        let is_kept = |path: &Path, folder: &GitFolder| {
            let is_aside = folder.is_kept_aside(path, access);
            let is_git = path
                .file_name()
                .is_some_and(|name| name.eq_ignore_ascii_case(".git"));
            let is_one = folder.has_head || self.is_shared(path) || is_git;
            is_aside || is_one && !access.may_change_repository
        };
        // To change references is to commit; another part says nothing about that.
        let is_granted = |folder: &Path| {
            let mut granted = access.writable.iter();
            granted.any(|it| it == folder || *it == folder.join("refs"))
        };
        let crowded: BTreeSet<&Path> = self.crowded(access).collect();
        let kept = self.guarded().filter(|(path, folder)| {
            let is_crowded = crowded.contains(path.as_path());
            !is_crowded && is_kept(path, folder) && !is_granted(path)
        });
        let kept = kept.flat_map(|(path, folder)| match roots.contains(&path.as_path()) {
            false => vec![path.clone()],
            // Whoever works in a bare repository has files of their own beside it.
            true => folder.data.iter().map(|name| path.join(name)).collect(),
        });
        let mut all: Vec<PathBuf> = kept.collect();
        all.extend(crowded.into_iter().map(Path::to_owned));
        // Outer ones are mounted first.
        all.sort();
        all
    }

    /// The folders that this command cannot change anything in. Without those that were otherwise `before`, when a command
    /// started that ran beside it or was killed, and those with files of several names: it cannot give them any, but may
    /// change them through one that is elsewhere.
    fn frozen(&self, access: &Access, before: &Repositories) -> impl Iterator<Item = FileId> {
        let kept = self.read_only(access);
        let nearest = |all: &[PathBuf], path: &Path| {
            let above = all.iter().filter(|it| path.starts_with(it));
            above.map(|it| it.components().count()).max()
        };
        let is_kept = move |path: &Path| {
            let is_granted_within = access.writable.iter().any(|it| it.starts_with(path));
            !is_granted_within && nearest(&kept, path) > nearest(&access.writable, path)
        };
        let folders = self.folders.iter();
        let frozen = folders.filter(move |(path, folder)| {
            let settings = folder.settings.values();
            let mut marks = settings
                .chain(folder.verified.values())
                .chain(folder.strays.values());
            let has_other_names = marks.any(Mark::has_other_names);
            is_kept(path) && !has_other_names && before.folders.get(*path) == Some(folder)
        });
        frozen.map(|(_, folder)| folder.id)
    }

    /// Whether something was looked for at this path.
    fn covers(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// The same, with what others hold that lies where nothing was looked for.
    fn with_others(mut self, others: &Repositories) -> Repositories {
        let is_new = |path: &Path| !self.covers(path);
        let folders = others.folders.iter().filter(|(path, _)| is_new(path));
        let folders: Vec<_> = folders
            .map(|(path, it)| (path.clone(), it.clone()))
            .collect();
        let links = others.links.iter().filter(|(path, _)| is_new(path));
        let links: Vec<_> = links.map(|(path, it)| (path.clone(), it.clone())).collect();
        let unread = others.unread.iter().filter(|(path, _)| is_new(path));
        let unread: Vec<_> = unread
            .map(|(path, it)| (path.clone(), it.clone()))
            .collect();
        self.folders.extend(folders);
        self.links.extend(links);
        self.unread.extend(unread);
        let left_out = others.left_out.iter();
        self.left_out
            .extend(left_out.map(|(path, id)| (path.clone(), *id)));
        self.unguarded.extend(others.unguarded.iter().cloned());
        self.roots.extend(others.roots.iter().cloned());
        self
    }

    /// The folders whose settings repositories share, and these repositories.
    fn sharing(&self) -> BTreeMap<&Path, Vec<&Path>> {
        let mut sharing: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let all = self.folders.iter().filter(|(_, folder)| folder.has_head);
        for (path, folder) in all {
            if let Some(common) = folder.common() {
                sharing.entry(common).or_default().push(path.as_path());
            }
        }
        sharing
    }

    /// Whether a repository shares the settings of this folder.
    fn is_shared(&self, folder: &Path) -> bool {
        let mut all = self.folders.values();
        all.any(|other| other.has_head && other.common() == Some(folder))
    }

    /// The settings in them, and the files that those lead to which are links. Without the settings in folders that are
    /// read-only as a whole, without all that was set aside, and without the states that the command may change.
    pub(super) fn settings<'a>(&'a self, access: &'a Access) -> impl Iterator<Item = PathBuf> + 'a {
        let crowded: BTreeSet<&Path> = self.crowded(access).collect();
        let read = self.guarded();
        let read = read.filter(|(path, folder)| !folder.is_kept_aside(path, access));
        let settings = read.flat_map(move |(path, folder)| {
            let is_crowded = crowded.contains(path.as_path());
            let names = folder.settings.keys();
            let all = names.map(move |name| (path.join(name), is_crowded));
            all.filter(|(path, _)| !self.is_open(path))
        });
        settings.flat_map(|(path, is_crowded)| {
            let target = match path.is_symlink() {
                true => real_path(&path).ok(),
                false => None,
            };
            let own = (!is_crowded).then_some(path);
            own.into_iter().chain(target)
        })
    }

    /// Objects of git that have further names elsewhere, in repositories that this command may change: `git clone` of a path
    /// on the same machine links them. Git itself never changes them, and leaves those that it cannot remove.
    pub(super) fn shared_objects(&self, access: &Access) -> Vec<PathBuf> {
        let read_only = self.read_only(access);
        let open = self.guarded().map(|(path, _)| path);
        let read_only = Trees::new(&read_only);
        let open = open.filter(|path| !read_only.hold(path));
        let folders = open.flat_map(|path| list(&path.join("objects")));
        let objects = folders.flat_map(|folder| list(&folder));
        let is_shared = |path: &PathBuf| {
            let meta = path.symlink_metadata();
            meta.is_ok_and(|meta| meta.is_file() && meta.nlink() > 1)
        };
        objects.filter(is_shared).take(MAX_OBJECTS).collect()
    }

    /// Folders that could not be looked at and are protected, and whether git keeps a repository in them; otherwise one may
    /// be in them.
    pub(super) fn unread(&self) -> impl Iterator<Item = (&Path, bool)> {
        let unread = self.unread.iter();
        let unread = unread.filter(|(path, _)| !self.unguarded.contains(*path));
        unread.map(|(path, unread)| (path.as_path(), unread.is_git))
    }

    /// The `.git` that lead elsewhere, where to, and their numbers in the file system.
    pub(super) fn links(&self) -> impl Iterator<Item = (&Path, Option<&Path>, u64)> {
        let links = self.links.iter();
        links.map(|(path, link)| (path.as_path(), link.target(), link.number))
    }

    /// Settings that are missing and whose place a file or folder can take that says nothing.
    pub(super) fn held(&self, access: &Access) -> Vec<Held> {
        let mut held = Vec::new();
        let read_only = self.read_only(access);
        let (read_only, roots) = (Trees::new(&read_only), access.roots());
        for (path, folder) in self.guarded() {
            if read_only.hold(path) {
                continue;
            }
            let missing = |name: &str| !folder.settings.contains_key(OsStr::new(name));
            let hold = |name: &str, is_folder| Held::new(path.join(name), is_folder);
            if folder.has_head && !access.may_change_repository && roots.contains(&path.as_path()) {
                // What is there is read-only.
                let names = [
                    ("packed-refs", false),
                    ("logs", true),
                    ("modules", true),
                    ("worktrees", true),
                ];
                let names = names
                    .into_iter()
                    .filter(|(name, _)| !folder.data.iter().any(|it| it == name));
                held.extend(names.map(|(name, is_folder)| hold(name, is_folder)));
            }
            if !folder.has_common {
                // Git reads addresses in the last two, and has not written any there for many years.
                let names = [
                    ("config", false),
                    ("hooks", true),
                    ("info", true),
                    ("branches", true),
                    ("remotes", true),
                ];
                let names = names.into_iter().filter(|(name, _)| missing(name));
                held.extend(names.map(|(name, is_folder)| hold(name, is_folder)));
                // Git would take a repository with `reftable` for a worktree and lock nothing; a new one is set aside.
                let has_tables = folder.data.iter().any(|it| it == "reftable");
                if missing(COMMON) && !has_tables {
                    held.push(Held {
                        text: placeholder::ITSELF.to_owned(),
                        ..hold(COMMON, false)
                    });
                }
            }
            // It counts only where the settings say so, which the user may change meanwhile.
            if missing("config.worktree") {
                held.push(hold("config.worktree", false));
            }
        }
        held
    }
}
