//! Where the changes of a call are in the file that comes of them.

use dunlin_sdk::files::{LineEdit, TextEdit};

/// Places of one file that are looked for: the answer shows some dozens.
const MAX_PLACES: usize = 1_000;

/// New lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The first, counted from 1.
    pub first: u64,
    /// How many.
    pub lines: u64,
}

/// Those of edits of lines, which are in order.
pub fn of_lines(edits: &[LineEdit]) -> Vec<Place> {
    let (mut gone, mut come) = (0, 0);
    let place = |edit: &LineEdit| {
        let lines = edit.replacement.split_inclusive('\n').count() as u64;
        let first = edit.first + come - gone;
        gone += edit.end - edit.first;
        come += lines;
        Place { first, lines }
    };
    edits.iter().map(place).collect()
}

/// Those of texts that are replaced, by what the file held before.
pub fn of_texts(before: &str, edits: &[TextEdit]) -> Vec<Place> {
    let unified = |text: &str| text.replace("\r\n", "\n");
    let before = unified(before);
    let mut found: Vec<(usize, u64, u64)> = Vec::new();
    for edit in edits {
        let (old, new) = (unified(&edit.old), unified(&edit.new));
        let ends = |text: &str| text.matches('\n').count() as u64;
        let most = if edit.every { MAX_PLACES } else { 1 };
        let places = before.match_indices(&*old).take(most);
        found.extend(places.map(|(at, _)| (at, ends(&old), ends(&new))));
    }
    found.sort_unstable();
    let (mut line, mut counted) = (1, 0);
    let (mut gone, mut come) = (0, 0);
    let place = |(at, old, new): (usize, u64, u64)| {
        let skipped = before.get(counted..at).unwrap_or_default();
        line += skipped.matches('\n').count() as u64;
        counted = at;
        let first = line + come - gone;
        gone += old;
        come += new;
        // Both ends of it are in lines that stay in part.
        let lines = new + 1;
        Place { first, lines }
    };
    found.into_iter().map(place).collect()
}
