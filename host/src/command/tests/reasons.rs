//! Because of which of its commands a line is asked about, and what a permanent yes stores then.

use super::machine::{Caller1, Machine};
use crate::ask::Scope;
use crate::permission::Verdict;

/// What is stored already is neither listed nor stored again, and is named beside what the line is asked about for.
#[test]
fn a_line_is_asked_about_because_of_the_commands_that_are_not_allowed_yet() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cargo build", true, Scope::Always);
    plugin.answer(&machine, "ls", true, Scope::Session);
    let look = |line: &str| {
        let read = machine.read(line).unwrap();
        let is_allowed = |it: &_| machine.permissions.allows_command(&plugin.caller(), it);
        let notices = read.notices(false, &is_allowed).join(" ");
        let stored = machine
            .permissions
            .to_be_stored(&plugin.caller(), &read.needs()[..1]);
        let stored: Vec<String> = stored
            .unwrap()
            .iter()
            .map(|need| need.target.to_string())
            .collect();
        let stored = stored
            .join(", ")
            .replace(&*machine.root().to_string_lossy(), "");
        (notices, stored)
    };
    for (line, notices, stored) in [
        (
            "cargo build && cargo test 2>&1 | sort",
            "Because of cargo test and sort; cargo build is allowed already.",
            "$ /bin/cargo test, /bin/sort",
        ),
        // A yes for the session is one for now.
        (
            "ls && cargo build && sort a; sort b",
            "Because of sort; ls and cargo build are allowed already.",
            "/bin/ls, /bin/sort",
        ),
        // Nothing of it is allowed, and all of it can be: the line itself says what is asked.
        ("cargo test | sort", "", "$ /bin/cargo test, /bin/sort"),
        (
            "cargo build && git push 2>&1 | sort",
            "Can't be stored because of git push; s allows exactly this line. It may change the git repository.",
            "= cargo build && git push 2>&1 | sort",
        ),
        (
            "cargo test && make",
            "Can't be stored because of make; s allows exactly this line.",
            "= cargo test && make",
        ),
        (
            "cargo test && git add a",
            "Can't be stored because of git add beside cargo test; s allows exactly this line. \
             It may change the git repository.",
            "= cargo test && git add a",
        ),
        (
            "cargo build; cd sub && sort f",
            "Can't be stored because of cd sub; s allows exactly this line.",
            "= cargo build; cd sub && sort f",
        ),
        (
            "sort a > b",
            "Can't be stored because of a redirection; s allows exactly this line.",
            "= sort a > b",
        ),
        (
            "sort a; sort b; sort c; sort d; sort e; sort f; sort g; sort h; sort i",
            "Can't be stored as it has more than 8 commands; s allows exactly this line.",
            "= sort a; sort b; sort c; sort d; sort e; sort f; sort g; sort h; sort i",
        ),
        (
            "echo hi",
            "Can't be stored as echo is a shell builtin; s allows exactly this line.",
            "= echo hi",
        ),
        (
            "ls $x",
            "Not all that it runs and reads is known beforehand (a variable): a yes holds only once.",
            "= ls $x",
        ),
        ("ls ../x && ls", "", "/bin/ls"),
        (
            "cd .. && ls",
            "A yes holds only once, as it goes up (..).",
            "= cd .. && ls",
        ),
        (
            "python3 gen.py .. ../..",
            "A yes holds only once, as it goes up (..).",
            "= /bin/python3 gen.py .. ../..",
        ),
        (
            "python3 gen.py | sort",
            "Can't be stored because of python3 gen.py; s allows exactly this line.",
            "= python3 gen.py | sort",
        ),
        (
            "for f in a b; do sort f; done",
            "Can't be stored because of a loop; s allows exactly this line.",
            "= for f in a b; do sort f; done",
        ),
        (
            "cargo test; if ls; then sort f; fi",
            "Can't be stored because of a condition; s allows exactly this line.",
            "= cargo test; if ls; then sort f; fi",
        ),
        (
            "cargo build | sort > f",
            "Can't be stored because of a redirection; s allows exactly this line.",
            "= cargo build | sort > f",
        ),
        (
            "cd sub && cargo test a*",
            "Not all that it runs and reads is known beforehand (a pattern): a yes holds only once.",
            "= cd sub && cargo test a*",
        ),
        (
            "python3 gen.py out",
            "Can't be stored as it names the folder out by way of a link; s allows exactly this line.",
            "= /bin/python3 gen.py out",
        ),
        (
            "sleep 3; echo > f",
            "Can't be stored because of a redirection; s allows exactly this line.",
            "= sleep 3; echo > f",
        ),
        (
            "sort f; cargo test &",
            "Can't be stored because of a command in the background; s allows exactly this line.",
            "= sort f; cargo test &",
        ),
        (
            "sort f;",
            "Can't be stored because of several commands; s allows exactly this line.",
            "= sort f;",
        ),
        (
            "pwd && echo hi",
            "Can't be stored as the shell carries out all of it itself; s allows exactly this line.",
            "= pwd && echo hi",
        ),
        (
            "bash -c 'git push; ls'",
            "Can't be stored as a word in it may be code; s allows exactly this line.",
            "= /bin/bash -c 'git push; ls'",
        ),
        (
            "bash -c 'sort $x'",
            "Not all that it runs and reads is known beforehand: a yes holds only once.",
            "= /bin/bash -c 'sort $x'",
        ),
        (
            "sort 'a\u{200b}' b",
            "Can't be stored because of an invisible character; s allows exactly this line.",
            "= sort 'a\u{200b}' b",
        ),
        ("make", "", "= /bin/make"),
    ] {
        let found = look(line);
        assert_eq!(found, (notices.to_owned(), stored.to_owned()), "{line}");
    }
    // What was shown is what is stored, whatever is taken back meanwhile.
    let line = "cargo build && cargo test";
    let needs = machine.read(line).unwrap().needs();
    let permissions = &machine.permissions;
    let stored = permissions.to_be_stored(&plugin.caller(), &needs).unwrap();
    let root = machine.root().display();
    permissions
        .unset(&format!("$ {root}/bin/cargo build"))
        .unwrap();
    plugin.store(&machine, &stored);
    assert_eq!(plugin.verdict(&machine, "cargo test"), Verdict::Allow);
    assert_eq!(plugin.verdict(&machine, "cargo build"), Verdict::Ask);
}
