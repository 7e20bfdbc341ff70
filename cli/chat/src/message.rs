//! The conversation: what was said, by whom, and which call each result answers.
//!
//! One rule is held by construction, because an endpoint refuses every later request once it is
//! broken: each call of an assistant message is followed by exactly one result before anyone else
//! speaks. [`Conversation`] therefore has no way to change a message in place, and whoever adds a
//! message while calls are open closes them first.

mod changes;

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::media::Media;

/// The result of a call that the user interrupted.
pub const CANCELLED: &str = "cancelled by user";

/// The result given to a call whose real one is missing, for example in a session file that a crash
/// cut short.
pub const LOST: &str = "ERROR: the result of this call was lost";

/// Most calls of one reply. Models make a handful; a server that opens calls without end is cut off.
pub const MAX_CALLS: usize = 128;

/// Longest id that is taken over from a provider, in bytes. Real ones have 9 to 40; a longer one is
/// replaced so that a hostile endpoint cannot grow every later request.
const MAX_CALL_ID_BYTES: usize = 64;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions from the configuration.
    System,
    User,
    Assistant,
    /// The result of a call.
    Tool,
}

/// One message. Also a line of a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub role: Role,
    /// The text; may be empty beside calls.
    #[serde(default)]
    pub content: String,
    /// The pictures and documents beside the text: what the user attached, or what a result holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// What an assistant message asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Which call a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The tool that a tool message comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Assistant text that was interrupted or cut off.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// What the model thought before it spoke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Reasoning>,
    /// What the endpoint wants back unchanged with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// The files that are part of a message of the user, as the user named them. No request has this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<String>,
    /// How many bytes of a message of the user are the user's own words; Dunlin added the rest. `None`: all. No request has
    /// this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<usize>,
    /// The number of the turn that a message of the user began, by which its edits of files are known. No request has this
    /// field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
}

/// What the user says in one message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserMessage {
    /// The text, that of attached files included.
    pub text: String,
    /// The pictures and documents that were attached.
    pub media: Vec<Media>,
    /// The files that are part of the text or of the media, as the user named them.
    pub attached: Vec<String>,
    /// How many bytes of the text are the user's own words; `None`: all.
    pub typed: Option<usize>,
    /// The number of the turn that it begins.
    pub turn: Option<u64>,
}

impl From<String> for UserMessage {
    fn from(text: String) -> UserMessage {
        UserMessage {
            text,
            ..UserMessage::default()
        }
    }
}

impl From<&str> for UserMessage {
    fn from(text: &str) -> UserMessage {
        text.to_owned().into()
    }
}

/// Reasoning, with the provider's own name for it: some endpoints want it back under that name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reasoning {
    /// The field it came in, such as `reasoning_content`.
    pub field: String,
    pub text: String,
}

/// What an endpoint wants back with a message of the model's exactly as it sent it, such as signed reasoning. Only the
/// dialect that it came in can read it; a request in another one leaves it out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Replay {
    /// The dialect that it came in.
    pub dialect: String,
    /// The parts in the order in which they came.
    pub parts: Vec<ReplayPart>,
}

/// A part of a [`Replay`], and its place among the text and the calls of the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayPart {
    /// How many bytes of the text come before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_text: usize,
    /// How many calls come before it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub after_calls: usize,
    /// The part as it was sent.
    pub value: Value,
}

/// One call within an assistant message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the conversation.
    pub id: String,
    /// The tool's name, fit to be sent: see [`wire_name`].
    pub name: String,
    /// The arguments; `{}` where the model's own could not be read, because an unreadable text in
    /// the history would be refused with every later request.
    pub arguments: Map<String, Value>,
    /// What the model really wrote, where that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
    /// The number by which the user knows the call, from 1; unique within the session. 0 until the conversation has
    /// the call.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub number: usize,
}

impl Message {
    /// A message of one of the roles that only carry text.
    pub fn text(role: Role, content: impl Into<String>) -> Message {
        Message {
            role,
            content: content.into(),
            media: Vec::new(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            partial: false,
            reasoning: None,
            replay: None,
            attached: Vec::new(),
            typed: None,
            turn: None,
        }
    }

    /// What the user wrote of a message of theirs.
    pub fn typed(&self) -> &str {
        // A file may say anything.
        let typed = self.typed.and_then(|typed| self.content.get(..typed));
        typed.unwrap_or(&self.content)
    }

    fn result(call: &ToolCall, content: impl Into<String>) -> Message {
        Message {
            tool_call_id: Some(call.id.clone()),
            name: Some(call.name.clone()),
            ..Message::text(Role::Tool, content)
        }
    }
}

/// Messages in order, always fit to be sent.
#[derive(Debug, Default)]
pub struct Conversation {
    messages: Arc<Vec<Message>>,
    /// Calls of the last assistant message that still lack a result, in order.
    open: Vec<ToolCall>,
    names: Arc<Mutex<CallNames>>,
}

/// The ids and the numbers of calls. Conversations that belong to one session share them.
#[derive(Debug, Clone, Default, PartialEq)]
struct CallNames {
    /// Every call id ever used, also by messages that were cleared: a permission given "for this
    /// call only" is bound to the id, so no later call may bear it again.
    used_ids: HashSet<String>,
    ids_made: u64,
    /// The highest number that a call has had. It never goes down, so that no number is used twice in a session.
    last_call: usize,
}

impl CallNames {
    /// Makes the id and the number of a call those of no other. An id with a space would be one that the host makes.
    fn name(&mut self, call: &mut ToolCall) {
        let usable = !call.id.is_empty()
            && call.id.len() <= MAX_CALL_ID_BYTES
            && call.id.bytes().all(|byte| byte.is_ascii_graphic());
        if !usable || self.used_ids.contains(&call.id) {
            call.id = self.fresh_id();
        }
        self.used_ids.insert(call.id.clone());
        if call.number == 0 {
            call.number = self.last_call.saturating_add(1);
        }
        self.last_call = self.last_call.max(call.number);
    }

    /// Nine letters and digits: the form that the strictest endpoint accepts.
    fn fresh_id(&mut self) -> String {
        loop {
            self.ids_made += 1;
            let id = format!("call{:05}", self.ids_made);
            if !self.used_ids.contains(&id) {
                return id;
            }
        }
    }
}

/// A copy goes its own way: calls of the two may come to have the same names.
impl Clone for Conversation {
    fn clone(&self) -> Conversation {
        Conversation {
            messages: Arc::clone(&self.messages),
            open: self.open.clone(),
            names: Arc::new(Mutex::new(self.names.lock().clone())),
        }
    }
}

impl Conversation {
    /// An empty conversation.
    pub fn new() -> Conversation {
        Conversation::default()
    }

    /// An empty conversation of the same session: no call of either has the id or the number of one of the other.
    #[must_use]
    pub fn beside(&self) -> Conversation {
        Conversation {
            names: Arc::clone(&self.names),
            ..Conversation::default()
        }
    }

    /// Takes over stored messages. Calls without a result get [`LOST`]; results without a call and
    /// empty assistant messages are dropped.
    pub fn from_messages(messages: impl IntoIterator<Item = Message>) -> Conversation {
        let mut conversation = Conversation::new();
        for message in messages {
            match message.role {
                Role::Tool => {
                    let id = message.tool_call_id.unwrap_or_default();
                    conversation.push_result_with(&id, message.content, message.media);
                }
                Role::Assistant => {
                    conversation.close_open_calls(LOST);
                    conversation.push_assistant(message);
                }
                Role::System | Role::User => {
                    conversation.close_open_calls(LOST);
                    conversation.push(message);
                }
            }
        }
        conversation.close_open_calls(LOST);
        conversation
    }

    /// The highest number that a call has had.
    pub fn last_call(&self) -> usize {
        self.names.lock().last_call
    }

    /// Numbers the calls that come from now on after this number.
    pub fn number_calls_after(&mut self, number: usize) {
        let mut names = self.names.lock();
        names.last_call = names.last_call.max(number);
    }

    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The messages as they are now, for whoever wants to look at them while the conversation goes on. As long as that is
    /// kept, the next change copies them.
    pub fn snapshot(&self) -> Arc<Vec<Message>> {
        Arc::clone(&self.messages)
    }

    fn push(&mut self, message: Message) {
        Arc::make_mut(&mut self.messages).push(message);
    }

    /// The calls that still lack a result.
    pub fn open_calls(&self) -> &[ToolCall] {
        &self.open
    }

    /// Adds what the user said.
    pub fn push_user(&mut self, said: impl Into<UserMessage>) {
        self.close_open_calls(CANCELLED);
        let said = said.into();
        self.push(Message {
            media: said.media,
            attached: said.attached,
            typed: said.typed.filter(|typed| *typed < said.text.len()),
            turn: said.turn,
            ..Message::text(Role::User, said.text)
        });
    }

    /// Takes back what the user said last, if nothing came after it.
    pub fn take_back_user(&mut self) -> Option<Message> {
        Arc::make_mut(&mut self.messages).pop_if(|message| message.role == Role::User)
    }

    /// Adds an assistant message. An empty one is dropped, since endpoints refuse it later; ids
    /// that were used before, are empty or oversized are replaced. Returns the calls as stored, in
    /// the same order.
    pub fn push_assistant(&mut self, mut message: Message) -> Vec<ToolCall> {
        self.close_open_calls(CANCELLED);
        message.role = Role::Assistant;
        if message.content.trim().is_empty() && message.tool_calls.is_empty() {
            return Vec::new();
        }
        let mut names = self.names.lock();
        for call in &mut message.tool_calls {
            names.name(call);
        }
        drop(names);
        self.open.clone_from(&message.tool_calls);
        self.push(message);
        self.open.clone()
    }

    /// Adds the result of an open call. `false`: no such call is open, nothing was added.
    pub fn push_result(&mut self, id: &str, content: impl Into<String>) -> bool {
        self.push_result_with(id, content, Vec::new())
    }

    /// The same with the pictures and documents that it holds.
    pub fn push_result_with(
        &mut self,
        id: &str,
        content: impl Into<String>,
        media: Vec<Media>,
    ) -> bool {
        let Some(position) = self.open.iter().position(|call| call.id == id) else {
            return false;
        };
        let call = self.open.remove(position);
        self.push(Message {
            media,
            ..Message::result(&call, content)
        });
        true
    }

    /// Gives every open call this result.
    pub fn close_open_calls(&mut self, content: &str) {
        for call in std::mem::take(&mut self.open) {
            self.push(Message::result(&call, content));
        }
    }

    /// Forgets the messages. The ids and the numbers of calls stay used.
    pub fn clear(&mut self) {
        self.messages = Arc::default();
        self.open.clear();
    }
}

/// Makes a tool name fit to be sent: at most 64 of `A-Z a-z 0-9 _ -`. A model may well call a tool
/// by a name that the endpoint would refuse to see again in the history.
pub fn wire_name(name: &str) -> String {
    const MAX_CHARS: usize = 64;
    let legal = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let name: String = name.chars().take(MAX_CHARS).map(legal).collect();
    if name.is_empty() {
        "unnamed".to_owned()
    } else {
        name
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(crate) fn is_zero(value: &usize) -> bool {
    *value == 0
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
