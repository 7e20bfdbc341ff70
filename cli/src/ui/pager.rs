//! Shows long text one screen at a time, so that nobody is taken to have read rows that scrolled past.

use super::{Typed, Ui};

/// Rows that stay free on each screen: one for the prompt, and one for the last row of the screen before.
const RESERVED_ROWS: usize = 2;

/// The fewest rows of one screen, however small the window is.
const MIN_ROWS: usize = 4;

impl Ui {
    /// Shows rows one screen at a time. Returns whether the last row was shown: the user can stop before.
    ///
    /// The rows must be safe to show and fit the width of the window.
    pub fn page(&self, rows: &[String]) -> bool {
        let mut shown = 0;
        loop {
            let height = self.window().rows.saturating_sub(RESERVED_ROWS);
            let page = rows.iter().skip(shown).take(height.max(MIN_ROWS));
            shown += page.map(|row| self.data(row)).count();
            if shown >= rows.len() {
                return true;
            }
            let prompt = format!(
                "{shown} of {} rows; Enter shows more, q stops: ",
                rows.len()
            );
            match self.plain_line(&prompt) {
                Typed::Line(line) if line.trim().eq_ignore_ascii_case("q") => return false,
                Typed::Line(_) => {}
                Typed::Interrupted | Typed::End => return false,
            }
        }
    }
}
