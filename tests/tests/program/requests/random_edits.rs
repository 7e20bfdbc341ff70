//! Random edits of paused requests in a real terminal: the bytes that `payload` shows are the bytes that arrive.
//!
//! Each line that is typed takes a quarter of a second, so several chats run side by side.

use std::thread;

use dunlin_tests::{Provider, Response, Terminal};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::json;

use crate::stage::environment;

/// Chats side by side, and requests of each: 200 sequences of edits.
const CHATS: u8 = 10;
const REQUESTS: usize = 20;

/// The seed, unless `DUNLIN_EDIT_SEED` is another one.
const SEED: u64 = 1;

/// The line in which a paused request is edited, and the one in which a message is typed.
const REQUEST: &str = "  request?";
const PROMPT: &str = "› (pause: every) Type a message, @ to attach a file";

/// Where the program waits for a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Request,
    Prompt,
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "whoever looks for a failure sets the seed"
)]
fn random_edits_send_what_they_show() {
    let seed = std::env::var("DUNLIN_EDIT_SEED").ok();
    let seed: u64 = seed.and_then(|seed| seed.parse().ok()).unwrap_or(SEED);
    println!("DUNLIN_EDIT_SEED={seed}");
    let refused: usize = thread::scope(|scope| {
        let chats = (0..CHATS).map(|chat| {
            scope.spawn(move || {
                let mut bytes = [chat; 32];
                bytes[..8].copy_from_slice(&seed.to_le_bytes());
                let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
                play(chat, TestRunner::new_with_rng(Config::default(), rng))
            })
        });
        let chats: Vec<_> = chats.collect();
        let chats = chats.into_iter();
        chats.map(|chat| chat.join().expect("a chat")).sum()
    });
    println!("requests that could not be sent as edited: {refused}");
    assert!(refused > 0, "no sequence of edits is refused any more");
}

/// Edits and sends the requests of one chat; how many could not be sent as they were edited.
fn play(chat: u8, mut runner: TestRunner) -> usize {
    let replies = (0..REQUESTS).map(|index| match index % 4 {
        2 => Response::stream()
            .call_start(0, &format!("call_{index}"), "read_file")
            .call_arguments(0, &json!({"file_path": "notes.txt"}).to_string())
            .finish("tool_calls"),
        _ => Response::reply("Ten \"terns\"."),
    });
    // Edits may leave what a strict server refuses, such as two answers in a row.
    let provider = Provider::play(replies).lenient();
    let environment = environment(&provider);
    let agent = "system_prompt = \"Be brief.\"\ntools = [\"read_file\", \"ask_user\"]";
    environment.configure_for(&provider, agent);
    environment.project_file("notes.txt", "gulls");
    let command = environment.command(["--intercept", "every"]);
    let mut terminal = command.variable("PAGER", "cat").terminal();
    terminal.wait_for(PROMPT);
    let (mut at, mut refused) = (At::Prompt, 0);
    let edits = prop::collection::vec(edit(), 0..4);
    for index in 0..REQUESTS {
        if at == At::Prompt {
            (at, _) = enter(&mut terminal, &format!("count {index}"));
        }
        assert_eq!(at, At::Request);
        let mut edits = edits.new_tree(&mut runner).expect("edits").current();
        for edit in &edits {
            enter(&mut terminal, edit);
        }
        let mut shown = payload(&mut terminal);
        let mut sent = enter(&mut terminal, "send");
        if sent.1.contains("Not sent: ") {
            assert_eq!(provider.requests().len(), index, "{edits:?}");
            refused += 1;
            edits.push("reset".to_owned());
            enter(&mut terminal, "reset");
            shown = payload(&mut terminal);
            sent = enter(&mut terminal, "send");
        }
        at = sent.0;
        let arrived = provider.wait_for_request(index).bytes;
        let arrived = String::from_utf8(arrived).expect("text");
        assert_eq!(shown, arrived, "chat {chat}, request {index}: {edits:?}");
    }
    assert_eq!(provider.requests().len(), REQUESTS);
    refused
}

/// One line of edits. Many fit no request: these change nothing.
fn edit() -> impl Strategy<Value = String> {
    let number = || 1..30_usize;
    let text = || "[a-zA-Z äß🐦\"\\\\{}\\[\\]]{0,20}[a-z]";
    let fields = vec!["content", "role", "tool_call_id", "name"];
    prop_oneof![
        3 => (number(), text()).prop_map(|(number, text)| format!("e {number} {text}")),
        2 => (0..30_usize, prop::sample::select(fields), text())
            .prop_map(|(index, field, text)| format!("e messages[{index}].{field} {text}")),
        1 => (0..30_usize, text()).prop_map(|(index, text)| {
            format!("e messages[{index}].tool_calls[0].function.arguments.file_path {text}")
        }),
        1 => (0..200_u32).prop_map(|value| format!("e temperature {value}e-2")),
        1 => any::<i32>().prop_map(|seed| format!("e seed {seed}")),
        3 => number().prop_map(|number| format!("d {number}")),
        1 => (number(), 0..5_usize).prop_map(|(from, count)| format!("d {from}-{}", from + count)),
        1 => Just("restore 1-40".to_owned()),
        2 => prop::sample::select(vec!["undo", "redo", "reset"]).prop_map(String::from),
    ]
}

/// Types a line and waits for the next one. What was shown in between.
fn enter(terminal: &mut Terminal, line: &str) -> (At, String) {
    let from = terminal.written();
    terminal.type_line(line);
    terminal.wait_for_output("the next line", from, |written, cursor_line| {
        let at = match cursor_line.trim_end() {
            REQUEST => At::Request,
            PROMPT => At::Prompt,
            _ => return None,
        };
        // As long as the line has not ended, the cursor is in it.
        let is_next = written.contains(&b'\n');
        is_next.then(|| (at, String::from_utf8_lossy(written).into_owned()))
    })
}

/// The payload, byte for byte.
fn payload(terminal: &mut Terminal) -> String {
    let (_, shown) = enter(terminal, "payload");
    let start = shown.find("{\"model\"").expect("a body");
    let body = shown.get(start..).and_then(|shown| shown.lines().next());
    body.expect("a line").to_owned()
}
