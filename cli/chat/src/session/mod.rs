//! Sessions: conversations that outlive the program, however it ends.
//!
//! One session is one file, `sessions/ID-PROJECT.jsonl` in the data folder, 0600 and only ever appended to: a
//! JSON object per line, see [`record`]. It is made with the first message. [`reader`] makes a conversation of what
//! it finds there, whatever that is; [`summary`] reads both ends of a file only; [`writer`] is the one that is
//! open, locked against every other Dunlin.
//!
//! When things are on the disk, and what can be lost:
//!
//! | What ends | What is lost |
//! | --- | --- |
//! | Dunlin, in any way | nothing: each record is handed to the system as it happens, with one call |
//! | Dunlin, within a reply | at most 31 bytes of the line that was being written: what streams in is recorded with each line end, and whenever 32 bytes wait |
//! | the machine | what came after the end of the last turn: the file is synced (`fdatasync`) when a turn ends, beside the prompt, and when it is closed |
//!
//! A sync takes as long as the disk wants, a few milliseconds as a rule, and nobody waits for it; a record is one
//! `write` of some microseconds. A disk that takes no more is said once, and the chat goes on; what is missing
//! is added as soon as it takes something again.

pub mod export;
pub mod reader;
pub mod record;
pub mod requests;
pub mod search;
pub mod store;
pub mod summary;
pub mod writer;

pub use reader::Loaded;
pub use store::{Entry, Store, StoreError};
pub use summary::Summary;
pub use writer::Session;

/// Where the words of a title end, in characters.
const TITLE_CHARS: usize = 60;

/// The title of a conversation: the first words of its first message, on one line and safe to show.
pub fn title_of(message: &str) -> String {
    let mut title = String::new();
    let line = message.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default();
    // No more is looked at than can be in it: a message may be a pasted file.
    let start = &line[..line.floor_char_boundary(8 * TITLE_CHARS)];
    for word in dunlin_host::display::one_line(start).split(' ') {
        let room = TITLE_CHARS.saturating_sub(title.chars().count());
        if title.is_empty() {
            title = dunlin_host::display::shorten(word, TITLE_CHARS).into_owned();
        } else if word.chars().count() < room {
            title.push(' ');
            title.push_str(word);
        } else {
            title.push('…');
            break;
        }
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_first_words() {
        let check = |message: &str, expected: &str| assert_eq!(title_of(message), expected);
        check("Read the file", "Read the file");
        check("\n\n  two   spaces\nand more", "two spaces");
        check("bell\x07 and\x1b[2J", "bell\\u{7} and\\u{1b}[2J");
        check("", "");
        check(
            "What does the function that reads the configuration do when there is none?",
            "What does the function that reads the configuration do when…",
        );
        let long = title_of(&"x".repeat(100_000));
        assert_eq!(long.chars().count(), TITLE_CHARS);
    }
}
