//! Which files of a project are looked at: those that its ignore files leave.
//!
//! Ignore files come with a project, so whoever wrote it wrote them, too. They are read here and not by the `ignore`
//! crate, which opens whatever stands under their name, as much as there is of it: a link to a device, a pipe that
//! nobody writes to, ten megabytes of patterns. Its matching and its walk are used.
//!
//! As with git, a pattern counts below the folder of its file, the nearest says most, `.ignore` goes before
//! `.gitignore` and that before `.git/info/exclude`; of what is above the project only the repository that it belongs to
//! is heard. Names that begin with a dot are left out unless a pattern takes them in. Whoever walks can ask for either; what
//! git keeps in its own folder is never listed.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, Match, WalkBuilder};
use parking_lot::Mutex;

use crate::open;

/// What is read of an ignore file.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// What is read of one of its lines.
const MAX_LINE_BYTES: usize = 1024;

/// Patterns of all ignore files of a walk: each is a matcher of some 10 KB.
const MAX_PATTERNS: usize = 10_000;

/// Folders above a project among which its repository is looked for.
const MAX_ABOVE: usize = 64;

/// What is walked through beside the rest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Also {
    /// Names that begin with a dot.
    pub hidden: bool,
    /// What ignore files exclude.
    pub ignored: bool,
}

/// A walk through the files below a folder, which is a resolved path. Links are not followed; once `is_stopped` says
/// so, nothing more is found.
pub fn builder(
    root: &Path,
    also: Also,
    is_stopped: impl Fn() -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let rules = Rules::of(root, also);
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        // The user's own.
        .git_global(!also.ignored)
        // What was meant for git is meant here, whether or not somebody has run `git init` yet.
        .require_git(false)
        .follow_links(false)
        .filter_entry(move |entry| !is_stopped() && rules.keeps(entry));
    builder
}

/// The rules of all folders that were met.
struct Rules {
    root: Arc<Folder>,
    /// Those of the folders below; each is noted before anything in it is met.
    folders: Mutex<HashMap<PathBuf, Arc<Folder>>>,
    /// Patterns that may still be read.
    left: AtomicUsize,
    also: Also,
}

/// What holds in a folder.
struct Folder {
    above: Option<Arc<Folder>>,
    plain: Gitignore,
    git: Gitignore,
    exclude: Gitignore,
    /// Whether a repository begins here: git's rules from above end.
    is_repository: bool,
}

impl Rules {
    fn of(root: &Path, also: Also) -> Rules {
        let mut rules = Rules {
            root: Arc::new(Folder::empty()),
            folders: Mutex::default(),
            left: AtomicUsize::new(MAX_PATTERNS),
            also,
        };
        let is_repository = |folder: &&Path| is_there(&folder.join(".git"));
        let mut line: Vec<&Path> = root.ancestors().take(MAX_ABOVE).collect();
        match line.iter().position(is_repository) {
            Some(at) => line.truncate(at + 1),
            None => line.truncate(1),
        }
        for folder in line.into_iter().rev() {
            rules.root = rules.folder(folder, &rules.root);
        }
        rules
    }

    fn keeps(&self, entry: &DirEntry) -> bool {
        let path = entry.path();
        let Some(above) = path.parent().filter(|_| entry.depth() > 0) else {
            // What git keeps is not listed from within either.
            return !path.components().any(|part| part.as_os_str() == ".git");
        };
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let folder = {
            let folders = self.folders.lock();
            Arc::clone(folders.get(above).unwrap_or(&self.root))
        };
        let name = entry.file_name().as_encoded_bytes();
        let is_kept = match folder.matched(path, is_folder) {
            _ if name == b".git" => false,
            Match::Whitelist(()) => true,
            Match::Ignore(()) if !self.also.ignored => false,
            Match::Ignore(()) | Match::None => self.also.hidden || !name.starts_with(b"."),
        };
        if is_kept && is_folder {
            let own = self.folder(path, &folder);
            let mut folders = self.folders.lock();
            folders.insert(path.to_owned(), own);
        }
        is_kept
    }

    /// What holds in a folder, by what it has itself and what holds above.
    fn folder(&self, path: &Path, above: &Arc<Folder>) -> Arc<Folder> {
        let is_repository = is_there(&path.join(".git"));
        let of = |name: &str| self.file(path, &path.join(name));
        let folder = Folder {
            above: Some(Arc::clone(above)),
            plain: of(".ignore"),
            git: of(".gitignore"),
            exclude: match is_repository {
                true => of(".git/info/exclude"),
                false => Gitignore::empty(),
            },
            is_repository,
        };
        // Most folders have nothing of their own.
        match folder.says_nothing() {
            true => Arc::clone(above),
            false => Arc::new(folder),
        }
    }

    /// The patterns of an ignore file; none where there is no regular file of that name.
    fn file(&self, folder: &Path, path: &Path) -> Gitignore {
        let Ok(bytes) = read(path) else {
            return Gitignore::empty();
        };
        let text = String::from_utf8_lossy(&bytes);
        let mut builder = GitignoreBuilder::new(folder);
        for line in text.lines().filter(|line| line.len() <= MAX_LINE_BYTES) {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let take = |left: usize| left.checked_sub(1);
            let order = Ordering::Relaxed;
            if self.left.fetch_update(order, order, take).is_err() {
                break;
            }
            // A pattern that is none matches nothing, as with git.
            let _ = builder.add_line(None, line);
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

impl Folder {
    fn empty() -> Folder {
        Folder {
            above: None,
            plain: Gitignore::empty(),
            git: Gitignore::empty(),
            exclude: Gitignore::empty(),
            is_repository: false,
        }
    }

    fn says_nothing(&self) -> bool {
        let files = [&self.plain, &self.git, &self.exclude];
        files.into_iter().all(Gitignore::is_empty) && !self.is_repository
    }

    /// What the nearest pattern says.
    fn matched(&self, path: &Path, is_folder: bool) -> Match<()> {
        let line = || std::iter::successors(Some(self), |folder| folder.above.as_deref());
        let mut repository_ended = false;
        let repository = || {
            line().take_while(move |folder| {
                !std::mem::replace(&mut repository_ended, folder.is_repository)
            })
        };
        let plain = line().map(|folder| &folder.plain);
        let git = repository().map(|folder| &folder.git);
        let exclude = repository().map(|folder| &folder.exclude);
        plain
            .chain(git)
            .chain(exclude)
            .map(|patterns| patterns.matched(path, is_folder).map(|_| ()))
            .find(|matched| !matched.is_none())
            .unwrap_or(Match::None)
    }
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// The whole lines of the beginning of a regular file, reached without a link and without waiting.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = open::for_reading(path)?;
    if !file.metadata()?.is_file() {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.unwrap_or(0));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
