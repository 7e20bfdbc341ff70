//! `/help`: what can be typed at the prompt, on as many columns as there are.

use dunlin_host::display::width;

use super::slash::{GROUPS, table};
use crate::app::App;
use crate::prompt::slash_table::{Command, Input};
use crate::prompt::templates;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::wrap;

/// What is to be left beside the column of what is typed; else what it does stands below.
const LEAST_BESIDE: usize = 30;

/// How far to the right it stands there.
const BELOW: usize = 6;

/// What keys do that are not commands.
const KEYS: [(&str, &str); 11] = [
    (
        "@FILE",
        "attach a file to the message; Tab completes its name",
    ),
    (
        "!COMMAND",
        "run a command of your own in your shell; !!COMMAND adds what it prints to your next message",
    ),
    (
        "Alt-Enter",
        "start a new line, as Shift-Enter does in most terminals, or Enter after a \\ or in an open ```",
    ),
    ("Tab", "complete a command, a name or a path"),
    (
        "Shift-Tab",
        "the next mode: ask, accept edits in the project, plan; /help mode has more",
    ),
    (
        "Alt-P",
        "pause the next request before it is sent, or none; /help pause has more",
    ),
    ("Ctrl-X Ctrl-E", "open the line in $VISUAL or $EDITOR"),
    ("Ctrl-V", "show or hide intermediate steps"),
    ("Ctrl-C", "interrupt a reply, or clear the line"),
    (
        "Esc",
        "interrupt a reply, and send what you typed meanwhile; Enter queues it, Up takes it back",
    ),
    ("Ctrl-D", "leave the chat, on an empty line"),
];

/// `/help [COMMAND|all]`: the names of all commands, below what they are about, and the keys; or what one of them does, or
/// each. Templates of the user and the project are shown with the names.
pub fn show(app: &App, rest: &str) {
    let ui = &app.ui;
    match rest {
        "" => overview(app),
        "all" => {
            let all = GROUPS.iter().flat_map(|(_, rows)| rows.iter());
            let all = all.map(|row| entry(&row.command)).chain(keys());
            list(ui, &all.collect::<Vec<_>>());
        }
        word => {
            let name = format!("/{}", word.trim_start_matches('/'));
            match table().parse(&name) {
                Input::Slash(command, rest) if rest.is_empty() => list(ui, &[entry(command)]),
                Input::UnknownSlash { word, .. } => {
                    let mut found = templates::rows(app);
                    found.retain(|row| row.typed.split(' ').next() == Some(word.as_str()));
                    match found.is_empty() {
                        true => ui.status(&templates::no_such(app, &word)),
                        false => templates::print(ui, &found),
                    }
                }
                _ => ui.status("Usage: /help [COMMAND|all]"),
            }
        }
    }
}

fn overview(app: &App) {
    let ui = &app.ui;
    let columns = ui.data_window().columns.saturating_sub(1);
    let widest = GROUPS.iter().map(|(heading, _)| width(heading)).max();
    let indent = widest.unwrap_or_default() + 4;
    for (heading, rows) in GROUPS {
        let names: Vec<&str> = rows.iter().map(|row| row.command.name).collect();
        let first = format!("  {heading:<width$}", width = indent - 2);
        ui.data_all(&wrap::hanging(&first, indent, &names.join(" "), columns));
    }
    list(ui, &keys().collect::<Vec<_>>());
    templates::print(ui, &templates::rows(app));
    ui.status("/help COMMAND describes a command, /help all describes all of them.");
}

/// What is typed, and what it does.
type Entry = (String, &'static str);

fn entry(command: &Command) -> Entry {
    let typed = format!("{} {}", command.name, command.arguments);
    (typed.trim_end().to_owned(), command.about)
}

fn keys() -> impl Iterator<Item = Entry> {
    let keys = KEYS.iter();
    keys.map(|(keys, about)| ((*keys).to_owned(), *about))
}

fn list(ui: &Ui, entries: &[Entry]) {
    let columns = ui.data_window().columns;
    let widest = entries.iter().map(|(typed, _)| width(typed)).max();
    let widest = widest.unwrap_or_default();
    for (typed, about) in entries {
        for (typed, about) in rows(typed, about, widest, columns) {
            let typed = ui.styles().paint(Label::Key, &typed);
            ui.data(format!("  {typed} {about}").trim_end());
        }
    }
}

/// The rows of one entry: what stands in either column.
fn rows(typed: &str, about: &str, widest: usize, columns: usize) -> Vec<(String, String)> {
    let beside = columns.saturating_sub(widest + 4);
    if beside >= LEAST_BESIDE {
        let mut first = Some(typed);
        let rows = wrap::rows(about, beside).into_iter();
        return rows
            .map(|row| {
                (
                    format!("{:<widest$}", first.take().unwrap_or_default()),
                    row,
                )
            })
            .collect();
    }
    let below = wrap::rows(about, columns.saturating_sub(BELOW + 1)).into_iter();
    let indent = " ".repeat(BELOW - 3);
    let below = below.map(|row| (indent.clone(), row));
    std::iter::once((typed.to_owned(), String::new()))
        .chain(below)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fit_their_columns() {
        let check = |columns, expected: &[(&str, &str)]| {
            let rows = rows(
                "/undo",
                "take back the edits; again for the turn before",
                7,
                columns,
            );
            let rows: Vec<_> = rows.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            assert_eq!(rows, expected);
        };
        check(
            80,
            &[("/undo  ", "take back the edits; again for the turn before")],
        );
        check(
            44,
            &[
                ("/undo  ", "take back the edits; again for"),
                ("       ", "the turn before"),
            ],
        );
        check(
            30,
            &[
                ("/undo", ""),
                ("   ", "take back the edits;"),
                ("   ", "again for the turn"),
                ("   ", "before"),
            ],
        );
    }
}
