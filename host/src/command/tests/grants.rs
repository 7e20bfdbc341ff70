//! What an answer to one line is worth for another.

use std::fs;
use std::os::unix::fs::symlink;

use proptest::prelude::*;

use super::machine::{Caller1, Machine};
use crate::ask::Scope;
use crate::permission::Verdict;
use crate::target::{CommandTarget, Need};

#[test]
fn a_yes_covers_what_was_shown_and_nothing_else() {
    for scope in [Scope::Session, Scope::Always] {
        for (granted, covered, open) in [
            (
                "cargo test --lib",
                &["cargo test", "cargo test -p x name", "timeout 9 cargo test"][..],
                &[
                    "cargo build",
                    "cargo test --config x",
                    "cargo",
                    "rustup run stable cargo test",
                    "cargo test && ls",
                    "sh -c 'cargo test'",
                ][..],
            ),
            (
                "rustc --version",
                &["rustc --version"],
                &["rustc -V", "rustup --version", "rustup run stable sh -c x"],
            ),
            (
                "ls",
                &["ls -la", "nice ls /"],
                &["list", "./ls", "ls; git push"],
            ),
            (
                "rg x",
                &["rg -n y src"],
                &["rg --pre git y", "rg --pr=git y", "rg -z y"],
            ),
            (
                "innocent ls",
                &["innocent ls"],
                &["innocent git", "xargs ls", "xargs"],
            ),
            (
                "npm run lint",
                &["npm run lint -- gen.py", "npm run lint sub -s"],
                &[
                    "npm run build",
                    "npm run lint -- --fix",
                    "npm run lint --silent=--script-shell=./tool.sh",
                    "npm run lint --if-present=--prefix=/elsewhere",
                    "npm --silent exec x",
                    "npm exec x",
                    "npm run lint --script-shell=x",
                ],
            ),
        ] {
            let machine = Machine::new();
            let plugin = Caller1::new("1");
            plugin.answer(&machine, granted, true, scope);
            for line in covered {
                assert_eq!(
                    plugin.verdict(&machine, line),
                    Verdict::Allow,
                    "{granted}: {line}"
                );
            }
            for line in open {
                assert_eq!(
                    plugin.verdict(&machine, line),
                    Verdict::Ask,
                    "{granted}: {line}"
                );
            }
            // Another plugin was given nothing, nor was a later version of this one.
            let other = Caller1::new("2");
            assert_eq!(other.verdict(&machine, granted), Verdict::Ask, "{granted}");
        }
    }
}

#[test]
fn a_compound_line_is_allowed_for_the_session_exactly_as_it_stands() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cargo build | sort", true, Scope::Session);
    assert_eq!(
        plugin.verdict(&machine, "cargo build | sort"),
        Verdict::Allow
    );
    for line in [
        "cargo build |  sort",
        "cargo build | sort -o f",
        "cargo build",
        "sort",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
    }
    machine.permissions.forget_session();
    assert_eq!(plugin.verdict(&machine, "cargo build | sort"), Verdict::Ask);
}

/// What a chain of commands needs, and what makes it a line of its own.
#[test]
fn a_yes_to_each_command_covers_a_line_that_only_runs_them() {
    for scope in [Scope::Session, Scope::Always] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        for line in [
            "cargo test",
            "cargo build",
            "sort",
            "ls",
            "git status",
            "git add a",
            "sh tool.sh",
        ] {
            plugin.answer(&machine, line, true, scope);
        }
        let project = machine.root().join("project").display().to_string();
        for (line, verdict) in [
            ("cargo test 2>&1 | sort", Verdict::Allow),
            ("cargo test -p x && ls -l; sort f || ls", Verdict::Allow),
            ("ls | sort|sort -r;ls", Verdict::Allow),
            ("timeout 9 cargo test 2>&1|sort", Verdict::Allow),
            ("echo a '$x'; ls", Verdict::Allow),
            ("cd PROJECT && cargo test", Verdict::Allow),
            ("git status | sort", Verdict::Allow),
            ("git add a && git status && ls", Verdict::Allow),
            // The code of the project would run with the right to change the repository.
            ("git add a && cargo test", Verdict::Ask),
            ("cargo test; git add a", Verdict::Ask),
            // No promise says what it reads.
            ("ls | cargo test", Verdict::Ask),
            ("ls | git status", Verdict::Ask),
            // What the first one writes may be what the second one is.
            ("cargo test && sh tool.sh", Verdict::Ask),
            ("cargo test && ./ls", Verdict::Ask),
            // Names mean something else behind it.
            ("ls; cd PROJECT && cargo test", Verdict::Ask),
            ("cd PROJECT && cd sub && ls", Verdict::Ask),
            // One of them was not granted, or not in this form.
            ("cargo test | find . -name x", Verdict::Ask),
            ("cargo test --config x | sort", Verdict::Ask),
            ("ls | sort -o f", Verdict::Ask),
            // More than a chain of simple commands.
            ("ls > f; sort f", Verdict::Ask),
            ("ls | sort &", Verdict::Ask),
            ("ls & sort", Verdict::Ask),
            ("ls |& sort", Verdict::Ask),
            ("ls && (sort f)", Verdict::Ask),
            ("ls $x | sort", Verdict::Ask),
            ("ls | sort *", Verdict::Ask),
            ("ls | ! sort", Verdict::Ask),
            ("A=b ls | sort", Verdict::Ask),
            ("ls\nsort", Verdict::Ask),
            ("eval ls; sort", Verdict::Ask),
            ("ls; exec sort", Verdict::Ask),
            ("ls | sort;", Verdict::Ask),
            // As many as nobody reads.
            ("ls;ls;ls;ls;ls;ls;ls;ls;ls", Verdict::Ask),
        ] {
            let line = line.replace("PROJECT", &project);
            let found = plugin.verdict(&machine, &line);
            assert_eq!(found, verdict, "{scope:?}: {line}");
            let other = Caller1::new("2");
            assert_eq!(other.verdict(&machine, &line), Verdict::Ask, "{line}");
        }
        // A no to one of the commands, or to exactly the line, is the stronger one.
        plugin.answer(&machine, "ls | sort -u", false, scope);
        assert_eq!(plugin.verdict(&machine, "ls | sort -u"), Verdict::Deny);
        assert_eq!(plugin.verdict(&machine, "ls | sort"), Verdict::Allow);
        plugin.answer(&machine, "sort", false, scope);
        assert_eq!(plugin.verdict(&machine, "ls | sort"), Verdict::Deny);
    }
}

#[test]
fn a_permanent_yes_to_a_line_of_known_commands_is_one_to_each_of_them() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    let line = "cargo test -p x 2>&1 | sort -u";
    let read = machine.read(line).unwrap();
    assert_eq!(read.longest(false), Scope::Always);
    assert_eq!(
        read.target.describe(),
        "cargo test and sort, each with harmless arguments"
    );
    plugin.answer(&machine, line, true, Scope::Always);
    let root = machine.root().display();
    let rule = format!(
        "each of its commands is allowed: stored under $ {root}/bin/cargo test, for shell; \
         stored under {root}/bin/sort, for shell"
    );
    let (verdict, by) = plugin.decide(&machine, line);
    assert_eq!((verdict, by.to_string()), (Verdict::Allow, rule));
    for (line, verdict) in [
        ("cargo test", Verdict::Allow),
        ("sort f", Verdict::Allow),
        ("cargo build 2>&1 | sort", Verdict::Ask),
    ] {
        assert_eq!(plugin.verdict(&machine, line), verdict, "{line}");
    }
    // For the session it is a yes to the line, as it was shown.
    let machine = Machine::new();
    plugin.answer(&machine, line, true, Scope::Session);
    assert_eq!(plugin.verdict(&machine, line), Verdict::Allow);
    assert_eq!(plugin.verdict(&machine, "sort f"), Verdict::Ask);
}

#[test]
fn only_a_line_that_runs_git_for_more_than_looking_may_change_the_repository() {
    let machine = Machine::new();
    for (line, may) in [
        ("git status | sort", false),
        ("git log -n 1; git diff | sort", false),
        ("git add a && git commit -m b", true),
        ("git add a | sort", true),
        // Not each of its commands is known.
        ("git status | make", true),
    ] {
        let read = machine.read(line).unwrap();
        assert_eq!(read.may_change_repository, may, "{line}");
    }
}

/// Whatever is written to a file while the question stands.
#[test]
fn a_yes_is_one_to_what_the_file_held_when_the_line_was_shown() {
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        for line in ["python3 gen.py", "sh gen.py | cat"] {
            if line.contains('|') && scope == Scope::Always {
                continue;
            }
            let machine = Machine::new();
            let plugin = Caller1::new("1");
            let gen_py = machine.root().join("project/gen.py");
            fs::write(&gen_py, "shown").unwrap();
            let shown = machine.read(line).unwrap().needs().remove(0);
            fs::write(&gen_py, "another").unwrap();
            plugin.remember(&machine, shown, scope);
            assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
            fs::write(&gen_py, "shown").unwrap();
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        }
    }
}

/// A grant stays where it was given.
#[test]
fn a_link_moves_no_grant() {
    let machine = Machine::new();
    let root = machine.root().to_owned();
    let plugin = Caller1::new("1");
    let folder = root.join("project/tools");
    fs::create_dir(&folder).unwrap();
    machine
        .permissions
        .set(&format!("{}/", folder.display()), "rwx")
        .unwrap();
    fs::remove_dir(&folder).unwrap();
    symlink(root.join("bin"), &folder).unwrap();
    // The file is read again.
    machine.permissions.set("/somewhere", "r--").unwrap();
    assert_eq!(plugin.verdict(&machine, "docker ps"), Verdict::Ask);
    let target = machine.permissions.resolve_path("tools/docker").unwrap();
    for operation in [
        crate::target::Operation::Read,
        crate::target::Operation::Write,
    ] {
        let need = Need {
            target: target.clone(),
            operation,
        };
        let decision = machine.permissions.decide(&plugin.caller(), &need).unwrap();
        assert_eq!(decision.verdict, Verdict::Ask, "{operation:?}");
    }
    // A no holds for both places.
    machine
        .permissions
        .set(&format!("{}/", folder.display()), "---")
        .unwrap();
    fs::write(
        root.join("data/tool.permissions.json"),
        format!("{{\"{}/\": \"---\"}}", folder.display()),
    )
    .unwrap();
    assert_eq!(plugin.verdict(&machine, "docker ps"), Verdict::Deny);
}

#[test]
fn what_a_person_writes_covers_what_it_says() {
    let machine = Machine::new();
    let root = machine.root().display().to_string();
    let plugin = Caller1::new("1");
    let set = |target: &str, bits: &str| machine.permissions.set(target, bits).unwrap();
    assert_eq!(set("rustc", "??x"), format!("{root}/bin/rustc"));
    assert_eq!(
        plugin.verdict(&machine, "rustc -Clinker=x a.rs"),
        Verdict::Allow
    );
    // Under this name, not for everything that is the same file.
    assert_eq!(
        plugin.verdict(&machine, "rustup run stable sh"),
        Verdict::Ask
    );
    assert_eq!(set("git push", "--x"), format!("$ {root}/bin/git push"));
    assert_eq!(plugin.verdict(&machine, "git push --force"), Verdict::Allow);
    assert_eq!(plugin.verdict(&machine, "git pull"), Verdict::Ask);
    set("= git pull --all", "--x");
    assert_eq!(plugin.verdict(&machine, "git pull --all"), Verdict::Allow);
    assert_eq!(plugin.verdict(&machine, "git pull --all -x"), Verdict::Ask);
    // The most specific key decides.
    set("git push --force", "---");
    assert_eq!(
        plugin.verdict(&machine, "git push --force x"),
        Verdict::Deny
    );
    assert_eq!(plugin.verdict(&machine, "git push x"), Verdict::Allow);
    set(&format!("{root}/bin/"), "--x");
    set("docker", "---");
    assert_eq!(plugin.verdict(&machine, "perl x"), Verdict::Allow);
    assert_eq!(plugin.verdict(&machine, "docker ps"), Verdict::Deny);
    for wrong in ["git push | ls", "= git push | ls"] {
        if let Ok(key) = machine.permissions.set(wrong, "--x") {
            panic!("{wrong} is stored as {key}");
        }
    }
    assert!(machine.permissions.set("git push", "r--").is_err());
    // All of it can be taken back.
    for key in machine.permissions.list().unwrap() {
        assert!(machine.permissions.unset(&key.key).unwrap(), "{}", key.key);
    }
    assert_eq!(plugin.verdict(&machine, "perl x"), Verdict::Ask);
}

#[test]
fn grants_of_earlier_builds_are_asked_about_once_more() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    let bin = machine.root().join("bin");
    let old = |name: &str| {
        let key = bin.join(name).display().to_string();
        let permissions = format!("{{\"{key}\": \"??x\"}}");
        let digests = format!(
            "{{\"grants\":{{\"{key}\":{{\"execute\":[{{\"plugin\":\"shell\",\"digest\":\"1\"}}]}}}}}}"
        );
        let folder = machine.root().join("data");
        fs::write(folder.join("tool.permissions.json"), permissions).unwrap();
        fs::write(folder.join("tool.digests.json"), digests).unwrap();
    };
    for (stored, line) in [
        ("rustup", "rustc --version"),
        ("rustup", "rustup run stable sh"),
        ("cargo", "cargo test"),
        ("ls", "ls"),
    ] {
        old(stored);
        let (verdict, rule) = plugin.decide(&machine, line);
        assert_eq!(verdict, Verdict::Ask, "{line}");
        assert!(
            rule.to_string().contains("asks once more"),
            "{line}: {rule}"
        );
        plugin.answer(&machine, line, true, Scope::Always);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
}

/// Earlier builds stored a line for all projects.
#[test]
fn a_line_that_was_stored_for_all_projects_is_asked_about_once_more() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "git push", true, Scope::Always);
    let path = machine.root().join("data/tool.digests.json");
    let mut digests: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let grants = digests["grants"].as_object_mut().unwrap();
    for grant in grants.values_mut() {
        let runs = &mut grant["execute"][0]["runs"];
        assert!(runs.as_object_mut().unwrap().remove("folder").is_some());
    }
    fs::write(&path, digests.to_string()).unwrap();
    let (verdict, rule) = plugin.decide(&machine, "git push");
    assert_eq!(verdict, Verdict::Ask);
    assert!(
        rule.to_string().contains("stores it for one project"),
        "{rule}"
    );
    assert!(machine.permissions.list().unwrap()[0].lapsed.is_some());
    plugin.answer(&machine, "git push", true, Scope::Always);
    assert_eq!(plugin.verdict(&machine, "git push"), Verdict::Allow);
    assert!(machine.permissions.list().unwrap()[0].lapsed.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// A stored yes covers a line if and only if the line, or each command of it, would be stored under the same key.
    #[test]
    fn a_yes_covers_lines_of_the_same_key(
        lines in prop::collection::vec(
            (
                prop::sample::select(&["cargo", "git", "ls", "npm", "make", "rg", "timeout 5 cargo", "./tool.sh", "rustc", "xargs"][..]),
                prop::collection::vec(
                    prop::sample::select(&["test", "build", "run", "lint", "status", "--config", "-x", "--pre", "--", "x=y", "gen.py", "'a b'", "| ls", "-la", "push"][..]),
                    0..4,
                ),
            ),
            2..6,
        ),
    ) {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let lines: Vec<String> = lines
            .iter()
            .map(|(program, words)| format!("{program} {}", words.join(" ")))
            .collect();
        let granted = machine.read(&lines[0]).unwrap();
        prop_assume!(granted.target.is_storable);
        plugin.answer(&machine, &lines[0], true, Scope::Always);
        for line in &lines {
            let target = machine.read(line).unwrap().target;
            let is_same = |it: &CommandTarget| it.is_storable && it.key == granted.target.key;
            let is_of_same = !target.parts.is_empty() && target.parts.iter().all(|it| is_same(it));
            let is_covered = is_same(&target) || is_of_same;
            let verdict = plugin.verdict(&machine, line);
            prop_assert_eq!(verdict == Verdict::Allow, is_covered, "{} by {}", line, &lines[0]);
        }
    }
}
