//! The lines of `dunlin doctor`.

use dunlin_host::display::escape;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::terminal;
use dunlin_terminal::ui::wrap::{hanging, rows};

/// How wide the column of subjects is.
const SUBJECT_COLUMNS: usize = 13;

/// Where the text begins, behind mark and subject.
const TEXT_COLUMN: usize = SUBJECT_COLUMNS + 3;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Good,
    Bad,
    Note,
}

/// The lines, and whether one of them is ✗.
pub struct Report<'a> {
    pub ui: &'a Ui,
    pub bad: bool,
}

impl Report<'_> {
    /// Prints what was found out about a subject.
    pub fn line(&mut self, verdict: Verdict, subject: &str, text: &str) {
        let (mark, label) = match verdict {
            Verdict::Good => ("✓", Label::Good),
            Verdict::Bad => ("✗", Label::Bad),
            Verdict::Note => ("–", Label::Quiet),
        };
        self.bad |= verdict == Verdict::Bad;
        let mark = self.ui.styles().paint(label, mark);
        let first = format!("{mark} {subject:<SUBJECT_COLUMNS$} ");
        let rows = hanging(&first, TEXT_COLUMN, &escape(text), self.columns());
        self.ui.data_all(&rows);
    }

    /// Prints what can be done about it.
    pub fn way_out(&mut self, text: &str) {
        let room = self.columns().saturating_sub(TEXT_COLUMN);
        for row in rows(&escape(text), room) {
            let row = self.ui.styles().paint(Label::Hint, &row);
            self.ui.data(&format!("{:TEXT_COLUMN$}{row}", ""));
        }
    }

    /// As wide as the terminal, whose last column stays free; what reads a pipe wants one line of each.
    fn columns(&self) -> usize {
        match self.ui.streams().output {
            true => terminal::size().0.saturating_sub(1),
            false => usize::MAX,
        }
    }
}
