//! One call within a turn, and how it is shown.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::call::{Call, Failure, Plan};
use dunlin_host::display;
use dunlin_host::edit::{EditKind, FileEdit};
use dunlin_host::permission::Revert;
use dunlin_host::target::Need;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::APPLY_PATCH;
use crate::media::{Media, NotMedia};
use crate::todo::{self, TODO};

/// Longest summary of the arguments, in characters: with the tool's name it fits a line of a
/// terminal.
const TARGET_CHARS: usize = 60;

/// Longest note, in characters: three lines of a terminal.
const NOTE_CHARS: usize = 240;

/// Arguments that say what a call is about, best first. Others are shown only where none of these
/// is there.
const TELLING_ARGUMENTS: [&str; 8] = [
    "file_path",
    "pattern",
    "path",
    "url",
    "command",
    "query",
    "question",
    "name",
];

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The model wants it.
    Proposed,
    /// The user is being asked.
    Asking,
    /// It may run and will, when the others are decided.
    Approved,
    /// It runs.
    Running,
    /// It gave a result.
    Completed,
    /// It gave an error, or could not be run at all.
    Failed,
    /// The user or a rule refused.
    Denied,
    /// The user left it out, without denying anything.
    Skipped,
    /// It was not tried: an earlier call was denied, the reply was cut off, the rounds were used
    /// up.
    NotRun,
    /// The user interrupted.
    Cancelled,
}

impl CallState {
    /// Whether nothing more happens to the call.
    pub fn is_settled(self) -> bool {
        match self {
            CallState::Proposed | CallState::Asking | CallState::Approved | CallState::Running => {
                false
            }
            CallState::Completed
            | CallState::Failed
            | CallState::Denied
            | CallState::Skipped
            | CallState::NotRun
            | CallState::Cancelled => true,
        }
    }
}

/// A call as it is shown. The texts are escaped and shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallView {
    /// The number by which the user knows it, from 1: unique within the session. `None`: it is not shown.
    pub number: Option<usize>,
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// What it is about: a path, a URL, a command; may be empty.
    pub target: String,
    /// Where it stands.
    pub state: CallState,
    /// Why it failed, was denied or was not run.
    pub note: Option<String>,
    /// What takes the rule back that denied it.
    pub revert: Option<Revert>,
    /// How long it ran, without the time in which the user was being asked.
    pub duration: Option<Duration>,
}

/// What became of a call, for programs. The texts are as they came: escape before showing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CallRecord {
    /// The number by which the user knows it, from 1: unique within the session.
    #[serde(skip)]
    pub number: usize,
    /// Its id.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Where it ended.
    pub state: CallState,
    /// What went back to the model.
    pub result: Option<String>,
    /// The pictures and documents that went with it.
    #[serde(skip)]
    pub media: Vec<Media>,
    /// Why one that it gave did not go with it.
    #[serde(skip)]
    pub not_media: Option<NotMedia>,
    /// How long it ran, in milliseconds.
    pub duration_ms: Option<f64>,
    /// Whether the model wrote it as text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recovered: bool,
    /// Whether its arguments were not valid JSON and were mended.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repaired: bool,
    /// What went wrong, in one line: `exit status 1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it failed or was denied, for whoever goes on from here.
    #[serde(skip)]
    pub failure: Option<Failure>,
    /// What it has changed in files, where it completed in this process.
    #[serde(skip)]
    pub edits: Arc<[FileEdit]>,
    /// How much that was, also where the edits themselves are no longer known.
    #[serde(skip)]
    pub changed: Option<ChangedLines>,
    /// The rule that denied it.
    #[serde(skip)]
    pub denied_by: Option<DeniedBy>,
}

/// How many lines a call added to files and removed from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangedLines {
    /// Lines that were not there before.
    pub added: usize,
    /// Lines that are not there any more.
    pub removed: usize,
}

impl ChangedLines {
    /// The sum of these edits; `None` where there are none.
    pub fn of<'a>(edits: impl IntoIterator<Item = &'a FileEdit>) -> Option<ChangedLines> {
        let one = |edit: &FileEdit| ChangedLines {
            added: edit.diff.added,
            removed: edit.diff.removed,
        };
        edits.into_iter().map(one).reduce(|a, b| ChangedLines {
            added: a.added + b.added,
            removed: a.removed + b.removed,
        })
    }
}

/// What edits did: lines that came and went, and what is not told by lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    lines: Option<ChangedLines>,
    removed: usize,
    renamed: usize,
    folders: usize,
    folders_removed: usize,
    of_bytes: usize,
}

impl Changes {
    /// The sum of these edits; `None` where there are none.
    pub fn of<'a>(edits: impl IntoIterator<Item = &'a FileEdit>) -> Option<Changes> {
        let mut all: Option<Changes> = None;
        for edit in edits {
            all.get_or_insert_default().add(edit);
        }
        all
    }

    fn add(&mut self, edit: &FileEdit) {
        let is_gone = edit.new.is_none();
        match edit.kind {
            EditKind::Renamed(_) => self.renamed += 1,
            EditKind::Folder if is_gone => self.folders_removed += 1,
            EditKind::Folder => self.folders += 1,
            _ => self.removed += usize::from(is_gone),
        }
        match edit.kind {
            EditKind::Text => {
                let lines = ChangedLines::of([edit]);
                let before = self.lines.unwrap_or_default();
                self.lines = lines.map(|lines| ChangedLines {
                    added: before.added + lines.added,
                    removed: before.removed + lines.removed,
                });
            }
            EditKind::Bytes { .. } if !is_gone => self.of_bytes += 1,
            _ => {}
        }
    }
}

/// `+12 −3`, `+0 −12, 1 removed`, `1 not text`.
impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.lines.iter().map(ToString::to_string).collect();
        let folders = |count| if count == 1 { "folder" } else { "folders" };
        let removed = format!("{} removed", folders(self.folders_removed));
        for (count, what) in [
            (self.removed, "removed"),
            (self.renamed, "renamed"),
            (self.folders, folders(self.folders)),
            (self.folders_removed, &removed),
            (self.of_bytes, "not text"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        f.write_str(&parts.join(", "))
    }
}

/// The edits that a call made itself, and those that hooks made after it: these are the last.
pub fn own_edits(edits: &[FileEdit]) -> (&[FileEdit], &[FileEdit]) {
    let own = edits.iter().take_while(|edit| edit.hook.is_none()).count();
    edits.split_at(own)
}

/// The files that were changed, each with what happened to it: `diary.md (+1 −0), src/main.rs (+2 −2)`. Not escaped; `None`
/// where there are none.
pub fn changed_files(edits: &[FileEdit]) -> Option<String> {
    /// How many are named.
    const MOST: usize = 5;
    let mut files: Vec<(&Path, Changes)> = Vec::new();
    for edit in edits {
        let at = files.iter().position(|(path, _)| *path == edit.path);
        let at = at.unwrap_or_else(|| {
            files.push((&edit.path, Changes::default()));
            files.len() - 1
        });
        files[at].1.add(edit);
    }
    let named = files.iter().take(MOST);
    let mut named: Vec<String> = named
        .map(|(path, changes)| format!("{} ({changes})", path.display()))
        .collect();
    match files.len().saturating_sub(MOST) {
        0 => {}
        more => named.push(format!("and {more} more")),
    }
    (!named.is_empty()).then(|| named.join(", "))
}

impl fmt::Display for ChangedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{} −{}", self.added, self.removed)
    }
}

/// The rule that denied a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeniedBy {
    /// The rule, in words.
    pub rule: String,
    /// What takes it back.
    pub revert: Option<Revert>,
}

impl CallRecord {
    /// How long it ran. What is not a time, as in a file that was written otherwise, is none.
    pub fn duration(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.duration_ms? / 1000.0).ok()
    }

    /// How it is shown when it is long over.
    pub fn view(&self) -> CallView {
        CallView {
            number: Some(self.number),
            id: line(&self.id, TARGET_CHARS),
            tool: line(&self.tool, TARGET_CHARS),
            target: target(&self.tool, &self.arguments),
            state: self.state,
            note: match (&self.error, self.changed) {
                (Some(error), _) if self.state == CallState::Failed => {
                    Some(line(error, NOTE_CHARS))
                }
                // Below another end it would stand for its reason.
                (_, changed) => changed
                    .filter(|_| self.state == CallState::Completed)
                    .map(|changed| changed.to_string()),
            },
            revert: None,
            duration: self.duration(),
        }
    }
}

/// A refusal, by the user or by a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The subagent whose call it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent: Option<String>,
    /// What was refused: the question that was, or would have been, asked.
    pub question: String,
    /// The rule that refused it; `None`: the user, or nobody was there to be asked.
    pub rule: Option<String>,
    /// What takes that rule back.
    #[serde(skip)]
    pub revert: Option<Revert>,
    /// Whether it was refused while the call ran: such a question takes a yes or a no alone.
    #[serde(skip)]
    pub while_running: bool,
    /// What the user said about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What would have to be allowed beforehand.
    #[serde(skip)]
    pub needs: Vec<Need>,
    /// The longest that a yes could have held. `None`: nothing was open.
    #[serde(skip)]
    pub longest: Option<Scope>,
}

impl Denial {
    /// Whether the turn would have gone on if the user had said something about it.
    pub fn lacks_comment(&self) -> bool {
        self.rule.is_none() && !self.while_running && self.comment.is_none()
    }
}

/// What has to be done about a call before it can be decided about or run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Find out what it would do and how that stands.
    Prepare,
    /// Keep what the user answered.
    Keep(Answer),
}

/// A call of the turn.
#[derive(Debug, Clone)]
pub struct TurnCall {
    /// Its number within the turn.
    pub number: usize,
    /// The number by which the user knows it, from 1: unique within the session.
    pub index: usize,
    /// What is run.
    pub call: Arc<Call>,
    /// What is known about it; there once it was prepared.
    pub plan: Option<Arc<Plan>>,
    /// Where it stands.
    pub state: CallState,
    /// Counts its forms: changes with the arguments, with what they come to and with how that stands. An
    /// answer holds for the form that was shown.
    pub revision: u32,
    /// Whether the model wrote it as text.
    pub recovered: bool,
    /// Whether it was written as text and stands so in what the model was given to read: it may be a quotation. Such
    /// a call is asked about, whatever allows it.
    pub quoted: bool,
    /// Whether the arguments were not valid JSON and were mended.
    pub repaired: bool,
    /// Whether the user changed the arguments.
    pub edited: bool,
    /// Why it cannot be run as the user edited it. It can be edited again.
    pub problem: Option<Failure>,
    /// What the user says to the model about it.
    pub comment: Option<String>,
    pub(super) task: Option<Task>,
    /// Whether the user was asked about it.
    pub(super) shown: bool,
    /// Whether the user said yes to it, to this very call.
    pub(super) explicit: bool,
    /// Whether it runs as soon as it may, before the others are decided.
    pub(super) runs_now: bool,
    pub(super) failure: Option<Failure>,
    pub(super) denied_by: Option<DeniedBy>,
    pub(super) note: Option<String>,
    pub(super) duration: Option<Duration>,
    /// What its command had printed when it was interrupted, as plain text.
    pub(super) output: Option<String>,
    /// What goes back to the model; there once the call is settled.
    pub(super) result: Option<String>,
    /// The pictures and documents of it.
    pub(super) media: Vec<Media>,
    /// Why another one is not among them.
    pub(super) not_media: Option<NotMedia>,
    /// What it has changed in files, and behind that what hooks have.
    pub(super) edits: Arc<[FileEdit]>,
    /// What hooks say about it to the model.
    pub(super) said: String,
}

impl TurnCall {
    pub(super) fn new(number: usize, index: usize, call: Call) -> TurnCall {
        TurnCall {
            number,
            index,
            call: Arc::new(call),
            plan: None,
            state: CallState::Proposed,
            revision: 0,
            recovered: false,
            quoted: false,
            repaired: false,
            edited: false,
            problem: None,
            comment: None,
            task: None,
            shown: false,
            explicit: false,
            runs_now: false,
            failure: None,
            denied_by: None,
            note: None,
            duration: None,
            output: None,
            result: None,
            media: Vec::new(),
            not_media: None,
            edits: Arc::default(),
            said: String::new(),
        }
    }

    /// Whether it may run while others of the reply do.
    pub(super) fn runs_in_parallel(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.runs_in_parallel)
    }

    /// How it is shown.
    pub fn view(&self) -> CallView {
        CallView {
            number: Some(self.index),
            id: line(&self.call.id, TARGET_CHARS),
            tool: line(&self.call.tool, TARGET_CHARS),
            target: target(&self.call.tool, &self.call.arguments),
            state: self.state,
            note: self.note.as_deref().map(|note| line(note, NOTE_CHARS)),
            revert: self.denied_by.as_ref().and_then(|by| by.revert.clone()),
            duration: self.duration,
        }
    }

    /// What went wrong. A command that failed has no failure of its own: what is noted beside it says how it ended.
    fn error(&self) -> Option<String> {
        let ended_badly = || {
            self.note
                .clone()
                .filter(|_| self.state == CallState::Failed)
        };
        self.failure
            .as_ref()
            .map(ToString::to_string)
            .or_else(ended_badly)
    }

    /// Whether the user said yes to this very call.
    pub fn is_approved_by_hand(&self) -> bool {
        self.explicit
    }

    /// What became of it.
    pub fn record(&self) -> CallRecord {
        CallRecord {
            changed: ChangedLines::of(own_edits(&self.edits).0),
            edits: Arc::clone(&self.edits),
            number: self.index,
            id: self.call.id.clone(),
            tool: self.call.tool.clone(),
            arguments: self.call.arguments.clone(),
            state: self.state,
            result: self.result.clone(),
            media: self.media.clone(),
            not_media: self.not_media,
            duration_ms: self.duration.map(millis),
            recovered: self.recovered,
            repaired: self.repaired,
            error: self.error(),
            failure: self.failure.clone(),
            denied_by: self.denied_by.clone(),
        }
    }
}

/// In milliseconds, to the microsecond.
fn millis(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1_000_000.0).round() / 1000.0
}

/// What a call is about, from its arguments.
fn target(tool: &str, arguments: &Value) -> String {
    if tool == TODO {
        return todo::progress(&todo::steps(arguments));
    }
    if let Some(patch) = patch_of(tool, arguments) {
        return line(&patched_files(patch), TARGET_CHARS);
    }
    let none = Map::new();
    let arguments = arguments.as_object().unwrap_or(&none);
    let telling = TELLING_ARGUMENTS
        .into_iter()
        .find_map(|name| arguments.get(name)?.as_str());
    let in_list = |value: &'_ Value| value.as_array()?.first()?.as_str().map(str::to_owned);
    let any = || arguments.values().find_map(Value::as_str);
    let target = match telling.or_else(any) {
        Some(text) => text.to_owned(),
        None if arguments.is_empty() => String::new(),
        None => match arguments.values().find_map(in_list) {
            Some(text) => text,
            None => Value::Object(arguments.clone()).to_string(),
        },
    };
    line(&target, TARGET_CHARS)
}

/// The patch that a call applies.
pub fn patch_of<'a>(tool: &str, arguments: &'a Value) -> Option<&'a str> {
    arguments
        .get("input")?
        .as_str()
        .filter(|_| tool == APPLY_PATCH)
}

/// The files that a patch names: the rest of it is what changes in them.
fn patched_files(patch: &str) -> String {
    const HEADINGS: [&str; 3] = ["*** Add File:", "*** Update File:", "*** Delete File:"];
    let path = |line| HEADINGS.iter().find_map(|it| str::strip_prefix(line, *it));
    let paths: Vec<&str> = patch.lines().filter_map(path).map(str::trim).collect();
    paths.join(", ")
}

fn line(text: &str, max: usize) -> String {
    display::shorten(&display::escape(text), max).into_owned()
}

#[cfg(any(test, feature = "samples"))]
impl CallRecord {
    /// A call for tests.
    pub fn sample(tool: &str, arguments: Value) -> CallRecord {
        let call = Call {
            id: "1".to_owned(),
            tool: tool.to_owned(),
            arguments,
        };
        TurnCall::new(0, 1, call).record()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn targets_tell_what_a_call_is_about() {
        for (arguments, expected) in [
            (
                json!({"start_line": 1, "file_path": "src/main.rs"}),
                "src/main.rs",
            ),
            (
                json!({"text": "hello", "path": "a\u{1b}[2J"}),
                "a\\u{1b}[2J",
            ),
            (json!({"text": "hello"}), "hello"),
            (json!({"lines": [1, 2]}), "{\"lines\":[1,2]}"),
            (json!({"pattern": "TODO", "path": "src"}), "TODO"),
            (json!({"sizes": true, "globs": ["*.rs", "*.md"]}), "*.rs"),
            (json!({}), ""),
            (json!(null), ""),
        ] {
            assert_eq!(target("t", &arguments), expected, "{arguments}");
        }
        assert_eq!(
            target("t", &json!({"path": "x".repeat(500)}))
                .chars()
                .count(),
            TARGET_CHARS
        );
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-x\n+y\n*** Add File: b/c\n+z\n*** End Patch";
        assert_eq!(target(APPLY_PATCH, &json!({ "input": patch })), "a.rs, b/c");
        assert_eq!(target(APPLY_PATCH, &json!({"input": "none"})), "");
        let steps = json!({"items": [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]});
        assert_eq!(target(TODO, &steps), "1 of 2 done");
    }
}
