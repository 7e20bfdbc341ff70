//! Edits, and how they are done, undone and redone.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::document::{self, LeafKind, Shape};
use super::model::EditableRequest;
use super::overlay::{Overlay, kind_of};
use super::path::{Path, PathSyntax};
use super::sections::{OptionKind, SectionId};

/// A leaf by what does not change when other sections are deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Target {
    pub section: SectionId,
    /// The path within the section; for options and raw requests, within the body.
    pub path: Path,
}

/// One step of the history. The original bytes and the steps that are done give the current bytes.
///
/// Session files hold edits in this form: `{"type":"set","target":{"section":"system","path":"content"},...}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Edit {
    /// Sets a leaf, or adds or removes an option.
    Set {
        /// The leaf or the option.
        target: Target,
        /// The value before, as JSON; `None`: an option that the request had not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old: Option<String>,
        /// The value after, as JSON; `None`: an option that is removed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new: Option<String>,
    },
    /// Leaves sections out of what is sent. A call and its results are all in one step, and it can be several sections.
    Delete { sections: Vec<SectionId> },
    /// Takes back a [`Edit::Delete`] at any later time.
    Restore { sections: Vec<SectionId> },
    /// Makes the request as composed. Can be undone like any other step.
    Reset,
}

impl Edit {
    /// How many values and sections these edits leave changed, without the request that they were made to. A value that was
    /// set twice counts once, and what was set back or restored does not count.
    pub fn net_count(edits: &[Edit]) -> usize {
        let mut values: HashMap<&Target, (Option<&str>, Option<&str>)> = HashMap::new();
        let mut deleted: HashSet<&SectionId> = HashSet::new();
        for edit in edits {
            match edit {
                Edit::Set { target, old, new } => {
                    let new = new.as_deref();
                    let value = values.entry(target).or_insert((old.as_deref(), new));
                    value.1 = new;
                }
                Edit::Delete { sections } => deleted.extend(sections),
                Edit::Restore { sections } => deleted.retain(|it| !sections.contains(it)),
                Edit::Reset => {
                    values.clear();
                    deleted.clear();
                }
            }
        }
        let changed = values.values().filter(|(old, new)| old != new);
        changed.count() + deleted.len()
    }
}

/// What can be done to whole sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionStep {
    /// Leaves them out of what is sent.
    Delete,
    /// Brings them back.
    Restore,
}

impl SectionStep {
    /// What is said of sections afterwards.
    pub fn done(self) -> &'static str {
        match self {
            SectionStep::Delete => "deleted",
            SectionStep::Restore => "restored",
        }
    }

    fn edit(self, sections: Vec<SectionId>) -> Edit {
        match self {
            SectionStep::Delete => Edit::Delete { sections },
            SectionStep::Restore => Edit::Restore { sections },
        }
    }
}

/// What a step has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The step; when it was undone, the one that was taken back. `None`: nothing had to be changed.
    pub edit: Option<Edit>,
    /// The numbers of the sections whose text or presence may differ from before.
    pub sections: Vec<usize>,
    /// Whether these are more than one section, and no more than a call and its results.
    is_call: bool,
}

impl fmt::Display for Change {
    /// What was done, for people: `sections 3, 4 deleted (a call and its results go together)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.sections.iter().map(usize::to_string).collect();
        let numbers = numbers.join(", ");
        let step = match &self.edit {
            None => return f.write_str("nothing to change"),
            Some(Edit::Reset) => return f.write_str("all edits reset"),
            Some(Edit::Set { target, new, .. }) => {
                let done = if new.is_some() { "set" } else { "removed" };
                return write!(f, "section {numbers}: {} {done}", target.path);
            }
            Some(Edit::Delete { .. }) => SectionStep::Delete,
            Some(Edit::Restore { .. }) => SectionStep::Restore,
        };
        let done = step.done();
        match self.sections.len() {
            1 => write!(f, "section {numbers} {done}"),
            _ if self.is_call => write!(
                f,
                "sections {numbers} {done} (a call and its results go together)"
            ),
            count => write!(f, "{count} sections {done}"),
        }
    }
}

/// Why an edit was not done. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The text is not a path.
    #[error(transparent)]
    Syntax(#[from] PathSyntax),
    #[error("no value at {path}{}", or_nearest(.nearest))]
    UnknownPath {
        /// The path as it was given.
        path: String,
        /// The paths most like it, the nearest first.
        nearest: Vec<String>,
    },
    /// An object or an array is at the path.
    #[error("{path} holds other values; only a string, a number, true, false or null can be edited{}", or_nearest(.nearest))]
    NotALeaf {
        /// The path as it was given.
        path: String,
        /// Paths of leaves in it.
        nearest: Vec<String>,
    },
    #[error("no section {name}: this request has sections 1 to {count}")]
    UnknownSection {
        /// Its number or id as it was given.
        name: String,
        count: usize,
    },
    #[error("section {number} has no single text: name the leaf{}", or_nearest(.nearest))]
    NoSingleText {
        number: usize,
        /// Its leaves that are text.
        nearest: Vec<String>,
    },
    #[error("section {number} is deleted: use `restore {number}` before you edit it")]
    Deleted { number: usize },
    #[error("section {number} is not deleted")]
    NotDeleted { number: usize },
    /// The section cannot be left out.
    #[error("section {number} ({label}) cannot be deleted: no request can be sent without it")]
    NotDeletable { number: usize, label: String },
    /// The value is of another type than the leaf.
    #[error("{path} takes {expected}, not {found}")]
    Type {
        path: String,
        expected: &'static str,
        /// The beginning of what was given.
        found: String,
    },
    #[error(
        "{path} cannot be added or removed by itself: only options can, and `d N` leaves a section out"
    )]
    NotAnOption {
        /// The path as it was given.
        path: String,
    },
    #[error(
        "nothing to restore at {path}: `restore` brings back what was composed and removed, and `add` adds an option"
    )]
    NotRemoved { path: String },
    /// An option that is to be added is there.
    #[error("{path} already exists: `e {path}` changes it")]
    Present { path: String },
    #[error("not valid JSON: {0}")]
    NotJson(String),
    /// A text that was edited as JSON differs in more than values.
    #[error(
        "{path} was added or removed, or has another type: only options can be added and removed; `d N` leaves a section out"
    )]
    Structure { path: String },
    #[error("{path} has changed since this edit was made")]
    Outdated {
        /// The leaf, or the sections.
        path: String,
    },
    /// No edit is done.
    #[error("nothing to undo")]
    NothingToUndo,
    /// No edit is undone.
    #[error("nothing to redo")]
    NothingToRedo,
    #[error("nothing to reset: the request is as composed")]
    NothingToReset,
}

fn or_nearest(nearest: &[String]) -> String {
    match nearest {
        [] => String::new(),
        paths => format!("; nearest: {}", paths.join(", ")),
    }
}

impl EditableRequest {
    /// Sets the leaf at a path of the payload as it would be sent now, or adds an option that the dialect knows.
    ///
    /// An option may be named by its key alone. The path may go on into JSON in a string. For a string `value` is the
    /// text itself, for any other leaf it is JSON.
    ///
    /// # Errors
    /// There is no such leaf, or the value is of another type.
    pub fn set(&mut self, path: &str, value: &str) -> Result<Change, EditError> {
        let target = self.target(path)?;
        self.set_target(&target, value)
    }

    /// Sets the only text of a section.
    ///
    /// # Errors
    /// The section has none, or several.
    pub fn set_text(&mut self, number: usize, value: &str) -> Result<Change, EditError> {
        let target = self.only_text(number)?;
        self.set_target(&target, value)
    }

    /// Sets a leaf by its target. See [`EditableRequest::set`].
    ///
    /// # Errors
    /// There is no such leaf, its section is deleted, or the value is of another type.
    pub fn set_target(&mut self, target: &Target, value: &str) -> Result<Change, EditError> {
        let index = self.index_of(&target.section)?;
        self.sent(index)?;
        let found = self.overlay.find(&self.base, index, &target.path);
        let (old, kind) = match found {
            Some(found) => (Some(found.raw.into_owned()), Some(found.kind)),
            None => (None, None),
        };
        let known = self.known_option(index, &target.path);
        let kind = match (kind, known) {
            (Some(Some(kind)), _) => kind,
            (Some(None), _) => return Err(self.not_a_leaf(index, &target.path)),
            (None, Some(option)) => option.kind.leaf(),
            (None, None) => return Err(self.unknown(&self.shown(index, &target.path))),
        };
        let new = self.value(index, &target.path, kind, value)?;
        if kind == LeafKind::String
            && let Some(old) = &old
            && document::decode(old).as_deref() == Some(value)
        {
            return Ok(Change::nothing());
        }
        if old.as_ref() == Some(&new) {
            return Ok(Change::nothing());
        }
        let new = self
            .as_composed(index, &target.path, kind, value)
            .unwrap_or(new);
        let target = target.clone();
        let new = Some(new);
        Ok(self.push(Edit::Set { target, old, new }, vec![index]))
    }

    /// Leaves a section out of what is sent, and with a call its results, with a result its call.
    ///
    /// # Errors
    /// There is no such section, it is deleted, or it is the options or a raw request.
    pub fn delete(&mut self, number: usize) -> Result<Change, EditError> {
        self.step(SectionStep::Delete, number)
    }

    /// Brings a deleted section back to its place, and what was deleted with it.
    ///
    /// # Errors
    /// There is no such section, or it is not deleted.
    pub fn restore(&mut self, number: usize) -> Result<Change, EditError> {
        self.step(SectionStep::Restore, number)
    }

    /// Deletes or restores a section and what belongs to it.
    ///
    /// # Errors
    /// See [`EditableRequest::delete`] and [`EditableRequest::restore`].
    pub fn step(&mut self, step: SectionStep, number: usize) -> Result<Change, EditError> {
        let together = self.steppable(step, number)?;
        Ok(self.push(step.edit(self.ids(&together)), together))
    }

    /// Deletes or restores several sections in one step, up to the first that is refused: its error is returned, too. Those
    /// that are so already are passed over.
    pub fn step_each(
        &mut self,
        step: SectionStep,
        numbers: &[usize],
    ) -> (Change, Option<EditError>) {
        let mut all = Vec::new();
        let mut refused = None;
        for number in numbers {
            match self.steppable(step, *number) {
                Ok(together) if together.iter().any(|index| all.contains(index)) => {}
                Ok(together) => all.extend(together),
                Err(EditError::Deleted { .. } | EditError::NotDeleted { .. }) => {}
                Err(error) => {
                    refused = Some(error);
                    break;
                }
            }
        }
        let change = match all.is_empty() {
            true => Change::nothing(),
            false => self.push(step.edit(self.ids(&all)), all),
        };
        (change, refused)
    }

    /// The section with this number and those that are deleted and restored with it.
    fn steppable(&self, step: SectionStep, number: usize) -> Result<Vec<usize>, EditError> {
        let index = self.index(number)?;
        match (step, self.overlay.deleted.contains(&index)) {
            (SectionStep::Delete, true) => return Err(EditError::Deleted { number }),
            (SectionStep::Restore, false) => return Err(EditError::NotDeleted { number }),
            (SectionStep::Delete, false) | (SectionStep::Restore, true) => {}
        }
        match self.section(number) {
            Some(section) if section.path.steps().is_empty() => Err(EditError::NotDeletable {
                number,
                label: section.label.clone(),
            }),
            _ => Ok(self.together(index)),
        }
    }

    /// Makes the request as composed, in one step that can be undone.
    ///
    /// # Errors
    /// It is as composed.
    pub fn reset(&mut self) -> Result<Change, EditError> {
        if !self.is_dirty() {
            return Err(EditError::NothingToReset);
        }
        let touched = self.touched();
        Ok(self.push(Edit::Reset, touched))
    }

    /// Takes back the last edit that is done.
    ///
    /// # Errors
    /// There is none.
    pub fn undo(&mut self) -> Result<Change, EditError> {
        let last = self.done.checked_sub(1).ok_or(EditError::NothingToUndo)?;
        self.go_to(last, last)
    }

    /// Does the edit again that was undone last.
    ///
    /// # Errors
    /// There is none.
    pub fn redo(&mut self) -> Result<Change, EditError> {
        if self.done >= self.history.len() {
            return Err(EditError::NothingToRedo);
        }
        self.go_to(self.done + 1, self.done)
    }

    /// Does an edit that was made elsewhere, such as one from a log.
    ///
    /// # Errors
    /// It does not fit the request as it is now: what it replaces is something else.
    pub fn apply(&mut self, edit: Edit) -> Result<Change, EditError> {
        let edit = match edit {
            // What stands around JSON says nothing.
            Edit::Set { target, old, new } => Edit::Set {
                target,
                old,
                new: new.map(|new| new.trim().to_owned()),
            },
            edit => edit,
        };
        match &edit {
            Edit::Set { target, old, new } => {
                let index = self.index_of(&target.section)?;
                self.sent(index)?;
                let found = self.overlay.find(&self.base, index, &target.path);
                let shown = self.shown(index, &target.path);
                if found.as_ref().map(|found| &*found.raw) != old.as_deref() {
                    return Err(EditError::Outdated { path: shown });
                }
                let (kind, new) = match (found, new) {
                    (Some(_), None) if self.is_option(index, &target.path) => {
                        return Ok(self.push(edit, vec![index]));
                    }
                    (None, Some(new)) if self.is_option(index, &target.path) => {
                        self.addable(index, &target.path, new)?;
                        return Ok(self.push(edit, vec![index]));
                    }
                    // An option of another shape.
                    (Some(found), Some(new))
                        if found.kind.is_none_or(|kind| kind_of(new) != Some(kind))
                            && self.is_option(index, &target.path) =>
                    {
                        self.addable(index, &target.path, new)?;
                        return Ok(self.push(edit, vec![index]));
                    }
                    (Some(found), Some(new)) => (found.kind, new),
                    (None, _) | (_, None) => return Err(self.unknown(&shown)),
                };
                let kind = kind.ok_or_else(|| self.not_a_leaf(index, &target.path))?;
                match (kind, document::decode(new)) {
                    (LeafKind::String, Some(_)) => {}
                    (LeafKind::String, None) => return Err(wrong_type(shown, kind.name(), new)),
                    _ => {
                        self.value(index, &target.path, kind, new)?;
                    }
                }
                Ok(self.push(edit, vec![index]))
            }
            Edit::Delete { sections } | Edit::Restore { sections } => {
                let step = match &edit {
                    Edit::Delete { .. } => SectionStep::Delete,
                    _ => SectionStep::Restore,
                };
                let mut all: Vec<usize> = Vec::new();
                for id in sections {
                    let number = self.number(id).unwrap_or_default();
                    let together = self.steppable(step, number)?;
                    if !together.iter().any(|index| all.contains(index)) {
                        all.extend(together);
                    }
                }
                if all.is_empty() || self.ids(&all) != *sections {
                    let ids: Vec<String> = sections.iter().map(SectionId::to_string).collect();
                    let path = ids.join(", ");
                    return Err(EditError::Outdated { path });
                }
                Ok(self.push(edit, all))
            }
            Edit::Reset => self.reset(),
        }
    }

    pub(super) fn push(&mut self, edit: Edit, sections: Vec<usize>) -> Change {
        self.history.truncate(self.done);
        self.overlay.apply(&self.base, &edit);
        self.history.push(edit.clone());
        self.done = self.history.len();
        self.refresh();
        self.change(edit, &sections)
    }

    /// Goes to another place in the history, past the edit with this index.
    fn go_to(&mut self, done: usize, past: usize) -> Result<Change, EditError> {
        let edit = self.history.get(past).cloned();
        let edit = edit.ok_or(EditError::NothingToUndo)?;
        let mut touched = self.touched();
        self.done = done;
        self.overlay = Overlay::of(&self.base, self.edits());
        self.refresh();
        match &edit {
            Edit::Reset => touched.extend(self.touched()),
            Edit::Set { target, .. } => {
                touched = self.index_of(&target.section).into_iter().collect()
            }
            Edit::Delete { sections } | Edit::Restore { sections } => {
                let ids = sections.iter();
                touched = ids.filter_map(|id| self.index_of(id).ok()).collect();
            }
        }
        touched.sort_unstable();
        touched.dedup();
        Ok(self.change(edit, &touched))
    }

    fn change(&self, edit: Edit, sections: &[usize]) -> Change {
        let is_call = match sections {
            [first, _, ..] => self.together(*first) == sections,
            _ => false,
        };
        Change {
            edit: Some(edit),
            sections: sections.iter().map(|index| index + 1).collect(),
            is_call,
        }
    }

    /// The sections that are other than composed.
    fn touched(&self) -> Vec<usize> {
        let all = 0..self.base.sections.len();
        let is_touched = |index: &usize| {
            self.overlay.deleted.contains(index) || self.overlay.is_edited(&self.base, *index)
        };
        all.filter(is_touched).collect()
    }

    /// A value as JSON, if it is what the leaf takes.
    pub(super) fn value(
        &self,
        index: usize,
        path: &Path,
        kind: LeafKind,
        value: &str,
    ) -> Result<String, EditError> {
        if kind == LeafKind::String {
            return Ok(document::encode(value));
        }
        let shown = self.shown(index, path);
        let value = value.trim();
        let node = document::parse(value);
        let is_same =
            node.is_some_and(|node| matches!(node.shape, Shape::Leaf(found) if found == kind));
        // What no reader takes, such as 1e999.
        if !is_same || serde_json::from_str::<serde_json::Value>(value).is_err() {
            return Err(wrong_type(shown, kind.name(), value));
        }
        let known = self.known_option(index, path).map(|option| option.kind);
        if known == Some(OptionKind::WholeNumber) && value.parse::<u64>().is_err() {
            return Err(wrong_type(shown, "a whole number", value));
        }
        Ok(value.to_owned())
    }

    /// The text of a string as it was composed, if it says what `value` says: setting a string back is not a difference.
    fn as_composed(
        &self,
        index: usize,
        path: &Path,
        kind: LeafKind,
        value: &str,
    ) -> Option<String> {
        let composed = Overlay::default();
        let found = composed.find(&self.base, index, path)?;
        let is_same = kind == LeafKind::String && document::decode(&found.raw)? == value;
        is_same.then(|| found.raw.into_owned())
    }

    fn index(&self, number: usize) -> Result<usize, EditError> {
        let count = self.base.sections.len();
        let index = number.checked_sub(1).filter(|index| *index < count);
        index.ok_or_else(|| EditError::UnknownSection {
            name: number.to_string(),
            count,
        })
    }

    pub(super) fn index_of(&self, id: &SectionId) -> Result<usize, EditError> {
        let index = self.base.by_id.get(id).copied();
        index.ok_or_else(|| EditError::UnknownSection {
            name: id.to_string(),
            count: self.base.sections.len(),
        })
    }

    pub(super) fn sent(&self, index: usize) -> Result<(), EditError> {
        match self.overlay.deleted.contains(&index) {
            true => Err(EditError::Deleted { number: index + 1 }),
            false => Ok(()),
        }
    }

    fn together(&self, index: usize) -> Vec<usize> {
        self.base.together.get(index).cloned().unwrap_or_default()
    }

    fn ids(&self, sections: &[usize]) -> Vec<SectionId> {
        let sections = sections.iter();
        let sections = sections.filter_map(|index| self.base.sections.get(*index));
        sections.map(|section| section.id.clone()).collect()
    }
}

impl Change {
    fn nothing() -> Change {
        Change {
            edit: None,
            sections: Vec::new(),
            is_call: false,
        }
    }
}

pub(super) fn wrong_type(path: String, expected: &'static str, found: &str) -> EditError {
    /// As much of a value as an error shows, in characters.
    const SHOWN: usize = 40;
    let mut beginning: String = found.chars().take(SHOWN).collect();
    if beginning.len() < found.len() {
        beginning.push('…');
    }
    EditError::Type {
        path,
        expected,
        found: match kind_of(found) {
            Some(_) => beginning,
            None => document::encode(&beginning),
        },
    }
}
