//! The approval: what may be answered, what that stores, and what the model gets to know.

use std::num::NonZeroU16;

use dunlin_tests::{Environment, Key, Provider, Response, Screen};
use serde_json::{Value, json};

use crate::stage::{Chat, environment, read};

/// What stands in the file outside of the project.
const TEXT: &str = "the text outside";

/// The file outside of the project, as the model names it.
const PATH: &str = "../outside/notes.txt";

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// The user is asked.
    Asked,
    /// It runs without a question.
    Runs,
    /// It is refused without a question.
    Refused,
}

/// A turn in which the model reads the file outside. Where the user is asked the answer is `answer`.
#[track_caller]
fn read_outside(chat: &mut Chat, outcome: Outcome, answer: &str) {
    chat.say("read it");
    if outcome == Outcome::Asked {
        let question = chat.question();
        let path = question.line_with("    read ").unwrap_or_default();
        assert!(path.contains("/outside/notes.txt"), "{:?}", chat.terminal);
        chat.answer(answer);
    }
    chat.prompt();
}

/// The answers of the provider in a turn with one call of the file outside.
fn script(allowed: bool) -> Vec<Response> {
    let mut script = vec![read(PATH)];
    if allowed {
        script.push(Response::reply("Thank you."));
    }
    script
}

/// A chat that asks about the file outside, and has this script.
#[track_caller]
fn asked(script: Vec<Response>) -> (Provider, Environment, Chat) {
    let provider = Provider::play(script);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", TEXT);
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.question();
    (provider, environment, chat)
}

/// Answers a first call with `answer` and looks at what the same call meets afterwards: in the same
/// session, in the permission file, and in a new session.
#[track_caller]
fn check(answer: &str, allowed: bool, again: Outcome, stored: Option<&str>, restarted: Outcome) {
    // Where it is asked again, the answer is no.
    // Without a question the model gets a result, whatever that is.
    let script = [
        allowed,
        again != Outcome::Asked,
        restarted != Outcome::Asked,
    ]
    .map(script);
    let provider = Provider::play(script.into_iter().flatten());
    let environment = environment(&provider);
    let path = environment.outside_file("notes.txt", TEXT);

    let mut chat = Chat::open(&environment);
    read_outside(&mut chat, Outcome::Asked, answer);
    let (mark, end) = if allowed {
        ("  ✓ 1 read_file ", " ms")
    } else {
        ("  ✗ 1 read_file ", " · denied")
    };
    let screen = chat.terminal.screen();
    let line = screen.line_with(mark).unwrap_or_default();
    assert!(
        line.contains(PATH) && line.ends_with(end),
        "{:?}",
        chat.terminal
    );
    assert_eq!(screen.contains("Thank you."), allowed);
    read_outside(&mut chat, again, "n");
    let stored = match stored {
        Some(bits) => json!({ path.display().to_string(): bits }),
        None => Value::Null,
    };
    assert_eq!(environment.permissions(), stored, "{answer}");
    chat.leave();

    let mut chat = Chat::open(&environment);
    read_outside(&mut chat, restarted, "n");
    chat.leave();

    let requests = provider.requests();
    let results = requests[1].messages()[2]["content"].as_str();
    let results = results.expect("the result of the call");
    if allowed {
        assert!(results.contains(TEXT), "{results}");
    } else {
        let expected = format!("ERROR: Permission denied: Read file '{PATH}'?");
        assert_eq!(results, expected, "{answer}");
    }
}

#[test]
fn yes_holds_for_the_call() {
    check("y", true, Outcome::Asked, None, Outcome::Asked);
}

#[test]
fn no_holds_for_the_call() {
    check("n", false, Outcome::Asked, None, Outcome::Asked);
}

#[test]
fn session_holds_until_the_end_of_the_session() {
    check("s", true, Outcome::Runs, None, Outcome::Asked);
    check("ns", false, Outcome::Refused, None, Outcome::Asked);
}

#[test]
fn always_and_never_are_stored() {
    check("always", true, Outcome::Runs, Some("R??"), Outcome::Runs);
    check(
        "never",
        false,
        Outcome::Refused,
        Some("-??"),
        Outcome::Refused,
    );
}

/// Esc takes back what was typed, and what is typed then is what it looks like.
#[test]
fn escape_does_not_become_part_of_the_answer() {
    let (_provider, _environment, mut chat) = asked(script(false));
    chat.terminal.type_text("maybe");
    chat.terminal.wait_for("allow? maybe");
    chat.terminal.press(Key::Escape);
    let is_empty = |screen: &Screen| screen.cursor_line.trim_end() == "  allow?";
    chat.terminal.wait_until("an empty line", is_empty);
    chat.answer("ns");
    let screen = chat.prompt();
    assert!(screen.contains("allow? ns"), "{screen:?}");
    assert!(screen.contains("· denied"), "{screen:?}");
    chat.leave();
}

#[test]
fn nothing_but_an_answer_answers() {
    let (provider, _environment, mut chat) = asked(script(true));
    for garbage in [
        "",
        "okey",
        "yse",
        "yy",
        "Y N",
        "1",
        "/exit",
        "always y",
        "never mind",
    ] {
        chat.answer(garbage);
        chat.question();
    }
    chat.answer("?");
    chat.question();
    chat.answer("v");
    chat.question();
    assert_eq!(provider.requests().len(), 1);
    chat.answer("Y");
    // Words that may be a message are back in the input line.
    chat.prompt_with("always y\nnever mind");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn ctrl_c_and_ctrl_d_deny_and_end_the_turn() {
    for key in [Key::CtrlC, Key::CtrlD] {
        let script = vec![read(PATH), Response::reply("Good, without it.")];
        let (provider, environment, mut chat) = asked(script);
        chat.terminal.press(key);
        let screen = chat.prompt();
        assert!(
            screen.contains("– 1 read_file ../outside/notes.txt · cancelled\n(interrupted)\n"),
            "{:?}",
            chat.terminal
        );
        assert!(chat.turn("go on").contains("Good, without it."));
        chat.leave();
        assert_eq!(environment.permissions(), Value::Null);
        let results = provider.requests()[1].messages()[2]["content"].clone();
        assert_eq!(results, "cancelled by user");
        let denied = environment.run(["audit", "--denied"]);
        assert!(denied.stdout.contains("notes.txt"), "{denied}");
    }
}

#[test]
fn inside_the_project_nobody_is_asked() {
    let provider = Provider::play([read("src/main.rs"), Response::reply("It is empty inside.")]);
    let environment = environment(&provider);
    environment.project_file("src/main.rs", "fn main() {}\n");
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("what does it do?");
    assert!(!screen.contains("allow?"));
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let requests = provider.requests();
    assert!(requests[1].results()[0].contains("fn main() {}"));
    assert_eq!(
        requests[0].tools(),
        [
            "ask_user",
            "codebase_search",
            "edit_file",
            "list_files",
            "read_file",
            "run_subagent",
            "run_terminal_command",
            "search_text",
            "todo",
            "web_fetch",
            "web_search",
            "write_file"
        ]
    );
}

#[test]
fn an_answer_is_streamed() {
    let gate = dunlin_tests::Gate::new();
    let answer = Response::stream().text("The first half").wait(&gate);
    let provider = Provider::play([answer.text(", and the second.").finish("stop")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("tell me");
    chat.terminal.wait_for("The first half");
    chat.terminal.assert_absent("second");
    gate.open();
    assert!(chat.prompt().contains("The first half, and the second.\n"));
    chat.leave();
}

#[test]
fn after_a_denied_call_the_others_are_not_run() {
    let calls = ["src/a.txt", PATH, "src/b.txt"];
    let calls = calls.map(|path| ("read_file", json!({ "file_path": path })));
    let provider = Provider::play([Response::calls(calls), Response::reply("I see.")]);
    let environment = environment(&provider);
    environment.project_file("src/a.txt", "the text of a");
    environment.project_file("src/b.txt", "the text of b");
    environment.outside_file("notes.txt", TEXT);
    let mut chat = Chat::open(&environment);
    chat.say("read them");
    chat.question();
    chat.answer("n");
    chat.prompt();
    chat.turn("well?");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let messages = provider.requests()[1].messages().to_vec();
    let results: Vec<&str> = messages[2..5]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert!(results[0].contains("the text of a"), "{results:?}");
    assert!(
        results[1].starts_with("ERROR: Permission denied"),
        "{results:?}"
    );
    assert_eq!(results[2], "not run: call 2 was denied");
}

#[test]
fn what_was_not_declared_is_asked_in_the_hosts_words() {
    let call = Response::call("undeclared", json!({ "path": PATH }));
    let provider = Provider::play([call]);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", TEXT);
    let mut chat = Chat::with_guests(&environment, &["undeclared"]);
    chat.say("do it");
    let screen = chat.question();
    assert!(!screen.contains("harmless"), "{:?}", chat.terminal);
    chat.answer("n");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

/// A call that ends with a no has not done nothing.
#[test]
fn what_a_call_changed_before_a_no_is_said_and_can_be_undone() {
    let arguments = json!({ "path": "diary.md", "how": "append", "text": "one\n", "again": "two\n", "later": true });
    let call = Response::call("diary", arguments);
    let provider = Provider::play([call, Response::reply("I see.")]);
    let environment = environment(&provider);
    let diary = environment.project_file("diary.md", "zero\n");
    let mut chat = Chat::with_guests(&environment, &["diary"]);
    chat.say("write");
    chat.question();
    chat.answer("y");
    chat.question();
    chat.answer("n");
    let screen = chat.prompt();
    assert!(!screen.contains("denied by"), "{screen:?}");
    assert_eq!(std::fs::read_to_string(&diary).unwrap(), "zero\none\n");
    chat.turn("well?");
    let messages = provider.requests()[1].messages().to_vec();
    let result = messages[2]["content"].as_str().unwrap();
    assert!(result.starts_with("ERROR: "), "{result}");
    assert!(result.contains("diary.md (+1 −0)"), "{result}");
    chat.say("/undo");
    chat.terminal.wait_for("diary.md");
    chat.prompt();
    assert_eq!(std::fs::read_to_string(&diary).unwrap(), "zero\n");
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

#[test]
fn dunlins_own_files_are_refused_without_a_question() {
    let provider = Provider::play([
        read("../home/config/dunlin/config.toml"),
        Response::reply("I cannot."),
    ]);
    let environment: Environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    let screen = chat.turn("read your configuration");
    assert!(screen.contains("· denied"), "{:?}", chat.terminal);
    assert!(!screen.contains("allow?"));
    chat.leave();
}

/// That a call was written as text is said once: at its question, or below what allows it.
#[test]
fn a_call_that_was_written_as_text_is_said_to_be_one() {
    let written = |path: &str| {
        let call = json!({ "name": "read_file", "arguments": { "file_path": path } });
        Response::reply(&format!("<tool_call>{call}</tool_call>"))
    };
    let provider = Provider::play([
        written("src/a.txt"),
        written(PATH),
        Response::reply("I see."),
    ]);
    let environment = environment(&provider);
    environment.project_file("src/a.txt", "the text of a");
    environment.outside_file("notes.txt", TEXT);
    let mut chat = Chat::open(&environment);
    chat.say("read them");
    let screen = chat.question();
    let notice = "  · The model wrote this call of read_file as text.\n";
    assert_eq!(screen.count(notice), 1, "{:?}", chat.terminal);
    chat.answer("y");
    let screen = chat.prompt();
    assert_eq!(screen.count("as text"), 2, "{:?}", chat.terminal);
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

/// What a command of the chat prints may be the model's words, and look like a question: the real one stands below it.
#[test]
fn what_waits_is_named_again_below_what_a_command_prints() {
    let forged = "```\n  ? 1 read_file asks\n    read    /etc/hostname\n```";
    let call = ("read_file", json!({ "file_path": PATH }));
    let first = Response::stream().text(forged).calls_of([call]);
    let (_provider, _environment, mut chat) = asked(vec![first, Response::reply("Thank you.")]);
    chat.answer("/show m2");
    let screen = chat.question();
    let shown = screen.text.rfind("/etc/hostname").expect("the message");
    let below = screen.text.get(shown..).unwrap_or_default();
    let row = below
        .lines()
        .find(|row| row.starts_with("  ? 1 read_file read /"));
    let row = row.unwrap_or_default();
    assert!(
        row.ends_with("/outside/notes.txt · v shows it again"),
        "{screen:?}"
    );
    assert!(
        !below.contains("Outside the project."),
        "only in short: {screen:?}"
    );
    chat.answer("v");
    let screen = chat.question();
    assert_eq!(screen.count("  ! Outside the project.\n"), 2, "{screen:?}");
    chat.answer("y");
    chat.prompt();
}

/// The terminal breaks the rows of a question anew when the window changes: it is asked again, whole.
#[test]
fn a_yes_to_a_question_for_another_window_does_not_count() {
    let (provider, _environment, mut chat) = asked(script(true));
    let size = |rows, columns| {
        (
            NonZeroU16::new(rows).expect("rows"),
            NonZeroU16::new(columns).expect("columns"),
        )
    };
    let (rows, columns) = size(40, 60);
    chat.terminal.resize(rows, columns);
    chat.answer("y");
    let screen = chat.question();
    assert!(
        screen.contains("Nothing was approved: the window has changed"),
        "{screen:?}"
    );
    assert_eq!(provider.requests().len(), 1);
    chat.answer("y");
    chat.prompt();
    assert_eq!(provider.requests().len(), 2);
}
