//! A line that says how far something is: drawn again in place, and gone when it is done.

use super::calls::fit;
use super::style::Label;
use super::{Ui, terminal};

impl Ui {
    /// Shows how far it is. Where the cursor cannot be moved nothing is shown.
    pub fn progress(&self, text: &str) {
        if self.redraws && !self.quiet {
            let text = fit(text, terminal::size().0.saturating_sub(1));
            self.draw_live(self.status_styles.paint(Label::Quiet, &text));
        }
    }

    pub fn end_progress(&self) {
        self.take_live_line_away();
        self.draw_below(&mut self.screen());
    }
}
