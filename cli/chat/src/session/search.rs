//! Finds what was said.

use serde::Serialize;

use super::reader::Loaded;
use crate::message::Role;
use dunlin_host::display::one_line;

/// How much stands on either side of what was found, in characters.
const AROUND_CHARS: usize = 40;

/// How many places of one conversation are shown.
pub const MAX_PLACES: usize = 3;

/// A place at which the text stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Who said it: `you`, `model` or the name of a tool.
    pub who: String,
    /// The text with a little around it: one line, escaped.
    pub excerpt: String,
}

/// The places at which `text` was said, by anybody. Large and small letters are the same.
pub fn places(loaded: &Loaded, text: &str) -> Vec<Place> {
    let wanted = text.to_lowercase();
    let found = loaded.messages.iter().filter_map(|message| {
        let who = match message.role {
            Role::User => "you",
            Role::Assistant => "model",
            Role::System => "instructions",
            Role::Tool => message.name.as_deref().unwrap_or("tool"),
        };
        let excerpt = excerpt(&message.content, &wanted)?;
        Some(Place {
            who: who.to_owned(),
            excerpt,
        })
    });
    found.collect()
}

/// What stands around the first place; `None`: there is none. `wanted` has small letters.
fn excerpt(content: &str, wanted: &str) -> Option<String> {
    let lower = content.to_lowercase();
    let at = lower.find(wanted)?;
    // Small letters may be longer or shorter: places are counted in characters, which is as good as it gets.
    let before = lower.get(..at)?.chars().count();
    let start = before.saturating_sub(AROUND_CHARS);
    let length = (before - start) + wanted.chars().count() + AROUND_CHARS;
    let mut rest = content.chars().skip(start);
    let mut shown: String = rest.by_ref().take(length).collect();
    if rest.next().is_some() {
        shown.push('…');
    }
    if start > 0 {
        shown.insert(0, '…');
    }
    // Line ends are nothing to look at here.
    Some(one_line(&shown.replace(['\n', '\t'], " ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[test]
    fn what_was_said_is_found() {
        let loaded = Loaded {
            messages: vec![
                Message::text(Role::User, "Where do\nSandpipers nest?"),
                Message::text(Role::Assistant, format!("{} sandpiper", "x".repeat(100))),
                Message::text(Role::Tool, "nothing"),
            ],
            ..Loaded::default()
        };
        let check = |text: &str, expected: &[(&str, &str)]| {
            let found = places(&loaded, text);
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|place| (place.who.as_str(), place.excerpt.as_str()))
                .collect();
            assert_eq!(found, expected, "{text}");
        };
        let long = format!("…{} sandpiper", "x".repeat(AROUND_CHARS - 1));
        check(
            "sandPIPER",
            &[("you", "Where do Sandpipers nest?"), ("model", &long)],
        );
        check("nothing", &[("tool", "nothing")]);
        check("else", &[]);
    }

    #[test]
    fn odd_letters_are_no_trouble() {
        assert!(excerpt("日本語", "語").is_some_and(|found| found.contains("語")));
        for content in ["İstanbul ẞ", "ﬀ", "\u{1b}[2J", "日本語"] {
            for wanted in ["i", "ß", "f", "語", "\u{307}"] {
                if let Some(found) = excerpt(content, wanted) {
                    assert!(!found.is_empty(), "{content} {wanted}");
                }
            }
        }
    }
}
