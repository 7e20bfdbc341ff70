//! Hooks, as far as they are the chat's business: the end of a turn, and tools that they name.

use dunlin_chat::agent::unknown_tools;
use dunlin_chat::turn::{Frontend, TurnEnd};
use dunlin_host::display::escape;
use dunlin_host::hooks::TurnOutcome;
use dunlin_host::{Host, Tool};
use dunlin_terminal::ui::Ui;

use crate::app::App;
use crate::error::CliError;
use crate::settings::Settings;

/// Warns of tools that a hook is about and that do not exist: it would never run.
pub fn warn_of_hooks(ui: &Ui, settings: &Settings, tools: &[Tool]) {
    for hook in settings.hooks.iter().map(|hook| &hook.entry) {
        let names = hook.value.tools.iter().flatten();
        let names: Vec<String> = names.filter(|name| !name.ends_with('*')).cloned().collect();
        for (name, near) in unknown_tools(&names, tools) {
            let near = near.map_or_else(String::new, |near| format!("; the nearest is {near:?}"));
            let place = hook.origin.to_string();
            ui.warn(&format!(
                "{}: [[hook]] names the tool {name:?}, which does not exist{near}",
                escape(&place)
            ));
        }
    }
}

/// Runs the hooks for the end of a turn, and shows what they say. `interrupt` stops them.
pub(super) fn run_at_end(
    app: &App,
    host: &Host,
    end: &TurnEnd,
    frontend: &dyn Frontend,
    interrupt: impl Future<Output = ()>,
) -> Result<(), CliError> {
    let outcome = outcome(end).filter(|_| host.has_turn_hooks());
    let Some(outcome) = outcome else {
        return Ok(());
    };
    let said = app.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => vec!["the hooks at the end of the turn were stopped".to_owned()],
            said = host.turn_ended(outcome) => said,
        }
    });
    for line in said {
        frontend.notice(&format!("· {line}"));
    }
    app.show_notices(host, app.runtime()?);
    Ok(())
}

/// How a turn ended. `None`: the user ended it, who knows and waits for nothing more.
fn outcome(end: &TurnEnd) -> Option<TurnOutcome> {
    match end {
        TurnEnd::Answered => Some(TurnOutcome::Answered),
        TurnEnd::CutOff => Some(TurnOutcome::CutOff),
        TurnEnd::Denied => Some(TurnOutcome::Denied),
        TurnEnd::RoundLimit => Some(TurnOutcome::RoundLimit),
        TurnEnd::TooLong(_) | TurnEnd::Failed(_) | TurnEnd::Refused { .. } => {
            Some(TurnOutcome::Failed)
        }
        TurnEnd::Interrupted | TurnEnd::Withdrawn { .. } => None,
    }
}
