//! The tool without a host: patterns, lines and answers.

mod lines;
mod pattern;
mod report;

use dunlin_sdk::{FailureKind, Plan, Tool, parse_arguments};

use crate::SearchText;

#[test]
fn a_call_needs_the_folder() {
    let check = |arguments: &str, expected: Plan| {
        let plan = SearchText::prepare(&parse_arguments(arguments).unwrap());
        assert_eq!(plan, Ok(expected), "{arguments}");
    };
    check(
        r#"{"pattern":"a b"}"#,
        Plan::ask("Search the project for 'a b'?").reads_all_in("."),
    );
    let long = "é".repeat(200);
    check(
        &format!(r#"{{"pattern":"{long}","path":"/etc"}}"#),
        Plan::ask(format!("Search '/etc' for '{}…'?", "é".repeat(120))).reads_all_in("/etc"),
    );
}

#[test]
fn what_is_wrong_is_named() {
    let check = |arguments: &str, expected: &str| {
        let failure = parse_arguments(arguments)
            .and_then(|arguments| SearchText::prepare(&arguments))
            .unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert!(failure.message.starts_with(expected), "{failure}");
    };
    check(r#"{"pattern":""}"#, "pattern: it is empty");
    check(
        r#"{"pattern":"a","max_results":0}"#,
        "max_results: 0 is not 1 to 1000",
    );
    check(
        r#"{"pattern":"a","context":21}"#,
        "context: 21 is not 0 to 20",
    );
    check(r#"{"pattern":"a","context":-1}"#, "context: ");
    check(
        r#"{"pattern":"a","show":"all"}"#,
        "show: unknown variant `all`",
    );
    check(
        r#"{"pattern":"a","globs":["{"]}"#,
        "globs: '{' is not a glob",
    );
}
