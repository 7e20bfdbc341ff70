//! The conversation to look at: `/history`, `/show`, `/copy`.
//!
//! A number names a call, as everywhere; a number behind an `m` names a message, as in `m3`.

use dunlin_host::display;
use serde_json::Value;

use super::expand;
use dunlin_chat::media::Media;
use dunlin_chat::message::{Message, Role, ToolCall};
use dunlin_chat::turn::log::CallLog;
use dunlin_chat::turn::{CallRecord, CallState};
use dunlin_host::display::one_line;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::approval::text::{BAR, room, wrap};
use dunlin_terminal::ui::calls::{self, fit};
use dunlin_terminal::ui::markdown;
use dunlin_terminal::ui::stream::Filter;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::wrap as words;

/// How many rows `/history` prints unless it is asked for all.
const MAX_HISTORY_ROWS: usize = 50;

/// The longest text that `/show` prints, in characters: more is read elsewhere.
const MAX_SHOWN_CHARS: usize = 200_000;

/// What stands before the number of a message.
const MESSAGE_MARK: char = 'm';

/// One thing that was said or called.
#[derive(Debug, Clone, Copy)]
enum Item<'a> {
    /// A message and its number among the messages, from 1.
    Message(usize, &'a Message),
    Call(&'a ToolCall, Option<&'a str>),
}

fn items(messages: &[Message]) -> Vec<Item<'_>> {
    let result = |call: &ToolCall| {
        let of_call = |message: &&Message| message.tool_call_id.as_deref() == Some(&call.id);
        let found = messages.iter().find(of_call);
        found.map(|message| message.content.as_str())
    };
    let mut items = Vec::new();
    let mut said = 0;
    for message in messages {
        let speaks = matches!(message.role, Role::User | Role::Assistant);
        let is_said = !message.content.trim().is_empty() || !message.media.is_empty();
        if speaks && (is_said || message.reasoning.is_some()) {
            said += 1;
            items.push(Item::Message(said, message));
        }
        let calls = message.tool_calls.iter();
        items.extend(calls.map(|call| Item::Call(call, result(call))));
    }
    items
}

impl Item<'_> {
    /// What names it: `m3` for a message, `3` for a call.
    fn name(&self) -> String {
        match self {
            Item::Message(number, _) => format!("{MESSAGE_MARK}{number}"),
            Item::Call(call, _) => call.number.to_string(),
        }
    }

    fn who(&self) -> String {
        match self {
            Item::Message(_, message) if message.role == Role::User => "you".to_owned(),
            Item::Message(..) => "model".to_owned(),
            Item::Call(call, _) => display::escape(&call.name).into_owned(),
        }
    }

    /// Whether it is something between a message of the user and the reply to it.
    fn is_step(&self) -> bool {
        match self {
            Item::Message(_, message) => !message.tool_calls.is_empty(),
            Item::Call(..) => true,
        }
    }

    fn about(&self) -> String {
        match self {
            Item::Message(_, message) if message.content.trim().is_empty() => {
                let media: Vec<String> = message.media.iter().map(Media::to_string).collect();
                match media.is_empty() {
                    true => "(reasoning)".to_owned(),
                    false => one_line(&media.join(" ")),
                }
            }
            // Not escaped: a line end is a space here.
            Item::Message(_, message) => {
                // Of the user's the words alone: what Dunlin added to them is shown by /show.
                let said = Some(message.typed()).filter(|typed| !typed.trim().is_empty());
                let words = said.unwrap_or(&message.content).split_whitespace();
                let words: Vec<&str> = words.collect();
                one_line(&words.join(" "))
            }
            Item::Call(call, _) => one_line(&Value::Object(call.arguments.clone()).to_string()),
        }
    }
}

/// The rows of `/history`; without the steps only what was said to each other. `log` says what became of the calls.
pub fn history(
    messages: &[Message],
    log: &CallLog,
    all: bool,
    shows_steps: bool,
    window: Window,
) -> Vec<String> {
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
    for item in items.iter().skip(left_out) {
        if !shows_steps && item.is_step() {
            continue;
        }
        let head = format!("{:>4} ", item.name());
        if let Item::Call(call, _) = item
            && let Some(record) = log.find(Some(call.number))
        {
            // As it was shown when it ended.
            rows.push(calls::line(&record.view(), window.styles, window.columns));
            // Its line has room for them only where it ended well.
            let is_done = record.state == CallState::Completed;
            if let Some(changed) = record.changed.filter(|_| !is_done) {
                let changed = format!("    before that it changed files ({changed})");
                rows.push(
                    window
                        .styles
                        .paint(Label::Quiet, &fit(&changed, window.columns)),
                );
            }
            continue;
        }
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

/// The rows of `/show`: the call or message with this name, the last one where it is empty. `None`: there is none.
/// A call is shown as `/expand` shows it, with the result that the conversation has where `log` has none any more.
pub fn show(
    messages: &[Message],
    log: &CallLog,
    name: &str,
    window: Window,
) -> Option<Vec<String>> {
    let items = items(messages);
    let name = name.trim().to_ascii_lowercase();
    let item = match name.as_str() {
        "" => items.last(),
        name => items.iter().find(|item| item.name() == name),
    }?;
    if let Item::Call(call, result) = item
        && let Some(record) = log.find(Some(call.number))
    {
        let record = CallRecord {
            result: record.result.or_else(|| result.map(str::to_owned)),
            ..record
        };
        return Some(expand::call(&record, true, window));
    }
    let who = window.styles.paint(Label::Name, &fit(&item.who(), 64));
    let mut rows = vec![format!("{:>4} {who}", item.name())];
    match item {
        // As it was shown when it came.
        Item::Message(_, message) if message.role == Role::Assistant => {
            if let Some(reasoning) = &message.reasoning {
                rows.push(format!(
                    "  {}",
                    window.styles.paint(Label::Quiet, "reasoning")
                ));
                rows.extend(prose(reasoning.text.trim(), window));
            }
            let text = display::shorten(message.content.trim(), MAX_SHOWN_CHARS);
            rows.extend(markdown::rows(&text, window.styles, window.columns));
        }
        Item::Message(_, message) => {
            rows.extend(prose(&message.content, window));
            for media in &message.media {
                rows.extend(prose(&media.to_string(), window));
            }
        }
        Item::Call(call, result) => {
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
    barred(text, window, wrap)
}

/// The same for sentences: their rows are broken between words.
fn prose(text: &str, window: Window) -> Vec<String> {
    barred(text, window, words::rows)
}

fn barred(text: &str, window: Window, wrap: impl Fn(&str, usize) -> Vec<String>) -> Vec<String> {
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
    items.iter().find_map(|item| match item {
        Item::Call(call, _) if call.id == id => {
            Some((call.number, format!("{} {}", item.who(), item.about())))
        }
        _ => None,
    })
}

/// What the model said last, without escape sequences and what else could act on a terminal.
pub fn last_reply(messages: &[Message]) -> Option<String> {
    let said =
        |message: &&Message| message.role == Role::Assistant && !message.content.trim().is_empty();
    let last = messages.iter().rev().find(said)?;
    Some(Filter::default().piece(last.content.trim()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use dunlin_chat::turn::ChangedLines;
    use dunlin_terminal::ui::style::Styles;

    #[test]
    fn what_was_said_is_read_as_sentences() {
        let window = Window {
            columns: 30,
            rows: 24,
            styles: Styles::plain(),
        };
        let messages = [Message::text(
            Role::User,
            "Look at the\n  sandpipers of the northern shore.\n",
        )];
        let log = CallLog::default();
        assert_eq!(
            history(&messages, &log, true, true, window),
            ["  m1 you Look at t…n shore."]
        );
        assert_eq!(
            show(&messages, &log, "m1", window).unwrap()[1..],
            [
                "  │ Look at the",
                "  │   sandpipers of the",
                "  │ northern shore."
            ]
        );
    }

    #[test]
    fn calls_are_listed_and_shown_with_their_outcome() {
        let call = |number: usize, id: &str| ToolCall {
            number,
            id: id.to_owned(),
            name: "read_file".to_owned(),
            raw_arguments: None,
            arguments: json!({ "file_path": "a.txt" }).as_object().unwrap().clone(),
        };
        let result = |id: &str, text: &str| Message {
            tool_call_id: Some(id.to_owned()),
            ..Message::text(Role::Tool, text)
        };
        let messages = [
            Message::text(Role::User, "read it"),
            Message {
                tool_calls: vec![call(1, "a"), call(2, "b"), call(3, "c")],
                ..Message::text(Role::Assistant, "")
            },
            result("a", "the text"),
            result("b", "not run: call 1 was denied"),
        ];
        let log = CallLog::default();
        for (number, state) in [(1, CallState::Denied), (2, CallState::NotRun)] {
            let arguments = json!({ "file_path": "a.txt" });
            let changed = (state == CallState::Denied).then_some(ChangedLines {
                added: 2,
                removed: 1,
            });
            log.keep(CallRecord {
                number,
                state,
                changed,
                ..CallRecord::sample("read_file", arguments)
            });
        }
        let window = Window {
            columns: 60,
            rows: 24,
            styles: Styles::plain(),
        };
        assert_eq!(
            history(&messages, &log, true, true, window),
            [
                "  m1 you read it",
                "  ✗ 1 read_file a.txt · denied",
                "    before that it changed files (+2 −1)",
                "  – 2 read_file a.txt · not run",
                "   3 read_file {\"file_path\":\"a.txt\"}",
            ]
        );
        let shown = show(&messages, &log, "1", window).unwrap();
        assert_eq!(shown[0], "  ✗ 1 read_file · denied");
        assert_eq!(shown[shown.len() - 1], "  │ the text");
    }
}
