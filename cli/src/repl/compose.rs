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

/// Has a message written that begins with `start`. `None`: it was left empty or not saved, and nothing is to be sent, which
/// is said. Where the editor fails, or nothing was saved, what there is of the message stands on the next line.
/// `is_foreign`: nobody has typed that beginning.
pub fn write(app: &App, start: &str, is_foreign: bool) -> Result<Option<String>, CliError> {
    if !app.asks() {
        return Err(CliError::usage(NoTerminal));
    }
    // From now on Ctrl-C does not end the program: within the editor it is a key like others.
    let _interrupt = interrupted(app)?;
    let ui = Arc::clone(&app.ui);
    let keep = || match is_foreign {
        _ if start.is_empty() => {}
        true => ui.keep_foreign_for_later(start),
        false => ui.keep_message(start),
    };
    let settings = &app.settings;
    let program = app.editor();
    let variables = app.replaced();
    match ui.lend(|| {
        editor::edit(
            &program?,
            &variables,
            &settings.folders.data,
            MESSAGE,
            start,
        )
    }) {
        Ok(edited) if edited.is_saved => {
            let text = edited.text.trim();
            if text.is_empty() {
                ui.status("Nothing was written, so nothing is sent.");
            }
            Ok((!text.is_empty()).then(|| text.to_owned()))
        }
        Ok(_) => {
            ui.status("You left the editor without saving, so nothing is sent.");
            keep();
            Ok(None)
        }
        Err(error) => {
            keep();
            Err(CliError::failed(error))
        }
    }
}
