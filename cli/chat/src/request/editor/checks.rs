//! What the current body has to fulfil before it is sent.
//!
//! A body without edits is never refused: it is the one that is sent without the editor.

use std::fmt;

use serde_json::Value;

use super::blocks;
use super::counts::Counts;
use super::items;
use super::layout::string;
use super::model::EditableRequest;
use super::path::Path;
use super::sections::{SectionId, SectionKind};
use dunlin_host::display::grouped;

/// Why a request is not sent, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsendable {
    pub number: usize,
    /// Its label. Escape before showing.
    pub label: String,
    /// The field, in the payload as it would be sent; `None`: the whole section.
    pub path: Option<Path>,
    pub problem: Problem,
}

/// What is wrong with a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// A call has no result right behind it.
    CallWithoutResult { id: String },
    /// A result has no call right before it.
    ResultWithoutCall {
        /// The id that it names.
        id: String,
    },
    /// No message of the user is left.
    NoUserMessage,
    /// A field no longer holds what it has to.
    WrongType {
        /// What it has to hold.
        expected: &'static str,
    },
    /// The request is longer than the model's context window leaves room for.
    TooLong {
        tokens: u64,
        /// Tokens that there is room for.
        limit: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::CallWithoutResult { id } => write!(f, "no result follows the call {id:?}"),
            Problem::ResultWithoutCall { id } => write!(f, "no call {id:?} precedes this result"),
            Problem::NoUserMessage => f.write_str("no user message is left"),
            Problem::WrongType { expected } => write!(f, "the value must be {expected}"),
            Problem::TooLong { tokens, limit } => write!(
                f,
                "the request has {} tokens and the context window leaves room for {}; this section is the largest",
                grouped(*tokens),
                grouped(*limit)
            ),
        }
    }
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unsendable {
            number,
            label,
            path,
            problem,
        } = self;
        write!(f, "section {number} ({label})")?;
        if let Some(path) = path {
            write!(f, ", {path}")?;
        }
        write!(
            f,
            ": {problem}. `undo` takes back the last edit, `restore N` a deletion, `reset` all edits"
        )
    }
}

impl std::error::Error for Unsendable {}

/// A call that waits for its result.
struct Open {
    id: String,
    number: usize,
    /// Where its id is.
    path: Path,
}

impl EditableRequest {
    /// Whether the current body can be sent. `counts` are those of this request; `limit`: how many tokens it may have,
    /// in the same counts, where that is known.
    ///
    /// # Errors
    /// The first problem, from the beginning of the body.
    pub fn check(&self, counts: &Counts, limit: Option<u64>) -> Result<(), Unsendable> {
        if !self.is_dirty() {
            return Ok(());
        }
        self.check_messages()?;
        match limit.filter(|limit| counts.total() > *limit) {
            None => Ok(()),
            Some(limit) => {
                let sent = (1..=self.sections().len()).filter(|number| !self.is_deleted(*number));
                let largest = sent.max_by_key(|number| counts.section(*number));
                let tokens = counts.total();
                let problem = Problem::TooLong { tokens, limit };
                Err(self.unsendable(largest.unwrap_or(1), None, problem))
            }
        }
    }

    fn check_messages(&self) -> Result<(), Unsendable> {
        let mut open: Vec<Open> = Vec::new();
        let mut has_user = false;
        let sections = self.sections().iter().enumerate();
        let messages = sections.filter(|(_, section)| section.kind.is_message());
        for number in messages.map(|(index, _)| index + 1) {
            let (Some(path), Some(text)) = (self.path(number), self.text(number)) else {
                continue;
            };
            let message: Value = serde_json::from_str(text).unwrap_or_default();
            let role = message.get("role").and_then(Value::as_str);
            let kind = message.get("type").and_then(Value::as_str);
            let answers = match (role, kind) {
                (Some("tool"), _) => Some("tool_call_id"),
                (None, Some("tool_result")) => Some("tool_use_id"),
                (None, Some("function_call_output")) => Some("call_id"),
                _ => None,
            };
            if let Some(field) = answers {
                let id = message.get(field).and_then(Value::as_str);
                let id = id.unwrap_or_default();
                let Some(answered) = open.iter().position(|call| call.id == id) else {
                    let id = id.to_owned();
                    let path = Some(path.then(field));
                    return Err(self.unsendable(number, path, Problem::ResultWithoutCall { id }));
                };
                open.remove(answered);
                continue;
            }
            // The results of all calls of a message come behind all of it.
            let section = self.section(number);
            if !section.is_some_and(|it| matches!(it.id, SectionId::Item(..))) {
                self.check_answered(&open)?;
            }
            match (role, kind) {
                (Some("user"), _) => has_user = true,
                (Some("assistant"), _) | (None, Some("function_call")) => {
                    open.extend(self.check_calls(number, &path, &message)?);
                }
                (None, Some("reasoning")) => {}
                (Some("system" | "developer"), _) => {}
                // A block: the instructions, or what the user says behind results.
                (None, Some("text")) => {
                    has_user |= section.is_some_and(|it| it.kind != SectionKind::System);
                }
                _ => {
                    let expected = "\"system\", \"user\", \"assistant\" or \"tool\"";
                    let problem = Problem::WrongType { expected };
                    return Err(self.unsendable(number, Some(path.then("role")), problem));
                }
            }
        }
        self.check_answered(&open)?;
        let is_user = |kind| matches!(kind, SectionKind::User | SectionKind::Context);
        let mut sections = self.sections().iter();
        match sections.rposition(|section| is_user(section.kind)) {
            // A request that never had one is as complete as it was composed.
            Some(last) if !has_user => Err(self.unsendable(last + 1, None, Problem::NoUserMessage)),
            _ => Ok(()),
        }
    }

    fn check_answered(&self, open: &[Open]) -> Result<(), Unsendable> {
        match open.first() {
            None => Ok(()),
            Some(call) => {
                let (id, path) = (call.id.clone(), call.path.clone());
                Err(self.unsendable(call.number, Some(path), Problem::CallWithoutResult { id }))
            }
        }
    }

    /// The calls of a message, if each holds what it has to.
    fn check_calls(
        &self,
        number: usize,
        path: &Path,
        message: &Value,
    ) -> Result<Vec<Open>, Unsendable> {
        let calls = message.get("tool_calls").and_then(Value::as_array);
        let calls = calls.into_iter().flatten().enumerate();
        let calls = calls.map(|(index, call)| {
            let path = path.then("tool_calls").then(index);
            let arguments = call.pointer("/function/arguments");
            let is_object = match arguments {
                Some(Value::String(text)) => is_object_in_text(text),
                arguments => arguments.is_none_or(Value::is_object),
            };
            let wrong = (!is_object).then(|| path.then("function").then("arguments"));
            (path, call, wrong)
        });
        let in_blocks = blocks::calls(message).into_iter().map(|(index, call)| {
            let path = path.then("content").then(index);
            let is_object = call.get("input").is_some_and(Value::is_object);
            let wrong = (!is_object).then(|| path.then("input"));
            (path, call, wrong)
        });
        let is_item = items::is_call(message);
        let item = is_item.then(|| {
            let arguments = message.get("arguments").and_then(Value::as_str);
            let is_object = arguments.is_some_and(is_object_in_text);
            (
                path.clone(),
                message,
                (!is_object).then(|| path.then("arguments")),
            )
        });
        let id_field = if is_item { "call_id" } else { "id" };
        let mut open = Vec::new();
        for (path, call, wrong) in calls.chain(in_blocks).chain(item) {
            if let Some(path) = wrong {
                let expected = "a JSON object";
                let problem = Problem::WrongType { expected };
                return Err(self.unsendable(number, Some(path), problem));
            }
            open.push(Open {
                id: string(call, id_field).to_owned(),
                number,
                path: path.then(id_field),
            });
        }
        Ok(open)
    }

    fn unsendable(&self, number: usize, path: Option<Path>, problem: Problem) -> Unsendable {
        let label = self.section(number).map(|section| section.label.clone());
        Unsendable {
            number,
            label: label.unwrap_or_default(),
            path,
            problem,
        }
    }
}

fn is_object_in_text(text: &str) -> bool {
    serde_json::from_str::<serde_json::Map<String, Value>>(text).is_ok()
}
