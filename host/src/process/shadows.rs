//! Programs that a command leaves where the user's shell finds them before others of the same name.
//!
//! A folder of the project in `PATH`, such as that of an active Python environment, comes before those of the system. What
//! a command makes there runs outside of the sandbox when the user next types its name.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Access;
use super::git::named;

/// Names in such a folder that are looked at, at most. A project with many packages has some hundreds.
const MAX_NAMES: usize = 10_000;

/// Which programs were there before a command.
#[derive(Debug)]
pub(super) struct Programs {
    /// The folders of `PATH`, in its order.
    folders: Vec<PathBuf>,
    /// The programs in those of them that the command may change.
    before: Vec<(usize, BTreeSet<OsString>)>,
}

impl Programs {
    /// `path`: as the user's shell has it.
    pub(super) fn before(path: &OsStr, access: &Access) -> Programs {
        // The user's shell is in the project: a relative folder, and an empty one, are folders of it.
        let folders = std::env::split_paths(path).map(|folder| access.project.join(folder));
        let folders: Vec<PathBuf> = folders.collect();
        let roots = access.roots();
        let can_change = |folder: &Path| roots.iter().any(|root| folder.starts_with(root));
        let own = folders.iter().enumerate().filter(|(_, folder)| {
            can_change(folder)
                || folder
                    .canonicalize()
                    .is_ok_and(|folder| can_change(&folder))
        });
        let before = own.map(|(place, folder)| (place, programs(folder).collect()));
        let before = before.collect();
        Programs { folders, before }
    }

    /// A sentence about those that are new, and come before others.
    pub(super) fn review(&self, access: &Access, until: Instant) -> Option<String> {
        let mut new = Vec::new();
        for (place, before) in &self.before {
            let folder = &self.folders[*place];
            let later = &self.folders[place + 1..];
            for name in programs(folder) {
                if Instant::now() >= until {
                    break;
                }
                let is_new = !before.contains(&name);
                if is_new && later.iter().any(|folder| is_program(&folder.join(&name))) {
                    new.push(folder.join(name));
                }
            }
        }
        let named = named(&access.project, new.iter().map(PathBuf::as_path), "");
        (!named.is_empty()).then(|| {
            format!(
                "These programs are new, and your shell finds them before others of the same name, as their folder is in your PATH: {named}. Remove those that you do not expect."
            )
        })
    }
}

fn programs(folder: &Path) -> impl Iterator<Item = OsString> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let entries = entries.take(MAX_NAMES);
    let programs = entries.filter(|entry| is_program(&entry.path()));
    programs.map(|entry| entry.file_name())
}

fn is_program(path: &Path) -> bool {
    let meta = path.metadata();
    meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
