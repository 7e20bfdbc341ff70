//! A call has one number in its session, whatever shows it or asks about it.

use dunlin_tests::{Key, Provider, Response};
use serde_json::json;

use super::assert_shows;
use crate::stage::{Chat, environment, read};

#[test]
fn a_call_keeps_its_number() {
    let outside = |path: &str| ("read_file", json!({ "file_path": path }));
    let provider = Provider::play([
        read("harmless.txt"),
        Response::reply("It is harmless."),
        Response::calls([
            outside("also.txt"),
            outside(".env"),
            outside("../outside/c.txt"),
        ]),
        Response::reply("I have them."),
        read("../outside/c.txt"),
        Response::reply("Again."),
    ]);
    let environment = environment(&provider);
    environment.project_file("harmless.txt", "nothing in it");
    environment.project_file("also.txt", "nothing here");
    environment.project_file(".env", "KEY=secret");
    environment.outside_file("c.txt", "the text of c");
    let mut chat = Chat::open(&environment);
    assert_shows(&chat.turn("first"), &["✓ 1 read_file harmless.txt"]);

    // The list goes on counting where the session is.
    chat.say("second");
    let screen = chat.approval();
    assert_shows(
        &screen,
        &[
            "\n  + 2 read_file ",
            "\n  ? 3 read_file\n",
            "\n  ? 4 read_file\n",
        ],
    );
    // What /expand and /show call 3 is what y 3 answers.
    let screen = chat.decide("/expand 3");
    assert_shows(
        &screen,
        &["  ? 3 read_file\n  parameters\n  │ file_path: .env"],
    );
    let screen = chat.decide("/show 3");
    let shown = "  ? 3 read_file\n  parameters\n  │ file_path: .env";
    assert_eq!(screen.count(shown), 2, "{screen:?}");
    let screen = chat.decide("/history");
    assert_shows(
        &screen,
        &[
            "  m1 you first\n  ✓ 1 read_file harmless.txt · ",
            "  ? 3 read_file .env\n",
        ],
    );
    let screen = chat.decide("/show m2");
    assert_shows(&screen, &["  m2 model\n"]);
    // A number of a call that is over answers nothing.
    let screen = chat.decide("y 1");
    assert_shows(&screen, &["No pending call 1: pending are 3, 4.\n"]);
    let screen = chat.decide("y 4");
    assert_shows(&screen, &["  + 4 read_file "]);
    chat.answer("n 3 it is secret");
    let screen = chat.prompt();
    assert_shows(
        &screen,
        &[
            "✗ 3 read_file .env · denied",
            "✓ 4 read_file ../outside/c.txt",
        ],
    );
    chat.leave();

    // The same numbers after a resume, and new ones behind them.
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    let screen = chat.terminal.screen();
    assert_shows(
        &screen,
        &[
            "✓ 1 read_file harmless.txt",
            "✗ 3 read_file .env · denied",
            "✓ 4 read_file ../outside/c.txt",
        ],
    );
    let screen = chat.turn("/expand 3");
    assert_shows(&screen, &["  ✗ 3 read_file · denied"]);
    chat.say("third");
    let screen = chat.question();
    assert_shows(&screen, &["\n  ? 5 read_file asks\n"]);
    chat.answer("y 5");
    assert_shows(&chat.prompt(), &["✓ 5 read_file ../outside/c.txt"]);
    chat.leave();
}

#[test]
fn a_call_that_was_taken_back_keeps_its_number_to_itself() {
    let provider = Provider::play([
        read("a.txt"),
        Response::reply("One."),
        read("a.txt"),
        Response::reply("Two."),
        read("a.txt"),
        Response::reply("Three."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    assert_shows(&chat.turn("read it"), &["✓ 1 read_file a.txt"]);
    assert_shows(&chat.turn("/retry"), &["✓ 2 read_file a.txt"]);
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    assert_shows(&chat.turn("again"), &["✓ 3 read_file a.txt"]);
    chat.leave();
}

#[test]
fn a_call_that_waited_when_dunlin_ended_keeps_its_number() {
    let provider = Provider::play([
        read("a.txt"),
        Response::reply("One."),
        read("../outside/b.txt"),
        read("a.txt"),
        Response::reply("Three."),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    chat.turn("read it");
    chat.say("read the other");
    assert_shows(&chat.question(), &["\n  ? 2 read_file asks\n"]);
    chat.terminal.press(Key::CtrlC);
    chat.prompt();
    chat.leave();
    let mut chat = Chat::of(environment.terminal(["--resume"]));
    assert_shows(&chat.turn("/expand 2"), &[" 2 read_file · cancelled"]);
    assert_shows(&chat.turn("again"), &["✓ 3 read_file a.txt"]);
    chat.leave();
}
