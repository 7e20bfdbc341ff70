//! Taking edits of files back, and what is said of it.

use dunlin_host::display::escape;
use dunlin_host::undo::{EditedFiles, UndoOutcome, Undone};

use crate::app::App;
use crate::error::CliError;
use dunlin_terminal::ui::style::Label;

/// Takes the edits of the last turn back; the files that changed by that, as the model names them.
///
/// # Errors
/// A file changed since, or cannot be written; none was changed then.
pub fn last(app: &App) -> Result<Vec<String>, CliError> {
    match app.host()?.undo_last().map_err(CliError::failed)? {
        Some(undone) => Ok(say(app, &undone)),
        None => {
            app.ui.status("Nothing to undo.");
            Ok(Vec::new())
        }
    }
}

/// The same for all edits since a turn began, by its number: those that were shown.
///
/// # Errors
/// As for [`last`].
pub fn since(app: &App, turn: u64, shown: &[EditedFiles]) -> Result<Vec<String>, CliError> {
    let undone = app.host()?.undo_since(turn, shown);
    let undone = undone.map_err(CliError::failed)?;
    Ok(undone.map_or_else(Vec::new, |undone| say(app, &undone)))
}

fn say(app: &App, undone: &Undone) -> Vec<String> {
    let ui = &app.ui;
    app.calls.take_back(&undone.turns);
    let mut changed = Vec::new();
    let project = &app.settings.project;
    for (path, outcome) in &undone.files {
        let (label, word) = match outcome {
            UndoOutcome::Restored => (Label::Good, "restored"),
            UndoOutcome::Removed => (Label::Good, "removed"),
            UndoOutcome::NotEmpty => (Label::Quiet, "left (not empty)"),
            UndoOutcome::WasSo => (Label::Quiet, "unchanged (held the old text already)"),
        };
        let path = path.strip_prefix(project).unwrap_or(path);
        ui.status(&format!(
            "  {} {}",
            ui.status_styles().paint(label, word),
            escape(&path.to_string_lossy())
        ));
        if matches!(outcome, UndoOutcome::Restored | UndoOutcome::Removed) {
            changed.push(path.to_string_lossy().into_owned());
        }
    }
    changed
}
