//! `/effort`: how much the model thinks from the next message on.

use dunlin_chat::agent::{Api, Effort};
use dunlin_host::display::escape;

use super::choice::begun;
use crate::app::App;
use crate::dialogue::Dialogue;
use crate::error::CliError;

/// What takes back the level that was set.
pub const DEFAULT: &str = "default";

/// `/effort [LEVEL]`: says how much the model thinks, or sets it until the session ends or another agent answers.
///
/// # Errors
/// There is no agent, or its key cannot be read.
pub fn run(app: &App, dialogue: &mut Option<Dialogue>, level: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let dialogue = begun(app, dialogue)?;
    if dialogue.agent().api == Api::Local {
        ui.status("The model runs in Dunlin itself and takes no effort.");
        return Ok(());
    }
    if !level.is_empty() {
        let effort = match (level, Effort::named(level)) {
            (DEFAULT, _) => configured(app, dialogue),
            (_, Some(effort)) => Some(effort),
            (_, None) => {
                let level = escape(level);
                ui.status(&format!(
                    "There is no effort {level:?}. Usage: /effort {}",
                    levels()
                ));
                return Ok(());
            }
        };
        dialogue.set_effort(app, effort)?;
    }
    let now = match dialogue.agent().reasoning_effort {
        Some(effort) => effort.name(),
        None => "as the server chooses",
    };
    ui.status(&format!("  effort: {now}"));
    if level.is_empty() {
        ui.status(&format!("  /effort {} sets it", levels()));
    }
    Ok(())
}

/// What the configuration says of the agent that answers.
fn configured(app: &App, dialogue: &Dialogue) -> Option<Effort> {
    let entry = app.settings.agents.get(&dialogue.agent().name)?;
    entry.value.options.reasoning_effort
}

fn levels() -> String {
    let levels = Effort::ALL.map(Effort::name);
    format!("{}|{DEFAULT}", levels.join("|"))
}
