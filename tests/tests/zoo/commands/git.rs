//! Commands and git: commits work, and what decides about the user's own git stays the user's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use super::{BOTH, Yard};

/// Runs git as the user does, outside of the sandbox.
pub(super) fn git(folder: &Path, line: &str) -> String {
    let output = Command::new("git")
        .args(line.split(' '))
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        // Objects have the same names in each run: a test removes the folder of some.
        .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
        .output()
        .expect("git");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {line}: {text}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) const COMMIT: &str =
    "git -c user.name=Ada -c user.email=ada@example.org commit -q --allow-empty -m one";

/// A shell line that makes a program of git write `ran`.
fn trap(yard: &Yard) -> String {
    let ran = yard.sandbox.project().join("ran");
    format!("touch {}", ran.display())
}

#[tokio::test]
async fn repositories_work_in_the_sandbox() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q -b main .");
        fs::remove_dir_all(project.join(".git/hooks")).unwrap();
        for line in [
            format!("git add . && {COMMIT} && git log --oneline"),
            "git status && git checkout -q -b other && git branch".to_owned(),
            format!(
                "echo x > new && git add new && {COMMIT} && git checkout -q main && git merge -q other"
            ),
            "git stash list && git tag v1 && git diff HEAD~1 && git reflog".to_owned(),
            "git gc -q && git fsck && git rebase -q HEAD~1".to_owned(),
            format!("git worktree add -q tree && cd tree && git status && {COMMIT}"),
            format!("cd tree && {COMMIT} && git log --oneline"),
        ] {
            let text = yard.run(&line).await.text;
            assert!(
                text.ends_with("exit status 0"),
                "{has_namespaces} {line}: {text}"
            );
        }
        assert_eq!(git(&project, "status --porcelain tree"), "?? tree/\n");
        assert!(git(&project.join("tree"), "log --oneline").lines().count() >= 3);
        assert!(!project.join(".git/hooks").exists(), "{has_namespaces}");
        assert!(!project.join(".git/commondir").exists());
    }
}

#[tokio::test]
async fn settings_that_are_there_cannot_be_changed() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    for folder in ["", "vendor/inner"] {
        let folder = project.join(folder);
        fs::create_dir_all(&folder).unwrap();
        git(&folder, "init -q -b main .");
        fs::create_dir_all(folder.join(".git/rebase-merge")).unwrap();
    }
    git(&project, "init -q --bare bare");
    for line in [
        "echo x >> .git/config",
        "git config core.fsmonitor x",
        "mv .git other",
        "mv .git/config .git/other",
        "git --version; rm -r .git/hooks",
        "echo x > .git/hooks/post-commit",
        "echo x > .git/info/attributes",
        "echo 'exec x' > .git/rebase-merge/git-rebase-todo",
        "echo x >> vendor/inner/.git/config",
        "mv vendor/inner/.git vendor/inner/other",
        "echo x > vendor/inner/.git/hooks/post-commit",
        "echo x >> bare/config",
        "echo x > bare/hooks/post-update",
    ] {
        yard.refused(line).await;
    }
    // What is missing is held, and leaves nothing behind.
    for path in [".git/hooks", ".git/info"] {
        fs::remove_dir_all(project.join(path)).unwrap();
    }
    for line in [
        "mkdir .git/hooks",
        "echo x > .git/hooks/post-commit",
        "mkdir .git/info",
    ] {
        yard.refused(line).await;
        assert!(!project.join(".git/hooks").exists());
        assert!(!project.join(".git/info").exists());
    }
}

#[tokio::test]
async fn what_a_command_adds_is_set_aside() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q -b main .");
        let trap = trap(&yard);
        let monitor = format!("[core]\n\tfsmonitor = {trap}; true\n");
        fs::write(project.join("evil"), &monitor).unwrap();
        for (line, aside) in [
            (
                "git --version; mkdir e && cp -r .git e/common && cp evil e/common/config; echo ../e/common > .git/commondir",
                match has_namespaces {
                    // Here it cannot be made.
                    true => "e/common/HEAD.set-aside",
                    false => ".git/commondir.set-aside",
                },
            ),
            (
                "git init -q --bare revived && cp evil revived/config",
                "revived/HEAD.set-aside",
            ),
            (
                "mkdir -p r/refs r/objects && cp .git/HEAD r && git init -q r/objects/ab && cp evil r/objects/ab/.git/config",
                "r/objects/ab/.git/HEAD.set-aside",
            ),
            (
                "git init -q .git/objects/zz && cp evil .git/objects/zz/.git/config",
                ".git/objects/zz/.git/HEAD.set-aside",
            ),
            (
                "git init -q --ref-format=reftable tabled && echo ../../../outside/x.ref > tabled/.git/reftable/tables.list",
                "tabled/.git/HEAD.set-aside",
            ),
            (
                "git init -q treed && mkdir -p treed/.git/worktrees/w && echo /etc/.git > treed/.git/worktrees/w/gitdir",
                "treed/.git/worktrees/w/gitdir.set-aside",
            ),
            (
                "git init -q closed && cp evil closed/.git/config && chmod 555 closed/.git",
                "closed/.git/HEAD.set-aside",
            ),
            (
                "git init -q nested && cp evil nested/.git/config",
                "nested/.git/HEAD.set-aside",
            ),
            (
                "git init -q --bare store && cp evil store/config",
                "store/HEAD.set-aside",
            ),
            (
                "mkdir linked && git init -q hidden && cp evil hidden/.git/config && echo 'gitdir: ../hidden/.git' > linked/.git",
                "hidden/.git/HEAD.set-aside",
            ),
            (
                "git --version; mkdir away && echo 'gitdir: /etc' > away/.git",
                "away/.git. Dunlin moved it",
            ),
            (
                "git init -q hooked && echo x > hooked/.git/hooks/post-checkout",
                "hooked/.git/HEAD.set-aside",
            ),
            (
                "git --version; mkdir .git/rebase-merge && echo 'exec x' > .git/rebase-merge/git-rebase-todo",
                ".git/rebase-merge.set-aside",
            ),
            (
                "git --version; mkdir -p E/objects E/refs E/worktrees/w src && cp evil E/config && cp .git/HEAD E/worktrees/w && echo ../.. > E/worktrees/w/commondir && echo ../../../src/.git > E/worktrees/w/gitdir && echo 'gitdir: ../E/worktrees/w' > src/.git",
                "E/worktrees/w/HEAD.set-aside",
            ),
            (
                "mkdir -p P/objects P/refs && touch P/HEAD && git init -q P/SUB && cp evil P/SUB/.git/config",
                "P/SUB/.git/HEAD.set-aside",
            ),
            (
                "git --version; mkdir .git/sequencer && printf '[options]\\n\\tstrategy = ../../x\\n' > .git/sequencer/opts",
                ".git/sequencer.set-aside",
            ),
            (
                "git --version; rm -r .git/sequencer.set-aside; mkdir .git/sequencer && echo 'exec x' > .git/sequencer/todo",
                ".git/sequencer.set-aside",
            ),
            (
                "git init -q piped && rm piped/.git/config && mkfifo piped/.git/config",
                "piped/.git/HEAD.set-aside",
            ),
            (
                "git init -q --bare shared && git --git-dir=shared worktree add -q --orphan tree && cp evil shared/config",
                "shared/worktrees/tree/HEAD.set-aside",
            ),
            (
                "ln -s /etc etc && git init -q module && mkdir .git/modules && mv module/.git .git/modules/m && git config -f .git/modules/m/config core.worktree ../../../etc",
                ".git/modules/m/HEAD.set-aside",
            ),
            (
                "git init -q endless && mkfifo endless/fifo && mkdir odd && mkfifo odd/.git",
                "odd/.git. Dunlin moved it",
            ),
        ] {
            let ran = yard.run(line).await;
            assert!(
                ran.text.contains(aside),
                "{has_namespaces} {line}: {}",
                ran.text
            );
            let note = ran.note.unwrap_or_default();
            let why = [
                "can run programs",
                "cannot be looked at",
                "Dunlin cannot check",
                "created a symbolic link",
            ];
            assert!(why.iter().any(|why| note.contains(why)), "{line}: {note}");
            match aside.split_once(". Dunlin moved it") {
                Some((left, _)) => assert!(!project.join(left).exists(), "{line}"),
                None => assert!(project.join(aside).symlink_metadata().is_ok(), "{line}"),
            }
            assert!(!project.join("ran").exists(), "{line}");
        }
        for folder in ["", "nested", "hooked", "away", "P/SUB", "shared", "src"] {
            git(&project.join(folder), "status");
        }
        // What led to a repository leads to none any more.
        let mut status = Command::new("git");
        let status = status.arg("status").current_dir(project.join("linked"));
        assert!(!status.output().unwrap().status.success());
        assert!(!project.join("ran").exists(), "the user's git ran it");
        // What can do no harm is told and stays as it is.
        let ran = yard.run("git init -q plain").await;
        assert!(
            ran.note
                .unwrap_or_default()
                .contains("New git repository: plain/.git")
        );
        assert!(project.join("plain/.git/config").exists());
        // It is protected from the next command on, where there are mounts.
        if has_namespaces {
            yard.refused("echo x >> plain/.git/config").await;
        }
        assert_eq!(yard.run("true").await.note, None);
    }
}

#[tokio::test]
async fn only_a_command_that_runs_git_makes_repositories() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q -b main .");
        git(&project, "init -q mine");
        git(&project, "worktree add -q --orphan tree");
        // It runs git unseen.
        fs::write(project.join("make.sh"), "git init -q \"$@\"\n").unwrap();
        for (line, made) in [
            ("sh make.sh new", "new/.git"),
            ("cp -r mine copy", "copy/.git"),
            ("mkdir .GIT; echo '[core]' > .GIT/config", ".GIT"),
            (
                "mkdir led; echo 'gitdir: ../mine/.git' > led/.git",
                "led/.git",
            ),
            (
                "mkdir linked; ln -s ../mine/.git linked/.git",
                "linked/.git",
            ),
        ] {
            let note = yard.run(line).await.note.unwrap_or_default();
            assert!(
                note.contains(&format!(": {made}. Dunlin moved it to ")),
                "{note}"
            );
            let (_, moved) = note.split_once(" moved it to ").unwrap();
            let moved = Path::new(moved.split_once(',').unwrap().0);
            assert!(!moved.starts_with(&project), "{note}");
            let moved = moved.join(format!("{made}.set-aside"));
            assert!(moved.symlink_metadata().is_ok(), "{}", moved.display());
            assert!(!moved.join("HEAD").exists() || moved.is_symlink());
            assert!(project.join(made).symlink_metadata().is_err(), "{line}");
            // What is left can be removed.
            if let Some(folder) = Path::new(made).parent().filter(|it| *it != Path::new("")) {
                yard.succeeds(&format!("rm -r {}", folder.display())).await;
            }
        }
        let note = yard.run("sh make.sh --bare bare").await.note;
        assert!(note.unwrap_or_default().contains("bare/HEAD.set-aside"));
        assert!(!project.join("bare/HEAD").exists());
        if has_namespaces {
            for line in [
                "echo x > mine/.git/index",
                "echo x > .git/worktrees/tree/x",
                "cd tree; sh -c 'git add -A'",
            ] {
                yard.refused(line).await;
            }
        }
        // What lies in it keeps its repositories.
        yard.run("mkdir deep && mv tree deep && mv deep deeper")
            .await;
        assert_eq!(yard.run("true").await.note, None);
    }
}

#[tokio::test]
async fn git_does_not_write_through_links_of_a_command() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q -b main .");
        git(&project, "commit -q --allow-empty -m one");
        // What the user has made stays.
        symlink("main", project.join(".git/refs/heads/own")).unwrap();
        fs::write(project.join("profile"), "").unwrap();
        for (line, link) in [
            (
                "git --version; rm .git/logs/HEAD; ln -s ../../profile .git/logs/HEAD",
                ".git/logs/HEAD",
            ),
            (
                "git --version; ln -s ../../../../profile .git/refs/heads/x",
                ".git/refs/heads/x",
            ),
            (
                "git --version; mkdir -p .git/logs/refs/remotes; ln -s / .git/logs/refs/remotes/y",
                ".git/logs/refs/remotes/y",
            ),
            (
                "git --version; rm -r .git/objects/pack; ln -s / .git/objects/pack",
                ".git/objects/pack",
            ),
            (
                "git --version; rm -rf .git/objects/00; ln -s ../.. .git/objects/00",
                ".git/objects/00",
            ),
            (
                "git --version; mkdir .git/rebase-merge; echo 'pick 0 ; x' > .git/rebase-merge/git-rebase-todo; ln -s ../../profile .git/rebase-merge/done",
                ".git/rebase-merge/done",
            ),
            (
                "git --version; mkdir .git/sequencer; ln -s ../../profile .git/sequencer/abort-safety",
                ".git/sequencer/abort-safety",
            ),
        ] {
            let note = yard.run(line).await.note.unwrap_or_default();
            assert!(
                note.contains("created a symbolic link") && note.contains(link),
                "{note}"
            );
            assert!(project.join(link).symlink_metadata().is_err(), "{link}");
        }
        assert_eq!(yard.run("true").await.note, None);
        assert!(project.join(".git/refs/heads/own").is_symlink());
        git(&project, "commit -q --allow-empty -m two");
        assert_eq!(fs::read_to_string(project.join("profile")).unwrap(), "");
    }
}

/// An index with one entry, as `git update-index` would refuse it.
const INDEX: &str = r#"import hashlib, struct, sys
def index(path):
    path = path.encode()
    entry = struct.pack(">10I", *[0] * 6, 0o100755, 0, 0, 0) + bytes.fromhex(BLOB) + struct.pack(">H", len(path)) + path
    body = b"DIRC" + struct.pack(">II", 2, 1) + entry + b"\0" * (8 - len(entry) % 8)
    return body + hashlib.sha1(body).digest()
BLOB = sys.argv[1]
open(sys.argv[2], "wb").write(index(sys.argv[3]))
"#;

#[tokio::test]
async fn an_index_names_only_files_of_the_worktree() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q -b main .");
        fs::write(project.join("make.py"), INDEX).unwrap();
        let make = |path: &str| {
            format!(
                "blob=$(echo evil | git hash-object -w --stdin) && python3 make.py $blob .git/index {path}"
            )
        };
        let note = yard.run(&make("src/fine")).await.note;
        assert_eq!(note, None);
        for path in ["../outside/planted", ".git/hooks/post-checkout"] {
            let note = yard.run(&make(path)).await.note.unwrap_or_default();
            assert!(note.contains("set aside as .git/index.set-aside"), "{note}");
            let mut checkout = Command::new("git");
            let checkout = checkout.args(["checkout", "-q", "."]).current_dir(&project);
            // There is nothing to check out.
            let _ = checkout.output().unwrap();
            assert!(!project.join(path).exists(), "{path}");
            fs::remove_file(project.join(".git/index.set-aside")).unwrap();
        }
        let line = "git --version; printf '0123456789012345678901234567890123456789\\t../outside/secret.txt\\0' > .git/MERGE_RR";
        let note = yard.run(line).await.note.unwrap_or_default();
        assert!(note.contains(".git/MERGE_RR.set-aside"), "{note}");
    }
}

#[tokio::test]
async fn another_name_for_a_setting_does_not_change_it() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q .");
        // Of the user's own doing: what was done through it shows nevertheless.
        fs::hard_link(project.join(".git/config"), project.join("notes")).unwrap();
        let evil = "git --version; printf '[core]\\n\\tfsmonitor = x\\n' >> notes";
        let note = yard.run(evil).await.note.unwrap_or_default();
        assert!(note.contains(".git/config.set-aside"), "{note}");
        let line = "git init -q nested && ln nested/.git/config other";
        let note = yard.run(line).await.note.unwrap_or_default();
        assert!(note.contains("nested/.git/HEAD.set-aside"), "{note}");
    }
}

#[tokio::test]
async fn only_a_command_that_runs_git_changes_the_repository() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q -b main .");
    git(&project, "commit -q --allow-empty -m one");
    for line in [
        "echo x > .git/index",
        "rm .git/HEAD",
        "mv .git other",
        "echo x > .git/new",
        "ln -s / .git/logs/x",
        "echo git; echo x > .git/index",
        "sh -c 'git commit -q --allow-empty -m two'",
    ] {
        yard.refused(line).await;
    }
    let looked = yard.run("git status && git log --oneline").await;
    assert!(looked.text.ends_with("exit status 0"), "{}", looked.text);
    // The user's git replaces files in it meanwhile: what a mount covered would be open then.
    git(&project, "config user.signature x");
    let line = format!("echo x > new && git add new && {COMMIT}");
    let committed = yard.run(&line).await;
    assert!(
        committed.text.ends_with("exit status 0"),
        "{}",
        committed.text
    );
    assert_eq!(git(&project, "rev-list --count HEAD"), "2\n");
}

#[tokio::test]
async fn what_one_command_prepares_is_not_known_to_another() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::write(project.join("evil"), "[core]\n\tfsmonitor = ./x\n").unwrap();
    yard.make_pipes(&["made", "go", "began", "undo"]);
    let first = yard.start(
        "git init -q nested && cp evil nested/.git/config && echo > made && cat go > /dev/null",
    );
    let first = tokio::spawn(first);
    yard.hear("made").await;
    let second = yard.start(
        "git --version; echo > began && cat undo > /dev/null && cd nested/.git && mv HEAD.set-aside HEAD; mv config.set-aside config",
    );
    let second = tokio::spawn(second);
    yard.hear("began").await;
    yard.say("go").await;
    let note = first.await.unwrap().note.unwrap_or_default();
    assert!(note.contains("nested/.git/HEAD.set-aside"), "{note}");
    yard.say("undo").await;
    let note = second.await.unwrap().note.unwrap_or_default();
    assert!(note.contains("nested/.git"), "{note}");
    let monitor = fs::read_to_string(project.join("nested/.git/config")).unwrap_or_default();
    assert!(!monitor.contains("fsmonitor"), "{monitor}");
}

/// Where the user's git replaces a setting, the mount over it is gone.
#[tokio::test]
async fn a_setting_that_changed_meanwhile_is_named() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q mine");
    yard.make_pipes(&["began", "go"]);
    let line = "git --version; echo > began && cat go > /dev/null && printf '[core]\\n\\tfsmonitor = x\\n' >> mine/.git/config";
    let running = tokio::spawn(yard.start(line));
    yard.hear("began").await;
    git(&project, "-C mine config user.signature x");
    yard.say("go").await;
    let note = running.await.unwrap().note.unwrap_or_default();
    assert!(
        note.contains("mine/.git/config changed while the command ran"),
        "{note}"
    );
}

#[tokio::test]
async fn a_command_that_was_interrupted_is_looked_at() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        fs::write(project.join("evil"), "[core]\n\tfsmonitor = ./x\n").unwrap();
        let started = project.join("started");
        let made = std::process::Command::new("mkfifo").arg(&started).status();
        assert!(made.unwrap().success());
        let line = "git init -q nested && cp evil nested/.git/config && echo > started; sleep 100";
        let run = yard.run(line);
        // The FIFO opens once the command has come so far.
        let began = tokio::task::spawn_blocking(move || fs::read(started));
        tokio::select! {
            ran = run => panic!("it ended: {}", ran.text),
            read = began => { read.unwrap().unwrap(); },
        }
        yard.host.commands_ended().await;
        let notices = yard.host.take_notices();
        assert!(
            notices
                .iter()
                .any(|it| it.contains("nested/.git/HEAD.set-aside")),
            "{has_namespaces} {notices:?}"
        );
        assert!(project.join("nested/.git/HEAD.set-aside").exists());
        assert!(yard.host.take_notices().is_empty());
    }
}

#[tokio::test]
async fn a_root_is_not_taken_for_a_repository() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        fs::create_dir(project.join("src")).unwrap();
        fs::write(project.join("Cargo.toml"), "x").unwrap();
        for (line, head) in [
            ("touch HEAD; mkdir objects refs", "HEAD"),
            ("echo 'ref: refs/heads/x' > HEAD", "HEAD.set-aside"),
            (
                "rm HEAD.set-aside; echo 'ref: refs/heads/x' > HEAD; touch config",
                "HEAD.set-aside",
            ),
        ] {
            yard.run(line).await;
            for name in [head, "src", "Cargo.toml", "objects"] {
                assert!(
                    project.join(name).exists(),
                    "{has_namespaces} {line}: {name}"
                );
            }
        }
    }
}

#[tokio::test]
async fn cherry_picks_work_in_the_sandbox() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q -b main .");
    let line = format!(
        "{COMMIT} && git checkout -q -b other && for i in 1 2; do echo $i > f; git add f; {COMMIT}; done && git checkout -q main && echo 3 > f && git add f && {COMMIT}"
    );
    let text = yard.run(&line).await.text;
    assert!(text.ends_with("exit status 0"), "{text}");
    // It stops at a conflict and leaves nothing behind that is set aside.
    let ran = yard
        .run("git -c user.name=Ada -c user.email=a@example.org cherry-pick -x other~1 other")
        .await;
    assert!(!ran.text.contains("set aside"), "{}", ran.text);
    assert!(project.join(".git/sequencer/todo").exists(), "{}", ran.text);
    git(&project, "cherry-pick --abort");
}

#[tokio::test]
async fn a_repository_that_cannot_be_listed_is_protected() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::write(project.join("evil"), "[core]\n\tfsmonitor = ./x\n").unwrap();
    // The superuser's Dunlin can look at it nevertheless, and sets only the settings aside.
    let ran = yard
        .run("git init -q x && cp evil x/.git/config && chmod 300 x/.git")
        .await;
    assert!(ran.text.contains("set aside as x/.git"), "{}", ran.text);
    git(&project, "init -q mine");
    let folder = project.join("mine/.git");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o300)).unwrap();
    for line in [
        "chmod 700 mine/.git && cp evil mine/.git/config",
        "cp evil mine/.git/config",
        "mv mine/.git mine/other",
    ] {
        yard.refused(line).await;
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(folder.join("config").exists());
}
