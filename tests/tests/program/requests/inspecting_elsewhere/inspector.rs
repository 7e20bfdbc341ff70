//! The inspector in another terminal, and what becomes of the chat when it is killed.

use std::num::NonZeroU16;

use dunlin_tests::{Gate, Key, Provider, Response};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{Peer, said, sockets};
use crate::requests::pausing::Pausing;
use crate::stage::{Chat, environment, read};

/// On the inspector's screen once its keys act.
const KEYS_ACT: &str = "? all keys";

#[test]
fn an_inspector_that_does_not_read_or_is_killed_disturbs_nobody() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let _hangs = Peer::attach(&environment);
    let scripted = environment.command(["inspect", "--json"]).spawn();
    scripted.wait_for_stdout("\"hello\"");
    paused.say("count the birds");
    scripted.wait_for_stdout("\"paused\"");
    scripted.signal(Signal::KILL);
    paused.chat.say("send");
    paused.chat.terminal.wait_for("Terns.");
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    // A chat that is killed leaves a socket, which the next one removes.
    kill_process(paused.chat.terminal.id(), Signal::KILL).expect("a process to end");
    drop(paused);
    assert_eq!(sockets(&environment).len(), 1);
    let scripted = environment.command(["inspect", "--json"]).spawn();
    let chat = Chat::open(&environment);
    scripted.wait_for_stdout("\"hello\"");
    assert_eq!(sockets(&environment).len(), 1);
    scripted.signal(Signal::KILL);
    chat.leave();
    assert!(sockets(&environment).is_empty());
}

#[test]
fn requests_that_are_not_paused_are_told() {
    let provider = Provider::play([
        read("notes.txt"),
        Response::reply("Terns."),
        Response::reply("Gulls."),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "terns");
    let mut chat = Chat::open(&environment);
    let scripted = environment.command(["inspect", "--json"]).spawn();
    scripted.wait_for_stdout("\"idle\"");
    let mut inspector = environment.terminal(["inspect"]);
    inspector.wait_for("No request yet");
    chat.turn("which birds?");
    let sent = |number: u32| format!("\"type\":\"sent\",\"number\":{number}");
    scripted.wait_for_stdout(&sent(2));
    inspector.wait_for("READ ONLY  request 2 was sent");
    inspector.wait_for("File 'notes.txt': 1 line");
    chat.turn("more?");
    scripted.wait_for_stdout(&sent(3));
    inspector.wait_until("the request", |screen| {
        screen.contains("READ ONLY  request 3 was sent") && screen.contains(KEYS_ACT)
    });
    inspector.type_text("\t\t\t\t");
    inspector.wait_until("the log", |screen| {
        [" 1  ", " 2  ", " 3  "]
            .iter()
            .all(|number| screen.contains(number))
            && screen.contains("answered")
    });
    chat.say("/pause every tools");
    inspector.wait_for("· pause: every tools");
    scripted.wait_for_stdout("\"shown\":\"every tools\"");
    scripted.signal(Signal::KILL);
    inspector.type_text("q");
    chat.leave();
}

/// Nobody has the time to say goodbye when a process is killed: the chat must not wait for it, and the next one finds
/// everything as before.
#[test]
fn subagents_are_shown_while_they_run_and_after() {
    let gate = Gate::new();
    let begin = Response::call("run_subagent", json!({"task": "Find the eggs"}));
    let provider = Provider::play_each([
        ("look around", vec![begin, Response::reply("Done.")]),
        (
            "Find the eggs",
            vec![
                read("notes.txt"),
                Response::stream()
                    .text("They")
                    .wait(&gate)
                    .text(" are speckled.")
                    .finish("stop"),
            ],
        ),
    ]);
    let environment = environment(&provider);
    environment.project_file("notes.txt", "The eggs are speckled.");
    let mut chat = Chat::open(&environment);
    let mut peer = Peer::attach(&environment);
    peer.wait("idle");
    let mut inspector = environment.terminal(["inspect"]);
    inspector.wait_for("1 chat · 0 paused");
    chat.say("look around");
    let subagent = loop {
        let told = peer.wait("subagents")["subagents"][0].clone();
        if told["state"] == "writing" && told["request"].is_number() && told["calls"] == 1 {
            break told;
        }
    };
    assert_eq!(subagent["name"], "assistant 1", "{subagent}");
    assert_eq!(subagent["end"], Value::Null, "{subagent}");
    inspector.wait_until("its row", |screen| {
        screen.contains("… assistant 1 · writing · 1 call") && screen.contains(KEYS_ACT)
    });
    inspector.type_text("\u{e}");
    inspector.wait_until("the request with the result of its call", |screen| {
        let rows = ["▸   … assistant 1", "Find the eggs", "result"];
        rows.iter().all(|row| screen.contains(row))
    });
    let (rows, columns) = (NonZeroU16::new(24), NonZeroU16::new(40));
    inspector.resize(rows.expect("rows"), columns.expect("columns"));
    inspector.wait_for("▸   … assistant 1 · wr");
    gate.open();
    chat.prompt();
    let subagent = loop {
        let told = peer.wait("subagents")["subagents"][0].clone();
        if told["end"] == "answered" {
            break told;
        }
    };
    assert_eq!(subagent["usage"]["output_tokens"], 14, "{subagent}");
    // The last request of the chat is followed.
    inspector.wait_until("what the chat has sent last", |screen| {
        let rows = ["✓ assistant 1", "request 4 was sent", KEYS_ACT];
        rows.iter().all(|row| screen.contains(row))
    });
    inspector.type_text("q");
    assert_eq!(inspector.wait_end(), Some(0), "{inspector:?}");
    chat.leave();
}

#[test]
fn an_inspector_on_the_whole_screen_that_is_killed_disturbs_nobody() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let inspector = environment.terminal(["inspect"]);
    paused.say("count the birds");
    inspector.wait_until("the request", |screen| {
        screen.contains("content: \"count the birds\"") && screen.contains(KEYS_ACT)
    });
    let mut inspector = inspector;
    // In the middle of an edit.
    inspector.type_text("e");
    inspector.wait_for("Enter saves");
    inspector.type_text(" quickly");
    inspector.wait_for("birds quickly");
    kill_process(inspector.id(), Signal::KILL).expect("a process to end");
    drop(inspector);
    // The chat goes on, and nothing of the edit is in the request.
    let screen = paused.does("show 1");
    assert!(
        screen.contains("count the birds") && !screen.contains("quickly"),
        "{screen}"
    );
    let mut inspector = environment.terminal(["inspect"]);
    inspector.wait_until("the request again", |screen| {
        screen.contains("content: \"count the birds\"") && screen.contains(KEYS_ACT)
    });
    assert!(provider.requests().is_empty(), "nobody has sent it");
    inspector.type_text("s");
    paused.chat.terminal.wait_for("Terns.");
    assert_eq!(said(&provider), ["count the birds"]);
    inspector.wait_for("READ ONLY  sent as request 1");
    inspector.type_text("q");
    assert_eq!(inspector.wait_end(), Some(0));
    // The chat has its socket as long as it lives, and no longer.
    assert_eq!(sockets(&environment).len(), 1);
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    paused.chat.leave();
    assert!(sockets(&environment).is_empty());
}

#[test]
fn without_a_terminal_the_other_way_is_named() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let output = environment.run(["inspect"]);
    assert!(
        output.stderr.contains("`dunlin inspect --json`"),
        "{output:?}"
    );
}

#[test]
fn the_inspector_of_another_terminal_edits_and_sends() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let inspector = environment.terminal(["inspect"]);
    inspector.wait_for("No chat is running");
    let mut inspector = inspector;
    let mut paused = Pausing::open(&environment, "turn");
    let mut other = Pausing::open(&environment, "turn");
    inspector.wait_for("2 chats · 0 paused");
    other.say("sing to the birds");
    inspector.wait_for("sing to the birds");
    // The first message gives the chat its title, also while it is not sent.
    inspector.wait_for(" assistant · sing to the birds · …");
    paused.say("count the birds");
    // The newest request is shown by itself.
    inspector.wait_until("the newest request", |screen| {
        let is_shown = screen.contains("2 chats · 2 paused")
            && screen.contains("content: \"count the birds\"");
        is_shown && screen.contains(KEYS_ACT)
    });
    inspector.type_text("e");
    inspector.wait_for("Enter saves");
    inspector.type_text(" quickly");
    inspector.press(Key::Enter);
    paused
        .chat
        .terminal
        .wait_for("edited from another terminal");
    paused.request();
    inspector.wait_for("content set");
    // What the chat does meanwhile is shown.
    let screen = paused.does("e 1 slowly");
    assert!(screen.contains("content set"), "{screen}");
    inspector.wait_until("the edit of the chat", |screen| {
        screen.contains("content: \"slowly\"") && screen.contains(KEYS_ACT)
    });
    inspector.type_text("u");
    inspector.wait_until("the undone edit", |screen| {
        screen.contains("count the birds quickly")
    });
    paused
        .chat
        .terminal
        .wait_for("undone from another terminal");
    paused.request();
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    inspector.type_text("s");
    paused.chat.terminal.wait_for("Terns.");
    assert_eq!(said(&provider), ["count the birds quickly"]);
    inspector.wait_for("READ ONLY  sent as request 1");
    // The other one is cancelled.
    inspector.type_text("\u{e}");
    inspector.wait_for("sing to the birds");
    inspector.type_text("c");
    other
        .chat
        .terminal
        .wait_for("cancelled from another terminal");
    inspector.wait_for("READ ONLY  cancelled before sending");
    kill_process(other.chat.terminal.id(), Signal::KILL).expect("a process to end");
    inspector.wait_for("ended");
    inspector.type_text("q");
    assert_eq!(inspector.wait_end(), Some(0));
}
