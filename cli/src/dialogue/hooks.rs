//! Hooks, as far as they are the chat's business: the end of a turn, and tools that they name.

use std::convert::Infallible;
use std::future::pending;

use dunlin_chat::agent::unknown_tools;
use dunlin_chat::turn::{Frontend, TurnEnd};
use dunlin_host::hooks::{Slow, TurnOutcome};
use dunlin_host::{Host, Permissions, Tool};
use dunlin_terminal::ui::Ui;

use crate::app::App;
use crate::error::CliError;
use crate::host_options::hooks::place;
use crate::settings::Settings;

/// Warns of tools that a hook is about and that do not exist: it would never run.
pub fn warn_of_hooks(ui: &Ui, settings: &Settings, tools: &[Tool]) {
    for hook in &settings.hooks {
        let place = place(settings, hook);
        let names = hook.entry.value.tools.iter().flatten();
        let names: Vec<String> = names.filter(|name| !name.ends_with('*')).cloned().collect();
        for (name, near) in unknown_tools(&names, tools) {
            let near = near.map_or_else(String::new, |near| format!("; the nearest is {near:?}"));
            ui.warn(&format!(
                "{place}: [[hook]] names the tool {name:?}, which does not exist{near}"
            ));
        }
    }
}

/// Warns of programs that hooks run and that commands do not find, and of files that hooks name and that edits may change: such
/// a hook fails.
pub fn warn_of_commands(ui: &Ui, settings: &Settings, permissions: &Permissions) {
    for hook in &settings.hooks {
        let place = place(settings, hook);
        let warn = |problem: String| ui.warn(&format!("{place}: [[hook]] {problem}"));
        for name in permissions.missing_programs(&hook.entry.value.command.line()) {
            let on_path = match name.contains('/') {
                true => "",
                false => " on the PATH of commands",
            };
            warn(format!(
                "runs {name:?}, and there is no such program{on_path}"
            ));
        }
        for file in hook.pinned.iter().filter(|file| !file.is_program()) {
            let path = &file.path;
            let path = path.strip_prefix(&settings.project).unwrap_or(path);
            warn(format!(
                "names {}: once that changes, the hook fails until Dunlin is restarted; a hook about edited files takes \
                 their names from its input (dunlin help hooks)",
                path.display()
            ));
        }
    }
}

/// Says which hook is waited for while no call runs, beside the call that it is about if that is shown to anybody. Never ends;
/// to be polled beside what runs hooks, and beside [`Ui::animate`].
pub async fn say_slow(ui: &Ui, host: &Host, frontend: Option<&dyn Frontend>) -> Infallible {
    let mut slow = host.slow_hooks();
    let mut shown: Vec<Slow> = Vec::new();
    let beside = |slow: &Slow| frontend.and(slow.call.clone());
    loop {
        if slow.changed().await.is_err() {
            pending::<()>().await;
        }
        let now = slow.borrow_and_update().clone();
        let mut calls: Vec<Option<String>> = shown.iter().chain(&now).map(beside).collect();
        calls.sort();
        calls.dedup();
        for call in calls {
            let is_there = |slow: &&Slow| beside(slow) == call;
            let before = shown.iter().rfind(is_there);
            let hook = now.iter().rfind(is_there);
            if before == hook {
                continue;
            }
            let hook = hook.map(|slow| slow.hook.as_str());
            match (&call, frontend, hook) {
                (Some(call), Some(frontend), hook) => frontend.hook(call, hook),
                (_, _, Some(hook)) => ui.wait_for(hook),
                (_, _, None) => ui.end_progress(),
            }
        }
        shown = now;
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
            never = say_slow(&app.ui, host, None) => match never {},
            never = app.ui.animate() => match never {},
        }
    });
    app.ui.end_progress();
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
