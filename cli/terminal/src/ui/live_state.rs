//! What stands at the end of the screen: see [`super::live`].

use std::thread::{self, ThreadId};

use super::input_row::Typing;
use super::running_call::RunningCall;
use super::sink::Sink;

/// How many lines are held while somebody reads one.
const MAX_HELD: usize = 200;

/// What stands at the end of the screen, and who has it.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// As it is on the screen.
    pub drawn: Option<String>,
    /// The line of what goes on, with what belongs to it.
    pub line: Option<String>,
    /// The call that goes on, if that is what the line is about.
    pub call: Option<RunningCall>,
    /// A row for each thing that runs beside it.
    pub rows: Vec<String>,
    /// Lines of status that are printed when the line of the reply has ended.
    pub interjected: Vec<String>,
    /// What the user types meanwhile.
    pub typing: Typing,
    /// How large the window was when it was drawn below a line of the reply that goes on.
    pub below: Option<(usize, usize)>,
    /// Who reads a line.
    pub reader: Option<ThreadId>,
    /// What was printed meanwhile.
    pub held: Vec<(Sink, String)>,
}

impl Live {
    /// Whether another thread reads a line.
    pub(super) fn is_others(&self) -> bool {
        self.reader.is_some_and(|it| it != thread::current().id())
    }

    /// Prints this once the line that is being read has ended. Of very much, the oldest is dropped.
    pub(super) fn hold(&mut self, sink: Sink, text: String) {
        if self.held.len() == MAX_HELD {
            self.held.remove(0);
        }
        self.held.push((sink, text));
    }

    /// All of it but what is typed.
    pub(super) fn rows(&self) -> Vec<&str> {
        let rows: &[String] = match self.reader {
            Some(_) => &[],
            None => &self.rows,
        };
        self.line.iter().chain(rows).map(String::as_str).collect()
    }
}

/// Text with what is drawn below it, which a terminal shows at once if it can (synchronised output).
pub(super) fn in_one_piece(text: &str, below: &str) -> String {
    match below.is_empty() {
        true => text.to_owned(),
        false => format!("\x1b[?2026h{text}{below}\x1b[?2026l"),
    }
}
