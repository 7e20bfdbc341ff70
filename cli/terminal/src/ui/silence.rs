//! Waits until nobody types, before what is typed counts.
//!
//! A pause alone is not enough: the network may stall in the middle of pasted text, and the lines behind the gap are no keys.
//! So whatever was begun has to end as well.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::keys::{CTRL_C, EarlyKeys};
use super::{lock, terminal};

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
}

/// Waits until nobody types and nothing is open. `take` takes what was typed so far and lets `early` follow it. `stalls` is
/// called when the rest of something takes long. `is_escape_key`: whether Esc alone interrupts. Ctrl-C does, also in a paste
/// whose end was lost.
pub(super) fn wait(
    early: &Mutex<EarlyKeys>,
    (longest, is_escape_key): (Duration, bool),
    mut take: impl FnMut() -> Vec<u8>,
    mut stalls: impl FnMut(),
) -> Silence {
    // As a signal Ctrl-C would end the turn, and whoever waits here would ask all the same.
    let _keys = terminal::TurnMode::keys();
    let begin = Instant::now();
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
        let stall = lock(early).longest_stall();
        // A paste may take longer than anybody types.
        let is_pasted = stall.is_some_and(|stall| last.elapsed() < stall);
        if typed && (is_pasted || begin.elapsed() < longest) {
            continue;
        }
        if typed {
            return Silence::Endless;
        }
        if is_escape_key && lock(early).take_escape() {
            return Silence::Interrupted;
        }
        match stall {
            Some(stall) if last.elapsed() < stall && !terminal::is_gone() => {
                if last.elapsed() >= PATIENCE && !std::mem::replace(&mut is_told, true) {
                    stalls();
                }
            }
            Some(_) => {
                lock(early).give_up();
                return Silence::Quiet;
            }
            None => return Silence::Quiet,
        }
    }
}
