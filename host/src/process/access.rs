//! Which files a command may see and change.

use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::git::LinkedWorktree;

/// Folders that are walked to find what lies beside hidden ones, at most. Each is one on the way to a hidden
/// path, so there are some dozens; a folder with a million names must not keep a command from starting.
const MAX_READABLE: usize = 20_000;

/// What of the file system a command has. All paths are absolute and free of links.
///
/// What is not named can be read and not changed. Of two entries about one path the stricter holds: `hidden`
/// before `read_only` before `writable`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Access {
    /// Where the command starts; can be changed unless it is `read_only`.
    pub(crate) project: PathBuf,
    /// Folders and files that can be changed, too.
    pub(crate) writable: Vec<PathBuf>,
    /// Exceptions from that.
    pub(crate) read_only: Vec<PathBuf>,
    /// Can be neither read nor changed.
    pub(crate) hidden: Vec<PathBuf>,
    /// Which of these must not come into being either.
    pub(crate) held: Vec<Held>,
    /// Whether nothing can be changed at all. The command runs only where its sandbox keeps to that.
    pub(crate) is_read_only: bool,
    /// Whether the command may change git repositories, and make new ones.
    pub(crate) may_change_repository: bool,
    /// The repository of a linked worktree, among the writable ones: of it only those folders can be changed that lie in it
    /// and are writable themselves.
    pub(crate) narrowed: Option<PathBuf>,
}

/// A path at which a command must not make anything, even if there is nothing now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) path: PathBuf,
    /// What takes the place meanwhile: an empty folder, or else a file.
    pub(crate) is_folder: bool,
    /// What that file holds.
    pub(crate) text: String,
}

impl Held {
    /// An empty folder or an empty file takes the place.
    pub(crate) fn new(path: PathBuf, is_folder: bool) -> Held {
        Held {
            path,
            is_folder,
            text: String::new(),
        }
    }
}

/// Files and folders, each with all that lies below it.
///
/// There are some hundred rules, and a thousand paths that they are asked about for each command. So a path is not compared with
/// each rule: the path and each folder above it are looked up.
pub(super) struct Trees<'a>(HashSet<&'a Path>);

impl<'a> Trees<'a> {
    pub(super) fn new<P: AsRef<Path> + ?Sized + 'a>(
        tops: impl IntoIterator<Item = &'a P>,
    ) -> Trees<'a> {
        Trees(tops.into_iter().map(AsRef::as_ref).collect())
    }

    /// Whether a path is one of these, or lies below one.
    pub(super) fn hold(&self, path: &Path) -> bool {
        path.ancestors().any(|it| self.0.contains(it))
    }

    /// Whether a path lies below one of these.
    pub(super) fn hold_below(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.hold(parent))
    }
}

impl Access {
    /// The same, but for changing anything.
    pub(crate) fn read_only(self) -> Access {
        Access {
            read_only: vec![self.project.clone()],
            writable: Vec::new(),
            is_read_only: true,
            may_change_repository: false,
            narrowed: None,
            ..self
        }
    }

    /// What can be changed, without what is refused as a whole.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Path> {
        let refused = self.refused();
        let all = std::iter::once(&self.project).chain(&self.writable);
        all.map(PathBuf::as_path)
            .filter(move |path| !refused.hold(path))
    }

    /// What cannot be changed.
    fn refused(&self) -> Trees<'_> {
        Trees::new(self.read_only.iter().chain(&self.hidden))
    }

    /// Gives the repository of a linked worktree to write, as far as commits need it.
    pub(crate) fn give_repository(&mut self, worktree: &LinkedWorktree) {
        let repository = &worktree.repository;
        // Somebody may have granted it as a whole.
        let mut granted = self.written();
        if granted.any(|folder| repository.starts_with(folder)) {
            return;
        }
        drop(granted);
        self.writable.push(repository.clone());
        self.writable.extend(worktree.writable());
        self.narrowed = Some(repository.clone());
    }

    /// Whether only a part of this folder can be changed.
    pub(super) fn is_narrowed(&self, folder: &Path) -> bool {
        self.narrowed.as_deref() == Some(folder)
    }

    /// The outermost files and folders that can be changed.
    pub(super) fn roots(&self) -> Vec<&Path> {
        let mut roots: Vec<&Path> = self.written().collect();
        roots.sort_unstable();
        // An ancestor sorts before what lies below it.
        roots.dedup_by(|below, root| below.starts_with(*root));
        roots
    }

    /// The paths at which a command could make something that it must not.
    pub(super) fn held(&self) -> impl Iterator<Item = &Held> {
        let (written, refused) = (Trees::new(self.written()), self.refused());
        let is_held = move |path: &Path| written.hold_below(path) && !refused.hold_below(path);
        self.held.iter().filter(move |held| is_held(&held.path))
    }

    /// The hidden path that the project lies in, if there is one: then no command can run there.
    pub(super) fn hides_project(&self) -> Option<&Path> {
        let mut hidden = self.hidden.iter().map(PathBuf::as_path);
        hidden.find(|hidden| self.project.starts_with(hidden))
    }

    /// The largest folders and files that hold nothing hidden: together, all that may be read.
    ///
    /// What comes into being beside a hidden path while the command runs is not among them.
    pub(super) fn readable(&self) -> Vec<PathBuf> {
        let hidden = self.hidden.iter().map(PathBuf::as_path).collect();
        let mut readable = Vec::new();
        walk(Path::new("/"), &hidden, &mut readable);
        readable
    }
}

fn walk(folder: &Path, hidden: &BTreeSet<&Path>, readable: &mut Vec<PathBuf>) {
    // What cannot be listed cannot be read by the command either.
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if readable.len() >= MAX_READABLE {
            return;
        }
        let path = entry.path();
        let kind = entry.file_type();
        // Devices are given one by one.
        let is_hidden = path == Path::new("/dev") || hidden.contains(path.as_path());
        // A link is followed by whoever reads, and what it leads to is judged where it is.
        if is_hidden || kind.is_ok_and(|kind| kind.is_symlink()) {
            continue;
        }
        // Processes come and go. What they keep to themselves is guarded by the rule that nobody in a sandbox traces
        // anybody outside.
        let is_whole = path == Path::new("/proc");
        if !is_whole && holds_one(&path, hidden) {
            walk(&path, hidden, readable);
        } else {
            readable.push(path);
        }
    }
}

/// Whether one of these paths lies in a folder, or is it.
fn holds_one(folder: &Path, paths: &BTreeSet<&Path>) -> bool {
    // What lies below a folder sorts right behind it.
    let from = (Bound::Included(folder), Bound::Unbounded);
    let mut behind = paths.range::<Path, _>(from);
    behind.next().is_some_and(|path| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn the_stricter_rule_holds() {
        let access = Access {
            project: PathBuf::from("/p"),
            writable: paths(&["/w", "/h/sub", "/r"]),
            read_only: paths(&["/r"]),
            hidden: paths(&["/h"]),
            held: Vec::new(),
            is_read_only: false,
            may_change_repository: false,
            narrowed: None,
        };
        let written: Vec<&Path> = access.written().collect();
        assert_eq!(written, ["/p", "/w"].map(Path::new));
        assert_eq!(access.hides_project(), None);
        let inside = Access {
            project: PathBuf::from("/h/p"),
            ..access
        };
        assert_eq!(inside.hides_project(), Some(Path::new("/h")));
        assert!(!inside.written().any(|path| path.starts_with("/h")));
    }

    #[test]
    fn roots_lie_side_by_side() {
        let access = Access {
            project: PathBuf::from("/a/b"),
            writable: paths(&["/a/b/c", "/a-b", "/a/b/c/d", "/a/bc", "/a/b"]),
            ..Access::default()
        };
        assert_eq!(access.roots(), ["/a/b", "/a/bc", "/a-b"].map(Path::new));
    }

    /// A few names in short paths, so that many of them lie in one another, spelled in different ways.
    fn any_path() -> impl Strategy<Value = PathBuf> {
        let name = prop::sample::select(vec![
            "/a", "/b", "/ab", "/a-b", "/a.b", "/..", "/./a", "//b",
        ]);
        let end = prop::sample::select(vec!["", "/", "/."]);
        (prop::collection::vec(name, 0..5), end)
            .prop_map(|(names, end)| PathBuf::from(format!("/{}{end}", names.concat())))
    }

    fn any_paths() -> impl Strategy<Value = Vec<PathBuf>> {
        prop::collection::vec(any_path(), 0..6)
    }

    proptest! {
        /// Here each path is compared with each rule.
        #[test]
        fn a_path_is_held_by_the_trees_that_it_lies_in(tops in any_paths(), paths in any_paths()) {
            let trees = Trees::new(&tops);
            let sorted: BTreeSet<&Path> = tops.iter().map(PathBuf::as_path).collect();
            for path in paths.iter().chain(&tops) {
                prop_assert_eq!(trees.hold(path), tops.iter().any(|it| path.starts_with(it)));
                let is_below = tops.iter().any(|it| path != it && path.starts_with(it));
                prop_assert_eq!(trees.hold_below(path), is_below);
                let holds_one = tops.iter().any(|it| it.starts_with(path));
                prop_assert_eq!(super::holds_one(path, &sorted), holds_one);
            }
        }

        /// What can be changed, and what is held, as it stands in the documentation of the fields.
        #[test]
        fn the_stricter_of_two_rules_holds(
            project in any_path(),
            (writable, read_only) in (any_paths(), any_paths()),
            (hidden, held) in (any_paths(), any_paths()),
        ) {
            let access = Access {
                project,
                writable,
                read_only,
                hidden,
                held: held.into_iter().map(|path| Held::new(path, true)).collect(),
                ..Access::default()
            };
            let rules = || access.read_only.iter().chain(&access.hidden);
            let all = std::iter::once(&access.project).chain(&access.writable);
            let written: Vec<&PathBuf> = all
                .filter(|path| !rules().any(|rule| path.starts_with(rule)))
                .collect();
            let found: Vec<&Path> = access.written().collect();
            prop_assert_eq!(&found, &written);
            let is_held = |path: &PathBuf| {
                let lies_in = |top: &PathBuf| path != top && path.starts_with(top);
                written.iter().any(|root| lies_in(root)) && !rules().any(lies_in)
            };
            let held: Vec<&Held> = access.held.iter().filter(|it| is_held(&it.path)).collect();
            let found: Vec<&Held> = access.held().collect();
            prop_assert_eq!(found, held);
        }
    }

    #[test]
    fn readable_is_what_lies_beside_the_hidden() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        for folder in [
            "home/.ssh",
            "home/docs",
            "home/.config/dunlin",
            "home/.config/git",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("home/.ssh"), root.join("home/link")).unwrap();
        let access = Access {
            hidden: vec![root.join("home/.ssh"), root.join("home/.config/dunlin")],
            ..Access::default()
        };
        let readable = access.readable();
        let below: Vec<&Path> = readable
            .iter()
            .filter_map(|path| path.strip_prefix(&root).ok())
            .collect();
        assert_eq!(below.len(), 2, "{below:?}");
        assert!(below.contains(&Path::new("home/docs")));
        assert!(below.contains(&Path::new("home/.config/git")));
        assert!(!readable.iter().any(|path| root.starts_with(path)));
        assert!(!readable.contains(&PathBuf::from("/dev")));
        assert!(readable.contains(&PathBuf::from("/usr")));
    }
}
