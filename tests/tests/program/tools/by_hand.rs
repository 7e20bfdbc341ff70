//! `dunlin tools`: tools that are listed, shown, and called by hand.

use dunlin_tests::Provider;

use crate::stage::environment;

#[test]
fn tools() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "one\ntwo\n");
    environment.outside_file("b.txt", "outside");
    let check = |arguments: &[&str], status: i32, expected: &str| {
        let output = environment.command(arguments).guests(&["trap"]).run();
        assert_eq!(output.status, Some(status), "{arguments:?}: {output}");
        let text = if status == 0 {
            &output.stdout
        } else {
            &output.stderr
        };
        assert!(text.contains(expected), "{arguments:?}: {output}");
    };
    check(
        &["tools", "list"],
        0,
        "read_file            Reads a text file",
    );
    check(&["tools", "show", "read_file"], 0, "\"file_path\"");
    check(&["tools", "show", "read_fiel"], 2, "similar: read_file");
    check(&["tools"], 2, "Usage: ");
    let call = |arguments| ["tools", "call", "read_file", "--args", arguments];
    check(&call(r#"{"file_path":"a.txt"}"#), 0, "two");
    check(
        &call(r#"{"file_path":"../outside/b.txt"}"#),
        3,
        "Permission denied: Read file '../outside/b.txt'?",
    );
    check(&call(r#"{"file_path":"none.txt"}"#), 1, "none.txt");
    check(
        &call(r#"{"file":"a.txt"}"#),
        2,
        "the arguments of read_file do not fit",
    );
    check(&call("[1]"), 2, "--args is not a JSON object");
    check(&call("{"), 2, "--args is not a JSON object");
    check(
        &["tools", "call", "nothing"],
        2,
        "there is no tool named \"nothing\"",
    );
    check(&["tools", "call", "trap"], 1, "trap");
    // A command that failed has a result all the same.
    let allow = environment.run(["permissions", "allow", "run", "ls none.txt"]);
    assert_eq!(allow.status, Some(0), "{allow}");
    let list = ["tools", "call", "run_terminal_command", "--args"];
    let arguments = r#"{"command":"ls none.txt"}"#;
    let failed = environment.run([&list[..], &[arguments]].concat());
    assert_eq!(failed.status, Some(1), "{failed}");
    assert!(failed.stdout.contains("No such file"), "{failed}");
    // Why it failed is said once: below the line of the call.
    let failed = environment.run(call(r#"{"file_path":"none.txt"}"#));
    let reason = failed
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("error: "));
    let reason = reason.expect("an error").to_owned();
    assert_eq!(failed.stderr.matches(&reason).count(), 1, "{failed}");
    assert!(
        failed.stderr.contains("✗ read_file none.txt · failed"),
        "{failed}"
    );
}

#[test]
fn a_call_by_hand_can_be_approved() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.outside_file("b.txt", "the text outside");
    let arguments = r#"{"file_path":"../outside/b.txt"}"#;
    for (answer, status) in [("y", 0), ("n", 3), ("skip", 0), ("\x03", 130)] {
        let mut terminal =
            environment.terminal(["tools", "call", "read_file", "--args", arguments]);
        terminal.wait_for("allow?");
        terminal.type_line(answer);
        assert_eq!(terminal.wait_end(), Some(status), "{terminal:?}");
        assert_eq!(
            terminal.screen().contains("the text outside"),
            answer == "y"
        );
    }
}
