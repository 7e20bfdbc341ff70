//! Ends a line that is being read from another thread, because what it is about has changed.
//!
//! The line editor waits for the terminal and for its own signals, and for nothing else. While it reads, it takes SIGINT
//! for Ctrl-C (which is a key then, and no signal), so [`Ui::wake`](crate::ui::Ui::wake) raises SIGINT. The signal may come a
//! moment too early or too late, when the handler is not the line editor's. Then the turn receives it, and
//! [`Ui::was_woken`](crate::ui::Ui::was_woken) tells it that the user did not press Ctrl-C; whoever wakes tries again
//! until the line has ended.
//!
//! What the user types belongs to the line, before and after: it stays in the terminal until the line is there again. Only
//! Enter does nothing until the user has stopped typing for a moment: it was meant for what is not shown any more.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustyline::history::History;
use rustyline::{
    Cmd, ConditionalEventHandler, Editor, Event, EventContext, EventHandler, Helper, KeyCode,
    KeyEvent, Modifiers, RepeatCount,
};
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use signal_hook::low_level::raise;

use super::answer::SILENCE;

/// How long a signal that was raised here may take until the turn receives it. Longer than the runtime takes to wake on
/// a busy machine, shorter than anybody needs to press Ctrl-C again where it was taken for ours.
const LONGEST_DELIVERY: Duration = Duration::from_secs(1);

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
    reading: Option<TypedSoFar>,
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
    /// Where the cursor is.
    at: usize,
    is_interrupted: bool,
    /// When the last key came, if Enter does nothing yet.
    waits: Option<Instant>,
}

impl TypedSoFar {
    /// The line is this now, with the cursor behind so many bytes.
    pub fn set(&self, line: &str, at: usize) {
        self.key();
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

    pub(super) fn is_interrupted(&self) -> bool {
        self.state().is_interrupted
    }

    /// What is above the line is new: Enter does nothing until the user has stopped typing.
    pub(super) fn begin_again(&self) {
        self.state().waits = Some(Instant::now());
    }

    /// A key came. Whether Enter would do something.
    fn key(&self) -> bool {
        let mut typed = self.state();
        let is_typing = |since: &mut Instant| since.elapsed() < SILENCE;
        let is_still = typed.waits.as_mut().is_some_and(is_typing);
        typed.waits = is_still.then(Instant::now);
        !is_still
    }

    /// Binds Enter in the line editor of this line.
    pub(super) fn bind<H: Helper, I: History>(&self, editor: &mut Editor<H, I>) {
        let keys = [
            KeyEvent(KeyCode::Enter, Modifiers::NONE),
            KeyEvent::ctrl('J'),
            KeyEvent::ctrl('M'),
        ];
        for key in keys {
            let enter = Enter(self.clone());
            editor.bind_sequence(key, EventHandler::Conditional(Box::new(enter)));
        }
    }

    fn is_empty(&self) -> bool {
        self.state().line.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, TypedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Enter in a line that was there before.
struct Enter(TypedSoFar);

impl ConditionalEventHandler for Enter {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        match self.0.key() {
            true => None,
            false => Some(Cmd::Noop),
        }
    }
}

impl Wake {
    /// Ends the line that is being read, if it is one that can be ended, and was not ended just now.
    pub(super) fn wake(&self) {
        let mut state = self.state();
        let Some(typed) = &state.reading else { return };
        let interval = match typed.is_empty() {
            true => INTERVAL,
            false => TYPING_INTERVAL,
        };
        if state.tried.is_some_and(|tried| tried.elapsed() < interval) {
            return;
        }
        let Some(turn) = state.turn.clone() else {
            return;
        };
        state.tried = Some(Instant::now());
        turn.store(false, Ordering::Relaxed);
        // The handler has run when this returns. Where the signal cannot be raised, the line ends when the user ends it.
        let is_raised = raise(SIGINT).is_ok();
        match turn.load(Ordering::Relaxed) {
            true => state.missed = Some(Instant::now()),
            false => state.is_woken = is_raised,
        }
    }

    /// Whether a SIGINT that the turn just received is one that was raised here. Each of them is one only once.
    pub(super) fn was_raised(&self) -> bool {
        let missed = self.state().missed.take();
        missed.is_some_and(|missed| missed.elapsed() < LONGEST_DELIVERY)
    }

    /// From now on this line can be ended from another thread, or none. Whether one was.
    pub(super) fn reads(&self, line: Option<&TypedSoFar>) -> bool {
        let mut state = self.state();
        if state.turn.is_none() {
            let turn = Arc::<AtomicBool>::default();
            // Lines end when the user ends them where signals cannot be received.
            if flag::register(SIGINT, Arc::clone(&turn)).is_ok() {
                state.turn = Some(turn);
            }
        }
        state.reading = line.cloned();
        std::mem::take(&mut state.is_woken)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enter_does_nothing_while_somebody_types_on() {
        let typed = TypedSoFar::default();
        assert!(typed.key(), "the line was shown first");
        typed.begin_again();
        typed.set("sen", 3);
        assert!(!typed.key());
        // As if the keyboard had been silent.
        let before = Instant::now().checked_sub(SILENCE);
        typed.state().waits = before;
        assert!(typed.key());
        assert!(typed.key(), "once is enough");
        typed.set("send", 2);
        assert_eq!(typed.get(), ("se".to_owned(), "nd".to_owned()));
    }

    #[test]
    fn a_line_is_ended_once_in_a_while() {
        let wake = Wake::default();
        wake.wake();
        assert!(wake.state().tried.is_none(), "nothing is read");
        let typed = TypedSoFar::default();
        wake.reads(Some(&typed));
        wake.wake();
        // Nobody but the turn, which is this test, had a handler.
        assert!(!wake.reads(Some(&typed)));
        let first = wake.state().tried;
        assert!(first.is_some());
        assert!(wake.was_raised());
        assert!(!wake.was_raised(), "the next one is the user's");
        typed.set("s", 1);
        let recent = Instant::now().checked_sub(INTERVAL * 2);
        wake.state().tried = recent;
        wake.wake();
        assert_eq!(wake.state().tried, recent, "somebody types");
        typed.set("", 0);
        wake.wake();
        assert_ne!(wake.state().tried, recent);
        wake.reads(None);
    }
}
