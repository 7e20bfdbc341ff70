//! Takes back the edits of a turn.
//!
//! Before a file is edited, what it held is kept in a file of its own, with the hashes of both sides. So a
//! turn can be taken back after a restart, and its files are only touched where they still hold what Dunlin
//! wrote: a later change of somebody else is never lost. A turn is taken back as a whole or not at all.
//!
//! An edit that was kept and never happened, because the program was killed in between, is recognised by
//! the file still holding what it held.

mod journal;

use std::io;
use std::path::{Path, PathBuf};

pub(crate) use journal::{Journal, Kept};

use crate::AuditError;
use crate::display::shown;
use crate::edit::names::{make_folder, put_link, remove, remove_folder, remove_link};
use crate::edit::prepare::{PrepareError, look};
use crate::edit::replace::{ReplaceError, restore};
use crate::edit::{ContentHash, Found};
use journal::Entry;

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The files, in the order of their first edit.
    pub files: Vec<(PathBuf, Fate)>,
}

/// What became of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It holds again what it held before the turn.
    Restored,
    /// The turn had created it.
    Removed,
    /// Somebody had taken the edit back already.
    WasSo,
    /// The turn had created the folder, and there is something in it that the turn did not put there.
    NotEmpty,
}

/// Why nothing was taken back, or an edit could not be kept.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UndoError {
    /// Files that do not hold any more what Dunlin wrote.
    #[error("nothing was taken back: {} changed since Dunlin edited {}", names(.paths), them(.paths))]
    Changed {
        /// Which.
        paths: Vec<PathBuf>,
    },
    /// One of the files could not be written; those before it were put back.
    #[error("nothing was taken back: {path} cannot be restored", path = shown(.path))]
    Restore {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A turn that edits without end.
    #[error(
        "this turn has edited more than can be taken back ({} files or {} MiB); continue in a new turn",
        journal::MAX_ENTRIES,
        journal::MAX_BYTES / (1024 * 1024)
    )]
    Full,
    /// The kept file is not what it should be.
    #[error("{path} is damaged; remove it to take back what lies before", path = .path.display())]
    Damaged {
        /// Which.
        path: PathBuf,
    },
    /// It was done, and cannot be written down.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The folder, or a file in it, cannot be used.
    #[error("cannot use {path}", path = .path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// One name of the turn, and what is to be done.
struct Step {
    path: PathBuf,
    /// What had it before the turn.
    before: Option<Found>,
    /// What has it now; `None`: nothing.
    now: Option<Found>,
    /// The permission bits of a file that the turn removed.
    mode: Option<u32>,
    folders: Vec<PathBuf>,
}

impl Journal {
    /// Takes back the last turn that edited files in this project. `None`: there is none that is kept.
    ///
    /// Blocks until the disk has it.
    pub(crate) fn undo_last(&self, project: &Path) -> Result<Option<Undone>, UndoError> {
        let _lock = self.lock()?;
        let entries = self.last_turn(project)?;
        if entries.is_empty() {
            return Ok(None);
        }
        let steps = steps(&entries)?;
        let mut done: Vec<(&Step, Vec<PathBuf>)> = Vec::new();
        // The last first: what was made in a folder goes before the folder.
        for step in steps.iter().rev() {
            match step.take_back() {
                Ok(made) => done.push((step, made)),
                Err(source) => {
                    for (step, made) in done.iter().rev() {
                        step.put_back(made);
                    }
                    return Err(UndoError::Restore {
                        path: step.path.clone(),
                        source: Box::new(source),
                    });
                }
            }
        }
        for entry in &entries {
            self.forget(&entry.file);
        }
        let fate = |step: &Step| match &step.before {
            _ if step.is_so() => Fate::WasSo,
            Some(_) => Fate::Restored,
            None if step.stays() => Fate::NotEmpty,
            None => Fate::Removed,
        };
        Ok(Some(Undone {
            files: steps
                .iter()
                .map(|step| (step.path.clone(), fate(step)))
                .collect(),
        }))
    }
}

/// What has to be done for the edits of a turn, if all of it can be done.
fn steps(entries: &[Entry]) -> Result<Vec<Step>, UndoError> {
    let mut chains: Vec<(&Path, Vec<&Entry>)> = Vec::new();
    for entry in entries {
        match chains.iter_mut().find(|(path, _)| *path == entry.path) {
            Some((_, chain)) => chain.push(entry),
            None => chains.push((&entry.path, vec![entry])),
        }
    }
    let mut steps = Vec::new();
    let mut changed = Vec::new();
    for (path, chain) in chains {
        let now = match look(path) {
            Ok(now) => now,
            // A folder in its place, or something too large: not what was written.
            Err(PrepareError::WrongKind { .. } | PrepareError::Apply { .. }) => {
                changed.push(path.to_owned());
                continue;
            }
            Err(error) => {
                return Err(UndoError::Restore {
                    path: path.to_owned(),
                    source: Box::new(error),
                });
            }
        };
        let state = now.as_ref().map(|now| (now.kind(), now.hash()));
        let [before, _] = chain[0].states();
        let unbroken = chain
            .windows(2)
            .all(|pair| pair[0].states()[1] == pair[1].states()[0]);
        let written = chain.iter().any(|entry| entry.states()[1] == state);
        if state != before && !(unbroken && written) {
            changed.push(path.to_owned());
            continue;
        }
        steps.push(Step {
            path: path.to_owned(),
            before: match before {
                Some((kind, _)) => Some(Found::of(kind, chain[0].content()?)),
                None => None,
            },
            now,
            mode: chain.iter().find_map(|entry| entry.mode),
            folders: chain[0].new_folders.clone(),
        });
    }
    if changed.is_empty() {
        Ok(steps)
    } else {
        Err(UndoError::Changed { paths: changed })
    }
}

impl Step {
    /// Whether the name has already what it had before the turn.
    fn is_so(&self) -> bool {
        self.now == self.before
    }

    /// Whether a folder that the turn had made is still there.
    fn stays(&self) -> bool {
        let now = self.now.as_ref();
        now == Some(&Found::Folder) && std::fs::symlink_metadata(&self.path).is_ok()
    }

    /// Takes back what the turn did. Returns the folders that had to be made for it, outermost first.
    fn take_back(&self) -> Result<Vec<PathBuf>, ReplaceError> {
        turn_into(
            &self.path,
            self.now.as_ref(),
            self.before.as_ref(),
            self.mode,
            &self.folders,
        )
    }

    /// Undoes [`Step::take_back`], which made these folders. Where that fails somebody changed the file in this moment: it
    /// is theirs.
    fn put_back(&self, made: &[PathBuf]) {
        let (before, now) = (self.before.as_ref(), self.now.as_ref());
        let _ = turn_into(&self.path, before, now, None, made);
    }
}

/// Makes one thing of another. `folders` go with what is removed, as far as they are empty; the value is those that were made.
fn turn_into(
    path: &Path,
    from: Option<&Found>,
    to: Option<&Found>,
    mode: Option<u32>,
    folders: &[PathBuf],
) -> Result<Vec<PathBuf>, ReplaceError> {
    if from == to {
        return Ok(Vec::new());
    }
    // One file takes the place of another in one step.
    let replaced = match (from, to) {
        (Some(Found::File(_)), Some(Found::File(_))) => from.map(Found::hash),
        _ => None,
    };
    match from {
        Some(found @ Found::File(_)) if replaced.is_none() => {
            let folders = if to.is_none() { folders } else { &[] };
            remove(path, found.hash(), folders, |_| Ok::<_, ReplaceError>(()))?;
        }
        Some(Found::Link(leads_to)) => remove_link(path, leads_to, || Ok::<_, ReplaceError>(()))?,
        Some(Found::Folder) => match remove_folder(path, folders, |_| Ok(())) {
            // Somebody put something in: then it stays.
            Err(ReplaceError::NotEmpty { .. }) if to.is_none() => {}
            removed => removed?,
        },
        _ => {}
    }
    let made = to.map_or_else(|| Ok(Vec::new()), |to| put(path, to, replaced, mode));
    if let (Err(_), Some(from), None) = (&made, from, replaced) {
        // Where that fails, too, somebody was faster: it is theirs.
        let _ = put(path, from, None, None);
    }
    made
}

/// Puts something under a name that is free, or a file in the place of another. The value is the folders that were made.
fn put(
    path: &Path,
    found: &Found,
    replaced: Option<ContentHash>,
    mode: Option<u32>,
) -> Result<Vec<PathBuf>, ReplaceError> {
    let mut made = Vec::new();
    match found {
        Found::File(content) => restore(path, replaced, content, mode, |folders| {
            made = folders.to_vec();
        })?,
        Found::Link(leads_to) => made = put_link(path, leads_to)?,
        Found::Folder => make_folder(path, mode, |folders| {
            made = folders.to_vec();
            Ok::<_, ReplaceError>(())
        })?,
    }
    Ok(made)
}

fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| shown(path)).collect();
    names.join(", ")
}

fn them(paths: &[PathBuf]) -> &'static str {
    if paths.len() == 1 { "it" } else { "them" }
}

#[cfg(test)]
mod tests;
