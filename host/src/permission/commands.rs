//! What of the file system a command gets: from the same store that decides about tools.

use std::path::PathBuf;

use super::key::{Decided, Key};
use super::{PermissionError, Permissions};
use crate::process::{Access, CommandOptions};
use crate::resolve;
use crate::target::{Need, Operation, Target};

/// Files of a repository that decide what git does next, for the user as well: outside of the cage, with all of
/// the user's rights. Below the project.
const GIT_SETTINGS: [&str; 4] = [
    ".git/config",
    ".git/config.worktree",
    ".git/commondir",
    ".git/hooks",
];

impl Permissions {
    /// Works out what commands may see and change at this moment.
    ///
    /// Besides the project they may write what the configuration names, and what the user granted to be written for
    /// every tool, by hand or for this session: a grant to one plugin is none to whatever it starts.
    pub(crate) fn access_of_commands(
        &self,
        options: &CommandOptions,
    ) -> Result<Access, PermissionError> {
        let mut access = Access {
            project: self.project().to_owned(),
            ..Access::default()
        };
        for path in &options.write {
            access.writable.push(resolve::real_path(path)?);
        }
        for (path, operation, allowed) in self.for_every_tool()? {
            match (operation, allowed) {
                (Operation::Write, true) => access.writable.push(path),
                (Operation::Write, false) => access.read_only.push(path),
                (Operation::Read, false) => access.hidden.push(path),
                _ => {}
            }
        }
        // What is granted below something that is not: the stricter holds, as everywhere.
        let is_granted = |access: &Access, path: &PathBuf| access.writable.contains(path);
        for settings in GIT_SETTINGS {
            let path = self.project().join(settings);
            if !is_granted(&access, &path) {
                access.read_only.push(path);
            }
        }
        // In a worktree it is a file that says where the rest lies.
        let git = self.project().join(".git");
        if git.is_file() && !is_granted(&access, &git) {
            access.read_only.push(git);
        }
        for secret in &options.secrets {
            // What cannot be looked at cannot be read by the command either.
            let Ok(path) = resolve::real_path(secret) else {
                continue;
            };
            if !self.opens(&path)? {
                access.hidden.push(path);
            }
        }
        let own = self.own.now();
        access.hidden.extend(own.places.iter().cloned());
        // Who replaces a link to a file replaces the file, and a link is kept by its folder alone.
        let folders = own.links.iter().filter_map(|link| link.parent());
        access.read_only.extend(folders.map(PathBuf::from));
        if !self.is_project {
            access.read_only.push(self.project().to_owned());
        }
        // Only what stands in the way of writing has to be kept from it.
        let writable: Vec<PathBuf> = access.written().map(PathBuf::from).collect();
        access.read_only.retain(|path| {
            writable.iter().any(|root| path.starts_with(root)) || *path == access.project
        });
        Ok(access)
    }

    /// Whether reading a path is granted to every tool.
    fn opens(&self, path: &std::path::Path) -> Result<bool, PermissionError> {
        let need = Need {
            target: Target::Path(path.to_owned()),
            operation: Operation::Read,
        };
        let keys = Key::candidates(&need.target);
        let all = self.for_every_tool()?;
        Ok(all.iter().any(|(granted, operation, allowed)| {
            let key = |key: &Key| match key {
                Key::Exact(path) | Key::Below(path) => path == granted,
                Key::Url(_) | Key::UrlBelow(_) => false,
            };
            *operation == Operation::Read && *allowed && keys.iter().any(key)
        }))
    }

    /// What was decided about paths for every tool: by hand, for this session, or with a "never".
    fn for_every_tool(&self) -> Result<Vec<(PathBuf, Operation, bool)>, PermissionError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        let mut all = Vec::new();
        for (key, entry) in &state.stored {
            let (Key::Exact(path) | Key::Below(path)) = key else {
                continue;
            };
            for operation in Operation::ALL {
                match entry.bits.get(operation) {
                    Decided::Allow if !entry.grants.contains_key(&operation.into()) => {
                        all.push((path.clone(), operation, true));
                    }
                    Decided::Deny => all.push((path.clone(), operation, false)),
                    Decided::Allow | Decided::Open => {}
                }
            }
        }
        for ((key, operation), answers) in &state.session {
            let (Key::Exact(path) | Key::Below(path)) = key else {
                continue;
            };
            if let Some(last) = answers.last().filter(|last| last.plugin.is_none()) {
                all.push((path.clone(), *operation, last.allow));
            }
        }
        Ok(all)
    }
}
