//! Who has the keyboard while something is waited for, and what ends the wait.

use std::future::pending;

use tokio::signal::unix::{SignalKind, signal};

use crate::app::App;
use crate::error::{CliError, Exit};
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::terminal::TurnMode;

/// Waits for some work while the keyboard belongs to nobody else. Ctrl-C drops it.
///
/// # Errors
/// The user interrupted it.
pub fn hands_off<T>(app: &App, work: impl Future<Output = T>) -> Result<T, CliError> {
    let interrupt = interrupted(app)?;
    let _hands_off = HandsOff::begin(app);
    unless(interrupt, app, work)
}

/// Waits for some work. Ctrl-C drops it.
///
/// # Errors
/// The user interrupted it.
pub fn unless_interrupted<T>(app: &App, work: impl Future<Output = T>) -> Result<T, CliError> {
    unless(interrupted(app)?, app, work)
}

/// The same for work that an interruption ends which counts already.
fn unless<T>(
    interrupt: impl Future<Output = ()>,
    app: &App,
    work: impl Future<Output = T>,
) -> Result<T, CliError> {
    let done = app.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => None,
            done = work => Some(done),
        }
    });
    done.ok_or_else(|| {
        app.ui.status("(interrupted)");
        CliError::silent(Exit::Interrupted)
    })
}

/// While it lives, the keyboard belongs to nobody: keys are not echoed, and what was typed is kept for
/// the next message. Dropping it gives the terminal back.
pub struct HandsOff<'a> {
    ui: &'a Ui,
    mode: Option<TurnMode>,
}

impl HandsOff<'_> {
    /// Takes the keyboard away. [`interrupted`] must be called before: with this call Ctrl-C is a signal, which nobody would
    /// receive yet.
    pub fn begin(app: &App) -> HandsOff<'_> {
        let mode = app.asks().then(TurnMode::enter).flatten();
        if mode.is_some() {
            app.ui.mark_pastes(true);
        }
        HandsOff { ui: &app.ui, mode }
    }
}

impl Drop for HandsOff<'_> {
    fn drop(&mut self) {
        // Elsewhere than in the chat there is no next message: the keys are for whoever reads next, as a rule
        // the shell.
        if self.mode.is_some() && self.ui.is_chat() {
            self.ui.mark_pastes(false);
            self.ui.put_early_typing_aside();
        }
    }
}

/// Ctrl-C, in the chat also Esc, whoever is asked elsewhere wants no more of it, or nobody reads the output any more. Esc sends
/// what was typed in the turn. The signal counts from this call on, not from the first poll: what is made in between may take a
/// while.
pub fn interrupted(app: &App) -> Result<impl Future<Output = ()>, CliError> {
    let _inside = app.runtime()?.enter();
    let mut signal = signal(SignalKind::interrupt());
    let (ui, aside, question_handler) = (&app.ui, &app.aside, app.question_handler());
    // Elsewhere than in the chat the keys are left to whoever reads next.
    let listens = ui.is_chat() && app.asks();
    Ok(async move {
        loop {
            let escape = async {
                match listens {
                    true => ui.escape().await,
                    false => pending().await,
                }
            };
            let signal = async {
                let received = match &mut signal {
                    Ok(signal) => loop {
                        let received = signal.recv().await;
                        // To a program that was lent the terminal Ctrl-C is a key of its own.
                        if !ui.was_woken() && !ui.is_suspended() {
                            break received;
                        }
                    },
                    Err(_) => None,
                };
                // Where the signal cannot be received it keeps its usual effect, and ends the program.
                if received.is_none() {
                    pending::<()>().await;
                }
            };
            let cancelled = async {
                match question_handler {
                    Some(question_handler) => question_handler.cancelled().await,
                    None => pending().await,
                }
            };
            let sends = tokio::select! {
                () = cancelled => return,
                () = signal => false,
                is_key = escape => is_key,
                () = ui.interrupted() => false,
                () = ui.closed() => return,
            };
            if !aside.stop() {
                if sends {
                    ui.send_typed();
                }
                return;
            }
        }
    })
}
