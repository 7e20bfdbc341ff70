//! Ends a line that is being read from another thread, because what it is about has changed.
//!
//! The line editor waits for the terminal and for its own signals, and for nothing else. While it reads, it takes SIGINT
//! for Ctrl-C (which is a key then, and no signal), so [`Ui::wake`](crate::ui::Ui::wake) raises SIGINT and notes that it
//! did: the line comes back as [`Typed::Woken`](crate::ui::Typed::Woken). The signal may come a moment too early or too
//! late, when the handler is not the line editor's. Then the turn receives it, and
//! [`Ui::was_woken`](crate::ui::Ui::was_woken) tells it that the user did not press Ctrl-C; whoever wakes tries again
//! until the line has ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::SIGINT;
use signal_hook::low_level::raise;

/// How long a signal that was raised here may take until the turn receives it. Longer than the runtime takes to wake on
/// a busy machine, shorter than anybody needs to press Ctrl-C again where it was taken for ours.
const LONGEST_DELIVERY: Duration = Duration::from_secs(1);

/// Ends a line that is being read.
#[derive(Debug, Default)]
pub(super) struct Wake(Mutex<State>);

/// Whether a line is read that can be ended, and when that was tried.
#[derive(Debug, Default)]
struct State {
    is_reading: bool,
    is_woken: bool,
    raised: Option<Instant>,
}

/// What was typed in a line so far; filled in by the helper of its line editor.
#[derive(Debug, Clone, Default)]
pub struct TypedSoFar(Arc<Mutex<String>>);

impl TypedSoFar {
    /// The line is this now.
    pub fn set(&self, line: &str) {
        let mut typed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        line.clone_into(&mut typed);
    }

    /// The line as it was last.
    pub fn get(&self) -> String {
        let typed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        typed.clone()
    }
}

impl Wake {
    /// Ends the line that is being read, if it is one that can be ended.
    pub(super) fn wake(&self) {
        let mut state = self.state();
        if state.is_reading {
            state.is_woken = true;
            state.raised = Some(Instant::now());
            // Where it cannot be raised, the line ends when the user ends it.
            let _ = raise(SIGINT);
        }
    }

    /// Whether a SIGINT that was just received is one that was raised here.
    pub(super) fn was_raised(&self) -> bool {
        let raised = self.state().raised;
        raised.is_some_and(|raised| raised.elapsed() < LONGEST_DELIVERY)
    }

    /// From now on the line can be ended from another thread, or no more. Whether that was done.
    pub(super) fn reads(&self, is_reading: bool) -> bool {
        let mut state = self.state();
        state.is_reading = is_reading;
        std::mem::take(&mut state.is_woken)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
