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
use crate::edit::ContentHash;
use crate::edit::prepare::{PrepareError, content};
use crate::edit::replace::{ReplaceError, remove, replace, restore};
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

/// One file of the turn, and what is to be done.
struct Step {
    path: PathBuf,
    /// What it held before the turn.
    before: Option<Vec<u8>>,
    before_hash: Option<ContentHash>,
    /// What it holds now; `None`: it does not exist.
    now: Option<Vec<u8>>,
    /// The permission bits it had, if the turn removed it.
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
        for step in &steps {
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
        let now = match content(path) {
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
        let hash = now.as_deref().map(ContentHash::of);
        let unbroken = chain.windows(2).all(|pair| pair[0].new == pair[1].base);
        let written = chain.iter().any(|entry| entry.new == hash);
        let first = chain[0];
        if hash != first.base && !(unbroken && written) {
            changed.push(path.to_owned());
            continue;
        }
        steps.push(Step {
            path: path.to_owned(),
            before: match first.base {
                Some(_) => Some(first.content()?),
                None => None,
            },
            before_hash: first.base,
            now,
            mode: chain.iter().find_map(|entry| entry.mode),
            folders: first.new_folders.clone(),
        });
    }
    if changed.is_empty() {
        Ok(steps)
    } else {
        Err(UndoError::Changed { paths: changed })
    }
}

impl Step {
    /// Whether the file holds already what it held before the turn.
    fn is_so(&self) -> bool {
        self.now == self.before
    }

    /// Takes back what the turn did to the file. Returns the folders that had to be made for it, outermost first.
    fn take_back(&self) -> Result<Vec<PathBuf>, ReplaceError> {
        let mut made = Vec::new();
        let now = self.now.as_deref().map(ContentHash::of);
        match (&self.before, now) {
            _ if self.is_so() => {}
            (Some(before), now) => restore(&self.path, now, before, self.mode, |folders| {
                made = folders.to_vec();
            })?,
            (None, Some(now)) => {
                remove(
                    &self.path,
                    now,
                    &self.folders,
                    |_| Ok::<_, ReplaceError>(()),
                )?;
            }
            (None, None) => {}
        }
        Ok(made)
    }

    /// Undoes [`Step::take_back`], which made these folders. Where that fails somebody changed the file in this moment: it
    /// is theirs.
    fn put_back(&self, made: &[PathBuf]) {
        let _ = match (&self.now, self.before_hash) {
            _ if self.is_so() => Ok(()),
            (Some(now), before) => replace(&self.path, before, now, |_| Ok::<_, ReplaceError>(())),
            (None, Some(before)) => remove(&self.path, before, made, |_| Ok::<_, ReplaceError>(())),
            (None, None) => Ok(()),
        };
    }
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
