//! The call that runs, and for how long.

use std::time::{Duration, Instant};

use dunlin_chat::turn::{CallState, CallView};

/// Seconds are shown once there are so many.
const COUNTED_SECONDS: u64 = 1;

/// The call whose line is drawn.
#[derive(Debug)]
pub(super) struct RunningCall {
    pub(super) call: CallView,
    /// When it began to run, later by all the time in which the user was asked.
    pub(super) since: Instant,
    pub(super) asked: Option<Instant>,
    /// Its newest output: rows, each behind a line end.
    pub(super) output: String,
    /// What of all this was drawn last.
    pub(super) drawn: String,
}

impl RunningCall {
    /// The user is asked something, which does not count.
    pub(super) fn pause(&mut self) {
        self.asked = Some(Instant::now());
    }

    /// The user has answered.
    pub(super) fn resume(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.since += asked.elapsed();
        }
    }

    /// How long it has run.
    pub(super) fn ran(&self) -> Duration {
        let until = self.asked.unwrap_or_else(Instant::now);
        until.saturating_duration_since(self.since)
    }

    /// How long it has run, if its line says so.
    pub(super) fn counted(&self) -> Option<Duration> {
        let is_counted = |ran: &Duration| !counted(*ran).is_empty();
        let is_running = self.call.state == CallState::Running;
        is_running.then(|| self.ran()).filter(is_counted)
    }
}

/// How long something goes on, in whole seconds: ` · 12 s`. Empty before the first.
pub(super) fn counted(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0..COUNTED_SECONDS => String::new(),
        seconds @ COUNTED_SECONDS..60 => format!(" · {seconds} s"),
        seconds => format!(" · {} min {} s", seconds / 60, seconds % 60),
    }
}
