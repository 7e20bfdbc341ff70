//! Hooks of a project: they run only as the user has read and trusted them.

use std::fs;

use dunlin_tests::{Provider, Response, Terminal};

use super::hook;
use crate::stage::{Chat, environment};

/// The question whether a project's configuration is trusted.
const TRUST: &str = "Trust this version of the file? [y/n]";

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
    assert!(output.stderr.contains("ignored: hook"), "{output}");
    assert!(!ran.exists());

    // The question shows the whole command, what a yes means, and the script that it covers.
    let terminal = environment.terminal::<&str>([]);
    let screen = terminal.wait_for(TRUST);
    let shown: String = screen.text.replace("\n  │ ", "").replace('\n', "");
    assert!(shown.contains(long.trim_end()), "{screen:?}");
    assert!(
        shown.contains("trusted hooks run in the command sandbox, and nobody is asked each time"),
        "{screen:?}"
    );
    assert!(
        shown.contains("scripts/end.sh: it is trusted as it is now"),
        "{screen:?}"
    );
    assert!(shown.contains("scripts/end.sh holds:"), "{screen:?}");
    assert!(shown.contains("1: echo ran >> ran"), "{screen:?}");
    let mut terminal = terminal;
    terminal.type_line("y");
    let mut chat = Chat::of(terminal);
    chat.turn("two");
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");

    // A script that a tool could have changed is another one, also while the chat is open.
    environment.project_file("scripts/end.sh", "echo worse >> ran\n");
    let screen = chat.turn("three");
    let shown = screen.text.replace("\n  │ ", " ");
    assert!(
        shown.contains("its command names scripts/end.sh, which changed since Dunlin started"),
        "{screen:?}"
    );
    chat.leave();
    assert_eq!(fs::read_to_string(&ran).unwrap(), "ran\n");
    let check = environment.run(["config", "check"]);
    let what = "scripts/end.sh changed since you trusted it with ";
    assert!(check.stderr.contains(what), "{check}");
    // Lists show it whole, too.
    assert!(check.stdout.contains(long.trim_end()), "{check}");

    // The next question is about the script, and shows what it holds now.
    let mut terminal = environment.terminal::<&str>([]);
    let screen = terminal.wait_for(TRUST);
    let shown: String = screen.text.replace("\n  │ ", "").replace('\n', "");
    assert!(shown.contains(what), "{screen:?}");
    assert!(shown.contains("scripts/end.sh holds:"), "{screen:?}");
    assert!(shown.contains("1: echo worse >> ran"), "{screen:?}");
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
        (
            "[[hook]]\nevents = \"turn-end\"\n",
            "config.toml:2: unknown key \"events\" in [[hook]] (the nearest known key is \"event\")",
        ),
        (
            "[hook]\n",
            "config.toml:1: hook must be a list, not a table",
        ),
        ("mode = [\n", "config.toml:"),
    ];
    let provider = Provider::play(broken.map(|_| Response::reply("Yes.")));
    let environment = environment(&provider);
    for (text, why) in broken {
        environment.project_file(".dunlin/config.toml", text);
        let output = environment.run(["ask", "one"]);
        assert_eq!(output.status, Some(0), "{output}");
        assert_eq!(output.stdout, "Yes.\n", "{output}");
        assert!(output.stderr.contains(why), "{output}");
        let ignored = "; all of this file is ignored, also where it narrows your settings";
        assert!(output.stderr.contains(ignored), "{output}");
        // Whoever works on the file is told that it is wrong.
        for command in ["check", "trust"] {
            let output = environment.run(["config", command]);
            assert_eq!(output.status, Some(2), "{output}");
            assert!(output.stderr.contains(".dunlin/config.toml:"), "{output}");
        }
    }
}
