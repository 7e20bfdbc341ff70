//! Makes tables of damaged files of models.dev, and damages the tables, for as long as it is told:
//! `cargo bench --workspace --bench fuzz_model_table -- --minutes 10`, with `--seed N` for the same cases again.
//!
//! - Whatever the file is, it makes a table or an error.
//! - A table reads the same when it is written and read again, and each of its entries is found under its name.
//! - A table that was damaged is refused, or has the right checksum and finds what it finds without a panic.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dunlin::model_table::ModelTable;
use dunlin::model_table::site::reduce;
use dunlin_host::sha256_hex;
use jiff::civil::Date;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

/// Files of each kind between two looks at the clock.
const CASES: u32 = 2_000;

/// What services and models are called.
const NAMES: [&str; 14] = [
    "shop",
    "m1",
    "m1-2026-01-31",
    "m1-20260131",
    "m1-latest",
    "vendor/m1",
    "vendor/m1:free",
    "",
    "=",
    "#",
    "a b",
    "ß",
    "\\t",
    "\\n=shop\\tshop.example\\nm1\\t1",
];

/// Where services listen.
const ADDRESSES: [&str; 8] = [
    "https://shop.example/v1",
    "https://shop.example/plan/v1/",
    "https://shop.example",
    "http://127.0.0.1:1/v1",
    "https://[::1]/v1",
    "https://${A}/v1",
    "\\t",
    "",
];

/// Numbers and what is none.
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2.5",
    "0.075",
    "-1",
    "1e-7",
    "1e6",
    "1e7",
    "1e308",
    "128000",
    "18446744073709551615",
    "18446744073709551616",
    "null",
    "\"1\"",
    "[]",
    "{}",
];

/// What a model is made of; `#` is a number.
const MODELS: [&str; 8] = [
    r#"{"limit":{"context":#,"input":#},"cost":{"input":#,"output":#}}"#,
    r#"{"limit":{"context":#},"cost":{"input":#,"output":#,"cache_read":#,"cache_write":#}}"#,
    r#"{"cost":{"input":#,"output":#,"reasoning":#,"context_over_200k":{"input":#,"output":#}}}"#,
    r#"{"cost":{"input":#,"output":#,"tiers":[{"tier":{"size":#},"input":#,"output":#},{"tier":{"type":"context","size":#},"input":#,"output":#}]}}"#,
    r#"{"cost":{"input":1,"output":1,"tiers":[{"tier":{"type":"hour","size":#},"input":#,"output":#}]}}"#,
    r#"{"limit":{"context":128000},"cost":{"input":2.5,"output":10}}"#,
    r#"{"limit":#,"cost":#}"#,
    "#",
];

/// What damage puts into a text.
const PIECES: [&str; 16] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "\\u0000",
    "\t",
    "\n",
    "=",
    "-",
    "9",
    "ß",
    "\"models\":",
];

/// A service: name, address, and models, each with a name, what it is made of, and its numbers.
type Service = (
    &'static str,
    &'static str,
    Vec<(&'static str, &'static str, Vec<&'static str>)>,
);

/// Where a text is damaged, how many bytes are taken out, and what is put there.
type Damage = Vec<(usize, usize, &'static str)>;

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
    let (tables, found) = (Cell::new(0_u64), Cell::new(0_u64));
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
        let numbers = prop::collection::vec(select(NUMBERS.to_vec()), 9);
        let model = (select(NAMES.to_vec()), select(MODELS.to_vec()), numbers);
        let models = prop::collection::vec(model, 0..6);
        let service = (select(NAMES.to_vec()), select(ADDRESSES.to_vec()), models);
        let services = prop::collection::vec(service, 0..5);
        let damage =
            || prop::collection::vec((any::<usize>(), 0..9_usize, select(PIECES.to_vec())), 1..4);
        let maybe = prop_oneof![2 => Just(Vec::new()), 1 => damage()];
        let case = (services, maybe, damage(), select(NAMES.to_vec()));
        TestRunner::new_with_rng(config, rng)
            .run(&case, |(services, of_site, of_table, name)| {
                let site = damaged(site(&services), &of_site);
                // A table is made of few files only, so nothing of them is thrown away.
                let Ok(reduced) = reduce(&site, Date::constant(2026, 1, 31)) else {
                    return Ok(());
                };
                tables.set(tables.get() + 1);
                prop_assert_eq!(reduced.table.entries().count(), reduced.models);
                found.set(found.get() + reduced.models as u64);
                reads_the_same(&reduced.table)?;
                survives(&reduced.table, &of_table, name)
            })
            .map_err(|error| error.to_string())?;
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    println!(
        "{} files, of which {} made tables with {} models, in {:.1?}",
        round * u64::from(CASES),
        tables.get(),
        found.get(),
        start.elapsed()
    );
    Ok(())
}

fn site(services: &[Service]) -> String {
    let service = |(name, address, models): &Service| {
        let model = |(name, made_of, numbers): &(&str, &str, Vec<&str>)| {
            let mut numbers = numbers.iter();
            let parts = made_of.split('#');
            let filled = parts.map(str::to_owned).reduce(|before, after| {
                let number = numbers.next().copied().unwrap_or("1");
                format!("{before}{number}{after}")
            });
            format!("\"{name}\":{}", filled.unwrap_or_default())
        };
        let models: Vec<String> = models.iter().map(model).collect();
        format!(
            "\"{name}\":{{\"api\":\"{address}\",\"models\":{{{}}}}}",
            models.join(",")
        )
    };
    let services: Vec<String> = services.iter().map(service).collect();
    format!("{{{}}}", services.join(","))
}

fn reads_the_same(table: &ModelTable) -> Result<(), TestCaseError> {
    let again = ModelTable::of_file(&table.to_file());
    prop_assert_eq!(again.as_ref(), Ok(table));
    for entry in table.entries() {
        prop_assert_eq!(table.named(&entry.name), Some(entry));
    }
    Ok(())
}

/// A damaged table is refused. With the right checksum it is read as far as it can be.
fn survives(table: &ModelTable, damage: &Damage, name: &str) -> Result<(), TestCaseError> {
    let file = table.to_file();
    let bytes = damaged(file.clone(), damage);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if let Ok(read) = ModelTable::of_file(&text) {
        prop_assert_eq!(&read, table);
    }
    let body = file.split_once('\n').map_or("", |(_, body)| body);
    let body = String::from_utf8_lossy(&damaged(body.to_owned(), damage)).into_owned();
    let sum = sha256_hex(body.as_bytes());
    let forged = format!("dunlin-models 1 2026-01-31 {sum}\n{body}");
    let forged =
        ModelTable::of_file(&forged).map_err(|error| TestCaseError::fail(error.to_string()))?;
    for entry in forged.entries() {
        let _ = forged.named(&entry.name);
    }
    for address in [
        "https://shop.example/v1",
        "https://shop.example/plan/v1",
        "http://127.0.0.1:1/v1",
    ] {
        let url = address.parse().map_err(|_| TestCaseError::fail(address))?;
        let found = forged.find(&url, name);
        prop_assert!(found.is_none() || address.starts_with("https"));
    }
    Ok(())
}

fn damaged(text: String, damage: &Damage) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    for (at, taken, put) in damage {
        let at = at % (bytes.len() + 1);
        let end = (at + taken).min(bytes.len());
        bytes.splice(at..end, put.bytes());
    }
    bytes
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
