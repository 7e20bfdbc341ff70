//! What differs between two texts, word by word.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::diff::Change;

/// How long the smallest difference is searched. After that a larger one will do.
const SEARCH_TIME: Duration = Duration::from_millis(200);

/// Some words in a row of which the same became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// What became of them.
    pub change: Change,
    /// The words with the white space between them.
    pub text: String,
}

/// The words of both texts in order. Those that stay are there once.
pub fn between(old: &str, new: &str) -> Vec<Words> {
    let diff = TextDiff::configure()
        .timeout(SEARCH_TIME)
        .diff_words(old, new);
    let mut all: Vec<Words> = Vec::new();
    for change in diff.iter_all_changes() {
        let text = change.value();
        let change = match change.tag() {
            ChangeTag::Equal => Change::Kept,
            ChangeTag::Delete => Change::Removed,
            ChangeTag::Insert => Change::Added,
        };
        match all.last_mut().filter(|last| last.change == change) {
            Some(last) => last.text.push_str(text),
            None => all.push(Words {
                change,
                text: text.to_owned(),
            }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_and_go() {
        let words = between("read the  file\nslowly", "read a  file\nslowly now");
        let words: Vec<(char, &str)> = words
            .iter()
            .map(|words| (words.change.mark(), words.text.as_str()))
            .collect();
        assert_eq!(
            words,
            [
                (' ', "read "),
                ('-', "the"),
                ('+', "a"),
                (' ', "  file\nslowly"),
                ('+', " now")
            ]
        );
        assert_eq!(between("", ""), []);
    }
}
