//! What an inspector in another terminal costs the chat, for a request of some 200,000 tokens: pausing and ending a pause
//! without one and with one attached, beside reading and writing the same body with `serde_json`, and the time from pausing
//! until the inspector has the request. Prints figures and decides nothing.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin::config::request_editor::PauseMode;
use dunlin::inspect::folder::sockets;
use dunlin::inspect::protocol::{Pauses, Subagents};
use dunlin::inspect::remote_pause::RemotePause;
use dunlin::inspect::server::listen;
use dunlin::inspect::shared_state::{Chat, SharedState};
use dunlin_chat::request::editor::{EditableRequest, Origin, Outline, SectionId};
use dunlin_chat::turn::PausedRequest;
use dunlin_terminal::request::paused::Paused;
use serde_json::{Value, json};

/// Messages of the request, and the words of each: some 200,000 tokens.
const MESSAGES: usize = 2_000;
const WORDS: usize = 34;

/// Measurements of each kind.
const ROUNDS: usize = 31;

/// A chat that nobody has to wake.
struct Bench;

impl Chat for Bench {
    fn pauses(&self) -> Pauses {
        Pauses {
            mode: PauseMode::Every,
            ..Pauses::default()
        }
    }

    fn subagents(&self) -> Subagents {
        Subagents::default()
    }

    fn set_mode(&self, _: PauseMode) {}

    fn wake(&self) {}
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn paused(body: &Value, text: &str) -> Paused {
    let origins: Vec<Origin> = (0..MESSAGES)
        .map(|index| SectionId::Message(index).into())
        .collect();
    let outline = Outline::of_chat(body, &origins, Vec::new());
    Paused::new(PausedRequest::new(EditableRequest::new(
        Bytes::from(text.to_owned()),
        outline,
    )))
}

/// Waits for the end of a message with this type.
fn wait(from: &mut impl BufRead, kind: &str) -> Result<usize, Box<dyn Error>> {
    let start = format!("{{\"type\":\"{kind}\"");
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.read_until(b'\n', &mut line)? == 0 {
            return Err("the chat has closed the connection".into());
        }
        if line.starts_with(start.as_bytes()) {
            return Ok(line.len());
        }
    }
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), Box<dyn Error>> {
    let messages = (0..MESSAGES).map(|index| {
        let role = ["user", "assistant"][index % 2];
        let words: Vec<String> = (0..WORDS)
            .map(|word| format!("tern{}", word * index % 97))
            .collect();
        json!({"role": role, "content": words.join(" ")})
    });
    let body = json!({"model": "small", "messages": messages.collect::<Vec<Value>>()});
    let text = body.to_string();
    let plain = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        std::hint::black_box(value.to_string());
        start.elapsed()
    });
    let plain = median(plain.collect());
    let folder = tempfile::tempdir()?;
    let run = folder.path().join("run");
    let shared = Arc::new(SharedState::new(Box::new(Bench)));
    let _listening = listen(&run, &shared)?;
    let request = paused(&body, &text);
    println!("{} bytes, {} tokens", text.len(), request.tokens());
    let show = |what: &str, took: Duration| {
        let ratio = took.as_secs_f64() / plain.as_secs_f64();
        println!(
            "{what:<42} {:>8.3} ms  {ratio:>7.4}",
            took.as_secs_f64() * 1e3
        );
    };
    show("serde_json: read and write", plain);
    let publish = || {
        let start = Instant::now();
        let remote = RemotePause::new(&shared, &request);
        remote.sent();
        drop(remote);
        start.elapsed()
    };
    show(
        "pause and send, nobody attached",
        median((0..ROUNDS).map(|_| publish()).collect()),
    );
    let socket = sockets(&run).pop().ok_or("no socket")?;
    let mut from = BufReader::new(UnixStream::connect(socket)?);
    wait(&mut from, "hello")?;
    let (mut took, mut received) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let remote = RemotePause::new(&shared, &request);
        let paused = start.elapsed();
        wait(&mut from, "paused")?;
        received.push(start.elapsed());
        let start = Instant::now();
        remote.sent();
        drop(remote);
        took.push(paused + start.elapsed());
        wait(&mut from, "sent")?;
    }
    show("pause and send, an inspector attached", median(took));
    show("from pausing until the inspector has it", median(received));
    Ok(())
}
