//! Linked worktrees (`git worktree add`): their repository lies elsewhere.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::read::{
    MAX_LINK_BYTES, common_of, has_head, read_short, real_path, target_of, without_line_end,
};

/// What of a repository a line that runs git may change in one of its linked worktrees, apart from what git keeps of the
/// worktree itself: what commits, branches and fetches write. `HEAD`, the index and the states of merges and rebases in the
/// folder itself belong to the main worktree.
const SHARED: [&str; 4] = ["objects", "refs", "reftable", "logs"];

/// Where git keeps a linked worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkedWorktree {
    /// The repository that it shares with others.
    pub(crate) repository: PathBuf,
    /// What the repository keeps of this worktree alone.
    own: PathBuf,
}

impl LinkedWorktree {
    /// What of the repository a line that runs git may change.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        let shared = SHARED.map(|name| self.repository.join(name));
        shared.into_iter().chain([self.own.clone()]).collect()
    }
}

/// Where git keeps this worktree. `None`: it is not a linked one.
///
/// Git notes in the repository where the worktree is. Who can write only in the worktree cannot change that note, so it
/// cannot name the repository of somebody else.
pub(crate) fn linked_worktree(worktree: &Path) -> Option<LinkedWorktree> {
    let link = worktree.join(".git");
    let is_file = link.symlink_metadata().ok()?.is_file();
    let noted = target_of(&link).filter(|_| is_file)?;
    let repository = common_of(&noted)?;
    let back = read_short(&noted.join("gitdir"), MAX_LINK_BYTES).ok()?;
    let back = noted.join(OsStr::from_bytes(without_line_end(&back)));
    let is_mutual = real_path(&back).ok()? == real_path(&link).ok()?;
    let is_noted_there = noted.parent() == Some(&repository.join("worktrees"));
    let is_repository = has_head(&repository) && repository.join("objects").is_dir();
    (is_mutual && is_noted_there && is_repository).then_some(LinkedWorktree {
        repository,
        own: noted,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_what_a_repository_notes_is_its_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let noted = root.join("main/.git/worktrees/w");
        write("main/.git/HEAD", "ref: refs/heads/main\n");
        fs::create_dir(root.join("main/.git/objects")).unwrap();
        write("main/.git/worktrees/w/commondir", "../..\n");
        write("w/.git", &format!("gitdir: {}\n", noted.display()));
        write(
            "main/.git/worktrees/w/gitdir",
            &format!("{}/w/.git\n", root.display()),
        );
        let main = Some(LinkedWorktree {
            repository: root.join("main/.git"),
            own: noted.clone(),
        });
        assert_eq!(linked_worktree(&root.join("w")), main);
        assert_eq!(linked_worktree(&root.join("main")), None);
        // Another folder that says it is the same.
        write("x/.git", &format!("gitdir: {}\n", noted.display()));
        assert_eq!(linked_worktree(&root.join("x")), None);
        // One that brings its own note.
        write("x/own/commondir", "../../main/.git\n");
        write("x/own/gitdir", "../.git\n");
        write("x/.git", "gitdir: own\n");
        assert_eq!(linked_worktree(&root.join("x")), None);
        // Paths may be relative.
        write("w/.git", "gitdir: ../main/.git/worktrees/w\n");
        write("main/.git/worktrees/w/gitdir", "../../../../w/.git\n");
        assert_eq!(linked_worktree(&root.join("w")), main);
    }
}
