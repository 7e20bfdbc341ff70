//! The messages between a chat and an inspector, one JSON object in a line each.

use std::fmt::{self, Write};

use dunlin_chat::request::editor::{Edit, Outline};
use dunlin_chat::request::measure::Scale;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::request_editor::PauseMode;
use crate::subagents::{MAX_LISTED, MAX_OF_TURN};
use dunlin_chat::provider::Usage;

/// The version of the protocol. A chat of another one is listed and otherwise left alone.
pub const VERSION: u32 = 2;

/// The longest command, in bytes: several times the largest value that anybody edits by hand.
pub const MAX_COMMAND_BYTES: usize = 8 * 1024 * 1024;

/// The longest message of a chat, in bytes. A request of a million tokens takes some 5 MB, and escaping at most six times
/// that.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// The longest error, in characters: a sentence.
pub const MAX_ERROR_CHARS: usize = 200;

/// The most subagents that are told: those of a turn, and the last that have ended.
pub const MAX_SUBAGENTS: usize = MAX_OF_TURN + MAX_LISTED;

/// The longest text about a subagent, in characters: as much as a row of a wide window shows.
pub const MAX_SUBAGENT_CHARS: usize = 200;

/// Which conversation a chat is in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The id of the session.
    pub session: String,
    pub agent: String,
    /// The title; empty before the first message.
    pub title: String,
    pub model: String,
}

/// Which requests a chat pauses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    pub mode: PauseMode,
    /// The mode with what it is restricted to, as the chat's prompt shows it: `turn, next tools`.
    #[serde(default)]
    pub shown: String,
}

/// The edits of a paused request. With the original they make the request as it is now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Edits {
    /// Counts the pauses of the chat.
    pub pause: u64,
    /// Names this state of the request. It says nothing of the states before and after.
    pub revision: String,
    /// The edits that are done, the oldest first.
    pub edits: Vec<Edit>,
    /// The edits that are undone, the next one to be redone first.
    pub undone: Vec<Edit>,
}

/// A request when it is paused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PausedMessage {
    #[serde(flatten)]
    pub edits: Edits,
    /// When it was changed last, in milliseconds of Unix time.
    #[serde(default)]
    pub active: u64,
    /// Its number in the session, if the session keeps requests.
    pub number: Option<u64>,
    /// When it was composed, in milliseconds of Unix time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<i64>,
    /// Which request of its turn it is, from 1.
    pub round: u32,
    /// The body as composed: exactly these bytes.
    pub body: String,
    /// What the parts of the body are.
    pub outline: Outline,
    /// How its tokens are counted.
    pub scale: Scale,
    /// How many tokens it may have, in the client's own counts.
    pub max_request_tokens: u64,
    /// The model's context window in tokens, as far as known.
    pub window: Option<u64>,
    /// The SHA-256 of the last request that this endpoint was sent, in lower-case hexadecimal: its server may have that in
    /// its cache. The session file has it under this digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_sent: Option<String>,
}

/// A subagent of the conversation. Its texts have at most [`MAX_SUBAGENT_CHARS`] characters, and models wrote most of them:
/// escape before showing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subagent {
    /// Its number in the session, from 1.
    pub number: u64,
    pub name: String,
    pub model: String,
    /// The beginning of what it is to do.
    pub task: String,
    /// What it does, its call for example, or why it is over; empty once it has answered.
    pub state: String,
    /// How it ended, in the words of `dunlin ask --json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    pub calls: u32,
    pub rounds: u32,
    pub usage: Usage,
    /// When it began, in milliseconds of Unix time.
    pub begun: u64,
    /// How long it ran, once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The number of its latest request, which the session's file has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<u64>,
}

impl Subagent {
    fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let texts = [
            &mut self.name,
            &mut self.model,
            &mut self.task,
            &mut self.state,
        ];
        texts.into_iter().chain(&mut self.end)
    }
}

/// The subagents of a conversation, the oldest first: no more and no longer than the protocol allows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Subagent>")]
pub struct Subagents(Vec<Subagent>);

/// A chat tells more of subagents than it may.
#[derive(Debug, thiserror::Error)]
#[error(
    "more than {MAX_SUBAGENTS} subagents, or a text of more than {MAX_SUBAGENT_CHARS} characters"
)]
pub struct TooMuch;

impl TryFrom<Vec<Subagent>> for Subagents {
    type Error = TooMuch;

    fn try_from(mut subagents: Vec<Subagent>) -> Result<Subagents, TooMuch> {
        let is_long = |text: &mut String| text.chars().nth(MAX_SUBAGENT_CHARS).is_some();
        let is_long = subagents.iter_mut().flat_map(Subagent::texts).any(is_long);
        match subagents.len() > MAX_SUBAGENTS || is_long {
            true => Err(TooMuch),
            false => Ok(Subagents(subagents)),
        }
    }
}

impl Subagents {
    /// The last of these, with the beginnings of their texts.
    pub fn shortened(mut subagents: Vec<Subagent>) -> Subagents {
        let surplus = subagents.len().saturating_sub(MAX_SUBAGENTS);
        subagents.drain(..surplus);
        for text in subagents.iter_mut().flat_map(Subagent::texts) {
            *text = short(&text, MAX_SUBAGENT_CHARS);
        }
        Subagents(subagents)
    }

    pub fn into_vec(self) -> Vec<Subagent> {
        self.0
    }
}

/// From the chat to the inspector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    Hello {
        /// [`VERSION`]. A reader checks it before the rest.
        version: u32,
        /// When something happened last, in milliseconds of Unix time.
        #[serde(default)]
        active: u64,
        /// The process of the chat.
        pid: u32,
        /// Which requests are paused.
        #[serde(flatten)]
        pauses: Pauses,
        #[serde(flatten)]
        conversation: Conversation,
    },
    /// The chat is in another conversation, or its title or model has changed.
    Conversation(Conversation),
    /// Other requests are paused from now on.
    Mode(Pauses),
    /// These are the subagents of the conversation now: all that are listed.
    Subagents {
        subagents: Subagents,
    },
    Paused(Box<PausedMessage>),
    /// The paused request was edited.
    Edited(Edits),
    Sent {
        /// Which pause it was, if it was paused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<u64>,
        /// The request's number in the session, if the session keeps requests.
        number: Option<u64>,
    },
    /// The paused request was cancelled.
    Cancelled {
        pause: u64,
    },
    /// No request is paused, and it is not said what became of the last one.
    Idle,
    Done {
        id: u64,
    },
    /// A command was not done. The state that it was refused for was sent before.
    Refused {
        /// Its id; 0 where that is not known.
        id: u64,
        /// Why, for people, in [`MAX_ERROR_CHARS`] at most. It may name paths of the request: escape before showing.
        error: String,
    },
    /// Something of a later Dunlin, to be ignored.
    #[serde(other, skip_serializing)]
    Unknown,
}

impl Message {
    /// The refusal of a command. `id` is 0 where it is not known, or all of the connection is refused.
    pub fn refused(id: u64, why: &impl fmt::Display) -> Message {
        let error = short(why, MAX_ERROR_CHARS);
        Message::Refused { id, error }
    }
}

/// The beginning of a text, of at most so many characters.
fn short(text: &impl fmt::Display, most: usize) -> String {
    let mut short = String::new();
    // A text that is cut off does not fail.
    let _ = write!(Short(&mut short, most), "{text}");
    short
}

/// Takes the beginning of a text, and ends it with an ellipsis where it goes on. What may be long is never whole in memory.
struct Short<'a>(&'a mut String, usize);

impl fmt::Write for Short<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match self.1 {
                0 => return Err(fmt::Error),
                1 => self.0.push('…'),
                _ => self.0.push(c),
            }
            self.1 -= 1;
        }
        Ok(())
    }
}

/// From the inspector to the chat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Chosen by the inspector; the answer has the same.
    pub id: u64,
    /// What is to be done.
    #[serde(flatten)]
    pub operation: Operation,
}

/// What an inspector can have done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    Edit {
        #[serde(flatten)]
        at: At,
        edit: Edit,
    },
    Undo(At),
    /// Does again what was undone last.
    Redo(At),
    Send(At),
    Cancel(At),
    /// Has other requests paused from now on.
    Mode {
        mode: PauseMode,
        /// The request that `off` cancels; without it none is.
        #[serde(flatten)]
        at: Option<At>,
    },
}

impl Operation {
    /// The state that it was made for.
    pub fn at(&self) -> Option<&At> {
        match self {
            Operation::Edit { at, .. }
            | Operation::Undo(at)
            | Operation::Redo(at)
            | Operation::Send(at)
            | Operation::Cancel(at) => Some(at),
            Operation::Mode { at, .. } => at.as_ref(),
        }
    }
}

/// The state that a command was made for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    pub pause: u64,
    /// Which revision of the request.
    pub revision: String,
}

/// Why a line is not a command.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("not a command: {0}")]
    Syntax(#[from] serde_json::Error),
    /// A field would have been ignored.
    #[error("a command has no field {0:?}")]
    UnknownField(String),
}

impl Command {
    /// Reads a command. Fields that it does not have are an error, so that nothing that was meant is ignored.
    ///
    /// # Errors
    /// It is not one.
    pub fn parse(line: &[u8]) -> Result<Command, CommandError> {
        let value: Value = serde_json::from_slice(line)?;
        let command = Command::deserialize(&value)?;
        match ignored(&value, &serde_json::to_value(&command)?) {
            Some(field) => Err(CommandError::UnknownField(field)),
            None => Ok(command),
        }
    }

    /// The id of a line that is not a command, if it has one.
    pub fn id_of(line: &[u8]) -> u64 {
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        value.get("id").and_then(Value::as_u64).unwrap_or_default()
    }
}

/// A field that was read and is not in what came of it. `null` says the same as no field.
fn ignored(read: &Value, taken: &Value) -> Option<String> {
    match (read, taken) {
        (Value::Object(read), taken) => read.iter().find_map(|(name, value)| {
            let taken = taken.get(name);
            match taken {
                None if value.is_null() => None,
                None => Some(name.clone()),
                Some(taken) => ignored(value, taken),
            }
        }),
        (Value::Array(read), Value::Array(taken)) => {
            let mut pairs = read.iter().zip(taken);
            pairs.find_map(|(read, taken)| ignored(read, taken))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EDIT: &str = r#"{"id":7,"op":"edit","pause":1,"revision":"0123456789abcdef","edit":{"type":"set","target":{"section":"message:0","path":"content"},"old":"\"a\"","new":"\"b\""}}"#;

    #[test]
    fn errors_are_short() {
        let error = |why: &str| match Message::refused(1, &why) {
            Message::Refused { error, .. } => error,
            other => format!("{other:?}"),
        };
        assert_eq!(error("no"), "no");
        let long = error(&"é".repeat(1_000_000));
        assert_eq!(long.chars().count(), MAX_ERROR_CHARS);
        assert!(long.ends_with('…'));
    }

    #[test]
    fn little_is_told_of_subagents_however_many_there_are() {
        let subagent = |number: u64, chars: usize| Subagent {
            number,
            state: "é".repeat(chars),
            ..Subagent::default()
        };
        let read = |subagents: &[Subagent]| {
            let line = serde_json::json!({"type": "subagents", "subagents": subagents});
            serde_json::from_value::<Message>(line)
        };
        let most: Vec<Subagent> = (1..=MAX_SUBAGENTS as u64)
            .map(|number| subagent(number, MAX_SUBAGENT_CHARS))
            .collect();
        assert!(read(&most).is_ok());
        assert!(read(&[subagent(1, MAX_SUBAGENT_CHARS + 1)]).is_err());
        let more = [vec![subagent(0, 1_000_000)], most].concat();
        assert!(read(&more).is_err());
        let told = Subagents::shortened(more).into_vec();
        assert_eq!((told.len(), told[0].number), (MAX_SUBAGENTS, 1));
        let told = Subagents::shortened(vec![subagent(7, 1_000_000)]).into_vec();
        assert!(read(&told).is_ok() && told[0].state.ends_with('…'));
    }

    #[test]
    fn a_later_dunlin_may_say_more() {
        let check = |line: &str, expected: &Message| {
            let message: Message = serde_json::from_str(line).unwrap();
            assert_eq!(message, *expected, "{line}");
        };
        check(r#"{"type":"sings","loud":true}"#, &Message::Unknown);
        check(
            r#"{"type":"sent","number":3}"#,
            &Message::Sent {
                pause: None,
                number: Some(3),
            },
        );
    }

    #[test]
    fn lines_that_are_commands() {
        let check = |line: &str, expected: bool| {
            assert_eq!(Command::parse(line.as_bytes()).is_ok(), expected, "{line}");
        };
        check(r#"{"id":1,"op":"send","pause":1,"revision":"0"}"#, true);
        check(r#"{"id":1,"op":"mode","mode":"every"}"#, true);
        check(
            r#"{"id":1,"op":"mode","mode":"off","pause":1,"revision":"0"}"#,
            true,
        );
        check(EDIT, true);
        check(
            r#"{"id":1,"op":"edit","pause":1,"revision":"0","edit":{"type":"set","target":{"section":"options","path":"seed"},"old":null,"new":"1"}}"#,
            true,
        );
        for line in [
            "",
            "1",
            "[]",
            "{}",
            r#"{"id":1}"#,
            r#"{"op":"send","pause":1,"revision":"0"}"#,
            r#"{"id":-1,"op":"send","pause":1,"revision":"0"}"#,
            r#"{"id":1,"op":"send","pause":1}"#,
            r#"{"id":1,"op":"send","pause":1,"revision":"0","x":1}"#,
            r#"{"id":1,"op":"send","pause":1,"revision":0}"#,
            r#"{"id":1,"op":"mode","mode":"loud"}"#,
            r#"{"id":1,"op":"mode","mode":"off","pause":1}"#,
            r#"{"id":1,"op":"mode","mode":"off","revision":"0"}"#,
            r#"{"id":1,"op":"edit","pause":1,"revision":"0","edit":{"type":"delete","sections":["nothing"]}}"#,
            r#"{"id":1,"op":"edit","pause":1,"revision":"0","edit":{"type":"delete","sections":["system"],"all":1}}"#,
        ] {
            check(line, false);
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_the_parser_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..200usize) {
            let _ = Command::parse(&bytes);
            let mut bytes = EDIT.as_bytes().to_vec();
            let cut = cut % bytes.len();
            bytes[cut] = bytes[cut].wrapping_add(1);
            if let Ok(command) = Command::parse(&bytes) {
                let again = serde_json::to_vec(&command).unwrap();
                prop_assert_eq!(Command::parse(&again).unwrap(), command);
            }
        }
    }
}
