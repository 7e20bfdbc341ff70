//! The messages of the protocol, as far as Dunlin speaks it: version 1 of <https://agentclientprotocol.com>.
//!
//! These are types of Dunlin's own. The official crate has twenty times as many, and switches on features of `serde_json`
//! for the whole program. Fields that are not known are overlooked, as the protocol demands.

use std::path::PathBuf;

use dunlin_chat::todo::StepStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version that is spoken.
pub const VERSION: u16 = 1;

/// The id of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    Number(i64),
    Text(String),
}

/// Why a request is refused, in JSON-RPC's form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    code: i32,
    pub message: String,
}

impl Refusal {
    fn new(code: i32, message: impl Into<String>) -> Refusal {
        let message = message.into();
        Refusal { code, message }
    }

    pub fn not_json(message: impl Into<String>) -> Refusal {
        Refusal::new(-32700, message)
    }

    /// It is no request, or comes at a time at which it cannot be done.
    pub fn invalid(message: impl Into<String>) -> Refusal {
        Refusal::new(-32600, message)
    }

    pub fn no_method(method: &str) -> Refusal {
        Refusal::new(-32601, format!("there is no method {method:?}"))
    }

    pub fn params(message: impl Into<String>) -> Refusal {
        Refusal::new(-32602, message)
    }

    /// Dunlin, or what it works with, failed.
    pub fn failed(message: impl Into<String>) -> Refusal {
        Refusal::new(-32603, message)
    }

    pub fn no_session(id: &str) -> Refusal {
        Refusal::new(-32002, format!("there is no open session {id:?}"))
    }
}

/// `initialize`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Initialize {
    /// The newest version that the client speaks.
    pub protocol_version: u16,
    #[serde(default)]
    pub client_capabilities: Value,
}

impl Initialize {
    /// Whether the client shows forms.
    pub fn has_forms(&self) -> bool {
        let forms = self.client_capabilities.pointer("/elicitation/form");
        forms.is_some_and(Value::is_object)
    }
}

/// `session/new`, `session/load` and `session/resume`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Open {
    pub cwd: PathBuf,
    #[serde(default)]
    pub mcp_servers: Option<Vec<Value>>,
    /// Folders beside the first one; Dunlin has one project.
    #[serde(default)]
    pub additional_directories: Option<Vec<PathBuf>>,
    /// Of a session that exists.
    #[serde(default)]
    pub session_id: Option<String>,
}

/// An MCP server that the client wants to be used.
#[derive(Debug, Deserialize)]
pub struct McpServer {
    pub name: String,
    /// How it is reached; without it a program.
    #[serde(default, rename = "type")]
    pub transport: Option<String>,
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default)]
    pub args: Option<Vec<String>>,
    #[serde(default)]
    pub env: Option<Vec<Pair>>,
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default)]
    pub headers: Option<Vec<Pair>>,
}

/// A variable or a header.
#[derive(Debug, Deserialize)]
pub struct Pair {
    pub name: String,
    pub value: String,
}

/// `session/list`
#[derive(Debug, Deserialize)]
pub struct List {
    /// The project; without it, all of them.
    #[serde(default)]
    pub cwd: Option<PathBuf>,
    #[serde(default)]
    pub cursor: Option<String>,
}

/// `session/prompt`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    pub session_id: String,
    pub prompt: Vec<Block>,
}

/// `session/set_mode`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetMode {
    pub session_id: String,
    pub mode_id: String,
}

/// The modes of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Modes {
    pub current_mode_id: &'static str,
    pub available_modes: Vec<Mode>,
}

/// One of them.
#[derive(Debug, Serialize)]
pub struct Mode {
    pub id: &'static str,
    pub name: &'static str,
    pub description: &'static str,
}

/// `session/cancel` and `session/close`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfSession {
    pub session_id: String,
}

/// A part of a prompt.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    Text {
        text: String,
    },
    ResourceLink {
        uri: String,
        #[serde(default)]
        name: String,
    },
    Resource {
        resource: Resource,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        /// In base64. What it says of its type is not needed.
        #[serde(default)]
        data: String,
        /// Where it is from.
        #[serde(default)]
        uri: Option<String>,
    },
    Audio {},
}

/// What a part of a prompt holds.
#[derive(Debug, Deserialize)]
pub struct Resource {
    pub uri: String,
    /// Without it the content is not text.
    #[serde(default)]
    pub text: Option<String>,
}

/// What the client answers to `session/request_permission`.
#[derive(Debug, Deserialize)]
pub struct Permission {
    pub outcome: Outcome,
}

/// Which option was chosen.
#[derive(Debug, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Cancelled,
    #[serde(rename_all = "camelCase")]
    Selected {
        option_id: String,
    },
}

/// Text for the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "text")]
pub struct Text {
    pub text: String,
}

/// `session/update`
#[derive(Debug, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case")]
pub enum Update {
    UserMessageChunk {
        content: Text,
    },
    AgentMessageChunk {
        content: Text,
    },
    AgentThoughtChunk {
        content: Text,
    },
    /// A call that was not told of before.
    ToolCall(Call),
    /// What has changed of a call.
    #[serde(rename = "tool_call_update")]
    ToolCallChanged(Call),
    Plan {
        entries: Vec<PlanEntry>,
    },
    #[serde(rename = "available_commands_update", rename_all = "camelCase")]
    AvailableCommands {
        available_commands: Vec<Command>,
    },
}

impl Update {
    pub fn user(text: impl Into<String>) -> Update {
        let content = Text { text: text.into() };
        Update::UserMessageChunk { content }
    }

    pub fn message(text: impl Into<String>) -> Update {
        let content = Text { text: text.into() };
        Update::AgentMessageChunk { content }
    }

    pub fn thought(text: impl Into<String>) -> Update {
        let content = Text { text: text.into() };
        Update::AgentThoughtChunk { content }
    }
}

/// What there is to know of a call, or what has changed of it.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    pub tool_call_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<Content>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locations: Option<Vec<Location>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_input: Option<Value>,
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Read,
    Edit,
    Delete,
    Move,
    Search,
    Execute,
    Think,
    Fetch,
    Other,
}

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
}

/// What a call shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    Content {
        content: Text,
    },
    /// One place of a file in which it differs.
    #[serde(rename_all = "camelCase")]
    Diff {
        path: String,
        old_text: Option<String>,
        new_text: String,
    },
}

impl Content {
    pub fn text(text: impl Into<String>) -> Content {
        let content = Text { text: text.into() };
        Content::Content { content }
    }
}

/// A file that a call is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Location {
    pub path: String,
    /// From 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
}

/// A step of the plan.
#[derive(Debug, Serialize)]
pub struct PlanEntry {
    pub content: String,
    pub priority: &'static str,
    pub status: PlanStatus,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    Pending,
    InProgress,
    Completed,
}

impl From<StepStatus> for PlanStatus {
    fn from(status: StepStatus) -> PlanStatus {
        match status {
            StepStatus::Pending => PlanStatus::Pending,
            StepStatus::InProgress => PlanStatus::InProgress,
            StepStatus::Completed => PlanStatus::Completed,
        }
    }
}

/// What can be typed behind a slash.
#[derive(Debug, Serialize)]
pub struct Command {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Input>,
}

/// What can be typed behind that.
#[derive(Debug, Serialize)]
pub struct Input {
    pub hint: String,
}

/// `session/request_permission`
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestPermission<'a> {
    pub session_id: &'a str,
    pub tool_call: Call,
    pub options: Vec<PermissionOption>,
}

/// An answer that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionOption {
    pub option_id: &'static str,
    pub name: &'static str,
    pub kind: OptionKind,
}

/// How an answer is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    AllowOnce,
    AllowAlways,
    RejectOnce,
    RejectAlways,
}

/// Why a turn is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Cancelled,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_a_prompt_are_read() {
        let check = |block: Value, is_read: bool| {
            let read = serde_json::from_value::<Block>(block.clone());
            assert_eq!(read.is_ok(), is_read, "{block}: {read:?}");
        };
        check(
            json!({"type": "text", "text": "a", "annotations": null, "_meta": {}}),
            true,
        );
        check(
            json!({"type": "resource_link", "uri": "file:///a", "name": "a", "size": 1}),
            true,
        );
        check(
            json!({"type": "resource", "resource": {"uri": "a", "text": "b", "mimeType": "c"}}),
            true,
        );
        check(
            json!({"type": "resource", "resource": {"uri": "a", "blob": "YQ=="}}),
            true,
        );
        check(
            json!({"type": "image", "data": "YQ==", "mimeType": "image/png"}),
            true,
        );
        check(json!({"type": "video"}), false);
        check(json!({"type": "text"}), false);
        check(json!({"text": "a"}), false);
        check(json!("a"), false);
    }

    #[test]
    fn an_answer_is_an_option_or_none() {
        let read = |value: Value| serde_json::from_value::<Permission>(value).map(|it| it.outcome);
        let selected = read(json!({"outcome": {"outcome": "selected", "optionId": "a"}}));
        assert!(matches!(selected, Ok(Outcome::Selected { option_id }) if option_id == "a"));
        let cancelled = read(json!({"outcome": {"outcome": "cancelled"}}));
        assert!(matches!(cancelled, Ok(Outcome::Cancelled)));
        for neither in [
            json!(null),
            json!({"outcome": "selected"}),
            json!({"outcome": {"outcome": "selected"}}),
            json!({"outcome": {"outcome": "allowed", "optionId": "a"}}),
        ] {
            assert!(read(neither).is_err());
        }
    }
}
