//! The layouts in which a body can be written, and the sections of those where what is said is no plain list of messages.

use serde_json::Value;

use super::path::Path;
use super::sections::{
    KnownOption, Origin, Outline, Section, SectionId, SectionKind, options_section, tool_sections,
};
use super::{blocks, items};

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// Messages, as in chat completions.
    Chat,
    /// Messages of blocks, as in Anthropic's Messages API.
    Blocks,
    /// Items, as in OpenAI's Responses API.
    Items,
}

/// A value that is a section.
pub(super) struct Unit<'a> {
    pub(super) path: Path,
    pub(super) value: &'a Value,
    pub(super) kind: SectionKind,
    /// Whether it is of the same message as the one before.
    pub(super) continues: bool,
}

impl Layout {
    /// The layout of a body, as far as it tells by itself.
    pub(super) fn of(body: &Value) -> Layout {
        match body {
            _ if body.get("input").is_some() => Layout::Items,
            _ if blocks::is_in_blocks(body) => Layout::Blocks,
            _ => Layout::Chat,
        }
    }

    /// What is said in a body: the values of the sections before the tools. `None`: it is not in this layout.
    pub(super) fn said(self, body: &Value) -> Option<Vec<&Value>> {
        let units = self.units(body)?.into_iter();
        Some(units.map(|unit| unit.value).collect())
    }

    /// The outline of a body of which nothing else is known.
    pub(super) fn outline(self, body: &Value) -> Option<Outline> {
        let units = self.units(body)?.into_iter();
        let of_session = units.filter(|it| it.kind != SectionKind::System && !it.continues);
        let origins = (0..of_session.count()).map(|it| SectionId::Message(it).into());
        let origins: Vec<Origin> = origins.collect();
        Some(match self {
            Layout::Chat => Outline::of_chat(body, &origins, Vec::new()),
            Layout::Blocks => Outline::of_blocks(body, &origins, Vec::new()),
            Layout::Items => Outline::of_items(body, &origins, Vec::new()),
        })
    }

    fn units(self, body: &Value) -> Option<Vec<Unit<'_>>> {
        match self {
            Layout::Chat => Some(messages(body)),
            Layout::Blocks => blocks::units(body),
            Layout::Items => items::units(body),
        }
    }
}

/// The messages of chat completions.
fn messages(body: &Value) -> Vec<Unit<'_>> {
    let messages = body.get("messages").and_then(Value::as_array);
    let messages = messages.into_iter().flatten().enumerate();
    let units = messages.map(|(index, value)| Unit {
        path: Path::root().then("messages").then(index),
        value,
        kind: match string(value, "role") {
            "system" | "developer" if index == 0 => SectionKind::System,
            _ => SectionKind::User,
        },
        continues: false,
    });
    units.collect()
}

impl Outline {
    /// The outline of a body that is written in blocks. `origins` belong to the messages of the session in it, in their
    /// order. A body of another shape, or with another number of messages, is one raw section.
    pub fn of_blocks(body: &Value, origins: &[Origin], options: Vec<KnownOption>) -> Outline {
        Outline::of_units(body, blocks::units(body), origins, options)
    }

    /// The same of a body that is written in items.
    pub fn of_items(body: &Value, origins: &[Origin], options: Vec<KnownOption>) -> Outline {
        Outline::of_units(body, items::units(body), origins, options)
    }

    fn of_units(
        body: &Value,
        units: Option<Vec<Unit<'_>>>,
        origins: &[Origin],
        options: Vec<KnownOption>,
    ) -> Outline {
        match units.and_then(|units| sections(body, units, origins)) {
            Some(sections) => Outline { sections, options },
            None => Outline::raw(),
        }
    }
}

fn sections(body: &Value, units: Vec<Unit<'_>>, origins: &[Origin]) -> Option<Vec<Section>> {
    let mut origins = origins.iter();
    let mut names: Vec<(&str, &str)> = Vec::new();
    let mut sections: Vec<Section> = Vec::with_capacity(units.len() + 1);
    // The message that the last section is of, and how many others it has.
    let mut message: Option<(usize, usize)> = None;
    for unit in units {
        if unit.kind == SectionKind::System {
            sections.push(Section {
                id: SectionId::System,
                kind: unit.kind,
                label: "system prompt".to_owned(),
                path: unit.path,
            });
            continue;
        }
        let (id, context) = match &mut message {
            Some((index, others)) if unit.continues => {
                *others += 1;
                (SectionId::Item(*index, *others), None)
            }
            _ => {
                let origin = origins.next()?;
                message = origin.id.message().map(|index| (index, 0));
                (origin.id.clone(), origin.context.as_ref())
            }
        };
        let kind = match context {
            Some(_) if unit.kind == SectionKind::User => SectionKind::Context,
            _ => unit.kind,
        };
        let label = match (kind, context) {
            (SectionKind::Context, Some(label)) => label.clone(),
            (SectionKind::ToolResult, _) => {
                let id = result_id(unit.value);
                let name = names.iter().rev().find(|(known, _)| *known == id);
                match name {
                    Some((_, name)) => format!("result of {name}"),
                    None => "result of a call".to_owned(),
                }
            }
            (SectionKind::Assistant, _) => {
                let calls = calls(unit.value);
                let called: Vec<&str> = calls.iter().map(|call| string(call, "name")).collect();
                names.extend(
                    calls
                        .iter()
                        .map(|call| (call_id(call), string(call, "name"))),
                );
                match called.as_slice() {
                    [] if items::is_reasoning(unit.value) => "assistant thinks".to_owned(),
                    [] => "assistant".to_owned(),
                    names => format!("assistant calls {}", names.join(", ")),
                }
            }
            _ => kind.name().to_owned(),
        };
        sections.push(Section {
            id,
            kind,
            label,
            path: unit.path,
        });
    }
    // Each message of the session is in it.
    if origins.next().is_some() {
        return None;
    }
    sections.extend(tool_sections(body)?);
    sections.push(options_section());
    Some(sections)
}

/// The call that a result is of, where that is a block or an item.
fn result_id(result: &Value) -> &str {
    let mut fields = ["tool_use_id", "call_id"].into_iter();
    let id = fields.find_map(|field| result.get(field)?.as_str());
    id.unwrap_or_default()
}

/// The calls in a section of the model's, where they are blocks or items.
fn calls(value: &Value) -> Vec<&Value> {
    match items::is_call(value) {
        true => vec![value],
        false => blocks::calls(value)
            .into_iter()
            .map(|(_, call)| call)
            .collect(),
    }
}

/// The id of a call in such a layout.
fn call_id(call: &Value) -> &str {
    match items::is_call(call) {
        true => string(call, "call_id"),
        false => string(call, "id"),
    }
}

/// A field that holds a text; empty where it does not.
pub(super) fn string<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a value says that it is of this type.
pub(super) fn is_of(value: &Value, kind: &str) -> bool {
    string(value, "type") == kind
}
