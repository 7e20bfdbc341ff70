//! Takes back the edits of a turn, or of all since one began.
//!
//! Before a file is edited, what it held is kept in a file of its own, with the hashes of both sides. So a
//! turn can be taken back after a restart, and its files are only touched where they still hold what Dunlin
//! wrote: a later change of somebody else is never lost. A turn is taken back as a whole or not at all.
//!
//! An edit that was kept and never happened, because the program was killed in between, is recognised by
//! the file still holding what it held.

mod journal;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) use journal::{Journal, Kept};

use crate::AuditError;
use crate::display::shown;
use crate::edit::names::{make_folder, put_link, remove};
use crate::edit::prepare::{PrepareError, look};
use crate::edit::replace::{ReplaceError, remove_folders, restore};
use crate::edit::{ContentHash, Found};
use journal::Entry;

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// The files, in the order of their first edit.
    pub files: Vec<(PathBuf, UndoOutcome)>,
    /// The turns whose edits they were.
    pub turns: Vec<u64>,
}

/// The files that were edited in one turn, and that can be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedFiles {
    /// The number of the turn, as [`Host::begin_turn`](crate::Host::begin_turn) gave it.
    pub turn: u64,
    /// In the order of their first edit.
    pub paths: Vec<PathBuf>,
}

/// What became of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoOutcome {
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
    /// The room for what is kept was needed for later turns.
    #[error("nothing was taken back: some of the edits since then are too long ago to be kept")]
    Dropped,
    /// Other edits can be taken back than those that were shown.
    #[error("nothing was taken back: files were edited meanwhile")]
    NotAsShown,
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
    /// The permission bits of what the turn removed.
    mode_before: Option<u32>,
    /// What has it now; `None`: nothing.
    now: Option<Found>,
    /// Its permission bits, for when the turn is not undone after all.
    mode_now: Option<u32>,
    folders: Vec<PathBuf>,
}

/// What undoing one name did beside that: what undoing it again has to revert.
struct Done {
    /// The folders that were made, outermost first.
    made: Vec<PathBuf>,
    /// The folders that were removed, outermost first, with their permission bits.
    removed: Vec<(PathBuf, u32)>,
}

/// The files of each turn.
fn by_turns(entries: &[Entry]) -> Vec<EditedFiles> {
    let mut edited: Vec<EditedFiles> = Vec::new();
    for Entry { turn, path, .. } in entries {
        match edited.last_mut().filter(|last| last.turn == *turn) {
            Some(last) if last.paths.contains(path) => {}
            Some(last) => last.paths.push(path.clone()),
            None => edited.push(EditedFiles {
                turn: *turn,
                paths: vec![path.clone()],
            }),
        }
    }
    edited
}

impl Journal {
    /// Takes back the last turn of a session that edited files in this project. `None`: there is none that is kept.
    ///
    /// Blocks until the disk has it.
    pub(crate) fn undo_last(
        &self,
        session: &str,
        project: &Path,
    ) -> Result<Option<Undone>, UndoError> {
        let _lock = self.lock()?;
        self.take_back(&self.last_turn(session, project)?)
    }

    /// The same for all edits since a turn began, those of the turn included, if they are still these.
    pub(crate) fn undo_since(
        &self,
        session: &str,
        project: &Path,
        turn: u64,
        shown: &[EditedFiles],
    ) -> Result<Option<Undone>, UndoError> {
        let _lock = self.lock()?;
        let entries = self.since(session, project, turn)?;
        match by_turns(&entries) == shown {
            true => self.take_back(&entries),
            false => Err(UndoError::NotAsShown),
        }
    }

    /// What [`Journal::undo_since`] would take back, turn by turn.
    pub(crate) fn edited_since(
        &self,
        session: &str,
        project: &Path,
        turn: u64,
    ) -> Result<Vec<EditedFiles>, UndoError> {
        let _lock = self.lock()?;
        Ok(by_turns(&self.since(session, project, turn)?))
    }

    /// Takes back edits that have just happened, by the files in which they are kept.
    pub(crate) fn take_back_kept(&self, kept: &[PathBuf]) -> Result<(), UndoError> {
        let _lock = self.lock()?;
        let entries = kept.iter().map(|file| Entry::read(file));
        let entries = entries.collect::<Result<Vec<Entry>, UndoError>>()?;
        self.take_back(&entries).map(drop)
    }

    /// Only to be called under the lock.
    fn take_back(&self, entries: &[Entry]) -> Result<Option<Undone>, UndoError> {
        if entries.is_empty() {
            return Ok(None);
        }
        let steps = steps(entries)?;
        let mut done: Vec<(&Step, Done)> = Vec::new();
        // The last first: what was made in a folder goes before the folder.
        for step in steps.iter().rev() {
            match step.take_back() {
                Ok(its) => done.push((step, its)),
                Err(source) => {
                    for (step, its) in done.iter().rev() {
                        step.put_back(its);
                    }
                    return Err(UndoError::Restore {
                        path: step.path.clone(),
                        source: Box::new(source),
                    });
                }
            }
        }
        // The last first: where this is cut short, what remains is the beginning of the turn, and what it began with is there.
        for entry in entries.iter().rev() {
            self.forget(&entry.file);
        }
        let outcome = |step: &Step| match &step.before {
            _ if step.is_so() => UndoOutcome::WasSo,
            Some(_) => UndoOutcome::Restored,
            None if step.stays() => UndoOutcome::NotEmpty,
            None => UndoOutcome::Removed,
        };
        let mut turns: Vec<u64> = entries.iter().map(|entry| entry.turn).collect();
        turns.dedup();
        Ok(Some(Undone {
            files: steps
                .iter()
                .map(|step| (step.path.clone(), outcome(step)))
                .collect(),
            turns,
        }))
    }
}

/// What has to be done for these edits, if all of it can be done.
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
    for (path, chain) in &chains {
        let path = *path;
        // A folder of the turn may be a file by now: nothing can be in it until that is undone.
        let is_below_file = chains.iter().any(|(above, _)| {
            *above != path
                && path.starts_with(above)
                && std::fs::symlink_metadata(above).is_ok_and(|above| above.is_file())
        });
        let now = match look(path) {
            _ if is_below_file => None,
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
            mode_before: chain.iter().find_map(|entry| entry.mode),
            mode_now: now.as_ref().and_then(|_| mode_of(path)),
            now,
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

    /// Takes back what the turn did.
    fn take_back(&self) -> Result<Done, ReplaceError> {
        let there = self.folders.iter();
        let there: Vec<(PathBuf, u32)> = there
            .filter_map(|folder| Some((folder.clone(), mode_of(folder)?)))
            .collect();
        let (now, before) = (self.now(), self.before());
        let made = turn_into(&self.path, now, before, &self.folders)?;
        let is_gone = |folder: &Path| std::fs::symlink_metadata(folder).is_err();
        let removed = there.into_iter().filter(|(folder, _)| is_gone(folder));
        Ok(Done {
            made,
            removed: removed.collect(),
        })
    }

    /// Reverts [`Step::take_back`]. Where that fails somebody changed the file in this moment: it is theirs.
    fn put_back(&self, done: &Done) {
        for (folder, mode) in &done.removed {
            let _ = make_folder(folder, Some(*mode), |_| Ok::<_, ReplaceError>(()));
        }
        let _ = turn_into(&self.path, self.before(), self.now(), &done.made);
    }

    fn before(&self) -> State<'_> {
        State {
            found: self.before.as_ref(),
            mode: self.mode_before,
        }
    }

    fn now(&self) -> State<'_> {
        State {
            found: self.now.as_ref(),
            mode: self.mode_now,
        }
    }
}

/// What has a name, and its permission bits where they are known.
#[derive(Clone, Copy)]
struct State<'a> {
    found: Option<&'a Found>,
    mode: Option<u32>,
}

/// The permission bits of a file or a folder.
fn mode_of(path: &Path) -> Option<u32> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    (!metadata.is_symlink()).then(|| metadata.permissions().mode() & 0o7777)
}

/// Makes one thing of another. `folders` go with what is removed, as far as they are empty; the value is those that were made.
fn turn_into(
    path: &Path,
    from: State<'_>,
    to: State<'_>,
    folders: &[PathBuf],
) -> Result<Vec<PathBuf>, ReplaceError> {
    if from.found == to.found {
        if to.found.is_none() {
            remove_folders(folders);
        }
        return Ok(Vec::new());
    }
    // One file takes the place of another in one step.
    let replaced = match (from.found, to.found) {
        (Some(file @ Found::File(_)), Some(Found::File(_))) => Some(file.hash()),
        _ => None,
    };
    let folders = if to.found.is_none() { folders } else { &[] };
    if let (Some(found), None) = (from.found, replaced) {
        match remove(path, found.kind(), found.hash(), folders, |_| Ok(())) {
            // Somebody put something in: then it stays.
            Err(ReplaceError::NotEmpty { .. }) if to.found.is_none() => {}
            removed => removed?,
        }
    }
    let Some(wanted) = to.found else {
        return Ok(Vec::new());
    };
    let made = put(path, wanted, replaced, to.mode);
    if let (Err(_), Some(found), None) = (&made, from.found, replaced) {
        // Where that fails, too, somebody was faster: it is theirs.
        let _ = put(path, found, None, from.mode);
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
