//! What a call has changed in files.

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::edit::FileEdit;

/// With what it broke.
#[derive(Default)]
pub(crate) struct Changes {
    pub(crate) edits: Edits,
    /// Before and after.
    pub(crate) bytes: usize,
    pub(crate) broken_files: Vec<BrokenFile>,
}

/// Known to whoever runs the call, however it ends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Edits(Arc<Mutex<Vec<FileEdit>>>);

impl Edits {
    pub(crate) fn push(&self, edit: FileEdit) {
        self.0.lock().push(edit);
    }

    pub(crate) fn take(&self) -> Vec<FileEdit> {
        std::mem::take(&mut *self.0.lock())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Forgets the last ones, which were taken back.
    pub(crate) fn truncate(&self, len: usize) {
        self.0.lock().truncate(len);
    }

    /// Whether this file was changed.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let edits = self.0.lock();
        edits.iter().any(|edit| edit.paths().any(|it| it == path))
    }
}

/// A file that does not parse any more after an edit.
pub(crate) struct BrokenFile {
    /// As the tool wrote it.
    pub(crate) name: String,
    /// Whether there was no such file before.
    pub(crate) is_new: bool,
    /// Counted from 1.
    pub(crate) line: u32,
    /// Whether the plan said so.
    pub(crate) was_known: bool,
}

impl std::fmt::Display for BrokenFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = crate::display::escape(&self.name);
        let any_more = if self.is_new { "" } else { " any more" };
        write!(f, "{name} does not parse{any_more}: line {}", self.line)
    }
}
