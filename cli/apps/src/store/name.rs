//! Titles and names of apps.

use std::cell::RefCell;

use html5ever::buffer_queue::BufferQueue;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};

/// Characters of the longest title, and of the longest name without a number.
const MAX_TITLE_CHARS: usize = 80;
const MAX_NAME_CHARS: usize = 40;

/// The name of an app whose title has no letter that a name can have.
const NAMELESS: &str = "app";

/// Whether an app can have this name: what follows from a title. It is the name of a folder, and typed.
pub fn is_name(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts = name.bytes().next().is_some_and(|byte| byte != b'-');
    starts && name.len() <= MAX_NAME_CHARS + 5 && name.bytes().all(is_known)
}

/// The name for an app with this title; the second one of a name gets a number.
pub(super) fn name_of(title: &str, number: u32) -> String {
    let mut name = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            // Only between others.
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
        if name.len() == MAX_NAME_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    let name = if name.is_empty() { NAMELESS } else { name };
    match number {
        1 => name.to_owned(),
        number => format!("{name}-{number}"),
    }
}

/// A title in one line: without control characters, with single spaces, and not too long.
pub(super) fn tidy(title: &str) -> String {
    let words = title.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let title = words.join(" ");
    match title.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", title.get(..end).unwrap_or_default().trim_end()),
        None => title,
    }
}

/// What a page says in its `<title>`; `None` where it says nothing.
pub fn title_of(html: &str) -> Option<String> {
    let tokenizer = Tokenizer::new(TitleSink::default(), Default::default());
    let input = BufferQueue::default();
    input.push_back(html.into());
    // It stops where something was found.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let found = tokenizer.sink.0.into_inner();
    let title = tidy(&found.title);
    (found.is_complete && !title.is_empty()).then_some(title)
}

/// Collects the text of the first title.
#[derive(Default)]
struct TitleSink(RefCell<Found>);

#[derive(Default)]
struct Found {
    title: String,
    is_open: bool,
    is_complete: bool,
}

impl TokenSink for TitleSink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut found = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) if found.is_open => found.title.push_str(&text),
            Token::TagToken(tag) if tag.kind == TagKind::EndTag && found.is_open => {
                found.is_open = false;
                found.is_complete = true;
            }
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => match &*tag.name {
                "title" if !found.is_complete => {
                    found.is_open = true;
                    return TokenSinkResult::RawData(RawKind::Rcdata);
                }
                // What looks like a tag in them is none.
                "textarea" => return TokenSinkResult::RawData(RawKind::Rcdata),
                "style" => return TokenSinkResult::RawData(RawKind::Rawtext),
                "script" => {
                    return TokenSinkResult::RawData(RawKind::ScriptData);
                }
                _ => {}
            },
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_titles() {
        for (title, number, name) in [
            ("Tide table", 1, "tide-table"),
            ("Tide table", 2, "tide-table-2"),
            ("  A/B: «test» ", 1, "a-b-test"),
            ("../../etc", 1, "etc"),
            ("日本語", 1, "app"),
            ("", 3, "app-3"),
            ("-", 1, "app"),
            (
                "a title that has more letters than a name needs",
                1,
                "a-title-that-has-more-letters-than-a-nam",
            ),
        ] {
            assert_eq!(name_of(title, number), name, "{title}");
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "-a",
            "..",
            "a/b",
            "A",
            "a b",
            ".new-x",
            "é",
            &"a".repeat(46),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn titles_are_found_in_pages() {
        for (html, title) in [
            ("<title>Tide table</title>", Some("Tide table")),
            (
                "<HTML><Title lang=en>\n A &amp;\tB\n</TITLE>",
                Some("A & B"),
            ),
            ("<titles>x</titles><title>y</title>", Some("y")),
            ("<title>&amp;lt;</title>", Some("&lt;")),
            ("<title>İ x</title>", Some("İ x")),
            ("<title>\u{1b}[2J</title>", Some("[2J")),
            ("<title>&auml; &#x41;</title>", Some("ä A")),
            (
                "<!-- <title>a</title> --><style><title>b</title></style><title>c</title>",
                Some("c"),
            ),
            ("<title>a <b>b</b></title>", Some("a <b>b</b>")),
            ("<title>a</title><title>b</title>", Some("a")),
            ("<title> </title>", None),
            ("<title>open", None),
            ("<title", None),
            ("<p>none</p>", None),
        ] {
            assert_eq!(title_of(html).as_deref(), title, "{html}");
        }
        assert_eq!(tidy(&"é".repeat(100)), format!("{}…", "é".repeat(80)));
    }
}
