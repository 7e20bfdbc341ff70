//! The sections of a request, and how a dialect names them.
//!
//! A dialect fills in an [`Outline`] for a body that it has written: which values of the body are sections, where each
//! comes from, and which options the endpoint knows. There are three layouts, which [`Outline::of_chat`],
//! [`Outline::of_blocks`] and [`Outline::of_items`] read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::origins::with_files;
use super::path::{Path, Step};
use crate::request::carried;

/// Where a section comes from. It names the section in saved edits, so it is the same in the next round, after other
/// sections are deleted, and after a resume.
///
/// Written `system`, `message:12`, `message:12.1`, `summary`, `tool:read_file`, `options` or `raw`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SectionId {
    /// The agent's system prompt.
    System,
    /// A message of the session, by its index from 0. Where several became one, the first of them.
    Message(usize),
    /// Another section of that message, where a protocol writes it in several; counted from 1.
    Item(usize, usize),
    /// A summary that stands for earlier messages.
    Summary,
    /// A tool, by its name.
    Tool(String),
    /// Everything beside messages and tools.
    Options,
    /// The whole body, where its shape is not known.
    Raw,
}

impl SectionId {
    /// The message that it is of, by its index.
    pub fn message(&self) -> Option<usize> {
        match self {
            SectionId::Message(index) | SectionId::Item(index, _) => Some(*index),
            _ => None,
        }
    }
}

impl From<SectionId> for String {
    fn from(it: SectionId) -> String {
        it.to_string()
    }
}

impl TryFrom<String> for SectionId {
    type Error = InvalidId;

    fn try_from(text: String) -> Result<SectionId, InvalidId> {
        text.parse()
    }
}

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SectionId::System => f.write_str("system"),
            SectionId::Message(index) => write!(f, "message:{index}"),
            SectionId::Item(index, item) => write!(f, "message:{index}.{item}"),
            SectionId::Summary => f.write_str("summary"),
            SectionId::Tool(name) => write!(f, "tool:{name}"),
            SectionId::Options => f.write_str("options"),
            SectionId::Raw => f.write_str("raw"),
        }
    }
}

/// A text that is not the id of a section.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid section id {0:?}: use system, message:N, message:N.M, summary, tool:NAME, options or raw"
)]
pub struct InvalidId(String);

impl FromStr for SectionId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<SectionId, InvalidId> {
        let invalid = || InvalidId(text.to_owned());
        Ok(match text.split_once(':') {
            Some(("message", place)) => {
                let number = |text: &str| text.parse().map_err(|_| invalid());
                match place.split_once('.') {
                    Some((index, item)) => SectionId::Item(number(index)?, number(item)?),
                    None => SectionId::Message(number(place)?),
                }
            }
            Some(("tool", name)) => SectionId::Tool(name.to_owned()),
            None if text == "system" => SectionId::System,
            None if text == "summary" => SectionId::Summary,
            None if text == "options" => SectionId::Options,
            None if text == "raw" => SectionId::Raw,
            _ => return Err(invalid()),
        })
    }
}

/// What a section is to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionKind {
    /// The system prompt.
    System,
    User,
    /// What the model wrote, its calls included.
    Assistant,
    /// Attached files, and summaries of earlier messages.
    Context,
    /// The result of a call.
    ToolResult,
    /// A tool that the model may call.
    ToolDefinition,
    /// The model, its settings and the switches of the protocol.
    Options,
    /// A whole body of unknown shape.
    Raw,
}

impl SectionKind {
    /// The word for users.
    pub fn name(self) -> &'static str {
        match self {
            SectionKind::System => "system",
            SectionKind::User => "user",
            SectionKind::Assistant => "assistant",
            SectionKind::Context => "context",
            SectionKind::ToolResult => "tool result",
            SectionKind::ToolDefinition => "tool definition",
            SectionKind::Options => "options",
            SectionKind::Raw => "raw",
        }
    }

    /// Whether sections of this kind are messages.
    pub fn is_message(self) -> bool {
        !matches!(
            self,
            SectionKind::ToolDefinition | SectionKind::Options | SectionKind::Raw
        )
    }
}

/// One section as a dialect names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Where it comes from.
    pub id: SectionId,
    pub kind: SectionKind,
    /// What users know it by, such as `result of read_file`. Names in it are the model's or a plugin's: escape before
    /// showing.
    pub label: String,
    /// Its place in the body as composed: an element of an array at the top or of one in such an element, or the body
    /// itself.
    pub path: Path,
}

/// What a value of an option has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OptionKind {
    Text,
    Number,
    /// A number from 0 on without a fraction.
    WholeNumber,
    /// `true` or `false`.
    Boolean,
}

/// An option that a dialect knows, whether or not the request has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownOption {
    /// Its place in the body: a key at the top, or one in an object at the top.
    pub path: Path,
    /// What its value has to be.
    pub kind: OptionKind,
}

impl KnownOption {
    /// The option at this path of keys.
    pub fn new(keys: &[&str], kind: OptionKind) -> KnownOption {
        let steps: Vec<Step> = keys.iter().map(|&key| Step::from(key)).collect();
        KnownOption {
            path: Path::from(steps),
            kind,
        }
    }

    /// Its last key, by which users may name it.
    pub fn key(&self) -> &str {
        match self.path.steps().last() {
            Some(Step::Key(key)) => key,
            _ => "",
        }
    }
}

/// Where a message of a request comes from, for a dialect that has only its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub id: SectionId,
    /// What its section is called instead of by its role, such as `summary of 12 earlier messages`; its kind is
    /// [`SectionKind::Context`] then.
    pub context: Option<String>,
}

impl From<SectionId> for Origin {
    fn from(id: SectionId) -> Origin {
        Origin { id, context: None }
    }
}

/// What a dialect says of a body. The protocol of `dunlin inspect` sends it in this form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// The sections in the order of the payload.
    pub sections: Vec<Section>,
    /// The options that the endpoint knows.
    pub options: Vec<KnownOption>,
}

impl Outline {
    /// The outline of a body of unknown shape: one section.
    pub fn raw() -> Outline {
        let raw = Section {
            id: SectionId::Raw,
            kind: SectionKind::Raw,
            label: "raw request".to_owned(),
            path: Path::root(),
        };
        Outline {
            sections: vec![raw],
            options: Vec::new(),
        }
    }

    /// The same, with the names of the instruction files that the system prompt holds.
    #[must_use]
    pub fn with_instructions(mut self, names: &[&str]) -> Outline {
        let mut sections = self.sections.iter_mut();
        let system = sections.find(|section| section.id == SectionId::System);
        if let (Some(system), Some(files)) = (system, with_files(names)) {
            system.label = format!("{}, {files}", system.label);
        }
        self
    }

    /// The outline of a body with `messages`, `tools` and options beside them.
    ///
    /// `origins` belong to the messages after the system prompt. A body of another shape, or with another number of
    /// messages, is one raw section.
    pub fn of_chat(body: &Value, origins: &[Origin], options: Vec<KnownOption>) -> Outline {
        match chat_sections(body, origins) {
            Some(sections) => Outline { sections, options },
            None => Outline::raw(),
        }
    }
}

fn chat_sections(body: &Value, origins: &[Origin]) -> Option<Vec<Section>> {
    let messages = body.get("messages")?.as_array()?;
    let of_session = messages.iter().filter(|it| !is_of_results(it)).count();
    let has_system = of_session == origins.len() + 1;
    if !has_system && of_session != origins.len() {
        return None;
    }
    let system = has_system.then(|| Origin::from(SectionId::System));
    let mut origins = system.iter().chain(origins);
    let mut sections = Vec::with_capacity(messages.len() + 1);
    let mut last = None;
    for (index, message) in messages.iter().enumerate() {
        if is_of_results(message) {
            let of_result = Origin {
                id: SectionId::Item(last?, 1),
                context: Some("images and documents of results".to_owned()),
            };
            sections.push(message_section(index, message, &of_result)?);
            continue;
        }
        let origin = origins.next()?;
        last = origin.id.message();
        sections.push(message_section(index, message, origin)?);
    }
    sections.extend(tool_sections(body)?);
    sections.push(options_section());
    Some(sections)
}

/// Whether a message is none of the session but carries what results hold, which are text in chat completions.
fn is_of_results(message: &Value) -> bool {
    let text = message.pointer("/content/0/text").and_then(Value::as_str);
    let begins = text.is_some_and(|text| text.starts_with(carried::OF_RESULTS));
    begins && message.get("role").and_then(Value::as_str) == Some("user")
}

/// The tools of a body.
pub(super) fn tool_sections(body: &Value) -> Option<Vec<Section>> {
    let no_tools = Vec::new();
    let tools = match body.get("tools") {
        Some(tools) => tools.as_array()?,
        None => &no_tools,
    };
    let sections = tools.iter().enumerate().map(|(index, tool)| {
        let name = tool.pointer("/function/name").or(tool.get("name"))?;
        let name = name.as_str()?;
        Some(Section {
            id: SectionId::Tool(name.to_owned()),
            kind: SectionKind::ToolDefinition,
            label: format!("tool {name}"),
            path: Path::root().then("tools").then(index),
        })
    });
    sections.collect()
}

/// Everything beside messages and tools.
pub(super) fn options_section() -> Section {
    Section {
        id: SectionId::Options,
        kind: SectionKind::Options,
        label: "options".to_owned(),
        path: Path::root(),
    }
}

fn message_section(index: usize, message: &Value, origin: &Origin) -> Option<Section> {
    let kind = match message.get("role")?.as_str()? {
        "system" | "developer" => SectionKind::System,
        _ if origin.id == SectionId::System => return None,
        "user" if origin.context.is_some() => SectionKind::Context,
        "user" => SectionKind::User,
        "assistant" => SectionKind::Assistant,
        "tool" => SectionKind::ToolResult,
        _ => return None,
    };
    let label = match (kind, &origin.context) {
        (SectionKind::Context, Some(label)) => label.clone(),
        (SectionKind::System, _) => "system prompt".to_owned(),
        (SectionKind::ToolResult, _) => {
            let name = message.get("name").or(message.get("tool_name"));
            match name.and_then(Value::as_str) {
                Some(name) => format!("result of {name}"),
                None => "result of a call".to_owned(),
            }
        }
        (SectionKind::Assistant, _) => match &*called(message) {
            [] => "assistant".to_owned(),
            names => format!("assistant calls {}", names.join(", ")),
        },
        _ => kind.name().to_owned(),
    };
    Some(Section {
        id: origin.id.clone(),
        kind,
        label,
        path: Path::root().then("messages").then(index),
    })
}

/// The names of the tools that a message calls.
fn called(message: &Value) -> Vec<&str> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    calls
        .filter_map(|call| call.pointer("/function/name")?.as_str())
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        for id in [
            SectionId::System,
            SectionId::Message(12),
            SectionId::Item(12, 1),
            SectionId::Summary,
            SectionId::Tool("mcp:a b".to_owned()),
            SectionId::Options,
            SectionId::Raw,
        ] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for text in [
            "",
            "message",
            "message:",
            "message:-1",
            "message:1.",
            "raw:1",
            "other",
        ] {
            assert!(text.parse::<SectionId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_body_of_another_shape_is_one_raw_section() {
        let origins = [Origin::from(SectionId::Message(0))];
        for body in [
            json!(null),
            json!({"input": "Hi"}),
            json!({"messages": {}}),
            json!({"messages": []}),
            json!({"messages": ["Hi"]}),
            json!({"messages": [{"role": "wizard"}]}),
            json!({"messages": [{"role": "user"}, {"role": "user"}]}),
            json!({"messages": [{"role": "user"}], "tools": {}}),
            json!({"messages": [{"role": "user"}], "tools": [{}]}),
        ] {
            let outline = Outline::of_chat(&body, &origins, Vec::new());
            assert_eq!(outline, Outline::raw(), "{body}");
        }
        let body = json!({"messages": [{"role": "user"}]});
        let outline = Outline::of_chat(&body, &origins, Vec::new());
        assert_eq!(outline.sections.len(), 2);
    }

    #[test]
    fn the_system_prompt_names_the_files_in_it() {
        let origins = [Origin::from(SectionId::Message(0))];
        let messages = |system: &[&str]| {
            let roles = system.iter().chain(&["user"]);
            let messages: Vec<Value> = roles.map(|role| json!({"role": role})).collect();
            json!({"messages": messages})
        };
        let label = |system: &[&str], names: &[&str]| {
            let outline = Outline::of_chat(&messages(system), &origins, Vec::new());
            outline.with_instructions(names).sections[0].label.clone()
        };
        let two = ["~/AGENTS.md", "AGENTS.md"];
        assert_eq!(label(&["system"], &[]), "system prompt");
        assert_eq!(
            label(&["system"], &two),
            "system prompt, with ~/AGENTS.md and AGENTS.md"
        );
        assert_eq!(label(&[], &two), "user");
    }
}
