//! `!COMMAND` and `!!COMMAND`: commands of the user's own, run beside the chat.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{Key, Provider, Response, Screen};

use crate::stage::{Chat, environment};

/// What is said behind a command.
const OFFER: &str = "!!COMMAND adds what it prints to your next message";

#[test]
fn a_command_runs_in_the_project_and_the_model_does_not_see_it() {
    let provider = Provider::play([Response::reply("Fine.")]);
    let environment = environment(&provider);
    environment.project_file("here.txt", "");
    let mut chat = Chat::open(&environment);
    chat.say("!ls; test -t 1 && echo terminal");
    chat.prompt();
    let screen = chat.turn("!exit 3");
    assert_eq!(screen.count(OFFER), 1, "{screen:?}");
    for mark in ["!", "!! "] {
        let screen = chat.turn(mark);
        assert!(
            screen.contains("!COMMAND runs a command in your shell;"),
            "{screen:?}"
        );
    }
    // It reads the terminal.
    chat.say("!echo ready; read line; echo \"it got $line\"");
    chat.terminal.wait_for("\nready\n");
    chat.terminal.type_line("a line");
    chat.terminal.wait_for("it got a line");
    chat.prompt();
    chat.turn("hello");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert_eq!(
        provider.requests()[0].messages().last().unwrap()["content"],
        "hello"
    );
}

#[test]
fn what_a_command_prints_goes_with_the_next_message() {
    let provider = Provider::play([Response::reply("Fine."), Response::reply("Good.")]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("!!printf 'one\\n\\033[2Jtwo'; echo three >&2; exit 2");
    chat.prompt();
    chat.turn("/tags");
    chat.turn("what is that?");
    chat.turn("and now?");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let said = |request: usize| {
        let requests = provider.requests();
        let said = requests[request].messages().last().unwrap()["content"].clone();
        said.as_str().unwrap().to_owned()
    };
    let expected = "what is that?\n\nWhat commands printed that the user ran and attached to this message:\n\n\
        $ printf 'one\\n\\033[2Jtwo'; echo three >&2; exit 2\n(exit status 2)\none\ntwothree\n";
    assert_eq!(said(0), expected);
    assert_eq!(said(1), "and now?");
}

/// `$SHELL` is the path of a program, which may have a space in it.
#[test]
fn the_shell_may_have_a_space_in_its_path() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let shell = environment.outside_file("my shell/sh", "#!/bin/sh\necho \"mine: $2\"\n");
    fs::set_permissions(&shell, fs::Permissions::from_mode(0o755)).expect("it is set");
    let command = environment.command::<&str>([]);
    let shell = shell.to_str().expect("a text");
    let mut chat = Chat::of(command.variable("SHELL", shell).terminal());
    let screen = chat.turn("!echo hi");
    assert!(screen.contains("\nmine: echo hi\n"), "{screen:?}");
    chat.leave();
}

#[test]
fn ctrl_c_ends_the_command_and_not_the_chat() {
    let provider = Provider::play([]);
    for line in ["!echo begun; sleep 1000", "!!echo begun; sleep 1000"] {
        let environment = environment(&provider);
        let mut chat = Chat::open(&environment);
        chat.say(line);
        chat.terminal.wait_for("\nbegun\n");
        chat.terminal.press(Key::CtrlC);
        chat.prompt();
        chat.leave();
    }
}

#[test]
fn other_lines_are_messages() {
    let provider = Provider::always(Response::reply("Fine."));
    let mut chat = Chat::open(&environment(&provider));
    for line in [" !echo no", " !", "wow!"] {
        chat.turn(line);
    }
    chat.terminal.paste("!echo no\necho no");
    chat.terminal.wait_until("the paste", |screen: &Screen| {
        screen.cursor_line.contains("echo no")
    });
    chat.turn("");
    chat.leave();
    let said: Vec<String> = provider
        .requests()
        .iter()
        .map(|request| {
            request.messages().last().unwrap()["content"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    assert_eq!(said, ["!echo no", "!", "wow!", "!echo no\necho no"]);
}
