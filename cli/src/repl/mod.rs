//! The chat on a terminal: reads a message, takes a turn, and again.
//!
//! Until the first message nothing is done that could take time: no key is read, no tool looked at, no
//! thread started. Ctrl-C never loses anything: in a turn it ends the turn and keeps what was said, on a line
//! it clears the line, and only twice in a row on an empty line it leaves.

pub mod approver;
mod complete;
mod expand;
pub mod hub;
pub mod line;
mod messages;
pub mod plain;
mod sessions;
pub mod slash;
mod steps;
mod transcript;

use dunlin_host::display::escape;

use crate::args::ChatArgs;
use crate::dialogue::{Dialogue, conclude};
use crate::discover::endpoint;
use crate::error::{CliError, Exit};
use crate::ui::Typed;
use crate::ui::calls::fit;
use crate::ui::style::Label;
use crate::ui::terminal;
use crate::workshop::Workshop;
use hub::{Hub, Taken};
use line::LineEditor;
use slash::{Input, Next};

/// Where messages are typed.
const PROMPT: &str = "› ";

/// Converses until the user leaves.
pub fn run(workshop: &Workshop, args: &ChatArgs) -> Result<Exit, CliError> {
    let (ui, settings) = (&workshop.ui, &workshop.settings);
    let mut editor = LineEditor::new(&settings.folders, &settings.project, ui.styles())
        .map_err(CliError::failed)?;
    editor.toggle_steps_of(ui);
    welcome(workshop)?;
    let (mut hub, mut dialogue) = Hub::open(workshop, args)?;
    let mut interrupted_before = false;
    loop {
        // Nobody reads the output any more: there is nobody to converse with.
        ui.check()?;
        let early = ui.take_early_typing();
        let typed = ui.with_keyboard(|| editor.read(PROMPT, ui.styles(), &early));
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
        if !line.trim().is_empty()
            && let Err(error) = editor.remember(line.trim_end())
        {
            ui.warn(&format!("the history could not be kept: {error}"));
        }
        match respond(workshop, &mut hub, &mut dialogue, &editor, &line) {
            Ok(Next::Prompt) => {}
            Ok(Next::Leave) => return Ok(Exit::Done),
            // What fails here concerns this line; the next one may do better.
            Err(error) => ui.error(&error),
        }
    }
}

fn respond(
    workshop: &Workshop,
    hub: &mut Hub,
    dialogue: &mut Option<Dialogue>,
    editor: &LineEditor,
    line: &str,
) -> Result<Next, CliError> {
    if hub.take(workshop, dialogue, line)? == Taken::Choice {
        return Ok(Next::Prompt);
    }
    match slash::parse(line) {
        Input::Empty => {}
        Input::UnknownSlash(word, near) => slash::unknown(&workshop.ui, &word, near),
        Input::Slash(command, rest) => return slash::run(workshop, dialogue, command, &rest),
        Input::Message(text) => {
            let dialogue = match dialogue {
                Some(dialogue) => dialogue,
                none => none.insert(Dialogue::begin(workshop)?.saved(workshop)),
            };
            let report = dialogue.turn(workshop, text, editor.recall())?;
            conclude(workshop, report)?;
        }
    }
    Ok(Next::Prompt)
}

fn welcome(workshop: &Workshop) -> Result<(), CliError> {
    let (ui, settings) = (&workshop.ui, &workshop.settings);
    let (_, entry) = settings.agent_entry()?;
    let name = ui.styles().paint(Label::Name, "dunlin");
    let model = escape(settings.model_of(entry));
    let project = settings.folders.short(&settings.project);
    let rest = format!(
        " · {model} at {} · {}",
        endpoint(&entry.base_url),
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
