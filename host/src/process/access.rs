//! Which files a command may see and change.

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

impl Access {
    /// The same, but for changing anything.
    pub(crate) fn read_only(self) -> Access {
        Access {
            read_only: vec![self.project.clone()],
            writable: Vec::new(),
            may_change_repository: false,
            narrowed: None,
            ..self
        }
    }

    /// What can be changed, without what is refused as a whole.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Path> {
        let refused = |path: &Path| {
            let mut rules = self.read_only.iter().chain(&self.hidden);
            rules.any(|rule| path.starts_with(rule))
        };
        let all = std::iter::once(&self.project).chain(&self.writable);
        all.map(PathBuf::as_path).filter(move |path| !refused(path))
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

    /// Whether a path lies in something that can be changed, and is not a root of it.
    pub(super) fn is_within(&self, path: &Path) -> bool {
        self.written()
            .any(|root| path.starts_with(root) && path != root)
    }

    /// The paths at which a command could make something that it must not.
    pub(super) fn held(&self) -> impl Iterator<Item = &Held> {
        let refused = |path: &Path| {
            let mut rules = self.read_only.iter().chain(&self.hidden);
            rules.any(|rule| path != rule && path.starts_with(rule))
        };
        let held = self.held.iter();
        held.filter(move |held| self.is_within(&held.path) && !refused(&held.path))
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
        let mut readable = Vec::new();
        self.walk(Path::new("/"), &mut readable);
        readable
    }

    fn walk(&self, folder: &Path, readable: &mut Vec<PathBuf>) {
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
            // A link is followed by whoever reads, and what it leads to is judged where it is.
            if self.is_hidden(&path) || kind.is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            // Processes come and go. What they keep to themselves is guarded by the rule that nobody in a sandbox traces
            // anybody outside.
            let is_whole = path == Path::new("/proc");
            if !is_whole && self.hidden.iter().any(|hidden| hidden.starts_with(&path)) {
                self.walk(&path, readable);
            } else {
                readable.push(path);
            }
        }
    }

    fn is_hidden(&self, path: &Path) -> bool {
        // Devices are given one by one.
        path == Path::new("/dev") || self.hidden.iter().any(|hidden| path == hidden)
    }
}

#[cfg(test)]
mod tests {
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
        assert!(access.is_within(Path::new("/a/b/x")));
        assert!(!access.is_within(Path::new("/a/x")));
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
