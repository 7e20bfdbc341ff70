//! What a plugin does to files beside their text, as the user sees it before it happens: removals, new names, folders, bytes.

use std::fs;

use dunlin_tests::{Environment, Provider, Response, Screen};
use serde_json::json;

use crate::stage::{Chat, environment};

/// A chat in which the plugin does this in each turn.
fn asked(turns: &[&[&str]]) -> (Provider, Environment, Chat) {
    let mut script = Vec::new();
    for steps in turns {
        // The tool's own question says something else.
        let arguments = json!({ "plan": steps, "steps": steps, "question": "Tidy up?" });
        script.push(Response::call("names", arguments));
        script.push(Response::reply("Done."));
    }
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.project_file("a.txt", "one\ntwo\n");
    environment.project_file("b.txt", "three\n");
    let terminal = environment
        .command::<&str>([])
        .guests(&["names"])
        .variable("PAGER", "cat > /dev/null")
        .terminal();
    let mut chat = Chat::of(terminal);
    chat.say("tidy up");
    (provider, environment, chat)
}

/// The lines stand in the screen in this order.
fn assert_shows(screen: &Screen, lines: &[&str], chat: &Chat) {
    let mut rest = screen.text.as_str();
    for line in lines {
        let at = rest.find(line);
        let at = at.unwrap_or_else(|| panic!("{line}: {:?}", chat.terminal));
        rest = &rest[at + line.len()..];
    }
}

#[test]
fn changes_of_names_are_shown_made_and_taken_back() {
    let steps: &[&str] = &["remove a.txt", "rename b.txt c.txt", "mkdir new"];
    let (_provider, environment, mut chat) = asked(&[steps]);
    let screen = chat.question();
    let shown = [
        "│ Remove file 'a.txt', and rename file 'b.txt' to 'c.txt', and make folder 'new'?",
        "removes the file",
        "│ -one",
        "│ -two",
        "renames the file: ",
        "/b.txt → ",
        "/c.txt",
        "makes the folder",
    ];
    assert_shows(&screen, &shown, &chat);
    assert!(!screen.contains("Tidy up?"), "{:?}", chat.terminal);
    chat.answer("y");
    let screen = chat.prompt();
    let count = "+0 −2, 1 removed, 1 renamed, 1 folder";
    assert!(screen.contains(count), "{:?}", chat.terminal);
    let at = |name: &str| environment.project().join(name);
    assert!(!at("a.txt").exists() && at("new").is_dir());
    assert_eq!(fs::read_to_string(at("c.txt")).unwrap(), "three\n");
    let screen = chat.turn("/diff");
    let shown = [
        "removes the file",
        "-one",
        "renames the file: ",
        "makes the folder",
    ];
    assert_shows(&screen, &shown, &chat);
    let screen = chat.turn("/undo");
    let undone = [
        "restored a.txt",
        "restored b.txt",
        "removed c.txt",
        "removed new",
    ];
    assert_shows(&screen, &undone, &chat);
    assert_eq!(fs::read_to_string(at("a.txt")).unwrap(), "one\ntwo\n");
    assert_eq!(fs::read_to_string(at("b.txt")).unwrap(), "three\n");
    assert!(!at("c.txt").exists() && !at("new").exists());
    chat.leave();
}

#[test]
fn bytes_that_were_not_shown_have_to_be_viewed() {
    let (_provider, environment, mut chat) = asked(&[&["fill a.txt 5000"]]);
    let screen = chat.question();
    let shown = [
        "not all of it is text",
        "before: 8 bytes, SHA-256 ",
        "afterwards: 5,000 bytes, SHA-256 ",
        "│   ff ff ff",
        "│ … 4,936 more bytes: v shows more of them",
    ];
    assert_shows(&screen, &shown, &chat);
    let path = environment.project().join("a.txt");
    chat.answer("y");
    let screen = chat.question();
    let first = "The screen does not show all of it: v does, then answer again.";
    assert!(screen.contains(first), "{:?}", chat.terminal);
    assert_eq!(fs::read(&path).unwrap(), b"one\ntwo\n");
    chat.answer("v");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert_eq!(fs::read(&path).unwrap(), [0xff; 5000]);
    chat.leave();
}

/// What Shift-Tab accepts is a change of a text, which a difference shows.
#[test]
fn a_removal_is_asked_about_where_edits_are_accepted() {
    let (_provider, environment, mut chat) = asked(&[&["remove a.txt"], &["remove b.txt"]]);
    chat.question();
    chat.answer("y");
    chat.prompt();
    chat.terminal.type_text("tidy");
    chat.terminal.type_text("\x1b[Z");
    chat.terminal.wait_until("the mode", |screen| {
        screen.cursor_line == "› (edits accepted) tidy"
    });
    chat.terminal.type_text(" up\r");
    let screen = chat.question();
    assert!(screen.contains("removes the file"), "{:?}", chat.terminal);
    let path = environment.project().join("b.txt");
    assert!(path.exists());
    chat.answer("y");
    chat.prompt_with("(edits accepted)");
    assert!(!path.exists());
    chat.leave();
}
