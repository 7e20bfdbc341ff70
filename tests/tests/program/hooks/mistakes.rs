//! Hooks that fail, or cannot run: each is named with its place.

use dunlin_tests::{Provider, Response};

use super::{hook, result, write};
use crate::stage::{environment, read};

#[test]
fn a_hook_that_fails_denies_and_is_named() {
    let cases = [
        ("echo broken >&2; exit 2", "", "exit status 2: broken"),
        ("echo fine", "", "the output is neither empty nor"),
        ("sleep 60", "timeout_secs = 1", "): stopped after 1 s"),
        ("no-such-program", "", "no-such-program"),
        ("head -c 70000 /dev/zero", "", "it printed more than 64 KiB"),
    ];
    for (script, more, why) in cases {
        let provider = Provider::play([read("a.txt"), Response::reply("Done.")]);
        let environment = environment(&provider);
        environment.project_file("a.txt", "secret of the project");
        environment.configure_more("", &hook("before-call", script, more));
        let output = environment.run(["ask", "read"]);
        assert_eq!(output.status, Some(3), "{output}");
        let result = result(&provider, 1);
        let start = format!("ERROR: Permission denied by the hook `{script}`: it failed (~");
        assert!(result.starts_with(&start), "{result}");
        let place = "config.toml:";
        assert!(result.contains(place) && result.contains(why), "{result}");
        assert!(output.stderr.contains(why), "{output}");
    }
}

#[test]
fn a_hook_that_fails_after_an_edit_is_named_and_takes_nothing_away() {
    let provider = Provider::play([write("a.txt", "x"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", &hook("after-edit", "exit 3", ""));
    let output = environment.run(["ask", "--allow-tool", "write_file", "write"]);
    assert_eq!(output.status, Some(0), "{output}");
    let output_in_one = output.stderr.replace("\n│ ", " ");
    assert!(
        output_in_one.contains("the hook `exit 3` failed (~"),
        "{output}"
    );
    assert!(output_in_one.contains("): exit status 3"), "{output}");
    assert!(!result(&provider, 1).contains("exit 3"));
    assert!(environment.project().join("a.txt").exists());
}

#[test]
fn mistakes_in_a_configuration_are_said_with_their_place() {
    for (more, problem) in [
        ("event = \"before_call\"\ncommand = 'a'", "before_call"),
        (
            "event = \"before-call\"\ncommand = 3",
            "`command` must be a text or a list of texts",
        ),
        ("event = \"before-call\"\ncommand = 'a'\ntool = []", "tool"),
        (
            "event = \"turn-end\"\ncommand = 'a'\ntools = ['x']",
            "[[hook]]: tools belongs to before-call and after-edit",
        ),
        (
            "event = \"turn-end\"\ncommand = 'a'\ntimeout_secs = 0",
            "must be at least 1",
        ),
    ] {
        let environment = environment(&Provider::play([]));
        environment.configure_more("", &format!("[[hook]]\n{more}"));
        let output = environment.run(["config", "check"]);
        assert_eq!(output.status, Some(2), "{more}: {output}");
        assert!(output.stderr.contains(problem), "{more}: {output}");
        assert!(output.stderr.contains("config.toml:"), "{output}");
    }
    let environment = environment(&Provider::play([]));
    environment.configure_more("", &hook("before-call", "true", "tools = ['edit_fiel']"));
    let output = environment.run(["config", "check"]);
    let warning =
        "[[hook]] names the tool \"edit_fiel\", which does not exist; the nearest is \"edit_file\"";
    assert!(output.stderr.contains(warning), "{output}");
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
    for warning in [
        "[[hook]] runs \"no-such-formatter\", and there is no such program on the PATH of commands",
        "[[hook]] runs \"no-such-linter\", and there is no such program on the PATH of commands",
        "[[hook]] runs \"./gone.sh\", and there is no such program",
        "[[hook]] names src/main.rs: once that changes, the hook fails until Dunlin is restarted",
    ] {
        assert!(said.contains(warning), "{warning}: {output}");
    }
    assert!(said.contains("config.toml:"), "{output}");
    assert!(
        !said.contains("check.sh") && !said.contains("\"sh\""),
        "{output}"
    );
}
