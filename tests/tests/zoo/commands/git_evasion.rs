//! Commands that hide from Dunlin what they made of git repositories, or turn its own look at them against the user.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
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
    assert!(note.contains("x/.git. Dunlin moved it to "), "{note}");
    assert!(!project.join("x/.git").exists());
}

#[tokio::test]
async fn a_git_folder_of_many_names_is_set_aside_unread() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        fs::write(project.join("evil"), EVIL).unwrap();
        let line = "mkdir -p n/.git/objects n/.git/refs; cd n/.git; cp ../../evil config; echo 'ref: refs/heads/x' > HEAD; for i in $(seq 201); do : > z$i; done";
        let note = yard.run(line).await.note.unwrap_or_default();
        assert!(note.contains("n/.git. Dunlin moved it to "), "{note}");
        assert!(!project.join("n/.git").exists());
        // Also without a HEAD: the user's next `git init` would make one.
        let line = format!("{}; rm HEAD", line.replace("n/", "m/"));
        let note = yard.run(&line).await.note.unwrap_or_default();
        assert!(note.contains("m/.git. Dunlin moved it to "), "{note}");
    }
}

#[tokio::test]
async fn what_was_set_aside_stays_as_it_was() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::write(project.join("evil"), EVIL).unwrap();
    fs::write(project.join("make.sh"), "git init -q \"$@\"\n").unwrap();
    for line in [
        "sh make.sh --bare bare",
        "git init -q judged && cp evil judged/.git/config",
    ] {
        let note = yard.run(line).await.note.unwrap_or_default();
        assert!(note.contains("set aside"), "{line}: {note}");
    }
    for change in [
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
async fn a_setting_that_was_set_aside_stays_as_it_was() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    let todo = "mkdir .git/rebase-merge && echo 'exec x' > .git/rebase-merge/git-rebase-todo";
    let note = yard.run(&format!("git --version; {todo}")).await.note;
    let note = note.unwrap_or_default();
    assert!(note.contains(".git/rebase-merge.set-aside"), "{note}");
    for line in [
        "echo 'exec y' >> .git/rebase-merge.set-aside/git-rebase-todo",
        "mv .git/rebase-merge.set-aside .git/rebase-merge",
    ] {
        yard.refused(&format!("git --version; {line}")).await;
    }
    assert_eq!(yard.run("git --version").await.note, None);
}

/// A rebase in another terminal, for example.
#[tokio::test]
async fn what_the_user_does_in_a_repository_meanwhile_stays() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    yard.make_pipes(&["began", "go"]);
    let running = tokio::spawn(yard.start("echo > began && cat go > /dev/null"));
    yard.hear("began").await;
    let rebase = project.join(".git/rebase-merge");
    fs::create_dir(&rebase).unwrap();
    fs::write(rebase.join("git-rebase-todo"), "exec x\n").unwrap();
    git(&project, "config core.pager x");
    yard.say("go").await;
    assert_eq!(running.await.unwrap().note, None);
    assert!(rebase.join("git-rebase-todo").exists());
}

#[tokio::test]
async fn no_number_of_folders_hides_a_repository() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let deep = project.join("libs/x/y");
    fs::create_dir_all(&deep).unwrap();
    git(&deep, "init -q sub");
    assert_eq!(yard.run("true").await.note, None);
    // What is set aside takes no place from others, also from one that the user makes later.
    let line = "for i in $(seq 301); do mkdir -p a/$i/.git.set-aside/refs; done";
    yard.run(line).await;
    git(&deep, "init -q later");
    for name in ["sub", "later"] {
        let line = format!("git --version; echo x >> libs/x/y/{name}/.git/config");
        yard.refused(&line).await;
    }
    // Whichever of them are not kept as they are count as new.
    fs::write(project.join("evil"), EVIL).unwrap();
    let back = "git --version; for i in $(seq 301); do git=a/$i/.git; cp evil $git.set-aside/config && mkdir $git.set-aside/objects && echo 'ref: refs/heads/x' > $git.set-aside/HEAD && mv $git.set-aside $git; done 2> /dev/null; ls -d a/*/.git | wc -l";
    let run = yard.run(back).await;
    assert!(run.text.contains("\n1\n</stdout>"), "{run:?}");
    let mut left = (1..=301).map(|number| project.join(format!("a/{number}/.git/HEAD")));
    assert!(!left.any(|head| head.exists()), "{run:?}");
    assert_eq!(yard.run("git --version").await.note, None);
    for number in 0..301 {
        fs::create_dir_all(project.join(format!("b/{number}/.git/refs"))).unwrap();
    }
    let note = yard.run("git --version").await.note.unwrap_or_default();
    assert!(note.contains("More than 300 git repositories"), "{note}");
}

/// More folders than Dunlin looks at in one folder of a repository.
const FLOOD: &str = "mkdir .git/logs/f && cd .git/logs/f && seq 20010 | xargs mkdir";

#[tokio::test]
async fn no_number_of_folders_in_a_repository_hides_another_or_harms_the_rest() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::write(project.join("evil"), EVIL).unwrap();
    git(&project, "init -q .");
    git(&project, "commit -q --allow-empty -m one");
    git(&project, "worktree add -q tree");
    let make = "mkdir -p x/.git/objects x/.git/refs; cp evil x/.git/config; echo 'ref: refs/heads/x' > x/.git/HEAD";
    let note = yard.run(&format!("git --version; {make}; {FLOOD}")).await;
    let note = note.note.unwrap_or_default();
    assert!(note.contains("x/.git/HEAD.set-aside"), "{note}");
    assert!(note.contains("set aside as .git/logs.set-aside"), "{note}");
    assert!(!note.contains("not all git settings"), "{note}");
    assert!(!project.join("x/.git/HEAD").exists(), "{note}");
    for folder in [&project, &project.join("tree")] {
        assert_eq!(git(folder, "log --format=%s"), "one\n");
    }
    fs::remove_dir_all(project.join(".git/logs.set-aside")).unwrap();
    assert_eq!(yard.run("git --version; true").await.note, None);
}

#[tokio::test]
async fn no_number_of_new_repositories_hides_what_was_set_aside() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::write(project.join("evil"), EVIL).unwrap();
    let line = "git --version; for i in a $(seq 100); do mkdir -p $i/.git/objects $i/.git/refs; echo 'ref: refs/heads/x' > $i/.git/HEAD; done; cp evil a/.git/config; mv a 0";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains("New git repository"), "{note}");
    for name in ["HEAD", "config"] {
        let said = format!("set aside as 0/.git/{name}.set-aside");
        assert!(note.contains(&said), "{said}: {note}");
    }
}

/// Makes what would run a program or write elsewhere in the folder of a repository, behind many other names.
const HIDE: &str = "ln -s ../../../../outside/planted logs/planted; mkdir rebase-merge; echo 'exec x' > rebase-merge/git-rebase-todo; for i in $(seq 250); do : > junk$i; done";

#[tokio::test]
async fn no_number_of_names_in_a_repository_hides_a_setting() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q .");
        git(&project, "commit -q --allow-empty -m one");
        git(&project, "worktree add -q tree");
        for folder in [".git/worktrees/tree", ".git"] {
            let note = yard
                .run(&format!("git --version; cd {folder}; {HIDE}"))
                .await;
            let note = note.note.unwrap_or_default();
            let folder = project.join(folder);
            for name in ["logs/planted", "rebase-merge", "junk1", "junk250"] {
                let path = folder.join(name);
                assert!(path.symlink_metadata().is_err(), "{name}: {note}");
            }
            let mut names = fs::read_dir(&folder)
                .unwrap()
                .flatten()
                .map(|it| it.file_name());
            let is_aside = |name: OsString| name.as_bytes().starts_with(b"rebase-merge.set-aside");
            assert!(names.any(is_aside), "{folder:?}: {note}");
            assert!(folder.join("HEAD").exists(), "{note}");
            let said = "that can be git settings. Dunlin renamed 251 of them";
            assert!(note.contains(said), "{note}");
        }
    }
}

#[tokio::test]
async fn a_repository_with_too_much_to_protect_is_read_only() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    for number in 0..201 {
        fs::write(project.join(format!(".git/junk{number}")), "").unwrap();
    }
    for line in [
        "echo x > .git/junk0",
        "echo x > .git/refs/x",
        "mkdir .git/y",
    ] {
        yard.refused(&format!("git --version; {line}")).await;
    }
    let note = yard.run("git --version; true").await.note;
    let note = note.unwrap_or_default();
    assert!(
        note.contains(".git was read-only for the command"),
        "{note}"
    );
    assert_eq!(yard.run("true").await.note, None);
    for number in 0..10 {
        fs::remove_file(project.join(format!(".git/junk{number}"))).unwrap();
    }
    assert_eq!(
        yard.run("git --version; echo x > .git/refs/x").await.note,
        None
    );
}

#[tokio::test]
async fn a_part_of_a_repository_with_too_much_in_it_is_named() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    for number in 0..20_010 {
        fs::create_dir_all(project.join(format!(".git/refs/x/{number}"))).unwrap();
    }
    yard.refused("git --version; echo x > .git/refs/y").await;
    let note = yard.run("git --version; true").await.note;
    let note = note.unwrap_or_default();
    assert!(note.starts_with(".git/refs was read-only"), "{note}");
    assert_eq!(yard.run("true").await.note, None);
}

#[tokio::test]
async fn a_git_that_is_a_link_stays_whatever_the_user_does_there() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    fs::rename(project.join(".git"), project.join("store")).unwrap();
    std::os::unix::fs::symlink("store", project.join(".git")).unwrap();
    yard.make_pipes(&["began", "go"]);
    let running = tokio::spawn(yard.start("echo > began; cat go > /dev/null"));
    yard.hear("began").await;
    git(&project, "commit -q --allow-empty -m one");
    yard.say("go").await;
    assert_eq!(running.await.unwrap().note, None);
    assert!(project.join(".git").is_symlink());
    let line = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two";
    assert_eq!(yard.run(line).await.note, None);
    assert_eq!(git(&project, "log --format=%s"), "two\none\n");
}

#[tokio::test]
async fn a_repository_that_cannot_be_judged_cannot_be_used() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        git(&project, "init -q .");
        git(&project, "commit -q --allow-empty -m one");
        git(&project, "worktree add -q tree");
        let (head, tree) = (".git/HEAD", ".git/worktrees/tree/HEAD");
        let line =
            "git --version; cd .git; seq 20010 | xargs touch; ln -s ../../../outside/x logs/y";
        let note = yard.run(line).await.note.unwrap_or_default();
        let expected = "could not check everything in the git repository .git. So that git does not use it, Dunlin renamed HEAD to HEAD.set-aside in it";
        assert!(note.contains(expected), "{note}");
        for name in [head, tree] {
            assert!(!project.join(name).exists(), "{name}: {note}");
        }
        // Every command says it, and none takes it for the user's own.
        for line in ["true", "git --version; true"] {
            let note = yard.run(line).await.note.unwrap_or_default();
            assert!(
                note.contains("could not check everything"),
                "{line}: {note}"
            );
        }
        let aside = project.join(".git/HEAD.set-aside");
        fs::rename(&aside, project.join(head)).unwrap();
        yard.run("git --version; true").await;
        assert!(!project.join(head).exists());
        // What does not belong there is removed.
        for number in 1..=20_010 {
            fs::remove_file(project.join(format!(".git/{number}"))).unwrap();
        }
        fs::rename(&aside, project.join(head)).unwrap();
        yard.run("git --version; true").await;
        assert!(project.join(head).exists());
        assert!(project.join(".git/logs/y").symlink_metadata().is_err());
        assert_eq!(yard.run("git --version; true").await.note, None);
    }
}

/// What a command makes beside a known repository, and whatever that leads to, is looked at after it.
#[tokio::test]
async fn what_others_lead_to_hides_no_repository() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    let line = "mkdir -p '!/.git.set-aside' '!/grow'; echo ../grow > '!/.git.set-aside/commondir'; touch '!/grow/config'";
    yard.run(line).await;
    let line = "for i in $(seq 310); do mkdir -p \"!/grow/modules/$i\"; : > \"!/grow/modules/$i/config\"; done";
    yard.run(line).await;
    yard.refused("echo x >> .git/config").await;
}

/// A read-only mount protects a path, and not a file that has another name.
#[tokio::test]
async fn another_name_for_a_setting_is_found_in_a_protected_repository() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q lib");
    fs::hard_link(project.join("lib/.git/config"), project.join("c")).unwrap();
    let line = "printf '[core]\\n\\tfsmonitor = x\\n' >> c";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains("lib/.git/config.set-aside"), "{note}");
}

#[tokio::test]
async fn what_matters_is_said_first() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q mine");
    yard.make_pipes(&["began", "go"]);
    let line = "git --version; for i in $(seq 150); do mkdir -p $(printf 'u/%0200d/.git' $i); done; echo > began && cat go > /dev/null && printf '[core]\\n\\tfsmonitor = x\\n' >> mine/.git/config";
    let running = tokio::spawn(yard.start(line));
    yard.hear("began").await;
    git(&project, "-C mine config user.signature x");
    yard.say("go").await;
    let note = running.await.unwrap().note.unwrap_or_default();
    assert!(note.starts_with("mine/.git/config changed"), "{note}");
}

#[tokio::test]
async fn no_command_runs_where_a_path_is_too_long() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q sub");
    let line = "d=$(printf 'a%.0s' $(seq 250)); for i in $(seq 20); do mkdir $d; cd $d; done";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains("a path is too long"), "{note}");
    let arguments = json!({ "command": "true" });
    let refused = yard.call("run_terminal_command", arguments, yes()).await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("commands cannot run here: git repositories cannot be protected"),
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
        "echo x > packed-refs",
        "mkdir worktrees/w",
    ] {
        yard.refused(line).await;
    }
    yard.succeeds("echo x > notes").await;
}

#[tokio::test]
async fn what_is_granted_below_a_repository_is_looked_at() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    git(&project, "init -q .");
    git(&project, "init -q --bare .git/modules/sub");
    for granted in ["modules/sub/refs", "lfs"] {
        let granted = project.join(".git").join(granted);
        fs::create_dir_all(&granted).unwrap();
        let granted = format!("{}/", granted.display());
        yard.host.permissions().set(&granted, "?w?").unwrap();
    }
    let line = "ln -s /tmp .git/modules/sub/refs/heads/feat";
    let note = yard.run(line).await.note.unwrap_or_default();
    assert!(note.contains(".git/modules/sub/refs/heads/feat"), "{note}");
    fs::write(project.join("make.sh"), "git init -q .git/lfs/x").unwrap();
    let note = yard.run("sh make.sh").await.note.unwrap_or_default();
    assert!(
        note.contains(".git/lfs/x/.git. Dunlin moved it to "),
        "{note}"
    );
}

#[tokio::test]
async fn what_nobody_heard_is_said_after_the_next_command() {
    let yard = Yard::new();
    assert_eq!(yard.run("true").await.note, None);
    let baselines = fs::read_dir(yard.sandbox.root().join("data/commands")).unwrap();
    let baselines = baselines.map(|entry| entry.unwrap().path());
    let said = "lib/.git was moved.";
    for folder in baselines.filter(|path| path.is_dir()) {
        fs::write(folder.join("unheard"), json!([said]).to_string()).unwrap();
    }
    let note = yard.run("true").await.note.unwrap_or_default();
    assert!(note.contains(said), "{note}");
    assert_eq!(yard.run("true").await.note, None);
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
