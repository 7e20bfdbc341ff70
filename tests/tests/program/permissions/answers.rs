//! One rule for every question at the terminal: keystrokes typed before it is on the screen never answer it.

use std::fs;

use dunlin_tests::guests::guest;
use dunlin_tests::{Environment, Key, Provider, Response, Terminal, program};

use crate::stage::{Chat, environment};

/// A paste that stalls, what is said when it does, and its rest.
const PASTE: [&str; 3] = [
    "\x1b[200~# log of the build\rContinue?\r",
    "Waiting for the rest of what was pasted.",
    "y\rmore\ry\r\x1b[201~",
];

const IGNORED: &str = "Keystrokes typed before this question were ignored.";

/// What is said of a line that has not ended.
const OPEN: &str = "End your line first: Enter drops it.";

/// Starts a command and answers its question before it can be there.
fn answered_early(environment: &Environment, arguments: &[&str], typed: &str) -> Terminal {
    let mut terminal = environment.terminal(arguments);
    terminal.type_text(typed);
    terminal
}

/// A command whose question is `question`: an early answer does nothing, the line editor begins empty, and what is typed
/// then counts.
#[track_caller]
fn check(environment: &Environment, arguments: &[&str], question: &str, done: impl Fn() -> bool) {
    for early in [
        "y\r",
        "y\ry\r",
        "y",
        "\x1b[200~yes\r\x1b[201~",
        "always\ry\r",
    ] {
        let mut terminal = answered_early(environment, arguments, early);
        // Where the line has not ended, it has to be first.
        if !early.ends_with('\r') {
            terminal.wait_until(OPEN, |screen| {
                screen.contains(OPEN) && screen.cursor_line.starts_with("  typed early: y")
            });
            terminal.press(Key::Enter);
        }
        let screen = terminal.wait_until(question, |screen| {
            screen.cursor_line.trim_end().ends_with(question)
        });
        assert!(screen.contains(IGNORED), "{early:?}: {terminal:?}");
        assert_eq!(screen.count(question), 1, "{early:?}: {terminal:?}");
        // Enter alone is not an answer, and nothing that was typed early stands before it.
        terminal.press(Key::Enter);
        terminal.wait_for("Type y or n, then press Enter.");
        terminal.wait_until("the question again", |screen| screen.count(question) == 2);
        terminal.press(Key::CtrlD);
        assert_eq!(terminal.wait_end(), Some(0), "{early:?}: {terminal:?}");
        assert!(!done(), "{early:?}: {terminal:?}");
    }
    // Ctrl-C is a no, and leaves the terminal as it was.
    let mut terminal = environment.terminal(arguments);
    terminal.wait_for(question);
    terminal.assert_absent(IGNORED);
    terminal.press(Key::CtrlC);
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    assert!(!done(), "{terminal:?}");
    // A paste answers nothing by itself, also after a key that waits for another one in most line editors.
    for key in ["", "\x18", "\x1d", "\x11", "\x16"] {
        let mut terminal = environment.terminal(arguments);
        terminal.wait_for(question);
        terminal.type_text(key);
        terminal.paste("y\nmore");
        terminal.wait_for("more");
        terminal.press(Key::Enter);
        terminal.wait_for("Type y or n, then press Enter.");
        terminal.wait_until("the question again", |screen| screen.count(question) == 2);
        terminal.press(Key::CtrlC);
        assert_eq!(terminal.wait_end(), Some(0), "{key:?}: {terminal:?}");
        assert!(!done(), "{key:?}: {terminal:?}");
    }
    // The rest of a paste that began before the question answers nothing, and what is typed then counts.
    let [begin, waits, rest] = PASTE;
    let mut terminal = answered_early(environment, arguments, begin);
    terminal.wait_for(waits);
    terminal.type_text(rest);
    terminal.wait_for(OPEN);
    // What is erased was not ignored.
    terminal.press(Key::Escape);
    terminal.wait_until(question, |screen| {
        screen.cursor_line.trim_end().ends_with(question)
    });
    terminal.assert_absent(IGNORED);
    assert!(!done(), "{terminal:?}");
    terminal.type_line("YES");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    assert!(done(), "{terminal:?}");
}

#[test]
fn an_early_yes_installs_and_removes_no_plugin() {
    let environment = Environment::new(program!());
    let echo = environment.outside_file("echo.wasm", guest("echo").bytes);
    let installed = || {
        let list = environment.run(["plugin", "list"]);
        list.stdout.starts_with("echo ")
    };
    let install = ["plugin", "install", echo.to_str().expect("a path")];
    check(&environment, &install, "Install it? [y/n]", installed);
    let removed = || !installed();
    check(
        &environment,
        &["plugin", "remove", "echo"],
        "Remove? [y/n]",
        removed,
    );
}

#[test]
fn an_early_yes_deletes_no_session() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("one");
    chat.leave();
    let folder = environment.data().join("sessions");
    let ids = || {
        let files = fs::read_dir(&folder).expect("the folder of the sessions");
        let names = files.map(|file| file.expect("a file").file_name());
        let names = names.filter_map(|name| name.into_string().ok());
        let names: Vec<String> = names.filter(|name| name.ends_with(".jsonl")).collect();
        names
    };
    let listed = environment.run(["sessions", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let id = listed[0]["id"].as_str().expect("an id");
    check(
        &environment,
        &["sessions", "delete", id],
        "Delete permanently? [y/n]",
        || ids().is_empty(),
    );
}

#[test]
fn an_early_yes_removes_no_server() {
    let environment = Environment::new(program!());
    let added = environment.run(["mcp", "add", "far", "--url", "https://mcp.example/mcp"]);
    assert_eq!(added.status, Some(0), "{added}");
    check(
        &environment,
        &["mcp", "remove", "far"],
        "Remove from the configuration? [y/n]",
        || {
            let file = fs::read_to_string(environment.config_file()).expect("a configuration");
            !file.contains("far")
        },
    );
}

#[test]
fn an_early_yes_writes_no_configuration() {
    let provider = Provider::play([]);
    for early in ["y\r", "1\ry\r", "\r\ry\ry\r"] {
        let environment = Environment::new(program!());
        let mut terminal = environment
            .command(["ask", "the question"])
            .variable("DUNLIN_DISCOVER", &provider.base_url())
            .variable("OPENAI_API_KEY", "")
            .terminal();
        terminal.type_text(early);
        terminal.wait_for(IGNORED);
        terminal.wait_until("the choice, unanswered", |screen| {
            screen.cursor_line.trim_end() == "Which one? 1-4 [1]"
        });
        // What comes in one piece with an answer does not answer the next question either.
        terminal.type_text("1\ry\ry\r");
        terminal.wait_until("the question, unanswered", |screen| {
            screen.cursor_line.trim_end() == "Save this configuration? [y/n]"
        });
        assert!(!environment.config_file().exists(), "{terminal:?}");
        terminal.type_line("n");
        assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
        assert!(!environment.config_file().exists(), "{terminal:?}");
    }
    assert!(provider.requests().is_empty());
}

#[test]
fn in_the_chat_an_early_answer_is_dropped() {
    let provider = Provider::always(Response::reply("It is fine."));
    let environment = environment(&provider);
    environment.project_file(".dunlin/config.toml", "on_denial = \"continue\"\n");
    let question = "Trust this version of the file? [y/n], v shows all of it";
    let mut terminal = answered_early(&environment, &[], "y\r");
    terminal.wait_until("the question, unanswered", |screen| {
        screen.cursor_line.trim_end() == question
    });
    terminal.assert_absent(IGNORED);
    terminal.type_line("n");
    let mut chat = Chat::waiting(terminal);
    chat.prompt();
    let trusted = fs::read_to_string(environment.data().join("trusted.json")).expect("the answer");
    assert!(trusted.contains("false"), "{trusted}");
    chat.say("yes");
    chat.prompt();
    // Typed ahead of the questions of two commands.
    let file = environment.project_file("notes.md", "mine");
    for (command, question) in [
        ("/export notes.md", "already exists. Overwrite? [y/n]"),
        ("/clear", "Forget the conversation? [y/n]"),
    ] {
        chat.terminal.type_text(&format!("{command}\ry\r"));
        chat.terminal
            .wait_until("the question, unanswered", |screen| {
                screen.cursor_line.trim_end().ends_with(question)
            });
        chat.answer("n");
        chat.prompt();
        assert_eq!(fs::read_to_string(&file).expect("the file"), "mine");
    }
    // What came in one piece with a command goes with the line editor that read it.
    assert_eq!(provider.requests().len(), 1);
    chat.leave();
}

/// A project's configuration with so many values that need trust.
fn long_configuration(count: usize) -> String {
    (0..count)
        .map(|number| format!("[agents.agent-{number}]\nmodel = \"m\"\n"))
        .collect()
}

#[test]
fn a_configuration_that_does_not_fit_is_trusted_only_after_it_was_read_to_its_end() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.project_file(".dunlin/config.toml", long_configuration(40));
    let question = "Trust this version of the file? [y/n], v shows all of it";
    let mut terminal = environment.terminal(["config", "trust"]);
    let asked = |terminal: &Terminal, times: usize| {
        terminal.wait_until("the question", |screen| {
            screen.count(question) == times && screen.cursor_line.trim_end() == question
        })
    };
    let screen = asked(&terminal, 1);
    assert!(
        screen.contains("more rows: v shows all of it"),
        "{terminal:?}"
    );
    assert!(!screen.contains("agents.agent-39"), "{terminal:?}");
    terminal.type_line("y");
    asked(&terminal, 2);
    terminal.wait_for("There is more than the screen shows: read it with v first.");
    // Stopping in the middle does not count, nor do keys that come in one piece.
    terminal.type_line("v");
    terminal.wait_for("of 80 rows; Enter shows more, q stops:");
    terminal.type_line("q");
    asked(&terminal, 3);
    terminal.type_line("y");
    asked(&terminal, 4);
    terminal.type_line("v");
    terminal.wait_until("the first page again", |screen| {
        screen.count("38 of 80 rows") == 2
    });
    terminal.type_text("\r\r\r\ry\r");
    terminal.wait_for("76 of 80 rows; Enter shows more, q stops:");
    terminal.type_line("");
    asked(&terminal, 5);
    terminal.type_line("y");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    terminal.wait_for("is trusted until it changes.");
}

#[test]
fn trust_is_given_in_a_question_or_on_purpose() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let hostile = "on_denial = \"continue\"\n# \u{202e}\u{200b}hidden\n";
    environment.project_file(".dunlin/config.toml", hostile);
    let output = environment.run(["config", "trust"]);
    assert_eq!(output.status, Some(3), "{output}");
    assert!(
        output
            .stderr
            .contains("nothing was trusted: can't ask for confirmation here\nhint: --yes"),
        "{output}"
    );
    let mut terminal = environment.terminal(["config", "trust"]);
    terminal.wait_for("Trust this version of the file? [y/n]");
    terminal.type_line("v");
    terminal.wait_for("  │ 2: # \\u{202e}\\u{200b}hidden");
    terminal.wait_until("the question again", |screen| {
        screen.count("Trust this version") == 2
    });
    terminal.type_line("n");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    let show = environment.run(["config", "show"]);
    assert!(show.stdout.contains("\"stop\""), "{show}");
    let output = environment.run(["config", "trust", "--yes"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        output.stdout.contains("on_denial = \"continue\""),
        "{output}"
    );
    let again = environment.run(["config", "trust"]);
    assert_eq!(again.status, Some(0), "{again}");
    assert!(again.stdout.contains("is already trusted."), "{again}");
}

#[test]
fn esc_leaves_a_plain_question_and_a_command_waits() {
    let environment = Environment::new(program!());
    let echo = environment.outside_file("echo.wasm", guest("echo").bytes);
    let question = "Install it? [y/n]";
    let install = ["plugin", "install", echo.to_str().expect("a path")];
    let mut terminal = environment.terminal(install);
    let asked = |terminal: &Terminal, times: usize| {
        terminal.wait_until("the question", |screen| {
            screen.count(question) == times && screen.cursor_line.trim_end() == question
        })
    };
    asked(&terminal, 1);
    for (times, typed, said) in [
        (2, "?", "y (yes) and n (no) answer it, with Enter; Esc"),
        (
            3,
            "/help",
            "Dunlin takes no commands at this question: answer it first.",
        ),
        (4, "maybe", "Type y or n, then press Enter."),
    ] {
        terminal.type_line(typed);
        terminal.wait_for(said);
        asked(&terminal, times);
    }
    // In a line it erases that.
    terminal.type_text("y");
    terminal.wait_until("what was typed", |screen| {
        screen.cursor_line.ends_with("[y/n] y")
    });
    terminal.press(Key::Escape);
    asked(&terminal, 4);
    terminal.press(Key::Escape);
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    terminal.wait_for("Nothing was installed.");
    let mut terminal = environment.terminal(install);
    asked(&terminal, 1);
    terminal.type_line("ok");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    let list = environment.run(["plugin", "list"]);
    assert!(list.stdout.starts_with("echo "), "{list}");
}
