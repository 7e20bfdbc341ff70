//! Pasted text at the prompt: more than a few rows of it stand in the line as one word, such as `[pasted 1: 30 lines]`,
//! until the line is left.
//!
//! The line editor would insert a paste as it came.

use std::ops::Range;

use dunlin_host::display::grouped;
use dunlin_terminal::ui::line_paste::{LinePaste, Pasted};
use dunlin_terminal::ui::wrap::visible;
use parking_lot::Mutex;
use rustyline::{Cmd, KeyCode, KeyEvent, Modifiers};

/// How many rows of pasted text are shown as they are.
const MAX_ROWS: usize = 6;

/// How a word for pasted text begins, and how it may end.
const BEGIN: &str = "[pasted ";
const ENDS: [&str; 2] = [" lines]", " characters]"];

/// Why a command is not run.
pub const NOT_SEEN: &str =
    "A command takes only what can be seen: Tab behind the pasted text unfolds it.";

/// The pastes of the line that is being read.
#[derive(Debug, Default)]
pub struct Pastes {
    /// The one whose end did not come yet.
    open: LinePaste,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    folded: Vec<Folded>,
    /// What is about to be inserted.
    inserts: Option<String>,
    /// Whether the word before the cursor is about to be removed.
    removes: bool,
}

#[derive(Debug)]
struct Folded {
    /// What stands in the line.
    word: String,
    text: String,
}

impl Pastes {
    /// Begins a line with this text. Of the pastes before it those are kept that it holds.
    pub fn begin(&self, line: &str) {
        self.open.end();
        let mut state = self.state.lock();
        state.inserts = None;
        state.removes = false;
        state.folded.retain(|it| line.contains(&it.word));
    }

    /// What stands in the line for a text that is put back into it: itself, or the word for it where it has more rows than a
    /// paste may show.
    pub fn put_back(&self, text: &str, columns: usize) -> String {
        let mut state = self.state.lock();
        // It may hold words for what was pasted before.
        let line = text.to_owned();
        state.fold(line, text, columns)
    }

    /// What a key does instead of its usual work. `columns`: how wide the window is.
    pub fn key(&self, key: KeyEvent, (line, at): (&str, usize), columns: usize) -> Option<Cmd> {
        let mut state = self.state.lock();
        match self.open.key(key) {
            Some(Pasted::More) => Some(Cmd::Noop),
            Some(Pasted::All(text)) => Some(Cmd::Insert(1, state.fold(text, line, columns))),
            // All of it, so that no half of a word is left. The line editor kills one character whatever number it is told.
            None if is_backspace(key) => {
                state.folded_before(line, at)?;
                state.removes = true;
                Some(Cmd::Complete)
            }
            None => None,
        }
    }

    /// Inserts this by completing the line. The line editor repeats an insertion as often as digits with Alt said, which a
    /// paste may hold.
    pub fn insert_once(&self, text: String) -> Cmd {
        self.state.lock().inserts = Some(text);
        Cmd::Complete
    }

    /// The paste whose end did not come yet, if there is one.
    pub fn open(&self) -> &LinePaste {
        &self.open
    }

    /// Whether a folded paste stands right before this place of the line.
    pub fn is_before(&self, line: &str, at: usize) -> bool {
        self.state.lock().folded_before(line, at).is_some()
    }

    /// What completes the line at this place, and where it begins: a paste that ended, or what becomes of the folded paste
    /// right before it. That is its text, or nothing where a key removes it.
    pub fn completion(&self, line: &str, at: usize) -> Option<(usize, String)> {
        let mut state = self.state.lock();
        if let Some(text) = state.inserts.take() {
            return Some((at, text));
        }
        let removes = std::mem::take(&mut state.removes);
        let folded = state.folded_before(line, at)?;
        let text = match removes {
            true => String::new(),
            false => folded.text.clone(),
        };
        Some((at - folded.word.len(), text))
    }

    /// The line with the text of each folded paste in it, and where that text stands there, in bytes.
    pub fn unfold(&self, line: &str) -> (String, Vec<Range<usize>>) {
        let state = self.state.lock();
        let mut whole = String::new();
        let mut ranges = Vec::new();
        let mut rest = line;
        // The text of a paste may hold what looks like another one, and stays as it is.
        while let Some((at, folded)) = state.first(rest) {
            whole.push_str(&rest[..at]);
            let start = whole.len();
            whole.push_str(&folded.text);
            ranges.push(start..whole.len());
            rest = &rest[at + folded.word.len()..];
        }
        (whole + rest, ranges)
    }

    /// Whether a part of a word for pasted text is left, and the text would be lost.
    pub fn is_damaged(&self, line: &str) -> bool {
        let state = self.state.lock();
        let is_missing = |it: &Folded| !line.contains(&it.word);
        if !state.folded.iter().any(is_missing) {
            return false;
        }
        let others = state
            .folded
            .iter()
            .fold(line.to_owned(), |line, it| line.replace(&it.word, ""));
        let marks = ENDS.into_iter().chain([BEGIN]);
        marks.into_iter().any(|mark| others.contains(mark.trim()))
    }
}

impl State {
    fn first(&self, line: &str) -> Option<(usize, &Folded)> {
        let places = self
            .folded
            .iter()
            .filter_map(|it| Some((line.find(&it.word)?, it)));
        places.min_by_key(|(at, _)| *at)
    }

    fn folded_before(&self, line: &str, at: usize) -> Option<&Folded> {
        let before = line.get(..at)?;
        self.folded.iter().find(|it| before.ends_with(&it.word))
    }

    /// What is inserted for this text: itself, or the word for it.
    fn fold(&mut self, text: String, line: &str, columns: usize) -> String {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let rows = text
            .lines()
            .map(|line| visible(line).div_ceil(columns.max(1)).max(1));
        if rows.sum::<usize>() <= MAX_ROWS {
            return text;
        }
        let size = match text.lines().count() {
            1 => format!("{}{}", grouped(text.chars().count() as u64), ENDS[1]),
            lines => format!("{}{}", grouped(lines as u64), ENDS[0]),
        };
        let words = (self.folded.len() + 1..).map(|number| format!("{BEGIN}{number}: {size}"));
        // What was typed means itself.
        let mut words = words.filter(|word| !line.contains(word));
        let word = words.next().unwrap_or_default();
        self.folded.push(Folded {
            word: word.clone(),
            text,
        });
        word
    }
}

/// Backspace, as terminals send it.
fn is_backspace(key: KeyEvent) -> bool {
    key == KeyEvent(KeyCode::Backspace, Modifiers::NONE) || key == KeyEvent::ctrl('H')
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: KeyEvent = KeyEvent(KeyCode::BracketedPasteStart, Modifiers::NONE);
    const END: KeyEvent = KeyEvent(KeyCode::BracketedPasteEnd, Modifiers::NONE);
    const BACKSPACE: KeyEvent = KeyEvent(KeyCode::Backspace, Modifiers::NONE);

    fn paste(pastes: &Pastes, line: &str, text: &str) -> String {
        let key = |key| pastes.key(key, (line, line.len()), 80);
        assert_eq!(key(START), Some(Cmd::Noop));
        for c in text.chars() {
            let typed = match c {
                '\n' => KeyEvent::ctrl('J'),
                '\r' => KeyEvent(KeyCode::Enter, Modifiers::NONE),
                '\t' => KeyEvent(KeyCode::Tab, Modifiers::NONE),
                c => KeyEvent(KeyCode::Char(c), Modifiers::NONE),
            };
            assert_eq!(key(typed), Some(Cmd::Noop));
        }
        match key(END) {
            Some(Cmd::Insert(1, text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_few_rows_are_inserted_as_they_are() {
        let pastes = Pastes::default();
        let few = "1\r2\r\n3\n\t4\n5\n6\n";
        assert_eq!(paste(&pastes, "", few), "1\n2\n3\n\t4\n5\n6\n");
        assert_eq!(paste(&pastes, "", ""), "");
        let wide = "a".repeat(480);
        assert_eq!(paste(&pastes, "", &wide), wide);
        assert_eq!(
            paste(&pastes, "", &"a".repeat(481)),
            "[pasted 1: 481 characters]"
        );
    }

    #[test]
    fn more_stands_in_one_word_until_the_line_is_left() {
        let pastes = Pastes::default();
        let first = "first\n".repeat(7);
        // Looks like the next one.
        let second = "[pasted 1: 7 lines]\n".repeat(8);
        assert_eq!(paste(&pastes, "", &first), "[pasted 1: 7 lines]");
        assert_eq!(paste(&pastes, "x", &second), "[pasted 2: 8 lines]");
        let line = "a [pasted 2: 8 lines] b [pasted 1: 7 lines]";
        let (whole, ranges) = pastes.unfold(line);
        assert_eq!(whole, format!("a {second} b {first}"));
        assert_eq!(&whole[ranges[0].clone()], second);
        assert_eq!(&whole[ranges[1].clone()], first);
        assert_eq!(pastes.unfold("none"), ("none".to_owned(), vec![]));
        assert_eq!(pastes.completion(line, 21), Some((2, second)));
        assert_eq!(pastes.completion(line, 20), None);
        pastes.begin("go on with [pasted 1: 7 lines]");
        assert_eq!(
            pastes.unfold(line).0,
            format!("a [pasted 2: 8 lines] b {first}")
        );
        pastes.begin("");
        assert_eq!(pastes.unfold(line).0, line);
        // Typed before: it means itself.
        assert_eq!(
            paste(&pastes, "[pasted 1: 7 lines]", &first),
            "[pasted 2: 7 lines]"
        );
    }

    #[test]
    fn no_part_of_a_word_stands_for_a_paste() {
        let pastes = Pastes::default();
        let word = paste(&pastes, "", &"a\n".repeat(9));
        let back = pastes.key(BACKSPACE, (&word, word.len()), 80);
        assert_eq!(back, Some(Cmd::Complete));
        assert_eq!(
            pastes.completion(&word, word.len()),
            Some((0, String::new()))
        );
        assert_eq!(pastes.key(BACKSPACE, (&word, 3), 80), None);
        let check = |line: &str, expected| assert_eq!(pastes.is_damaged(line), expected, "{line}");
        check(&word, false);
        check("", false);
        check("something else", false);
        check("[pasted 1: 9 ", true);
        check("ted 1: 9 lines]", true);
        check("[pasted 1: 9 lin es]", true);
    }

    #[test]
    fn keys_of_a_paste_do_nothing_else() {
        let pastes = Pastes::default();
        let key = |key| pastes.key(key, ("", 0), 80);
        assert_eq!(key(KeyEvent::ctrl('C')), None);
        assert_eq!(key(START), Some(Cmd::Noop));
        assert!(pastes.open().is_open());
        for typed in [KeyEvent::ctrl('C'), KeyEvent::ctrl('D'), BACKSPACE, START] {
            assert_eq!(key(typed), Some(Cmd::Noop), "{typed:?}");
        }
        assert_eq!(key(END), Some(Cmd::Insert(1, String::new())));
        assert_eq!(pastes.insert_once("a".to_owned()), Cmd::Complete);
        assert_eq!(pastes.completion("", 0), Some((0, "a".to_owned())));
        assert_eq!(pastes.completion("", 0), None);
        assert_eq!(key(END), None);
    }
}
