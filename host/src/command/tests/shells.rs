//! Simple lines do in real shells what they were read as.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::command::fuzz::{Command, KEPT, Range, any_line, chain, command};
use crate::command::{chained_commands, simple_words};

/// Lines of each kind that are tried. The bench `fuzz_commands` tries as many as there is time for.
const CASES: u32 = 400;

/// Where the lines come from: the same ones each time.
const SEED: [u8; 32] = *b"dunlin reads what the shell runs";

/// The commands of a line, if it is a simple one or a chain of them.
fn read(line: &str) -> Option<Vec<Command>> {
    let commands = chained_commands(line)?;
    if let (Ok(words), [command]) = (simple_words(line), commands.as_slice()) {
        assert_eq!(words, command.words, "{line:?}");
    }
    let commands = commands.into_iter().map(|it| Command {
        separator: it.separator,
        variables: it.variables,
        words: it.words,
        patterns: it.patterns,
        shows_status: it.shows_status,
        is_of_shell: it.is_of_shell,
    });
    Some(commands.collect())
}

#[test]
fn shells_agree_on_random_lines() {
    let range = Range::new().unwrap();
    assert!(range.shells() > 0);
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    // One that has had its cases runs none any more.
    let runner = || TestRunner::new_with_rng(config.clone(), rng.clone());
    let (simple, chains, all) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |commands| {
        simple.set(simple.get() + u32::from(commands == 1));
        chains.set(chains.get() + u32::from(commands > 1));
        all.set(all.get() + 1);
    };
    let seed = String::from_utf8_lossy(&SEED);
    let check = |line: String| range.check(&line, read).map(count);
    let result = runner().run(&command(), check);
    result.unwrap_or_else(|e| panic!("seed {seed:?}: {e}"));
    // Otherwise nothing was compared.
    assert!(
        simple.get() > CASES / 20,
        "only {} simple lines",
        simple.get()
    );
    let result = runner().run(&any_line(), check);
    result.unwrap_or_else(|e| panic!("seed {seed:?}: {e}"));
    let result = runner().run(&chain(), check);
    result.unwrap_or_else(|e| panic!("seed {seed:?}: {e}"));
    assert!(chains.get() > CASES / 20, "only {} chains", chains.get());
    assert_eq!(all.get(), 3 * CASES);
}

#[test]
fn shells_agree_on_lines_that_were_kept() {
    let range = Range::new().unwrap();
    for line in KEPT {
        range
            .check(line, read)
            .unwrap_or_else(|e| panic!("{line:?}: {e}"));
    }
}

proptest! {
    #![proptest_config(Config { cases: 2_000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        let _ = simple_words(&text);
        let _ = chained_commands(&text);
        let _ = crate::command::find::commands(&text);
    }

    #[test]
    fn any_pieces_are_read(text in any_line()) {
        let _ = simple_words(&text);
        let _ = chained_commands(&text);
        let _ = crate::command::find::commands(&text);
    }

    /// Whatever stands around it: an unquoted character with a meaning is never simple.
    #[test]
    fn what_means_something_is_never_simple(
        before in "[a-z/. -]{0,12}",
        meaning in prop::sample::select(&["|", "&", ";", "\n", "\r", "\t", "(", ")", "$", "`", "*", "?", "[", "{", "}", "\\", "!",
            "#", "<", "=(", "\"$x\"", "\"`x`\"", "$'x'", "\u{0}", "\u{1b}", "\u{200b}", "\u{202e}", "\u{a0}", "'", "\""][..]),
        after in "[a-z/. -]{0,12}",
    ) {
        let line = format!("{before}{meaning}{after}");
        prop_assert!(simple_words(&line).is_err());
        let line = format!("probe {line}");
        prop_assert!(simple_words(&line).is_err());
    }
}
