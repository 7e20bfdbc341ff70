//! What of a repository can name a program.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::FileType;

use super::mark::MAX_ENTRIES;
use super::read::{MAX_LINK_BYTES, common_of, list, read_short, read_start, without_line_end};
use super::{SUFFIX, index, settings};

/// What commits, branches, merges and fetches write into the folder of a repository. None of it can name a program or
/// lead to other settings; `modules` and `worktrees` hold folders of repositories, which are judged by themselves, and
/// so is what [`is_verified`] names. As they are spelled: some file systems take `COMMONDIR` for `commondir`.
const PLAIN: &[&str] = &[
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "BISECT_HEAD",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "EDIT_DESCRIPTION",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "NOTES_EDITMSG",
    "NOTES_MERGE_PARTIAL",
    "NOTES_MERGE_REF",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "TAG_EDITMSG",
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
    "shallow",
    "worktrees",
];

/// The file that names the tables of references, which git removes when it merges them.
pub(super) const TABLES: &str = "reftable/tables.list";

/// The files that name several packs, of which git removes those that it does not need any more.
pub(super) const PACKS: &str = "objects/pack/multi-pack-index";

/// The folder of a chain of such files, which few people use.
pub(super) const PACK_CHAIN: &str = "objects/pack/multi-pack-index.d";

/// The file that names the files in which `git rerere` has found conflicts.
const CONFLICTS: &[u8] = b"MERGE_RR";

/// Bytes of a `commondir` as git writes it.
const MAX_COMMON_BYTES: usize = 16;

/// Bytes of the list of what a rebase or cherry-pick has still to do.
const MAX_TODO_BYTES: usize = 1024 * 1024;

/// What `git am` writes (git's builtin/am.c), beside a file for each patch.
const PLAIN_APPLY: &[&str] = &[
    "abort-safety",
    "allow_rerere_autoupdate",
    "apply-opt",
    "applying",
    "author-script",
    "autostash",
    "dirtyindex",
    "final-commit",
    "head-name",
    "info",
    "keep",
    "last",
    "messageid",
    "msg",
    "msg-clean",
    "next",
    "no_inbody_headers",
    "onto",
    "orig-head",
    "original-commit",
    "patch",
    "patch-merge-index",
    "quiet",
    "quoted-cr",
    "rebasing",
    "rewritten",
    "scissors",
    "sign",
    "threeway",
    "utf8",
];

/// What an interactive rebase writes (git's sequencer.c).
const PLAIN_REBASE: &[&str] = &[
    "allow_rerere_autoupdate",
    "amend",
    "author-script",
    "autostash",
    "cdate_is_adate",
    "current-fixups",
    "done",
    "drop_redundant_commits",
    "dropped",
    "end",
    "gpg_sign_opt",
    "git-rebase-todo",
    "git-rebase-todo.backup",
    "head-name",
    "ignore_date",
    "interactive",
    "keep_redundant_commits",
    "message",
    "message-fixup",
    "message-squash",
    "msgnum",
    "no-reschedule-failed-exec",
    "onto",
    "orig-head",
    "patch",
    "quiet",
    "refs-to-delete",
    "reschedule-failed-exec",
    "rewritten-list",
    "rewritten-pending",
    "signoff",
    "squash-onto",
    "stopped-sha",
    "strategy",
    "strategy_opts",
    "update-refs",
    "verbose",
];

/// Files of a rebase that hold a number. The prompt of a shell shows them as they are (git-sh-prompt), and runs what is
/// in them.
const NUMBERS: [[&str; 2]; 2] = [["end", "msgnum"], ["last", "next"]];

/// Digits of such a number.
const MAX_DIGITS: usize = 16;

/// The file with the paths that `git bisect` is restricted to, which earlier versions of git have a shell read.
const BISECTED: &[u8] = b"BISECT_NAMES";

/// Commands of a rebase or cherry-pick that run no program.
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
    "revert",
    "reword",
    "r",
    "squash",
    "s",
    "update-ref",
    "u",
];

/// Whether what has this name in the folder of a repository is not a setting.
pub(super) fn is_plain(name: &OsStr, kind: FileType) -> bool {
    let Some(text) = name.to_str() else {
        return false;
    };
    // Writing through a link would reach whatever it leads to.
    if kind == FileType::Symlink {
        return false;
    }
    // What was set aside must be found as it was: it is kept like a setting.
    if text.contains(SUFFIX) {
        return false;
    }
    // `index.lock` becomes `index`. A lock of a setting is none: nothing but its holder ever reads it.
    let text = text.strip_suffix(".lock").unwrap_or(text);
    if text == "modules" || text == "worktrees" {
        // What a link leads to would not be looked at.
        return kind == FileType::Directory;
    }
    // References and messages are files; a folder of such a name could be anything.
    let is_file = kind == FileType::RegularFile;
    PLAIN.contains(&text) && (is_file || !text.starts_with(|c: char| c.is_ascii_uppercase()))
        || text.starts_with("sharedindex.")
        || text.starts_with("next-index-")
}

/// Whether what has this name in the folder of a repository names files, and git does not look at their paths.
pub(super) fn is_verified(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let names = [b"index", CONFLICTS, BISECTED];
    names.contains(&name) || name.starts_with(b"sharedindex.")
}

/// Whether this is the file in which `git rerere` finds conflicts.
pub(super) fn is_conflicts(name: &OsStr) -> bool {
    name.as_bytes() == CONFLICTS
}

/// Whether git may read a reference from a file of this name in the folder of a repository. A message may begin with `ref:`.
pub(super) fn may_be_reference(name: &OsStr) -> bool {
    let name = name.as_bytes();
    !name.ends_with(b"MSG") && name.first().is_some_and(u8::is_ascii_uppercase)
}

/// Whether a file is a reference to another one that is not below `refs`. Git writes a commit to wherever it leads in the
/// folder of the repository, also to `commondir`. It makes no such reference itself.
///
/// # Errors
/// It cannot be read.
pub(super) fn leads_out_of_refs(path: &Path) -> io::Result<bool> {
    let text = read_start(path, MAX_LINK_BYTES)?;
    let Some(target) = text.strip_prefix(b"ref:") else {
        return Ok(false);
    };
    Ok(!is_below_refs(target.trim_ascii()) || text.len() == MAX_LINK_BYTES)
}

/// Whether a name is that of a reference below `refs`.
fn is_below_refs(name: &[u8]) -> bool {
    let mut parts = name.split(|byte| *byte == b'/');
    name.starts_with(b"refs/") && !parts.any(|part| part == b"..")
}

/// Whether what [`is_verified`] names, as a command has written it, leads to nothing but files of the worktree.
pub(super) fn is_trustworthy(folder: &Path, name: &OsStr) -> bool {
    let path = folder.join(name);
    if name == TABLES {
        return index::tables_are_trustworthy(&path);
    }
    if name == PACKS {
        return index::packs_are_trustworthy(&path);
    }
    if name == PACK_CHAIN {
        // Git does without it.
        return false;
    }
    match name.as_bytes() {
        // `git rerere` reads and writes the files that are named in it, also through links. Git does without it.
        CONFLICTS => path.symlink_metadata().is_ok_and(|meta| meta.len() == 0),
        BISECTED => read_short(&path, MAX_TODO_BYTES).is_ok_and(|text| are_quoted(&text)),
        _ => index::is_trustworthy(&path, &common_of(folder).unwrap_or_else(|| folder.into())),
    }
}

/// Whether a text is words in single quotation marks, as git writes them for a shell.
fn are_quoted(text: &[u8]) -> bool {
    let mut rest = without_line_end(text);
    while let Some(quoted) = rest.strip_prefix(b" '") {
        let end = quoted.iter().position(|byte| *byte == b'\'');
        let Some(after) = end.and_then(|end| quoted.get(end + 1..)) else {
            return false;
        };
        rest = after;
    }
    rest.is_empty()
}

/// Whether a setting that a command has made can do no harm: it says nothing but what `git init`, `git clone` and the
/// like write. Where a `commondir` leads is judged by whoever calls.
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
            let text = read_short(&path, MAX_COMMON_BYTES);
            is_of_worktree(folder) && text.is_ok_and(|text| without_line_end(&text) == b"../..")
        }
        // Why a worktree is not to be removed.
        b"locked" => is_of_worktree(folder),
        // Where its `.git` lies.
        b"gitdir" => {
            let text = read_short(&path, MAX_LINK_BYTES).unwrap_or_default();
            let named = folder.join(OsStr::from_bytes(without_line_end(&text)));
            let is_inside = |tree: &Path| settings::is_inside(tree, project);
            is_of_worktree(folder) && named.parent().is_some_and(is_inside)
        }
        b"rebase-apply" => is_plain_apply(&path),
        b"rebase-merge" => is_plain_rebase(&path),
        b"sequencer" => {
            let known: [&[u8]; 5] = [b"abort-safety", b"done", b"head", b"opts", b"todo"];
            let is_there = |name: &str| path.join(name).symlink_metadata().is_ok();
            let options = path.join("opts");
            every_entry(&path, |name| known.contains(&name.as_bytes()))
                && (!is_there("todo") || is_plain_todo(&path.join("todo")))
                && (!is_there("opts") || settings::are_harmless(&options, folder, project))
        }
        _ => false,
    }
}

/// Whether a folder is what a repository keeps of a worktree.
pub(super) fn is_of_worktree(folder: &Path) -> bool {
    folder.parent().and_then(Path::file_name) == Some("worktrees".as_ref())
}

/// Whether a path is a folder, not a link to one, in which every file has a name that is accepted. In one with too many
/// nobody would notice a file that can be changed through another name.
fn every_entry(folder: &Path, accepts: impl Fn(&OsStr) -> bool) -> bool {
    list(folder).is_ok_and(|entries| {
        entries.len() <= MAX_ENTRIES && entries.iter().all(|(name, _)| accepts(name))
    })
}

/// Whether `git rebase --continue` would only do what it does to commits.
fn is_plain_rebase(folder: &Path) -> bool {
    let is_known = |name: &OsStr| {
        let name = name.to_str();
        name.is_some_and(|name| PLAIN_REBASE.contains(&name))
    };
    // A link to a folder would lead to another list later.
    every_entry(folder, is_known)
        && has_numbers(folder)
        && has_built_in_strategy(folder)
        && is_plain_todo(&folder.join("git-rebase-todo"))
        && has_plain_updates(&folder.join("update-refs"))
}

/// Whether `git am --continue` would only apply patches to the worktree: an option can let them reach out of it.
fn is_plain_apply(folder: &Path) -> bool {
    let is_known = |name: &OsStr| {
        let name = name.to_str().unwrap_or_default();
        // The patches have four digits.
        let is_patch = name.len() == 4 && name.bytes().all(|byte| byte.is_ascii_digit());
        is_patch || PLAIN_APPLY.contains(&name)
    };
    let options = folder.join("apply-opt");
    every_entry(folder, is_known)
        && has_numbers(folder)
        && (options.symlink_metadata().is_err() || are_plain_options(&options))
}

/// Whether options of `git apply`, each in quotation marks, only say how lines are compared.
fn are_plain_options(path: &Path) -> bool {
    let text = read_short(path, MAX_LINK_BYTES).unwrap_or_else(|_| b"?".to_vec());
    let text = String::from_utf8_lossy(&text).into_owned();
    let is_plain = |word: &str| {
        let option = word.strip_prefix('\'').and_then(|it| it.strip_suffix('\''));
        option.is_some_and(|option| {
            let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
            let is_word = |text: &str| {
                text.bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
            };
            let known = ["--ignore-whitespace", "--ignore-space-change", "--reject"];
            known.contains(&option)
                || option.strip_prefix("--whitespace=").is_some_and(is_word)
                || option.strip_prefix("-C").is_some_and(is_number)
                || option.strip_prefix("-p").is_some_and(is_number)
        })
    };
    text.split_whitespace().all(is_plain)
}

/// Whether the [`NUMBERS`] of a rebase are none but digits.
fn has_numbers(folder: &Path) -> bool {
    let mut names = NUMBERS.iter().flatten();
    names.all(|name| {
        is_text(&folder.join(name), MAX_DIGITS, |text| {
            text.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

/// Whether no strategy is named, or one that runs no program, with options that are words.
fn has_built_in_strategy(folder: &Path) -> bool {
    let is_option = |word: &str| {
        // Git has written them as words of a shell, as options, and in quotation marks.
        let marks = ['"', '\''].into_iter();
        let mut quoted = marks.filter_map(|mark| word.strip_prefix(mark)?.strip_suffix(mark));
        let option = quoted.next().unwrap_or(word);
        settings::is_strategy_option(option.strip_prefix("--").unwrap_or(option))
    };
    is_text(&folder.join("strategy"), MAX_COMMON_BYTES, |name| {
        settings::BUILT_IN_STRATEGIES.contains(&name)
    }) && is_text(&folder.join("strategy_opts"), MAX_LINK_BYTES, |text| {
        text.split_whitespace().all(is_option)
    })
}

/// Whether there is no file here, or one whose text is accepted. Without the line end.
fn is_text(path: &Path, most: usize, accepts: impl Fn(&str) -> bool) -> bool {
    path.symlink_metadata().is_err()
        || read_short(path, most).is_ok_and(|text| {
            let text = std::str::from_utf8(without_line_end(&text));
            text.is_ok_and(&accepts)
        })
}

/// Whether a rebase updates nothing but references when it ends: of three lines each the first names one.
fn has_plain_updates(path: &Path) -> bool {
    if path.symlink_metadata().is_err() {
        return true;
    }
    let text = read_short(path, MAX_TODO_BYTES);
    text.is_ok_and(|text| {
        let mut names = text.split(|byte| *byte == b'\n').step_by(3);
        names.all(|name| name.is_empty() || is_below_refs(name))
    })
}

/// Whether a list of what is still to do runs no program.
fn is_plain_todo(path: &Path) -> bool {
    let text = read_short(path, MAX_TODO_BYTES).ok();
    let Some(text) = text.and_then(|text| String::from_utf8(text).ok()) else {
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
            assert!(is_plain(OsStr::new(name), FileType::RegularFile), "{name}");
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
            "sequencer",
            "branches",
            "remotes",
            "Head",
            "COMMONDIR",
            "CONFIG",
            "BISECT_RUN",
        ] {
            assert!(!is_plain(OsStr::new(name), FileType::RegularFile), "{name}");
        }
        for name in ["SUB", "HEAD"] {
            assert!(!is_plain(OsStr::new(name), FileType::Directory), "{name}");
        }
        assert!(is_plain(OsStr::new("modules"), FileType::Directory));
        assert!(!is_plain(OsStr::new("modules"), FileType::Symlink));
    }

    #[test]
    fn the_state_of_a_rebase_is_what_git_writes() {
        let folder = tempfile::tempdir().unwrap();
        let rebase = folder.path().join("rebase-merge");
        std::fs::create_dir(&rebase).unwrap();
        std::fs::write(rebase.join("git-rebase-todo"), "pick e83c516\n").unwrap();
        let is_plain = |name: &str, text: &str| {
            std::fs::write(rebase.join(name), text).unwrap();
            let is_plain = is_plain_rebase(&rebase);
            std::fs::remove_file(rebase.join(name)).unwrap();
            is_plain
        };
        for (name, text) in [
            ("msgnum", "12\n"),
            ("strategy", "ort\n"),
            ("strategy_opts", "\"patience\" \"subtree=a/b\"\n"),
            ("strategy_opts", " --ours --diff-algorithm=histogram\n"),
            ("strategy_opts", "\n"),
        ] {
            assert!(is_plain(name, text), "{name} {text}");
        }
        for (name, text) in [
            ("msgnum", "$(touch x)\n"),
            ("end", "1\n2\n"),
            ("end", "12345678901234567\n"),
            // Shell scripts of git, which do not expect their options from others.
            ("strategy", "octopus\n"),
            ("strategy", "resolve\n"),
            ("strategy_opts", "-- --a \"--$(touch${IFS}x)\" --b\n"),
            ("strategy_opts", "\"\"\n"),
            ("strategy_opts", "\"-a\"\n"),
            ("strategy_opts", "\"a'\n"),
            ("strategy_opts", "--index-output=~/.profile\n"),
        ] {
            assert!(!is_plain(name, text), "{name} {text}");
        }
        let apply = folder.path().join("rebase-apply");
        std::fs::create_dir(&apply).unwrap();
        std::fs::write(apply.join("next"), "1\n").unwrap();
        assert!(is_plain_apply(&apply));
        std::fs::write(apply.join("last"), "$(touch x)\n").unwrap();
        assert!(!is_plain_apply(&apply));
        for (text, expected) in [
            ("\n", true),
            (" 'f' 'a b $x'\n", true),
            (" 'it'\\''s'\n", false),
            (" $(touch x)\n", false),
            (" 'f' $(touch x)\n", false),
            (" 'f\n", false),
        ] {
            assert_eq!(are_quoted(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn references_lead_to_references() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("main");
        let leads_out = |text: &str| {
            std::fs::write(&path, text).unwrap();
            leads_out_of_refs(&path).unwrap()
        };
        let hash = "e83c5163316f89bfbde7d9ab23ca2e25604af290\n";
        for text in [
            "",
            hash,
            "ref: refs/heads/main\n",
            "ref:\trefs/heads/.invalid",
        ] {
            assert!(!leads_out(text), "{text}");
        }
        let padded = format!("ref: refs/{}", " ".repeat(MAX_LINK_BYTES));
        for text in [
            "ref: commondir\n",
            "ref:logs/x/commondir",
            "ref: \n\r refs/../commondir",
            "ref: refs",
            "ref: worktrees/x/commondir",
            "ref:",
            padded.as_str(),
        ] {
            assert!(leads_out(text), "{text}");
        }
        assert!(leads_out_of_refs(folder.path()).is_err());
        for name in ["HEAD", "ORIG_HEAD", "AUTO_MERGE", "BISECT_EXPECTED_REV"] {
            assert!(may_be_reference(OsStr::new(name)), "{name}");
        }
        for name in ["COMMIT_EDITMSG", "MERGE_MSG", "description", "index", ""] {
            assert!(!may_be_reference(OsStr::new(name)), "{name}");
        }
    }
}
