//! Files that hooks change after an edit, as formatters do.
//!
//! Such a change comes of the edit, so it goes with it: it is one more edit of the call, which names the hook, and one more
//! step in the journal of undo, from what the file held before the hook to what the hook made of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Hooks;
use crate::edit::prepare::look;
use crate::edit::{ContentHash, Diff, EditKind, EntryKind, FileChange, FileEdit, Found, Syntax};
use crate::undo::{Kept, UndoError};

/// The files that edits wrote, as they are before the next hook runs.
pub(super) struct Rewritten(Vec<Written>);

struct Written {
    path: PathBuf,
    content: Vec<u8>,
}

/// A file that a hook has changed.
pub(super) struct Change {
    pub(super) path: PathBuf,
    /// What it held before the hook.
    before: Vec<u8>,
    /// What it holds now; `None`: it is gone.
    now: Option<Vec<u8>>,
}

impl Rewritten {
    /// Reads the files that still hold what these edits wrote.
    pub(super) fn of(edits: &[FileEdit]) -> Rewritten {
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

    /// What has changed since the last look.
    pub(super) fn changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        self.0.retain_mut(|written| {
            let now = match look(&written.path) {
                Ok(Some(Found::File(now))) if now == written.content => return true,
                Ok(Some(Found::File(now))) => Some(now),
                Ok(None) => None,
                // Something else has its name, or it is too large: undo says so when it is asked.
                Ok(Some(_)) | Err(_) => return true,
            };
            let is_there = now.is_some();
            let after = now.clone().unwrap_or_default();
            changes.push(Change {
                path: written.path.clone(),
                before: std::mem::replace(&mut written.content, after),
                now,
            });
            is_there
        });
        changes
    }
}

impl Change {
    /// The change as an edit of the call, made by the hook of this name.
    pub(super) fn into_edit(self, hook: String) -> FileEdit {
        let Change { path, before, now } = self;
        let after = now.as_deref().unwrap_or_default();
        let kind = EditKind::of(&before, after);
        let diff = match kind {
            EditKind::Text => Diff::between(
                &String::from_utf8_lossy(&before),
                &String::from_utf8_lossy(after),
            ),
            _ => Diff::default(),
        };
        FileEdit {
            path,
            base: Some(ContentHash::of(&before)),
            new: now.as_deref().map(ContentHash::of),
            new_folder: None,
            diff,
            kind,
            syntax: Syntax::Unremarkable,
            change: Arc::new(match now {
                Some(now) => FileChange::WriteBytes(now.into()),
                None => FileChange::Remove,
            }),
            hook: Some(hook),
        }
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
            base: Some(ContentHash::of(&change.before)),
            new: change.now.as_deref().map(ContentHash::of),
            kind: EntryKind::File,
            mode: None,
            new_folders: &[],
            content: &change.before,
        })?;
        Ok(())
    }
}
