//! What leads the user's git to settings that a command has made, with the next thing that it writes.

use super::*;

/// What is said of a command before which this was there, and that runs git or not. `protected`: what it found itself.
fn reviewed(
    root: &Path,
    before: &Repositories,
    protected: &Repositories,
    runs_git: bool,
) -> Vec<String> {
    let after = Repositories::find_after(&[root], before);
    let access = Access {
        project: root.to_owned(),
        may_change_repository: runs_git,
        ..Access::default()
    };
    let means = Means {
        place: &root.join("place"),
        protected: Some(protected),
        is_plain: !runs_git,
        until: Instant::now() + Duration::from_secs(60),
    };
    review(&access, before, &after, means).sentences
}

const EVIL: &str = "[core]\n\tfsmonitor = x\n";

/// The user's git writes to where a reference leads, and would make a repository of a folder with harmful settings.
#[test]
fn what_leads_git_into_its_own_data_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    let at = |name: &str| root.join(".git").join(name);
    let write = |name: &str, text: &str| {
        fs::create_dir_all(at(name).parent().unwrap()).unwrap();
        fs::write(at(name), text).unwrap();
    };
    // What is there before is the user's own.
    write("refs/own", "ref: elsewhere/own\n");
    let before = Repositories::find(&[root.as_path()]);
    let hash = "e83c5163316f89bfbde7d9ab23ca2e25604af290";
    write("refs/heads/main", "ref: logs/zz/commondir\n");
    write("refs/heads/.x", "ref: commondir\n");
    write("ORIG_HEAD", "ref: commondir\n");
    write("COMMIT_EDITMSG", "ref: the message of a commit\n");
    write(
        "refs/remotes/origin/HEAD",
        "ref: refs/remotes/origin/main\n",
    );
    write("refs/remotes/origin/main", hash);
    for parts in ["logs/zz/x", "refs/zz/x", "rr-cache/x"] {
        for name in ["objects", "refs"] {
            fs::create_dir_all(at(parts).join(name)).unwrap();
        }
    }
    let review = || reviewed(&root, &before, &before, true);
    let said = review().join("\n");
    for (stray, aside) in [
        ("refs/heads/main", "main.set-aside"),
        ("refs/heads/.x", ".x.set-aside"),
        ("ORIG_HEAD", "ORIG_HEAD.set-aside"),
        ("logs/zz/x/objects", "objects.set-aside"),
    ] {
        assert!(!at(stray).exists() && at(aside).exists(), "{stray}: {said}");
        let shown = format!(".git/{stray} is .git/{aside} now");
        assert!(said.contains(&shown), "{shown}: {said}");
    }
    // Of several with the same name the others have one that is nobody's.
    assert!(
        said.contains(".git/refs/zz/x/objects is .git/objects.set-aside-"),
        "{said}"
    );
    assert!(
        !at("rr-cache/x/objects").exists() && said.contains("; and 1 more."),
        "{said}"
    );
    for kept in [
        "refs/own",
        "COMMIT_EDITMSG",
        "refs/remotes/origin/HEAD",
        "HEAD",
        "objects",
    ] {
        assert!(at(kept).exists(), "{kept}: {said}");
    }
    assert_eq!(review(), [""; 0], "it is done");
    // What is the user's own is changed by nobody else.
    write("refs/own", "ref: commondir\n");
    write("HEAD", "ref: main.set-aside\n");
    let said = review().join("\n");
    for stray in ["HEAD", "refs/own"] {
        assert!(!at(stray).exists(), "{stray}: {said}");
    }
}

/// Git writes a `HEAD` there with the next commit.
#[test]
fn no_folder_of_git_becomes_a_repository_later() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    let write = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let before = Repositories::find(&[root.as_path()]);
    write(".git/logs/HEAD.set-aside", "");
    for part in ["logs", "refs/remotes/origin", "rr-cache/x"] {
        write(&format!(".git/{part}/commondir"), "../../../shared\n");
    }
    write(".git/modules/zz/config", EVIL);
    write(".git/modules/libs/config/HEAD", "ref: refs/heads/main\n");
    write("a/.git", "gitdir: ../.git/logs\n");
    write("b/.git", "gitdir: ../.git/modules/zz\n");
    write("shared/config", EVIL);
    let said = reviewed(&root, &before, &before, true).join("\n");
    for gone in [
        ".git/logs/commondir",
        ".git/refs/remotes/origin/commondir",
        ".git/rr-cache/x/commondir",
        ".git/modules/zz/config",
        "a/.git",
        "b/.git",
    ] {
        assert!(!root.join(gone).exists(), "{gone}: {said}");
    }
    assert!(
        root.join(".git/modules/libs/config/HEAD").exists(),
        "{said}"
    );
}

/// A line that does not run git can change it where it lies in the worktree.
#[test]
fn a_reference_has_no_other_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let find = || Repositories::find(&[root.as_path()]);
    let empty = find();
    git(&root, "init -q -b main n");
    let reference = root.join("n/.git/refs/heads/main");
    let hash = "e83c5163316f89bfbde7d9ab23ca2e25604af290\n";
    fs::write(&reference, hash).unwrap();
    fs::hard_link(&reference, root.join("x")).unwrap();
    // It may have been there before, such as in a copy that shares its files.
    let before = find();
    assert_eq!(reviewed(&root, &before, &before, false), [""; 0]);
    fs::write(root.join("x"), "ref: modules/zz/HEAD\n").unwrap();
    let said = reviewed(&root, &before, &before, false).join("\n");
    assert!(!reference.exists(), "{said}");
    fs::write(&reference, hash).unwrap();
    fs::remove_file(root.join("x")).unwrap();
    fs::hard_link(&reference, root.join("x")).unwrap();
    let said = reviewed(&root, &empty, &empty, true).join("\n");
    assert!(
        !reference.exists() && said.contains("a git file with a second name"),
        "{said}"
    );
}

#[test]
fn a_rebase_updates_references_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    let before = Repositories::find(&[root.as_path()]);
    let rebase = root.join(".git/rebase-merge");
    let kept = |names: &[(&str, &str)]| {
        fs::create_dir(&rebase).unwrap();
        for (name, text) in [("git-rebase-todo", "pick 12\n")].iter().chain(names) {
            fs::write(rebase.join(name), text).unwrap();
        }
        let said = reviewed(&root, &before, &before, true);
        let is_kept = rebase.exists();
        fs::remove_dir_all(&rebase).unwrap_or_default();
        assert_eq!(is_kept, said.is_empty(), "{said:?}");
        is_kept
    };
    let hashes = format!("{}\n{}\n", "0".repeat(40), "1".repeat(40));
    assert!(kept(&[
        ("head-name", "refs/heads/main\n"),
        ("update-refs", "")
    ]));
    assert!(kept(&[(
        "update-refs",
        &format!("refs/heads/a\n{hashes}refs/heads/b\n{hashes}")
    )]));
    for name in ["modules/zz/HEAD", "commondir", "refs/../commondir"] {
        let updates = format!("refs/heads/a\n{hashes}{name}\n{hashes}");
        assert!(!kept(&[("update-refs", &updates)]), "{name}");
    }
    assert!(kept(&[
        ("strategy", "ort\n"),
        ("strategy_opts", " '--ours'\n")
    ]));
    assert!(!kept(&[("strategy", "x\n")]) && !kept(&[("new-in-git", "x\n")]));
}

#[test]
fn patches_are_applied_to_the_worktree_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    let before = Repositories::find(&[root.as_path()]);
    let apply = root.join(".git/rebase-apply");
    for (name, text, is_kept) in [
        ("0001", "From x\n", true),
        ("apply-opt", "\n", true),
        ("apply-opt", " '--whitespace=fix' '-C1' '-p2'\n", true),
        ("apply-opt", " '--unsafe-paths'\n", false),
        ("apply-opt", " '-p2' '--directory=..'\n", false),
        ("apply-opt", " '-p2--unsafe-paths'\n", false),
        ("new-in-git", "", false),
    ] {
        fs::create_dir(&apply).unwrap();
        fs::write(apply.join(name), text).unwrap();
        let said = reviewed(&root, &before, &before, true);
        assert_eq!(apply.exists(), is_kept, "{name} {text}: {said:?}");
        fs::remove_dir_all(&apply).unwrap_or_default();
    }
}

/// The next message of a commit would be what the second name is for.
#[test]
fn no_file_of_git_has_a_second_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    let at = |name: &str| root.join(name);
    let before = Repositories::find(&[root.as_path()]);
    let worktree = at(".git/worktrees/w");
    fs::create_dir_all(&worktree).unwrap();
    fs::create_dir(at("w")).unwrap();
    fs::write(worktree.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let link = at("w/.git").display().to_string();
    fs::write(worktree.join("gitdir"), link).unwrap();
    fs::write(at(".git/COMMIT_EDITMSG"), "../..\n").unwrap();
    fs::hard_link(at(".git/COMMIT_EDITMSG"), worktree.join("commondir")).unwrap();
    fs::create_dir_all(at(".git/logs/refs/heads")).unwrap();
    fs::write(at("w/.git"), "gitdir: ../.git/worktrees/w\n").unwrap();
    fs::hard_link(at("w/.git"), at(".git/logs/refs/heads/x")).unwrap();
    let said = reviewed(&root, &before, &before, true).join("\n");
    for gone in [
        ".git/COMMIT_EDITMSG",
        ".git/worktrees/w/commondir",
        ".git/logs/refs/heads/x",
        "w/.git",
    ] {
        assert!(!at(gone).exists(), "{gone}: {said}");
    }
}

#[test]
fn what_nothing_protected_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["a", "b", "c"] {
        git(&root, &format!("init -q -b main {name}"));
    }
    let before = Repositories::find(&[root.as_path()]);
    let url = "[remote \"origin\"]\n\turl = https://example.org/b\n";
    fs::write(root.join("a/.git/config"), url).unwrap();
    fs::rename(root.join("a/.git/hooks"), root.join("hooks")).unwrap();
    fs::remove_dir_all(root.join("b/.git")).unwrap();
    let nothing = Repositories::default();
    let said = reviewed(&root, &before, &nothing, false);
    for sentence in [
        "a/.git/config changed while the command ran.",
        "a/.git/hooks is gone since",
        "These git repositories are gone since the command ran: b/.git.",
    ] {
        assert!(said.iter().any(|it| it.contains(sentence)), "{said:?}");
    }
    assert_eq!(said.len(), 3, "{said:?}");
    // What was protected is the user's own work.
    assert_eq!(reviewed(&root, &before, &before, false), [""; 0]);
}

/// A copy that shares its files, such as a backup of the user's.
#[test]
fn git_goes_on_writing_to_files_that_had_a_second_name_before() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let project = root.join("project");
    git(&root, "init -q -b main project");
    let message = project.join(".git/COMMIT_EDITMSG");
    fs::write(&message, "one\n").unwrap();
    fs::hard_link(&message, root.join("copy")).unwrap();
    // Other programs keep any number of such files in folders of their own.
    let annex = project.join(".git/annex");
    fs::create_dir(&annex).unwrap();
    fs::write(root.join("key"), "").unwrap();
    for number in 0..1_100 {
        fs::hard_link(root.join("key"), annex.join(number.to_string())).unwrap();
    }
    let before = Repositories::find(&[project.as_path()]);
    assert_eq!(before.unread, BTreeMap::new());
    fs::write(&message, "two, and longer\n").unwrap();
    assert_eq!(reviewed(&project, &before, &before, true), [""; 0]);
    // One more name is a command's.
    fs::hard_link(&message, project.join("x")).unwrap();
    let said = reviewed(&project, &before, &before, true).join("\n");
    assert!(!message.exists(), "{said}");
}

/// A submodule was moved away, and something else is where its worktree was.
#[test]
fn no_repository_is_made_where_another_one_writes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    fs::create_dir(root.join(".git/modules")).unwrap();
    git(&root, "init -q -b main --separate-git-dir .git/modules/x x");
    let config = root.join(".git/modules/x/config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, format!("{text}[core]\n\tworktree = ../../../x\n")).unwrap();
    let before = Repositories::find(&[root.as_path()]);
    fs::rename(root.join("x"), root.join("y")).unwrap();
    make_repository(&root.join("x"));
    let said = reviewed(&root, &before, &before, true).join("\n");
    assert!(!root.join("x/HEAD").exists(), "{said}");
    assert!(root.join(".git/modules/x/HEAD").exists(), "{said}");
}

/// Git and the prompt of a shell run what is in the state of a rebase, if it is not what git writes itself.
#[test]
fn the_state_of_a_rebase_runs_nothing() {
    let states: [&[(&str, &str)]; 5] = [
        &[
            ("rebase-merge/strategy", "octopus\n"),
            ("rebase-merge/strategy_opts", "-- --a \"--$(x)\" --b\n"),
        ],
        &[("rebase-merge/msgnum", "$(x)\n")],
        &[("rebase-apply/last", "$(x)\n")],
        &[(
            "sequencer/opts",
            "[options]\n\tstrategy = octopus\n\tstrategy-option =\n\tstrategy-option = a\n",
        )],
        &[("BISECT_NAMES", " $(x)\n")],
    ];
    for files in states {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git(&root, "init -q -b main .");
        let before = Repositories::find(&[root.as_path()]);
        let at = |name: &str| root.join(".git").join(name);
        for (name, text) in files {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), text).unwrap();
        }
        if files[0].0.starts_with("rebase-merge") {
            fs::write(at("rebase-merge/git-rebase-todo"), "").unwrap();
        }
        let said = reviewed(&root, &before, &before, true).join("\n");
        let state = files[0].0.split('/').next().unwrap();
        let is_aside = at(&format!("{state}.set-aside")).exists();
        assert!(!at(state).exists() && is_aside, "{files:?}: {said}");
    }
}

/// Among many files nobody looks for one that can be changed through another name.
#[test]
fn a_state_of_many_files_hides_no_second_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    let before = Repositories::find(&[root.as_path()]);
    let apply = root.join(".git/rebase-apply");
    fs::create_dir(&apply).unwrap();
    for patch in 1000..2001 {
        fs::write(apply.join(patch.to_string()), "").unwrap();
    }
    fs::write(root.join(".git/objects/x"), "1\n").unwrap();
    fs::hard_link(root.join(".git/objects/x"), apply.join("next")).unwrap();
    let said = reviewed(&root, &before, &before, true).join("\n");
    assert!(!apply.exists(), "{said}");
}

/// Under its new name nobody would find them.
#[test]
fn a_repository_in_what_is_set_aside_is_set_aside_first() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q -b main .");
    let before = Repositories::find(&[root.as_path()]);
    let inner = root.join(".git/lfs/q");
    fs::create_dir_all(&inner).unwrap();
    git(&inner, "init -q -b main .");
    fs::write(inner.join(".git/config"), EVIL).unwrap();
    let bare = root.join(".git/lfs/bare");
    git(&inner, &format!("init -q --bare {}", bare.display()));
    fs::write(bare.join("config"), EVIL).unwrap();
    let said = reviewed(&root, &before, &before, true).join("\n");
    let aside = root.join(".git/lfs.set-aside");
    assert!(aside.is_dir() && !root.join(".git/lfs").exists(), "{said}");
    for head in ["q/.git/HEAD", "bare/HEAD"] {
        assert!(!aside.join(head).exists(), "{head}: {said}");
    }
    assert!(!said.contains("could not be set aside"), "{said}");
}
