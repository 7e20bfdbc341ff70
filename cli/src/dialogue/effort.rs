//! `/effort`: how much the model thinks from the next message on.

use dunlin_chat::agent::{Agent, Api, Effort};
use dunlin_host::display::escape;

use super::choice::begun;
use crate::app::App;
use crate::dialogue::Dialogue;
use crate::error::CliError;
use dunlin_chat::session::Loaded;

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
            (DEFAULT, _) => configured(app, dialogue.agent()),
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
fn configured(app: &App, agent: &Agent) -> Option<Effort> {
    let entry = app.settings.agents.get(&agent.name)?;
    entry.value.options.reasoning_effort
}

impl Dialogue {
    /// What the user chose for the agent that answers; empty where that is what the configuration says.
    pub(super) fn chosen_effort(&self, app: &App) -> &'static str {
        let effort = self.agent().reasoning_effort;
        let chosen = effort.filter(|_| effort != configured(app, self.agent()));
        chosen.map_or("", Effort::name)
    }

    /// Goes on with what was chosen in a session, for the same agent.
    pub(super) fn take_effort(&mut self, app: &App, loaded: &Loaded) {
        let agent = self.agent();
        let speaker = loaded.speaker.as_ref();
        let is_same = speaker.is_some_and(|speaker| speaker.agent == agent.name);
        let effort = Effort::named(&loaded.effort).filter(|_| is_same && agent.api != Api::Local);
        let wanted = effort.or(configured(app, agent));
        if wanted == agent.reasoning_effort {
            return;
        }
        match self.set_effort(app, wanted) {
            Ok(()) if effort.is_some() => app.ui.status(&format!("  effort: {}", loaded.effort)),
            Ok(()) => {}
            Err(error) => app.ui.error(&error),
        }
    }
}

fn levels() -> String {
    let levels = Effort::ALL.map(Effort::name);
    format!("{}|{DEFAULT}", levels.join("|"))
}
