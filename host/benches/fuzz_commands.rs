//! Runs random lines that are read as simple commands in real shells for as long as it is told:
//! `cargo bench -p dunlin-host --bench fuzz_commands -- --minutes 10`, with `--seed N` for the same lines again.
//! Ends with the smallest line that a shell understands in another way.

use std::time::{Duration, Instant};

use dunlin_host::command::{SimpleCommand, chained_commands, simple_words};

#[path = "../src/command/fuzz.rs"]
mod fuzz;

/// Lines of each kind between two looks at the clock.
const CASES: u32 = 2_000;

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
    let range = fuzz::Range::new().map_err(|e| e.to_string())?;
    let start = Instant::now();
    let mut tried = fuzz::Tried::default();
    let mut round = 0_u64;
    loop {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&round.to_le_bytes());
        range.try_lines(bytes, CASES, &mut tried)?;
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    let fuzz::Tried {
        lines,
        simple,
        chains,
    } = tried;
    let shells = range.shells();
    let time = start.elapsed();
    println!(
        "{lines} lines in {time:.1?}, {simple} of them simple and {chains} chains, run by {shells} shells, no difference"
    );
    Ok(())
}

fn number(name: &str) -> Result<Option<u64>, String> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = arguments.windows(2).find(|pair| pair[0] == name);
    value
        .map(|pair| {
            pair[1]
                .parse()
                .map_err(|e| format!("{name} {}: {e}", pair[1]))
        })
        .transpose()
}
