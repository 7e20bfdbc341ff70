//! The key at the prompt that has the next request paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::{Cmd, ConditionalEventHandler, Event, EventContext, RepeatCount};

use super::Pausing;
use crate::config::request_editor::PauseMode;

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
