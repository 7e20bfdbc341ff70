//! Reads random sources and random index bytes for as long as it is told: `cargo bench --workspace --bench fuzz_code -- --minutes 10`,
//! with `--seed N` for the same ones again. Ends with the smallest that panics, takes too long or is read wrongly.

use std::time::{Duration, Instant};

use dunlin_code::{Language, Source};
use dunlin_code_index::{FileMetadata, Index, MemoryStore, Query};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Cases between two looks at the clock.
const CASES: u32 = 500;

/// How long one case may take. The sources have some kilobytes.
const TIME: Duration = Duration::from_secs(1);

/// What sources are made of.
const PIECES: [&str; 40] = [
    "fn ",
    "def ",
    "func ",
    "class ",
    "struct ",
    "impl ",
    "function ",
    "pub ",
    "static ",
    "void ",
    "if ",
    "read",
    "File",
    "send_",
    "x",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ":",
    ",",
    "=>",
    "=",
    "\"",
    "'",
    "\"\"\"",
    "/*",
    "*/",
    "//",
    "#",
    "@",
    "\\",
    "\t",
    " ",
    "ß🪶",
];

/// The ends of names that choose how a source is read.
const ENDS: [&str; 12] = [
    "rs", "py", "js", "ts", "go", "c", "h", "java", "md", "rb", "lua", "x",
];

/// A tree, and what is done to its index.
#[derive(Debug, Clone)]
struct Case {
    files: Vec<(String, String)>,
    question: String,
    damage: Vec<(prop::sample::Index, prop::sample::Index, u8, bool)>,
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), String> {
    let minutes = number("--minutes")?.unwrap_or(0);
    let seed = match number("--seed")? {
        Some(seed) => seed,
        None => std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .map_err(|e| e.to_string())?
            .as_secs(),
    };
    println!("seed {seed}");
    let start = Instant::now();
    let mut cases: u64 = 0;
    loop {
        // A runner that has had its cases runs none any more.
        runner(seed.wrapping_add(cases))
            .run(&case(), |case| check(&case))
            .map_err(|error| match error {
                TestError::Fail(reason, case) => format!("{reason}\n{case:?}"),
                abort @ TestError::Abort(_) => abort.to_string(),
            })?;
        cases += u64::from(CASES);
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            println!("{cases} trees");
            return Ok(());
        }
    }
}

fn check(case: &Case) -> Result<(), TestCaseError> {
    let start = Instant::now();
    for (path, text) in &case.files {
        for language in Language::ALL {
            if let Some(source) = Source::parse(language, text) {
                let lines = text.lines().count() as u64;
                for entry in source.outline(text) {
                    prop_assert!(entry.line >= 1 && entry.line <= lines, "{path}: {entry:?}");
                }
                for line in 0..=lines + 1 {
                    let symbol = source.enclosing(line);
                    prop_assert!(
                        symbol.is_none_or(|s| s.start_line <= line && line <= s.end_line),
                        "{path}:{line}"
                    );
                }
            }
        }
    }
    let mut store = MemoryStore::default();
    let expected = answer(case, &mut store)?;
    for (blob, at, change, cut) in &case.damage {
        let names: Vec<String> = store.blobs.keys().cloned().collect();
        if names.is_empty() {
            break;
        }
        let name = blob.get(&names).clone();
        let Some(bytes) = store.blobs.get_mut(&name).filter(|bytes| !bytes.is_empty()) else {
            continue;
        };
        let at = at.index(bytes.len());
        if *cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= (*change).max(1);
        }
    }
    // The first answer may lack what was damaged; after an update it is as before.
    answer(case, &mut store)?;
    prop_assert_eq!(answer(case, &mut store)?, expected);
    prop_assert!(start.elapsed() < TIME, "took {:?}", start.elapsed());
    Ok(())
}

/// Updates the index and asks. Each hit has to be what it says it is.
fn answer(case: &Case, store: &mut MemoryStore) -> Result<Vec<(String, u64)>, TestCaseError> {
    let fail = |error: &dyn std::fmt::Display| TestCaseError::fail(error.to_string());
    let metadata: Vec<FileMetadata> = case
        .files
        .iter()
        .map(|(path, text)| FileMetadata {
            path: path.clone(),
            size: text.len() as u64,
            modified: 1,
        })
        .collect();
    let mut read = |path: &str| {
        let file = case.files.iter().find(|(other, _)| other == path);
        file.map(|(_, text)| text.clone().into_bytes())
    };
    let mut index = Index::open(store).map_err(|e| fail(&e))?;
    let progress = index
        .update(store, &metadata, &mut read, &mut |_| true)
        .map_err(|e| fail(&e))?;
    prop_assert!(progress.is_complete());
    let query = Query {
        text: case.question.clone(),
        ..Query::default()
    };
    let answer = index
        .search(store, &query, &mut read, None)
        .map_err(|e| fail(&e))?;
    for hit in &answer.hits {
        prop_assert!(
            hit.score.is_finite() && hit.start_line >= 1 && hit.start_line <= hit.end_line,
            "{hit:?}"
        );
        let file = case.files.iter().find(|(path, _)| *path == hit.path);
        let lines = file.map_or(0, |(_, text)| text.lines().count() as u64);
        prop_assert!(hit.end_line <= lines, "{hit:?}");
    }
    Ok(answer
        .hits
        .into_iter()
        .map(|hit| (hit.path, hit.start_line))
        .collect())
}

fn case() -> impl Strategy<Value = Case> {
    let line =
        proptest::collection::vec(select(&PIECES[..]), 0..12).prop_map(|pieces| pieces.concat());
    let text = proptest::collection::vec(line, 0..80).prop_map(|lines| lines.join("\n"));
    let file = (0..30_u8, select(&ENDS[..]), text)
        .prop_map(|(number, end, text)| (format!("src/file_{number}.{end}"), text));
    let files = proptest::collection::btree_map("[a-c]{1,2}", file, 0..8).prop_map(|files| {
        files
            .into_iter()
            .map(|(folder, (name, text))| (format!("{folder}/{name}"), text))
            .collect()
    });
    let question =
        proptest::collection::vec(select(&PIECES[..]), 0..8).prop_map(|pieces| pieces.join(" "));
    let damage = proptest::collection::vec(
        any::<(prop::sample::Index, prop::sample::Index, u8, bool)>(),
        0..4,
    );
    (files, question, damage).prop_map(|(files, question, damage)| Case {
        files,
        question,
        damage,
    })
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn number(flag: &str) -> Result<Option<u64>, String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != flag);
    if arguments.next().is_none() {
        return Ok(None);
    }
    let value = arguments
        .next()
        .ok_or_else(|| format!("{flag} needs a number"))?;
    let number = value
        .parse()
        .map_err(|_| format!("{flag} needs a number"))?;
    Ok(Some(number))
}
