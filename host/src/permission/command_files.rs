//! What of the file system a command gets: from the same store that decides about tools.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::key::{Decided, Key};
use super::{PermissionError, Permissions};
use crate::process::{Access, CommandOptions, Held, LinkedWorktree};
use crate::resolve::{self, Mounts};
use crate::secrets::Surroundings;
use crate::target::Operation;

/// What was decided about a key: for which operation, and whether it is allowed.
type Decision = (Key, Operation, bool);

impl Permissions {
    /// Works out what commands may see and change at this moment.
    ///
    /// Besides the project they may write what the configuration names, and what the user granted to be written for
    /// every tool, by hand or for this session: a grant to one plugin is none to whatever it starts.
    pub(crate) fn access_of_commands(
        &self,
        options: &CommandOptions,
        worktree: Option<&LinkedWorktree>,
    ) -> Result<Access, PermissionError> {
        let mut access = Access {
            project: self.project().to_owned(),
            ..Access::default()
        };
        for path in self.configured_to_write(options)? {
            access.writable.push(path);
        }
        let decided = self.for_every_tool()?;
        let programs = programs(&decided);
        for (key, operation, allowed) in &decided {
            let (Key::Exact(path) | Key::Below(path)) = key else {
                continue;
            };
            let (operation, allowed) = (*operation, *allowed);
            // The notation for a program that commands may run is `--x`, and a program must be readable to run.
            if operation == Operation::Read && !allowed && programs.contains(key) {
                continue;
            }
            let (path, is_folder) = (path.clone(), matches!(key, Key::Below(_)));
            if !allowed && operation != Operation::Execute {
                access.held.push(Held::new(path.clone(), is_folder));
            }
            match (operation, allowed) {
                // Without a slash at its end the key is for the folder itself. A folder that is mounted to be written is
                // open as a whole.
                (Operation::Write, true) if !is_folder && path.is_dir() => {}
                (Operation::Write, true) => access.writable.push(path),
                (Operation::Write, false) => access.read_only.push(path),
                (Operation::Read, false) => access.hidden.push(path),
                _ => {}
            }
        }
        let secrets = options.secrets.iter().flat_map(Surroundings::locations);
        for secret in secrets {
            let path = resolve::real_path(&secret).unwrap_or(secret);
            if !opens(&decided, &path) {
                access.hidden.push(path);
            }
        }
        let own = self.own.now();
        for path in &own.places {
            // One that is not there yet would be a folder of a project.
            access.held.push(Held::new(path.clone(), true));
            access.hidden.push(path.clone());
        }
        let mounts = Mounts::now();
        let hidden = access.hidden.iter();
        let names: Vec<PathBuf> = hidden.flat_map(|it| mounts.other_names(it)).collect();
        access.hidden.extend(names);
        access
            .hidden
            .extend(mounts.of_the_machine().map(PathBuf::from));
        access.hidden.sort();
        access.hidden.dedup();
        // Who replaces a link to a file replaces the file, and a link is kept by its folder alone.
        let folders = own.links.iter().filter_map(|link| link.parent());
        access.read_only.extend(folders.map(PathBuf::from));
        if !self.is_project {
            access.read_only.push(self.project().to_owned());
        }
        if let Some(worktree) = worktree {
            access.give_repository(worktree);
        }
        // Only what stands in the way of writing has to be kept from it.
        let writable: Vec<PathBuf> = access.written().map(PathBuf::from).collect();
        access.read_only.retain(|path| {
            writable.iter().any(|root| path.starts_with(root)) || *path == access.project
        });
        Ok(access)
    }

    /// What the configuration gives commands to write, apart from what they may write anyway.
    ///
    /// A path through a link counts as what the link leads to, but not a link that a command may have made: what lies in
    /// something that commands may write adds nothing, wherever it leads to.
    fn configured_to_write(
        &self,
        options: &CommandOptions,
    ) -> Result<Vec<PathBuf>, PermissionError> {
        let project = self.project().to_owned();
        let is_in_another = |path: &PathBuf| {
            let mut others = options.write.iter().chain([&project]);
            others.any(|other| path != other && path.starts_with(other))
        };
        let own = options.write.iter().filter(|path| !is_in_another(path));
        own.map(|path| Ok(resolve::real_path(path)?)).collect()
    }

    /// What was decided about paths for every tool: by hand, for this session, or with a "never".
    fn for_every_tool(&self) -> Result<Vec<Decision>, PermissionError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        let mut all = Vec::new();
        for (key, entry) in &state.stored {
            if path_of(key).is_none() {
                continue;
            }
            for operation in Operation::ALL {
                match entry.bits.get(operation) {
                    Decided::Allow if !entry.grants.contains_key(&operation.into()) => {
                        all.push((key.clone(), operation, true));
                    }
                    Decided::Deny => all.push((key.clone(), operation, false)),
                    Decided::Allow | Decided::Open => {}
                }
            }
        }
        for ((key, operation), answers) in &state.session {
            let last = answers.last().filter(|last| last.plugin.is_none());
            if let (Some(_), Some(last)) = (path_of(key), last) {
                all.push((key.clone(), *operation, last.allow));
            }
        }
        Ok(all)
    }
}

/// The keys whose programs every tool may run.
fn programs(decided: &[Decision]) -> HashSet<&Key> {
    let with = |wanted: bool| {
        let decided = decided.iter();
        let chosen = decided.filter(move |(_, operation, allowed)| {
            *operation == Operation::Execute && *allowed == wanted
        });
        chosen.map(|(key, ..)| key)
    };
    let denied: HashSet<&Key> = with(false).collect();
    with(true).filter(|key| !denied.contains(key)).collect()
}

/// Whether reading a path with all that is below it is granted to every tool.
fn opens(decided: &[Decision], path: &Path) -> bool {
    decided.iter().any(|(key, operation, allowed)| {
        let is_grant = *operation == Operation::Read && *allowed;
        is_grant
            && match key {
                Key::Exact(granted) => path == granted && !path.is_dir(),
                Key::Below(folder) => path.starts_with(folder),
                Key::Url(_) | Key::UrlBelow(_) | Key::Command(_) => false,
            }
    })
}

/// The path that a key is about; `None`: it is about addresses.
fn path_of(key: &Key) -> Option<&Path> {
    match key {
        Key::Exact(path) | Key::Below(path) => Some(path),
        Key::Url(_) | Key::UrlBelow(_) | Key::Command(_) => None,
    }
}
