//! Which requests of this chat are paused: `/pause`, and its key at the prompt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dunlin_host::display::escape;
use dunlin_host::nearest::nearest;
use rustyline::{Cmd, ConditionalEventHandler, Event, EventContext, RepeatCount};

use super::auto;
use crate::app::App;
use crate::config::request_editor::PauseMode;
use crate::error::CliError;
use dunlin_terminal::request::pins::Pins;

/// Which requests are paused; shared with the key that changes it.
#[derive(Debug, Default)]
pub struct Pausing {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// [`PauseMode::Next`] is never in here.
    mode: PauseMode,
    /// Whether the next request is paused whatever the mode is.
    next: bool,
    /// Whether the request that is paused now was the next one. Only sending it uses that up.
    held: bool,
    /// Whether the edits of the next message's first request are saved.
    captures: bool,
    /// A command that ended a pause, to be run after its turn.
    deferred: Option<String>,
    /// Whether the line that runs now is that command.
    runs_deferred: bool,
    /// The sections that stay at the top.
    pins: Pins,
}

impl Pausing {
    /// Begins with this mode.
    pub fn new(mode: PauseMode) -> Pausing {
        let pausing = Pausing::default();
        pausing.set(mode);
        pausing
    }

    /// Sets the mode. `next` comes on top of the mode that is set, and `off` takes both back.
    pub fn set(&self, mode: PauseMode) {
        let mut state = self.state();
        match mode {
            PauseMode::Next => state.next = true,
            mode => {
                state.mode = mode;
                state.captures = false;
                state.next &= mode != PauseMode::Off;
                state.held &= mode != PauseMode::Off;
            }
        }
    }

    /// What is set; [`PauseMode::Next`] where nothing but the next request is paused.
    pub fn mode(&self) -> PauseMode {
        let state = self.state();
        match (state.mode, state.next) {
            (PauseMode::Off, true) => PauseMode::Next,
            (mode, _) => mode,
        }
    }

    /// Whether the `round`th request of a turn is paused, from 1.
    pub fn pauses(&self, round: u32) -> bool {
        let state = self.state();
        state.next
            || match state.mode {
                PauseMode::Off | PauseMode::Next | PauseMode::Auto => false,
                PauseMode::Turn => round == 1,
                PauseMode::Every => true,
            }
    }

    /// Has the edits of the next message's first request saved, or not.
    pub fn capture(&self, captures: bool) {
        self.state().captures = captures;
    }

    /// Whether the edits of the next message's first request are saved.
    pub fn is_capturing(&self) -> bool {
        self.state().captures
    }

    /// A request is paused: it was the next one, unless it is not sent.
    pub fn begin(&self) -> Held<'_> {
        let mut state = self.state();
        state.held = std::mem::take(&mut state.next);
        Held(self)
    }

    /// The sections that stay at the top of every request of this chat.
    pub fn pins(&self) -> Pins {
        self.state().pins.clone()
    }

    /// Keeps them for the next request.
    pub fn set_pins(&self, pins: &Pins) {
        self.state().pins.clone_from(pins);
    }

    /// Runs a command after the turn.
    pub fn defer(&self, line: &str) {
        self.state().deferred = Some(line.to_owned());
    }

    /// The command that ended a pause; once.
    pub fn take_deferred(&self) -> Option<String> {
        let mut state = self.state();
        let deferred = state.deferred.take();
        state.runs_deferred = deferred.is_some();
        deferred
    }

    /// Whether the command that runs now ended a pause. What it takes was agreed to then.
    pub fn is_agreed(&self) -> bool {
        self.state().runs_deferred
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request is paused. Dropped, it was not sent, and the next one is paused again if this one was.
#[derive(Debug)]
pub struct Held<'a>(&'a Pausing);

impl Held<'_> {
    /// The request is sent.
    pub fn sent(self) {
        self.0.state().held = false;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.next |= std::mem::take(&mut state.held);
    }
}

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
        PauseMode::Auto if auto::is_capturing(app) => CAPTURES,
        mode => mode.about(),
    }
}

/// `/pause [MODE]`
pub fn run(app: &App, rest: &str) {
    let (ui, pausing) = (&app.ui, &app.pausing);
    let names = || PauseMode::ALL.iter().map(|mode| mode.as_str());
    match PauseMode::named(rest) {
        Some(mode) => {
            pausing.set(mode);
            let about = about(app, mode);
            ui.status(&format!("Pausing is {}: {about}.", mode.as_str()));
        }
        None if rest.is_empty() => {
            let now = pausing.mode();
            let about = about(app, now);
            ui.data_rows(&format!("Pausing is {}: {about}.", now.as_str()), 0);
            for mode in PauseMode::ALL {
                let name = format!("  /pause {:5}  ", mode.as_str());
                ui.data_rows(&format!("{name}{}", mode.about()), name.len());
            }
        }
        None => {
            let near = nearest(rest, names());
            let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
            let modes: Vec<&str> = names().collect();
            ui.status(&format!(
                "There is no mode {}: use {}.{near}",
                escape(rest),
                modes.join(", ")
            ));
        }
    }
}

/// Alt+P on a line: the next request is paused, or is not. The line is read again below a prompt that says so.
pub struct Toggle {
    /// What is paused.
    pub pausing: Arc<Pausing>,
    /// Whether the line was left for that.
    pub toggled: Arc<AtomicBool>,
}

impl ConditionalEventHandler for Toggle {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        let next = match self.pausing.mode() {
            PauseMode::Off => PauseMode::Next,
            _ => PauseMode::Off,
        };
        self.pausing.set(next);
        self.toggled.store(true, Ordering::Relaxed);
        Some(Cmd::AcceptLine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PauseMode::{Every, Next, Off, Turn};

    #[test]
    fn modes_pause_what_they_say() {
        let check = |modes: &[PauseMode], shown: PauseMode, pauses: [bool; 2]| {
            let pausing = Pausing::new(Off);
            modes.iter().for_each(|mode| pausing.set(*mode));
            assert_eq!(pausing.mode(), shown, "{modes:?}");
            assert_eq!(
                [1, 2].map(|round| pausing.pauses(round)),
                pauses,
                "{modes:?}"
            );
        };
        check(&[], Off, [false, false]);
        check(&[Next], Next, [true, true]);
        check(&[Turn], Turn, [true, false]);
        check(&[Every], Every, [true, true]);
        check(&[Turn, Next], Turn, [true, true]);
        check(&[Turn, Next, Off], Off, [false, false]);
        check(&[Next, Turn], Turn, [true, true]);
    }

    #[test]
    fn next_is_one_request() {
        let pausing = Pausing::new(Next);
        pausing.begin().sent();
        assert_eq!((pausing.mode(), pausing.pauses(1)), (Off, false));
        let pausing = Pausing::new(Turn);
        pausing.set(Next);
        pausing.begin().sent();
        assert_eq!((pausing.mode(), pausing.pauses(1)), (Turn, true));
    }

    #[test]
    fn a_request_that_is_not_sent_was_not_the_next_one() {
        let pausing = Pausing::new(Next);
        let held = pausing.begin();
        assert_eq!(pausing.mode(), Off);
        drop(held);
        assert_eq!((pausing.mode(), pausing.pauses(1)), (Next, true));
        let held = pausing.begin();
        pausing.set(Off);
        drop(held);
        assert_eq!(pausing.mode(), Off);
        // What is asked for while a request is paused is about the one after it.
        let held = pausing.begin();
        pausing.set(Next);
        held.sent();
        assert_eq!(pausing.mode(), Next);
    }

    #[test]
    fn a_command_is_run_once() {
        let pausing = Pausing::default();
        pausing.defer("/new");
        assert!(!pausing.is_agreed());
        assert_eq!(pausing.take_deferred().as_deref(), Some("/new"));
        assert!(pausing.is_agreed());
        assert_eq!(pausing.take_deferred(), None);
        assert!(!pausing.is_agreed());
    }
}
