//! Files that hooks change after an edit, as formatters do.
//!
//! Such a change comes of the edit, so it goes with it: the journal of undo gets one more step, from what the edit wrote to
//! what the hook made of it.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::Hooks;
use crate::edit::prepare::look;
use crate::edit::{ContentHash, EntryKind, FileEdit, Found};
use crate::undo::{Kept, UndoError};

/// What edits wrote, before hooks run.
pub(super) struct Rewritten(Vec<Written>);

/// A file as an edit wrote it.
struct Written {
    path: PathBuf,
    content: Vec<u8>,
}

/// A file that is different from what the edit wrote.
pub(super) struct Change {
    pub(super) path: PathBuf,
    /// What the edit wrote.
    content: Vec<u8>,
    /// What it holds now; `None`: it is gone.
    now: Option<ContentHash>,
}

impl Rewritten {
    /// Reads the files that still hold what these edits wrote.
    pub(super) fn before(edits: &[FileEdit]) -> Rewritten {
        let mut written: Vec<Written> = Vec::new();
        for edit in edits {
            let Ok(Some(Found::File(content))) = look(&edit.path) else {
                continue;
            };
            let is_of_edit = edit.new == Some(ContentHash::of(&content));
            if is_of_edit && !written.iter().any(|other| other.path == edit.path) {
                let path = edit.path.clone();
                written.push(Written { path, content });
            }
        }
        Rewritten(written)
    }

    /// Those that hold something else by now.
    pub(super) fn after(self) -> Vec<Change> {
        let changed = self.0.into_iter().filter_map(|Written { path, content }| {
            let now = match look(&path) {
                Ok(Some(Found::File(now))) => Some(ContentHash::of(&now)),
                Ok(None) => None,
                // Something else has its name, or it is too large: undo says so when it is asked.
                Ok(Some(_)) | Err(_) => return None,
            };
            let is_same = now == Some(ContentHash::of(&content));
            (!is_same).then_some(Change { path, content, now })
        });
        changed.collect()
    }
}

impl Hooks {
    /// Has undo know of a change. Blocks until the disk has it.
    pub(super) fn keep(&self, change: &Change) -> Result<(), UndoError> {
        let shared = &self.shared;
        shared.undo.keep(&Kept {
            session: &shared.session(),
            turn: shared.turn.load(Ordering::Relaxed),
            project: shared.permissions.project(),
            path: &change.path,
            base: Some(ContentHash::of(&change.content)),
            new: change.now,
            kind: EntryKind::File,
            mode: None,
            new_folders: &[],
            content: &change.content,
        })?;
        Ok(())
    }
}
