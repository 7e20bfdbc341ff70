//! Hooks of a project: they run only as the user has read and trusted them.

use std::fs;

use dunlin_tests::{Provider, Response, Screen, Terminal};

use super::hook;
use crate::stage::{Chat, environment};

/// The question whether a project's configuration is trusted.
const TRUST: &str = "Trust this version of the file? [y/n], v shows all of it";

/// Waits until that is asked.
fn asked(terminal: &Terminal) -> Screen {
    terminal.wait_until("the question", |screen| {
        screen.cursor_line.trim_end() == TRUST
    })
}

#[test]
fn a_projects_hook_runs_only_as_it_was_trusted() {
    let provider = Provider::play([
        Response::reply("One."),
        Response::reply("Two."),
        Response::reply("Three."),
    ]);
    let environment = environment(&provider);
    let long = format!("sh scripts/end.sh {}", "long ".repeat(60));
    environment.project_file(".dunlin/config.toml", hook("turn-end", &long, ""));
    environment.project_file("scripts/end.sh", "echo ran >> ran\n");
    let ran = environment.project().join("ran");

    let output = environment.run(["ask", "one"]);
    insta::assert_snapshot!("a_hook_that_is_not_trusted_is_ignored", output);
    assert!(!ran.exists());

    // The question shows the whole command, what a yes means, and the script that it covers.
    let terminal = environment.terminal::<&str>([]);
    let screen = asked(&terminal);
    insta::assert_snapshot!("a_hook_of_a_project_and_the_script_that_it_names", screen);
    let mut terminal = terminal;
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    chat.turn("two");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");

    // A script that a tool could have changed is another one, also while the chat is open.
    environment.project_file("scripts/end.sh", "echo worse >> ran\n");
    chat.turn("three");
    insta::assert_snapshot!(
        "a_script_that_changed_while_the_chat_was_open",
        chat.terminal.screen()
    );
    chat.leave();
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");
    // Lists show it whole, too.
    let check = environment.run(["config", "check"]);
    insta::assert_snapshot!("a_script_that_changed_since_it_was_trusted", check);

    // The next question is about the script, and shows what it holds now.
    let mut terminal = environment.terminal::<&str>([]);
    let screen = asked(&terminal);
    insta::assert_snapshot!("the_question_about_a_changed_script", screen);
    terminal.type_line("n");
    let chat = Chat::of(terminal);
    chat.leave();
    let trusted = environment.run(["config", "trust", "--yes"]);
    let what = "and so is what its hooks name: scripts/end.sh.";
    assert!(trusted.stdout.contains(what), "{trusted}");
}

#[test]
fn a_script_that_was_not_read_to_its_end_is_not_trusted() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let hook = hook("turn-end", "sh scripts/end.sh", "");
    environment.project_file(".dunlin/config.toml", hook);
    let script = (1..60).map(|number| format!("echo {number}\n"));
    environment.project_file("scripts/end.sh", script.collect::<String>());
    let mut terminal = environment.terminal(["config", "trust"]);
    let asked = |terminal: &Terminal, times: usize| {
        let question = "Trust this version of the file? [y/n], v shows all of it";
        terminal.wait_until("the question", |screen| {
            screen.count(question) == times && screen.cursor_line.trim_end() == question
        })
    };
    assert!(!asked(&terminal, 1).contains("59: echo 59"), "{terminal:?}");
    terminal.type_line("y");
    asked(&terminal, 2);
    terminal.wait_for("There is more than the screen shows: read it with v first.");
    terminal.type_line("v");
    terminal.wait_for("rows; Enter shows more, q stops:");
    terminal.type_line("");
    assert!(asked(&terminal, 3).contains("59: echo 59"), "{terminal:?}");
    terminal.type_line("y");
    terminal
        .wait_for("is trusted until it changes, and so is what its hooks name: scripts/end.sh.");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
}

#[test]
fn a_broken_file_of_a_project_keeps_nobody_from_working() {
    let broken = [
        "[[hook]]\nevents = \"turn-end\"\n",
        "[hook]\n",
        "mode = [\n",
    ];
    let provider = Provider::play(broken.map(|_| Response::reply("Yes.")));
    let environment = environment(&provider);
    for text in broken {
        environment.project_file(".dunlin/config.toml", text);
        let output = environment.run(["ask", "one"]);
        assert_eq!(output.status, Some(0), "{output}");
        assert_eq!(output.stdout, "Yes.\n", "{output}");
        // Whoever works on the file is told that it is wrong.
        for command in ["check", "trust"] {
            let output = environment.run(["config", command]);
            assert_eq!(output.status, Some(2), "{output}");
        }
    }
    insta::assert_snapshot!(environment.transcript());
}
