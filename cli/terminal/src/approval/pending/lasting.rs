//! Words behind an answer that holds for longer than one call.
//!
//! Such an answer stores what the question says, whatever stands behind it. So `always cargo test` counts only where these
//! words are all that it stores, and a text for the model needs the number of one call: "never mind" is no answer.

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::display;

use super::super::entry::Entry;
use super::super::line::{self, Which};
use super::super::look::{MARGIN, Window};
use super::super::storing;
use super::PendingApprovals;

impl PendingApprovals {
    /// What the model is told with a lasting answer that has a text behind it; `None`: the text only names what is stored.
    /// `Err`: nothing is answered, and this is why.
    pub(super) fn text_of_lasting(
        &self,
        answer: Answer,
        which: &Which,
        text: String,
        window: Window,
    ) -> Result<Option<String>, String> {
        let nothing = match answer.allow {
            true => "Nothing was approved",
            false => "Nothing was answered",
        };
        let word = line::word_of(answer);
        let chosen = match which {
            Which::All => Vec::new(),
            which => self.choose(which, word)?,
        };
        let [entry] = chosen.as_slice() else {
            let why = format!("{nothing}: {word} is kept for longer than this call, so it takes");
            return Err(match answer.allow {
                true => format!("{why} numbers alone; a text goes with y or n."),
                false => format!("{why} a text with the number of one call alone."),
            });
        };
        self.check(entry, answer)?;
        if answer.scope == Scope::Always && storing::names(&entry.question, answer, &text) {
            return Ok(None);
        }
        let takes_text = !answer.allow && entry.index > 0 && !entry.runs;
        if takes_text && matches!(which, Which::Numbers(_)) {
            return Ok(Some(text));
        }
        let alone = format!("{nothing}: {word} alone ");
        let mut ways = vec![format!("{alone}{}", holds(entry, answer, &alone, window))];
        if takes_text {
            ways.push(format!(
                "{word} {} TEXT does so and tells the model TEXT",
                entry.index
            ));
        }
        if answer.scope == Scope::Always
            && let Some(need) = entry.question.needs.first()
        {
            // What the line begins with is most likely what is meant.
            let is_beginning = storing::command_in_words(need)
                .is_some_and(|words| words.starts_with(&format!("{text} ")));
            let target = match is_beginning {
                true => display::escape(&text),
                false => "TARGET".into(),
            };
            ways.push(format!(
                "{} {target} makes another rule",
                storing::by_hand(need.operation, answer.allow)
            ));
        }
        Err(format!("{}.", ways.join("; ")))
    }
}

/// What a lasting answer does, in words behind `before`. A target is named where the first row has room for it: it is foreign
/// text, and must not begin a row. Escaped.
fn holds(entry: &Entry, answer: Answer, before: &str, window: Window) -> String {
    let until = match answer.scope {
        Scope::Always => "",
        Scope::Once | Scope::Session => ", until the session ends",
    };
    let room = window.columns.saturating_sub(MARGIN.len() + 2);
    let fits = |text: &String| display::width(before) + display::width(text) <= room;
    let stores = storing::stores(&entry.question, answer).filter(fits);
    let stores = stores.unwrap_or_else(|| match answer.allow {
        true => "allows what the question says".to_owned(),
        false => "denies what the question says".to_owned(),
    });
    stores + until
}
