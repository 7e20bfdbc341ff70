//! Linked worktrees (`git worktree add`): their repository lies elsewhere.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::read::{MAX_LINK_BYTES, common_of, read_short, real_path, without_line_end};
use super::search::{has_head, target_of};

/// The repository of a linked worktree. `None`: this is none.
///
/// Git notes in the repository where the worktree is. Who can write only in the worktree cannot change that note, so it
/// cannot name the repository of somebody else.
pub(crate) fn repository_of_worktree(worktree: &Path) -> Option<PathBuf> {
    let link = worktree.join(".git");
    let is_file = link.symlink_metadata().ok()?.is_file();
    let noted = target_of(&link).filter(|_| is_file)?;
    let repository = common_of(&noted)?;
    let back = read_short(&noted.join("gitdir"), MAX_LINK_BYTES).ok()?;
    let back = noted.join(OsStr::from_bytes(without_line_end(&back)));
    let is_mutual = real_path(&back).ok()? == real_path(&link).ok()?;
    let is_noted_there = noted.parent() == Some(&repository.join("worktrees"));
    let is_repository = has_head(&repository) && repository.join("objects").is_dir();
    (is_mutual && is_noted_there && is_repository).then_some(repository)
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
        let main = Some(root.join("main/.git"));
        assert_eq!(repository_of_worktree(&root.join("w")), main);
        assert_eq!(repository_of_worktree(&root.join("main")), None);
        // Another folder that says it is the same.
        write("x/.git", &format!("gitdir: {}\n", noted.display()));
        assert_eq!(repository_of_worktree(&root.join("x")), None);
        // One that brings its own note.
        write("x/own/commondir", "../../main/.git\n");
        write("x/own/gitdir", "../.git\n");
        write("x/.git", "gitdir: own\n");
        assert_eq!(repository_of_worktree(&root.join("x")), None);
        // Paths may be relative.
        write("w/.git", "gitdir: ../main/.git/worktrees/w\n");
        write("main/.git/worktrees/w/gitdir", "../../../../w/.git\n");
        assert_eq!(repository_of_worktree(&root.join("w")), main);
    }
}
