//! What of a repository can name a program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::search::read_short;
use super::settings;

/// What commits, branches, merges and fetches write into the folder of a repository. None of it can name a program or
/// lead to other settings; `modules` and `worktrees` hold folders of repositories, which are judged by themselves.
const PLAIN: &[&str] = &[
    "description",
    "gc.log",
    "gc.pid",
    "index",
    "logs",
    "modules",
    "objects",
    "packed-refs",
    "refs",
    "reftable",
    "rr-cache",
    "sequencer",
    "shallow",
    "worktrees",
];

/// Commands of an interactive rebase that run no program.
const PLAIN_TODO: &[&str] = &[
    "break",
    "b",
    "drop",
    "d",
    "edit",
    "e",
    "fixup",
    "f",
    "label",
    "l",
    "merge",
    "m",
    "noop",
    "pick",
    "p",
    "reset",
    "t",
    "reword",
    "r",
    "squash",
    "s",
    "update-ref",
    "u",
];

/// Whether what has this name in the folder of a repository is no setting.
pub(super) fn is_plain(name: &OsStr) -> bool {
    let Some(text) = name.to_str() else {
        return false;
    };
    // `index.lock` becomes `index`. A lock of a setting is none: nothing but its holder ever reads it.
    let text = text.strip_suffix(".lock").unwrap_or(text);
    // `HEAD`, `MERGE_MSG`, `COMMIT_EDITMSG`, `BISECT_LOG`, …: references and messages.
    let is_reference = |c: char| c.is_ascii_uppercase() || c == '_';
    PLAIN.contains(&text)
        || text.starts_with("sharedindex.")
        || text.starts_with("next-index-")
        || !text.is_empty() && text.chars().all(is_reference)
}

/// Whether a setting that a command has made can do no harm: it says nothing but what `git init`, `git clone` and the
/// like write.
pub(super) fn is_harmless(folder: &Path, name: &OsStr, project: &Path) -> bool {
    let path = folder.join(name);
    match name.as_bytes() {
        b"config" | b"config.worktree" => settings::are_harmless(&path, folder, project),
        // Templates: git runs none of this name.
        b"hooks" => every_entry(&path, |name| name.as_bytes().ends_with(b".sample")),
        b"info" => every_entry(&path, |name| {
            let known: [&[u8]; 4] = [b"attributes", b"exclude", b"refs", b"sparse-checkout"];
            known.contains(&name.as_bytes())
        }),
        b"branches" => every_entry(&path, |_| false),
        b"commondir" => {
            let is_worktree =
                folder.parent().and_then(Path::file_name) == Some("worktrees".as_ref());
            is_worktree && read_short(&path).is_some_and(|text| text.trim_ascii_end() == b"../..")
        }
        // Where the worktree of this folder lies.
        b"gitdir" => folder.parent().and_then(Path::file_name) == Some("worktrees".as_ref()),
        b"rebase-merge" => is_plain_rebase(&path),
        _ => false,
    }
}

/// Whether a path is a folder, not a link to one, in which every file has a name that is accepted.
fn every_entry(folder: &Path, accepts: impl Fn(&OsStr) -> bool) -> bool {
    let is_folder = folder.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    let Ok(mut entries) = fs::read_dir(folder) else {
        return false;
    };
    is_folder && entries.all(|entry| entry.is_ok_and(|entry| accepts(&entry.file_name())))
}

/// Whether `git rebase --continue` would only do what it does to commits.
fn is_plain_rebase(folder: &Path) -> bool {
    let has = |name: &str| folder.join(name).symlink_metadata().is_ok();
    if has("strategy") || has("strategy_opts") {
        return false;
    }
    let Ok(text) = fs::read_to_string(folder.join("git-rebase-todo")) else {
        return false;
    };
    text.lines()
        .all(|line| match line.split_whitespace().next() {
            None => true,
            Some(first) => first.starts_with('#') || PLAIN_TODO.contains(&first),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_plain_data() {
        for name in [
            "index",
            "index.lock",
            "HEAD",
            "HEAD.lock",
            "ORIG_HEAD",
            "COMMIT_EDITMSG",
            "objects",
            "packed-refs.lock",
            "next-index-123.lock",
        ] {
            assert!(is_plain(OsStr::new(name)), "{name}");
        }
        for name in [
            "config",
            "config.worktree",
            "hooks",
            "commondir",
            "gitdir",
            "info",
            "rebase-merge",
            "rebase-apply",
            "",
            "fsmonitor",
            "branches",
            "remotes",
            "Head",
            "config.set-aside",
        ] {
            assert!(!is_plain(OsStr::new(name)), "{name}");
        }
    }
}
