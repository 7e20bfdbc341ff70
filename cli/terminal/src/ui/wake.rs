//! Ends a line that is being read from another thread, because what it is about has changed.
//!
//! The line editor waits for the terminal and for its own signals, and for nothing else. While it reads, it takes SIGINT
//! for Ctrl-C (which is a key then, and no signal), so [`Ui::wake`](crate::ui::Ui::wake) raises SIGINT. The signal may come a
//! moment too early or too late, when the handler is not the line editor's. Then the turn receives it, and
//! [`Ui::was_woken`](crate::ui::Ui::was_woken) tells it that the user did not press Ctrl-C; whoever wakes tries again
//! until the line has ended.
//!
//! What the user types until the line is there again belongs to it, with the keys that erase and leave. Only Enter is
//! dropped: it was meant for what is not shown any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use signal_hook::low_level::raise;

use super::line_paste::LinePaste;
use super::typed::Typed;
use super::typed_line;

/// How long a signal that was raised here may take until the turn receives it. Longer than the runtime takes to wake on
/// a busy machine, shorter than anybody needs to press Ctrl-C again where it was taken for ours.
const LONGEST_DELIVERY: Duration = Duration::from_secs(1);

/// The key that leaves an empty line.
pub(super) const CTRL_D: u8 = 4;

/// How often an empty line is ended.
const INTERVAL: Duration = Duration::from_millis(50);

/// How often a line is ended in which something was typed: that can be read and typed on in between.
const TYPING_INTERVAL: Duration = Duration::from_secs(1);

/// Ends a line that is being read.
#[derive(Debug, Default)]
pub(super) struct Wake(Mutex<State>);

/// Whether a line is read that can be ended, and when that was tried.
#[derive(Debug, Default)]
struct State {
    /// What was typed in the line that is being read.
    reading: Option<(TypedSoFar, LinePaste)>,
    /// Whether the user has to end another line before this one can be read.
    is_held: bool,
    /// Since when.
    begun: Option<Instant>,
    is_woken: bool,
    tried: Option<Instant>,
    /// When a signal went to the turn instead.
    missed: Option<Instant>,
    /// Set by each SIGINT that goes to the turn.
    turn: Option<Arc<AtomicBool>>,
}

/// What was typed in a line so far; filled in by the helper of its line editor.
#[derive(Debug, Clone, Default)]
pub struct TypedSoFar(Arc<Mutex<TypedState>>);

#[derive(Debug, Default)]
struct TypedState {
    line: String,
    at: usize,
    is_interrupted: bool,
    /// How much was kept of what was typed too early when the last line ended.
    early_before: usize,
}

impl TypedSoFar {
    /// The line has ended, and so many bytes are kept of what was typed too early.
    pub(super) fn ended(&self, early: usize) {
        self.state().early_before = early;
    }

    pub(super) fn early_before(&self) -> usize {
        self.state().early_before
    }

    /// The line is this now, with the cursor behind so many bytes.
    pub fn set(&self, line: &str, at: usize) {
        let mut typed = self.state();
        line.clone_into(&mut typed.line);
        typed.at = at;
    }

    /// The line as it was last, before the cursor and behind it.
    pub fn get(&self) -> (String, String) {
        let typed = self.state();
        let split = typed.line.split_at_checked(typed.at);
        let (before, after) = split.unwrap_or((&typed.line, ""));
        (before.to_owned(), after.to_owned())
    }

    /// The user leaves the line with Ctrl-C.
    pub fn interrupt(&self) {
        self.state().is_interrupted = true;
    }

    /// Whether the user has left the line with Ctrl-C; says so once.
    pub(super) fn takes_interruption(&self) -> bool {
        std::mem::take(&mut self.state().is_interrupted)
    }

    /// These keys come while the line is not there. How they leave it, if they do.
    pub(super) fn resume(&self, keys: &[u8]) -> Option<Typed> {
        const CTRL_C: u8 = 3;
        let (before, mut after) = self.get();
        let mut before = before.into_bytes();
        for key in keys {
            let is_empty = || after.is_empty() && typed_line::text(&before).is_empty();
            match *key {
                CTRL_C if is_empty() => return Some(Typed::Interrupted),
                CTRL_D if is_empty() => return Some(Typed::End),
                CTRL_C => {
                    before.clear();
                    after.clear();
                }
                CTRL_D | b'\r' | b'\n' | b'\t' => {}
                key => before.push(key),
            }
        }
        let before = typed_line::text(&before);
        self.set(&format!("{before}{after}"), before.len());
        None
    }

    fn is_empty(&self) -> bool {
        self.state().line.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, TypedState> {
        self.0.lock()
    }
}

impl Wake {
    /// Ends the line that is being read, if it was not ended just now. `false`: no line is read that can be ended.
    pub(super) fn wake(&self) -> bool {
        let mut state = self.state();
        if state.is_held {
            state.is_woken = true;
            return true;
        }
        let Some((typed, paste)) = &state.reading else {
            return false;
        };
        // The line editor would lose what came of it, and the rest would be keys.
        if paste.is_open() {
            return true;
        }
        let interval = match typed.is_empty() {
            true => INTERVAL,
            false => TYPING_INTERVAL,
        };
        let last = state.begun.max(state.tried);
        if last.is_some_and(|last| last.elapsed() < interval) {
            return true;
        }
        state.end_line()
    }

    /// Ends the line that is being read, from one of its keys, when the keys that came together with this one are done.
    pub(super) fn wake_from_key(&self) {
        let mut state = self.state();
        // Also where that was done before: of signals that come together the line editor may see one only.
        if state.reading.is_some() {
            state.end_line();
        }
    }

    /// Whether a SIGINT that the turn just received is one that was raised here. Each of them is one only once.
    pub(super) fn was_raised(&self) -> bool {
        let missed = self.state().missed.take();
        missed.is_some_and(|missed| missed.elapsed() < LONGEST_DELIVERY)
    }

    /// From now on a line that can be ended from another thread is waited for.
    pub(super) fn holds(&self) {
        let mut state = self.state();
        (state.is_held, state.is_woken) = (true, false);
    }

    /// Whether such a line was ended while it was waited for. It is so only once.
    pub(super) fn was_woken_while_held(&self) -> bool {
        let mut state = self.state();
        state.is_held && std::mem::take(&mut state.is_woken)
    }

    /// From now on this line can be ended from another thread, or none. Whether one was.
    pub(super) fn reads(&self, line: Option<(&TypedSoFar, &LinePaste)>) -> bool {
        let mut state = self.state();
        if state.turn.is_none() {
            let turn = Arc::<AtomicBool>::default();
            // Lines end when the user ends them where signals cannot be received.
            if flag::register(SIGINT, Arc::clone(&turn)).is_ok() {
                state.turn = Some(turn);
            }
        }
        state.reading = line.map(|(typed, paste)| (typed.clone(), paste.clone()));
        state.begun = Some(Instant::now());
        state.is_held = false;
        std::mem::take(&mut state.is_woken)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    /// Raises the signal. `false`: nobody would receive it.
    fn end_line(&mut self) -> bool {
        let Some(turn) = self.turn.clone() else {
            return false;
        };
        self.tried = Some(Instant::now());
        turn.store(false, Ordering::Relaxed);
        // The handler has run when this returns. Where the signal cannot be raised, the line ends when the user ends it.
        let is_raised = raise(SIGINT).is_ok();
        match turn.load(Ordering::Relaxed) {
            true => self.missed = Some(Instant::now()),
            false => self.is_woken = is_raised,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use rustyline::{KeyCode, KeyEvent, Modifiers};

    use super::*;

    #[test]
    fn keys_resume_the_line() {
        let check =
            |(line, at): (&str, usize), keys: &str, expected: Result<(&str, &str), Typed>| {
                let typed = TypedSoFar::default();
                typed.set(line, at);
                let done = typed.resume(keys.as_bytes());
                let (before, after) = typed.get();
                let found = done.map_or(Ok((before.as_str(), after.as_str())), Err);
                assert_eq!(found, expected, "{line:?} {keys:?}");
            };
        check(("sen", 3), "d\r", Ok(("send", "")));
        check(("sd", 1), "en", Ok(("sen", "d")));
        check(("größe", 7), "\u{7f}\u{7f}x", Ok(("gröx", "")));
        check(("send", 2), "\u{3}can", Ok(("can", "")));
        check(("send", 4), "\u{15}can\u{4}", Ok(("can", "")));
        check(("", 0), "\r\u{3}", Err(Typed::Interrupted));
        check(("s", 1), "\u{3}\u{3}", Err(Typed::Interrupted));
        check(("s", 0), "\u{4}", Ok(("", "s")));
        check(("s", 1), "\u{7f}\u{4}", Err(Typed::End));
    }

    #[test]
    fn a_line_that_is_waited_for_is_woken_without_a_signal() {
        let wake = Wake::default();
        wake.holds();
        assert!(!wake.was_woken_while_held());
        assert!(wake.wake());
        assert!(wake.state().tried.is_none());
        assert!(wake.was_woken_while_held());
        assert!(!wake.was_woken_while_held(), "only once");
        wake.wake();
        wake.reads(None);
        assert!(!wake.was_woken_while_held(), "it is not waited for");
        assert!(!wake.wake());
    }

    #[test]
    fn a_line_is_ended_once_in_a_while() {
        let wake = Wake::default();
        assert!(!wake.wake());
        assert!(wake.state().tried.is_none(), "nothing is read");
        let (typed, paste) = (TypedSoFar::default(), LinePaste::default());
        let earlier = || Instant::now().checked_sub(INTERVAL * 2);
        wake.reads(Some((&typed, &paste)));
        wake.wake();
        assert!(wake.state().tried.is_none(), "it has just begun");
        wake.state().begun = earlier();
        wake.wake();
        // Nobody but the turn, which is this test, had a handler.
        assert!(!wake.reads(Some((&typed, &paste))));
        let first = wake.state().tried;
        assert!(first.is_some());
        assert!(wake.was_raised());
        assert!(!wake.was_raised(), "the next one is the user's");
        typed.set("s", 1);
        let recent = earlier();
        wake.state().tried = recent;
        wake.state().begun = recent;
        wake.wake();
        assert_eq!(wake.state().tried, recent, "somebody types");
        typed.set("", 0);
        paste.key(KeyEvent(KeyCode::BracketedPasteStart, Modifiers::NONE));
        assert!(wake.wake());
        assert_eq!(
            wake.state().tried,
            recent,
            "the rest of the paste would be keys"
        );
        paste.end();
        wake.wake();
        assert_ne!(wake.state().tried, recent);
        wake.reads(None);
    }
}
