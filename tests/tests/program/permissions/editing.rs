//! A call that the user changes before it runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{Environment, Key, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment, read};

/// A chat whose editor is a script, and in which a call of `a.txt` outside waits.
fn waiting(script: &str) -> (Provider, Environment, Chat) {
    let provider = Provider::play([read("../outside/a.txt"), Response::reply("Thank you.")]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "the text of a");
    environment.outside_file("b.txt", "the text of b");
    let editor = environment.root().join("editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).expect("the editor");
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).expect("the editor");
    let editor = editor.display().to_string();
    let command = environment.command::<&str>([]);
    let mut chat = Chat::of(command.variable("EDITOR", &editor).terminal());
    chat.say("read it");
    chat.question();
    (provider, environment, chat)
}

fn result(provider: &Provider) -> String {
    provider.requests()[1].results()[0].to_string()
}

#[test]
fn what_was_edited_is_asked_about_and_run() {
    let (provider, _environment, mut chat) = waiting("sed -i s/a.txt/b.txt/ \"$1\"");
    chat.answer("e");
    chat.question();
    chat.answer("y");
    chat.prompt();
    let result = result(&provider);
    assert!(result.contains("the text of b"), "{result}");
    assert!(!result.contains("the text of a"), "{result}");
    let note = "The user changed this call before it ran, to: {\"file_path\":\"../outside/b.txt\"}";
    assert!(result.ends_with(note), "{result}");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn an_edit_voids_the_yes_that_was_given() {
    let call = |path: &str| ("read_file", json!({ "file_path": path }));
    let calls = Response::calls([call("../outside/a.txt"), call("../outside/c.txt")]);
    let provider = Provider::play([calls]);
    let environment = environment(&provider);
    environment.outside_file("b.txt", "the text of b");
    let terminal = environment
        .command::<&str>([])
        .variable("VISUAL", "sed -i s/a.txt/b.txt/")
        .variable("EDITOR", "false")
        .terminal();
    let mut chat = Chat::of(terminal);
    chat.say("read them");
    chat.approval();
    chat.decide("y 1");
    chat.decide("e 1");
    chat.decide("run");
    chat.answer("n all");
    let screen = chat.prompt();
    assert!(!screen.contains("✓"), "{screen:?}");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn broken_text_is_not_lost() {
    let script = r#"if grep -q broken "$1"
        then echo '{"file_path": "../outside/b.txt"}' > "$1"
        else printf '{\n  broken\n}\n' > "$1"
        fi"#;
    let (provider, environment, mut chat) = waiting(script);
    chat.answer("e");
    let screen = chat.question();
    // The question is still about the call as it was.
    assert!(!screen.contains("as you edited it"), "{screen:?}");
    chat.answer("e");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert!(result(&provider).contains("the text of b"));
    let left = fs::read_dir(environment.data()).expect("the data folder");
    for entry in left.flatten() {
        assert!(!entry.file_name().to_string_lossy().starts_with("call-"));
    }
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn what_does_not_fit_the_schema_can_be_mended() {
    let script = r#"if grep -q path_ "$1"
        then sed -i s/path_/file_path/ "$1"
        else sed -i s/file_path/path_/ "$1"
        fi"#;
    let (provider, _environment, mut chat) = waiting(script);
    chat.answer("e");
    chat.question();
    chat.answer("y");
    chat.question();
    chat.answer("e");
    chat.question();
    chat.answer("y");
    chat.prompt();
    assert!(result(&provider).contains("the text of a"));
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn nothing_changes_where_nothing_was_changed() {
    // After what was in the way of the question it is there once more.
    for (script, said, questions) in [
        ("true", "The arguments are unchanged.", 2),
        (": > \"$1\"", "The arguments are unchanged.", 2),
        ("exit 3", "nothing is changed", 1),
    ] {
        let (_provider, _environment, mut chat) = waiting(script);
        chat.answer("e");
        let screen = chat.question();
        assert!(screen.contains(said), "{screen:?}");
        let asked = screen.count("Read file '../outside/a.txt'?");
        assert_eq!(asked, questions, "{screen:?}");
        chat.answer("y");
        chat.prompt();
        chat.leave();
    }
}

/// Ctrl-C is a key of the editor while it has the terminal, and the file is nobody else's.
#[test]
fn the_editor_has_the_terminal_and_a_private_file() {
    let script = r#"trap 'echo INTERRUPTED' INT
        stat -c 'mode %a' "$1"
        echo ready
        line=
        while [ -z "$line" ]; do read line; done
        sed -i "s/a.txt/$line.txt/" "$1""#;
    let (provider, _environment, mut chat) = waiting(script);
    chat.answer("e");
    chat.terminal.wait_for("mode 600\nready");
    chat.terminal.press(Key::CtrlC);
    chat.terminal.wait_for("INTERRUPTED");
    chat.terminal.type_line("b");
    let screen = chat.question();
    assert!(
        screen.contains("Read file '../outside/b.txt'?"),
        "{screen:?}"
    );
    chat.answer("y");
    chat.prompt();
    assert!(result(&provider).contains("the text of b"));
    chat.leave();
}
