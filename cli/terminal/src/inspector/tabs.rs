//! What the tabs beside the tree show.

use dunlin_chat::request::editor::{Difference, EditableRequest};
use dunlin_host::display::{escape, one_line, width, width_of_char};
use dunlin_host::edit::diff::Change;
use dunlin_host::json;

use super::lines::{Line, Lines, Look};
use super::payload::Payload;
use crate::approval::text;
use crate::request::difference::{self, WordDiff};
use crate::request::paused::Paused;
use crate::request::show;
use crate::ui::calls::fit;
use crate::ui::style::Label;
use crate::ui::wrap;

/// What the right pane shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    /// The selected section.
    #[default]
    Request,
    /// The JSON that would be sent.
    Payload,
    Diff,
    /// What is known of the request beside its text.
    Metadata,
    /// The requests that the session has sent.
    Log,
}

impl Tab {
    /// All tabs in their order.
    pub const ALL: [Tab; 5] = [
        Tab::Request,
        Tab::Payload,
        Tab::Diff,
        Tab::Metadata,
        Tab::Log,
    ];

    pub fn title(self) -> &'static str {
        match self {
            Tab::Request => "request",
            Tab::Payload => "payload",
            Tab::Diff => "diff",
            Tab::Metadata => "metadata",
            Tab::Log => "log",
        }
    }

    /// The tab so many places further, round and round.
    pub fn after(self, steps: usize) -> Tab {
        let at = Tab::ALL
            .iter()
            .position(|tab| *tab == self)
            .unwrap_or_default();
        Tab::ALL[(at + steps) % Tab::ALL.len()]
    }
}

/// The JSON that would be sent, indented.
pub fn payload(request: &EditableRequest, columns: usize) -> Lines {
    let mut lines = Lines::default();
    let mut note = |note| lines.push(Line::new(Look::Label(Label::Quiet), note));
    match Payload::new(request.bytes(), columns) {
        Some(payload) => {
            note("indented here; P copies the exact bytes");
            lines.end_with(payload);
        }
        None => {
            note("not JSON");
            let text = String::from_utf8_lossy(request.bytes());
            let text = json::harmless(&text).into_owned();
            lines.push_text(text, None, columns);
        }
    }
    lines
}

/// What was edited, word by word, with the scope and age of what is kept for later requests.
pub fn differences(paused: &Paused, columns: usize) -> Lines {
    let request = paused.request();
    let mut lines = Lines::default();
    for difference in request.differences() {
        let note = show::note(request, paused.saved(), &difference);
        let number = match &difference {
            Difference::Deleted { number } | Difference::Set { number, .. } => *number,
        };
        let label = request
            .section(number)
            .map_or_else(String::new, |section| one_line(&section.label));
        match difference {
            Difference::Deleted { .. } => {
                let heading = format!("- {number} {label}  deleted{note}");
                lines.push(Line::new(
                    Look::Label(Label::Removed),
                    fit(&heading, columns),
                ));
            }
            Difference::Set {
                target, old, new, ..
            } => {
                let path = one_line(&target.path.to_string());
                let (found, what) = difference::of_values(old.as_deref(), new.as_deref());
                let heading = format!("* {number} {label}  {path}{what}{note}");
                lines.push(Line::new(Look::Label(Label::Name), fit(&heading, columns)));
                words(&found, columns, &mut lines);
            }
        }
    }
    if lines.is_empty() {
        lines.push(Line::new(Look::Label(Label::Quiet), "Nothing is edited."));
    }
    lines
}

fn words(found: &WordDiff, columns: usize, lines: &mut Lines) {
    const BAR: &str = "  │ ";
    let room = columns.saturating_sub(width(BAR));
    for line in found.lines() {
        // What belongs together is broken as one text, whatever its looks are.
        let mut text = String::new();
        let mut ends = Vec::new();
        for (change, piece) in line {
            let (look, before, after) = match change {
                Change::Kept => (Look::Plain, "", ""),
                Change::Removed => (Look::Label(Label::Removed), "[-", "-]"),
                Change::Added => (Look::Label(Label::Added), "{+", "+}"),
            };
            text.extend([before, &escape(piece), after]);
            ends.push((text.len(), look));
        }
        for place in wrap::places(&text, room, width_of_char) {
            let mut pieces = vec![(Look::Label(Label::Quiet), BAR.to_owned())];
            let mut begin = place.start;
            for (end, look) in &ends {
                let end = place.end.min(*end);
                if let Some(part) = text.get(begin..end).filter(|part| !part.is_empty()) {
                    pieces.push((*look, part.to_owned()));
                    begin = end;
                }
            }
            lines.push(Line {
                value: None,
                pieces,
            });
        }
    }
}

/// Names and values below each other.
pub fn pairs(pairs: &[(String, String)], columns: usize) -> Lines {
    let widest = pairs.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut lines = Lines::default();
    for (name, value) in pairs {
        let value = one_line(value);
        let room = columns.saturating_sub(widest + 2);
        for (index, piece) in text::wrap(&value, room).into_iter().enumerate() {
            let name = match index {
                0 => name.as_str(),
                _ => "",
            };
            lines.push(Line {
                value: None,
                pieces: vec![
                    (Look::Label(Label::Quiet), format!("{name:widest$}  ")),
                    (Look::Plain, piece),
                ],
            });
        }
    }
    lines
}
