//! Damages session files at random for as long as it is told, and checks that every body that their logs give has the
//! SHA-256 that they say: `cargo bench --workspace --bench fuzz_requests -- --minutes 10`, with `--seed N` for the same
//! cases again.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::message::{Conversation, Message, Role};
use dunlin_chat::session::record::Speaker;
use dunlin_chat::session::requests::{Kind, RequestFile, Sent, Side};
use dunlin_chat::session::{Session, Store, reader};
use dunlin_chat::turn::Journal;
use dunlin_host::sha256_hex;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Cases between two looks at the clock.
const CASES: u32 = 500;

/// What is put into a file.
const PIECES: [&str; 20] = [
    "[\"base\",0,9]",
    "[\"base_sent\",1,9]",
    "[\"original\",0,99]",
    "[2,0,40]",
    "[\"escaped:1\",3,50]",
    "18446744073709551615",
    "-1",
    "1e9",
    "null",
    "\"base\":1,",
    "\"base\":3,",
    "\"number\":2,",
    "{\"hex\":\"00ff\"},",
    "\\ud83e",
    "\"",
    "}",
    "]",
    "\n",
    "\u{0}",
    "{\"type\":\"request\",\"n\":3}\n",
];

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), String> {
    let minutes = number("--minutes")?.unwrap_or(0);
    let seed = match number("--seed")? {
        Some(seed) => seed,
        None => std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .map_err(|error| error.to_string())?
            .as_secs(),
    };
    println!("seed {seed}");
    let file = session().map_err(|error| error.to_string())?;
    check(&file).map_err(|error| error.to_string())?;
    let start = Instant::now();
    let mut round = 0_u64;
    loop {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&round.to_le_bytes());
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        };
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let damage = (any::<usize>(), 0..9_usize, select(PIECES.to_vec()));
        let damage = prop::collection::vec(damage, 1..8);
        runner
            .run(&damage, |damage| {
                let mut bytes = file.clone();
                for (at, gone, piece) in damage {
                    let at = at % (bytes.len() + 1);
                    let end = bytes.len().min(at + gone);
                    bytes.splice(at..end, piece.bytes());
                }
                check(&bytes)
            })
            .map_err(|error| error.to_string())?;
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    println!("{} files", round * u64::from(CASES));
    Ok(())
}

/// A session with requests of every kind, some of them edited.
fn session() -> std::io::Result<Vec<u8>> {
    let folder = tempfile::tempdir()?;
    let store = Store::new(folder.path(), Path::new("/p"));
    let speaker = Speaker {
        agent: "assistant".to_owned(),
        model: "small".to_owned(),
    };
    let session = Session::fresh(&store, "fuzz", speaker);
    let mut conversation = Conversation::new();
    let mut body = String::from("[");
    for index in 0..12 {
        let text = format!("\"What\" was said in message {index}, ß and \\ and more of it. ");
        conversation.push_user(text.repeat(2));
        session.keep(&conversation, &[]);
        body.push_str(&serde_json::json!(text.repeat(2)).to_string());
        let original = Bytes::from(body.clone());
        let sent = Bytes::from(body.replacen("message 1", "MESSAGE one", index % 3));
        let kinds = [Kind::Turn, Kind::Turn, Kind::Summary, Kind::Sampling];
        session.sent(&Sent {
            kind: kinds[index % kinds.len()],
            agent: "assistant",
            subagent: None,
            model: "small",
            endpoint: "http://127.0.0.1:8080/v1/chat/completions",
            counted: None,
            original: &original,
            sent: &sent,
            edits: &[],
        });
        session.requests().flush();
        conversation.push_assistant(Message::text(Role::Assistant, "Yes."));
        session.keep(&conversation, &[]);
    }
    std::fs::read(session.entry().path)
}

/// Whatever the file holds, a body is what the log says, or there is none.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let _ = reader::read(bytes);
    let file = RequestFile::parse(bytes.to_vec());
    for request in file.requests() {
        let number = request.entry.number;
        let _ = (file.reply(request), file.edits(request));
        let Ok(first) = file.request(number) else {
            return Err(TestCaseError::fail(format!("request {number} is gone")));
        };
        for side in [Side::Original, Side::Sent] {
            let expected = match side {
                Side::Original => &first.entry.original.sha256,
                Side::Sent => &first.entry.sent_body().sha256,
            };
            if let Ok(body) = file.body(number, side) {
                prop_assert_eq!(&sha256_hex(&body), expected);
            }
        }
    }
    Ok(())
}

/// The number after a flag.
fn number(flag: &str) -> Result<Option<u64>, String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != flag);
    match (arguments.next(), arguments.next()) {
        (Some(_), Some(number)) => number
            .parse()
            .map(Some)
            .map_err(|_| format!("{flag} takes a number, not {number:?}")),
        (Some(_), None) => Err(format!("{flag} takes a number")),
        _ => Ok(None),
    }
}
