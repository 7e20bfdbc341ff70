//! What a yes to a known program or to known words covers beyond the line that it was given to.

use super::everyday::{check, granted};
use crate::ask::Scope;
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
