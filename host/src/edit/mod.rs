//! Changes to the lines of a file, from what a tool writes down to what stands on the disk.
//!
//! An edit is decided about by its effect: the user sees the difference, and the answer is bound to the
//! hash of the file as it is and to the hash of what it will be. So the host applies edits itself. It
//! does so twice, when a call is prepared and when it happens, and the second time must come to the same.
//!
//! [`apply()`] and [`diff`] are pure; `prepare` reads the file; `replace` is the one place that
//! writes it; [`crate::undo`] can take it back.

mod apply;
mod change;
pub mod diff;
mod hash;
pub(crate) mod prepare;
pub(crate) mod replace;
pub(crate) mod syntax;
pub mod words;

use std::path::PathBuf;
use std::sync::Arc;

pub use apply::{Applied, ApplyError, LineEdit, MAX_FILE_BYTES, apply};
pub use change::TextChange;
pub use diff::Diff;
pub use hash::ContentHash;
pub use syntax::Syntax;

use crate::target::{Need, Operation, Target};

/// What an edit does to one file: what the user is shown, and what the answer is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The file, resolved.
    pub path: PathBuf,
    /// What it holds before; `None`: there is no such file.
    pub base: Option<ContentHash>,
    /// What it holds afterwards.
    pub new: ContentHash,
    /// The first of the folders that have to be made for it, if any.
    pub new_folder: Option<PathBuf>,
    /// The difference.
    pub diff: Diff,
    /// Whether the edit breaks the file.
    pub syntax: Syntax,
    /// What the tool said that it does.
    pub change: Arc<TextChange>,
}

impl FileEdit {
    /// What has to be granted for it.
    pub fn needs(&self) -> Vec<Need> {
        let writes = |path: &PathBuf| Need {
            target: Target::Path(path.clone()),
            operation: Operation::Write,
        };
        self.new_folder
            .iter()
            .chain([&self.path])
            .map(writes)
            .collect()
    }

    /// What the user is told if the edit breaks the file: `greet.py does not parse after this edit: line 3`. Escape
    /// before showing.
    pub fn broken(&self) -> Option<String> {
        let Syntax::Broken { line } = self.syntax else {
            return None;
        };
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        Some(format!(
            "{name} does not parse after this edit: line {line}"
        ))
    }

    /// Whether both add the same text to the end of the same file, whatever else it holds.
    pub(crate) fn is_same_addition(&self, other: &FileEdit) -> bool {
        let is_addition = matches!(*self.change, TextChange::Append(_));
        is_addition && self.path == other.path && self.change == other.change
    }

    /// Whether this is the same change of the same content.
    pub(crate) fn is_same(&self, other: &FileEdit) -> bool {
        self.path == other.path && self.base == other.base && self.new == other.new
    }
}
