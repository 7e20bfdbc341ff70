//! Commands that hide from Dunlin what they made of git repositories, or turn its own look at them against the user.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::git::git;
use super::{BOTH, Yard, yes};

const EVIL: &str = "[core]\n\tfsmonitor = ./x\n";

#[tokio::test]
async fn no_name_that_a_command_takes_keeps_a_repository() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::write(project.join("make.sh"), "git init -q x\n").unwrap();
    let note = yard
        .run(
            "sh make.sh; cd x; for i in '' $(seq -f -%g 2 1000); do : > .git/HEAD.set-aside$i; : > .git.set-aside$i; done",
        )
        .await
        .note
        .unwrap_or_default();
    assert!(
        note.contains("x/.git. This was set aside as x/.git.set-aside-"),
        "{note}"
    );
    assert!(!project.join("x/.git").exists());
}

#[tokio::test]
async fn a_git_folder_of_many_names_is_set_aside_unread() {
    for own_world in BOTH {
        let yard = Yard::with(own_world, |_, _| {});
        let project = yard.sandbox.project();
        fs::write(project.join("evil"), EVIL).unwrap();
        let line = "mkdir -p n/.git/objects n/.git/refs; cd n/.git; cp ../../evil config; echo 'ref: refs/heads/x' > HEAD; for i in $(seq 201); do : > z$i; done";
        let note = yard.run(line).await.note.unwrap_or_default();
        assert!(note.contains("n/.git.set-aside"), "{note}");
        assert!(!project.join("n/.git").exists());
        assert!(!project.join("n/.git.set-aside/HEAD").exists());
    }
}

#[tokio::test]
async fn what_was_set_aside_stays_as_it_was() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::write(project.join("evil"), EVIL).unwrap();
    fs::write(project.join("make.sh"), "git init -q \"$@\"\n").unwrap();
    for line in [
        "sh make.sh lib",
        "sh make.sh --bare bare",
        "git init -q judged && cp evil judged/.git/config",
    ] {
        let note = yard.run(line).await.note.unwrap_or_default();
        assert!(note.contains("set aside"), "{line}: {note}");
    }
    for change in [
        "cp evil lib/.git.set-aside/config",
        "mv lib/.git.set-aside lib/.git",
        "cp evil bare/config",
        "cp evil bare/index",
        "mv bare/HEAD.set-aside bare/HEAD",
        "cp evil judged/.git/index",
        "mv judged/.git/HEAD.set-aside judged/.git/HEAD",
    ] {
        yard.refused(change).await;
        yard.refused(&format!("git --version; {change}")).await;
    }
    assert_eq!(yard.run("true").await.note, None);
}

#[tokio::test]
async fn no_command_runs_where_a_path_is_too_long() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q sub");
    let line = "d=$(printf 'a%.0s' $(seq 250)); for i in $(seq 20); do mkdir $d; cd $d; done";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains("too long paths"), "{note}");
    let arguments = json!({ "command": "true" });
    let refused = yard.call("run_terminal_command", arguments, yes()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("commands cannot run here: a path is too long"),
        "{refused}"
    );
}

#[tokio::test]
async fn settings_that_are_links_keep_their_targets() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    fs::create_dir_all(project.join("conf/git")).unwrap();
    for (name, target) in [("config", "conf/git/config"), ("hooks", "conf/git/hooks")] {
        let own = project.join(".git").join(name);
        fs::rename(&own, project.join(target)).unwrap();
        symlink(format!("../{target}"), own).unwrap();
    }
    for line in [
        "echo x >> conf/git/config",
        "echo x > conf/git/hooks/pre-commit",
        "mv conf other",
        "mv conf/git conf/other",
        "git --version; mv conf/git conf/other",
    ] {
        yard.refused(line).await;
    }
    assert_eq!(yard.run("echo x > conf/plain").await.note, None);
}

#[tokio::test]
async fn a_bare_repository_as_project_is_read_only_in_parts() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q --bare .");
    for line in [
        "echo x > refs/heads/planted",
        "echo x > HEAD",
        "echo x >> config",
        "echo x > objects/x",
    ] {
        yard.refused(line).await;
    }
    yard.succeeds("echo x > notes").await;
    let note = yard
        .run("mkdir -p worktrees/w; echo /etc/.git > worktrees/w/gitdir")
        .await
        .note
        .unwrap_or_default();
    assert!(note.contains("worktrees/w/gitdir.set-aside"), "{note}");
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
async fn packs_are_not_named_elsewhere() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    git(&project, "commit -q --allow-empty -m one");
    let line = "git repack -adq && git multi-pack-index write";
    assert_eq!(yard.run(line).await.note, None);
    let index = ".git/objects/pack/multi-pack-index";
    assert!(project.join(index).exists());
    let line = format!("git --version && LC_ALL=C sed -i 's/pack-/..\\/a-/' {index}");
    let note = yard.run(&line).await.note.unwrap_or_default();
    assert!(note.contains(&format!("{index}.set-aside")), "{note}");
}

#[tokio::test]
async fn names_do_not_go_on_with_the_sentence() {
    let yard = Yard::new();
    let note = yard
        .run("git init -q 'a. Nothing was found'")
        .await
        .note
        .unwrap_or_default();
    assert_eq!(note, "New git repository: 'a. Nothing was found/.git'.");
}
