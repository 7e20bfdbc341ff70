//! Edits of requests that are done again in every later request.
//!
//! They lie in Dunlin's data folder, so that no project brings any. They are captured from one paused request and then
//! applied without a pause. One whose text has changed since is not applied: a request that would send what the user
//! replaced or removed is paused instead.

use std::io;
use std::path::PathBuf;

use dunlin_host::display::escape;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::age::ago;
use crate::app::App;
use crate::config::json_file;
use crate::config::request_editor::PauseMode;
use dunlin_chat::request::editor::{EditableRequest, Outcome, SavedEdit, SectionId};
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::PausedRequest;

/// How far a saved edit reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The session it was made in.
    #[default]
    Session,
    /// All sessions of the project.
    Project,
    /// Everything.
    Global,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 3] = [Scope::Session, Scope::Project, Scope::Global];

    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Session => "session",
            Scope::Project => "project",
            Scope::Global => "global",
        }
    }
}

/// A saved edit with where it holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    /// How far it reaches.
    pub scope: Scope,
    /// The session or the project it holds in; empty: everywhere.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// What is done again.
    pub edit: SavedEdit,
    pub time: Timestamp,
}

/// The file of saved edits.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The scope that was chosen last.
    #[serde(default)]
    pub scope: Scope,
    /// The edits, the oldest first.
    #[serde(default)]
    pub edits: Vec<Kept>,
}

/// The saved edits cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} the saved edits in {}", path.display())]
pub struct SavedEditsError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// What a request got of the saved edits.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Applied {
    pub done: usize,
    /// What could not be done, escaped, each with the reason.
    pub left_out: Vec<String>,
    /// Those that hold here, with their scope and age, the narrowest scope last.
    pub kept: Vec<(SavedEdit, String)>,
    /// Whether one of them replaces or removes something that would be sent now.
    pub has_lost: bool,
}

fn path(app: &App) -> PathBuf {
    app.settings.folders.data.join("saved_edits.json")
}

fn failed(app: &App, action: &'static str) -> impl FnOnce(io::Error) -> SavedEditsError {
    let path = path(app);
    move |source| SavedEditsError {
        action,
        path,
        source,
    }
}

/// The saved edits.
///
/// # Errors
/// They cannot be read.
pub fn read(app: &App) -> Result<File, SavedEditsError> {
    json_file::read(&path(app)).map_err(failed(app, "read"))
}

/// Changes the saved edits.
///
/// # Errors
/// They cannot be read or written.
pub fn update<R>(app: &App, change: impl FnOnce(&mut File) -> R) -> Result<R, SavedEditsError> {
    json_file::update(&path(app), change).map_err(failed(app, "write"))
}

/// What an edit of this scope belongs to here.
fn place(app: &App, scope: Scope) -> String {
    match scope {
        Scope::Session => app.session_id(),
        Scope::Project => app.settings.project.to_string_lossy().into_owned(),
        Scope::Global => String::new(),
    }
}

/// Whether an edit holds in this session.
pub fn holds(app: &App, kept: &Kept) -> bool {
    kept.of == place(app, kept.scope)
}

/// Whether there are edits that hold here.
///
/// # Errors
/// They cannot be read.
pub fn has_edits(app: &App) -> Result<bool, SavedEditsError> {
    let file = read(app)?;
    Ok(file.edits.iter().any(|kept| holds(app, kept)))
}

/// Whether there are edits of this session alone.
///
/// # Errors
/// They cannot be read.
pub fn has_edits_of_session(app: &App) -> Result<bool, SavedEditsError> {
    let file = read(app)?;
    let is_of_session = |kept: &Kept| kept.scope == Scope::Session && holds(app, kept);
    Ok(file.edits.iter().any(is_of_session))
}

/// Whether the edits of the next message's first request are saved: the user wants it, or none are saved yet.
pub fn is_capturing(app: &App) -> bool {
    let pausing = &app.pausing;
    let has_edits = || has_edits(app).unwrap_or(true);
    pausing.mode() == PauseMode::Auto
        && pausing.is_chosen()
        && (pausing.is_capturing() || !has_edits())
}

/// Does the saved edits that hold here, those of the widest scope first.
///
/// # Errors
/// They cannot be read.
pub fn apply(app: &App, paused: &mut PausedRequest<'_>) -> Result<Applied, SavedEditsError> {
    let file = read(app)?;
    let now = Timestamp::now();
    let mut applied = Applied::default();
    let request = &mut paused.request;
    for scope in Scope::ALL.into_iter().rev() {
        let kept = file
            .edits
            .iter()
            .filter(|kept| kept.scope == scope && holds(app, kept));
        for kept in kept {
            let about = || escape(&kept.edit.about()).into_owned();
            let note = format!("saved ({}, {})", kept.scope.as_str(), ago(kept.time, now));
            applied.kept.push((kept.edit.clone(), note));
            match request.apply_saved(&kept.edit) {
                Outcome::Done | Outcome::Present => applied.done += 1,
                Outcome::Absent if is_moot(&kept.edit, request, &paused.described) => {}
                Outcome::Changed => {
                    applied.has_lost |= !kept.edit.only_adds();
                    applied.left_out.push(format!(
                        "{}: the text that it replaces has changed",
                        about()
                    ));
                }
                Outcome::Absent => {
                    applied.has_lost |= !kept.edit.only_adds();
                    applied
                        .left_out
                        .push(format!("{}: this request has no such place", about()));
                }
            }
        }
    }
    Ok(applied)
}

/// Whether nothing of what an edit replaces or removes can be in a request that has no such section: a tool that it neither
/// offers nor describes in text, or a message that is left out with all before it. Any other message was joined to one.
fn is_moot(edit: &SavedEdit, request: &EditableRequest, described: &[String]) -> bool {
    let sections = request.sections().iter();
    let has_shape = !sections.clone().any(|section| section.id == SectionId::Raw);
    has_shape
        && match edit.section.parse() {
            Ok(SectionId::Tool(name)) => {
                request.number(&SectionId::Tool(name.clone())).is_none()
                    && !described.contains(&name)
            }
            Ok(id) => {
                let first_sent = sections.filter_map(|section| section.id.message()).min();
                let message = id.message().zip(first_sent);
                message.is_some_and(|(message, first)| message < first)
            }
            Err(_) => false,
        }
}

/// The tools that the saved edits which hold here leave out.
///
/// # Errors
/// They cannot be read.
pub fn left_out_tools(app: &App) -> Result<Vec<String>, SavedEditsError> {
    let file = read(app)?;
    let here = file.edits.iter().filter(|kept| holds(app, kept));
    Ok(here.filter_map(|kept| kept.edit.left_out_tool()).collect())
}

/// Has the edits of one session hold in a copy of it as well, those that `fits`. How many do not.
///
/// # Errors
/// They cannot be read or written.
pub fn copy(
    app: &App,
    (from, to): (&str, &str),
    fits: impl Fn(&SavedEdit) -> bool,
) -> Result<usize, SavedEditsError> {
    let is_of = |kept: &&Kept| kept.scope == Scope::Session && kept.of == from;
    if !read(app)?.edits.iter().any(|kept| is_of(&kept)) {
        return Ok(0);
    }
    update(app, |file| {
        let of_session: Vec<Kept> = file.edits.iter().filter(is_of).cloned().collect();
        let (fitting, others): (Vec<Kept>, Vec<Kept>) =
            of_session.into_iter().partition(|kept| fits(&kept.edit));
        file.edits.extend(fitting.into_iter().map(|kept| Kept {
            of: to.to_owned(),
            ..kept
        }));
        others.len()
    })
}

/// Keeps what was changed in a request beyond what was `applied`, in place of what was kept of the same leaves, and removes what
/// was applied and taken back. What there is to say.
///
/// # Errors
/// It cannot be kept.
pub fn keep(
    app: &App,
    request: &EditableRequest,
    applied: &[SavedEdit],
) -> Result<String, SavedEditsError> {
    let mut edits = request.to_save();
    let is_same =
        |one: &SavedEdit, other: &SavedEdit| one.section == other.section && one.path == other.path;
    let taken_back = |edit: &&SavedEdit| !edits.iter().any(|it| is_same(it, edit));
    let taken_back: Vec<SavedEdit> = applied.iter().filter(taken_back).cloned().collect();
    edits.retain(|edit| !applied.contains(edit));
    let time = Timestamp::now();
    update(app, |file| {
        let scope = file.scope;
        let of = place(app, scope);
        let fits = |edit: &SavedEdit| scope == Scope::Session || edit.outlives_session();
        let (edits, others): (Vec<SavedEdit>, Vec<SavedEdit>) = edits.into_iter().partition(fits);
        let (count, left_out) = (edits.len(), others.len());
        for edit in edits {
            let same = |kept: &Kept| {
                kept.of == of && kept.edit.section == edit.section && kept.edit.path == edit.path
            };
            file.edits.retain(|kept| !same(kept));
            file.edits.push(Kept {
                scope,
                of: of.clone(),
                edit,
                time,
            });
        }
        let before = file.edits.len();
        let is_taken_back = |kept: &Kept| holds(app, kept) && taken_back.contains(&kept.edit);
        // Those of another scope hold elsewhere, too: `/auto remove` takes them back.
        let is_removed = |kept: &Kept| kept.scope == scope && is_taken_back(kept);
        file.edits.retain(|kept| !is_removed(kept));
        let removed = before - file.edits.len();
        let is_of_same = |kept: &Kept| {
            let mut taken_back = taken_back.iter();
            holds(app, kept) && taken_back.any(|edit| is_same(edit, &kept.edit))
        };
        let still_saved = file.edits.iter().filter(|kept| is_of_same(kept)).count();
        let scope = scope.as_str();
        let saved = counted(count, "edit is", "edits are");
        let saved = format!("{saved} saved ({scope}) and applied from now on");
        let removed_edits = counted(removed, "saved edit is", "saved edits are");
        let said = match (count, removed) {
            (0, 0) if left_out + still_saved > 0 => None,
            (_, 0) => Some(format!("{saved}; /auto lists them.")),
            (0, _) => Some(format!("{removed_edits} removed; /auto lists the others.")),
            _ => Some(format!(
                "{saved}, {removed_edits} removed; /auto lists them."
            )),
        };
        let mut said: Vec<String> = said.into_iter().collect();
        if left_out > 0 {
            let (one, many) = ("edit of a message holds", "edits of messages hold");
            let others = counted(left_out, one, many);
            said.push(format!(
                "{others} for this request only: messages belong to one session."
            ));
        }
        if still_saved > 0 {
            let (one, many) = ("edit that you took back is", "edits that you took back are");
            let others = counted(still_saved, one, many);
            said.push(format!(
                "{others} saved for another scope and applied again from the next request on: /auto remove N removes one."
            ));
        }
        said.join(" ")
    })
}
