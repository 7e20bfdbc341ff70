//! `/edit`: a message that is written in the user's editor.

use std::sync::Arc;

use crate::app::App;
use crate::dialogue::interrupted;
use crate::error::CliError;
use dunlin_terminal::editor::{self, Draft};

/// The file in which a message is written.
const MESSAGE: Draft = Draft {
    prefix: "message-",
    suffix: ".md",
    what: "the message",
};

/// There is no terminal that could be lent.
#[derive(Debug, thiserror::Error)]
#[error("an editor needs a terminal")]
struct NoTerminal;

/// Has a message written that begins with `start`. `None`: it was left empty, and nothing is to be sent. Where the
/// editor fails, what there is of the message stands on the next line.
pub fn write(app: &App, start: &str) -> Result<Option<String>, CliError> {
    if !app.asks() {
        return Err(CliError::usage(NoTerminal));
    }
    // From now on Ctrl-C does not end the program: within the editor it is a key like others.
    let _interrupt = interrupted(app)?;
    let ui = Arc::clone(&app.ui);
    let settings = &app.settings;
    let program = editor::choose(&settings.environment);
    let path = settings.search_path();
    match ui.lend(|| editor::edit(&program, &path, &settings.folders.data, MESSAGE, start)) {
        Ok(text) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Err(error) => {
            if !start.is_empty() {
                ui.keep_for_later(start);
            }
            Err(CliError::failed(error))
        }
    }
}
