//! Runs random lines that are read as simple commands in real shells for as long as it is told:
//! `cargo bench -p dunlin-host --bench fuzz_commands -- --minutes 10`, with `--seed N` for the same lines again.
//! Ends with the smallest line that a shell understands in another way.

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

#[path = "../src/command/fuzz.rs"]
mod fuzz;

/// Lines of each kind between two looks at the clock.
const CASES: u32 = 2_000;

/// The commands of a line, if it is a simple one or a chain of them.
fn read(line: &str) -> Option<Vec<fuzz::Command>> {
    let commands = dunlin_host::command::chained_commands(line)?;
    if let (Ok(words), [command]) = (
        dunlin_host::command::simple_words(line),
        commands.as_slice(),
    ) {
        assert_eq!(words, command.words, "{line:?}");
    }
    let commands = commands.into_iter().map(|it| fuzz::Command {
        separator: it.separator,
        variables: it.variables,
        words: it.words,
        patterns: it.patterns,
        shows_status: it.shows_status,
        is_of_shell: it.is_of_shell,
    });
    Some(commands.collect())
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
    let range = fuzz::Range::new().map_err(|e| e.to_string())?;
    for line in fuzz::KEPT {
        range.check(line, read).map_err(|e| e.to_string())?;
    }
    let start = Instant::now();
    let (mut lines, simple, chains) = (0_u64, Cell::new(0_u64), Cell::new(0_u64));
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
        let count = |commands| {
            simple.set(simple.get() + u64::from(commands == 1));
            chains.set(chains.get() + u64::from(commands > 1));
        };
        let check = |line: String| range.check(&line, read).map(count);
        runner()
            .run(&fuzz::command(), check)
            .map_err(|e| e.to_string())?;
        runner()
            .run(&fuzz::any_line(), check)
            .map_err(|e| e.to_string())?;
        runner()
            .run(&fuzz::chain(), check)
            .map_err(|e| e.to_string())?;
        lines += 3 * u64::from(CASES);
        round += 1;
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    let (simple, chains, shells) = (simple.get(), chains.get(), range.shells());
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
