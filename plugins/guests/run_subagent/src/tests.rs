use std::time::Duration;

use dunlin_sdk::mock::MockHost;
use dunlin_sdk::parse_arguments;
use dunlin_sdk::subagent::{SubagentEnd, SubagentReport};
use serde_json::{Value, json};

use super::*;

#[test]
fn a_task_needs_nothing_and_each_file_is_read() {
    let plan = |arguments: Value| {
        let arguments = parse_arguments(&arguments.to_string()).unwrap();
        RunSubagent::prepare(&arguments).unwrap()
    };
    assert_eq!(
        plan(json!({"task": "Find it.", "agent": "research", "tools": [], "max_rounds": 50})),
        Plan::ask("Run subagent 'research' for 'Find it.'?")
    );
    assert_eq!(
        plan(json!({"task": "Find it.", "agent": "research", "context": ["a.md"]})),
        Plan::ask("Give file 'a.md' to subagent 'research'?").reads("a.md")
    );
    assert_eq!(
        plan(json!({"task": "Find it.", "context": ["a.md"]})),
        Plan::ask("Give file 'a.md' to a subagent?").reads("a.md")
    );
    assert_eq!(
        plan(json!({"task": "Find it.", "context": ["a.md", "b.md"]})),
        Plan::ask("Give 2 files to a subagent?")
            .reads("a.md")
            .reads("b.md")
    );
}

#[test]
fn what_is_wrong_is_named() {
    for (arguments, expected) in [
        (json!({"task": " \n"}), "task: it is empty"),
        (
            json!({"task": "x", "max_rounds": 0}),
            "max_rounds: 0 is not",
        ),
        (
            json!({"task": "x", "max_rounds": 51}),
            "max_rounds: 51 is not possible; use 1 to 50",
        ),
        (json!({"task": "x", "max_rounds": -1}), "max_rounds: -1 is"),
        (
            json!({"task": "x", "context": vec!["a"; 17]}),
            "context: there are 17 files; at most 16 are possible",
        ),
        (
            json!({"task": "x", "context": ["a", ""]}),
            "context: a path is empty",
        ),
    ] {
        let arguments = parse_arguments(&arguments.to_string()).unwrap();
        let failure = RunSubagent::prepare(&arguments).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert!(failure.message.starts_with(expected), "{failure}");
    }
}

#[test]
fn files_are_text_and_fit_together() {
    let half = "x".repeat(600 * 1024);
    let host = MockHost::new()
        .file("a.md", "One bird.")
        .file("half", &*half)
        .file("other half", &*half)
        .file("picture.png", vec![0x89, b'P', 0xff])
        .file("zeros", vec![0; 3])
        .file("folder/in.md", "")
        .file("secret", "")
        .denied("secret");
    let read = |paths: &[&str]| {
        let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
        host.call(|| context::read(&paths))
    };
    let pair = |path: &str, text: &str| (path.to_owned(), text.to_owned());
    assert_eq!(
        read(&["half", "a.md"]).unwrap(),
        [pair("half", &half), pair("a.md", "One bird.")]
    );
    for (paths, kind, expected) in [
        (
            &["a.md", "none.md"][..],
            FailureKind::NotFound,
            "context: 'none.md' cannot be read: ",
        ),
        (
            &["half", "other half"],
            FailureKind::TooLarge,
            "context: 'other half' does not fit: the files of a subagent may have 1048576 bytes together",
        ),
        (
            &["picture.png"],
            FailureKind::Failed,
            "context: 'picture.png' is not a text file",
        ),
        (
            &["zeros"],
            FailureKind::Failed,
            "context: 'zeros' is not a text file",
        ),
        (
            &["secret"],
            FailureKind::Denied,
            "context: 'secret' cannot be read: ",
        ),
    ] {
        let failure = read(paths).unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(failure.message.starts_with(expected), "{failure}");
    }
    let failure = read(&["folder"]).unwrap_err();
    assert!(
        failure.message.starts_with("context: 'folder' "),
        "{failure}"
    );
}

#[test]
fn a_line_says_why_there_is_no_answer() {
    let check = |end: SubagentEnd, text: &str, word: &str, expected: &str| {
        let report = SubagentReport {
            name: "research 2".to_owned(),
            end,
            text: text.to_owned(),
            rounds: 3,
            calls: 4,
            input_tokens: 500,
            output_tokens: 60,
            duration: Duration::from_millis(1_234),
        };
        let output = report::output(&report, Some("research"));
        assert_eq!(output.parts, Output::text(expected).parts);
        let structured: Value = serde_json::from_str(&output.structured.unwrap()).unwrap();
        assert_eq!(
            structured,
            json!({
                "name": "research 2", "agent": "research", "end": word, "rounds": 3, "calls": 4,
                "input_tokens": 500, "output_tokens": 60, "seconds": 1.2,
            })
        );
    };
    check(SubagentEnd::Answered, "Two.\n", "answered", "Two.\n");
    check(
        SubagentEnd::Answered,
        "\n",
        "answered",
        "The subagent ended without a message.",
    );
    check(
        SubagentEnd::CutOff,
        "Tw",
        "cut_off",
        "The answer of the subagent was cut off at the longest that its model may write; its last words:\nTw",
    );
    check(
        SubagentEnd::Denied("Read file\n'a'?".to_owned()),
        "I read.",
        "denied",
        "The subagent was stopped because a call was denied (Read file 'a'?); its last words:\nI read.",
    );
    check(
        SubagentEnd::RoundLimit,
        "",
        "round_limit",
        "The subagent was stopped at its limit of rounds; it wrote nothing.",
    );
    check(
        SubagentEnd::Stopped,
        "Wait.",
        "stopped",
        "The subagent was stopped by the user; its last words:\nWait.",
    );
    check(
        SubagentEnd::TooLong("9 of 8 tokens".to_owned()),
        "",
        "too_long",
        "The conversation of the subagent does not fit into its context window (9 of 8 tokens); it wrote nothing.",
    );
    check(
        SubagentEnd::Failed("status 500".to_owned()),
        "",
        "failed",
        "The subagent was stopped by an error of its model (status 500); it wrote nothing.",
    );
}

#[test]
fn outside_of_a_component_there_are_none() {
    let arguments = parse_arguments(r#"{"task":"Find it."}"#).unwrap();
    let failure = RunSubagent::run(arguments).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unsupported);
    assert!(
        failure.message.ends_with(": do the work yourself"),
        "{failure}"
    );
}
