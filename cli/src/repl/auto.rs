//! `/auto`: shows, captures and removes saved edits.

use dunlin_host::display::escape;
use dunlin_host::nearest::nearest;
use jiff::Timestamp;

use crate::age::ago;
use crate::app::App;
use crate::config::edit;
use crate::config::request_editor::PauseMode;
use crate::error::CliError;
use crate::prompt::slash_table::AUTO_VERBS;
use crate::saved_edits::{Kept, SavedEditsError, Scope, holds, is_capturing, read, update};
use dunlin_chat::tokens::counted;
use dunlin_terminal::ui::calls::fit;

/// `/auto [capture|scope SCOPE|limit N|remove [N]]`
///
/// # Errors
/// The saved edits or the configuration cannot be read or written.
pub fn run(app: &App, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let (verb, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let after = after.trim();
    match verb {
        "" => list(app).map_err(CliError::failed)?,
        "capture" if after.is_empty() => {
            let ended = match app.pausing.mode() {
                PauseMode::Auto => "",
                _ => " Pausing is auto from now on.",
            };
            app.pausing.set(PauseMode::Auto);
            app.pausing.capture(true);
            ui.status(&format!(
                "The first request of the next message is paused; what you change in it is saved.{ended}"
            ));
        }
        "scope" => match Scope::ALL.into_iter().find(|scope| scope.as_str() == after) {
            Some(scope) => {
                update(app, |file| file.scope = scope).map_err(CliError::failed)?;
                ui.status(&format!("New edits are saved for: {after}."));
            }
            None => ui.status("Usage: /auto scope session|project|global"),
        },
        "limit" => limit(app, after)?,
        "remove" => remove(app, after)?,
        _ => {
            let near = nearest(verb, AUTO_VERBS);
            let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            ui.status(&format!(
                "Usage: /auto [capture|scope SCOPE|limit N|remove [N]].{near}"
            ));
        }
    }
    Ok(())
}

/// Chooses how many sections are listed, here and in the configuration.
fn limit(app: &App, typed: &str) -> Result<(), CliError> {
    let Some(sections) = typed.parse::<u16>().ok().filter(|sections| *sections > 0) else {
        app.ui
            .status("Usage: /auto limit N, with the number of sections to list");
        return Ok(());
    };
    let path = app.settings.folders.config_file();
    edit::set_preview_limit(&path, sections).map_err(CliError::failed)?;
    app.preview_limit.set(sections);
    let path = app.settings.folders.short(&path);
    let sections = counted(usize::from(sections), "section is", "sections are");
    app.ui.status(&format!(
        "The first {sections} listed when edits are captured; saved in {}.",
        escape(&path)
    ));
    Ok(())
}

fn list(app: &App) -> Result<(), SavedEditsError> {
    let ui = &app.ui;
    let file = read(app)?;
    let here = file.edits.iter().filter(|kept| holds(app, kept));
    let here: Vec<&Kept> = here.collect();
    let state = match app.pausing.mode() {
        PauseMode::Auto if app.pausing.is_capturing() || here.is_empty() => {
            "capturing edits: the first request of the next message is paused"
        }
        PauseMode::Auto => "on: saved edits are applied to every request",
        _ => "off: /pause auto applies saved edits",
    };
    ui.data(&format!("Auto-apply is {state}."));
    ui.data(&format!(
        "New edits are saved for: {}. Sections listed when edits are captured: {}.",
        file.scope.as_str(),
        app.preview_limit.get()
    ));
    let (room, now) = (ui.window().columns, Timestamp::now());
    for (index, kept) in here.iter().enumerate() {
        let value = match &kept.edit.value {
            Some(value) => format!("  {}", escape(value)),
            None => String::new(),
        };
        let about = escape(&kept.edit.about()).into_owned();
        let (scope, time) = (kept.scope.as_str(), ago(kept.time, now));
        let row = format!("  {} {scope:7}  {time:10}  {about}{value}", index + 1);
        ui.data(&fit(&row, room));
    }
    if here.is_empty() {
        ui.data("  No edits are saved here; /auto capture saves those of the next request.");
    }
    Ok(())
}

fn remove(app: &App, which: &str) -> Result<(), CliError> {
    let number = which.parse::<usize>().ok();
    if !which.is_empty() && number.is_none() {
        app.ui
            .status("Usage: /auto remove [N], with a number that /auto lists");
        return Ok(());
    }
    let removed = update(app, |file| {
        let before = file.edits.len();
        let mut here = 0;
        file.edits.retain(|kept| {
            if !holds(app, kept) {
                return true;
            }
            here += 1;
            number.is_some_and(|number| number != here)
        });
        before - file.edits.len()
    });
    let removed = removed.map_err(CliError::failed)?;
    let next = match is_capturing(app) {
        true => " The first request of the next message is paused; what you change in it is saved.",
        false => "",
    };
    app.ui.status(&match removed {
        0 if number.is_none() => "No edits are saved here.".to_owned(),
        0 => "No saved edit has that number; /auto lists them.".to_owned(),
        _ => format!(
            "{} removed.{next}",
            counted(removed, "saved edit is", "saved edits are")
        ),
    });
    Ok(())
}
