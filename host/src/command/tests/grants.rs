//! What an answer to one line is worth for another.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

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

#[test]
fn a_no_to_a_compound_line_is_for_this_line_alone() {
    for scope in [Scope::Session, Scope::Always] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        plugin.answer(&machine, "cargo build | sort", false, scope);
        assert_eq!(
            plugin.verdict(&machine, "cargo build | sort"),
            Verdict::Deny
        );
        for line in ["cargo build", "sort f", "git log | sort"] {
            assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
        }
    }
}

#[test]
fn a_no_to_words_or_to_a_program_is_read_generously() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cargo test", false, Scope::Always);
    for line in ["cargo test --config x", "nice cargo test -p x"] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    assert_eq!(plugin.verdict(&machine, "cargo build"), Verdict::Ask);
    for line in [
        "ls && cargo test",
        "sh -c 'cargo test -p x'",
        "xargs cargo test",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    plugin.answer(&machine, "git push", false, Scope::Always);
    assert_eq!(plugin.verdict(&machine, "ls; git push"), Verdict::Deny);
    assert_eq!(plugin.verdict(&machine, "ls; git push x"), Verdict::Ask);
    // By its own name, by the file behind a link, in the middle of another line.
    machine.permissions.set("rustup", "---").unwrap();
    for line in [
        "rustup show",
        "rustc --version",
        "ls | rustc -",
        "xargs rustup",
        "sh -c 'ls; rustc x'",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    assert_eq!(plugin.verdict(&machine, "rg rustup"), Verdict::Ask);
    for line in [
        "find . -exec rustup x +",
        "rg --pre rustup x",
        "sort --compress-program=rustup f",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    let key = machine.permissions.set("python3.11 -m pip", "---").unwrap();
    assert!(key.ends_with("/bin/python3.11 -m pip"), "{key}");
    assert_eq!(
        plugin.verdict(&machine, "python3 -m pip install x"),
        Verdict::Deny
    );
    assert_eq!(
        plugin.verdict(&machine, "ls; python3 -m pip"),
        Verdict::Deny
    );
}

/// What git does before it looks at its subcommand, and what a shell makes of its variables, gets round no denial.
#[test]
fn a_no_holds_where_options_or_variables_hide_the_command() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    for program in ["git", "bash", "cargo", "timeout"] {
        machine.permissions.set(program, "--x").unwrap();
    }
    let hidden = [
        "git -c alias.x=push x",
        "git --config-env=alias.x=E x",
        "git --exec-path=. x",
        "bash -c 'p=push; git $p'",
        "bash -c 'x=ls; $x docs'",
        "bash -c 'x=ls; timeout 5 $x docs'",
        "bash -c 'eval \"$x\"'",
        "timeout x bash -c '`printf ls`'",
    ];
    for line in hidden {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    // Nothing of this is a program.
    for (target, bits) in [("gen.py", "---"), ("sub/", "r--"), ("nothing", "---")] {
        machine.permissions.set(target, bits).unwrap();
    }
    assert_eq!(plugin.verdict(&machine, hidden[4]), Verdict::Allow);
    machine.permissions.set("sub/", "??-").unwrap();
    assert_eq!(plugin.verdict(&machine, hidden[4]), Verdict::Ask);
    machine.permissions.unset("sub/").unwrap();
    machine.permissions.set("git push", "---").unwrap();
    for line in [
        "git push",
        "git -C . push",
        "git -C . --no-pager push origin",
        "git --git-dir=.git push",
        "git -c x=y push",
        "timeout x git -C . push",
        "bash -c 'git -C \"$d\" push'",
        "ls; git -p push",
        "env -S 'git push'",
        "env '-Sgit push'",
        "env --split-string='git push'",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    for line in hidden {
        let (verdict, rule) = plugin.decide(&machine, line);
        assert_eq!(verdict, Verdict::Ask, "{line}");
        assert!(rule.to_string().contains("git push"), "{line}: {rule}");
    }
    for line in [
        "git -C . pull",
        "git pull",
        "cargo -v publish",
        "bash -c 'for f in *; do ls \"$f\"; done'",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    // Whoever was shown the line knows what it says.
    for line in hidden {
        plugin.answer(&machine, line, true, Scope::Session);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
}

/// A line that is made so long that what matters in it is not looked at is asked about, however far the tool is trusted.
#[test]
fn a_long_line_hides_nothing() {
    let machine = Machine::new();
    let many: String = (0..5_000).map(|number| format!("x{number}; ")).collect();
    let line = machine.read(&format!("{many} git push")).unwrap();
    assert!(line.target.is_incomplete);
    let repeated = machine
        .read(&format!("{} git push", "ls; ".repeat(100)))
        .unwrap();
    let mut programs = repeated.target.programs.iter();
    assert!(programs.any(|program| program.called.ends_with("git")));
    let names: String = (0..5_000).map(|number| format!(" f{number}")).collect();
    assert!(
        machine
            .read(&format!("cat{names} .env; ls"))
            .unwrap()
            .is_sensitive(true)
    );
    let short = format!("cat {} .env", "-,a ".repeat(400));
    assert_eq!(machine.read(&short).unwrap().guarded, machine.paths(".env"));
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
fn a_yes_ends_when_what_it_runs_changes() {
    for scope in [Scope::Session, Scope::Always] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let project = machine.root().join("project");
        let asks = |line: &str, why: &str| {
            let (verdict, rule) = plugin.decide(&machine, line);
            assert_eq!(verdict, Verdict::Ask, "{line}");
            assert!(rule.to_string().contains(why), "{line}: {rule}");
        };
        for line in [
            "./tool.sh",
            "python3 gen.py",
            "rustc --version",
            "sh sub/new.sh",
        ] {
            plugin.answer(&machine, line, true, scope);
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        }
        fs::write(project.join("tool.sh"), "evil").unwrap();
        asks("./tool.sh", "tool.sh has changed since");
        fs::write(project.join("gen.py"), "evil").unwrap();
        asks("python3 gen.py", "gen.py has changed since");
        fs::write(project.join("sub/new.sh"), "evil").unwrap();
        asks("sh sub/new.sh", "it names other files now");
        if scope == Scope::Always {
            let list = machine.permissions.list().unwrap();
            let lapsed = list.iter().filter(|stored| stored.lapsed.is_some());
            let mut keys: Vec<&str> = lapsed.map(|stored| stored.key.as_str()).collect();
            keys.retain(|key| key.contains("tool.sh") || key.contains("gen.py"));
            assert_eq!(keys.len(), 2, "{list:?}");
        }
        let link = machine.root().join("bin/rustc");
        fs::remove_file(&link).unwrap();
        symlink("perl", &link).unwrap();
        asks("rustc --version", "leads to another file now");
        // The newer answer counts.
        plugin.answer(&machine, "./tool.sh", true, scope);
        assert_eq!(plugin.verdict(&machine, "./tool.sh"), Verdict::Allow);
    }
}

/// What a line names by a link is bound to where the link leads.
#[test]
fn a_yes_ends_when_a_link_leads_elsewhere() {
    for scope in [Scope::Session, Scope::Always] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let project = machine.root().join("project");
        let lines = ["sh link.py", "sh out/perl", "sh missing.py", "python3 out"];
        for line in lines {
            plugin.answer(&machine, line, true, scope);
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        }
        let bin = machine.root().join("bin");
        let elsewhere = machine.root().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("perl"), "").unwrap();
        for (link, to) in [
            ("link.py", bin.join("git")),
            ("out", elsewhere),
            ("missing.py", bin.join("git")),
        ] {
            let link = project.join(link);
            let _ = fs::remove_file(&link);
            symlink(to, &link).unwrap();
        }
        for line in lines {
            assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
        }
    }
}

/// The same words mean another file in another project.
#[test]
fn a_yes_to_a_line_holds_in_its_project() {
    let mut machine = Machine::new();
    let plugin = Caller1::new("1");
    let root = machine.root().to_owned();
    fs::create_dir_all(root.join("other/sub")).unwrap();
    let lines = ["python3 sub", "git push", "sh missing.sh"];
    for line in lines.iter().chain(&["cargo test", "ls"]) {
        plugin.answer(&machine, line, true, Scope::Always);
    }
    let key = machine.permissions.set("docker ps", "--x").unwrap();
    assert!(key.starts_with("$ "), "{key}");
    machine.permissions = Machine::permissions_in(&root, "other", Vec::new());
    for line in lines {
        let (verdict, rule) = plugin.decide(&machine, line);
        assert_eq!(verdict, Verdict::Ask, "{line}");
        assert!(rule.to_string().contains("in another project"), "{rule}");
        plugin.answer(&machine, line, true, Scope::Always);
    }
    for line in ["cargo test", "ls", "docker ps"] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    let list = machine.permissions.list().unwrap();
    let push = list.iter().find(|it| it.key.ends_with("git push")).unwrap();
    let bound_to = push.bound_to.as_deref().unwrap();
    assert_eq!(bound_to.matches(" in ").count(), 2, "{bound_to}");
    // Each project has its own answer, and a no is for all.
    for project in ["project", "other"] {
        machine.permissions = Machine::permissions_in(&root, project, Vec::new());
        for line in lines {
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        }
    }
    plugin.answer(&machine, "git push", false, Scope::Always);
    machine.permissions = Machine::permissions_in(&root, "project", Vec::new());
    assert_eq!(plugin.verdict(&machine, "git push"), Verdict::Deny);
}

/// A file that a program takes as data, and changes itself, binds nothing: the yes would end with its first use.
#[test]
fn a_yes_does_not_end_when_data_changes() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    let project = machine.root().join("project");
    fs::write(project.join("notes.txt"), "a").unwrap();
    fs::write(project.join("edits.sed"), "s/a/b/").unwrap();
    let of_data = "sed -i s/a/b/ notes.txt";
    let of_code = "sed -i -f edits.sed notes.txt";
    // These run what the file holds.
    let runs = [
        "sed -n e notes.txt",
        "sed s/a/b/e notes.txt",
        "sed -i 's/a/[/]/e' notes.txt",
    ];
    for line in runs.into_iter().chain([of_data, of_code]) {
        plugin.answer(&machine, line, true, Scope::Always);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    fs::write(project.join("notes.txt"), "b").unwrap();
    assert_eq!(plugin.verdict(&machine, of_data), Verdict::Allow);
    for line in runs.into_iter().chain([of_code]) {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
    }
}

#[test]
fn a_program_that_is_put_before_another_one_is_another_one() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cargo test", true, Scope::Always);
    // A folder of the search path that commands can write to.
    let early = machine.root().join("missing");
    fs::create_dir(&early).unwrap();
    let path = early.join("cargo");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(plugin.verdict(&machine, "cargo test"), Verdict::Ask);
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

/// Ways in which a line can name the file that stands for `{}`.
const NAMINGS: &[&str] = &[
    "{}",
    "./{}",
    "sub/../{}",
    "--file={}",
    "-f{}",
    "x:{}",
    "@{}",
    "x,{}",
    "{},x",
    "{}:12",
    "-C sub {}",
    "-C sub ../{}",
    "'sh {} --fast'",
    "'exec(open(\"{}\").read())'",
    "'x; . ./{}|y'",
    "'$PWD/{}'",
    "'sh -c \"sh {}\"'",
    "'a b={} c'",
    "'`{}`'",
    "'[{}]'",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a line names a file, a yes to it ends when that is another file, or has other content.
    #[test]
    fn a_yes_is_bound_to_what_is_named(
        program in prop::sample::select(&["sh", "python3", "env", "make", "perl", "busybox", "./tool.sh"][..]),
        naming in prop::sample::select(NAMINGS),
        file in prop::sample::select(&["gen.py", "a,b.py", "link.py", "sub/in.py", "out/perl", "missing.py"][..]),
        is_session in any::<bool>(),
        is_replaced in any::<bool>(),
    ) {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let line = format!("{program} {}", naming.replace("{}", file));
        let target = machine.read(&line).unwrap().target;
        prop_assume!(matches!(target.key, crate::target::CommandKey::Line(_)));
        let scope = if is_session { Scope::Session } else { Scope::Always };
        plugin.answer(&machine, &line, true, scope);
        prop_assert_eq!(plugin.verdict(&machine, &line), Verdict::Allow, "{}", line);
        let path = machine.root().join("project").join(file);
        if is_replaced {
            let _ = fs::remove_file(&path);
            symlink(machine.root().join("bin/ssh"), &path).unwrap();
        } else {
            fs::write(&path, "evil").unwrap();
        }
        prop_assert_eq!(plugin.verdict(&machine, &line), Verdict::Ask, "{}", line);
    }
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
