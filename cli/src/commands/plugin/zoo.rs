//! `dunlin plugin zoo`: what stops hostile plugins here.

use std::time::Instant;

use dunlin_host::display::shorten;
use dunlin_zoo::{TRIALS, WASI};

use crate::app::{App, host_options};
use crate::dialogue::interrupted;
use crate::error::{CliError, Exit};
use crate::plugin::zoo::{Stage, Verdict, play, play_wasi};
use dunlin_terminal::ui::style::Label;

/// Columns of the name of a guest.
const NAME_COLUMNS: usize = 20;

/// Characters of what stopped it.
const MAX_WORDS_CHARS: usize = 160;

/// There is no such guest.
#[derive(Debug, thiserror::Error)]
#[error("no guest of the zoo is called {0:?}")]
struct Unknown(String);

/// Something was not stopped.
#[derive(Debug, thiserror::Error)]
#[error("{0} of {1} attempts were not stopped as they have to be")]
struct GotThrough(usize, usize);

/// Plays the trials of all guests, or of those named.
pub fn run(app: &App, names: &[String]) -> Result<Exit, CliError> {
    if let Some(unknown) = names.iter().find(|name| !is_guest(name)) {
        let near = dunlin_host::nearest::nearest(unknown, TRIALS.iter().map(|trial| trial.guest));
        let hint = near.map(|near| format!("the nearest is {near:?}"));
        return Err(CliError::usage(Unknown(unknown.clone())).with_hint(hint));
    }
    let installed = host_options(&app.settings, "zoo");
    let stage = Stage::new(installed).map_err(CliError::failed)?;
    let wanted = |guest: &str| names.is_empty() || names.iter().any(|name| name == guest);
    let began = Instant::now();
    let mut count = 0;
    let mut through = 0;
    let mut say = |verdict: &Verdict| {
        count += 1;
        through += usize::from(!verdict.wrong.is_empty());
        show(app, verdict);
    };
    let interrupt = interrupted(app)?;
    let trials = async {
        for trial in TRIALS.iter().filter(|trial| wanted(trial.guest)) {
            say(&play(&stage, trial).await);
        }
        for attempt in WASI.iter().filter(|_| wanted("wasi")) {
            say(&play_wasi(&stage, attempt).await);
        }
    };
    let ended = app.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => false,
            () = trials => true,
        }
    });
    if !ended {
        app.ui.status("(interrupted)");
        return Err(CliError::silent(Exit::Interrupted));
    }
    if through > 0 {
        return Err(CliError::failed(GotThrough(through, count)));
    }
    app.ui.status(&format!(
        "{count} attempts, nothing got through · {:.0} s",
        began.elapsed().as_secs_f64()
    ));
    Ok(Exit::Done)
}

fn is_guest(name: &str) -> bool {
    name == "wasi" || TRIALS.iter().any(|trial| trial.guest == name)
}

fn show(app: &App, verdict: &Verdict) {
    let ui = &app.ui;
    let styles = ui.styles();
    let mark = match verdict.wrong.is_empty() {
        true => styles.paint(Label::Name, "✓"),
        false => styles.paint(Label::Error, "✗"),
    };
    let name = format!("{:<NAME_COLUMNS$}", verdict.guest);
    let stopped = verdict.stopped.replace('\n', "; ");
    let stopped = shorten(&stopped, MAX_WORDS_CHARS);
    ui.data(&format!(
        "{mark} {name} {} {}",
        verdict.tries,
        styles.paint(Label::Quiet, &format!("· {stopped}"))
    ));
    for wrong in &verdict.wrong {
        ui.data(&format!("    {wrong}"));
    }
}
