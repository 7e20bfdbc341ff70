//! A line that was begun before a question appeared answers nothing until the user has ended it, however long a pause there is
//! in it.

use dunlin_tests::{Gate, Key, Provider, Response, Screen, Terminal};
use serde_json::json;

use crate::requests::inspecting_elsewhere::Peer;
use crate::stage::{Chat, PUT_BACK, environment, late_call};

/// Where the line stands that has to be ended.
const EARLY: &str = "  typed early: ";

/// What the chat says of it.
const HELD: &str = "End your line first: Enter keeps it for your next message, Ctrl-U drops it.";

/// Waits until the line is shown.
#[track_caller]
fn typed_early(terminal: &Terminal, line: &str) -> Screen {
    let expected = format!("{EARLY}{line}");
    terminal.wait_until(&expected, |screen| {
        screen.cursor_line.trim_end() == expected.trim_end()
    })
}

/// A chat in which somebody has typed `begun` when a question comes.
fn asked(provider: &Provider, gate: &Gate, begun: &str) -> (dunlin_tests::Environment, Chat) {
    let environment = environment(provider);
    environment.outside_file("notes.txt", "the text outside");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text(begun);
    gate.open();
    (environment, chat)
}

/// Somebody types `begun`, a question comes, and `rest` follows after a pause: nothing was answered, `kept` comes back at
/// the prompt, and then `y` answers.
#[track_caller]
fn check(begun: &str, shown: &str, rest: &str, kept: &str) {
    let gate = Gate::new();
    let provider = Provider::play([late_call(&gate), Response::reply("Understood.")]);
    let (environment, mut chat) = asked(&provider, &gate, begun);
    let screen = typed_early(&chat.terminal, shown);
    assert!(screen.contains(HELD), "{:?}", chat.terminal);
    chat.terminal.type_text(rest);
    let screen = chat.question();
    assert!(!screen.contains(EARLY.trim()), "{:?}", chat.terminal);
    assert!(!screen.contains(HELD), "{:?}", chat.terminal);
    assert_eq!(provider.requests().len(), 1, "{:?}", chat.terminal);
    let note = "Kept for your next message: ";
    let said = screen.line_with(note).map(str::trim);
    let expected = (!kept.is_empty()).then(|| format!("{note}{kept}"));
    assert_eq!(said, expected.as_deref(), "{:?}", chat.terminal);
    chat.answer("y");
    let screen = chat.prompt_with(kept);
    assert!(screen.contains("✓ 1 read_file"), "{:?}", chat.terminal);
    assert!(environment.permissions().is_null(), "{:?}", chat.terminal);
}

/// What had to end for a question is seen after it, and nothing that is typed then becomes a part of it.
#[test]
fn a_line_that_is_kept_stands_apart_from_what_is_typed_next() {
    let (gate, later) = (Gate::new(), Gate::new());
    let provider = Provider::play([
        late_call(&gate),
        Response::stream()
            .text("I have")
            .wait(&later)
            .finish("stop"),
        Response::reply("Two."),
        Response::reply("Three."),
    ]);
    let (_environment, mut chat) = asked(&provider, &gate, "please fix the te");
    typed_early(&chat.terminal, "please fix the te");
    chat.terminal.type_text("\r");
    chat.question();
    chat.answer("y");
    chat.terminal
        .wait_for("  kept: please fix the te  (Up takes it back)");
    chat.terminal.type_text("something new\rand mo");
    let screen = chat.typing("and mo");
    let rows = "  queued: something new\n  kept: please fix the te\n› and mo";
    assert!(screen.contains(rows), "{screen:?}");
    // The user takes it back, and ends it.
    chat.terminal.type_text("\x15\x1b[A");
    chat.typing("please fix the te");
    chat.terminal.type_text("sts");
    let screen = chat.typing("please fix the tests");
    assert!(!screen.contains("  kept: "), "{screen:?}");
    chat.terminal.type_text("\r");
    chat.queued("please fix the tests");
    later.open();
    let screen = chat.prompt();
    let said = "› something new\nTwo.\n› please fix the tests\nThree.\n";
    assert!(screen.contains(said), "{screen:?}");
    chat.leave();
}

/// The line that is being typed when the turn ends comes first, and what is kept has a prompt of its own.
#[test]
fn a_line_that_is_kept_joins_no_line_at_the_prompt() {
    let (gate, later) = (Gate::new(), Gate::new());
    let provider = Provider::play([
        late_call(&gate),
        Response::stream()
            .text("I have")
            .wait(&later)
            .finish("stop"),
        Response::reply("Two."),
    ]);
    let (_environment, mut chat) = asked(&provider, &gate, "please fix the te");
    typed_early(&chat.terminal, "please fix the te");
    chat.terminal.type_text("\r");
    chat.question();
    chat.answer("y");
    chat.terminal.wait_for("  kept: please fix the te");
    chat.terminal.type_text("new");
    chat.typing("new");
    later.open();
    chat.prompt_with("new");
    chat.terminal.press(Key::Enter);
    let screen = chat.prompt_with("please fix the te");
    assert!(screen.contains(PUT_BACK), "{screen:?}");
    let request = provider.wait_for_request(2);
    let said = request.messages().last().expect("a message")["content"].clone();
    assert_eq!(said, "new");
}

#[test]
fn the_last_letters_of_a_word_answer_no_question() {
    check(
        "please fix the te",
        "please fix the te",
        "sts\r",
        "please fix the tests",
    );
    check(
        "now look at the director",
        "now look at the director",
        "y\r",
        "now look at the directory",
    );
}

#[test]
fn a_line_that_is_erased_answers_nothing_and_is_gone() {
    check("please fix the te", "please fix the te", "\x15", "");
    check("te", "te", "\x7f\x7f", "");
    check("te", "te", "\x7f\x7f\x7fgo on\r", "go on");
}

/// The pause is waited for behind the end of the line, too.
#[test]
fn what_comes_right_behind_the_line_is_early_as_well() {
    check(
        "please fix the te",
        "please fix the te",
        "st\ralways\r",
        "please fix the test",
    );
    check("please fix the te", "please fix the te", "\x15s\ry\r", "");
}

/// Each piece is typed after a pause, and seen.
#[test]
fn the_line_is_shown_as_it_is_typed() {
    let gate = Gate::new();
    let provider = Provider::play([late_call(&gate)]);
    let (_environment, mut chat) = asked(&provider, &gate, "fix");
    typed_early(&chat.terminal, "fix");
    for (keys, line) in [
        (" the tests", "fix the tests"),
        ("\x7f\x7fß", "fix the tesß"),
        ("\x1b[200~one\rtwo\x1b[201~", "fix the tesßone\\ntwo"),
    ] {
        chat.terminal.type_text(keys);
        let screen = typed_early(&chat.terminal, line);
        assert_eq!(screen.count(EARLY.trim()), 1, "{:?}", chat.terminal);
        assert_eq!(screen.count(HELD), 1, "{:?}", chat.terminal);
    }
    // A line that does not fit shows its end.
    chat.terminal.type_text(&"x".repeat(200));
    chat.terminal.type_text("the end");
    chat.terminal.wait_until("the end of the line", |screen| {
        screen.cursor_line.starts_with(&format!("{EARLY}…x"))
            && screen.cursor_line.trim_end().ends_with("xthe end")
    });
    chat.terminal.type_text("\x15");
    chat.question();
    chat.answer("n");
    chat.prompt();
}

#[test]
fn a_paste_is_a_part_of_the_line_it_came_into() {
    // Its rest comes behind the question, and after it an Enter that is a key.
    let gate = Gate::new();
    let provider = Provider::play([late_call(&gate), Response::reply("Understood.")]);
    let (environment, mut chat) = asked(&provider, &gate, "\x1b[200~# log\r");
    chat.terminal
        .wait_for("Waiting for the rest of what was pasted.");
    chat.terminal.type_text("always\rend\x1b[201~");
    typed_early(&chat.terminal, "# log\\nalways\\nend");
    chat.terminal.type_text("s\r");
    chat.question();
    assert_eq!(provider.requests().len(), 1, "{:?}", chat.terminal);
    chat.answer("y");
    chat.prompt_with("# log\n  always\n  ends");
    assert!(environment.permissions().is_null(), "{:?}", chat.terminal);
}

#[test]
fn esc_and_ctrl_c_end_the_turn_while_a_line_is_open() {
    for key in [Key::Escape, Key::CtrlC] {
        let gate = Gate::new();
        let provider = Provider::play([late_call(&gate), Response::reply("Understood.")]);
        let (_environment, mut chat) = asked(&provider, &gate, "please fix the te");
        typed_early(&chat.terminal, "please fix the te");
        chat.terminal.press(key);
        let screen = chat.prompt_with("please fix the te");
        assert!(screen.contains("(interrupted)"), "{:?}", chat.terminal);
        assert!(!screen.contains("allow?"), "{:?}", chat.terminal);
        // Where the prompt is the line goes on.
        chat.say("st");
        chat.terminal.wait_for("Understood.");
        let request = provider.wait_for_request(1);
        let said = request.messages().last().expect("a message")["content"].clone();
        assert_eq!(said, "please fix the test");
    }
}

#[test]
fn several_calls_are_not_approved_by_the_end_of_a_line() {
    let gate = Gate::new();
    let call = |stream: Response, number: usize, name: &str| {
        stream
            .call_start(number, &format!("call_{number}"), "read_file")
            .call_arguments(
                number,
                &json!({ "file_path": format!("../outside/{name}") }).to_string(),
            )
    };
    let calls = Response::stream().text("Let me see.").wait(&gate);
    let calls = call(call(calls, 0, "notes.txt"), 1, "diary.txt").finish("tool_calls");
    let provider = Provider::play([calls]);
    let (_environment, mut chat) = asked(&provider, &gate, "ask wh");
    typed_early(&chat.terminal, "ask wh");
    chat.terminal.type_text("y all\r");
    let screen = chat.approval();
    assert!(!screen.contains("✓"), "{:?}", chat.terminal);
    chat.answer("n all");
    chat.prompt_with("ask why all");
}

#[test]
fn the_end_of_a_line_is_no_answer_in_words() {
    let gate = Gate::new();
    let call = Response::stream()
        .text("Let me see.")
        .wait(&gate)
        .call_start(0, "call_0", "ask_user")
        .call_arguments(0, &json!({ "question": "Where?" }).to_string())
        .finish("tool_calls");
    let provider = Provider::play([call, Response::reply("Understood.")]);
    let (_environment, mut chat) = asked(&provider, &gate, "please fix the te");
    typed_early(&chat.terminal, "please fix the te");
    chat.terminal.type_text("st\r");
    chat.terminal.wait_until("the question", |screen| {
        screen.cursor_line.trim_end() == "  answer?"
    });
    chat.answer("here");
    chat.prompt_with("please fix the test");
    let request = provider.wait_for_request(1);
    let said = request.messages().last().expect("a result").to_string();
    assert!(said.contains("here") && !said.contains("st\\r"), "{said}");
}

/// Without a cursor that moves, what is typed is written behind what stands there. Lines begin empty there, so nothing is kept.
#[test]
fn a_terminal_that_cannot_move_its_cursor_shows_the_line_as_well() {
    let gate = Gate::new();
    let provider = Provider::play([late_call(&gate)]);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", "the text outside");
    let command = environment.command::<&str>([]);
    let mut chat = Chat::of(command.variable("TERM", "dumb").terminal());
    chat.say("read it");
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text("please fix the te");
    gate.open();
    let screen = typed_early(&chat.terminal, "please fix the te");
    assert!(screen.contains("End your line first: Enter drops it."));
    chat.terminal.type_text("s");
    typed_early(&chat.terminal, "please fix the tes");
    chat.terminal.type_text("\x7f\x7fx");
    let screen = typed_early(&chat.terminal, "please fix the tx");
    assert_eq!(screen.count(EARLY.trim()), 2, "{:?}", chat.terminal);
    chat.terminal.type_text("\rs\r");
    let screen = chat.question();
    assert!(screen.contains("Keystrokes typed before this question were ignored."));
    chat.answer("n");
    let screen = chat.prompt();
    assert!(screen.contains("· denied"), "{:?}", chat.terminal);
}

/// A line that waits for its end does not keep others from what they do with the request.
#[test]
fn a_paused_request_is_edited_and_sent_elsewhere_while_a_line_is_open() {
    let gate = Gate::new();
    let call = Response::stream()
        .text("Let me see.")
        .wait(&gate)
        .call_start(0, "call_0", "read_file")
        .call_arguments(0, &json!({ "file_path": "notes.txt" }).to_string())
        .finish("tool_calls");
    let provider = Provider::play([call, Response::reply("Understood.")]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "the text inside");
    let mut chat = Chat::waiting(environment.terminal(["--intercept", "every"]));
    chat.terminal.wait_for("› (pause: every)");
    let mut peer = Peer::attach(&environment);
    chat.say("read it");
    let first = peer.wait("paused");
    peer.say(&json!({"id": 1, "op": "send", "pause": 1, "revision": first["revision"]}));
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text("please fix the te");
    gate.open();
    let second = peer.wait("paused");
    typed_early(&chat.terminal, "please fix the te");
    peer.edit((2, &second["revision"]), "read it", "look at it");
    let edited = peer.wait("edited");
    peer.wait("done");
    chat.terminal.wait_for("edited from another terminal");
    // The line still has to be ended.
    typed_early(&chat.terminal, "please fix the te");
    chat.terminal.type_text("st");
    typed_early(&chat.terminal, "please fix the test");
    peer.say(&json!({"id": 2, "op": "send", "pause": 2, "revision": edited["revision"]}));
    peer.wait("sent");
    chat.terminal.wait_for("Understood.");
    chat.terminal.wait_until("the prompt", |screen| {
        screen.cursor_line.trim_end() == "› (pause: every) please fix the test"
    });
    let request = provider.wait_for_request(1);
    assert_eq!(request.messages()[0]["content"], "look at it");
}
