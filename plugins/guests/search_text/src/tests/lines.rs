use proptest::prelude::*;

use crate::lines::{after, before, is_binary, search};
use crate::pattern::Pattern;

/// The lines with a match: number, text, and what matched.
fn found(pattern: &str, text: &str) -> Vec<(u64, String, String)> {
    let mut pattern = Pattern::new(pattern, false, false).unwrap();
    let mut lines = Vec::new();
    let is_whole = search(&mut pattern, text.as_bytes(), &|| false, |found| {
        let part = |range: std::ops::Range<usize>| text[range].to_owned();
        lines.push((found.number, part(found.line), part(found.found)));
        true
    });
    assert!(is_whole);
    lines
}

fn numbers(pattern: &str, text: &str) -> Vec<u64> {
    found(pattern, text)
        .into_iter()
        .map(|(number, ..)| number)
        .collect()
}

#[test]
fn each_line_counts_once() {
    assert_eq!(
        found("b+", "abb\nc\nb b\n\nxb"),
        [
            (1, "abb".to_owned(), "bb".to_owned()),
            (3, "b b".to_owned(), "b".to_owned()),
            (5, "xb".to_owned(), "b".to_owned()),
        ]
    );
    // What matches nothing at all matches each line, and no line behind the last.
    assert_eq!(numbers("x*", "a\n\nb\n"), [1, 2, 3]);
    assert_eq!(numbers("^$", "a\n\nb\n"), [2]);
    assert_eq!(numbers("$", "a\r\nb"), [1, 2]);
    assert_eq!(numbers("a", ""), [0; 0]);
    assert_eq!(numbers("^", ""), [0; 0]);
}

#[test]
fn large_texts_are_searched_in_pieces() {
    let line = format!("{}\n", "x".repeat(99));
    let mut text = line.repeat(5_000);
    text.push_str("needle\n");
    text.push_str(&line.repeat(5_000));
    text.push_str("needle");
    assert_eq!(numbers("needle", &text), [5_001, 10_002]);
    assert_eq!(numbers("^", &text).len(), 10_002);
    // It ends when there is no time left.
    let mut pattern = Pattern::new("needle", false, false).unwrap();
    let mut count = 0;
    let is_whole = search(&mut pattern, text.as_bytes(), &|| true, |_| {
        count += 1;
        true
    });
    assert!(!is_whole && count == 0);
}

#[test]
fn lines_around_are_found() {
    let text = b"a\nb\n\nd\ne";
    let named = |ranges: Vec<std::ops::Range<usize>>| -> Vec<String> {
        let part = |range| String::from_utf8_lossy(&text[range]).into_owned();
        ranges.into_iter().map(part).collect()
    };
    assert_eq!(named(before(text, &(5..6), 2)), ["b", ""]);
    assert_eq!(named(before(text, &(5..6), 9)), ["a", "b", ""]);
    assert_eq!(named(after(text, &(2..3), 2)), ["", "d"]);
    assert_eq!(named(after(text, &(2..3), 9)), ["", "d", "e"]);
    assert!(before(text, &(0..1), 2).is_empty());
    assert!(after(text, &(7..8), 2).is_empty());
    assert!(after(b"a\n", &(0..1), 2).is_empty());
}

#[test]
fn what_is_not_text_is_told_by_its_beginning() {
    assert!(is_binary(b"a\0b"));
    assert!(!is_binary(b"a\xff"));
    assert!(!is_binary(b""));
}

proptest! {
    /// The same as each line for itself.
    #[test]
    fn lines_are_those_that_match_alone(
        pattern in prop::sample::select(vec!["a", "ab|b", "^a", "b$", "a*", r"\s+a", "[^b]", "a.b", r"\Wb?", "^$", "$"]),
        text in "[ab ,\n]{0,30}",
    ) {
        let mut alone = Pattern::new(pattern, false, false).unwrap();
        let lines = text.split_terminator('\n').zip(1..);
        let expected: Vec<u64> = lines
            .filter(|(line, _)| alone.find(line.as_bytes(), 0..line.len()).is_some())
            .map(|(_, number)| number)
            .collect();
        prop_assert_eq!(numbers(pattern, &text), expected);
    }
}
