//! The newest output of a command, below the line of its call. When the call ends its last lines stay; the model has the
//! output, and the user can look at all of it.

use super::calls::fit;
use super::style::Label;
use super::tail::Tail;
use super::{Ui, terminal};
use crate::approval::text::BAR;
use dunlin_chat::turn::CallView;

/// Lines that stay when the call has ended.
const LAST_LINES: usize = 3;

impl Ui {
    /// Shows the newest output of a running call below its line.
    pub fn call_output(&self, call: &CallView, tail: &Tail) {
        if self.quiet || !self.redraws || call.state.is_settled() {
            return;
        }
        let (columns, rows) = terminal::size();
        // What scrolls off the screen cannot be taken away again.
        let room = rows.saturating_sub(2);
        let lines = tail.lines();
        let shown = lines[lines.len().saturating_sub(room)..].iter();
        let output = shown.map(|line| self.output_row(line, columns)).collect();
        self.draw_call(&mut self.screen(), call, output);
    }

    /// What stays below the line of a call that has ended: the last lines of its output, and where the rest is.
    pub(super) fn last_output(&self, call: &CallView, tail: &Tail, columns: usize) -> String {
        // Where nothing can be expanded, whoever made the call prints what came of it.
        let Some(number) = call.number.filter(|_| self.one_screen) else {
            return String::new();
        };
        let all = tail.all().count();
        let mut text = String::new();
        let lines: Vec<&str> = tail.all().take(LAST_LINES).collect();
        if all > lines.len() || tail.is_cut {
            let note = fit(
                &format!("… /expand {number} shows all of it"),
                columns.saturating_sub(4),
            );
            let note = self.status_styles.paint(Label::Quiet, &note);
            text.push_str(&format!("\n  {note}"));
        }
        for line in lines.iter().rev() {
            text.push_str(&self.output_row(line, columns));
        }
        text
    }

    /// A row of output, behind the bar of foreign text: no command can draw a row of Dunlin's own.
    fn output_row(&self, line: &str, columns: usize) -> String {
        let line = format!("{BAR}{}", fit(line, columns.saturating_sub(6)));
        format!("\n  {}", self.status_styles.paint(Label::Quiet, &line))
    }
}
