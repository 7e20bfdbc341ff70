//! Slash commands: what can be typed at the prompt beside messages.

use dunlin_host::display::escape;
use dunlin_host::undo::Fate;

use crate::commands::{permissions, tools};
use crate::config::nearest;
use crate::dialogue::Dialogue;
use crate::error::CliError;
use crate::ui::style::Label;
use crate::ui::{Typed, Ui};
use crate::workshop::Workshop;

/// A slash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slash {
    /// Lists the commands.
    Help,
    /// Lists the tools.
    Tools,
    /// Lists what is stored and what was answered for the session.
    Permissions,
    /// Takes back the edits of the last turn.
    Undo,
    /// Forgets the conversation.
    Clear,
    /// Leaves.
    Exit,
}

/// Every command: its name, what it does, what it stands for. The completion and the help use this
/// table too; a name that stands for another has no description.
pub const COMMANDS: &[(&str, &str, Slash)] = &[
    ("/help", "show this", Slash::Help),
    ("/tools", "list the tools", Slash::Tools),
    (
        "/permissions",
        "list what was granted and denied",
        Slash::Permissions,
    ),
    (
        "/undo",
        "take back the last turn's edits of files; again for the turn before",
        Slash::Undo,
    ),
    ("/clear", "forget the conversation", Slash::Clear),
    ("/exit", "leave, as Ctrl-D does", Slash::Exit),
    ("/quit", "", Slash::Exit),
];

/// What a line turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// Nothing.
    Empty,
    /// A slash command.
    Slash(Slash),
    /// Something that looks like a command and is none; with the nearest one.
    UnknownSlash(String, Option<&'static str>),
    /// A message for the model.
    Message(String),
}

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next line.
    Prompt,
    /// The end.
    Leave,
}

/// Understands a line. A path at its start is no command: it has a second slash.
pub fn parse(line: &str) -> Input {
    let text = line.trim();
    let word = text.split_whitespace().next().unwrap_or_default();
    if text.is_empty() {
        return Input::Empty;
    }
    if !word.starts_with('/') || word[1..].contains('/') || text.contains('\n') {
        return Input::Message(continued(text));
    }
    match COMMANDS.iter().find(|(name, ..)| *name == word) {
        Some((.., slash)) => Input::Slash(*slash),
        None => {
            // Without the slash: all names share it, which would make everything alike.
            let near = nearest(&word[1..], COMMANDS.iter().map(|(name, ..)| &name[1..]));
            let near = COMMANDS
                .iter()
                .map(|(name, ..)| *name)
                .find(|name| Some(&name[1..]) == near);
            Input::UnknownSlash(word.to_owned(), near)
        }
    }
}

/// Joins lines that a backslash continues: the mark is not part of the message.
fn continued(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// Runs a command.
pub fn run(
    workshop: &Workshop,
    dialogue: &mut Option<Dialogue>,
    slash: Slash,
) -> Result<Next, CliError> {
    let ui = &workshop.ui;
    match slash {
        Slash::Exit => return Ok(Next::Leave),
        Slash::Help => help(ui),
        Slash::Tools => drop(tools::list(workshop)?),
        Slash::Permissions => show_permissions(workshop)?,
        Slash::Undo => undo(workshop)?,
        Slash::Clear => {
            if workshop.asks() && !confirmed(ui) {
                return Ok(Next::Prompt);
            }
            if let Some(dialogue) = dialogue {
                dialogue.clear();
            }
            ui.status("The conversation is empty.");
        }
    }
    Ok(Next::Prompt)
}

/// Says that there is no such command.
pub fn unknown(ui: &Ui, word: &str, near: Option<&str>) {
    let word = escape(word);
    match near {
        Some(near) => ui.status(&format!("There is no {word}. Did you mean {near}?")),
        None => ui.status(&format!("There is no {word}. /help shows the commands.")),
    }
}

fn help(ui: &Ui) {
    for (name, about, _) in COMMANDS.iter().filter(|(_, about, _)| !about.is_empty()) {
        ui.data(&format!(
            "  {} {about}",
            ui.styles().paint(Label::Key, &format!("{name:<14}"))
        ));
    }
    for (keys, about) in [
        (
            "Alt-Enter",
            "a new line; so does a \\ at the end, and an open ``` goes on",
        ),
        ("Tab", "complete a command or a path"),
        ("Ctrl-C", "interrupt a reply, clear the line"),
    ] {
        ui.data(&format!(
            "  {} {about}",
            ui.styles().paint(Label::Key, &format!("{keys:<14}"))
        ));
    }
}

fn show_permissions(workshop: &Workshop) -> Result<(), CliError> {
    let ui = &workshop.ui;
    let store = workshop.host()?.permissions();
    let (stored, session) = (store.list()?, store.session_answers());
    if stored.is_empty() && session.is_empty() {
        ui.status("Nothing was decided yet: reading in the project is allowed, all else asks.");
    }
    permissions::show(ui, &stored);
    if !session.is_empty() {
        ui.status(
            &ui.status_styles()
                .paint(Label::Quiet, "until the session ends:"),
        );
        permissions::show(ui, &session);
    }
    Ok(())
}

/// Takes back edits and says which files it was.
fn undo(workshop: &Workshop) -> Result<(), CliError> {
    let ui = &workshop.ui;
    let Some(undone) = workshop.host()?.undo_last().map_err(CliError::failed)? else {
        ui.status("There is no edit to take back in this project.");
        return Ok(());
    };
    let project = &workshop.settings.project;
    for (path, fate) in &undone.files {
        let (label, word) = match fate {
            Fate::Restored => (Label::Good, "restored"),
            Fate::Removed => (Label::Good, "removed"),
            Fate::WasSo => (Label::Quiet, "was so already"),
        };
        let path = path.strip_prefix(project).unwrap_or(path);
        ui.status(&format!(
            "  {} {}",
            ui.status_styles().paint(label, word),
            escape(&path.to_string_lossy())
        ));
    }
    Ok(())
}

fn confirmed(ui: &Ui) -> bool {
    loop {
        match ui.plain_line("Forget the conversation? y/n ") {
            Typed::Line(line) => match line.trim() {
                "y" | "yes" => return true,
                "n" | "no" => return false,
                _ => {}
            },
            Typed::Interrupted | Typed::End => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_understood() {
        let message = |text: &str| Input::Message(text.to_owned());
        let unknown = |word: &str, near| Input::UnknownSlash(word.to_owned(), near);
        let check = |line: &str, expected: Input| assert_eq!(parse(line), expected, "{line:?}");
        check("", Input::Empty);
        check("  \n ", Input::Empty);
        check(" hello ", message("hello"));
        check("/help", Input::Slash(Slash::Help));
        check(" /quit now", Input::Slash(Slash::Exit));
        check("/hepl", unknown("/hepl", Some("/help")));
        check("/xyzzy", unknown("/xyzzy", None));
        check("/", unknown("/", None));
        check(
            "/etc/hosts: what is in it?",
            message("/etc/hosts: what is in it?"),
        );
        check("one \\\ntwo", message("one \ntwo"));
        check("/help\nme", message("/help\nme"));
    }
}
