//! Looks where indexes name submodules, after a search that has not come everywhere: git looks into each of them by itself
//! when it is run in the repository, so that one cannot be used unless they were seen.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use super::super::index::submodules;
use super::super::listing::is_git_name;
use super::super::read::{common_of, is_no_folder};
use super::{Budget, Limit, Search};

impl Search<'_> {
    pub(super) fn look_at_submodules(&mut self) {
        self.budget = Budget::new(self.limits.submodules);
        let mut done = HashSet::new();
        // Those of a repository that encloses the project are checked out in it. No command can change its index.
        for root in self.roots {
            let mut around = root.ancestors().skip(1);
            let git = around.find_map(|folder| {
                let git = folder.join(".git");
                git.is_dir().then_some((git, folder))
            });
            if let Some((git, worktree)) = git
                && !self.note_submodules(&git, worktree)
            {
                self.is_incomplete(Limit::Time);
            }
        }
        loop {
            self.look_into_all();
            let mut all = self.worktrees();
            all.retain(|it| done.insert(it.clone()));
            if all.is_empty() {
                return;
            }
            for (folder, worktree) in all {
                if !self.note_submodules(&folder, &worktree) {
                    let error = io::Error::other("its submodules cannot be looked at");
                    self.cannot_look(&folder, &error);
                    if let Some(unread) = self.found.unread.get_mut(&folder) {
                        unread.is_git = true;
                        unread.names_unseen = true;
                    }
                }
            }
        }
    }

    /// The folders of repositories that were found, and where their worktrees are. First those that were known.
    fn worktrees(&self) -> Vec<(PathBuf, PathBuf)> {
        let own = self.found.folders.keys().chain(self.found.unread.keys());
        let own = own.filter(|path| is_git_name(path));
        let own = own.filter_map(|path| Some((path.clone(), path.parent()?.to_owned())));
        let links = self.found.links.iter();
        let linked = links.filter_map(|(path, link)| {
            Some((link.target()?.to_owned(), path.parent()?.to_owned()))
        });
        let mut all: Vec<_> = own.chain(linked).collect();
        all.sort_by_key(|(folder, _)| !self.is_known(folder, None));
        all
    }

    /// Notes what is at the places of the submodules that an index names. `false`: not all of them are known.
    fn note_submodules(&mut self, folder: &Path, worktree: &Path) -> bool {
        let index = folder.join("index");
        let status = index.symlink_metadata();
        if status.is_err_and(|error| is_no_folder(&error)) {
            return true;
        }
        // One may have a hundred megabytes.
        if self.budget.is_late() {
            return false;
        }
        let settings = common_of(folder).unwrap_or_else(|| folder.to_owned());
        let Some(named) = submodules(&index, &settings) else {
            return false;
        };
        for path in named.submodules {
            if self.budget.is_late() || !self.note_at(&worktree.join(path).join(".git")) {
                return false;
            }
        }
        // Any may be in a folder whose files the index does not name. Usually it is not there.
        let mut folders = named.folders.iter();
        folders.all(|path| worktree.join(path).symlink_metadata().is_err())
    }
}
