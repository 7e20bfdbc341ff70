//! What another process edits, sends and cancels while the user types.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_tests::{Provider, Response};
use serde_json::json;

use super::{Peer, REQUEST, run_folder, said, sockets};
use crate::requests::pausing::Pausing;
use crate::stage::environment;

#[test]
fn what_is_edited_elsewhere_is_sent() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let folder = fs::metadata(run_folder(&environment)).expect("a folder");
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    let socket = fs::metadata(&sockets(&environment)[0]).expect("a socket");
    assert_eq!(socket.permissions().mode() & 0o777, 0o600);
    let mut peer = Peer::attach(&environment);
    paused.say("count the birds");
    let seen = peer.wait("paused");
    assert!(
        seen["body"]
            .as_str()
            .is_some_and(|body| body.contains("count the birds"))
    );
    let keys = ["authorization", "api_key", "test-key"];
    let text = seen.to_string().to_lowercase();
    assert!(keys.iter().all(|key| !text.contains(key)), "{text}");
    // What was typed so far stays in the line.
    paused.chat.terminal.type_text("e 1 so");
    paused.prompt(&format!("{REQUEST} e 1 so"));
    peer.edit(
        (1, &seen["revision"]),
        "count the birds",
        "sing to the birds",
    );
    let before = peer.wait("edited")["revision"].clone();
    peer.wait("done");
    paused
        .chat
        .terminal
        .wait_for("edited from another terminal: section 1: content set");
    paused.prompt(&format!("{REQUEST} e 1 so"));
    assert!(
        provider.requests().is_empty(),
        "nothing is sent before it is"
    );
    // Edited here: the other one is told, and what it meant for the state before is refused.
    paused.chat.terminal.type_line("ftly");
    let edited = peer.wait("edited");
    assert_eq!(edited["edits"].as_array().map(Vec::len), Some(2));
    peer.say(&json!({"id": 2, "op": "send", "pause": 1, "revision": before}));
    assert!(
        peer.wait("refused")["error"]
            .as_str()
            .is_some_and(|it| it.contains("has changed since"))
    );
    peer.say(&json!({"id": 3, "op": "send", "pause": 1, "revision": edited["revision"]}));
    peer.wait("sent");
    peer.wait("done");
    paused.chat.terminal.wait_for("sent from another terminal");
    paused.chat.terminal.wait_for("Terns.");
    assert_eq!(said(&provider), ["softly"]);
    paused.prompt("› (pause: turn) Type a message, @ to attach a file");
    // The next one is cancelled, while it is on the whole screen of the chat.
    paused.say("again");
    let seen = peer.wait("paused");
    assert_eq!(seen["pause"], 2);
    paused.chat.say("open");
    paused.chat.terminal.wait_until("the inspector", |screen| {
        screen.text.starts_with(" ⏸ PAUSED")
    });
    peer.edit((2, &seen["revision"]), "count the birds", "never");
    let edited = peer.wait("edited");
    peer.wait("done");
    paused
        .chat
        .terminal
        .wait_for("edited from another terminal");
    peer.say(&json!({"id": 4, "op": "cancel", "pause": 2, "revision": edited["revision"]}));
    peer.wait("cancelled");
    peer.wait("done");
    paused
        .chat
        .terminal
        .wait_for("cancelled from another terminal");
    paused.prompt("› (pause: turn) again  (put back: Enter sends it)");
    assert_eq!(provider.requests().len(), 1);
}

/// Commands that come to nothing, and those that change something, while the user types: nothing of it is lost.
#[test]
fn commands_from_elsewhere_take_no_key_away() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let mut peer = Peer::attach(&environment);
    paused.say("count the birds");
    let mut revision = peer.wait("paused")["revision"].clone();
    let mut flood = Peer::attach(&environment);
    let nothing = json!({"id": 1, "op": "undo", "pause": 1, "revision": revision});
    for word in ["zzz", " 1"] {
        for key in word.chars() {
            flood.say(&nothing);
            paused.chat.terminal.type_text(&key.to_string());
            flood.wait("refused");
        }
    }
    paused.prompt(&format!("{REQUEST} zzz 1"));
    // Each of these draws the line again.
    let (mut old, mut new) = ("count the birds", "sing to the birds");
    for key in ["a", "b", "\x7f", "c"] {
        peer.edit((1, &revision), old, new);
        paused.chat.terminal.type_text(key);
        revision = peer.wait("edited")["revision"].clone();
        peer.wait("done");
        std::mem::swap(&mut old, &mut new);
    }
    paused.prompt(&format!("{REQUEST} zzz 1ac"));
    // The first Ctrl-C clears the line, and the second one cancels, right after a command.
    peer.edit((1, &revision), old, new);
    paused.chat.terminal.type_text("\u{3}");
    peer.wait("done");
    paused.prompt(REQUEST);
    paused.chat.terminal.type_text("\u{3}");
    peer.wait("cancelled");
    paused.chat.terminal.wait_for("cancelled before sending");
    assert!(provider.requests().is_empty());
}

#[test]
fn what_is_typed_outlives_a_request_that_is_sent_elsewhere() {
    let provider = Provider::play([Response::reply("Two.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "turn");
    let mut peer = Peer::attach(&environment);
    paused.say("count the birds");
    let revision = peer.wait("paused")["revision"].clone();
    paused.chat.terminal.type_text("and the terns");
    paused.prompt(&format!("{REQUEST} and the terns"));
    peer.say(&json!({"id": 1, "op": "send", "pause": 1, "revision": revision}));
    peer.wait("sent");
    paused.prompt("› (pause: turn) and the terns  (put back: Enter sends it)");
    assert_eq!(provider.requests().len(), 1);
}

/// The prompt always says what is paused, also where a message is half typed.
#[test]
fn the_prompt_says_what_is_paused_elsewhere() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "off");
    let mut peer = Peer::attach(&environment);
    let mut set = |mode: &str| {
        peer.say(&json!({"id": 1, "op": "mode", "mode": mode}));
        peer.wait("done");
    };
    set("every");
    paused.prompt("› (pause: every) Type a message, @ to attach a file");
    paused.chat.terminal.type_text("count birds");
    paused.prompt("› (pause: every) count birds");
    paused.chat.terminal.type_text(&"\u{1b}[D".repeat(5));
    set("turn");
    paused.prompt("› (pause: turn) count birds");
    paused.chat.terminal.type_text("the ");
    paused.prompt("› (pause: turn) count the birds");
    paused.chat.terminal.type_text("\r");
    assert_eq!(
        peer.wait("paused")["number"],
        1,
        "what the prompt says is done"
    );
}

/// While the history is searched, the prompt is not drawn again. What it says still counts.
#[test]
fn a_message_is_not_sent_by_another_mode_than_the_prompt_says() {
    let provider = Provider::play([Response::reply("Terns.")]);
    let environment = environment(&provider);
    let mut paused = Pausing::open(&environment, "off");
    let mut peer = Peer::attach(&environment);
    peer.wait("hello");
    paused.chat.say("/pause every");
    paused.prompt("› (pause: every) Type a message, @ to attach a file");
    peer.wait("mode");
    let mut terminal = paused.chat.terminal;
    terminal.type_text("count the birds\u{12}");
    terminal.wait_for("reverse-i-search");
    peer.say(&json!({"id": 1, "op": "mode", "mode": "off"}));
    peer.wait("mode");
    terminal.type_text("\r");
    terminal.wait_for("pausing set to off from another terminal");
    terminal.wait_until("the line again", |screen| {
        screen.cursor_line.trim_end() == "› count the birds"
    });
    assert!(provider.requests().is_empty());
    terminal.type_text("\r");
    terminal.wait_for("Terns.");
}
