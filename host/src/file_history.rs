//! Remembers what happened to files in this session, and what was seen of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};

use crate::edit::ContentHash;

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

/// What a tool saw at a path when it last looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    /// There was nothing.
    Nothing,
    /// A file with this content.
    Content(ContentHash),
}

/// What happened to which file, by resolved path. Grows with the files that are touched.
#[derive(Debug, Default)]
pub(crate) struct HistoryBook(Mutex<HashMap<PathBuf, Entry>>);

#[derive(Debug, Default, Clone, Copy)]
struct Entry {
    happened: History,
    seen: Option<Seen>,
}

impl HistoryBook {
    /// Notes that something happened to a file, and what it holds since or was seen to hold. A file that is
    /// too large to be edited is not seen as a whole: `None`.
    pub(crate) fn mark(&self, path: &Path, what: History, content: Option<ContentHash>) {
        let mut book = self.book();
        let entry = book.entry(path.to_owned()).or_default();
        entry.happened.0 |= what.0;
        entry.seen = content.map(Seen::Content);
    }

    /// Notes that a tool looked and found nothing.
    pub(crate) fn mark_absent(&self, path: &Path) {
        self.book().entry(path.to_owned()).or_default().seen = Some(Seen::Nothing);
    }

    /// Puts back what had happened and was seen, where a change was reverted.
    pub(crate) fn reset(&self, path: &Path, happened: History, seen: Option<Seen>) {
        let mut book = self.book();
        let entry = book.entry(path.to_owned()).or_default();
        entry.happened = happened;
        entry.seen = seen;
    }

    pub(crate) fn of(&self, path: &Path) -> History {
        self.book()
            .get(path)
            .map(|entry| entry.happened)
            .unwrap_or_default()
    }

    pub(crate) fn seen(&self, path: &Path) -> Option<Seen> {
        self.book().get(path)?.seen
    }

    /// Forgets all of it.
    pub(crate) fn clear(&self) {
        self.book().clear();
    }

    fn book(&self) -> MutexGuard<'_, HashMap<PathBuf, Entry>> {
        self.0.lock()
    }
}
