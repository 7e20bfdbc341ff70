//! What is typed while a turn runs is seen; Enter queues it, and it is sent when the turn is over.

use std::num::NonZeroU16;

use dunlin_tests::{Gate, Key, Provider, Response, Screen};

use crate::stage::{Chat, environment, late_call};

/// What the user said in a request, last.
fn said(provider: &Provider, request: usize) -> String {
    let request = provider.wait_for_request(request);
    let message = request.messages().last().cloned().expect("a message");
    message["content"].as_str().expect("a text").to_owned()
}

/// A reply in two parts, and the replies to what comes after it.
fn play(gate: &Gate, replies: &[&str]) -> Provider {
    let first = Response::stream()
        .text("One")
        .wait(gate)
        .text(", two.")
        .finish("stop");
    let replies = replies.iter().map(|reply| Response::reply(reply));
    Provider::play([first].into_iter().chain(replies))
}

/// A chat in which the first part of the reply is there.
fn begun(provider: &Provider) -> Chat {
    let mut chat = Chat::open(&environment(provider));
    chat.say("count");
    chat.terminal.wait_for("One");
    chat
}

/// Says something about the last rows.
#[track_caller]
fn assert_ends(screen: &Screen, rows: &str) {
    assert!(screen.text.trim_end().ends_with(rows), "{}", screen.text);
}

#[test]
fn a_line_is_seen_below_the_reply_and_goes_on_at_the_prompt() {
    let gate = Gate::new();
    let provider = play(&gate, &["Three."]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("and the");
    let screen = chat.typing("and the");
    assert_ends(&screen, "\nOne\n› and the");
    chat.terminal.type_text("m\x7fn?\x01\x1b[C");
    let screen = chat.typing("and then?");
    assert_eq!(screen.cursor_column, 3, "{:?}", chat.terminal);
    gate.open();
    let screen = chat.prompt_with("and then?");
    assert_ends(&screen, "\nOne, two.\n› and then?");
    chat.terminal.press(Key::Enter);
    assert!(chat.prompt().contains("Three."));
    assert_eq!(said(&provider, 1), "and then?");
    chat.leave();
}

#[test]
fn messages_are_sent_one_after_the_other() {
    let gate = Gate::new();
    let provider = play(&gate, &["Three.", "Four."]);
    let mut chat = begun(&provider);
    chat.terminal
        .type_text("then\rand\x1b[200~ the\rlast\x1b[201~\rnot yet");
    let screen = chat.typing("not yet");
    assert_ends(
        &screen,
        "\nOne\n  queued: then\n  queued: and the\\nlast\n› not yet",
    );
    gate.open();
    let screen = chat.prompt_with("not yet");
    let all = "› count\nOne, two.\n› then\nThree.\n› and the\n  last\nFour.\n› not yet";
    assert_ends(&screen, all);
    assert_eq!(said(&provider, 1), "then");
    assert_eq!(said(&provider, 2), "and the\nlast");
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    // They can be recalled like others.
    for _ in 0..3 {
        chat.terminal.press(Key::Up);
    }
    chat.terminal.wait_until("what was sent", |screen| {
        screen.cursor_line.trim_end() == "› then"
    });
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}

#[test]
fn the_last_one_is_taken_back_to_be_edited() {
    let gate = Gate::new();
    let provider = play(&gate, &["Three.", "Four."]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("first\rsecod\r");
    chat.queued("secod");
    chat.terminal.press(Key::Up);
    let screen = chat.typing("secod");
    assert_ends(&screen, "\n  queued: first\n› secod");
    chat.terminal.type_text("\x1b[Dn\r");
    chat.queued("second");
    gate.open();
    let screen = chat.prompt();
    assert!(
        screen.contains("› first\nThree.\n› second\nFour.\n"),
        "{screen:?}"
    );
    assert_eq!(said(&provider, 2), "second");
    chat.leave();
}

#[test]
fn an_interrupted_turn_gives_back_what_is_queued() {
    let provider = Provider::play([
        Response::stream().text("One").stall(),
        Response::reply("Two."),
    ]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("first\rsecond\rthi");
    chat.typing("thi");
    chat.terminal.press(Key::CtrlC);
    let screen = chat.prompt_with("first\n  second\n  thi");
    assert!(!screen.contains("queued"), "{screen:?}");
    chat.turn("rd");
    assert_eq!(said(&provider, 1), "first\nsecond\nthird");
    chat.leave();
}

#[test]
fn a_failed_turn_gives_back_what_is_queued() {
    let gate = Gate::new();
    let failed = Response::stream()
        .text("One")
        .wait(&gate)
        .raw("data: {\"error\":{\"message\":\"out of luck\",\"code\":400}}\n\n");
    let provider = Provider::play([failed, Response::reply("Two.")]).lenient();
    let mut chat = begun(&provider);
    chat.terminal.type_text("go on\r");
    chat.queued("go on");
    gate.open();
    let screen = chat.prompt_with("go on");
    assert!(screen.contains("out of luck"), "{screen:?}");
    assert_eq!(provider.requests().len(), 1, "{:?}", chat.terminal);
}

#[test]
fn esc_interrupts_and_sends_what_was_typed() {
    let stalled = || Response::stream().text("One").stall();
    let provider = Provider::play([
        stalled(),
        stalled(),
        Response::reply("Two."),
        Response::reply("Three."),
    ]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("rather this");
    chat.typing("rather this");
    chat.terminal.press(Key::Escape);
    chat.terminal.wait_for("(interrupted)\n› rather this\nOne");
    assert_eq!(said(&provider, 1), "rather this");
    chat.terminal.type_text("or that\r");
    chat.queued("or that");
    chat.terminal.type_text("and this");
    chat.typing("and this");
    chat.terminal.press(Key::Escape);
    let screen = chat.prompt();
    let all = "(interrupted)\n› or that\nTwo.\n› and this\nThree.\n";
    assert!(screen.contains(all), "{screen:?}");
    assert_eq!(said(&provider, 3), "and this");
    chat.leave();
}

#[test]
fn a_command_waits_for_enter_and_an_answer_is_dropped() {
    let gate = Gate::new();
    let provider = play(&gate, &["Three."]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("y\rthen\r/new\rlater\r");
    let screen = chat.terminal.wait_for("waits: later");
    assert_ends(&screen, "  queued: then\n  waits: /new\n  waits: later");
    gate.open();
    let screen = chat.prompt_with("/new");
    assert_ends(
        &screen,
        "› /new  (put back: Enter runs it; 1 line waits behind it)",
    );
    let note = "\"y\" was typed when nothing was asked, so it answers nothing and was dropped.";
    assert!(
        screen.contains(&format!("{note}\n› then\nThree.\n")),
        "{screen:?}"
    );
    chat.terminal.press(Key::Enter);
    chat.prompt_with("later");
    assert_eq!(provider.requests().len(), 2, "{:?}", chat.terminal);
}

/// A command that comes back is replaced by what is typed, and that is said.
#[test]
fn a_command_that_is_replaced_is_named() {
    let gate = Gate::new();
    let provider = play(&gate, &["Three."]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("/undo\r");
    chat.terminal.wait_for("waits: /undo");
    gate.open();
    chat.prompt_with("/undo");
    chat.terminal.type_text("go on");
    let screen = chat.turn("");
    let said = "\"/undo\" did not run: you typed something else in its place.";
    assert_eq!(screen.count(said), 1, "{screen:?}");
    chat.leave();
}

/// A line that waits behind a command which the user drops becomes no part of what is typed in the next turn.
#[test]
fn a_line_that_was_taken_back_stays_one_of_its_own() {
    let (gate, end) = (Gate::new(), Gate::new());
    let second = Response::stream().text("Three").wait(&end).finish("stop");
    let first = Response::stream().text("One").wait(&gate).finish("stop");
    let provider = Provider::play([
        first,
        second,
        Response::reply("Four."),
        Response::reply("Five."),
    ]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("/undo\rlater\r");
    chat.terminal.wait_for("waits: later");
    chat.terminal.press(Key::Up);
    chat.typing("later");
    chat.terminal.press(Key::Escape);
    chat.prompt_with("/undo");
    chat.terminal.type_text("\x15");
    chat.prompt_cleared();
    chat.say("go on");
    chat.terminal.wait_for("Three");
    chat.terminal.type_text("and");
    chat.typing("and");
    chat.terminal.type_text(" then?\r");
    let screen = chat.queued("and then?");
    assert_ends(
        &screen,
        "\nThree\n  queued: and then?\n  kept: later  (Up takes it back)",
    );
    end.open();
    let screen = chat.prompt_with("later");
    assert_ends(&screen, "\nFour.\n› later  (put back: Enter sends it)");
    assert_eq!(said(&provider, 1), "go on");
    assert_eq!(said(&provider, 2), "and then?");
    // What is typed in its place does not lose it.
    chat.terminal.type_text("well");
    let screen = chat.turn("");
    assert!(
        screen.contains("in place of the text that was put back; the arrow upwards finds it."),
        "{screen:?}"
    );
    assert_eq!(said(&provider, 3), "well");
    for found in ["› well", "› later"] {
        chat.terminal.press(Key::Up);
        chat.terminal
            .wait_until(found, |screen| screen.cursor_line.trim_end() == found);
    }
    gate.open();
}

/// What is queued and what is being typed when a question comes answers nothing and is there again afterwards.
#[test]
fn a_question_leaves_everything_as_it_is() {
    let (gate, end) = (Gate::new(), Gate::new());
    let answer = Response::stream()
        .text("Under")
        .wait(&end)
        .text("stood.")
        .finish("stop");
    let provider = Provider::play([late_call(&gate), answer, Response::reply("Fine.")]);
    let environment = environment(&provider);
    environment.outside_file("notes.txt", "the text outside");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.terminal.wait_for("Let me see.");
    chat.terminal.type_text("go on\rand the");
    chat.typing("and the");
    gate.open();
    chat.terminal.wait_for("  typed early: and the");
    chat.terminal.type_text("n\r");
    let screen = chat.question();
    assert!(!screen.contains("queued"), "{screen:?}");
    chat.answer("y");
    chat.terminal.wait_for("Under");
    let kept = "  kept: and then  (Up takes it back)";
    let screen = chat.terminal.wait_for(kept);
    assert_ends(&screen, &format!("Under\n  queued: go on\n{kept}"));
    end.open();
    // It was ended for the question only, so it is not sent.
    let screen = chat.prompt_with("and then");
    assert!(
        screen.contains("Understood.\n› go on\nFine.\n"),
        "{screen:?}"
    );
    assert!(environment.permissions().is_null(), "{:?}", chat.terminal);
    assert_eq!(said(&provider, 2), "go on");
}

#[test]
fn the_reply_scrolls_above_the_line_and_stays_whole() {
    let (first, second) = (Gate::new(), Gate::new());
    let text: Vec<String> = (0..60).map(|line| format!("- line {line}\n")).collect();
    let (begin, rest) = text.split_at(30);
    let answer = Response::stream()
        .text("One\n\n")
        .wait(&first)
        .text(&begin.concat())
        .wait(&second)
        .text(&rest.concat())
        .finish("stop")
        .in_pieces_of(7);
    let provider = Provider::play([answer]);
    let mut chat = begun(&provider);
    chat.terminal.type_text("漢字 größe");
    chat.typing("漢字 größe");
    first.open();
    chat.terminal.wait_for("line 28");
    // Narrow, and then wide again.
    for columns in [20, 100] {
        let size = |it| NonZeroU16::new(it).expect("not zero");
        chat.terminal.resize(size(12), size(columns));
        chat.terminal.type_text("!");
        chat.terminal.wait_until("the line", |screen| {
            screen.cursor_line.trim_end().ends_with('!')
        });
    }
    second.open();
    let screen = chat.prompt_with("漢字 größe!!");
    for line in 0..60 {
        let row = format!("\n• line {line}\n");
        assert_eq!(screen.count(&row), 1, "{row:?}: {}", screen.text);
    }
    assert_eq!(screen.count("größe"), 1, "{}", screen.text);
}

#[test]
fn a_line_is_seen_while_a_model_is_waited_for_and_while_a_tool_runs() {
    let (gate, end) = (Gate::new(), Gate::new());
    let waits = Response::stream().wait(&gate).text("One.").finish("stop");
    let provider = Provider::play([
        waits,
        Response::stream().wait(&end).text("Two.").finish("stop"),
    ]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("count");
    gate.wait_reached();
    chat.terminal.type_text("go on\rthen");
    let screen = chat.typing("then");
    assert_ends(&screen, "  queued: go on\n› then");
    chat.terminal.wait_until("what is waited for", |screen| {
        screen.contains("waiting for") && screen.cursor_line.trim_end() == "› then"
    });
    gate.open();
    end.wait_reached();
    chat.terminal.wait_for("One.\n› go on\n");
    chat.typing("then");
    end.open();
    chat.prompt_with("then");
}

#[test]
fn the_status_line_stands_above_the_line_and_above_the_prompt() {
    let gate = Gate::new();
    let provider = play(&gate, &[]);
    let environment = environment(&provider);
    environment.configure_more("status_line = true", "");
    let mut chat = Chat::open(&environment);
    chat.say("count");
    let status = "  scripted · assistant";
    chat.terminal.wait_until("the status", |screen| {
        screen.text.trim_end().ends_with(&format!("One\n{status}"))
    });
    chat.terminal.type_text("go");
    assert_ends(&chat.typing("go"), &format!("One\n{status}\n› go"));
    gate.open();
    let screen = chat.prompt_with("go");
    let row = screen.line_with(status).expect("a status");
    assert_ends(&screen, &format!("One, two.\n{row}\n› go"));
    assert_eq!(screen.count(status), 1, "{screen:?}");
}
