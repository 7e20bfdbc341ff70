//! The chat on a terminal: reads a message, takes a turn, and again.
//!
//! Until the first message nothing is done that could take time: no key is read, no tool looked at, no
//! thread started. Ctrl-C never loses anything: in a turn it ends the turn and keeps what was said, on a line
//! it clears the line, and only twice in a row on an empty line it leaves.

pub mod approver;
pub mod budget;
mod choice;
mod complete;
mod compose;
mod expand;
mod files;
mod help;
pub mod hub;
pub mod line;
mod messages;
pub mod plain;
mod servers;
mod sessions;
pub mod slash;
mod steps;
mod tags;
mod transcript;

use dunlin_host::display::escape;

use crate::args::ChatArgs;
use crate::dialogue::{Dialogue, conclude};
use crate::discover::place;
use crate::error::{CliError, Exit};
use crate::ui::Typed;
use crate::ui::calls::fit;
use crate::ui::style::Label;
use crate::ui::terminal;
use crate::workshop::Workshop;
use complete::Names;
use hub::{Hub, Taken};
use line::LineEditor;
use slash::{Input, Next, Slash};

/// Where messages are typed.
const PROMPT: &str = "› ";

/// Converses until the user leaves.
pub fn run(workshop: &Workshop, args: &ChatArgs) -> Result<Exit, CliError> {
    let (ui, settings) = (&workshop.ui, &workshop.settings);
    let project = (settings.project.as_path(), settings.is_project);
    let mut editor =
        LineEditor::new(&settings.folders, project, ui.styles()).map_err(CliError::failed)?;
    editor.toggle_steps_of(ui);
    welcome(workshop)?;
    let (mut hub, mut dialogue) = Hub::open(workshop, args)?;
    let mut interrupted_before = false;
    loop {
        // Nobody reads the output any more: there is nobody to converse with.
        ui.check()?;
        let early = ui.take_early_typing();
        editor.know_names(names(workshop, dialogue.as_ref()));
        let typed = editor.read(ui, PROMPT, &early);
        let line = match typed {
            Typed::Line(line) => line,
            Typed::End => return Ok(Exit::Done),
            Typed::Interrupted if interrupted_before => return Ok(Exit::Done),
            Typed::Interrupted => {
                interrupted_before = true;
                ui.status(
                    &ui.status_styles()
                        .paint(Label::Quiet, "Ctrl-C again leaves"),
                );
                continue;
            }
        };
        interrupted_before = false;
        let is_for_editor = editor.takes_line_to_editor();
        let input = match is_for_editor {
            true => Input::Slash(Slash::Edit, line.clone()),
            false => slash::parse(&line),
        };
        if !line.trim().is_empty()
            && let Err(error) = editor.remember(line.trim_end())
        {
            ui.warn(&format!("the history could not be kept: {error}"));
        }
        let taken = match is_for_editor {
            true => {
                hub = Hub::Closed;
                Ok(Taken::No)
            }
            false => hub.take(workshop, &mut dialogue, &line),
        };
        let answer = match taken {
            Ok(Taken::Choice) => Ok(Answer::Next),
            Ok(Taken::No) => respond(workshop, &mut dialogue, &mut editor, input),
            Err(error) => Err(error),
        };
        match answer {
            Ok(Answer::Next) => {}
            Ok(Answer::Leave) => return Ok(Exit::Done),
            // What fails here concerns this line; the next one may do better.
            Err(error) => ui.error(&error),
        }
    }
}

/// What follows a line.
enum Answer {
    Next,
    Leave,
}

fn respond(
    workshop: &Workshop,
    dialogue: &mut Option<Dialogue>,
    editor: &mut LineEditor,
    input: Input,
) -> Result<Answer, CliError> {
    let mut is_new = true;
    let text = match input {
        Input::Empty => return Ok(Answer::Next),
        Input::UnknownSlash(word, near) => {
            slash::unknown(&workshop.ui, &word, near);
            return Ok(Answer::Next);
        }
        Input::Slash(command, rest) => match slash::run(workshop, dialogue, command, &rest)? {
            Next::Prompt => return Ok(Answer::Next),
            Next::Leave => return Ok(Answer::Leave),
            Next::Say(text) => {
                show_said(workshop, &text);
                // What cannot be remembered can still be sent.
                let _ = editor.remember(&text);
                text
            }
            // With its files, as they were; and what a server wrote can name no files, nor be recalled as one's own.
            Next::AsItIs(text) => {
                show_said(workshop, &text);
                is_new = false;
                text
            }
        },
        Input::Message(text) => text,
    };
    let dialogue = match dialogue {
        Some(dialogue) => dialogue,
        none => none.insert(Dialogue::begin(workshop)?.saved(workshop)),
    };
    let text = match is_new {
        true => tags::attach(workshop, dialogue, &text, editor.recall())?,
        false => Some(text),
    };
    if let Some(text) = text {
        let report = dialogue.turn(workshop, text, editor.recall())?;
        conclude(workshop, report)?;
    }
    Ok(Answer::Next)
}

/// Shows the first lines of a message that was not typed at the prompt.
fn show_said(workshop: &Workshop, text: &str) {
    const ROWS: usize = 3;
    let ui = &workshop.ui;
    let room = ui.window().columns.saturating_sub(4);
    let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    for line in lines.clone().take(ROWS) {
        quiet(&format!("  {}", fit(&escape(line), room)));
    }
    if lines.count() > ROWS {
        quiet("  …");
    }
}

/// What names can be completed at the prompt.
fn names(workshop: &Workshop, dialogue: Option<&Dialogue>) -> Names {
    Names {
        agents: workshop.settings.agents.keys().cloned().collect(),
        models: dialogue.map_or_else(Vec::new, |dialogue| dialogue.models().to_vec()),
    }
}

fn welcome(workshop: &Workshop) -> Result<(), CliError> {
    let (ui, settings) = (&workshop.ui, &workshop.settings);
    let (_, entry) = settings.agent_entry()?;
    let name = ui.styles().paint(Label::Name, "dunlin");
    let model = escape(settings.model_of(entry));
    let mut project = settings.folders.short(&settings.project);
    if !settings.is_project {
        project.push_str(", not a project");
    }
    let rest = format!(
        " · {model} {} · {}",
        place(&entry.base_url),
        escape(&project)
    );
    let room = terminal::size().0.saturating_sub("dunlin".len() + 1);
    ui.status(&format!("{name}{}", fit(&rest, room)));
    ui.status(
        &ui.status_styles()
            .paint(Label::Quiet, "/help shows the commands, Ctrl-D leaves"),
    );
    Ok(())
}
