//! `/instructions`: the files that conversations begin with.

use dunlin_host::display::escape;

use crate::app::App;
use crate::dialogue::{Dialogue, choice};
use crate::error::CliError;
use crate::instructions::Standing;
use dunlin_terminal::ui::style::Label;

/// What `/instructions` takes.
const RELOAD: &str = "reload";

/// `/instructions [reload]`: lists the files, or sends from now on what they say now.
///
/// # Errors
/// There is no agent.
pub fn run(app: &App, dialogue: &mut Option<Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    if !["", RELOAD].contains(&rest) {
        ui.status("Usage: /instructions [reload]");
        return Ok(());
    }
    let dialogue = choice::begun(app, dialogue)?;
    if !app.settings.takes_instructions(&dialogue.agent().name) {
        let name = escape(&dialogue.agent().name);
        ui.status(&format!("The agent {name} reads no instruction files."));
        return Ok(());
    }
    if rest == RELOAD {
        dialogue.reload_instructions(app);
    }
    let files = dialogue.instructions(app);
    if files.is_empty() {
        let user = app.settings.folders.short(&app.settings.folders.config);
        ui.status(&format!(
            "There are no instruction files: AGENTS.md in this project, or in {}.",
            escape(&user)
        ));
    }
    for (name, standing) in files {
        let standing = match standing {
            Standing::Sent => "sent",
            Standing::Changed => "sent as it was: /instructions reload sends the new text",
            Standing::Gone => "sent as it was, but does not exist any more",
            Standing::New => "not sent yet: /instructions reload sends it",
            Standing::NotTrusted => "not sent: `dunlin config trust` shows and trusts it",
        };
        let standing = ui.styles().paint(Label::Quiet, standing);
        ui.data(&format!("  {}  {standing}", escape(&name)));
    }
    Ok(())
}
