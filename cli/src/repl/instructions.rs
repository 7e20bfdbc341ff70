//! `/instructions`, `/init` and `/remember`: the files that conversations begin with.

use dunlin_host::display::escape;

use crate::app::App;
use crate::config::markdown::Owner;
use crate::dialogue::{Dialogue, choice};
use crate::error::CliError;
use crate::instructions::remember::Addition;
use crate::instructions::{FileStatus, init};
use dunlin_host::permission::ToolMode;
use dunlin_terminal::ui::style::Label;

/// What `/instructions` takes.
const RELOAD: &str = "reload";

/// What stands before a text for the user's own file.
const USER: &str = "user:";

/// Said where a project's file is meant and there is no project.
const NO_PROJECT: &str = "This folder is not a project, so it has no instruction file.";

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
            "There are no instruction files: AGENTS.md in this project, or in {}. /init has the model write one.",
            escape(&user)
        ));
    }
    for (name, status) in files {
        let status = match status {
            FileStatus::Sent => "sent",
            FileStatus::Changed => "sent as it was: /instructions reload sends the new text",
            FileStatus::Gone => "sent as it was, but does not exist any more",
            FileStatus::New => "not sent yet: /instructions reload sends it",
            FileStatus::NotTrusted => "not sent: `dunlin config trust` shows and trusts it",
        };
        let status = ui.styles().paint(Label::Quiet, status);
        ui.data(&format!("  {}  {status}", escape(&name)));
    }
    Ok(())
}

/// `/init`: the message that has the model write the project's file. `None`: it cannot, which was said.
///
/// # Errors
/// There is no agent.
pub fn init(app: &App, dialogue: &mut Option<Dialogue>) -> Result<Option<String>, CliError> {
    let ui = &app.ui;
    if !app.settings.is_project {
        ui.status(NO_PROJECT);
        return Ok(None);
    }
    let dialogue = choice::begun(app, dialogue)?;
    let agent = dialogue.agent();
    let tool = init::tool(app);
    let is_off = app.host()?.permissions().tool_mode(tool) == ToolMode::Never;
    if is_off || !agent.may_use(tool) {
        let name = escape(&agent.name);
        ui.status(&format!(
            "The agent {name} cannot use {tool}, so it cannot write the file."
        ));
        return Ok(None);
    }
    let (said, message) = init::message(app);
    if let Some(said) = said {
        ui.status(&escape(&said));
    }
    Ok(Some(message))
}

/// `/remember [user:] TEXT`: adds a line to the file of the project or of the user, after showing it.
///
/// # Errors
/// The file cannot be read or written.
pub fn remember(app: &App, dialogue: Option<&mut Dialogue>, rest: &str) -> Result<(), CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    let (owner, text) = match rest.strip_prefix(USER) {
        Some(text) => (Owner::User, text.trim()),
        None => (Owner::Project, rest),
    };
    if text.is_empty() {
        ui.status("Usage: /remember TEXT for this project, or /remember user: TEXT for all");
        return Ok(());
    }
    if owner == Owner::Project && !settings.is_project {
        ui.status(NO_PROJECT);
        return Ok(());
    }
    // What is piped in may have been written by anybody, and would be followed in each later conversation.
    if !app.asks() {
        ui.status("/remember needs somebody who confirms the line.");
        return Ok(());
    }
    let addition = Addition::new(settings, owner, text).map_err(CliError::failed)?;
    let name = escape(&addition.name);
    let new = match addition.is_new() {
        true => " (a new file)",
        false => "",
    };
    ui.data(&format!("  {name}{new}:"));
    let line = format!("  + {}", addition.line);
    ui.data_rows(&ui.styles().paint(Label::Good, &line), 4);
    if !ui.confirms("Add this line?") {
        ui.status("Nothing was written.");
        return Ok(());
    }
    let counts = addition.write(settings).map_err(CliError::failed)?;
    let next = match (counts, &dialogue) {
        (false, _) => {
            "The file is not trusted, so it is not used: `dunlin config trust` shows and trusts it."
        }
        (true, Some(_)) => "The next session begins with it; /instructions reload sends it now.",
        (true, None) => "This session begins with it.",
    };
    ui.status(&format!("Added to {name}. {next}"));
    if let Some(dialogue) = dialogue {
        dialogue.mark_instructions_reported(app);
    }
    Ok(())
}
