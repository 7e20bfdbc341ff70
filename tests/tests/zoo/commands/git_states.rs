//! Commands and what git has stopped in the middle of: a rebase, a cherry-pick, a revert, `git am`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Yard;
use super::git::git;

/// Where git keeps what it has stopped in the middle of.
const STATES: [&str; 5] = [
    "rebase-apply",
    "rebase-merge",
    "sequencer",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
];

/// Makes a branch of three commits, of which the first two conflict with those of another one, and patches of it.
fn make_conflicts(project: &Path) {
    git(project, "init -q -b main .");
    for (key, value) in [("name", "Ada"), ("email", "ada@example.org")] {
        git(project, &format!("config user.{key} {value}"));
    }
    let commit = |file: &str, text: &str| {
        fs::write(project.join(file), format!("{text}\n")).expect("a file");
        git(project, "add f k z");
        git(project, &format!("commit -q -m {text}"));
    };
    for file in ["f", "k", "z"] {
        fs::write(project.join(file), "base\n").expect("a file");
    }
    commit("z", "one");
    git(project, "checkout -q -b topic");
    commit("f", "topic-f");
    commit("k", "topic-k");
    commit("z", "topic-z");
    git(project, "format-patch -q -o ../patches HEAD~3");
    git(project, "checkout -q main");
    commit("f", "main-f");
    commit("k", "main-k");
    git(project, "checkout -q topic");
}

/// What git has made of the project.
fn outcome(project: &Path) -> String {
    let states = STATES.iter();
    let states: Vec<_> = states
        .filter(|it| project.join(".git").join(it).exists())
        .collect();
    let files = ["f", "k", "z"].map(|name| fs::read_to_string(project.join(name)));
    let shown = [
        git(project, "log --format=%s"),
        git(project, "rev-parse --abbrev-ref HEAD"),
        git(project, "status --porcelain -uno"),
    ];
    format!("{states:?} {files:?} {shown:?}")
}

/// The same with a shell of the user's.
fn outside(project: &Path, line: &str) {
    let mut shell = Command::new("/bin/bash");
    let shell = shell.args(["-c", line]).current_dir(project);
    let shell = shell
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin");
    shell.output().expect("bash");
}

/// Each line goes on where the one before has stopped, and comes to the same as outside of the sandbox.
#[tokio::test]
async fn a_later_line_goes_on() {
    let resolve = "echo mine > f; echo mine > k; git add f k; export GIT_EDITOR=true; git";
    let starts = [
        ("rebase", "git checkout -q topic; git rebase main"),
        ("rebase", "git checkout -q topic; git rebase --apply main"),
        (
            "cherry-pick",
            "git checkout -q main; git cherry-pick topic~2 topic~1 topic",
        ),
        (
            "revert",
            "git checkout -q main; echo x > f; echo x > k; git commit -qam x; git revert --no-edit main~2 main~1",
        ),
        ("am", "git checkout -q main; git am -3 ../patches/*"),
    ];
    let yard = Yard::new();
    let project = yard.sandbox.project();
    make_conflicts(&project);
    let copies = yard.sandbox.root().join("copies");
    fs::create_dir(&copies).unwrap();
    let [pristine, control] = ["pristine", "control"].map(|name| copies.join(name));
    let copy = |from: &Path, to: &Path| {
        outside(
            &copies,
            &format!("cp -a {} {}", from.display(), to.display()),
        );
    };
    copy(&project, &pristine);
    fs::rename(
        project.parent().unwrap().join("patches"),
        copies.join("patches"),
    )
    .unwrap();
    for (program, start) in starts {
        let start = start.replace("../patches", &copies.join("patches").display().to_string());
        for ends in [
            vec![format!("git {program} --abort")],
            vec![format!("git {program} --quit")],
            vec![format!("{resolve} {program} --continue"); 3],
            vec![format!("git {program} --skip"); 3],
            vec![
                format!("{resolve} {program} --continue"),
                format!("git {program} --abort"),
            ],
        ] {
            outside(&project, "rm -rf .git f k z");
            outside(&project, &format!("cp -a {}/. .", pristine.display()));
            outside(&copies, "rm -rf control");
            copy(&pristine, &control);
            for line in [vec![start.clone()], ends.clone()].concat() {
                let note = yard.run(&line).await.note.unwrap_or_default();
                assert!(!note.contains("aside"), "{line}: {note}");
                outside(&control, &line);
                let (here, there) = (outcome(&project), outcome(&control));
                assert_eq!(here, there, "{start}: {ends:?}: {line}");
                assert!(
                    line != start || !there.starts_with("[]"),
                    "{start}: {there}"
                );
            }
        }
    }
}

/// What a later line writes into it is judged like what the first one has made.
#[tokio::test]
async fn a_later_line_adds_nothing_that_runs() {
    let rebase = ("git rebase main", "rebase-merge");
    let pick = (
        "git checkout -q main; git cherry-pick topic~2 topic~1",
        "sequencer",
    );
    let am = (
        "git checkout -q main; git am -3 ../patches/*",
        "rebase-apply",
    );
    for ((start, state), line) in [
        (rebase, "echo 'exec touch ran' >> $s/git-rebase-todo"),
        (rebase, "sed -i '1i x touch ran' $s/git-rebase-todo"),
        (
            rebase,
            "mv $s x; cp -r x $s; echo 'exec touch ran' > $s/git-rebase-todo",
        ),
        (rebase, "mv $s x; ln -s ../x $s"),
        (
            rebase,
            "rm $s/git-rebase-todo; ln -s ../../x $s/git-rebase-todo",
        ),
        (rebase, "ln $s/git-rebase-todo .git/objects/x"),
        (rebase, "echo octopus > $s/strategy"),
        (rebase, "echo '-- --a $(touch ran)' > $s/strategy_opts"),
        (rebase, "echo '$(touch ran)' > $s/msgnum"),
        (rebase, "echo 'touch ran' > $s/editor"),
        (
            rebase,
            "mkdir $s/hooks; echo 'touch ran' > $s/hooks/post-rewrite",
        ),
        (rebase, "echo commondir > $s/update-refs"),
        (pick, "echo 'exec touch ran' >> $s/todo"),
        (pick, "printf '[options]\\n\\tstrategy = x\\n' > $s/opts"),
        (pick, "printf '[core]\\n\\tfsmonitor = x\\n' >> $s/opts"),
        (pick, "ln $s/todo .git/objects/x"),
        (am, "echo \" '--unsafe-paths'\" > $s/apply-opt"),
        (am, "echo '--exec=x' > $s/gpg_sign_opt"),
        (am, "echo '$(touch ran)' > $s/next"),
    ] {
        let yard = Yard::new();
        let project = yard.sandbox.project();
        make_conflicts(&project);
        let place = project.parent().unwrap().join("outside/patches");
        fs::rename(project.parent().unwrap().join("patches"), &place).unwrap();
        let start = start.replace("../patches", &place.display().to_string());
        yard.run(&start).await;
        let git_folder = project.join(".git");
        let folder = git_folder.join(state);
        assert!(folder.is_dir(), "{start}");
        let note = yard
            .run(&format!("git --version; s=.git/{state}; {line}"))
            .await
            .note;
        let note = note.unwrap_or_default();
        let aside = format!(".git/{state}.set-aside");
        let is_gone = folder.symlink_metadata().is_err()
            || folder.join("git-rebase-todo").symlink_metadata().is_err();
        assert!(is_gone, "{line}: {note}");
        if folder.exists() {
            // Git does not go on without it.
            assert!(note.contains("link"), "{line}: {note}");
        } else {
            assert!(
                note.contains(&aside) || note.contains("link"),
                "{line}: {note}"
            );
        }
    }
}

/// A rebase of the user's that runs programs: git in the sandbox changes nothing, whoever starts it.
#[tokio::test]
async fn git_stops_before_it_half_ends_what_is_hidden() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    make_conflicts(&project);
    outside(&project, "git rebase -x 'touch ran' main");
    let before = outcome(&project);
    let state = project.join(".git/rebase-merge");
    let todo = fs::read(state.join("git-rebase-todo")).unwrap();
    fs::write(project.join("abort"), "git rebase --abort\n").unwrap();
    for line in [
        "git rebase --abort",
        "git rebase --continue",
        "git rebase --quit",
        "git rebase main~1",
        "git --version; sh abort",
    ] {
        let ran = yard.run(line).await;
        let note = ran.note.unwrap_or_default();
        for named in [".git/rebase-merge", "can run programs", "your own terminal"] {
            assert!(note.contains(named), "{line}: {note}");
        }
        assert_eq!(outcome(&project), before, "{line}: {}", ran.text);
        assert_eq!(fs::read(state.join("git-rebase-todo")).unwrap(), todo);
    }
    for line in [
        "git --version; rm -r .git/rebase-merge",
        "git --version; mv .git/rebase-merge .git/x",
        "git --version; echo 'exec x' > .git/rebase-merge/git-rebase-todo",
    ] {
        yard.refused(line).await;
        assert_eq!(fs::read(state.join("git-rebase-todo")).unwrap(), todo);
    }
    // A line that resolves a conflict for the user works as ever.
    let text = yard
        .run("echo mine > f && git add f && git diff")
        .await
        .text;
    assert!(text.ends_with("exit status 0"), "{text}");
    git(&project, "rebase --abort");
    assert!(!state.exists());
    let hidden = yard.run("git rebase main").await.note.unwrap_or_default();
    assert!(!hidden.contains("your own terminal"), "{hidden}");
}

/// Git reads the list again when the message of a commit was written: it must not find another one then. No process tells
/// that it is one of git, nor which repository it works in, so what no command has left is not for commands to change.
#[tokio::test]
async fn what_the_users_git_is_in_the_middle_of_is_hidden() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    make_conflicts(&project);
    // The user's own, there and in a worktree outside of the project.
    git(&project, "worktree add -q --detach ../elsewhere topic~1");
    let elsewhere = project.parent().unwrap().join("elsewhere");
    outside(&elsewhere, "git rebase main");
    outside(&project, "git rebase main");
    for state in [".git/rebase-merge", ".git/worktrees/elsewhere/rebase-merge"] {
        let todo = project.join(state).join("git-rebase-todo");
        let list = fs::read(&todo).unwrap();
        let write = format!("git --version; echo 'exec x' > {state}/git-rebase-todo");
        let ran = yard.run(&write).await;
        let note = ran.note.unwrap_or_default();
        assert!(
            !ran.text.ends_with("exit status 0"),
            "{state}: {}",
            ran.text
        );
        assert!(note.contains("it is your own"), "{state}: {note}");
        assert_eq!(fs::read(&todo).unwrap(), list);
    }
    git(&project, "rebase --abort");

    // One that a command has left is the user's from the moment on at which the user's git goes on with it.
    yard.run("git rebase main").await;
    let todo = project.join(".git/rebase-merge/git-rebase-todo");
    outside(
        &project,
        "echo x > f; git add f; GIT_EDITOR=true git rebase --continue",
    );
    let list = fs::read(&todo).expect("the second conflict");
    let write = "git --version; echo 'exec x' > .git/rebase-merge/git-rebase-todo";
    let note = yard.run(write).await.note.unwrap_or_default();
    assert!(
        note.contains("changed since a command has left it"),
        "{note}"
    );
    assert_eq!(fs::read(&todo).unwrap(), list);
    git(&project, "rebase --abort");

    // A git that runs makes it doubtful, whatever it does.
    yard.run("git rebase main").await;
    let mut running = Command::new("git")
        .args(["cat-file", "--batch"])
        .current_dir(&project)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let list = fs::read(&todo).unwrap();
    let note = yard.run(write).await.note.unwrap_or_default();
    assert!(note.contains("your own git runs"), "{note}");
    assert_eq!(fs::read(&todo).unwrap(), list);
    drop(running.stdin.take());
    running.wait().unwrap();
    let text = yard.run("git rebase --abort").await.text;
    assert!(text.ends_with("exit status 0"), "{text}");
    assert!(!todo.exists());
}

/// What the user had not committed is in an object that only the hidden state names.
#[tokio::test]
async fn what_a_hidden_state_names_is_no_garbage() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    make_conflicts(&project);
    fs::write(project.join("z"), "one\n").unwrap();
    git(&project, "add z");
    git(&project, "commit -q -m z");
    fs::write(project.join("z"), "not committed\n").unwrap();
    outside(
        &project,
        "git -c user.name=Ada -c user.email=ada@example.org rebase --autostash main",
    );
    let state = project.join(".git/rebase-merge");
    assert!(state.join("autostash").exists());
    let names = fs::read_dir(&state).unwrap().count();
    let ran = yard
        .run("git gc -q --prune=now && git prune --expire=now; ls .git/rebase-merge")
        .await;
    assert!(ran.text.contains("autostash\norig-head\n"), "{}", ran.text);
    assert!(ran.note.unwrap_or_default().contains("it is your own"));
    yard.refused("git --version; echo x > .git/rebase-merge/autostash")
        .await;
    assert_eq!(fs::read_dir(&state).unwrap().count(), names);
    git(&project, "rebase --abort");
    assert_eq!(
        fs::read_to_string(project.join("z")).unwrap(),
        "not committed\n"
    );
}

/// A state that is a link, or has one in it, stays as it is.
#[tokio::test]
async fn a_state_that_leads_elsewhere_is_hidden() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    make_conflicts(&project);
    outside(&project, "git rebase main");
    let state = project.join(".git/rebase-merge");
    let elsewhere = project.join("elsewhere");
    fs::rename(&state, &elsewhere).unwrap();
    symlink("../elsewhere", &state).unwrap();
    let before = outcome(&project);
    for line in [
        "git --version; echo 'exec x' > .git/rebase-merge/git-rebase-todo",
        "git --version; echo 'exec x' > elsewhere/git-rebase-todo",
        "git rebase --abort",
    ] {
        yard.refused(line).await;
        assert_eq!(outcome(&project), before, "{line}");
        let todo = fs::read_to_string(elsewhere.join("git-rebase-todo")).unwrap();
        assert!(!todo.contains("exec"), "{line}");
    }
}
