//! What the request inspector costs: the first frame of a request of 200,000 tokens, and a key until its frame, beside
//! reading and writing the same body with `serde_json`, and its memory beside the body. Prints figures and decides nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::request::editor::{EditableRequest, Origin, Outline, SectionId};
use dunlin_chat::turn::PausedRequest;
use dunlin_host::ForeignError;
use dunlin_terminal::inspector::{
    Effect, Event, Inspector, Logged, Logs, Mode, SessionLog, Sides, Typed, draw,
};
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

/// Texts of a request that has few and long ones, and the words of each: 1 MB.
const TEXTS: usize = 5;
const LONG_WORDS: usize = 150_000;

/// Keys for each view of long texts, and how often: moving, folding, searching, editing.
const LONG_KEYS: &str = "jjkkGkgGllhhllhhjl  lh/tern96\nnNnhjhjeuhh";
const LONG_REPEATS: usize = 4;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() {
    let messages = |count: usize, words: usize| {
        let message = move |index: usize| {
            let role = ["user", "assistant"][index % 2];
            let words: Vec<String> = (0..words)
                .map(|word| format!("tern{}", word * (index + 1) % 97))
                .collect();
            json!({"role": role, "content": words.join(" ")})
        };
        (0..count).map(message).collect::<Vec<Value>>()
    };
    println!("{MESSAGES} messages");
    measure(&messages(MESSAGES, WORDS), KEYS, REPEATS);
    println!("\n{TEXTS} messages of 1 MB each");
    measure(&messages(TEXTS, LONG_WORDS), LONG_KEYS, LONG_REPEATS);
    println!("\nthe same texts in one line each of many");
    let lines: Vec<Value> = messages(TEXTS, LONG_WORDS)
        .into_iter()
        .map(|mut message| {
            let text = message["content"].as_str().unwrap_or_default();
            message["content"] = text.replace("tern0 ", "tern0\n").into();
            message
        })
        .collect();
    measure(&lines, LONG_KEYS, LONG_REPEATS);
}

/// Measures one request. `keys` are typed `repeats` times.
#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn measure(messages: &[Value], keys: &str, repeats: usize) {
    let body = json!({"model": "small", "messages": messages});
    let text = body.to_string();
    let plain = median(|| {
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        std::hint::black_box(value.to_string());
    });
    let origins: Vec<Origin> = (0..messages.len())
        .map(|index| SectionId::Message(index).into())
        .collect();
    let outline = Outline::of_chat(&body, &origins, Vec::new());
    drop(body);
    let paused = || {
        let request = EditableRequest::new(Bytes::from(text.clone()), outline.clone());
        Paused::new(PausedRequest::new(request))
    };
    let Ok(mut terminal) = Terminal::new(TestBackend::new(120, 40));
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let hold = |what: &str| {
        let of_body = |bytes: usize| bytes.saturating_sub(before) as f64 / text.len() as f64;
        println!(
            "{what:<42} {:>6.2} of the body, {:>6.2} at most",
            of_body(MEMORY.current_usage()),
            of_body(MEMORY.peak_usage())
        );
    };
    let mut held = paused();
    println!("{} bytes, {} tokens", text.len(), held.tokens());
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
    for key in keys.chars().cycle().take(keys.len() * repeats) {
        let input = Input {
            key: match key {
                '\n' => Key::Enter,
                key => Key::Char(key),
            },
            ..Input::default()
        };
        let start = Instant::now();
        let effect = inspector.handle(Event::Key(input), &mut held);
        if let Effect::EditOutside(target, draft) = effect {
            // The text is too long for the text area; an editor has added a word to it.
            let (old, mut new) = (draft.now, draft.text);
            new.push_str(" more");
            inspector.set(Typed { target, old, new }, &mut held);
        }
        let Ok(_) = terminal.draw(|frame| draw(frame, &mut inspector, &held));
        times.push((start.elapsed(), key));
    }
    times.sort();
    hold("memory, with the inspector");
    show("a key until its frame, median", times[times.len() / 2].0);
    show(
        "a key until its frame, 99th percentile",
        times[times.len() * 99 / 100].0,
    );
    let mut seen = HashSet::new();
    let slowest = times.iter().rev().filter(|(_, key)| seen.insert(*key));
    let slowest = slowest.map(|(took, key)| format!("{key:?} {:.1}", took.as_secs_f64() * 1e3));
    let slowest: Vec<String> = slowest.take(8).collect();
    println!("the slowest keys, ms: {}", slowest.join(", "));
    for what in ["payload", "difference"] {
        let input = Input {
            key: Key::Tab,
            ..Input::default()
        };
        let start = Instant::now();
        inspector.handle(Event::Key(input), &mut held);
        let Ok(_) = terminal.draw(|frame| draw(frame, &mut inspector, &held));
        show(what, start.elapsed());
        hold(&format!("memory, with the {what}"));
    }
}

struct NothingSent;

impl Logs for NothingSent {
    fn rows(&self, _: &str) -> Vec<Logged> {
        Vec::new()
    }

    fn sent(&self, _: &str, _: u64) -> Result<Paused, ForeignError> {
        Err("nothing was sent".into())
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
