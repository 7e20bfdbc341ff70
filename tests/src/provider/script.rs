//! What the scripted provider answers, composed from small pieces.
//!
//! ```
//! use dunlin_tests::{Gate, Response};
//! use serde_json::json;
//!
//! let gate = Gate::new();
//! let slow = Response::stream().text("Hel").wait(&gate).text("lo").finish("stop");
//! let call = Response::call("read_file", json!({ "file_path": "README.md" }));
//! let busy = Response::status(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "2");
//! # let _ = (slow, call, busy);
//! ```

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use crate::watched::{DEADLINE, Watched};

/// The only model the scripted provider has.
pub const MODEL: &str = "scripted";

/// In place of a status: nothing is sent.
pub(super) const NO_STATUS: u16 = 0;

/// One whole answer to one request.
#[derive(Debug, Clone)]
#[must_use = "a response does nothing until a provider plays it"]
pub struct Response {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) steps: Vec<Step>,
    /// Whether the body ends with the connection and nothing else.
    pub(super) unframed: bool,
}

/// A part of the body, or something that happens between two parts.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// One piece of the body, written and flushed at once.
    Bytes(Vec<u8>),
    /// Goes on when the test opens the gate.
    Wait(Gate),
    /// Goes on after this time, as a server does that thinks. For benchmarks: a test waits for a gate.
    Take(Duration),
    /// One piece of the body, written again and again until the client hangs up.
    Endless(Vec<u8>),
    /// Never goes on.
    Stall,
    /// Closes the connection in the middle of the body.
    Cut,
}

/// Holds a response back until the test lets it go on, and tells the test when it has got there.
///
/// Clones are the same gate. A gate that was opened stays open.
#[derive(Clone)]
pub struct Gate(Arc<Hinge>);

struct Hinge {
    open: watch::Sender<bool>,
    reached: Watched<bool>,
}

impl Response {
    /// A streamed answer without any event: add pieces, then [`finish`](Response::finish).
    pub fn stream() -> Self {
        Response::with_status(200).header("content-type", "text/event-stream")
    }

    /// No answer at all, not even a status.
    pub fn silence() -> Self {
        Response::with_status(NO_STATUS).stall()
    }

    /// A complete streamed answer of one piece.
    pub fn reply(text: &str) -> Self {
        Response::stream().text(text).finish("stop")
    }

    /// A complete streamed answer that calls one tool; the id of the call is `call_0`.
    pub fn call(tool: &str, arguments: Value) -> Self {
        Response::calls([(tool, arguments)])
    }

    /// A complete streamed answer that calls several tools; their ids are `call_0`, `call_1`, …
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Response::stream().calls_of(calls)
    }

    /// The same behind what was streamed already.
    pub fn calls_of<'a>(self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let calls = calls.into_iter().enumerate();
        calls
            .fold(self, |stream, (index, (tool, arguments))| {
                let arguments = arguments.to_string();
                // Real servers send the arguments in several pieces; so that no test passes by luck, the cut is
                // in the middle of them.
                let cut = arguments.floor_char_boundary(arguments.len() / 2);
                stream
                    .call_start(index, &format!("call_{index}"), tool)
                    .call_arguments(index, &arguments[..cut])
                    .call_arguments(index, &arguments[cut..])
            })
            .finish("tool_calls")
    }

    /// A plain answer of any status, such as an error.
    pub fn status(status: u16, body: &str) -> Self {
        Response::with_status(status).raw(body)
    }

    /// A plain JSON answer.
    pub fn json(status: u16, body: &Value) -> Self {
        Response::status(status, &body.to_string()).header("content-type", "application/json")
    }

    /// Adds a header, such as `retry-after`.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A piece of the reply's text.
    pub fn text(self, piece: &str) -> Self {
        self.delta(json!({ "content": piece }))
    }

    /// A piece of reasoning, in the field most servers use for it.
    pub fn reasoning(self, piece: &str) -> Self {
        self.delta(json!({ "reasoning_content": piece }))
    }

    /// The head of a tool call; its arguments follow with [`call_arguments`](Response::call_arguments).
    pub fn call_start(self, index: usize, id: &str, tool: &str) -> Self {
        let function = json!({ "name": tool, "arguments": "" });
        let call = json!({ "index": index, "id": id, "type": "function", "function": function });
        self.delta(json!({ "tool_calls": [call] }))
    }

    /// A piece of a tool call's arguments.
    pub fn call_arguments(self, index: usize, piece: &str) -> Self {
        let call = json!({ "index": index, "function": { "arguments": piece } });
        self.delta(json!({ "tool_calls": [call] }))
    }

    /// Any delta of the first choice.
    pub fn delta(self, delta: Value) -> Self {
        self.event(&chunk(delta, Value::Null))
    }

    /// The count of tokens, as sent after the last choice.
    pub fn usage(self, prompt: u64, completion: u64) -> Self {
        let mut event = chunk(json!({}), Value::Null);
        event["choices"] = json!([]);
        event["usage"] = json!({
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        });
        self.event(&event)
    }

    /// The regular end: the reason, the usage and `[DONE]`.
    pub fn finish(self, reason: &str) -> Self {
        self.finish_reason(reason).usage(11, 7).done()
    }

    /// The reason alone, for streams that end in their own way.
    pub fn finish_reason(self, reason: &str) -> Self {
        self.event(&chunk(json!({}), json!(reason)))
    }

    /// The marker after the last event.
    pub fn done(self) -> Self {
        self.raw("data: [DONE]\n\n")
    }

    /// Any JSON as one event.
    pub fn event(self, event: &Value) -> Self {
        self.raw(format!("data: {event}\n\n"))
    }

    /// Bytes as they are: half an event, a comment, nonsense.
    pub fn raw(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Bytes(bytes.into()));
        self
    }

    /// Takes this time, as a server does that thinks. For benchmarks: a test waits for a gate.
    pub fn take(mut self, time: Duration) -> Self {
        self.steps.push(Step::Take(time));
        self
    }

    /// Waits here until the gate is open.
    pub fn wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// Sends these bytes again and again, as fast as they are taken, until the client hangs up.
    pub fn endlessly(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.steps.push(Step::Endless(bytes.into()));
        self
    }

    /// Says nothing any more, but keeps the connection.
    pub fn stall(mut self) -> Self {
        self.steps.push(Step::Stall);
        self
    }

    /// Closes the connection in the middle of the body.
    pub fn cut(mut self) -> Self {
        self.steps.push(Step::Cut);
        self
    }

    /// Sends the bytes of all pieces so far in writes of `size` bytes, wherever that cuts: within an
    /// event, within a character.
    pub fn in_pieces_of(mut self, size: usize) -> Self {
        let size = size.max(1);
        self.steps = self
            .steps
            .into_iter()
            .flat_map(|step| match step {
                Step::Bytes(bytes) => bytes
                    .chunks(size)
                    .map(|piece| Step::Bytes(piece.to_vec()))
                    .collect(),
                other => vec![other],
            })
            .collect();
        self
    }

    /// Sends the bytes so far in writes of random sizes, the same for the same seed.
    pub fn in_random_pieces(mut self, seed: u64) -> Self {
        // A linear congruential generator (Knuth's MMIX): where the cuts are need only be different each time.
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 40).unwrap_or_default()
        };
        let mut steps = Vec::new();
        for step in self.steps {
            let Step::Bytes(bytes) = step else {
                steps.push(step);
                continue;
            };
            // Long bodies are cut into some hundred pieces, short ones as finely as it goes.
            let most = 2 + next() % 30 + bytes.len() / 200;
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let (piece, behind) = rest.split_at((1 + next() % most).min(rest.len()));
                steps.push(Step::Bytes(piece.to_vec()));
                rest = behind;
            }
        }
        self.steps = steps;
        self
    }

    /// Announces no length and sends no chunks: the body ends with the connection.
    pub fn unframed(mut self) -> Self {
        self.unframed = true;
        self
    }

    fn with_status(status: u16) -> Self {
        Response {
            status,
            headers: Vec::new(),
            steps: Vec::new(),
            unframed: false,
        }
    }
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Gate(Arc::new(Hinge {
            open: watch::Sender::new(false),
            reached: Watched::default(),
        }))
    }

    /// Lets whatever waits here go on.
    pub fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// Blocks until a response has got here: everything before it was written.
    ///
    /// # Panics
    ///
    /// When none got here before the deadline.
    pub fn wait_reached(&self) {
        let reached = self
            .0
            .reached
            .wait(DEADLINE, |reached| reached.then_some(()));
        assert!(reached.is_ok(), "no response got to the gate");
    }

    /// The response's side of the gate.
    pub(super) async fn pass(&self) {
        self.0.reached.update(|reached| *reached = true);
        let mut open = self.0.open.subscribe();
        // The sender is in `self`, so it cannot be gone.
        let _ = open.wait_for(|open| *open).await;
    }
}

impl Default for Gate {
    fn default() -> Self {
        Gate::new()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if *self.0.open.borrow() {
            "open"
        } else {
            "closed"
        };
        write!(f, "Gate({state})")
    }
}

fn chunk(delta: Value, finish_reason: Value) -> Value {
    json!({
        "id": "chatcmpl-scripted",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": MODEL,
        "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
    })
}
