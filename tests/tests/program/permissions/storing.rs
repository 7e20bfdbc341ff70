//! What an answer stores is said before and after it, with the command that takes it back.

use dunlin_tests::{Provider, Response};
use serde_json::json;

use super::assert_shows;
use crate::stage::{Chat, environment};

fn command(line: &str) -> Response {
    Response::call("run_terminal_command", json!({ "command": line }))
}

/// `never` and `ns` at a pipeline deny exactly that line: its programs stay as they were.
#[test]
fn never_at_a_compound_line_is_for_that_line() {
    let provider = Provider::play([
        command("cat a.txt | grep a"),
        command("cat a.txt | grep a"),
        Response::reply("Then not."),
        command("grep a a.txt"),
        Response::reply("Found."),
    ]);
    let environment = environment(&provider);
    environment.configure_more("on_denial = \"continue\"", "");
    environment.project_file("a.txt", "a");
    let mut chat = Chat::open(&environment);
    chat.say("search");
    chat.question();
    chat.answer("v");
    let screen = chat.question();
    assert_shows(
        &screen,
        &[
            "    never:  denies exactly this line, in all projects\n",
            "undo never: dunlin permissions ask run '= cat a.txt | grep a'",
        ],
    );
    chat.answer("never");
    let screen = chat.prompt();
    let row = "Stored: denies exactly this line, in all projects. Undo: dunlin permissions ask run '= cat a.txt | grep a'";
    assert_shows(
        &screen,
        &[
            row,
            // The second time the rule denies it, and is named with what takes it back.
            "✗ 2 run_terminal_command",
            "    denied by: stored under = cat a.txt | grep a\n",
            "    undo: dunlin permissions ask run '= cat a.txt | grep a'\n",
        ],
    );
    assert_eq!(
        environment.permissions(),
        json!({ "= cat a.txt | grep a": "---" })
    );
    let screen = chat.turn("/expand 2");
    assert_shows(
        &screen,
        &["    denied by: stored under = cat a.txt | grep a\n"],
    );
    // grep itself is asked about as ever.
    chat.say("search otherwise");
    chat.question();
    chat.answer("y");
    assert_shows(&chat.prompt(), &["Found."]);
    chat.leave();
    let undone = environment.run(["permissions", "ask", "run", "= cat a.txt | grep a"]);
    assert_eq!(undone.status, Some(0), "{undone}");
    assert_eq!(environment.permissions(), json!({}));
}

#[test]
fn an_answer_for_the_session_is_taken_back() {
    let read = || Response::call("read_file", json!({ "file_path": "../outside/b.txt" }));
    let provider = Provider::play([
        read(),
        Response::reply("One."),
        read(),
        Response::reply("Two."),
        read(),
        Response::reply("Three."),
    ]);
    let environment = environment(&provider);
    let file = environment.outside_file("b.txt", "the text of b");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    let screen = chat.question();
    assert_shows(&screen, &["b.txt (always: in all projects)\n"]);
    chat.answer("v");
    let screen = chat.question();
    assert_shows(
        &screen,
        &[
            "    always, never: in all projects",
            "dunlin permissions ask read ",
        ],
    );
    chat.answer("s");
    let screen = chat.prompt();
    assert_shows(
        &screen,
        &[
            "  Until the session ends: allows reading ",
            "Undo: /permissions forget",
        ],
    );
    chat.turn("again");
    assert_shows(
        &chat.turn("/permissions forget /nowhere"),
        &["No answer of this session and no stored key begins like this."],
    );
    let file = file.display().to_string();
    let beginning = file.strip_suffix(".txt").expect("its name");
    assert_shows(
        &chat.turn(&format!("/permissions forget {beginning}")),
        &["Forgot the answer ", " about ", &file],
    );
    chat.say("once more");
    chat.question();
    chat.answer("always");
    assert_shows(
        &chat.prompt(),
        &["  Stored: allows reading ", "dunlin permissions ask"],
    );
    // What is stored holds for all projects: its key is named whole.
    let way = format!("/permissions forget {file}");
    assert_shows(
        &chat.turn(&format!("/permissions forget {beginning}")),
        &["What is stored is taken back by its whole key:", &way],
    );
    let screen = chat.turn(&format!("/permissions forget '{file}'"));
    let removed = format!("r??  {file}");
    assert_shows(&screen, &["Taken back:\n", &removed]);
    assert_eq!(environment.permissions(), json!({}));
    chat.leave();
}
