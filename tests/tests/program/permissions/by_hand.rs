//! `/permissions` in the chat does what `dunlin permissions` does in a shell, also at a question.

use dunlin_tests::{Provider, Response};
use serde_json::json;

use super::assert_shows;
use crate::stage::{Chat, environment};

fn command(line: &str) -> Response {
    Response::call("run_terminal_command", json!({ "command": line }))
}

#[test]
fn rules_are_made_explained_and_taken_back_in_the_chat() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "a");
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("/permissions list");
    assert_shows(
        &screen,
        &["Nothing is stored or answered for this session."],
    );
    let screen = chat.turn("/permissions deny run git push");
    assert_shows(&screen, &["deny execute  $ "]);
    let stored = environment.permissions();
    let (key, bits) = stored
        .as_object()
        .and_then(|it| it.iter().next())
        .expect("a rule");
    assert!(key.ends_with("/git push") && bits == "---", "{stored}");

    // The same words as in a shell; only the window breaks the rows.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let explained = environment.run(["permissions", "explain", "run", "git", "push"]);
    let rule = format!("execute deny stored under {key}");
    assert!(words(&explained.stdout).contains(&rule), "{explained}");
    let screen = chat.turn("/permissions explain run git push");
    assert!(
        words(&screen.to_string()).contains(&words(&explained.stdout)),
        "{explained}\n{screen}"
    );
    assert_shows(
        &chat.turn("/permissions explain a.txt"),
        &["/a.txt\n", "read     allow"],
    );

    for (typed, said) in [
        (
            "/permissions allow git status",
            "Did you mean /permissions allow run git status?",
        ),
        (
            "/permissions deny docs/",
            "Did you mean /permissions deny read docs/?",
        ),
        (
            "/permissions allow run",
            "A target is missing: /permissions allow run TARGET",
        ),
        (
            "/permissions allow",
            "Usage: /permissions [list], /permissions explain TARGET",
        ),
        (
            "/permissions lst",
            "Usage: /permissions [list], /permissions explain TARGET",
        ),
        // The beginning of a key is not enough for what is stored.
        (
            "/permissions forget git pu",
            "What is stored is taken back by its whole key:",
        ),
        (
            "/permissions forget git pull",
            "No answer of this session and no stored key begins like this.",
        ),
    ] {
        assert_shows(&chat.turn(typed), &[said]);
    }
    assert_eq!(environment.permissions(), stored);
    let screen = chat.turn("/permissions forget git push");
    assert_shows(&screen, &["Taken back:\n", &format!("---  {key}")]);
    assert_eq!(environment.permissions(), json!({}));

    chat.turn("/permissions deny write a.txt");
    chat.turn("/permissions ask write a.txt");
    assert_eq!(environment.permissions(), json!({}));
    chat.leave();
}

#[test]
fn a_question_is_decided_about_again_after_a_rule() {
    let provider = Provider::play([
        command("touch a.txt"),
        Response::reply("Made."),
        command("touch b.txt"),
        Response::reply("Then not."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("make it");
    chat.question();
    // What prints only leaves the question open.
    chat.answer("/permissions explain run touch a.txt");
    let screen = chat.question();
    assert_shows(&screen, &["one simple command", "v shows it again"]);
    chat.answer("/permissions allow run touch a.txt");
    assert_shows(
        &chat.prompt(),
        &["✓ 1 run_terminal_command touch a.txt", "Made."],
    );
    assert!(environment.project().join("a.txt").exists());
    chat.say("make another");
    chat.question();
    chat.answer("/permissions deny run touch");
    assert_shows(
        &chat.prompt(),
        &[
            "✗ 2 run_terminal_command touch b.txt · denied",
            "denied by: stored under ",
        ],
    );
    assert!(!environment.project().join("b.txt").exists());
    chat.leave();
}

/// A rule could allow what nobody has seen.
#[test]
fn nothing_is_allowed_while_a_call_was_not_shown_in_full() {
    let long = (0..200)
        .map(|line| format!("line {line}\n"))
        .collect::<String>();
    let call = json!({ "file_path": "a.txt", "content": long });
    let provider = Provider::play([
        Response::call("write_file", call),
        Response::reply("Written."),
    ]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("write it");
    chat.question();
    chat.answer("/permissions allow write a.txt");
    assert_shows(
        &chat.question(),
        &["The screen does not show all of it: v does, then answer again."],
    );
    assert!(environment.permissions().is_null(), "{:?}", chat.terminal);
    chat.answer("/permissions deny write a.txt");
    assert_shows(&chat.prompt(), &["✗ 1 write_file a.txt · denied"]);
    chat.leave();
}
