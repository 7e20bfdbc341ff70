//! Differences word by word: what goes in `[-…-]`, what comes in `{+…+}`.

use dunlin_host::display::escape_multiline;
use dunlin_host::edit::diff::{Change, Diff};
use dunlin_host::edit::words::{Words, between};
use dunlin_host::json;

use crate::ui::style::{Label, Styles};

/// How many words that stay are shown beside a change.
const CONTEXT_WORDS: usize = 8;

/// How many characters of a line around a change are shown.
const MAX_CONTEXT_CHARS: usize = 160;

/// Stands for a line end that was added or removed.
const LINE_END: char = '↵';

/// A piece of a line.
pub type Piece = (Change, String);

/// A difference in lines. Texts are foreign.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct WordDiff(Vec<Vec<Piece>>);

impl WordDiff {
    /// One row for each line. Escaped.
    pub fn rows(&self, styles: Styles) -> Vec<String> {
        self.0.iter().map(|line| shown(line, styles)).collect()
    }

    /// The lines in pieces, not escaped.
    pub fn lines(&self) -> &[Vec<Piece>] {
        &self.0
    }

    /// Whether the texts are the same.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The difference between two bodies. Of JSON the values are compared, on lines of their own.
pub fn of_bodies(old: &str, new: &str) -> WordDiff {
    let (Some(old), Some(new)) = (json::indented(old), json::indented(new)) else {
        return of_texts(old, new);
    };
    let mut lines = Vec::new();
    for hunk in Diff::between(&old, &new).hunks {
        lines.push(vec![(Change::Kept, hunk.header())]);
        let (mut gone, mut come) = (String::new(), String::new());
        for line in &hunk.lines {
            let text = match line.change {
                Change::Removed => &mut gone,
                Change::Added => &mut come,
                Change::Kept => {
                    lines
                        .extend(of_texts(&std::mem::take(&mut gone), &std::mem::take(&mut come)).0);
                    let text = dunlin_host::display::shorten(&line.text, MAX_CONTEXT_CHARS);
                    lines.push(vec![(Change::Kept, text.into_owned())]);
                    continue;
                }
            };
            text.push_str(&line.text);
            text.push('\n');
        }
        lines.extend(of_texts(&gone, &come).0);
    }
    WordDiff(lines)
}

/// The difference between two values of a request, as JSON, and what else there is to say of it: an option that was added
/// or removed may have no text. A string is compared by its text.
pub fn of_values(old: Option<&str>, new: Option<&str>) -> (WordDiff, &'static str) {
    let text = |json: Option<&str>| serde_json::from_str::<String>(json?).ok();
    let shown = |json: Option<&str>| text(json).or(json.map(str::to_owned)).unwrap_or_default();
    let note = match (old, new) {
        (None, Some(_)) => "  added",
        (Some(_), None) => "  removed",
        _ => "",
    };
    // An empty string is told from nothing, and a number from a string of the same digits.
    let words = match shown(old) == shown(new) && old != new {
        true => of_texts(old.unwrap_or_default(), new.unwrap_or_default()),
        false => of_texts(&shown(old), &shown(new)),
    };
    (words, note)
}

/// The difference between two texts. Of what stays the words beside a change are shown.
pub fn of_texts(old: &str, new: &str) -> WordDiff {
    let words = between(old, new);
    if words.iter().all(|words| words.change == Change::Kept) {
        return WordDiff::default();
    }
    let last = words.len() - 1;
    let mut lines = vec![Vec::new()];
    for (index, Words { change, text }) in words.into_iter().enumerate() {
        let text = match change {
            Change::Kept => context(&text, index == 0, index == last),
            _ => text,
        };
        let line_ends = text.matches('\n').count();
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                lines.push(Vec::new());
            }
            // A line end that came or went is to be seen.
            let ends_line = change != Change::Kept && number < line_ends;
            let line = match ends_line {
                true => format!("{line}{LINE_END}"),
                false => line.to_owned(),
            };
            if let Some(last) = lines.last_mut().filter(|_| !line.is_empty()) {
                last.push((change, line));
            }
        }
    }
    WordDiff(lines)
}

/// The words of a text that are next to a change: at its end, unless it `ends` the whole, and at its beginning, unless
/// it `begins` it.
fn context(text: &str, begins: bool, ends: bool) -> String {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let (head, tail) = match (begins, ends) {
        (true, true) => (0, 0),
        (true, false) => (0, CONTEXT_WORDS),
        (false, true) => (CONTEXT_WORDS, 0),
        (false, false) => (CONTEXT_WORDS, CONTEXT_WORDS),
    };
    if words.len() <= head + tail + 1 {
        return text.to_owned();
    }
    let (before, rest) = words.split_at(head);
    let (_, after) = rest.split_at(rest.len() - tail);
    let gap = match (begins, ends) {
        (true, _) => "… ",
        (false, true) => "…",
        (false, false) => "… … ",
    };
    format!("{}{gap}{}", before.concat(), after.concat())
}

fn shown(line: &[Piece], styles: Styles) -> String {
    let piece = |(change, text): &Piece| {
        let text = escape_multiline(text).replace('\t', "    ");
        match change {
            Change::Kept => text,
            Change::Removed => styles.paint(Label::Removed, &format!("[-{text}-]")),
            Change::Added => styles.paint(Label::Added, &format!("{{+{text}+}}")),
        }
    };
    line.iter().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(diff: &WordDiff) -> String {
        diff.rows(Styles::plain()).join("\n")
    }

    #[test]
    fn changes_stand_among_the_words_beside_them() {
        assert!(of_texts("the same", "the same").is_empty());
        for (old, new, expected) in [
            (
                "read the file",
                "read a file\nnow",
                "read [-the-]{+a+} file{+↵+}\n{+now+}",
            ),
            ("a", "a\n", "a{+↵+}\n"),
            ("a\nb", "a\n\nb", "a[-↵-]\n{+↵+}\n{+↵+}\nb"),
            ("a ", "a", "a[- -]"),
            ("\ta", "\tb", "    [-a-]{+b+}"),
        ] {
            assert_eq!(text(&of_texts(old, new)), expected, "{old:?}");
        }
        let many = |word: &str| format!("{}{word} {}", "before ".repeat(40), "after ".repeat(40));
        let diff = text(&of_texts(&many("one"), &many("two")));
        assert_eq!(diff.matches("before").count(), CONTEXT_WORDS, "{diff}");
        assert!(
            diff.starts_with("… before") && diff.contains("[-one-]{+two+}"),
            "{diff}"
        );
        assert_eq!(
            text(&of_texts("a\u{1b}[2J b", "a\u{1b}[2J c")),
            "a\\u{1b}[2J [-b-]{+c+}"
        );
    }

    #[test]
    fn bodies_are_compared_value_by_value() {
        let old = r#"{"model":"m","messages":[{"role":"user","content":"read the file slowly"}]}"#;
        let new = r#"{"model":"m","messages":[{"role":"user","content":"read the page slowly"}],"seed":1}"#;
        let diff = text(&of_bodies(old, new));
        assert!(diff.contains("the [-file-]{+page+} slowly"), "{diff}");
        assert!(diff.contains("\"seed\": 1+}"), "{diff}");
        assert!(!diff.contains("[-\"model\""), "{diff}");
        assert_eq!(
            text(&of_bodies("not JSON", "not json")),
            "not [-JSON-]{+json+}"
        );
    }

    #[test]
    fn what_came_or_went_is_told_from_what_is_empty() {
        let check = |old: Option<&str>, new: Option<&str>, expected: &str| {
            let (words, note) = of_values(old, new);
            assert_eq!(format!("{}{note}", text(&words)), expected);
        };
        check(None, Some("\"\""), "{+\"\"+}  added");
        check(Some("\"\""), None, "[-\"\"-]  removed");
        check(Some("\"a\""), Some("\"\""), "[-a-]");
        check(None, Some("7"), "{+7+}  added");
        check(Some("7"), Some("\"7\""), "[-7-]{+\"7\"+}");
        check(Some("{\"a\":1}"), Some("null"), "[-{\"a\":1}-]{+null+}");
    }
}
