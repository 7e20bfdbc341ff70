//! Changes of files, from what a tool writes down to what is on the disk.
//!
//! An edit is decided about by its effect: the user sees the difference, and the answer is bound to the
//! hash of the file as it is and to the hash of what it will be. So the host applies edits itself. It
//! does so twice, when a call is prepared and when it happens, and the second time must come to the same.
//!
//! [`apply()`] and [`diff`] are pure; `prepare` reads the file; `replace` is the one place that
//! writes it, and `names` the one that removes and renames it; [`crate::undo`] can take it back.

mod apply;
mod change;
pub mod diff;
mod found;
mod hash;
pub(crate) mod names;
pub(crate) mod prepare;
pub(crate) mod replace;
pub(crate) mod sibling;
pub(crate) mod syntax;
mod texts;
pub mod words;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;

pub use apply::{Applied, ApplyError, LineEdit, MAX_FILE_BYTES, apply};
pub use change::{FileChange, Phrase};
pub use diff::Diff;
pub(crate) use found::{EntryKind, Found};
pub use hash::ContentHash;
pub use syntax::Syntax;
pub use texts::{TextEdit, TextError};

use crate::target::{Need, Operation, Target};

/// What an edit does to one file: what the user is shown, and what the answer is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// The file, resolved.
    pub path: PathBuf,
    /// What it holds before; `None`: there is no such file.
    pub base: Option<ContentHash>,
    /// What it holds afterwards; `None`: there is no such file any more, or not under this name.
    pub new: Option<ContentHash>,
    /// The first of the folders that have to be made for it, if any.
    pub new_folder: Option<PathBuf>,
    /// The difference, where both contents are text.
    pub diff: Diff,
    /// What is not told by lines.
    pub kind: EditKind,
    /// Whether the edit breaks the file.
    pub syntax: Syntax,
    /// What the tool said that it does.
    pub change: Arc<FileChange>,
    /// The hook that made it after the call, by its name; `None`: the call itself.
    pub hook: Option<String>,
}

impl FileEdit {
    /// What has to be granted for it.
    pub fn needs(&self) -> Vec<Need> {
        let need = |operation| {
            move |path: &PathBuf| Need {
                target: Target::Path(path.clone()),
                operation,
            }
        };
        let writes = need(Operation::Write);
        let folder = self.new_folder.iter();
        match &self.kind {
            // Whoever may read under the new name could read under the old one.
            EditKind::Renamed(to) => [need(Operation::Read)(&self.path), writes(&self.path)]
                .into_iter()
                .chain(folder.chain([to]).map(writes))
                .collect(),
            _ => folder.chain([&self.path]).map(writes).collect(),
        }
    }

    /// How it is said.
    pub fn phrase(&self) -> Phrase {
        let phrase = self.change.phrase();
        match self.kind {
            // A tool does not say which of the two it removes.
            EditKind::Link(_) => Phrase {
                object: "symbolic link",
                ..phrase
            },
            _ => phrase,
        }
    }

    /// What it does, in words that follow "Allow TOOL to". Escape before showing.
    pub(crate) fn in_words(&self) -> String {
        let path = self.path.to_string_lossy();
        let to = match &self.kind {
            EditKind::Renamed(to) => Some(to.to_string_lossy()),
            _ => None,
        };
        self.phrase().of(&path, to.as_deref())
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

    /// Whether it changes the text of a file, or makes one: the difference says all that there is to know of it.
    pub fn is_of_text(&self) -> bool {
        self.kind == EditKind::Text && self.new.is_some()
    }

    /// The names that it is about.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let to = match &self.kind {
            EditKind::Renamed(to) => Some(to.as_path()),
            _ => None,
        };
        [self.path.as_path()].into_iter().chain(to)
    }

    /// Whether both add the same text to the end of the same file, whatever else it holds.
    pub(crate) fn is_same_addition(&self, other: &FileEdit) -> bool {
        let is_addition = matches!(*self.change, FileChange::Append(_));
        is_addition && self.path == other.path && self.change == other.change
    }

    /// Whether this is the same change of the same content.
    pub(crate) fn is_same(&self, other: &FileEdit) -> bool {
        self.path == other.path
            && self.base == other.base
            && self.new == other.new
            && self.kind.entry() == other.kind.entry()
            && self.paths().eq(other.paths())
    }
}

/// What an edit does, as far as that decides how it is shown and made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditKind {
    /// Lines: the difference shows them.
    Text,
    /// Bytes, before or afterwards, that are not text.
    Bytes {
        /// How many there are before.
        before: u64,
        /// How many there are afterwards.
        after: u64,
        /// The first of them: of those that come, or of those that go where none come.
        start: Bytes,
    },
    /// A symbolic link, and where it leads. Nothing happens to that.
    Link(PathBuf),
    /// A file that gets this name, and stays what it is.
    Renamed(PathBuf),
    /// A folder that is made, or an empty one that goes.
    Folder,
}

/// How many bytes of [`EditKind::Bytes`] are kept to be shown.
pub const MAX_SHOWN_BYTES: usize = 64 * 1024;

impl EditKind {
    pub(crate) fn entry(&self) -> EntryKind {
        match self {
            EditKind::Text | EditKind::Bytes { .. } | EditKind::Renamed(_) => EntryKind::File,
            EditKind::Link(_) => EntryKind::Link,
            EditKind::Folder => EntryKind::Folder,
        }
    }

    pub(crate) fn of(before: &[u8], after: &[u8]) -> EditKind {
        if [before, after]
            .iter()
            .all(|bytes| std::str::from_utf8(bytes).is_ok())
        {
            return EditKind::Text;
        }
        let shown = if after.is_empty() { before } else { after };
        let shown = &shown[..shown.len().min(MAX_SHOWN_BYTES)];
        EditKind::Bytes {
            before: before.len() as u64,
            after: after.len() as u64,
            start: Bytes::copy_from_slice(shown),
        }
    }
}
