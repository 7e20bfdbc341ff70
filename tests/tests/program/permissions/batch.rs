//! Several calls at once: decided in any order, while everything else at the prompt works.

use std::num::NonZeroU16;

use dunlin_tests::{Environment, Gate, Key, Provider, Response, Screen};
use serde_json::{Value, json};

use super::assert_shows;
use crate::stage::{Chat, environment};

const NAMES: [&str; 3] = ["a.txt", "b.txt", "c.txt"];

fn outside(name: &str) -> (&'static str, Value) {
    let path = format!("../outside/{name}");
    ("read_file", json!({ "file_path": path }))
}

/// A reply with a call of each file outside the project.
fn three() -> Response {
    Response::stream()
        .text("I need these.")
        .calls_of(NAMES.map(outside))
}

/// A chat in which three calls wait, and the screen that says so.
fn waiting(then: impl IntoIterator<Item = Response>) -> (Provider, Environment, Chat, Screen) {
    let provider = Provider::play([three()].into_iter().chain(then));
    let environment = environment(&provider);
    for name in NAMES {
        environment.outside_file(name, format!("the text of {name}"));
    }
    let mut chat = Chat::open(&environment);
    chat.say("read them");
    let screen = chat.approval();
    (provider, environment, chat, screen)
}

/// The results that the last request holds.
fn results(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let messages = requests.last().expect("a request").messages().to_vec();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    results
        .filter_map(|message| message["content"].as_str().map(str::to_owned))
        .collect()
}

fn done() -> Response {
    Response::reply("Thank you.")
}

#[test]
fn three_calls_are_answered_in_odd_order() {
    let (provider, _environment, mut chat, screen) = waiting([done()]);
    assert_shows(
        &screen,
        &[
            "\n  3 calls need your approval\n",
            "\n  ? 1 read_file\n",
            "\n    │ Read file '../outside/a.txt'?\n",
            "\n  ? 3 read_file\n",
            "\n    ! Outside the project.\n",
        ],
    );
    let screen = chat.decide("y 3");
    assert_shows(
        &screen,
        &["  + 3 read_file Read file '../outside/c.txt'? · approved\n"],
    );
    chat.decide("n 1 that one is private");
    assert_eq!(provider.requests().len(), 1);
    chat.answer("y");
    let screen = chat.prompt();
    assert_shows(
        &screen,
        &[
            "✗ 1 read_file ../outside/a.txt · denied\n",
            "✓ 2 read_file ../outside/b.txt · ",
            "Thank you.",
        ],
    );
    let results = results(&provider);
    let denied = "ERROR: Permission denied: Read file '../outside/a.txt'?\n\n\
        The user says about this call: that one is private";
    assert_eq!(results[0], denied);
    assert!(results[1].contains("the text of b.txt"), "{results:?}");
    assert!(results[2].contains("the text of c.txt"), "{results:?}");
    chat.leave();
}

#[test]
fn a_yes_before_a_no_still_runs() {
    let (provider, _environment, mut chat, _) = waiting([done()]);
    chat.decide("y 3");
    chat.answer("n 2");
    let screen = chat.prompt();
    assert_shows(
        &screen,
        &[
            "– 1 read_file ../outside/a.txt · not run",
            "✗ 2 read_file ../outside/b.txt · denied",
            "✓ 3 read_file ../outside/c.txt · ",
        ],
    );
    assert_eq!(provider.requests().len(), 1, "the turn has ended");
    chat.turn("well?");
    assert!(results(&provider)[2].contains("the text of c.txt"));
    chat.leave();
}

#[test]
fn calls_are_left_out_and_the_rest_is_run() {
    let (provider, _environment, mut chat, _) = waiting([done()]);
    assert_shows(&chat.decide("run"), &["Nothing is approved yet"]);
    chat.decide("skip 1");
    // What stands behind a yes to all could take it back.
    let screen = chat.decide("y all but 3");
    assert_shows(
        &screen,
        &["Nothing was approved: to say something with it, name one call, as in y 2 TEXT."],
    );
    chat.decide("y 2 carefully");
    chat.answer("run and then stop");
    let screen = chat.prompt();
    assert_shows(
        &screen,
        &[
            "» 1 read_file ../outside/a.txt · skipped",
            "✓ 2 read_file ../outside/b.txt · ",
            "» 3 read_file ../outside/c.txt · skipped",
        ],
    );
    let results = results(&provider);
    let skipped = "skipped by the user: not run, but not denied either";
    assert_eq!(results[0], skipped);
    assert!(
        results[1].ends_with("\n\nThe user says about this call: carefully"),
        "{results:?}"
    );
    let said = format!("{skipped}\n\nThe user says about this call: and then stop");
    assert_eq!(results[2], said);
    chat.leave();
}

#[test]
fn all_are_answered_at_once() {
    let (provider, _environment, mut chat, _) = waiting([done()]);
    chat.answer("y all");
    assert!(chat.prompt().contains("Thank you."));
    let read = |result: &String| result.contains("the text of");
    assert!(results(&provider).iter().all(read));
    chat.leave();

    let (_provider, _environment, mut chat, _) = waiting([]);
    chat.answer("n all");
    let screen = chat.prompt();
    assert_eq!(screen.count("· denied"), 3, "{screen:?}");
    chat.leave();
}

#[test]
fn an_answer_that_lasts_settles_the_other_call_of_its_target() {
    let all = outside("a.txt");
    let mut beginning = all.clone();
    beginning.1["start_line"] = 1.into();
    let provider = Provider::play([Response::calls([all, beginning]), done()]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "the text");
    let mut chat = Chat::open(&environment);
    chat.say("read it twice");
    chat.approval();
    chat.answer("s 2");
    let screen = chat.prompt();
    assert_shows(&screen, &["✓ 1 read_file", "✓ 2 read_file"]);
    chat.leave();
}

#[test]
fn tools_are_set_while_calls_wait() {
    let (provider, _environment, mut chat, _) = waiting([done()]);
    let screen = chat.decide("/tools");
    assert_shows(&screen, &["\nread_file            prompt "]);
    let screen = chat.decide("/tools read_fil always");
    assert_shows(&screen, &["similar: read_file"]);
    let screen = chat.decide("/tools read_file sometimes");
    assert_shows(&screen, &["error: \"sometimes\""]);
    chat.answer("/tools read_file always");
    // The prompt says what is not asked about.
    let mark = "(read_file: always)";
    assert!(chat.prompt_with(mark).contains("Thank you."));
    assert_eq!(results(&provider).len(), 3);
    chat.say("/tools");
    let screen = chat.prompt_with(mark);
    assert_shows(&screen, &["\nread_file            always "]);
    chat.leave();

    // A tool that is turned off is no longer offered, and does not end the turn.
    let (provider, _environment, mut chat, _) = waiting([done()]);
    chat.decide("y 1");
    chat.answer("tool 2 never");
    let screen = chat.prompt();
    assert_shows(
        &screen,
        &[
            "Until the session ends: read_file is set to never. Undo: /tools read_file prompt",
            "✗ 1 read_file ../outside/a.txt · denied",
            "denied by: read_file is set to never for this session",
            "Thank you.",
        ],
    );
    assert!(!screen.contains("✓"), "{screen:?}");
    let offered = |number: usize| provider.requests()[number].body["tools"].to_string();
    assert!(offered(0).contains("\"read_file\""), "{}", offered(0));
    assert!(!offered(1).contains("\"read_file\""), "{}", offered(1));
    let screen = chat.turn("/permissions");
    assert_shows(&screen, &["never   read_file\n"]);
    chat.leave();
}

#[test]
fn one_call_runs_while_the_others_wait() {
    let (provider, _environment, mut chat, _) = waiting([done()]);
    let screen = chat.decide("run 2");
    assert_shows(
        &screen,
        &[
            "✓ 2 read_file ../outside/b.txt · ",
            "\n  ? 1 read_file Read",
            "\n  ? 3 read_file Read",
        ],
    );
    assert_eq!(provider.requests().len(), 1);
    let screen = chat.decide("/expand 2");
    assert_shows(&screen, &["the text of b.txt"]);
    chat.answer("y all");
    let screen = chat.prompt();
    assert_shows(
        &screen,
        &[
            "  + 1 read_file Read file '../outside/a.txt'? · approved",
            "✓ 3 read_file",
            "Thank you.",
        ],
    );
    let read = |result: &String| result.contains("the text of");
    assert_eq!(results(&provider).iter().filter(|it| read(it)).count(), 3);
    chat.leave();
}

#[test]
fn one_can_look_around_while_calls_wait() {
    let (_provider, _environment, mut chat, _) = waiting([done()]);
    let screen = chat.decide("/history");
    assert_shows(
        &screen,
        &[
            "  m1 you read them",
            "  m2 model I need these.",
            "  ? 1 read_file ../outside/a.txt\n",
        ],
    );
    let screen = chat.decide("/show 3");
    let shown = "  ? 3 read_file\n  parameters\n  │ file_path: ../outside/c.txt\n  result\n  │ (none yet)\n";
    assert_shows(&screen, &[shown]);
    chat.decide("/copy");
    let copied = chat.terminal.effects();
    assert_eq!(copied, ["clipboard SSBuZWVkIHRoZXNlLg=="]);
    for (line, expected) in [
        (
            "/permissions",
            "Nothing is stored or answered for this session.",
        ),
        ("/undo", "/undo has to wait"),
        ("/clear", "/clear has to wait"),
        ("/hlep", "Did you mean /help?"),
        (
            "v 2",
            "    │ arguments {\"file_path\":\"../outside/b.txt\"}",
        ),
        (
            "?",
            "  ns             no, also from now on until the session ends",
        ),
    ] {
        let screen = chat.decide(line);
        assert_shows(&screen, &[expected]);
    }
    chat.answer("y all");
    chat.prompt();
    chat.leave();
}

#[test]
fn other_lines_answer_nothing_and_are_kept() {
    let (provider, _environment, mut chat, _) = waiting([done(), done()]);
    for line in ["y", "y 7", "yes", "2", "yse"] {
        chat.decide(line);
    }
    let screen = chat.decide("what are these for");
    let said = "\"what are these for\" is not an answer (y N, n N, s, always, never, skip, y all, run, v, e, ?)\n  The text is kept for your next message.\n";
    assert_shows(&screen, &[said]);
    chat.answer("y all");
    chat.prompt_with("what are these for");
    chat.terminal.press(Key::Enter);
    chat.prompt();
    chat.leave();
    let requests = provider.requests();
    let said = requests[2].messages().last().expect("a message")["content"].clone();
    assert_eq!(said, "what are these for");
}

#[test]
fn ctrl_c_cancels_all_of_them() {
    let (provider, _environment, mut chat, _) = waiting([done()]);
    chat.decide("y 2");
    chat.terminal.type_text("y 1");
    chat.terminal.wait_for("approve? y 1");
    chat.interrupt("several calls that wait");
    assert_eq!(chat.terminal.screen().count("· cancelled"), 3);
    chat.turn("go on");
    assert_eq!(results(&provider), ["cancelled by user"; 3]);
    chat.leave();
}

#[test]
fn keys_behind_an_answer_decide_nothing() {
    let (_provider, _environment, mut chat, _) = waiting([]);
    chat.terminal.type_text("y 1\ry 2\ry 3\r");
    let screen = chat.approval();
    assert!(screen.contains("+ 1 read_file"), "{screen:?}");
    assert!(!screen.contains("+ 2 read_file"), "{screen:?}");
    chat.answer("n all");
    let screen = chat.prompt();
    assert_eq!(screen.count("· denied"), 2, "{screen:?}");
    assert_eq!(screen.count("✓"), 1, "{screen:?}");
    chat.leave();
}

#[test]
fn keys_before_the_calls_decide_nothing() {
    let gate = Gate::new();
    let late = Response::stream().text("Wait.").wait(&gate);
    let provider = Provider::play([late.calls_of(NAMES.map(outside))]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("read them");
    chat.terminal.wait_for("Wait.");
    chat.terminal.type_text("y all\r");
    gate.open();
    chat.approval();
    chat.answer("n all");
    // What looks like an answer is not a message either.
    let screen = chat.prompt();
    let said = "\"y all\" was typed before this question, so it answers nothing and was dropped.";
    assert_shows(&screen, &[said]);
    chat.leave();
}

#[test]
fn a_narrow_window_shows_all_of_it() {
    let long = format!("{}x.txt", "long/".repeat(20));
    let calls = Response::calls([outside(&long), outside("b.txt")]);
    let provider = Provider::play([calls]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    let narrow = NonZeroU16::new(40).expect("not zero");
    chat.terminal.resize(narrow, narrow);
    chat.say("read them");
    let screen = chat.approval();
    let (_, block) = screen
        .text
        .split_once("2 calls need your approval\n")
        .unwrap();
    for row in block.lines() {
        assert!(row.chars().count() < 40, "{row:?}");
        // The rest of a word of a command begins with a quote.
        let is_own = row.starts_with("  ") || row.starts_with('\'') || row.is_empty();
        assert!(is_own, "{row:?}");
    }
    chat.answer("n all");
    chat.prompt();
    chat.leave();
}

#[test]
fn nothing_foreign_looks_like_dunlin() {
    let evil = format!(
        "x\n  allow? y\r\u{1b}[2J\u{202e}\t{}  y yes · n no · always",
        " ".repeat(110)
    );
    let provider = Provider::play([Response::calls([outside(&evil), outside("b.txt")])]);
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.say("read them");
    chat.approval();
    for line in ["v all", "/history", "/show 2"] {
        chat.decide(line);
    }
    let screen = chat.terminal.screen();
    for row in screen.text.lines() {
        let text = row.trim_start();
        assert!(!text.starts_with("allow?"), "{row:?}");
        // Dunlin's own key says "y N yes" here.
        assert!(!text.starts_with("y yes"), "{row:?}");
    }
    assert_eq!(chat.terminal.effects(), Vec::<String>::new());
    chat.answer("n all");
    chat.prompt();
    chat.leave();
}

#[test]
fn the_others_go_on_where_a_denial_continues() {
    let provider = Provider::play([three(), done()]);
    let environment = environment(&provider);
    environment.configure_more("on_denial = \"continue\"", "");
    for name in NAMES {
        environment.outside_file(name, "text");
    }
    let mut chat = Chat::open(&environment);
    chat.say("read them");
    chat.approval();
    chat.decide("n 2");
    chat.decide("y 1");
    chat.answer("y");
    assert!(chat.prompt().contains("Thank you."));
    assert!(results(&provider)[1].starts_with("ERROR: Permission denied"));
    chat.leave();
}

#[test]
fn dunlin_ask_takes_the_same_answers() {
    let provider = Provider::play([three(), done()]);
    let environment = environment(&provider);
    environment.outside_file("b.txt", "text");
    let mut terminal = environment.terminal(["ask", "read"]);
    let asks = |count| {
        move |screen: &Screen| {
            screen.count("  approve?") == count && screen.cursor_line.trim_end() == "  approve?"
        }
    };
    terminal.wait_until("the approval", asks(1));
    terminal.type_line("y 2");
    terminal.wait_until("the next", asks(2));
    terminal.type_line("run");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    assert_eq!(results(&provider).len(), 3);
}
