//! `/help`: what can be typed at the prompt, on as many columns as there are.

use dunlin_host::display::width;

use super::table::COMMANDS;
use super::templates;
use crate::app::App;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::wrap;

/// What is to be left beside the column of what is typed; else what it does stands below.
const LEAST_BESIDE: usize = 30;

/// How far to the right it stands there.
const BELOW: usize = 6;

/// What keys do that are no commands.
const KEYS: [(&str, &str); 6] = [
    (
        "@FILE",
        "attach a file to the message; Tab completes its name",
    ),
    (
        "Alt-Enter",
        "start a new line, as Shift-Enter does in most terminals, or Enter after a \\ or in an open ```",
    ),
    ("Tab", "complete a command, a name or a path"),
    (
        "Shift-Tab",
        "accept edits of ordinary files in the project without a question, or ask again",
    ),
    ("Ctrl-C", "interrupt a reply, or clear the line"),
    (
        "Esc",
        "interrupt a reply; Dunlin keeps what you typed meanwhile",
    ),
];

/// Shows it, the templates of the user and the project last.
pub fn show(app: &App) {
    let ui = &app.ui;
    let templates = templates::rows(app);
    let commands = COMMANDS.iter().filter(|command| !command.about.is_empty());
    let commands = commands.map(|command| {
        let typed = format!("{} {}", command.name, command.arguments);
        (typed.trim_end().to_owned(), command.about)
    });
    let keys = KEYS
        .iter()
        .map(|(keys, about)| ((*keys).to_owned(), *about));
    let own: Vec<(String, &str)> = commands.chain(keys).collect();
    // A template with many arguments does not move the others.
    let widest = own.iter().map(|(typed, _)| width(typed)).max();
    let templates = templates.iter();
    let templates = templates.map(|row| (row.typed.clone(), row.about.as_str()));
    let columns = ui.window().columns;
    for (typed, about) in own.into_iter().chain(templates) {
        for (typed, about) in rows(&typed, about, widest.unwrap_or_default(), columns) {
            let typed = ui.styles().paint(Label::Key, &typed);
            ui.data(format!("  {typed} {about}").trim_end());
        }
    }
}

/// The rows of one entry: what stands in either column.
fn rows(typed: &str, about: &str, widest: usize, columns: usize) -> Vec<(String, String)> {
    let beside = columns.saturating_sub(widest + 4);
    if beside >= LEAST_BESIDE && width(typed) <= widest {
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
    fn a_long_entry_stands_above_what_it_is_for() {
        let rows = rows("/review file=…", "reviews a file", 7, 80);
        let expected = [("/review file=…", ""), ("   ", "reviews a file")];
        let expected = expected.map(|(typed, about)| (typed.to_owned(), about.to_owned()));
        assert_eq!(rows, expected);
    }

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
