//! A message that was not sent is there in the next chat, and is only ever a message.

use dunlin_tests::{Environment, Key, Provider, Response};
use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{Pausing, environment, said};
use crate::stage::{Chat, read};

#[test]
fn a_kill_loses_nothing() {
    let provider = Provider::play([Response::reply("Three.")]);
    let environment = environment(&provider);
    let mut chat = Pausing::open(&environment, "every");
    chat.say("count the birds");
    kill_process(chat.chat.terminal.id(), Signal::KILL).expect("a process to kill");
    drop(chat);
    assert!(provider.requests().is_empty());
    let mut chat = Chat::waiting(environment.terminal(["--resume"]));
    chat.prompt_with("count the birds");
    chat.terminal.press(Key::Enter);
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    assert_eq!(said(&provider.requests()[0]).len(), 1);
}

/// Opens a chat whose session file was left with this text of a message that was not sent.
fn with_unsent(text: &str) -> (Provider, Environment, Chat) {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    environment.project_file("notes.txt", "gulls");
    let mut chat = Pausing::open(&environment, "every");
    chat.say("count the birds");
    kill_process(chat.chat.terminal.id(), Signal::KILL).expect("a process to kill");
    drop(chat);
    let sessions = std::fs::read_dir(environment.data().join("sessions")).expect("sessions");
    let mut files = sessions.map(|entry| entry.expect("a file").path());
    let file = files.find(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let file = file.expect("a session");
    let records = std::fs::read_to_string(&file).expect("records");
    let text = json!(text).to_string();
    std::fs::write(&file, records.replace("\"count the birds\"", &text)).expect("a file");
    let chat = Chat::waiting(environment.terminal(["--resume"]));
    (provider, environment, chat)
}

#[test]
fn text_of_a_session_file_is_only_ever_a_message() {
    for text in [
        "/tools run_terminal_command always",
        "exit",
        "see @notes.txt",
        "1",
        "always",
    ] {
        let (provider, _environment, mut chat) = with_unsent(text);
        chat.prompt_with(text);
        // Still so after a key that leaves the line and reads it again.
        chat.terminal.type_text("\x1bp");
        chat.terminal.wait_for(&format!("› (pause: next) {text}"));
        chat.terminal.type_text("\x1bp");
        let line = format!("› {text}");
        chat.terminal
            .wait_until(&line, |screen| screen.cursor_line.trim_end() == line);
        chat.terminal.press(Key::Enter);
        chat.terminal.wait_for("Fine.");
        let requests = provider.requests();
        assert_eq!(said(&requests[0]), [("user".to_owned(), text.to_owned())]);
    }
}

#[test]
fn text_of_a_session_file_that_does_not_fit_is_folded() {
    let text = format!(
        "/tools run_terminal_command always{}",
        " ".repeat(6000) + "x"
    );
    let (provider, _environment, mut chat) = with_unsent(&text);
    chat.prompt_with("[pasted 1: 6,035 characters]");
    chat.terminal.press(Key::Enter);
    chat.terminal.wait_for("Fine.");
    assert_eq!(said(&provider.requests()[0])[0].1, text);
}

#[test]
fn a_kill_at_a_later_request_is_told_and_keeps_what_was_done() {
    let provider = Provider::play([read("notes.txt"), Response::reply("Gulls.")]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "gulls");
    let mut chat = Pausing::open(&environment, "every");
    chat.say("count the birds");
    chat.does("send");
    kill_process(chat.chat.terminal.id(), Signal::KILL).expect("a process to kill");
    drop(chat);
    assert_eq!(provider.requests().len(), 1);
    let mut chat = Chat::waiting(environment.terminal(["--resume"]));
    chat.prompt();
    chat.turn("continue");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let said = said(&provider.requests()[1]);
    assert_eq!(said.len(), 4, "the call and its result are there: {said:?}");
}
