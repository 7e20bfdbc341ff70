//! A wait that is counted down on one line, which goes away when it is over.

use super::style::Label;
use super::{Ui, calls, terminal};

impl Ui {
    /// Shows how long a wait still takes. Where a line can be drawn again it is, otherwise only what `begins`
    /// the wait is printed. `text` is safe to show.
    pub fn countdown(&self, text: &str, begins: bool) {
        if self.quiet {
            return;
        }
        if self.redraws {
            let hint = if self.one_screen {
                " · Ctrl-C stops"
            } else {
                ""
            };
            // The last column stays free: writing into it wraps on some terminals.
            let columns = terminal::size().0.saturating_sub(1);
            let line = calls::fit(&format!("  {text}{hint}"), columns);
            self.draw_live(self.status_styles.paint(Label::Quiet, &line));
        } else if begins {
            self.status(&self.status_styles.paint(Label::Quiet, text));
        }
    }

    /// Takes the line of the wait away.
    pub fn end_countdown(&self) {
        self.take_live_line_away();
        self.draw_below(&mut self.screen());
    }
}
