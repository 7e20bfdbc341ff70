//! `/NAME`: sends a prompt template, as `/prompt` sends a prompt that an MCP server prepared.

use dunlin_host::display::escape;

use super::slash::Next;
use crate::app::App;
use crate::error::CliError;
use crate::prompt::templates::{self, SlashNames};
use crate::templates::Owner;
use crate::trust;

/// Sends the template of this name: what follows its name are its arguments.
///
/// # Errors
/// Its file cannot be used, or it is a project's that is not trusted and nobody can be asked.
pub fn run(app: &App, word: &str, rest: &str) -> Result<Next, CliError> {
    let names = SlashNames::of(app);
    let Some(template) = names.template(word) else {
        app.ui.status(&templates::no_such(app, word));
        return Ok(Next::Prompt);
    };
    let typed = format!("{word} {rest}");
    let back = || {
        if app.ui.is_chat() && app.asks() {
            app.ui.keep_message(typed.trim_end());
        }
    };
    let (file, text) = names.places.load(&template).map_err(|error| {
        back();
        CliError::failed(error)
    })?;
    let filled = match templates::filled(&template, &text, rest) {
        Ok(filled) => filled,
        Err(problem) => {
            app.ui.status(&escape(&problem.to_string()));
            back();
            return Ok(Next::Prompt);
        }
    };
    let is_sent = template.owner == Owner::User
        || trust::of_template(&app.ui, &app.settings, app.asks(), &template.path, &file)?;
    match is_sent {
        true => Ok(Next::AsItIs(filled.into())),
        false => {
            app.ui.status("Nothing is sent.");
            back();
            Ok(Next::Prompt)
        }
    }
}
