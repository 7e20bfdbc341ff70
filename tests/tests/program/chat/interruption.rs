//! Ctrl-C and Esc: the prompt is back at once, and what was said and done until then is kept.

use dunlin_tests::{Gate, Key, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment};

/// What interrupts.
const KEYS: [Key; 2] = [Key::CtrlC, Key::Escape];

/// Lets the model call these tools, waits until `shown` is shown, interrupts, and returns the results that the
/// next request holds.
#[track_caller]
fn interrupt_calls(key: Key, guests: &[&str], shown: &str) -> Vec<String> {
    let calls = guests.iter().map(|guest| (*guest, json!({})));
    let provider = Provider::play([Response::calls(calls), Response::reply("All right.")]);
    let environment = environment(&provider);
    environment.project_file("README.md", "Read me.\n");
    let mut chat = Chat::with_guests(&environment, guests);
    chat.say("work");
    chat.terminal.wait_for(shown);
    chat.interrupt_by(key, shown);
    assert!(chat.turn("enough").contains("All right."));
    chat.leave();
    let request = provider.wait_for_request(1);
    let messages = request.messages().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn in_a_stream_the_partial_answer_is_kept() {
    for key in KEYS {
        let gate = Gate::new();
        let cut = Response::stream().text("The beginning of").wait(&gate);
        let provider = Provider::play([cut, Response::reply("the rest")]);
        let mut chat = Chat::open(&environment(&provider));
        chat.say("tell me");
        chat.terminal.wait_for("The beginning of");
        chat.interrupt_by(key, "in a stream");
        provider.wait_for_hang_up(0);
        assert!(chat.turn("go on").contains("the rest"));
        chat.leave();
        let request = provider.wait_for_request(1);
        let partial = &request.messages()[1];
        assert_eq!(partial["role"], "assistant");
        assert_eq!(partial["content"], "The beginning of");
    }
}

/// A server that sends the pieces of a call faster than they are read does not keep the keyboard from being heard, and
/// no length of the arguments makes a piece slow to read.
#[test]
fn while_a_call_has_no_end() {
    for key in KEYS {
        let function = json!({"name": "read_file", "arguments": "x".repeat(4_000)});
        let call = json!({"index": 0, "id": "f", "type": "function", "function": function});
        let event = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
        let piece = format!("data: {event}\n\n");
        let gate = Gate::new();
        let endless = Response::stream()
            .raw(piece.repeat(1_000))
            .wait(&gate)
            .endlessly(piece);
        let provider = Provider::play([endless, Response::reply("Here I am.")]);
        let mut chat = Chat::open(&environment(&provider));
        chat.say("read");
        gate.wait_reached();
        gate.open();
        chat.interrupt_by(key, "in an endless call");
        assert!(chat.turn("hello?").contains("Here I am."));
        chat.leave();
    }
}

#[test]
fn while_the_provider_is_silent() {
    let responses = [
        Response::stream().stall(),
        Response::stream().reasoning("Hm").stall(),
        Response::silence(),
    ];
    for (response, key) in responses.into_iter().flat_map(|response| {
        let with = move |key| (response.clone(), key);
        KEYS.map(with)
    }) {
        let provider = Provider::play([response, Response::reply("Here I am.")]);
        let mut chat = Chat::open(&environment(&provider));
        chat.say("are you there?");
        provider.wait_for_request(0);
        chat.interrupt_by(key, "while the provider is silent");
        provider.wait_for_hang_up(0);
        assert!(chat.turn("hello?").contains("Here I am."));
        chat.leave();
    }
}

#[test]
fn in_a_running_call() {
    for guest in [
        "loop_forever",
        "host_call_flood",
        "log_forever",
        "progress_flood",
    ] {
        for key in KEYS {
            let results = interrupt_calls(key, &[guest], &format!("… 1 {guest}"));
            assert_eq!(results, ["cancelled by user"], "{guest}");
        }
    }
}

#[test]
fn while_a_call_is_being_prepared() {
    for key in KEYS {
        let results = interrupt_calls(key, &["loop_in_prepare"], "· 1 loop_in_prepare");
        assert_eq!(results, ["cancelled by user"]);
    }
}

#[test]
fn every_call_of_the_message_has_a_result() {
    for key in KEYS {
        let guests = ["bare", "loop_forever", "trap"];
        let results = interrupt_calls(key, &guests, "… 2 loop_forever");
        assert_eq!(results.len(), 3, "{results:?}");
        assert!(!results[0].contains("cancelled"), "{results:?}");
        assert_eq!(results[1..], ["cancelled by user", "cancelled by user"]);
    }
}

#[test]
fn while_the_tools_are_being_looked_at() {
    for (line, key) in [("hello", Key::CtrlC), ("/tools", Key::Escape)] {
        let provider = Provider::play([]);
        let environment = environment(&provider);
        let mut chat = Chat::with_guests(&environment, &["loop_in_describe"]);
        chat.say(line);
        chat.terminal.wait_hands_off();
        chat.interrupt_by(
            key,
            &format!("while the tools are being looked at for {line}"),
        );
        chat.leave();
    }
}

#[test]
fn what_was_typed_before_the_key_is_kept() {
    let stalled = Response::stream().text("The beginning of").stall();
    let provider = Provider::play([stalled, Response::reply("All right.")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("tell me");
    chat.terminal.wait_for("The beginning of");
    chat.terminal.type_text("never mind");
    chat.typing("never mind");
    chat.terminal.press(Key::CtrlC);
    assert!(chat.prompt_with("never mind").contains("(interrupted)"));
    chat.terminal.press(Key::Enter);
    assert!(chat.prompt().contains("All right."));
    chat.leave();
    let request = provider.wait_for_request(1);
    let said = request.messages().last().expect("a message")["content"].clone();
    assert_eq!(said, "never mind");
}

/// Keys that begin with the byte of Esc, and pasted text that holds it.
#[test]
fn other_keys_interrupt_nothing() {
    let gate = Gate::new();
    let answer = Response::stream()
        .text("One")
        .wait(&gate)
        .text(", two.")
        .finish("stop");
    let provider = Provider::play([answer]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("count");
    chat.terminal.wait_for("One");
    for key in [Key::Up, Key::Down] {
        chat.terminal.press(key);
    }
    chat.terminal.paste("and \x1b[1mthen?");
    gate.open();
    let screen = chat.prompt_with("and then?");
    assert!(screen.contains("One, two.\n"), "{:?}", chat.terminal);
    assert!(!screen.contains("(interrupted)"), "{:?}", chat.terminal);
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}

/// It ends the turn that the question belongs to, like Ctrl-C.
#[test]
fn esc_just_before_a_question_is_no_answer_to_it() {
    let gate = Gate::new();
    let path = json!({ "file_path": "../outside/a.txt" }).to_string();
    let call = Response::stream()
        .text("Let me see.")
        .wait(&gate)
        .call_start(0, "call_0", "read_file")
        .call_arguments(0, &path)
        .finish("tool_calls");
    let provider = Provider::play([call]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "the text outside");
    let mut chat = Chat::open(&environment);
    chat.say("read it");
    chat.terminal.wait_for("Let me see.");
    gate.open();
    chat.terminal.press(Key::Escape);
    assert!(chat.prompt().contains("(interrupted)"));
    chat.leave();
}

#[test]
fn ctrl_v_hides_the_steps_of_a_reply_that_is_being_written() {
    let gate = Gate::new();
    let answer = Response::stream()
        .text("One\n")
        .wait(&gate)
        .calls_of([("read_file", json!({ "file_path": "a.txt" }))]);
    let provider = Provider::play([answer, Response::reply("Two.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a");
    let mut chat = Chat::open(&environment);
    chat.say("count");
    chat.terminal.wait_for("One");
    chat.terminal.type_text("mo\x16re");
    chat.terminal.wait_for("(steps are hidden");
    gate.open();
    let screen = chat.prompt_with("more");
    assert!(
        screen.contains("Two.") && !screen.contains("read_file"),
        "{screen:?}"
    );
    chat.terminal.press(Key::CtrlC);
    chat.prompt_cleared();
    chat.leave();
}
