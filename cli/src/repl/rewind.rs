//! `/rewind`: back to before a turn, the conversation, the files that were edited since, or both.

use std::path::{Path, PathBuf};

use dunlin_host::display::{escape, one_line};
use dunlin_host::undo::{EditedFiles, UndoError};
use jiff::Timestamp;

use super::undo;
use crate::age::ago;
use crate::app::App;
use crate::dialogue::Dialogue;
use crate::error::CliError;
use dunlin_chat::message::{Message, Role};
use dunlin_chat::tokens::counted;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{Typed, input_marks};

/// The tool that runs commands: what they change is not kept.
const COMMANDS: &str = "run_terminal_command";

/// How many turns are listed unless all are asked for: what fits a screen.
const MAX_LISTED: usize = 20;

/// How many files are named.
const MAX_NAMED: usize = 5;

const USAGE: &str = "Usage: /rewind [all] lists turns; /rewind N [conversation|files|both] goes back to before turn N";

/// A turn of the conversation.
struct Turn<'a> {
    /// The place of its first message.
    start: usize,
    message: &'a Message,
    /// The files that were edited in it, as far as that is kept.
    files: Vec<PathBuf>,
}

/// What is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Conversation,
    Files,
    Both,
}

impl Part {
    fn named(word: &str) -> Option<Part> {
        match word {
            "conversation" | "c" => Some(Part::Conversation),
            "files" | "f" => Some(Part::Files),
            "both" | "b" => Some(Part::Both),
            _ => None,
        }
    }

    fn has_files(self) -> bool {
        self != Part::Conversation
    }

    fn has_conversation(self) -> bool {
        self != Part::Files
    }
}

/// `/rewind [all]`, `/rewind N [conversation|files|both]`
///
/// # Errors
/// The kept edits cannot be read, or a file changed since; everything is as it was then.
pub fn run(app: &App, dialogue: Option<&mut Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let Some(dialogue) = dialogue.filter(|dialogue| !dialogue.messages().is_empty()) else {
        ui.status("Nothing was said yet.");
        return Ok(());
    };
    let edited = edited(app, dialogue.messages())?;
    let turns = turns(dialogue.messages(), &edited);
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (number, part) = match *words {
        [] | ["all"] => {
            list(app, dialogue, &turns, !words.is_empty());
            return Ok(());
        }
        [number] => (number, None),
        [number, part] if let Some(part) = Part::named(part) => (number, Some(part)),
        _ => {
            ui.status(USAGE);
            return Ok(());
        }
    };
    let Ok(number) = number.parse::<usize>() else {
        ui.status(USAGE);
        return Ok(());
    };
    let Some(turn) = number.checked_sub(1).and_then(|at| turns.get(at)) else {
        let last = turns.len();
        ui.status(&format!(
            "There is no turn {number}: turns have the numbers 1 to {last}."
        ));
        return Ok(());
    };
    let host = app.host()?;
    let edited = match turn.message.turn.map(|turn| host.edited_since(turn)) {
        None => Vec::new(),
        Some(Ok(edited)) => edited,
        // They can neither be named nor taken back.
        Some(Err(error)) if part != Some(Part::Conversation) => {
            return Err(CliError::failed(error).with_hint(leaves_files(number)));
        }
        Some(Err(_)) => Vec::new(),
    };
    let since = distinct(edited.iter().flat_map(|it| &it.paths));
    let part = match part {
        Some(part) => part,
        None if since.is_empty() => Part::Conversation,
        None => match ask(app, &since) {
            Some(part) => part,
            None => return Ok(()),
        },
    };
    let (start, begun) = (turn.start, turn.message.turn);
    let commands = commands_since(app, &dialogue.messages()[start..]);
    let mut undone = Vec::new();
    if part.has_files() {
        match begun {
            Some(begun) => {
                // Whoever wanted both is not held up by the files.
                let hint = part.has_conversation().then(|| leaves_files(number));
                undone = undo::since(app, begun, &edited).map_err(|e| e.with_hint(hint))?;
            }
            None => {
                ui.status("An earlier build made this turn: which files it edited is unknown. /undo takes edits back turn by turn.");
                return Ok(());
            }
        }
        if since.is_empty() {
            ui.status("No file was edited since then.");
        }
    }
    if commands > 0 {
        let it = if commands == 1 { "it" } else { "they" };
        let commands = counted(commands, "command has", "commands have");
        ui.warn(&format!(
            "{commands} run since then; what {it} changed stays"
        ));
    }
    match part.has_conversation() {
        true => {
            go_back(app, dialogue, start);
            if let Some(begun) = begun {
                app.calls.drop_since(begun);
            }
            let stays: &[PathBuf] = if part.has_files() { &[] } else { &since };
            dialogue.note_changed(stays.iter().map(|path| short(app, path)));
        }
        false => dialogue.note_undone(undone),
    }
    Ok(())
}

/// How the conversation alone goes back.
fn leaves_files(number: usize) -> String {
    format!("/rewind {number} conversation leaves the files as they are")
}

/// Drops what was said from here on, and gives the user's message back for the next one.
fn go_back(app: &App, dialogue: &mut Dialogue, start: usize) {
    let ui = &app.ui;
    let typed_here = dialogue.was_typed_here(start);
    let Some(said) = dialogue.messages().get(start).cloned() else {
        return;
    };
    dialogue.rewind(start);
    if let Ok(host) = app.host() {
        host.forget_seen_files();
    }
    ui.status("The conversation is as it was before that message, which is back in the line. The file of the session keeps the rest.");
    if !said.attached.is_empty() {
        let names: Vec<_> = said.attached.iter().map(|it| escape(it)).collect();
        let names = names.join(", ");
        ui.status(&format!("No longer attached: {names}"));
    }
    match typed_here {
        true => ui.keep_message(said.typed()),
        false => ui.keep_foreign_for_later(said.typed()),
    }
}

/// Asks what is taken back.
fn ask(app: &App, since: &[PathBuf]) -> Option<Part> {
    let ui = &app.ui;
    let styles = ui.status_styles();
    let mut names: Vec<String> = since
        .iter()
        .take(MAX_NAMED)
        .map(|it| short(app, it))
        .collect();
    if let more @ 1.. = since.len().saturating_sub(MAX_NAMED) {
        names.push(format!("{more} more"));
    }
    let names = escape(&names.join(", ")).into_owned();
    let room = ui.window().columns.saturating_sub(24);
    let key = |key: &str| styles.paint(Label::Key, key);
    let above = format!(
        "  Files edited since: {}\n  Go back with {} the conversation only · {} the files only · {} both · {} neither",
        fit(&names, room),
        key("c"),
        key("f"),
        key("b"),
        key("Enter")
    );
    // What is mistyped must not become the next message.
    loop {
        let Typed::Line(line) = ui.ask_line(&above, input_marks::REWIND) else {
            return None;
        };
        match line.trim() {
            "" | "n" | "no" | "neither" => return None,
            word => match Part::named(word) {
                Some(part) => return Some(part),
                None => ui.status(&format!(
                    "{} is none of the answers; nothing was taken back yet.",
                    escape(word)
                )),
            },
        }
    }
}

fn list(app: &App, dialogue: &Dialogue, turns: &[Turn<'_>], all: bool) {
    let ui = &app.ui;
    let (styles, columns) = (ui.styles(), ui.data_window().columns);
    let loaded = dialogue.loaded();
    // Where the file lacks something, whose times they are is not known.
    let is_whole = loaded.messages.len() == dialogue.messages().len();
    let now = Timestamp::now();
    let first = match all {
        true => 0,
        false => turns.len().saturating_sub(MAX_LISTED),
    };
    if first > 0 {
        let earlier = counted(first, "earlier turn", "earlier turns");
        ui.status(&format!("  {earlier}: /rewind all lists all of them"));
    }
    for (turn, number) in turns.iter().zip(1..).skip(first) {
        let time = loaded.times.get(turn.start).copied().flatten();
        let age = time.filter(|_| is_whole).map(|time| ago(time, now));
        let files = turn.files.len();
        let files = (files > 0).then(|| counted(files, "file", "files"));
        let details = age.into_iter().chain(files);
        let details: String = details.map(|detail| format!(" · {detail}")).collect();
        let line = turn.message.typed().lines();
        let line = line.map(str::trim).find(|line| !line.is_empty());
        let room = columns.saturating_sub(details.chars().count() + 6);
        ui.data(&format!(
            "{} {}{}",
            styles.paint(Label::Key, &format!("{number:>4}")),
            fit(&one_line(line.unwrap_or_default()), room),
            styles.paint(Label::Quiet, &details)
        ));
    }
    let note = "  /rewind N takes back turn N and all after it; if files were edited since, it asks what goes back";
    ui.status(&ui.status_styles().paint(Label::Quiet, note));
}

/// What was edited in the turns of these messages. Of a long conversation the beginning may not be kept.
fn edited(app: &App, messages: &[Message]) -> Result<Vec<EditedFiles>, CliError> {
    for turn in messages.iter().filter_map(|message| message.turn) {
        match app.host()?.edited_since(turn) {
            Err(UndoError::Dropped) => {}
            edited => return edited.map_err(CliError::failed),
        }
    }
    Ok(Vec::new())
}

fn turns<'a>(messages: &'a [Message], edited: &[EditedFiles]) -> Vec<Turn<'a>> {
    let said = messages.iter().enumerate();
    let said: Vec<_> = said
        .filter(|(_, message)| message.role == Role::User)
        .collect();
    let ends = said.iter().skip(1).map(|(_, message)| message.turn);
    let ends = ends.chain([None]);
    said.iter()
        .zip(ends)
        .map(|((start, message), end)| {
            let is_in = |turn: u64| {
                message.turn.is_some_and(|begin| turn >= begin) && end.is_none_or(|end| turn < end)
            };
            let edited = edited.iter().filter(|edited| is_in(edited.turn));
            Turn {
                start: *start,
                message,
                files: distinct(edited.flat_map(|edited| &edited.paths)),
            }
        })
        .collect()
}

fn distinct<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !all.contains(path) {
            all.push(path.clone());
        }
    }
    all
}

/// How many commands have run since the first call of these messages, those of subagents included.
fn commands_since(app: &App, messages: &[Message]) -> usize {
    let mut calls = messages.iter().flat_map(|message| &message.tool_calls);
    calls
        .next()
        .map_or(0, |call| app.calls.count_since(call.number, COMMANDS))
}

/// A path as the model names it.
fn short(app: &App, path: &Path) -> String {
    let path = path.strip_prefix(&app.settings.project).unwrap_or(path);
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_the_edits_up_to_the_next_one() {
        let said = |turn: Option<u64>| Message {
            turn,
            ..Message::text(Role::User, "x")
        };
        let reply = || Message::text(Role::Assistant, "y");
        let messages = [
            said(Some(10)),
            reply(),
            said(Some(20)),
            reply(),
            reply(),
            // From an earlier build.
            said(None),
            said(Some(40)),
        ];
        let edited = |turn: u64, names: &[&str]| EditedFiles {
            turn,
            paths: names.iter().map(PathBuf::from).collect(),
        };
        let edited = [
            edited(10, &["a", "b"]),
            // A turn that was sent again.
            edited(15, &["b", "c"]),
            edited(20, &["a"]),
            edited(41, &["d"]),
        ];
        let turns = turns(&messages, &edited);
        let found: Vec<(usize, Vec<&str>)> = turns
            .iter()
            .map(|turn| {
                let files = turn.files.iter().filter_map(|path| path.to_str());
                (turn.start, files.collect())
            })
            .collect();
        assert_eq!(
            found,
            [
                (0, vec!["a", "b", "c"]),
                (2, vec!["a", "d"]),
                (5, vec![]),
                (6, vec!["d"])
            ]
        );
    }

    #[test]
    fn parts_have_words_and_letters() {
        for (word, expected) in [
            ("conversation", Some(Part::Conversation)),
            ("f", Some(Part::Files)),
            ("both", Some(Part::Both)),
            ("", None),
            ("y", None),
        ] {
            assert_eq!(Part::named(word), expected, "{word}");
        }
    }
}
