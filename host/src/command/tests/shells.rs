//! Simple lines do in real shells what they were read as.

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::command::fuzz::lines::any_line;
use crate::command::fuzz::{Range, Tried};
use crate::command::{chained_commands, simple_words};

/// Lines of each kind that are tried. The bench `fuzz_commands` tries as many as there is time for.
const CASES: u32 = 400;

/// Where the lines come from: the same ones each time.
const SEED: [u8; 32] = *b"dunlin reads what the shell runs";

#[test]
fn shells_agree_on_random_lines_and_on_those_that_were_kept() {
    let range = Range::new().unwrap();
    assert!(range.shells() > 0);
    let mut tried = Tried::default();
    range
        .try_lines(SEED, CASES, &mut tried)
        .unwrap_or_else(|e| panic!("{e}"));
    // Otherwise nothing was compared.
    let least = u64::from(CASES / 20);
    let is_compared = [tried.simple, tried.chains].map(|count| count > least);
    assert_eq!(is_compared, [true; 2], "{tried:?}");
    assert_eq!(tried.lines, 3 * u64::from(CASES));
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
