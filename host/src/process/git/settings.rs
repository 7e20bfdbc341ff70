//! Reads the settings of a repository, to tell those that can do no harm.
//!
//! This is not a reader of git's format: whatever is not written in the plainest way is not harmless.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::read::{read_short, real_path, target_of};

/// Bytes of a file of settings that is read.
const MAX_SETTINGS_BYTES: usize = 64 * 1024;

/// What stands for a place that is none of the project's.
const NOWHERE: &str = "/";

/// How many folders of the way to a worktree may be missing.
const MAX_MISSING: usize = 64;

/// Sections and keys that name no program and lead nowhere, whatever their value is.
const HARMLESS: &[(&str, &[&str])] = &[
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "longpaths",
            "precomposeunicode",
            "quotepath",
            "repositoryformatversion",
            "sparsecheckout",
            "sparsecheckoutcone",
            "symlinks",
        ],
    ),
    (
        "extensions",
        &[
            "objectformat",
            "partialclone",
            "refstorage",
            "worktreeconfig",
        ],
    ),
    ("user", &["name", "email"]),
    ("commit", &["gpgsign"]),
    ("gc", &["auto"]),
    ("tag", &["gpgsign"]),
    ("init", &["defaultbranch"]),
    ("branch", &["description", "merge", "rebase"]),
    ("color", &["ui"]),
    ("merge", &["conflictstyle"]),
    // Of a cherry-pick.
    (
        "options",
        &[
            "allow-empty",
            "allow-ff",
            "allow-rerere-auto",
            "default-msg-cleanup",
            "edit",
            "keep-redundant-commits",
            "mainline",
            "no-commit",
            "record-origin",
            "signoff",
        ],
    ),
    (
        "remote",
        &[
            "fetch",
            "mirror",
            "partialclonefilter",
            "promisor",
            "tagopt",
        ],
    ),
    ("submodule", &["active"]),
    ("fetch", &["prune"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default"]),
    ("rerere", &["enabled"]),
];

/// Schemes of addresses that git knows by itself (gitremote-helpers(7), connect.c). Those of HTTP and FTP have helpers that are
/// part of git.
const SCHEMES: &[&str] = &[
    "file", "ftp", "ftps", "git", "git+ssh", "http", "https", "ssh", "ssh+git",
];

/// Strategies of merges that git has in itself (merge-strategies in git-merge(1)). `octopus` and `resolve` are shell scripts,
/// which have the shell or `git read-tree` read their options; any other one is a program.
pub(super) const BUILT_IN_STRATEGIES: [&str; 4] = ["ort", "ours", "recursive", "subtree"];

/// Whether the settings in a file are harmless, for a repository kept in `folder`, in this project.
pub(super) fn are_harmless(file: &Path, folder: &Path, project: &Path) -> bool {
    let text = read_short(file, MAX_SETTINGS_BYTES).ok();
    let text = text.and_then(|text| String::from_utf8(text).ok());
    text.is_some_and(|text| text_is_harmless(&text, folder, project))
}

/// Whether the settings in a file say that names of objects are SHA-256.
pub(super) fn uses_sha256(file: &Path) -> bool {
    values(file, "objectformat").any(|value| value.eq_ignore_ascii_case("sha256"))
}

/// Where the settings in a folder say that the worktree is, wherever that leads. Nobody says it more than once in a file:
/// that leads to [`NOWHERE`], as does what cannot be resolved.
pub(super) fn worktrees(folder: &Path) -> Vec<PathBuf> {
    let files = ["config.worktree", "config"].map(|name| folder.join(name));
    let named = files.iter().filter_map(|file| {
        let mut values = values(file, "worktree");
        let first = values.next()?;
        Some(match values.next() {
            None => real_place(&folder.join(first)),
            Some(_) => NOWHERE.into(),
        })
    });
    named.collect()
}

/// Where a path leads that need not exist: its links are followed by the kernel, which bounds them.
fn real_place(path: &Path) -> PathBuf {
    let mut existing = path;
    let mut missing = Vec::new();
    loop {
        match real_path(existing) {
            Ok(real) => {
                return missing
                    .iter()
                    .rev()
                    .fold(real, |path, name| path.join(name));
            }
            // A link that leads to nothing yet will lead somewhere one day.
            Err(_) if existing.is_symlink() || missing.len() == MAX_MISSING => {
                return NOWHERE.into();
            }
            Err(_) => {}
        }
        match (existing.parent(), existing.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                existing = parent;
            }
            // It ends with `..`.
            _ => return NOWHERE.into(),
        }
    }
}

/// The values that a file gives to a key, in whatever section, where each stands on a line of its own.
fn values(file: &Path, key: &str) -> impl Iterator<Item = String> {
    let bytes = read_short(file, MAX_SETTINGS_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let values = lines.into_iter().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        let is_it = name.trim().eq_ignore_ascii_case(key);
        is_it.then(|| value.trim().trim_matches('"').to_owned())
    });
    values.collect::<Vec<_>>().into_iter()
}

fn text_is_harmless(text: &str, folder: &Path, project: &Path) -> bool {
    let mut section = String::new();
    for line in text.split('\n') {
        let line = line.trim_matches([' ', '\t']);
        if line.is_empty() || line.starts_with(['#', ';']) && !line.contains('\r') {
            continue;
        }
        // A backslash may continue a line, or hide a quotation mark, and git takes other marks out of a value.
        if line.contains(|c: char| c.is_control() || "\\;#".contains(c)) {
            return false;
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some(name) = section_name(header) else {
                return false;
            };
            section = name;
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim_end(), value.trim_start()),
            None => (line, ""),
        };
        if !is_harmless(&section, &key.to_ascii_lowercase(), value, folder, project) {
            return false;
        }
    }
    true
}

/// The name of `name]` or `name "which"]`.
fn section_name(header: &str) -> Option<String> {
    let inner = header.strip_suffix(']')?;
    let name = match inner.split_once(' ') {
        None => inner,
        Some((name, which)) => {
            let which = which.strip_prefix('"')?.strip_suffix('"')?;
            if which.contains(['"', ']']) {
                return None;
            }
            name
        }
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
    is_name.then(|| name.to_ascii_lowercase())
}

fn is_harmless(section: &str, key: &str, value: &str, folder: &Path, project: &Path) -> bool {
    match (section, key) {
        // What `git submodule add` writes. Elsewhere git needs none.
        ("core", "worktree") => {
            !value.contains('"') && is_own_worktree(&folder.join(value), folder, project)
        }
        ("options", "strategy") => BUILT_IN_STRATEGIES.contains(&value),
        ("options", "strategy-option") => is_strategy_option(value),
        // Each is a hint that git shows or not.
        ("advice", _) => true,
        ("remote", "pushurl") | ("remote" | "submodule", "url") | ("branch", "remote") => {
            is_plain_address(value)
        }
        _ => HARMLESS
            .iter()
            .any(|(name, keys)| *name == section && keys.contains(&key)),
    }
}

/// Whether this is an option of a strategy as git documents them: a word, and what it is set to.
pub(super) fn is_strategy_option(option: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-=%./_".contains(c);
    !option.is_empty() && !option.starts_with('-') && option.chars().all(is_plain)
}

/// Whether git speaks to a remote itself, or it is a path or `host:path`. For any other scheme, and for `helper::address`, it
/// runs a helper program of that name.
fn is_plain_address(value: &str) -> bool {
    let is_known = value
        .split_once("://")
        .is_none_or(|(scheme, _)| SCHEMES.contains(&scheme));
    is_known && !value.contains("::") && !value.starts_with('-') && !value.contains('"')
}

/// Whether a path leads to a folder in the project that is a worktree of this repository: its `.git` leads back. In any other
/// one, git could write over what is not the command's.
pub(super) fn is_own_worktree(path: &Path, repository: &Path, project: &Path) -> bool {
    let Ok(tree) = real_path(path) else {
        return false;
    };
    let back = target_of(&tree.join(".git"));
    is_inside(path, project) && back.is_some() && back == real_path(repository).ok()
}

/// Whether a path leads to a folder in the project, through whatever links, and to none in which git keeps something.
pub(super) fn is_inside(path: &Path, project: &Path) -> bool {
    real_path(path).is_ok_and(|real| {
        let Ok(below) = real.strip_prefix(project) else {
            return false;
        };
        let is_git = |part: &OsStr| part.eq_ignore_ascii_case(".git");
        real.is_dir() && !below.iter().any(is_git)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the submodule `x` of a project with a link to elsewhere.
    fn harmless(text: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let module = project.join(".git/modules/x");
        std::fs::create_dir_all(&module).unwrap();
        for (name, module) in [("x", "x"), ("other", "y")] {
            std::fs::create_dir_all(project.join(name)).unwrap();
            let link = format!("gitdir: ../.git/modules/{module}\n");
            std::fs::write(project.join(name).join(".git"), link).unwrap();
        }
        std::os::unix::fs::symlink("/", project.join("link")).unwrap();
        text_is_harmless(text, &module, &project)
    }

    #[test]
    fn a_worktree_is_where_it_leads_or_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap();
        let link = |name: &str, target: &str| {
            std::os::unix::fs::symlink(target, project.join(name)).unwrap();
        };
        std::fs::create_dir(project.join("tree")).unwrap();
        link("link", "tree");
        link("dangling", "/none/at/all");
        let worktree = |lines: &str| {
            std::fs::write(project.join("config"), format!("[core]\n{lines}")).unwrap();
            worktrees(&project)
        };
        assert_eq!(worktree("worktree = tree\n"), [project.join("tree")]);
        assert_eq!(worktree("worktree = link\n"), [project.join("tree")]);
        assert_eq!(worktree("worktree = a/b\n"), [project.join("a/b")]);
        for nowhere in [
            "worktree = dangling\n",
            "worktree = dangling/x\n",
            "worktree = none/..\n",
            "worktree = tree\nworktree = tree\n",
        ] {
            assert_eq!(worktree(nowhere), [Path::new(NOWHERE)], "{nowhere}");
        }
    }

    #[test]
    fn what_git_writes_itself_is_harmless() {
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
            "[core]\n\tworktree = ../../../x\n",
            "# a comment\n[user]\n\tname = Ada Lovelace\n\temail = ada@example.org\n",
        ] {
            assert!(harmless(text), "{text}");
        }
    }

    #[test]
    fn what_names_a_program_or_leads_away_is_not() {
        for text in [
            "[core]\n\tfsmonitor = ./evil\n",
            "[core]\n\tFsMonitor = ./evil\n",
            "[core] fsmonitor = ./evil\n",
            "[core]fsmonitor=./evil\n",
            "[core]\n\thooksPath = hooks\n",
            "[core]\n\tworktree = /home\n",
            "[core]\n\tworktree = ../../../../home\n",
            "[core]\n\tworktree = ../../../link\n",
            "[core]\n\tworktree = ../../../link/tmp\n",
            "[core]\n\tworktree = ../../../none\n",
            "[core]\n\tworktree = ../../../other\n",
            "[core]\n\tworktree = ../../..\n",
            "[include]\n\tpath = evil\n",
            "[includeIf \"gitdir:/\"]\n\tpath = evil\n",
            "[filter \"x\"]\n\tclean = evil\n",
            "[core]\n\tbare = false\r[core]\n\tfsmonitor=x\n",
            "# comment\r[core]fsmonitor=x\n",
            "[core]\n\tbare = \\\n\tfsmonitor = x\n",
            "[remote \"a\"]\n\turl = ext::sh -c evil\n",
            "[remote \"a\"]\n\turl = evil://example.org/a\n",
            "[submodule \"a\"]\n\turl = HTTPS://example.org/a\n",
            "[branch \"a\"]\n\tremote = evil://x\n",
            "[branch \"a\"]\n\tremote = evil::x\n",
            "[options]\n\tstrategy = ../../x\n",
            "[remote \"a\"]\n\tuploadpack = evil\n",
            "[remote \"a\"] [core]\n\tfsmonitor = x\n",
            "[core \"a\"]b\"]\nfsmonitor = x\n",
            "[alias]\n\tstatus = !evil\n",
            "[submodule \"a\"]\n\tupdate = !evil\n",
            "\u{feff}[core]\n\tfsmonitor = x\n",
            "bare = true\n",
        ] {
            assert!(!harmless(text), "{text}");
        }
    }
}
