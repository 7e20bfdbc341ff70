//! What the request inspector costs: the first frame of a request of 200,000 tokens, and a key until its frame, beside
//! reading and writing the same body with `serde_json`, and its memory beside the body. Prints figures and decides nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::request::editor::{EditableRequest, Origin, Outline, SectionId};
use dunlin_chat::turn::PausedRequest;
use dunlin_terminal::inspector::{Event, Inspector, Logged, Logs, Mode, SessionLog, Sides, draw};
use dunlin_terminal::request::paused::Paused;
use dunlin_terminal::ui::style::Styles;
use peak_alloc::PeakAlloc;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui_textarea::{Input, Key};
use serde_json::{Value, json};

/// Counts what is allocated.
#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Messages of the request, and the words of each: some 200,000 tokens.
const MESSAGES: usize = 2_000;
const WORDS: usize = 34;

/// Measurements of what happens once.
const ROUNDS: usize = 15;

/// Keys that move, fold and search, often enough for a 99th percentile.
const KEYS: &str = "jjjjjkGgl jjjhKjlmmh]jjkk";
const REPEATS: usize = 40;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() {
    let messages = (0..MESSAGES).map(|index| {
        let role = ["user", "assistant"][index % 2];
        let words: Vec<String> = (0..WORDS)
            .map(|word| format!("tern{}", word * index % 97))
            .collect();
        json!({"role": role, "content": words.join(" ")})
    });
    let body = json!({"model": "small", "messages": messages.collect::<Vec<Value>>()});
    let text = body.to_string();
    let plain = median(|| {
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        std::hint::black_box(value.to_string());
    });
    let origins: Vec<Origin> = (0..MESSAGES)
        .map(|index| SectionId::Message(index).into())
        .collect();
    let paused = || {
        let outline = Outline::of_chat(&body, &origins, Vec::new());
        let request = EditableRequest::new(Bytes::from(text.clone()), outline);
        Paused::new(PausedRequest::new(request))
    };
    let Ok(mut terminal) = Terminal::new(TestBackend::new(120, 40));
    let before = MEMORY.current_usage();
    let held_bytes = || MEMORY.current_usage().saturating_sub(before);
    let hold = |what: &str| {
        let ratio = held_bytes() as f64 / text.len() as f64;
        println!(
            "{what:<42} {:>8} kB  {ratio:>5.2} of the body",
            held_bytes() / 1_000
        );
    };
    let mut held = paused();
    println!(
        "{MESSAGES} messages, {} bytes, {} tokens",
        text.len(),
        held.tokens()
    );
    let show = |what: &str, took: Duration| {
        let ratio = took.as_secs_f64() / plain.as_secs_f64();
        println!(
            "{what:<42} {:>8.2} ms  {ratio:>5.2}",
            took.as_secs_f64() * 1e3
        );
    };
    show("serde_json: read and write", plain);
    hold("memory of the request");
    show(
        "open and draw the first frame",
        median(|| {
            let mut inspector = open(&held);
            let Ok(_) = terminal.draw(|frame| draw(frame, &mut inspector, &held));
        }),
    );
    let mut inspector = open(&held);
    let mut times = Vec::new();
    for key in KEYS.chars().cycle().take(KEYS.len() * REPEATS) {
        let input = Input {
            key: Key::Char(key),
            ..Input::default()
        };
        let start = Instant::now();
        inspector.handle(Event::Key(input), &mut held);
        let Ok(_) = terminal.draw(|frame| draw(frame, &mut inspector, &held));
        times.push(start.elapsed());
    }
    times.sort();
    hold("memory, with the inspector");
    show("a key until its frame, median", times[times.len() / 2]);
    show(
        "a key until its frame, 99th percentile",
        times[times.len() * 99 / 100],
    );
    let mut tab = |inspector: &mut Inspector| {
        let input = Input {
            key: Key::Tab,
            ..Input::default()
        };
        inspector.handle(Event::Key(input), &mut held);
        let Ok(_) = terminal.draw(|frame| draw(frame, inspector, &held));
    };
    let start = Instant::now();
    tab(&mut inspector);
    show("the payload, indented", start.elapsed());
    hold("memory, with the payload");
}

struct NothingSent;

impl Logs for NothingSent {
    fn rows(&self, _: &str) -> Vec<Logged> {
        Vec::new()
    }

    fn sent(&self, _: &str, _: u64) -> Result<Paused, String> {
        Err("nothing was sent".to_owned())
    }

    fn body(&self, _: &str, _: &str) -> Option<Vec<u8>> {
        None
    }
}

fn open(paused: &Paused) -> Inspector {
    let sides = Sides {
        metadata: Box::new(|_| Vec::new()),
        log: SessionLog {
            logs: Arc::new(NothingSent),
            session: String::new(),
        },
        conversation: String::new(),
    };
    Inspector::new(Mode::Paused, sides, Styles::coloured(), paused)
}

fn median(mut work: impl FnMut()) -> Duration {
    let times = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    });
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    times[ROUNDS / 2]
}
