//! The conversation to look at: `/history`, `/show`, `/copy`.
//!
//! What was said and what was called are counted together, so that one number names either.

use dunlin_host::display;
use serde_json::Value;

use crate::approval::look::Window;
use crate::approval::text::{BAR, calm, room, wrap};
use crate::message::{Message, Role, ToolCall};
use crate::ui::calls::fit;
use crate::ui::markdown;
use crate::ui::stream::Filter;
use crate::ui::style::Label;

/// How many rows `/history` prints unless it is asked for all.
const MAX_HISTORY_ROWS: usize = 50;

/// The longest text that `/show` prints, in characters: more is read elsewhere.
const MAX_SHOWN_CHARS: usize = 200_000;

/// The longest reply that is copied, in bytes. Terminals take some 100,000 bytes in base64 and drop the rest.
pub const MAX_COPY_BYTES: usize = 74_000;

/// One thing that was said or called.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    Said(&'a Message),
    Called(&'a ToolCall, Option<&'a str>),
}

fn items(messages: &[Message]) -> Vec<Item<'_>> {
    let result = |call: &ToolCall| {
        let of_call = |message: &&Message| message.tool_call_id.as_deref() == Some(&call.id);
        let found = messages.iter().find(of_call);
        found.map(|message| message.content.as_str())
    };
    let mut items = Vec::new();
    for message in messages {
        let speaks = matches!(message.role, Role::User | Role::Assistant);
        if speaks && (!message.content.trim().is_empty() || message.reasoning.is_some()) {
            items.push(Item::Said(message));
        }
        let calls = message.tool_calls.iter();
        items.extend(calls.map(|call| Item::Called(call, result(call))));
    }
    items
}

impl Item<'_> {
    fn who(&self) -> String {
        match self {
            Item::Said(message) if message.role == Role::User => "you".to_owned(),
            Item::Said(_) => "model".to_owned(),
            Item::Called(call, _) => display::escape(&call.name).into_owned(),
        }
    }

    /// Whether it is something between a message of the user and the reply to it.
    fn is_step(&self) -> bool {
        match self {
            Item::Said(message) => !message.tool_calls.is_empty(),
            Item::Called(..) => true,
        }
    }

    fn about(&self) -> String {
        match self {
            Item::Said(message) if message.content.trim().is_empty() => "(reasoning)".to_owned(),
            Item::Said(message) => calm(&message.content),
            Item::Called(call, _) => calm(&Value::Object(call.arguments.clone()).to_string()),
        }
    }
}

/// The rows of `/history`; without the steps only what was said to each other.
pub fn history(messages: &[Message], all: bool, shows_steps: bool, window: Window) -> Vec<String> {
    let items = items(messages);
    if items.is_empty() {
        return vec!["Nothing was said yet.".to_owned()];
    }
    let left_out = if all {
        0
    } else {
        items.len().saturating_sub(MAX_HISTORY_ROWS)
    };
    let mut rows = Vec::new();
    if left_out > 0 {
        let note = format!("  {left_out} before these: /history all");
        rows.push(window.styles.paint(Label::Quiet, &note));
    }
    for (index, item) in items.iter().enumerate().skip(left_out) {
        if !shows_steps && item.is_step() {
            continue;
        }
        let head = format!("{:>4} ", index + 1);
        let who = fit(&item.who(), 20);
        let left = window
            .columns
            .saturating_sub(head.len() + who.chars().count() + 4);
        rows.push(format!(
            "{}{} {}",
            window.styles.paint(Label::Quiet, &head),
            window.styles.paint(Label::Name, &who),
            fit(&item.about(), left)
        ));
    }
    rows
}

/// The rows of `/show`: the thing with this number, the last one without. `None`: there is none.
pub fn show(messages: &[Message], number: Option<usize>, window: Window) -> Option<Vec<String>> {
    let items = items(messages);
    let number = number.unwrap_or(items.len());
    let item = items.get(number.checked_sub(1)?)?;
    let name = window.styles.paint(Label::Name, &fit(&item.who(), 64));
    let mut rows = vec![format!("{number:>4} {name}")];
    match item {
        // As it was shown when it came.
        Item::Said(message) if message.role == Role::Assistant => {
            if let Some(reasoning) = &message.reasoning {
                rows.push(format!(
                    "  {}",
                    window.styles.paint(Label::Quiet, "reasoning")
                ));
                rows.extend(foreign(reasoning.text.trim(), window));
            }
            let text = display::shorten(message.content.trim(), MAX_SHOWN_CHARS);
            rows.extend(markdown::rows(&text, window.styles, window.columns));
        }
        Item::Said(message) => rows.extend(foreign(&message.content, window)),
        Item::Called(call, result) => {
            let arguments = Value::Object(call.arguments.clone());
            let arguments = serde_json::to_string_pretty(&arguments).unwrap_or_default();
            rows.extend(foreign(&arguments, window));
            match result {
                Some(result) => {
                    rows.push("  result".to_owned());
                    rows.extend(foreign(result, window));
                }
                None => rows.push("  no result yet".to_owned()),
            }
        }
    }
    Some(rows)
}

/// Text of several lines, without escape sequences, each row behind the bar.
pub(super) fn foreign(text: &str, window: Window) -> Vec<String> {
    let text = Filter::default().piece(text);
    let text = display::shorten(&text, MAX_SHOWN_CHARS);
    let bar = window.styles.paint(Label::Quiet, BAR.trim_end());
    let row = |piece: String| format!("  {bar} {piece}").trim_end().to_owned();
    text.lines()
        .map(|line| display::escape(&line.replace('\t', "    ")).into_owned())
        .flat_map(|line| wrap(&line, room(2, window.columns)))
        .map(row)
        .collect()
}

/// The call that a result belongs to: its number and what it is about.
pub fn call_of_result(messages: &[Message], result: usize) -> Option<(usize, String)> {
    let id = messages.get(result)?.tool_call_id.as_deref()?;
    let items = items(messages);
    let is_it = |item: &Item<'_>| matches!(item, Item::Called(call, _) if call.id == id);
    let index = items.iter().position(is_it)?;
    let item = items.get(index)?;
    Some((index + 1, format!("{} {}", item.who(), item.about())))
}

/// What the model said last, without escape sequences and what else could act on a terminal.
pub fn last_reply(messages: &[Message]) -> Option<String> {
    let said =
        |message: &&Message| message.role == Role::Assistant && !message.content.trim().is_empty();
    let last = messages.iter().rev().find(said)?;
    Some(Filter::default().piece(last.content.trim()))
}
