//! Commands and what belongs to a repository elsewhere: worktrees, submodules, links.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::call::Failure;
use dunlin_host::target::{Need, Operation, Target};
use dunlin_tests::sandbox::{Asker, call, play};
use serde_json::json;

use super::Yard;
use super::git::{COMMIT, git};

#[tokio::test]
async fn submodules_work_in_the_sandbox() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let library = project.parent().unwrap().join("outside/library");
    fs::create_dir(&library).unwrap();
    git(&library, "init -q -b main .");
    git(&library, "commit -q --allow-empty -m one");
    git(&project, "init -q -b main .");
    let add = format!(
        "-c protocol.file.allow=always submodule add -q {} lib",
        library.display()
    );
    git(&project, &add);
    git(&project, "commit -q -m lib");
    let text = yard
        .run(&format!(
            "cd lib && {COMMIT} && cd .. && git add lib && {COMMIT} && git submodule status"
        ))
        .await
        .text;
    assert!(text.ends_with("exit status 0"), "{text}");
    assert_eq!(git(&project, "status --porcelain lib"), "");
    for line in [
        "git config -f .git/modules/lib/config core.fsmonitor x",
        "echo x > .git/modules/lib/hooks/post-commit",
        "rm lib/.git",
        "echo 'gitdir: /tmp' > lib/.git",
        "mv .git/modules .git/other; mv .git/modules/lib .git/modules/other",
    ] {
        yard.refused(line).await;
    }
}

#[tokio::test]
async fn a_worktree_that_is_led_elsewhere_is_found() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let line = "mkdir tree && git init -q sub && git -C sub config core.worktree ../../tree";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains("sub/.git/HEAD.set-aside"), "{note}");
    git(&project, "init -q mine");
    git(&project, "-C mine config core.worktree ../../tree");
    assert_eq!(yard.run("true").await.note, None);
    let line = "rmdir tree && ln -s ../outside tree";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains("mine/.git/HEAD.set-aside"), "{note}");
}

#[tokio::test]
async fn settings_that_a_worktree_shares_stay_protected() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q --bare -b main E");
    git(&project, "--git-dir=E worktree add -q --orphan src");
    // Git takes it for no repository any more, but the worktree still leads there.
    yard.run("rm E/HEAD").await;
    yard.refused("echo x >> E/config").await;
    assert!(project.join("src/.git").exists());
}

#[tokio::test]
async fn a_linked_repository_works_and_stays() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q -b main inner");
    symlink("inner/.git", project.join(".git")).unwrap();
    let text = yard
        .run(&format!("{COMMIT} && git log --oneline"))
        .await
        .text;
    assert!(text.ends_with("exit status 0"), "{text}");
    yard.refused("rm .git").await;
    yard.refused("echo x >> inner/.git/config").await;
    assert!(project.join(".git").is_symlink());
}

#[tokio::test]
async fn a_granted_repository_has_no_worktrees_elsewhere() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    let refs = format!("{}/", project.join(".git/refs").display());
    yard.host.permissions().set(&refs, "?w?").unwrap();
    let line = "mkdir -p .git/worktrees/w; echo /etc/.git > .git/worktrees/w/gitdir";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains(".git/worktrees/w/gitdir.set-aside"), "{note}");
}

#[tokio::test]
async fn who_works_in_a_linked_worktree_can_commit() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let (main, other) = (
        yard.sandbox.root().join("main"),
        yard.sandbox.root().join("other"),
    );
    for folder in [&main, &other] {
        fs::create_dir(folder).unwrap();
        git(folder, "init -q .");
        git(folder, "commit -q --allow-empty -m first");
    }
    for entry in fs::read_dir(&project).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    git(
        &main,
        &format!("worktree add -q -b work {}", project.display()),
    );
    let commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m second";
    let ran = yard.run(commit).await;
    assert!(ran.text.contains("exit status 0"), "{}", ran.text);
    assert_eq!(ran.note, None);
    let log = yard.run("git log --format=%s").await.text;
    assert!(log.contains("second"), "{log}");
    for line in [
        "git branch new && git branch -q -D new && git branch other && git tag t && git tag -d t",
        "echo x > y && git add y && git stash -q && git stash pop -q && git checkout -q -b more",
        "git fetch -q ../other && git reset -q --hard && git rebase -q HEAD~1",
    ] {
        let line = format!(
            "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; {line}"
        );
        let ran = yard.run(&line).await.text;
        assert!(ran.contains("exit status 0"), "{line}: {ran}");
    }
    let second = yard.sandbox.root().join("second");
    git(
        &main,
        &format!("worktree add -q -b second {}", second.display()),
    );
    // What the user's next git in the main worktree would take up.
    let names = "MERGE_HEAD MERGE_MSG CHERRY_PICK_HEAD index.lock new";
    let line = format!(
        "cd ../main/.git && git rev-parse work | tee {names} && mkdir rebase-merge && ls {names}"
    );
    assert!(yard.run(&line).await.text.contains("exit status 0"));
    for name in names.split(' ').chain(["rebase-merge", "shallow"]) {
        assert!(!main.join(".git").join(name).exists(), "{name}");
    }
    // Git does not believe that it has written what would be gone: it would remove what it has packed.
    git(&main, "branch packed");
    let packed = yard.run("git pack-refs --all --prune").await.text;
    assert!(packed.contains("Device or resource busy"), "{packed}");
    let branches = git(&main, "for-each-ref --format=%(refname:short) refs/heads");
    assert_eq!(branches.lines().count(), 6, "{branches}");
    for line in [
        // What belongs to the main worktree.
        "rm ../main/.git/index; git status",
        "mv ../main/.git/refs ../main/.git/x; git status",
        "echo x > ../main/.git/packed-refs; git status",
        // What belongs to another one.
        "echo x > ../main/.git/worktrees/second/HEAD; git status",
        "rm ../main/.git/worktrees/second/index; git status",
        "mkdir ../main/.git/worktrees/third; git status",
        "echo '[core]' >> ../main/.git/config; git status",
        "echo x > ../main/.git/hooks/post-commit; git status",
        "echo x > ../main/file; git status",
        "echo x > .git; git status",
        "echo x > ../main/.git/HEAD; git status",
        "echo x > ../main/.git/refs/heads/x",
        "echo x > ../other/.git/refs/heads/x; git status",
    ] {
        let ran = yard.run(line).await.text;
        assert!(
            ran.contains("Read-only file system")
                || ran.contains("Permission denied")
                || ran.contains("Device or resource busy"),
            "{line}: {ran}"
        );
    }
    assert!(
        !fs::read_to_string(main.join(".git/config"))
            .unwrap()
            .ends_with("[core]\n")
    );
    for (folder, branch) in [(&main, "refs/heads/"), (&second, "refs/heads/second")] {
        let head = git(folder, "symbolic-ref HEAD");
        assert!(head.starts_with(branch), "{head}");
        assert_eq!(git(folder, "status --porcelain"), "");
    }
}

#[tokio::test]
async fn a_repository_elsewhere_is_granted_by_its_path() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let main = yard.sandbox.root().join("main");
    fs::create_dir(&main).unwrap();
    for folder in [&project, &main] {
        git(folder, "init -q .");
        git(folder, "config user.name a");
        git(folder, "config user.email a@b");
        git(folder, "commit -q --allow-empty -m first");
    }
    let commit = async |answer: Answer| {
        let asker = Arc::new(Asker::new(answer));
        let arguments = json!({ "command": "git commit -q --allow-empty -m second" });
        let call = call("run_terminal_command", arguments);
        let ran = play(&yard.host, &call, asker.clone()).await;
        yard.host.cancelled(&call);
        let ran = ran.and_then(|outcome| outcome.result);
        (ran.map(|success| success.text), asker.questions())
    };
    let always = Answer {
        allow: true,
        scope: Scope::Always,
    };
    let (ran, questions) = commit(always).await;
    assert!(ran.unwrap().contains("exit status 0"));
    assert_eq!(questions.len(), 1);
    assert!(commit(Answer::DENY).await.1.is_empty());
    // What was stored says nothing about the repository of another project.
    fs::remove_dir_all(project.join(".git")).unwrap();
    fs::remove_file(project.join("README.md")).unwrap();
    git(
        &main,
        &format!("worktree add -q -b work {}", project.display()),
    );
    let repository = main.join(".git");
    let (ran, questions) = commit(Answer::DENY).await;
    assert!(matches!(ran, Err(Failure::Denied { .. })), "{ran:?}");
    let names_it = |need: &Need| {
        need.target == Target::Path(repository.clone()) && need.operation == Operation::Write
    };
    assert!(questions[0].needs.iter().any(names_it), "{questions:?}");
    // Stored under its path, for commands whose line runs git and nothing else.
    let (ran, _) = commit(always).await;
    assert!(ran.unwrap().contains("exit status 0"));
    let (ran, questions) = commit(Answer::DENY).await;
    assert!(ran.unwrap().contains("exit status 0") && questions.is_empty());
    let key = repository.to_str().unwrap();
    let permissions = yard.host.permissions();
    permissions.set(key, "?w?").unwrap();
    let plain = yard.run(&format!("echo x > {key}/refs/x")).await.text;
    assert!(plain.contains("Read-only file system"), "{plain}");
    let by_git = format!("echo x > {key}/MERGE_HEAD; git status");
    yard.run(&by_git).await;
    assert!(!repository.join("MERGE_HEAD").exists());
    // Where it is denied, the line runs without it.
    permissions.set(key, "?-?").unwrap();
    let (ran, questions) = commit(Answer::DENY).await;
    let ran = ran.unwrap();
    assert!(
        ran.contains("Read-only file system") && questions.is_empty(),
        "{ran}"
    );
    assert_eq!(
        git(&main, "log --format=%s work"),
        "second\nsecond\nfirst\n"
    );
}
