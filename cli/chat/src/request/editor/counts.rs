//! Tokens of sections, and what an edit costs.
//!
//! Messages and tools are counted as the context budget counts them, by the same [`Measure`], so that both show the
//! same numbers. The options and what a server adds count nothing.

use dunlin_host::Tool;
use serde_json::{Map, Value};

use super::blocks::{self, without_cache_marks};
use super::document::{self, Node, Shape};
use super::edits::Change;
use super::items;
use super::model::EditableRequest;
use super::path::Path;
use super::sections::{Section, SectionId, SectionKind};
use crate::media;
use crate::message::{Message, Reasoning, Replay, Role, ToolCall};
use crate::request::cost::Cost;
use crate::request::measure::Measure;

/// The tokens of each section, in the measure's own counts. After an edit only the sections that it has changed are
/// counted again.
///
/// The default has counted nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    sections: Vec<u64>,
    total: u64,
}

impl Counts {
    /// Counts all sections.
    pub fn of(request: &EditableRequest, measure: &Measure) -> Counts {
        let mut counts = Counts {
            sections: vec![0; request.sections().len()],
            total: 0,
        };
        for number in 1..=request.sections().len() {
            counts.count(request, number, measure);
        }
        counts.sum(request);
        counts
    }

    /// Counts again what a step has changed.
    pub fn update(&mut self, request: &EditableRequest, change: &Change, measure: &Measure) {
        for number in &change.sections {
            self.count(request, *number, measure);
        }
        self.sum(request);
    }

    /// The tokens of the section with this number, also of one that is deleted.
    pub fn section(&self, number: usize) -> u64 {
        let index = number.checked_sub(1);
        let tokens = index.and_then(|index| self.sections.get(index));
        tokens.copied().unwrap_or_default()
    }

    /// The tokens of what would be sent.
    pub fn total(&self) -> u64 {
        self.total
    }

    fn count(&mut self, request: &EditableRequest, number: usize, measure: &Measure) {
        let (Some(section), Some(text)) = (request.section(number), request.text_of(number)) else {
            return;
        };
        if let Some(slot) = self.sections.get_mut(number - 1) {
            *slot = tokens(section, &text, measure);
        }
    }

    fn sum(&mut self, request: &EditableRequest) {
        let sections = self.sections.iter().enumerate();
        let sent = sections.filter(|(index, _)| !request.is_deleted(index + 1));
        self.total = sent.map(|(_, tokens)| *tokens).sum();
    }
}

fn tokens(section: &Section, text: &str, measure: &Measure) -> u64 {
    let value = || serde_json::from_str::<Value>(text).unwrap_or_default();
    match section.kind {
        SectionKind::Options => 0,
        SectionKind::Raw => measure.count(text),
        SectionKind::ToolDefinition => measure.tool(&tool(&value())),
        _ => {
            let value = value();
            let message = message(&value);
            let cost =
                |message: &Message| Cost::of(message, true, |text| measure.count(text)).tokens;
            match section.id {
                // Nothing stands between it and the conversation.
                SectionId::System => measure.count(&message.content),
                // The marks around the message count with its first section.
                SectionId::Item(..) => {
                    let marks = cost(&Message::text(Role::Assistant, ""));
                    cost(&message).saturating_sub(marks)
                }
                _ => cost(&message),
            }
        }
    }
}

fn tool(value: &Value) -> Tool {
    let value = value.get("function").unwrap_or(value);
    Tool {
        name: string(value.get("name")),
        plugin: String::new(),
        description: string(value.get("description")),
        parameters: {
            let parameters = value.get("parameters").or(value.get("input_schema"));
            parameters.cloned().unwrap_or_default()
        },
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    }
}

/// What a message says, whatever dialect it is written in.
fn message(value: &Value) -> Message {
    Message {
        media: media::within(value),
        ..said(value)
    }
}

fn said(value: &Value) -> Message {
    if let Some(message) = items::message(value) {
        return message;
    }
    let parts = value.get("content").and_then(Value::as_array);
    let content = match (parts, value.get("content").or(value.get("text"))) {
        (Some(parts), _) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<&str>>().join("\n")
        }
        (None, content) => string(content),
    };
    let calls = value.get("tool_calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten();
    let in_blocks = blocks::calls(value).into_iter().map(|(_, call)| call);
    let calls = calls.chain(in_blocks).map(call);
    let thinking = parts.into_iter().flatten();
    let thinking = thinking.filter_map(|part| part.get("thinking")?.as_str());
    let thinking: Vec<&str> = thinking.collect();
    if !thinking.is_empty() {
        return Message {
            tool_calls: calls.collect(),
            reasoning: Some(Reasoning {
                field: "thinking".to_owned(),
                text: thinking.join("\n\n"),
            }),
            replay: Some(Replay::default()),
            ..Message::text(Role::Assistant, content)
        };
    }
    /// Strings that are not text of the model's.
    const MARKS: [&str; 10] = [
        "role",
        // Of a document.
        "title",
        "phase",
        "content",
        "text",
        "type",
        "name",
        "tool_name",
        "tool_call_id",
        "tool_use_id",
    ];
    let fields = value.as_object().into_iter().flatten();
    let mut others =
        fields.filter(|(key, value)| !MARKS.contains(&key.as_str()) && value.is_string());
    Message {
        tool_calls: calls.collect(),
        reasoning: others.next().map(|(field, text)| Reasoning {
            field: field.clone(),
            text: string(Some(text)),
        }),
        ..Message::text(Role::Assistant, content)
    }
}

fn call(value: &Value) -> ToolCall {
    let function = value.get("function").unwrap_or(value);
    let arguments = match function.get("arguments").or(function.get("input")) {
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_default(),
        Some(Value::Object(arguments)) => arguments.clone(),
        _ => Map::new(),
    };
    ToolCall {
        id: string(value.get("id")),
        name: string(function.get("name")),
        arguments,
        raw_arguments: None,
        number: 0,
    }
}

fn string(value: Option<&Value>) -> String {
    let text = value.and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

/// The request that a server has read last.
#[derive(Debug)]
pub struct LastRequest {
    text: String,
    root: Option<Node>,
}

impl LastRequest {
    /// The request with this body.
    pub fn new(body: &[u8]) -> LastRequest {
        let text = std::str::from_utf8(body).unwrap_or_default().to_owned();
        let root = document::parse(&text);
        LastRequest { text, root }
    }

    /// The body; empty where it was no text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The element of a list at the top of the body.
    fn element(&self, path: &Path) -> &str {
        let node = self.root.as_ref().and_then(|root| root.find(path));
        let text = node.and_then(|node| self.text.get(node.span.clone()));
        text.unwrap_or_default()
    }

    /// How many tools were offered.
    fn tools(&self) -> usize {
        let tools = self
            .root
            .as_ref()
            .and_then(|root| root.child(&"tools".into()));
        match tools.map(|tools| &tools.shape) {
            Some(Shape::Array(items)) => items.len(),
            _ => 0,
        }
    }
}

impl EditableRequest {
    /// How many tokens of the last request the current one begins with: what a server has read already and need not read
    /// again. `counts` are those of this request; of a section that differs within, its share by bytes counts.
    ///
    /// Models read the tools before the messages, wherever they stand in the body.
    pub fn kept_prefix(&self, last: &LastRequest, counts: &Counts) -> u64 {
        let is_tool = |number: &usize| {
            let section = self.section(*number);
            section.is_some_and(|section| section.kind == SectionKind::ToolDefinition)
        };
        let numbers = 1..=self.sections().len();
        let (tools, others): (Vec<usize>, Vec<usize>) = numbers.partition(is_tool);
        let mut tokens = 0;
        let mut sent_tools = 0;
        for number in tools.into_iter().chain(others) {
            let (Some(path), Some(text)) = (self.path(number), self.text(number)) else {
                continue;
            };
            let before = match path.steps() {
                // The options say nothing; a raw request is its bytes.
                [] if self
                    .section(number)
                    .is_some_and(|it| it.kind == SectionKind::Options) =>
                {
                    continue;
                }
                [] => last.text.as_str(),
                _ => last.element(&path),
            };
            if is_tool(&number) {
                sent_tools += 1;
            } else if last.tools() > sent_tools {
                // The last one had more tools before its messages.
                break;
            }
            // Marks of the cache are not read, and are in another place each time.
            let (text, before) = (without_cache_marks(text), without_cache_marks(before));
            if text == before {
                tokens += counts.section(number);
                continue;
            }
            let same = text
                .bytes()
                .zip(before.bytes())
                .take_while(|(a, b)| a == b)
                .count();
            let share = u128::from(counts.section(number)) * same as u128;
            let share = share / text.len().max(1) as u128;
            tokens += u64::try_from(share).unwrap_or_default();
            break;
        }
        tokens
    }
}
