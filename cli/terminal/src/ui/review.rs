//! Questions about more than a question holds: what is asked about is read first.
//!
//! A yes counts only if all of it was on the screen, or if it was read to its end with `v`.

use dunlin_host::display::escape;

use super::style::Label;
use super::{Typed, Ui, answer};
use crate::approval::look::{Window, height};
use crate::approval::text::{BAR, room, wrap};

/// Rows of the screen that the list leaves free: for its heading, its last row, the question, and one above.
const RESERVED_ROWS: usize = 6;

/// The fewest rows of the list that are shown, however small the window is.
const MIN_ROWS: usize = 6;

/// What is read before a question is answered.
#[derive(Debug)]
pub struct Review<'a> {
    /// What a yes is to, in rows for the window.
    pub rows: Vec<String>,
    /// Where the rows are an extract: the rows of all that `v` shows.
    pub whole: Option<Vec<String>>,
    /// The question, without `[y/n]`.
    pub question: &'a str,
}

impl Ui {
    /// Shows what is to be read and asks until there is an answer that counts. `None`: there is none.
    pub fn review(&self, review: &Review<'_>) -> Option<bool> {
        let window = self.window();
        let room = window.rows.saturating_sub(RESERVED_ROWS);
        let rows = &review.rows;
        let needed: usize = rows.iter().map(|row| height(row, window)).sum();
        let mut is_seen = needed <= room;
        let shown = match is_seen {
            true => rows.len(),
            false => rows.len().min(room.max(MIN_ROWS)).saturating_sub(1),
        };
        for row in rows.iter().take(shown) {
            self.data(row);
        }
        if !is_seen {
            let count = rows.len() - shown;
            let noun = if count == 1 { "row" } else { "rows" };
            let more = format!("  … {count} more {noun}: v shows all of it");
            self.data(&self.styles().paint(Label::Quiet, &more));
        }
        let whole = review.whole.as_ref();
        let (view, keys) = match whole.is_some() || !is_seen {
            true => (", v shows all of it", "y, n or v"),
            false => ("", "y or n"),
        };
        let prompt = format!("{} [y/n]{view} ", review.question);
        loop {
            match self.plain_line(&prompt) {
                Typed::Line(line) => match (answer::understand(&line), line.trim()) {
                    (Some(true), _) if is_seen => return Some(true),
                    (Some(true), _) => {
                        self.data("There is more than the screen shows: read it with v first.");
                    }
                    (Some(false), _) => return Some(false),
                    (None, "v" | "view") => is_seen |= self.page(whole.unwrap_or(rows)),
                    (None, _) => self.data(&format!("Type {keys}, then press Enter.")),
                },
                Typed::Interrupted | Typed::End => return None,
            }
        }
    }
}

/// One line of foreign text behind a bar, `indent` columns in, in as many rows as it takes.
pub fn barred(line: &str, indent: usize, window: Window) -> Vec<String> {
    let bar = window.styles.paint(Label::Quiet, BAR.trim_end());
    let tabs = line.replace('\t', "    ");
    let rows = wrap(&escape(&tabs), room(indent, window.columns));
    rows.into_iter()
        .map(|row| format!("{:indent$}{bar} {row}", ""))
        .collect()
}
