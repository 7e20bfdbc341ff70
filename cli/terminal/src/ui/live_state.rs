//! What stands at the end of the screen: see [`super::live`].

use std::thread::{self, ThreadId};

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
    /// A row for each thing that runs beside it.
    pub rows: Vec<String>,
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

    /// All of it; `typed`: the line that is being typed early.
    pub(super) fn whole(&self, typed: Option<String>) -> Option<String> {
        let mut rows: Vec<&str> = self.line.iter().map(String::as_str).collect();
        if self.reader.is_none() {
            rows.extend(self.rows.iter().map(String::as_str));
            rows.extend(typed.as_deref().filter(|_| !self.rows.is_empty()));
        }
        (!rows.is_empty()).then(|| rows.join("\n"))
    }
}
