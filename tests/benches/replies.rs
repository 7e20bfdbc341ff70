//! What a reply costs: the way of its first word from the server to the screen, and the processor and memory
//! that a long one takes.
//!
//! Others can be put beside it: `DUNLIN_BENCH_REPLIES` holds one line per program,
//! `name|command that asks one question`, with `{base}` where the address of the server belongs. The server
//! speaks chat completions, responses and Gemini's protocol. All take turns within one run, in a terminal.

mod stage;

use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dunlin_tests::{Environment, program};
use serde_json::json;
use stage::{Stage, Used, median, millis, peers, ratio, watch};

const ROUNDS: usize = 9;

/// Of the long reply; a token is a word.
const TOKENS: usize = 100_000;

/// Rounds of the long reply: each takes seconds for some.
const LONG_ROUNDS: usize = 3;

/// A program that has not answered until then is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first word of every reply; no program prints it by itself.
const FIRST: &str = "Calidris";

struct Contender {
    name: String,
    command: String,
    first_words: Vec<Duration>,
    long: Vec<(Duration, Used)>,
}

/// What the next reply is, and when its first word was sent.
#[derive(Debug, Default)]
struct Script {
    tokens: usize,
    sent: Option<Instant>,
}

#[expect(clippy::print_stdout, reason = "the result")]
fn main() -> ExitCode {
    let script = Arc::new(Mutex::new(Script::default()));
    let base = serve(Arc::clone(&script));
    let environment = Environment::new(program!());
    environment.configure(&format!(
        "[agents.assistant]\nbase_url = \"{base}/v1\"\nmodel = \"scripted\"\n"
    ));
    // Compiles the tools, so that the caches are warm.
    let warm = environment.run(["tools", "list"]);
    assert_eq!(warm.status, Some(0), "{}", warm.stderr);
    let own = format!("{} ask hello", environment.program().display());
    let named = [["dunlin".to_owned(), own]]
        .into_iter()
        .chain(peers("DUNLIN_BENCH_REPLIES"));
    let mut contenders: Vec<Contender> = named
        .map(|[name, command]| Contender {
            name,
            command: command.replace("{base}", &base),
            first_words: Vec::new(),
            long: Vec::new(),
        })
        .collect();
    for _ in 0..ROUNDS {
        for contender in &mut contenders {
            set(&script, 8);
            let stage = Stage::start(&environment, &contender.command, FIRST);
            let seen = stage.seen_within(PATIENCE);
            if let (Some(seen), Some(sent)) = (seen, lock(&script).sent) {
                contender
                    .first_words
                    .push(seen.saturating_duration_since(sent));
            }
            stage.end();
        }
    }
    for _ in 0..LONG_ROUNDS {
        for contender in &mut contenders {
            set(&script, TOKENS);
            let stage = Stage::start(&environment, &contender.command, FIRST);
            if let Some(used) = watch(&stage, PATIENCE) {
                contender.long.push((stage.start.elapsed(), used));
            }
            stage.end();
        }
    }
    println!(
        "median of {ROUNDS}: server's first word to the screen; of {LONG_ROUNDS}: a reply of {TOKENS} words"
    );
    println!("               first word            the long reply        processor    peak memory");
    let own_first = median(&mut contenders[0].first_words);
    let own_long = middle(&mut contenders[0].long).0;
    for contender in &mut contenders {
        let first = median(&mut contender.first_words);
        let (long, used) = middle(&mut contender.long);
        println!(
            "{:<14} {} (×{:>6.1})  {} (×{:>5.1})  {:>8} ms  {:>8.1} MiB",
            contender.name,
            millis(first),
            ratio(first, own_first),
            millis(long),
            ratio(long, own_long),
            used.cpu_ticks * 10,
            used.peak_kib as f64 / 1024.0,
        );
    }
    ExitCode::SUCCESS
}

fn middle(runs: &mut [(Duration, Used)]) -> (Duration, Used) {
    runs.sort_by_key(|(time, _)| *time);
    runs.get(runs.len() / 2).copied().unwrap_or_default()
}

fn set(script: &Mutex<Script>, tokens: usize) {
    *lock(script) = Script { tokens, sent: None };
}

fn lock(script: &Mutex<Script>) -> std::sync::MutexGuard<'_, Script> {
    script.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers everything until the program ends; returns the address.
fn serve(script: Arc<Mutex<Script>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let script = Arc::clone(&script);
            // Whoever hangs up gets no answer.
            std::thread::spawn(move || answer(connection, &script));
        }
    });
    format!("http://{address}")
}

fn answer(connection: TcpStream, script: &Mutex<Script>) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut input = BufReader::new(connection.try_clone()?);
    let mut request = String::new();
    input.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        input.read_line(&mut header)?;
        let Some((name, value)) = header.split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    let path = request.split(' ').nth(1).unwrap_or_default();
    let stream = String::from_utf8_lossy(&body).contains("\"stream\":true")
        || path.contains("streamGenerateContent");
    let mut output = BufWriter::with_capacity(16 * 1024, connection);
    let kind = if stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    write!(
        output,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    )?;
    output.flush()?;
    if !stream {
        let document = json!({
            "data": [{"id": "scripted", "object": "model"}],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
            "candidates": [{"content": {"role": "model", "parts": [{"text": "{}"}]}, "finishReason": "STOP"}],
        });
        return write!(output, "{document}").and_then(|()| output.flush());
    }
    let protocol = if path.contains("/responses") {
        Protocol::Responses
    } else if path.contains("streamGenerateContent") {
        Protocol::Gemini
    } else {
        Protocol::Chat
    };
    output.write_all(protocol.before().as_bytes())?;
    output.write_all(protocol.piece(FIRST).as_bytes())?;
    lock(script).sent.get_or_insert_with(Instant::now);
    output.flush()?;
    let tokens = lock(script).tokens;
    for number in 0..tokens {
        // Lines as prose has them.
        let end = if number % 16 == 15 { "\n" } else { "" };
        output.write_all(protocol.piece(&format!(" word{end}")).as_bytes())?;
    }
    output.write_all(protocol.after(tokens).as_bytes())?;
    output.flush()
}

#[derive(Debug, Clone, Copy)]
enum Protocol {
    Chat,
    Responses,
    Gemini,
}

impl Protocol {
    fn before(self) -> String {
        match self {
            Protocol::Responses => {
                let created = json!({"type": "response.created", "response": {"id": "resp_1"}});
                let item = json!({"type": "response.output_item.added", "output_index": 0,
                    "item": {"type": "message", "id": "msg_1", "role": "assistant", "content": []}});
                event("response.created", &created) + &event("response.output_item.added", &item)
            }
            _ => String::new(),
        }
    }

    fn piece(self, text: &str) -> String {
        match self {
            Protocol::Chat => data(
                &json!({"id": "1", "object": "chat.completion.chunk", "model": "scripted",
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": null}]}),
            ),
            Protocol::Responses => event(
                "response.output_text.delta",
                &json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0,
                    "content_index": 0, "delta": text}),
            ),
            Protocol::Gemini => data(
                &json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": text}]}}]}),
            ),
        }
    }

    fn after(self, tokens: usize) -> String {
        match self {
            Protocol::Chat => {
                data(
                    &json!({"id": "1", "object": "chat.completion.chunk", "model": "scripted",
                    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 10, "completion_tokens": tokens, "total_tokens": tokens + 10}}),
                ) + "data: [DONE]\n\n"
            }
            Protocol::Responses => {
                let mut text = FIRST.to_owned();
                for number in 0..tokens {
                    text += if number % 16 == 15 {
                        " word\n"
                    } else {
                        " word"
                    };
                }
                let item = json!({"type": "message", "id": "msg_1", "role": "assistant",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]});
                let done =
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item});
                let completed = json!({"type": "response.completed", "response": {"id": "resp_1", "output": [item],
                    "usage": {"input_tokens": 10, "output_tokens": tokens, "total_tokens": tokens + 10}}});
                event("response.output_item.done", &done) + &event("response.completed", &completed)
            }
            Protocol::Gemini => data(&json!({"candidates": [{"index": 0, "finishReason": "STOP",
                "content": {"role": "model", "parts": [{"text": ""}]}}],
                "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": tokens, "totalTokenCount": tokens + 10}})),
        }
    }
}

fn data(value: &serde_json::Value) -> String {
    format!("data: {value}\n\n")
}

fn event(name: &str, value: &serde_json::Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}
