//! `/pause` and `--intercept`.

use dunlin_host::display::escape;
use dunlin_host::nearest::nearest;

use super::filter::{Filter, TOOLS};
use crate::app::App;
use crate::config::request_editor::PauseMode;
use crate::error::CliError;
use crate::saved_edits;

/// Somebody has to be there to look at a request.
#[derive(Debug, thiserror::Error)]
#[error("--intercept needs a terminal: nobody could look at the request here")]
struct NoTerminal;

/// `--intercept MODE`
///
/// # Errors
/// Nobody can be asked.
pub fn intercept(app: &App, mode: Option<PauseMode>) -> Result<(), CliError> {
    match mode {
        Some(mode) if app.asks() => app.pausing.set(mode),
        Some(_) => return Err(CliError::usage(NoTerminal)),
        None => {}
    }
    Ok(())
}

/// What is said of the mode where no edits are saved, or the next ones are.
const CAPTURES: &str = "the first request of the next message is paused, and what you change in it is saved for later requests";

/// What a mode does now.
fn about(app: &App, mode: PauseMode) -> &'static str {
    match mode {
        PauseMode::Auto if saved_edits::is_capturing(app) => CAPTURES,
        mode => mode.about(),
    }
}

/// What is to be known of saved edits, where the mode that is set does not apply them.
fn unapplied(app: &App) -> Option<&'static str> {
    let has_edits = saved_edits::has_edits(app).unwrap_or(false);
    (has_edits && app.pausing.mode() != PauseMode::Auto)
        .then_some("Your saved edits are applied in mode auto only; /auto lists them.")
}

/// Has saved edits applied that hold in this conversation, unless the user has chosen otherwise: what was left out of requests
/// once must not be in them again because another process goes on with the conversation.
pub fn apply_saved_edits(app: &App) {
    if !app.asks() || app.pausing.is_chosen() {
        return;
    }
    // Edits that cannot be read may hold here; the first request says why not.
    let applies = saved_edits::has_edits(app).unwrap_or(true);
    if app.pausing.apply_unless_chosen(applies) && applies {
        app.ui.status(
            "Your saved edits are applied to requests: /auto lists them, /pause off leaves them out.",
        );
    }
}

/// The names that a filter can be: the agents of the configuration with their models, and those of this conversation.
pub fn names_of(app: &App) -> Vec<String> {
    let agents = app.settings.agents.iter();
    let names = agents.flat_map(|(name, entry)| [name.clone(), entry.value.model.clone()]);
    let current = app.shared.now().conversation;
    let mut names: Vec<String> = names.chain([current.agent, current.model]).collect();
    names.retain(|name| !name.is_empty());
    names.sort();
    names.dedup();
    names
}

/// `/pause [MODE [FILTER]]`
pub fn run(app: &App, rest: &str) {
    let (ui, pausing) = (&app.ui, &app.pausing);
    let names = || PauseMode::ALL.iter().map(|mode| mode.as_str());
    let says = |mode: PauseMode, filter: &Filter| {
        let only = filter.about(mode);
        let about = only.unwrap_or_else(|| about(app, mode).to_owned());
        format!("Pausing is {}: {}.", mode.as_str(), escape(&about))
    };
    let (typed, filter) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match PauseMode::named(typed) {
        Some(mode) => match Filter::parse(&names_of(app), mode, filter.trim()) {
            Ok(filter) => {
                pausing.set_for(mode, filter.clone());
                ui.status(&says(mode, &filter));
                if let Some(note) = unapplied(app) {
                    ui.status(note);
                }
            }
            Err(problem) => ui.status(&escape(&problem.to_string())),
        },
        None if rest.is_empty() => {
            ui.data_rows(&says(pausing.mode(), &pausing.filter()), 0);
            if let Some(next) = pausing.also_next() {
                ui.data_rows(&says(PauseMode::Next, &next), 0);
            }
            for mode in PauseMode::ALL {
                let name = format!("  /pause {:5}  ", mode.as_str());
                ui.data_rows(&format!("{name}{}", mode.about()), name.len());
            }
            let filter = "  next, turn and every take a filter: an agent, a model, or tools (requests with new tool results).";
            ui.data_rows(filter, 2);
        }
        None if typed == TOOLS || names_of(app).iter().any(|name| name == typed) => {
            let name = escape(typed);
            let mode = PauseMode::Every.as_str();
            ui.status(&format!(
                "Put a mode before {name}, as in /pause {mode} {name}."
            ));
        }
        None => {
            let near = nearest(typed, names());
            let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            let modes: Vec<&str> = names().collect();
            ui.status(&format!(
                "There is no mode {}: use {}.{near}",
                escape(typed),
                modes.join(", ")
            ));
        }
    }
}
