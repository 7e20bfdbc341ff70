//! Keys that take a question off the screen: it is drawn again, together with the line.
//!
//! Ctrl-L clears the screen. With Ctrl-Z the program stops, and what is typed until the question is there again answers nothing:
//! it was meant for another program.
//!
//! The line editor's own way to stop sends the signal and takes the terminal back at once. In a program with several threads
//! the signal may arrive in another one, so that the terminal is taken back, and the line drawn, before the program stops:
//! afterwards nobody sees a question, and Ctrl-C is not a key. So the key is bound to a handler that waits until the
//! program goes on.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Signal, getpgrp, kill_process_group};
use rustix::termios::{self, InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use rustyline::history::History;
use rustyline::{Cmd, Editor, Helper, KeyEvent, Modifiers};
use signal_hook::low_level::{pipe, unregister};

use super::keys::EarlyKeys;
use super::line_paste::LinePaste;
use super::silence::{self, Escape, LONGEST_TYPING};
use super::{newline, terminal};

/// How long the signal may take to stop the program. The system does not stop a program that no shell could continue, and
/// then nothing says so. Once the program was stopped and goes on, the wait is over.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Stops the program with the key that the terminal has for it, usually Ctrl-Z. Afterwards `above` is shown again, and then
/// the line, and so it is after Ctrl-L. `has_keys`: the keys of [`newline`] were asked for.
pub(super) fn bind<H: Helper, I: History>(
    editor: &mut Editor<H, I>,
    (above, has_keys): (&str, bool),
    paste: &LinePaste,
    early: &Arc<Mutex<EarlyKeys>>,
) {
    if !above.is_empty() {
        let above = above.to_owned();
        let clear = paste.typed(move |_| {
            newline::say(&format!("\x1b[H\x1b[2J{above}\n"));
            Some(Cmd::Repaint)
        });
        editor.bind_sequence(KeyEvent::ctrl('L'), clear);
    }
    // Before the line editor has changed the mode.
    let Ok(mode) = termios::tcgetattr(io::stdin()) else {
        return;
    };
    let key = mode.special_codes[SpecialCodeIndex::VSUSP];
    if key == 0 {
        return;
    }
    let stop = Stop {
        above: above.to_owned(),
        has_keys,
        early: Arc::clone(early),
    };
    let key = KeyEvent::new(char::from(key), Modifiers::NONE);
    editor.bind_sequence(key, paste.typed(move |_| stop.stop()));
}

struct Stop {
    above: String,
    has_keys: bool,
    early: Arc<Mutex<EarlyKeys>>,
}

impl Stop {
    fn stop(&self) -> Option<Cmd> {
        let reading = termios::tcgetattr(io::stdin()).ok()?;
        if self.has_keys {
            newline::say(newline::GIVE_UP);
        }
        set(&for_shells(reading.clone()));
        // Where nobody can be told of the signal, the line is drawn too early.
        let _ = stop_and_wait();
        set(&reading);
        if self.has_keys {
            newline::say(newline::ASK);
        }
        if !self.above.is_empty() {
            let take = || {
                let taken = terminal::take_typed();
                self.early.lock().pass(&taken);
                taken
            };
            let how = (LONGEST_TYPING, Escape::Passes);
            silence::wait(&self.early, how, take, || {}, silence::first_pause);
            newline::say(&format!("{}\n", self.above));
        }
        Some(Cmd::Repaint)
    }
}

/// Stops all programs of this job, as the terminal does where Ctrl-Z is a signal, and waits until this one goes on.
pub fn stop_and_wait() -> io::Result<()> {
    let (mut continued, told) = UnixStream::pair()?;
    continued.set_read_timeout(Some(LONGEST_WAIT))?;
    let told = pipe::register(Signal::CONT.as_raw(), told)?;
    let stopped = kill_process_group(getpgrp(), Signal::TSTP);
    let waited = stopped.map_err(io::Error::from).and_then(|()| {
        // Ends early only with an error: a signal that comes meanwhile does not interrupt it.
        continued.read_exact(&mut [0])
    });
    unregister(told);
    waited
}

/// The mode that a shell expects, made of the one in which a line is edited.
fn for_shells(mut mode: Termios) -> Termios {
    mode.input_modes |= InputModes::BRKINT | InputModes::ICRNL | InputModes::IXON;
    mode.local_modes |=
        LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN | LocalModes::ISIG;
    mode
}

fn set(mode: &Termios) {
    // Nothing can be done about a terminal that has gone.
    let _ = termios::tcsetattr(io::stdin(), OptionalActions::Drain, mode);
}
