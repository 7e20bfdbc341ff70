//! Applies random edits for as long as it is told and compares them with the plainest model of an edit:
//! `cargo bench -p dunlin-host --bench fuzz_edits -- --minutes 10`. Ends with the smallest input that differs.

use std::time::{Duration, Instant};

use dunlin_host::edit::{ApplyError, LineEdit, apply};
use proptest::test_runner::{Config, TestError, TestRunner};

#[path = "../src/edit/apply/model.rs"]
mod model;

/// Inputs between two looks at the clock.
const CASES: u32 = 20_000;

/// How long it runs when it is not told: one round.
const NO_TIME: Duration = Duration::ZERO;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().collect();
    let minutes = arguments
        .windows(2)
        .find(|pair| pair[0] == "--minutes")
        .map(|pair| {
            pair[1]
                .parse::<u64>()
                .map_err(|e| format!("--minutes {}: {e}", pair[1]))
        })
        .transpose()?;
    let time = minutes.map_or(NO_TIME, |minutes| Duration::from_secs(60 * minutes));
    let start = Instant::now();
    let mut inputs = 0_u64;
    loop {
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        };
        // One that has had its cases runs none any more.
        let runner = || TestRunner::new(config.clone());
        runner()
            .run(&model::fitting(), |(base, edits)| {
                model::check_fitting(&base, &edits)
            })
            .map_err(explain)?;
        runner()
            .run(&model::any_edits(), |(base, edits)| {
                model::check_any(&base, &edits)
            })
            .map_err(explain)?;
        inputs += 2 * u64::from(CASES);
        if start.elapsed() >= time {
            break;
        }
    }
    println!("{inputs} inputs in {:.1?}, no difference", start.elapsed());
    Ok(())
}

fn explain<T: std::fmt::Debug>(error: TestError<T>) -> String {
    error.to_string()
}
