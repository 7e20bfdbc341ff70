//! Remembers what happened to files in this session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A set of things that happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct History(u8);

impl History {
    /// A tool read from it.
    pub const READ: History = History(1);
    /// A tool changed it.
    pub const EDITED: History = History(2);
    /// The user attached it to a message.
    pub const ATTACHED: History = History(4);

    /// Whether all of `other` happened.
    pub fn contains(self, other: History) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What happened to which file, by resolved path. Grows with the files that are touched.
#[derive(Debug, Default)]
pub(crate) struct HistoryBook(Mutex<HashMap<PathBuf, History>>);

impl HistoryBook {
    pub(crate) fn mark(&self, path: &Path, what: History) {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match book.get_mut(path) {
            Some(history) => history.0 |= what.0,
            None => drop(book.insert(path.to_owned(), what)),
        }
    }

    pub(crate) fn of(&self, path: &Path) -> History {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(path)
            .copied()
            .unwrap_or_default()
    }
}
