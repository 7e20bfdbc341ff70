//! `files.make-planned-changes`: what was shown as one question is done as a whole, or not at all.

use std::path::{Path, PathBuf};

use super::{AllowedChange, is_within_limit};
use crate::bindings::dunlin::tool::types::Error;
use crate::call::Action;
use crate::capability::context::CallContext;
use crate::capability::refusal::Refusal;
use crate::display::chain;
use crate::edit::FileChange;
use crate::edit::prepare::Names;
use crate::file_history::{History, Seen};

/// What the audit log calls a change that was reverted.
const REVERTED: &str = "reverted";

/// What is known of files before they are changed.
struct StateBefore {
    /// How many edits the call has made.
    edits: usize,
    /// How much the call has edited.
    bytes: usize,
    seen: Vec<(PathBuf, History, Option<Seen>)>,
}

impl CallContext {
    /// Makes all changes that the plan declares. All are decided about before the first happens, which then happen without
    /// giving way; where one of them fails, those before it are taken back.
    pub(in crate::capability) async fn make_planned(&mut self) -> Result<(), Refusal> {
        let planned = self.plan.actions.iter().filter_map(|action| match action {
            Action::Edit(edit) => Some((edit.path.clone(), FileChange::clone(&edit.change))),
            Action::EditLater { path, change } => Some((path.clone(), change.clone()?)),
            _ => None,
        });
        let planned: Vec<(PathBuf, FileChange)> = planned.collect();
        if planned.is_empty() {
            return Err(Error::Invalid("the plan declares no change of a file".to_owned()).into());
        }
        let mut changes: Vec<AllowedChange> = Vec::with_capacity(planned.len());
        let mut bytes = self.changes.bytes;
        for (path, change) in planned {
            let decided = self.decide_about_planned(path, &change).await;
            let decided = decided.and_then(|decided| {
                bytes += decided.prepared.bytes();
                is_within_limit(bytes).map(|()| decided)
            });
            match decided {
                Ok(decided) => changes.push(decided),
                Err(refusal) => {
                    self.not_made(&changes);
                    return Err(refusal);
                }
            }
        }
        let before = StateBefore {
            edits: self.changes.edits.len(),
            bytes: self.changes.bytes,
            seen: self.seen_of(&changes),
        };
        let mut kept = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            let made = self.make(change).and_then(|its| {
                kept.extend(its);
                self.log_made(change)
            });
            if let Err(refusal) = made {
                let (made, others) = changes.split_at(index);
                self.not_made(others);
                return Err(self.take_back(made, &kept, before, refusal));
            }
        }
        for change in changes {
            self.note_broken(change);
        }
        Ok(())
    }

    async fn decide_about_planned(
        &mut self,
        path: PathBuf,
        change: &FileChange,
    ) -> Result<AllowedChange, Refusal> {
        let permissions = &self.shared.permissions;
        let to = match change {
            FileChange::Rename { to } => Some(permissions.resolve_name(to)?),
            _ => None,
        };
        let to = to.and_then(|to| to.path().map(Path::to_owned));
        let written = path.strip_prefix(permissions.project()).unwrap_or(&path);
        let written = written.to_string_lossy().into_owned();
        let names = Names { path, to };
        self.decide_about_edit(written, &names, change).await
    }

    /// What was allowed did not happen.
    fn not_made(&mut self, changes: &[AllowedChange]) {
        for under in changes.iter().flat_map(|change| &change.under) {
            self.count_less(*under);
        }
    }

    fn seen_of(&self, changes: &[AllowedChange]) -> Vec<(PathBuf, History, Option<Seen>)> {
        let paths = changes
            .iter()
            .flat_map(|change| change.prepared.edit.paths());
        paths
            .map(|path| {
                let history = &self.shared.history;
                (path.to_owned(), history.of(path), history.seen(path))
            })
            .collect()
    }

    /// Takes back the changes that were made before one failed; `kept` is what they are kept in. What the guest is told.
    fn take_back(
        &mut self,
        changes: &[AllowedChange],
        kept: &[PathBuf],
        before: StateBefore,
        refusal: Refusal,
    ) -> Refusal {
        if let Err(error) = self.shared.undo.take_back_kept(kept) {
            let names: Vec<&str> = changes.iter().map(|change| &*change.name).collect();
            let names = names.join(", ");
            return and_also(
                refusal,
                &format!(
                    "the changes before it could not be reverted ({names}): {}",
                    chain(&error)
                ),
            );
        }
        self.changes.edits.truncate(before.edits);
        self.changes.bytes = before.bytes;
        for (path, happened, seen) in before.seen {
            self.shared.history.reset(&path, happened, seen);
        }
        for under in changes.iter().flat_map(|change| &change.under) {
            // It is as it was before; the refusal is what matters.
            let _ = self.log_change(*under, Some(REVERTED));
        }
        refusal
    }
}

/// Says something more with a refusal.
fn and_also(refusal: Refusal, more: &str) -> Refusal {
    let with = |text: String| format!("{text}; {more}");
    match refusal {
        Refusal::Guest(Error::Conflict(text)) => Error::Conflict(with(text)).into(),
        Refusal::Guest(Error::NotFound(text)) => Error::NotFound(with(text)).into(),
        Refusal::Guest(Error::WrongKind(text)) => Error::WrongKind(with(text)).into(),
        Refusal::Guest(Error::TooLarge(text)) => Error::TooLarge(with(text)).into(),
        Refusal::Guest(Error::Failed(text)) => Error::Failed(with(text)).into(),
        other => other,
    }
}
