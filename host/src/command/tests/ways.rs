//! Names that lead elsewhere for the command, that change what they are, or that are known only when the line runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::machine::{Caller1, Machine};
use crate::ask::Scope;
use crate::command::CommandLine;
use crate::permission::Verdict;
use crate::target::CommandKey;

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Quotes take its meaning from `~`, so the shell runs and the program reads what lies in the project.
#[test]
fn a_quoted_tilde_is_a_name() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    let root = machine.root().to_owned();
    let project = root.join("project");
    fs::create_dir(project.join("~/bin")).unwrap();
    program(&project.join("~/bin/ls"), "evil");
    symlink(project.join(".env"), project.join("~/notes.txt")).unwrap();
    for name in ["ls", "cat", "cargo"] {
        let path = root.join("bin").join(name).display().to_string();
        machine.permissions.set(&path, "--x").unwrap();
    }
    for line in [
        "'~/bin/ls' -l",
        "\"~/bin/ls\"",
        "'~'/bin/ls",
        "timeout 5 '~/bin/ls'",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
        let covers = machine.read(line).unwrap().target.covers.clone();
        assert_eq!(covers, [project.join("~/bin/ls")], "{line}");
    }
    for line in ["cat '~/notes.txt'", "cat '~/notes.txt' | cat"] {
        let read = machine.read(line).unwrap();
        assert_eq!(read.guarded, [project.join(".env")], "{line}");
    }
    // A shell within the line expands it, and so it does in a line that is not simple.
    fs::create_dir(root.join(".ssh")).unwrap();
    fs::write(root.join(".ssh/id_rsa"), "").unwrap();
    for line in [
        "sh -c 'cat ~/.ssh/id_rsa'",
        "cat ~/.ssh/id_rsa",
        "ls; cat ~/.ssh/id_rsa",
    ] {
        let read = machine.read(line).unwrap();
        assert_eq!(read.guarded, [root.join(".ssh/id_rsa")], "{line}");
    }
    machine.permissions.set("docker", "---").unwrap();
    for line in [
        "~/bin/docker ps",
        "sh -c '~/bin/docker ps'",
        "ls | ~/bin/docker x",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
}

/// Where Dunlin and the command find different files, no yes of before counts, and none is kept.
#[test]
fn what_the_command_may_find_elsewhere_is_asked_about_each_time() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    let root = machine.root().display().to_string();
    let project = machine.root().join("project");
    for (name, target) in [
        ("notes.txt", "/proc/2/cwd/.env"),
        ("circle", "circle"),
        ("there", "gen.py"),
    ] {
        symlink(target, project.join(name)).unwrap();
    }
    for name in ["ls", "cat", "node", "timeout"] {
        let path = format!("{root}/bin/{name}");
        machine.permissions.set(&path, "--x").unwrap();
    }
    for line in [
        &format!("/proc/self/root{root}/bin/ls -l"),
        &format!("timeout 5 /proc/self/root{root}/bin/ls -l"),
        &format!("/proc/self/root{root}/bin/timeout 5 ls"),
        "cat /proc/2/cwd/.env",
        "cat /proc/self/cwd/missing",
        "cat notes.txt",
        "cat circle",
        "cat circle/x",
        "cat --file=/proc/2/cwd/x",
        "node /proc/2/cwd/evil",
        "cat notes.txt | cat",
        "ls < notes.txt",
    ] {
        plugin.answer(&machine, line, true, Scope::Session);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
        let read = machine.read(line).unwrap();
        assert!(read.is_sensitive(true), "{line}");
        assert_eq!(read.longest(true), Scope::Once, "{line}");
        assert!(!read.target.is_storable, "{line}");
        let notices = read.notices(true, &|_| false).join(" ");
        assert!(notices.contains("/proc, or something"), "{line}: {notices}");
    }
    let long = format!("cat {}", "x".repeat(300));
    for line in ["cat there", "cat missing", "cat gen.py/x", &long] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    // A no holds all the same.
    let ls = format!("{root}/bin/ls");
    machine.permissions.set(&ls, "---").unwrap();
    let line = format!("/proc/self/root{root}/bin/ls -l");
    assert_eq!(plugin.verdict(&machine, &line), Verdict::Deny);
}

/// The kernel keeps what other programs take for blanks.
#[test]
fn a_script_with_an_unusual_interpreter_is_allowed_only_once() {
    let machine = Machine::new();
    for (end, longest) in [
        ("", Scope::Always),
        (" \t", Scope::Always),
        ("\r", Scope::Once),
        ("\u{b}", Scope::Once),
        ("\u{a0}", Scope::Once),
    ] {
        machine.script("run", "#!/bin/sh\n");
        machine.script("start.sh", &format!("#!./run{end}\n"));
        let read = machine.read("./start.sh").unwrap();
        assert_eq!(read.longest(true), longest, "{end:?}");
    }
}

#[test]
fn a_yes_ends_when_a_name_becomes_something_else() {
    for scope in [Scope::Session, Scope::Always] {
        for (line, folder, file) in [
            ("python3 -m gen", "gen", ""),
            ("python3 -umgen", "gen", ""),
            ("python3 -m tools.gen", "tools", ""),
            ("node gen", "gen", ""),
            ("make -C build", "build", ""),
            ("node sub/in", "", "sub/in.js"),
            ("node sub/in", "sub/in.mjs", ""),
            // Another program than the one that was found.
            ("env cargo x", "", "../missing/cargo"),
            ("./by-env", "", "../missing/python3"),
        ] {
            let machine = Machine::new();
            let plugin = Caller1::new("1");
            let project = machine.root().join("project");
            fs::create_dir(machine.root().join("missing")).unwrap();
            machine.script("by-env", "#!/usr/bin/env python3\n");
            plugin.answer(&machine, line, true, scope);
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
            if !folder.is_empty() {
                fs::create_dir(project.join(folder)).unwrap();
            }
            if !file.is_empty() {
                program(&project.join(file), "");
            }
            assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
        }
    }
}

#[test]
fn a_yes_to_a_compound_line_is_bound_to_its_programs_and_files() {
    let lines = [
        ("ls f | sort", "../missing/sort"),
        ("cat gen.py | sort && ls", "../missing/cat"),
        ("cargo test 2>&1 | sort", "../missing/cargo"),
        ("for f in a b; do git add x; done", "../missing/git"),
        ("sh -c 'ls | sort'", "../missing/sort"),
        ("sh r.sh | cat", "r.sh"),
        ("cat r.sh | sh", "r.sh"),
        ("sh < r.sh", "r.sh"),
        (". ./r.sh", "r.sh"),
        ("exec ./r.sh", "r.sh"),
        ("A=1 ./r.sh", "r.sh"),
        ("cd sub && ./in.py", "sub/in.py"),
        ("PATH=sub:$PATH ls; x=1 ls", "sub/ls"),
        ("PATH=sub ls", "sub/ls"),
        ("function ls { ./r.sh; }; ls", "r.sh"),
        ("eval './r.sh'; ls", "r.sh"),
        ("make -C sub; ls", "r.sh"),
        ("env X=1 ./r.sh && ls", "r.sh"),
        ("node new; ls", "new.js"),
    ];
    for (line, changed) in lines {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let project = machine.root().join("project");
        fs::create_dir(machine.root().join("missing")).unwrap();
        machine.script("r.sh", "#!/bin/sh\n");
        plugin.answer(&machine, line, true, Scope::Session);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        program(&project.join(changed), "evil");
        let is_bound = !line.starts_with("make");
        let expected = if is_bound {
            Verdict::Ask
        } else {
            Verdict::Allow
        };
        assert_eq!(plugin.verdict(&machine, line), expected, "{line}");
    }
}

/// Where something is known of each command, what they read may change.
#[test]
fn a_yes_to_a_compound_line_of_known_commands_is_bound_to_no_file() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    let project = machine.root().join("project");
    for line in [
        "cat gen.py | sort",
        "cargo test 2>&1 | sort",
        "git status && ls sub",
        "ls > gen.py",
    ] {
        plugin.answer(&machine, line, true, Scope::Session);
        fs::write(project.join("gen.py"), line).unwrap();
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
}

#[test]
fn what_is_known_only_when_a_line_runs_is_allowed_only_once() {
    let machine = Machine::new();
    machine.script("r.sh", "#!/bin/sh\n");
    let many: String = (0..20).map(|number| format!(" f{number}")).collect();
    for name in many.split_whitespace() {
        fs::write(machine.root().join("project").join(name), "").unwrap();
    }
    for line in [
        "./r.sh $HOME",
        "$x",
        "sort *.py",
        "for f in *; do sh \"$f\"; done",
        "sh `ls`",
        "eval \"$x\"",
        "sh -c 'ls; $x'",
        "function f { sh $(cat list); }; f",
        "function f { sh *.t; }; f",
        "set -- a; for i do sh $(cat list); done",
        "bash <<'E'\nsh $(cat list)\nE",
        "bash <<< 'sh *.t'",
        "echo 'sh *.t' | sh",
        "echo x | bash -xs a",
        &format!("cat{many} | sh"),
        &format!("ls; ls {}", "x".repeat(3_000)),
    ] {
        let read = machine.read(line).unwrap();
        assert_eq!(read.longest(true), Scope::Once, "{line}");
        assert!(!read.is_sensitive(true), "{line}");
        let notices = read.notices(true, &|_| false).join(" ");
        assert!(notices.contains("holds only once"), "{line}: {notices}");
    }
    for line in [
        "cargo build && make",
        "cd sub; cargo test 2>&1 | sort",
        "A=1 cargo test",
        "ls > out.txt",
        "~/bin/ls -l",
        "./r.sh | sort",
        "sh -c './r.sh && ls'",
        "if ls; then ./r.sh; fi",
        "cat 'a b' | make",
    ] {
        let read = machine.read(line).unwrap();
        assert_eq!(read.longest(true), Scope::Session, "{line}: {read:?}");
    }
}

/// Whatever a program does by itself, it runs what is in its libraries.
#[test]
fn nothing_is_known_of_programs_that_load_what_commands_can_change() {
    let machine = Machine::new();
    for (name, value, is_known) in [
        ("LD_LIBRARY_PATH", "/missing:ROOT/bin", true),
        ("LD_LIBRARY_PATH", "/missing:ROOT/project/lib", false),
        ("LD_LIBRARY_PATH", "ROOT/bin:ROOT/project/out", false),
        ("LD_PRELOAD", "x.so ROOT/project/x.so", false),
        ("JAVA_HOME", "ROOT/project/java", true),
    ] {
        let value = value.replace("ROOT", &machine.root().display().to_string());
        let variables = vec![(name.into(), value.clone().into())];
        let permissions = Machine::permissions_in(machine.root(), "project", variables);
        let is_line = |line: &str| {
            let read = CommandLine::read(line.to_owned(), false, &permissions).unwrap();
            matches!(&read.target.key, CommandKey::Line(_))
        };
        assert_eq!(is_line("ls -l"), !is_known, "{name}={value}");
        // It runs the project's code in any case.
        assert!(!is_line("cargo test"), "{name}={value}");
    }
}
