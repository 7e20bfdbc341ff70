//! `/rewind`: back to before a turn, the conversation, the files, or both.

use std::fs;

use dunlin_tests::{Environment, Provider, Response, Screen};
use serde_json::{Value, json};

use crate::stage::{Chat, PUT_BACK, environment};

/// Where it is asked what goes back.
const REWIND: &str = "  rewind?";

fn write(path: &str, content: &str) -> Response {
    Response::call(
        "write_file",
        json!({ "file_path": path, "content": content }),
    )
}

fn text(environment: &Environment, name: &str) -> Option<String> {
    fs::read_to_string(environment.project().join(name)).ok()
}

/// What the user said, as the last request has it.
fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let messages = requests.last().expect("a request").messages().to_vec();
    let said = messages
        .into_iter()
        .filter(|message| message["role"] == "user");
    let said = said.map(|message| message["content"].clone());
    said.filter_map(|content| content.as_str().map(str::to_owned))
        .collect()
}

fn asked(chat: &Chat) -> Screen {
    let asked = |screen: &Screen| screen.cursor_line.trim_end() == REWIND;
    chat.terminal.wait_until("the question", asked)
}

/// A chat with three turns, of which the second and the third have edited files.
fn three_turns(more: impl IntoIterator<Item = Response>) -> (Provider, Environment, Chat) {
    let script = [
        Response::reply("Hello."),
        write("a.txt", "two\n"),
        Response::reply("Second."),
        write("b.txt", "three\n"),
        Response::call(
            "run_terminal_command",
            json!({ "command": "echo hi > c.txt" }),
        ),
        Response::reply("Third."),
    ];
    let provider = Provider::play(script.into_iter().chain(more));
    let environment = environment(&provider);
    let mut chat = Chat::waiting(environment.terminal(["--mode", "accept-edits"]));
    chat.prompt_with("(edits accepted)");
    for message in ["greet me", "write two"] {
        chat.say(message);
        chat.prompt_with("(edits accepted)");
    }
    chat.say("write three");
    chat.question();
    chat.answer("y");
    chat.prompt_with("(edits accepted)");
    assert_eq!(text(&environment, "a.txt").as_deref(), Some("two\n"));
    assert_eq!(text(&environment, "b.txt").as_deref(), Some("three\n"));
    (provider, environment, chat)
}

/// Takes the put-back message over, and sends it with something behind it.
fn send(chat: &mut Chat, kept: &str, more: &str) {
    let screen = chat.prompt_with(&format!("(edits accepted) {kept}"));
    assert!(screen.cursor_line.contains(PUT_BACK), "{screen:?}");
    chat.terminal.type_text("\x05");
    chat.terminal.type_text(&format!(" {more}\r"));
    chat.prompt_with("(edits accepted)");
}

#[test]
fn both_go_back_and_a_resumed_session_begins_there() {
    let (provider, environment, mut chat) =
        three_turns([Response::reply("Again."), Response::reply("Resumed.")]);
    chat.say("/rewind");
    chat.prompt_with("(edits accepted)");
    chat.say("/rewind 2");
    asked(&chat);
    chat.answer("b");
    chat.prompt_with("(edits accepted) write two");
    assert_eq!(text(&environment, "a.txt"), None);
    assert_eq!(text(&environment, "b.txt"), None);
    assert_eq!(text(&environment, "c.txt").as_deref(), Some("hi\n"));
    chat.terminal.type_text("\x05");
    chat.terminal.type_text(" once more\r");
    chat.prompt_with("(edits accepted)");
    assert_eq!(said(&provider), ["greet me", "write two once more"]);
    chat.say("/diff");
    chat.prompt_with("(edits accepted)");
    insta::assert_snapshot!("conversation_and_files_go_back", chat.terminal.screen());
    chat.leave();

    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.turn("and now?");
    assert_eq!(
        said(&provider),
        ["greet me", "write two once more", "and now?"]
    );
    let screen = chat.turn("/rewind");
    assert!(!screen.contains("write three"), "{:?}", chat.terminal);
    insta::assert_snapshot!("a_resumed_session_begins_there", chat.terminal.screen());
    chat.leave();
    // Nothing is lost of what was taken out.
    let file = crate::stage::session_file(&environment);
    assert!(fs::read_to_string(file).unwrap().contains("write three"));
}

#[test]
fn the_conversation_alone_goes_back_and_the_model_is_told_of_files() {
    let (provider, environment, mut chat) = three_turns([Response::reply("Again.")]);
    chat.say("/rewind 3 conversation");
    send(&mut chat, "write three", "please");
    chat.say("/diff 2");
    let screen = chat.prompt_with("(edits accepted)");
    assert!(screen.contains("  ✓ 2 b.txt +1 −0\n"), "{screen:?}");
    assert_eq!(text(&environment, "b.txt").as_deref(), Some("three\n"));
    let said = said(&provider);
    assert_eq!(said.len(), 3, "{said:?}");
    let note = "These files were edited since and stay so; read them again before you edit them: [\"b.txt\"])";
    assert!(said[2].starts_with("write three please\n\n"), "{said:?}");
    assert!(said[2].ends_with(note), "{said:?}");
    chat.leave();
}

#[test]
fn files_alone_go_back_unless_somebody_changed_them() {
    let (provider, environment, mut chat) = three_turns([Response::reply("I see.")]);
    environment.project_file("a.txt", "somebody's\n");
    for part in ["files", "both"] {
        chat.say(&format!("/rewind 2 {part}"));
        let screen = chat.prompt_with("(edits accepted)");
        let why = "nothing was taken back: ";
        assert!(
            screen.contains(why) && screen.contains("a.txt changed since"),
            "{:?}",
            chat.terminal
        );
        assert_eq!(text(&environment, "b.txt").as_deref(), Some("three\n"));
    }
    environment.project_file("a.txt", "two\n");
    chat.say("/rewind 2 files");
    chat.prompt_with("(edits accepted)");
    assert_eq!(text(&environment, "a.txt"), None);
    assert_eq!(text(&environment, "b.txt"), None);
    // There is nothing left to be taken back.
    chat.say("/undo");
    chat.prompt_with("(edits accepted)");
    chat.say("and now?");
    chat.prompt_with("(edits accepted)");
    let said = said(&provider);
    assert_eq!(said.len(), 4, "{said:?}");
    assert!(said[3].contains("[\"a.txt\",\"b.txt\"]"), "{said:?}");
    for (typed, expected) in [
        (
            "/rewind 9",
            "There is no turn 9: turns have the numbers 1 to 4.",
        ),
        (
            "/rewind x",
            "Usage: /rewind [all] lists turns; /rewind N [conversation|files|both]",
        ),
        (
            "/rewind 1 all",
            "Usage: /rewind [all] lists turns; /rewind N [conversation|files|both]",
        ),
    ] {
        chat.say(typed);
        assert!(
            chat.prompt_with("(edits accepted)").contains(expected),
            "{typed}"
        );
    }
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

/// After a resume, what comes back is a text from a file: it is a message and nothing else.
#[test]
fn after_a_resume_files_go_back_and_the_message_is_foreign() {
    let provider = Provider::play([
        write("a.txt", "one\n"),
        Response::reply("Written."),
        Response::reply("Fine."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::waiting(environment.terminal(["--mode", "accept-edits"]));
    chat.prompt_with("(edits accepted)");
    chat.say("write one");
    chat.prompt_with("(edits accepted)");
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    chat.say("/rewind 1 both");
    chat.prompt_with("write one");
    assert_eq!(text(&environment, "a.txt"), None);
    chat.terminal.type_text("\r");
    chat.prompt();
    assert_eq!(said(&provider), ["write one"]);
    let requests = provider.requests();
    let bodies: Vec<&Value> = requests.iter().map(|request| &request.body).collect();
    // Dunlin's own notes about a message are no part of a request.
    assert!(
        bodies
            .iter()
            .all(|body| !body.to_string().contains("\"turn\""))
    );
    chat.leave();
}
