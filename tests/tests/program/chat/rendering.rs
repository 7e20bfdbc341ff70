//! Replies as a person sees them while they come.

use std::num::NonZeroU16;

use dunlin_tests::{Gate, Provider, Response};

use crate::stage::{Chat, environment};

/// A reply with most of what there is, in the pieces of a server that sends a few letters at a time.
const REPLY: &str = "# Birds\n\nThe **dunlin** and the *sandpiper*, see [a page](https://birds.example/dunlin).\n\n\
    1. Look:\n   ```rust\n   fn main() {\n       println!(\"hi\");\n   }\n   ```\n2. Count:\n   - one\n   - [x] two\n\n\
    | Bird | Eggs |\n|---|--:|\n| dunlin | 4 |\n| ruff | 3 |\n\n> quoted\n\nDone.";

const SHOWN: &str = "Birds\n\nThe dunlin and the sandpiper, see a page (https://birds.example/dunlin).\n\n\
    1. Look:\n\nfn main() {\n    println!(\"hi\");\n}\n\n2. Count:\n   • one\n   [x] two\n\n\
    Bird   │ Eggs\n───────┼─────\ndunlin │    4\nruff   │    3\n\n│ quoted\n\nDone.\n›";

fn in_pieces(text: &str) -> Response {
    let letters: Vec<char> = text.chars().collect();
    let pieces = letters
        .chunks(3)
        .map(|piece| piece.iter().collect::<String>());
    pieces
        .fold(Response::stream(), |stream, piece| stream.text(&piece))
        .finish("stop")
}

/// Only a terminal that is known to open links gets them; the text is the same.
#[test]
fn links_can_be_opened_where_the_terminal_does_that() {
    const LINK: &[u8] = b"\x1b]8;id=dunlin1;https://birds.example/dunlin\x1b\\";
    for (terminal, expected) in [("WezTerm", true), ("Apple_Terminal", false)] {
        let provider = Provider::play([in_pieces(REPLY)]);
        let environment = environment(&provider);
        let started = environment
            .command::<&str>([])
            .variable("TERM_PROGRAM", terminal);
        let mut chat = Chat::of(started.terminal());
        let screen = chat.turn("hello");
        assert!(screen.contains(SHOWN), "{:?}", chat.terminal);
        let bytes = chat.terminal.bytes();
        let found = bytes.windows(LINK.len()).any(|bytes| bytes == LINK);
        assert_eq!(found, expected, "{terminal}: {:?}", chat.terminal);
        chat.leave();
    }
}

#[test]
fn markdown_becomes_a_page() {
    let provider = Provider::play([in_pieces(REPLY)]);
    let mut chat = Chat::open(&environment(&provider));
    let screen = chat.turn("hello");
    assert!(screen.contains(SHOWN), "{:?}", chat.terminal);
    assert_eq!(chat.terminal.effects(), Vec::<String>::new());
    // Once more, from the conversation.
    chat.say("/show");
    let screen = chat.prompt();
    assert_eq!(
        screen.count("    println!(\"hi\");\n}\n\n2. Count:"),
        2,
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn nothing_is_drawn_again_while_it_comes() {
    let gate = Gate::new();
    let reply = Response::stream().text("One **two** thr").wait(&gate);
    let provider = Provider::play([reply.text("ee\n\n- four").finish("stop")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("hello");
    chat.terminal.wait_for("One two");
    let before = chat.terminal.bytes().len();
    gate.open();
    let screen = chat.prompt();
    assert!(
        screen.contains("One two three\n\n• four\n"),
        "{:?}",
        chat.terminal
    );
    let after = chat.terminal.bytes();
    let written = String::from_utf8_lossy(&after[before..]);
    let reply = written.split("four").next().unwrap_or_default();
    for moves in ["\r\x1b", "\x1b[A", "\x1b[K", "\x1b[J", "\x1b[H"] {
        assert!(!reply.contains(moves), "{reply:?}");
    }
    chat.leave();
}

#[test]
fn the_window_may_change_in_the_middle() {
    let size = |size| NonZeroU16::new(size).expect("not zero");
    let gate = Gate::new();
    let words = "sandpiper ".repeat(20);
    let reply = Response::stream()
        .text(&words)
        .wait(&gate)
        .text(&words)
        .finish("stop");
    let provider = Provider::play([reply]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("hello");
    chat.terminal.wait_for("sandpiper sandpiper");
    chat.terminal.resize(size(40), size(44));
    gate.open();
    let screen = chat.prompt();
    let row = "\nsandpiper sandpiper sandpiper sandpiper";
    assert!(screen.count(row) >= 4, "{:?}", chat.terminal);
    chat.leave();
}

#[test]
fn what_was_held_is_shown_after_an_interruption() {
    let reply = Response::stream()
        .text("A word, then **open and | more")
        .stall();
    let provider = Provider::play([reply]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("hello");
    chat.terminal.wait_for("A word, then");
    chat.interrupt("in an open mark");
    assert!(
        chat.terminal
            .screen()
            .contains("A word, then **open and | more\n(interrupted)"),
        "{:?}",
        chat.terminal
    );
    chat.leave();
}

#[test]
fn where_there_is_no_terminal_a_reply_is_what_it_is() {
    let provider = Provider::always(in_pieces(REPLY));
    let environment = environment(&provider);
    let output = environment.run(["ask", "hello"]);
    assert_eq!(output.stdout, format!("{REPLY}\n"));
    let output = environment.run(["ask", "--color", "always", "hello"]);
    assert_eq!(output.stdout, format!("{REPLY}\n"));
    // Without colours the marks stay.
    let terminal = environment
        .command(["ask", "hello"])
        .variable("NO_COLOR", "1")
        .terminal();
    assert_eq!(terminal.wait_end(), Some(0));
    let screen = terminal.screen();
    assert!(
        screen.contains("# Birds\n\nThe **dunlin** and the *sandpiper*"),
        "{terminal:?}"
    );
    assert!(screen.contains("\n```rust\nfn main() {\n"), "{terminal:?}");
}
