//! Waits until nobody types, before what is typed counts.
//!
//! A pause alone is not enough: the network may stall in the middle of pasted text, and the lines behind the gap are no keys.
//! So whatever was begun has to end as well; [`super::open_line`] says so of lines.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::keys::{CTRL_C, EarlyKeys};
use super::terminal;

/// How long the keyboard must be silent before an answer is read. Longer than the pauses within a word and within a
/// paste over a slow line; shorter than the time it takes to read the question.
pub(crate) const SILENCE: Duration = Duration::from_millis(250);

/// How long typing may go on before a question. A person stops earlier; after this time the question counts as
/// interrupted.
pub(super) const LONGEST_TYPING: Duration = Duration::from_secs(20);

/// After which time without a byte of the rest the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// How the typing ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// Nobody types any more, and nothing that was begun is open.
    Quiet,
    /// Ctrl-C was typed, or the last key was Esc.
    Interrupted,
    /// Typing went on for the longest time.
    Endless,
    /// What is asked has changed.
    Woken,
}

/// What Esc alone does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// It ends the wait.
    Interrupts,
    /// It erases the line that is being typed.
    Erases,
    Passes,
}

/// What follows once nobody types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The wait is over, in this way.
    Ends(Silence),
    /// The user has to end a line first, and may think about it as long as about an answer.
    Goes,
}

/// Waits until nobody types and nothing is open. `take` takes what was typed so far and lets `early` follow it. `stalls` is
/// called when the rest of something takes long, and `pauses` whenever nobody types. Ctrl-C interrupts, also in a paste
/// whose end was lost.
pub(super) fn wait(
    early: &Mutex<EarlyKeys>,
    (longest, escape): (Duration, Escape),
    mut take: impl FnMut() -> Vec<u8>,
    mut stalls: impl FnMut(),
    mut pauses: impl FnMut() -> Pause,
) -> Silence {
    // As a signal Ctrl-C would end the turn, and whoever waits here would ask all the same.
    let _keys = terminal::TurnMode::keys();
    let mut begin = Instant::now();
    let mut last = begin;
    let mut is_told = false;
    loop {
        let taken = take();
        if taken.contains(&CTRL_C) {
            return Silence::Interrupted;
        }
        if !taken.is_empty() {
            last = Instant::now();
        }
        let typed = terminal::is_typed_within(SILENCE);
        let stall = early.lock().longest_stall();
        // A paste may take longer than anybody types.
        let is_pasted = stall.is_some_and(|stall| last.elapsed() < stall);
        if typed && (is_pasted || begin.elapsed() < longest) {
            continue;
        }
        if typed {
            return Silence::Endless;
        }
        let stall = match escape != Escape::Passes && early.lock().take_escape() {
            true if escape == Escape::Interrupts => return Silence::Interrupted,
            true => {
                early.lock().erase_line();
                None
            }
            false => stall,
        };
        let is_gone = terminal::is_gone();
        match stall {
            Some(stall) if last.elapsed() < stall && !is_gone => {
                if last.elapsed() >= PATIENCE && !std::mem::replace(&mut is_told, true) {
                    stalls();
                }
                continue;
            }
            Some(_) => early.lock().give_up(),
            None => {}
        }
        match pauses() {
            Pause::Ends(silence) => return silence,
            Pause::Goes if is_gone => return Silence::Quiet,
            Pause::Goes => begin = Instant::now(),
        }
    }
}

/// For [`wait`] where the first pause is enough.
pub(super) fn first_pause() -> Pause {
    Pause::Ends(Silence::Quiet)
}
