//! Hooks that fail, or cannot run: each is named with its place.

use dunlin_tests::{Provider, Response};

use super::{hook, result, write};
use crate::stage::{environment, read};

#[test]
fn a_hook_that_fails_denies_and_is_named() {
    let mut said = String::new();
    for (script, more) in [
        ("echo broken >&2; exit 2", ""),
        ("echo fine", ""),
        ("sleep 60", "timeout_secs = 1"),
        ("no-such-program", ""),
        ("head -c 70000 /dev/zero", ""),
    ] {
        let provider = Provider::play([read("a.txt"), Response::reply("Done.")]);
        let environment = environment(&provider);
        environment.project_file("a.txt", "secret of the project");
        environment.configure_more("", &hook("before-call", script, more));
        let output = environment.run(["ask", "read"]);
        assert_eq!(output.status, Some(3), "{output}");
        let told = result(&provider, 1);
        said.push_str(&format!("{}told: {told}\n\n", environment.transcript()));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn a_hook_that_fails_after_an_edit_is_named_and_takes_nothing_away() {
    let provider = Provider::play([write("a.txt", "x"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("after-edit", "exit 3", ""));
    let output = environment.run(["ask", "--allow-tool", "write_file", "write"]);
    assert_eq!(output.status, Some(0), "{output}");
    insta::assert_snapshot!(output);
    assert!(!result(&provider, 1).contains("exit 3"));
    assert!(environment.project().join("a.txt").exists());
}

#[test]
fn mistakes_in_a_configuration_are_said_with_their_place() {
    let mut said = String::new();
    for (more, status) in [
        ("event = \"before_call\"\ncommand = 'a'", 2),
        ("event = \"before-call\"\ncommand = 3", 2),
        ("event = \"before-call\"\ncommand = 'a'\ntool = []", 2),
        ("event = \"turn-end\"\ncommand = 'a'\ntools = ['x']", 2),
        ("event = \"turn-end\"\ncommand = 'a'\ntimeout_secs = 0", 2),
        (
            "event = \"before-call\"\ncommand = 'a'\ntools = ['edit_fiel']",
            0,
        ),
    ] {
        let environment = environment(&Provider::play([]));
        environment.configure_more("", &format!("[[hook]]\n{more}"));
        let output = environment.run(["config", "check"]);
        assert_eq!(output.status, Some(status), "{more}: {output}");
        said.push_str(&format!("{more}\n{}", environment.transcript()));
    }
    insta::assert_snapshot!(said);
}

#[test]
fn what_a_hook_will_not_find_is_said_beforehand() {
    let environment = environment(&Provider::play([]));
    environment.project_file("src/main.rs", "fn main() {}\n");
    environment.project_file("check.sh", "#!/bin/sh\n");
    let hooks = [
        "no-such-formatter src/main.rs",
        "sh check.sh && no-such-linter",
        "./gone.sh",
    ];
    let hooks = hooks.map(|script| hook("after-edit", script, ""));
    environment.configure_more("", &hooks.concat());
    let output = environment.run(["config", "check"]);
    assert_eq!(output.status, Some(0), "{output}");
    let said = output.stderr.replace("\n│ ", " ");
    assert!(
        !said.contains("check.sh") && !said.contains("\"sh\""),
        "{output}"
    );
    insta::assert_snapshot!(environment.transcript());
}
