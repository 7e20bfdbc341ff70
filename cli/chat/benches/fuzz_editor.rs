//! Edits random bodies for as long as it is told and checks that the laws of the request editor hold:
//! `cargo bench --workspace --bench fuzz_editor -- --minutes 10`, with `--seed N` for the same cases again. Ends with
//! the smallest case that breaks a law. It also reads random text as a body and as a path.

#[path = "../src/request/editor/laws_tests.rs"]
mod laws;

use std::time::{Duration, Instant};

use bytes::Bytes;
// What the laws name as their parent's.
use dunlin_chat::request::editor::{
    Change, Counts, EditError, EditableRequest, KnownOption, Leaf, LeafKind, OptionKind, Origin,
    Outline, Path, Row, RowValue, SectionId, Step, Target,
};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde::de::IgnoredAny;

/// Cases of each kind between two looks at the clock.
const CASES: u32 = 10_000;

/// What random texts are made of.
const PIECES: [&str; 24] = [
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "d83e", "\\\"", " ", "\n", "a", "messages",
    "tools", "role", "1", "1e9", "-", "true", "null", "ß", "🪶",
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
        // One that has had its cases runs none any more.
        let runner = || TestRunner::new_with_rng(config.clone(), rng.clone());
        let decisions = |most| prop::collection::vec(any::<u8>(), 0..most);
        runner()
            .run(&(decisions(100), decisions(60)), |(body, edits)| {
                laws::hold(&body, &edits).map_err(|broken| TestCaseError::fail(broken.to_string()))
            })
            .map_err(|error| error.to_string())?;
        let text = prop::collection::vec(select(PIECES.to_vec()), 0..16);
        runner()
            .run(&text, |pieces| read(&pieces.concat()))
            .map_err(|error| error.to_string())?;
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    println!(
        "{} requests and as many texts in {:.1?}, all laws hold",
        round * u64::from(CASES),
        start.elapsed()
    );
    Ok(())
}

/// A text is a body exactly when it has the form of JSON, as `serde_json` reads it, but for keys that an object has twice;
/// and it has leaves that can be set, or can only be sent as it is. Numbers stay as they are written, so that they may
/// be larger than any that `serde_json` can hold (`1e999`).
fn read(text: &str) -> Result<(), TestCaseError> {
    let body = Bytes::from(text.to_owned());
    let mut request = EditableRequest::new(body.clone(), Outline::raw());
    let is_json = serde_json::from_str::<IgnoredAny>(text).is_ok();
    for row in request.rows(1) {
        prop_assert!(is_json, "{:?} is not JSON", text);
        let path = row.path.unwrap_or_default().to_string();
        prop_assert_eq!(request.target(&path), Ok(row.target.clone()));
        if let RowValue::Leaf(leaf) = row.value
            && leaf.kind == LeafKind::String
        {
            prop_assert!(request.set_target(&row.target, "\"new\"").is_ok());
            prop_assert!(serde_json::from_slice::<IgnoredAny>(request.bytes()).is_ok());
            request
                .reset()
                .map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
    }
    prop_assert_eq!(request.bytes(), &body);
    if let Ok(path) = text.parse::<Path>() {
        prop_assert_eq!(path.to_string().parse::<Path>(), Ok(path));
    }
    Ok(())
}

fn number(name: &str) -> Result<Option<u64>, String> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = arguments.windows(2).find(|pair| pair[0] == name);
    value
        .map(|pair| {
            pair[1]
                .parse()
                .map_err(|error| format!("{name} {}: {error}", pair[1]))
        })
        .transpose()
}
