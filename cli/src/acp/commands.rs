//! Prompt templates as commands of the client: `/NAME ARGUMENT=VALUE`.

use super::wire::{Block, Command, Input, Update};
use crate::app::App;
use crate::error::CliError;
use crate::prompt::templates::{self, SlashNames};
use crate::templates::{Owner, Template};
use crate::trust;

/// What can be typed behind a slash. `None`: nothing.
pub(super) fn available(app: &App) -> Option<Update> {
    let names = SlashNames::of(app);
    let templates = names.templates().templates.into_iter();
    let command = |template: Template| {
        let (_, text) = names.places.load(&template).ok()?;
        let usage = text.usage();
        Some(Command {
            name: template.name,
            description: match template.owner {
                Owner::User => text.description,
                Owner::Project => format!("(project) {}", text.description),
            },
            input: (!usage.is_empty()).then_some(Input { hint: usage }),
        })
    };
    let available_commands: Vec<Command> = templates.filter_map(command).collect();
    (!available_commands.is_empty()).then_some(Update::AvailableCommands { available_commands })
}

/// The text of the template that a prompt names, filled in. `None`: it names none, and is a message.
///
/// # Errors
/// The template or its arguments cannot be used, or it is a project's that is not trusted.
pub(super) fn expanded(app: &App, blocks: &[Block]) -> Result<Option<String>, CliError> {
    let [Block::Text { text }] = blocks else {
        return Ok(None);
    };
    let (word, rest) = match text.trim().split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest),
        None => (text.trim(), ""),
    };
    let names = SlashNames::of(app);
    let Some(template) = names.template(word) else {
        return Ok(None);
    };
    let (file, text) = names.places.load(&template).map_err(CliError::failed)?;
    let filled = templates::filled(&template, &text, rest).map_err(CliError::usage)?;
    if template.owner == Owner::Project {
        // Nobody is asked here: it fails where the user has not trusted it.
        trust::of_template(&app.ui, &app.settings, false, &template.path, &file)?;
    }
    Ok(Some(filled))
}
