//! What a yes to a known program or to known words covers beyond the line that it was given to.

use std::fs;
use std::os::unix::fs::symlink;

use super::everyday::{check, granted};
use super::machine::Machine;
use crate::ask::Scope;
use crate::command::CommandLine;
use crate::permission::Verdict;

#[test]
fn targets_of_make_are_the_same_among_harmless_options() {
    check(
        &[
            "make -j4 test",
            "make -j 4 test",
            "make -s test",
            "make -k --no-print-directory test",
            "make test lint",
            "make -s test -j2 lint",
            "cd sub && make -j4 test 2>&1 | head",
            "timeout 60 make -s test",
        ],
        Verdict::Allow,
    );
    check(
        &[
            "make",
            "make -j4",
            "make lint test",
            "make test test",
            "make test deploy",
            "make deploy",
            "make -j deploy",
            "make -f other test",
            "make -C sub test",
            "make -I sub test",
            "make -e test",
            "make --eval='x:=$(shell y)' test",
            "make --eval x test",
            "make CC=./x test",
            "make test lint CC=./x",
            "make test lint SHELL=./x",
            "MAKEFLAGS=-fx make test",
            "MAKEFILES=x make test",
            "make -s test && make",
            "make test *",
            "make test $x",
            "make ../x",
            "ls | make test",
        ],
        Verdict::Ask,
    );
}

/// Each of them may be denied alone, and so may several that follow one another.
#[test]
fn a_no_to_targets_of_make_is_found_among_options_and_other_targets() {
    let (machine, plugin) = granted();
    plugin.answer(&machine, "make lint", false, Scope::Always);
    plugin.answer(&machine, "make fetch deploy", false, Scope::Always);
    for line in [
        "make lint",
        "make -j4 lint",
        "make -j lint",
        "make test lint",
        "make -s lint test",
        "make A=b test lint",
        "make -f x lint",
        "make test && make -k lint",
        "time make test lint",
        "sh -c 'make test lint'",
        "env make -s lint",
        "make -s fetch -k deploy",
        "make test -s fetch deploy",
        "make fetch deploy A=b",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    for (line, verdict) in [
        ("make test", Verdict::Allow),
        ("make -j4 test", Verdict::Allow),
        ("make fetch", Verdict::Ask),
        ("make deploy fetch", Verdict::Ask),
    ] {
        assert_eq!(plugin.verdict(&machine, line), verdict, "{line}");
    }
}

#[test]
fn a_look_for_a_program_is_covered() {
    check(
        &[
            "which cargo",
            "which -a cargo ls | head",
            "which cargo && cargo test",
            "command -v cargo && cargo test",
            "command -v cargo || which cargo",
        ],
        Verdict::Allow,
    );
    check(
        &[
            "which $x",
            "which ls > x",
            "which cargo && cargo build",
            "command cargo && cargo test",
            "command -p cargo && cargo test",
            "command -pv cargo && cargo test",
            "command -V cargo && cargo test",
            "command -v -p cargo && cargo test",
            "$(which cargo) test",
            "./which ls",
        ],
        Verdict::Ask,
    );
}

#[test]
fn tests_of_python_are_looked_for_in_the_project_alone() {
    check(
        &[
            "python3 -m unittest -v",
            "python3 -m unittest c.py",
            "python3 -m unittest discover -v",
            "cd sub && python3 -m unittest discover 2>&1 | head",
        ],
        Verdict::Allow,
    );
    check(
        &[
            "python3 -m unittest discover sub",
            "python3 -m unittest discover -s sub",
            "python3 -m unittest discover -s ..",
            "python3 -m unittest discover -t ..",
            "python3 -m unittest discover -p '*.py'",
            "python3 -m unittest -v discover",
            "python3 -m unittest c",
            "python3 -m unittest ../c.py",
            "python3 -c x -m unittest discover",
            "python3 -X dev -m unittest discover",
            "PYTHONPATH=.. python3 -m unittest discover",
            "python3 -m pytest",
            "ls | python3 -m unittest discover",
        ],
        Verdict::Ask,
    );
}

#[test]
fn the_time_of_a_command_may_be_taken() {
    check(
        &[
            "time cargo test",
            "time  -p cargo test 2>&1 | head -5",
            "cd sub && time cargo test",
            "ls; time make test lint || exit 1",
            "time timeout 5 ls",
            "time cat c.py",
            "time wc -l *.py",
        ],
        Verdict::Allow,
    );
    check(
        &[
            "time cargo build",
            "time cargo test; cargo build",
            "time sh tool.sh",
            "time ./tool.sh",
            "time ./ls",
            "time cat .env",
            "time -o f cargo test",
            "time -of cargo test",
            "time -f x cargo test",
            "time -a -p cargo test",
            "time -p -o f cargo test",
            "time -v cargo test",
            "time -- cargo test",
            "time -p -- cargo test",
            "time --output=f cargo test",
            "time --p cargo test",
            "time -pv cargo test",
            "time -p -p cargo test",
            "time time cargo test",
            "time",
            "time -p",
            "time; ls",
            "time | head",
            // Some shells take these for names of programs.
            "ls | time head",
            "CI=1 time cargo test",
            "time CI=1 cargo test",
            "time cd sub && ls",
            "time echo a && ls",
            "time [ -f c.py ] && ls",
            "time if ls",
            "time ! ls",
            "time { ls; }",
            "time (ls)",
            "time $x",
            "time > f cargo test",
            "'time' cargo test",
            "\\time cargo test",
            "./time cargo test",
            "timeout 5 time cargo test",
            "command time cargo test",
            "exec time cargo test",
        ],
        Verdict::Ask,
    );
    let (machine, plugin) = granted();
    plugin.answer(&machine, "cargo test", false, Scope::Always);
    let line = "time -p cargo test";
    assert_eq!(plugin.verdict(&machine, line), Verdict::Deny);
    // To some shells it is a program.
    let (machine, plugin) = granted();
    let line = "time ls";
    assert_eq!(plugin.verdict(&machine, line), Verdict::Allow);
    machine.permissions.set("time", "---").unwrap();
    assert_eq!(plugin.verdict(&machine, line), Verdict::Deny);
}

/// Where there is no program `time`, only bash has a word of its own for it, and not always one with an option.
#[test]
fn time_without_a_program_is_for_the_shell_to_take() {
    let is_covered = |machine: &Machine, shell: &str, line: &str| {
        let permissions = Machine::permissions_with(machine.root(), shell);
        let read = CommandLine::read(line.to_owned(), false, &permissions).unwrap();
        !read.target.parts.is_empty()
    };
    let machine = Machine::new();
    let time = machine.root().join("bin/time");
    for shell in ["sh", "bash"] {
        assert!(is_covered(&machine, shell, "time -p cargo test"), "{shell}");
    }
    fs::remove_file(&time).unwrap();
    for (shell, line, expected) in [
        ("sh", "time cargo test", false),
        ("sh", "time -p cargo test", false),
        ("bash", "time cargo test", true),
        ("bash", "time -p cargo test", false),
    ] {
        assert_eq!(
            is_covered(&machine, shell, line),
            expected,
            "{shell}: {line}"
        );
    }
    // One that commands can change is none, and neither is another program of this name, or a script.
    for other in ["../project/tool.sh", "env"] {
        symlink(other, &time).unwrap();
        assert!(!is_covered(&machine, "bash", "time cargo test"), "{other}");
        fs::remove_file(&time).unwrap();
    }
    fs::copy(machine.root().join("bin/env"), &time).unwrap();
    assert!(is_covered(&machine, "sh", "time cargo test"));
    fs::write(&time, "#!/bin/sh\n").unwrap();
    assert!(!is_covered(&machine, "sh", "time cargo test"));
}
