//! Git repositories in what a command may change.
//!
//! A repository decides what the *user's* git does next, outside of the sandbox: its settings name programs (hooks,
//! filters, editors) or lead to other settings. So commands may change of a repository only what commits need, which
//! cannot name a program. Everything else in it is read-only while they run, also what future versions of git may add.
//!
//! What does not exist cannot be protected by a mount: a command can make a new repository, or add a setting that
//! was not there. That is looked for afterwards and set aside (`review`).

mod judge;
mod review;
mod search;
mod settings;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::access::Held;
pub(super) use review::review;

/// Repositories below some folders, as they were at one moment.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    /// The folders where git keeps a repository (`.git`, `.git/modules/…`, `.git/worktrees/…`, bare repositories).
    folders: BTreeMap<PathBuf, GitFolder>,
    /// `.git` that is a file or a link.
    links: BTreeMap<PathBuf, GitLink>,
    /// Whether the search ended before everything was seen.
    is_incomplete: bool,
}

/// A folder where git keeps a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GitFolder {
    /// Device and number of the folder.
    id: (u64, u64),
    /// What is in it and can be a setting.
    settings: BTreeMap<OsString, Mark>,
    /// Whether it shares the settings of another one, as that of a worktree does.
    has_common: bool,
}

/// A `.git` that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GitLink {
    mark: Mark,
    /// Where it leads to, if there is a folder.
    target: Option<PathBuf>,
}

/// What tells whether a file or folder was changed: number, time of the last change, and the same of what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Mark(Vec<(OsString, u64, i64, u64)>);

impl Repositories {
    /// The folders of repositories, outer ones before inner ones.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.keys().map(PathBuf::as_path)
    }

    /// The settings in them.
    pub(super) fn settings(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().flat_map(|(path, folder)| {
            let names = folder.settings.keys();
            names.map(move |name| path.join(name))
        })
    }

    /// The `.git` that lead elsewhere, and where to.
    pub(super) fn links(&self) -> impl Iterator<Item = (&Path, Option<&Path>)> {
        let links = self.links.iter();
        links.map(|(path, link)| (path.as_path(), link.target.as_deref()))
    }

    /// Settings that are missing and whose place an empty file or folder can take: git reads it as none.
    ///
    /// `commondir` is not among them, since git cannot read an empty one; a new one is found afterwards.
    pub(super) fn held(&self) -> Vec<Held> {
        let mut held = Vec::new();
        for (path, folder) in &self.folders {
            let missing = |name: &str| !folder.settings.contains_key(OsStr::new(name));
            let mut hold = |name: &str, is_folder| {
                held.push(Held {
                    path: path.join(name),
                    is_folder,
                });
            };
            if !folder.has_common {
                for (name, is_folder) in [("config", false), ("hooks", true), ("info", true)] {
                    if missing(name) {
                        hold(name, is_folder);
                    }
                }
            }
            // It counts only where the settings say so.
            if missing("config.worktree") && settings::uses_worktree_settings(&path.join("config"))
            {
                hold("config.worktree", false);
            }
        }
        held
    }
}
