//! What was said last, shown again when a session is resumed.

use std::borrow::Cow;
use std::collections::HashMap;

use dunlin_apps::blocks::{Folding, Shown};
use dunlin_host::display::{escape, one_line, width};

use super::agents;
use crate::app::App;
use crate::subagents::rows;
use dunlin_chat::message::{Message, Role};
use dunlin_chat::session::Loaded;
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::CallRecord;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;

/// Rows of the screen that are left for what stands around the transcript.
const OTHER_ROWS: usize = 8;

/// The fewest rows that are shown, however small the window is.
const MIN_ROWS: usize = 6;

/// Most rows of one message of the user.
const MAX_SAID_ROWS: usize = 5;

/// Shows the end of a conversation, as much as fits the screen: whole exchanges, and of the last one at least the
/// end of the reply. `folds`: replies are apps, whose parts are folded.
pub fn show(app: &App, loaded: &Loaded, folds: bool) {
    let ui = &app.ui;
    let window = ui.window();
    let room = window.rows.saturating_sub(OTHER_ROWS).max(MIN_ROWS);
    let mut messages = Cow::Borrowed(&loaded.messages);
    if folds {
        let replies = messages.to_mut().iter_mut();
        for reply in replies.filter(|it| it.role == Role::Assistant) {
            reply.content = folded(&reply.content);
        }
    }
    let start = first_shown(&messages, room, window.columns);
    let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    let said = |message: &&Message| message.role == Role::User;
    let before = messages.iter().take(start).filter(said).count();
    if before > 0 {
        let before = counted(before, "earlier message", "earlier messages");
        quiet(&format!("  … {before} by you: /history"));
    }
    let records = loaded.records();
    let records: HashMap<usize, &CallRecord> = records
        .iter()
        .rev()
        .map(|record| (record.number, record))
        .collect();
    for (index, message) in messages.iter().enumerate().skip(start) {
        match message.role {
            Role::User => {
                for row in user_rows(message, window.columns) {
                    quiet(&row);
                }
                for media in &message.media {
                    quiet(&format!("  {}", one_line(&media.to_string())));
                }
            }
            Role::Assistant => {
                // What was said before its calls is short; the last reply may be a book.
                let is_last = index + 1 == messages.len();
                let left = if is_last { room } else { room / 2 };
                reply(ui, &message.content, left, window.columns);
                if message.partial {
                    quiet("(interrupted)");
                }
                let calls = message.tool_calls.iter();
                for record in calls.filter_map(|call| records.get(&call.number)) {
                    let mut call = record.view();
                    if let Some(subagent) = agents::of_call(app, record) {
                        rows::tell(&mut call, &subagent);
                    }
                    ui.call(&call);
                }
            }
            Role::System | Role::Tool => {}
        }
    }
}

/// A reply with a line for each part of an app.
fn folded(content: &str) -> String {
    let mut folding = Folding::default();
    let mut shown = folding.piece(content);
    shown.extend(folding.end());
    let texts = shown.into_iter().filter_map(|shown| match shown {
        Shown::Text(text) => Some(text),
        Shown::Growing(_) => None,
        // A paragraph of its own.
        Shown::Complete(part) => Some(format!("\n{part}\n\n")),
    });
    texts.collect()
}

/// Where to begin: with a message of the user, so that all behind it fits; at the latest with the last one.
fn first_shown(messages: &[Message], room: usize, columns: usize) -> usize {
    let mut rows = 0;
    let mut start = None;
    for (index, message) in messages.iter().enumerate().rev() {
        rows += match message.role {
            Role::User => user_rows(message, columns).len() + message.media.len(),
            Role::Assistant => rows_of(&message.content, columns) + message.tool_calls.len(),
            Role::System | Role::Tool => 0,
        };
        if message.role == Role::User {
            if start.is_some() && rows > room {
                break;
            }
            start = Some(index);
        }
    }
    start.unwrap_or_default()
}

/// How many rows a text takes.
fn rows_of(text: &str, columns: usize) -> usize {
    let rows = |line: &str| width(line).div_ceil(columns.max(1)).max(1);
    text.trim().lines().map(rows).sum()
}

/// A message of the user: what the user typed, the names of the files with it, and how much more the model was told. What that
/// was is not shown, as notes of Dunlin cannot be told from the files.
fn user_rows(message: &Message, columns: usize) -> Vec<String> {
    let typed = message.typed();
    let mut rows = said_rows(typed, columns);
    if !message.attached.is_empty() {
        let names: Vec<String> = message.attached.iter().map(|it| one_line(it)).collect();
        let row = format!("  attached: {}", names.join(", "));
        rows.push(fit(&row, columns.saturating_sub(1)));
    }
    let more = message.content.chars().count() - typed.chars().count();
    if more > 0 {
        rows.push(format!("  {more} more characters went with it: /show"));
    }
    rows
}

/// What the user said, behind the mark of the prompt.
fn said_rows(content: &str, columns: usize) -> Vec<String> {
    let lines: Vec<&str> = content.trim().lines().collect();
    let shown = lines.iter().take(MAX_SAID_ROWS).enumerate();
    let mut rows: Vec<String> = shown
        .map(|(index, line)| {
            let mark = if index == 0 { "› " } else { "  " };
            let line = escape(&line.replace('\t', "    ")).into_owned();
            fit(&format!("{mark}{line}"), columns.saturating_sub(1))
        })
        .collect();
    if lines.len() > MAX_SAID_ROWS {
        let more = lines.len() - MAX_SAID_ROWS;
        rows.push(format!("  … {}", counted(more, "more line", "more lines")));
    }
    rows
}

/// A reply; of one that is too long its end.
fn reply(ui: &Ui, content: &str, room: usize, columns: usize) {
    let content = content.trim();
    if content.is_empty() {
        return;
    }
    let (left_out, rest) = end_of(content, room, columns);
    if left_out > 0 {
        let more = counted(left_out, "more line", "more lines");
        let note = format!("  … {more} before these: /show shows all of it");
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
    ui.reply_piece(&rest);
    ui.end_reply();
}

/// The last lines that fit, and how many there are before them. Code stays code: what began before is begun anew.
fn end_of(content: &str, room: usize, columns: usize) -> (usize, String) {
    let lines: Vec<&str> = content.lines().collect();
    let mut rows = 0;
    let mut from = lines.len();
    for (index, line) in lines.iter().enumerate().rev() {
        rows += rows_of(line, columns);
        if rows > room && from < lines.len() {
            break;
        }
        from = index;
    }
    let (before, rest) = lines.split_at(from);
    let fence = |line: &&&str| line.trim_start().starts_with("```");
    let fences: Vec<&&str> = before.iter().filter(fence).collect();
    let mut text = String::new();
    if fences.len() % 2 == 1
        && let Some(opening) = fences.last()
    {
        text.push_str(opening);
        text.push('\n');
    }
    text.push_str(&rest.join("\n"));
    (from, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::text(Role::User, text)
    }

    fn model(text: &str) -> Message {
        Message::text(Role::Assistant, text)
    }

    #[test]
    fn whole_exchanges_are_shown_as_far_as_they_fit() {
        let messages = [
            user("one"),
            model("1\n2\n3"),
            user("two"),
            model("4"),
            user("three"),
            model(&"x\n".repeat(50)),
        ];
        let check = |count: usize, room: usize, expected: usize| {
            assert_eq!(first_shown(&messages[..count], room, 80), expected);
        };
        check(4, 10, 0);
        check(4, 6, 0);
        check(4, 5, 2);
        check(4, 2, 2);
        check(4, 1, 2);
        check(6, 20, 4);
        check(0, 20, 0);
        assert_eq!(first_shown(&[model("x")], 5, 80), 0);
    }

    #[test]
    fn parts_of_an_app_are_a_line_each() {
        let reply = "Here.\n```html\n<p>\n```\n```main-js\n1\n2\n```\nDone.";
        let expected = "Here.\n\nhtml · 1 line\n\n\nmain-js · 2 lines\n\nDone.";
        assert_eq!(folded(reply), expected);
        assert_eq!(folded("```sh\nls\n```"), "```sh\nls\n```");
    }

    #[test]
    fn the_end_of_a_long_reply_is_shown() {
        let check = |text: &str, room: usize, expected: (usize, &str)| {
            let (left_out, rest) = end_of(text, room, 10);
            assert_eq!((left_out, rest.as_str()), expected, "{text:?}");
        };
        check("a\nb\nc", 5, (0, "a\nb\nc"));
        check("a\nb\nc", 2, (1, "b\nc"));
        check(
            "0123456789012345678901234567890",
            2,
            (0, "0123456789012345678901234567890"),
        );
        check("a\n01234567890123456789\nb", 2, (2, "b"));
        check(
            "```rust\nfn a() {}\nfn b() {}\n```",
            2,
            (2, "```rust\nfn b() {}\n```"),
        );
        check("```\na\n```\nb\nc", 2, (3, "b\nc"));
    }

    #[test]
    fn what_dunlin_added_to_a_message_is_no_part_of_what_was_said() {
        let mut message = user("go on\n\nthe text of a file\n\n(A note.)");
        message.typed = Some("go on".len());
        message.attached = vec!["a.txt".to_owned()];
        assert_eq!(
            user_rows(&message, 40),
            [
                "› go on",
                "  attached: a.txt",
                "  31 more characters went with it: /show"
            ]
        );
        assert_eq!(
            user_rows(&user("go on\n\n(A)"), 40),
            ["› go on", "  ", "  (A)"]
        );
    }

    #[test]
    fn what_was_said_stays_in_its_rows() {
        assert_eq!(said_rows("one\n\ttwo", 40), ["› one", "      two"]);
        assert_eq!(said_rows("a\x1b[2Jb", 40), ["› a\\u{1b}[2Jb"]);
        let rows = said_rows(&"line\n".repeat(9), 40);
        assert_eq!(rows.len(), MAX_SAID_ROWS + 1);
        assert_eq!(rows[MAX_SAID_ROWS], "  … 4 more lines");
        assert!(width(&said_rows(&"x".repeat(100), 20)[0]) < 20);
    }
}
