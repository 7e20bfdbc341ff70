//! Questions that need reading first.
//!
//! A yes counts only if all of it was on the screen, or if it was read to its end with `v`.

use dunlin_chat::tokens::counted;
use dunlin_host::display::escape;

use super::Ui;
use super::style::Label;
use super::yes_or_no::{TYPE, YesOrNoLine};
use crate::approval::look::{Window, height};
use crate::approval::text::{BAR, room, wrap};

/// Rows of the screen that the list leaves free: for its heading, its last row, the question, and one above.
const RESERVED_ROWS: usize = 6;

/// The fewest rows of the list that are shown, however small the window is.
const MIN_ROWS: usize = 6;

/// What is read before a question is answered.
pub struct Review<'a> {
    /// What a yes is to, in rows for a window.
    pub rows: &'a dyn Fn(Window) -> Vec<String>,
    /// Where the rows are an extract: the rows of all that `v` shows.
    pub whole: Option<&'a dyn Fn(Window) -> Vec<String>>,
    /// The question, without `[y/n]`.
    pub question: &'a str,
}

impl Ui {
    /// Shows what is to be read and asks until there is an answer that counts. `None`: there is none, as after Esc: nothing
    /// is agreed to, and nobody has said no.
    pub fn review(&self, review: &Review<'_>) -> Option<bool> {
        let mut window = self.window();
        let mut is_seen = self.show_extract(&(review.rows)(window), window);
        loop {
            let views = review.whole.is_some() || !is_seen;
            let view = match views {
                true => ", v shows all of it",
                false => "",
            };
            let prompt = format!("{} [y/n]{view} ", review.question);
            let said = self.read_yes_or_no(&prompt);
            let now = self.window();
            let is_same = (now.columns, now.rows) == (window.columns, window.rows);
            match said {
                // The terminal has broken the rows anew, and some may be gone.
                YesOrNoLine::Yes if !is_same => {
                    self.data("The window has changed, so here it is again.");
                    window = now;
                    is_seen = self.show_extract(&(review.rows)(window), window);
                }
                YesOrNoLine::Yes if is_seen => return Some(true),
                YesOrNoLine::Yes => {
                    self.data("There is more than the screen shows: read it with v first.");
                }
                YesOrNoLine::No => return Some(false),
                YesOrNoLine::Left | YesOrNoLine::Interrupted => return None,
                YesOrNoLine::Other(line, _) if matches!(line.trim(), "v" | "view") => {
                    window = now;
                    is_seen |= self.page(&review.whole.unwrap_or(review.rows)(window));
                }
                YesOrNoLine::Other(_, TYPE) if views => {
                    self.data("Type y, n or v, then press Enter.");
                }
                YesOrNoLine::Other(_, sentence) => self.data(sentence),
            }
        }
    }

    /// Shows as many rows as fit above a question. Whether that was all of them.
    fn show_extract(&self, rows: &[String], window: Window) -> bool {
        let room = window.rows.saturating_sub(RESERVED_ROWS);
        let needed: usize = rows.iter().map(|row| height(row, window)).sum();
        let is_all = needed <= room;
        let shown = match is_all {
            true => rows.len(),
            false => rows.len().min(room.max(MIN_ROWS)).saturating_sub(1),
        };
        for row in rows.iter().take(shown) {
            self.data(row);
        }
        if !is_all {
            let more = counted(rows.len() - shown, "more row", "more rows");
            let more = format!("  … {more}: v shows all of it");
            self.data(&self.styles().paint(Label::Quiet, &more));
        }
        is_all
    }
}

/// One line of foreign text behind a bar, `indent` columns in, in as many rows as it takes.
pub fn quoted(line: &str, indent: usize, window: Window) -> Vec<String> {
    let bar = window.styles.paint(Label::Quiet, BAR.trim_end());
    let tabs = line.replace('\t', "    ");
    let rows = wrap(&escape(&tabs), room(indent, window.columns));
    rows.into_iter()
        .map(|row| format!("{:indent$}{bar} {row}", ""))
        .collect()
}
