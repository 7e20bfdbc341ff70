//! `chat`: the person at the other end.

use std::time::Instant;

use super::{CallState, Phase, UsedInDescribe};
use crate::bindings::dunlin::tool::chat;
use crate::display;
use crate::limits::{MAX_PROGRESS_CHARS, PROGRESS_PERIOD};

/// Passes on one message a period.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    last: Option<Instant>,
}

impl chat::Host for CallState {
    fn progress(&mut self, message: String, percent: Option<u8>) -> wasmtime::Result<()> {
        match self.phase {
            Phase::Describe => return Err(UsedInDescribe.into()),
            Phase::Prepare => return Ok(()),
            Phase::Run => {}
        }
        let now = Instant::now();
        if self
            .progressed
            .last
            .is_some_and(|last| now - last < PROGRESS_PERIOD)
        {
            return Ok(());
        }
        self.progressed.last = Some(now);
        if let Some(progress) = &self.progress {
            // Cut first: escaping a megabyte to show one line would be the guest's to abuse.
            let message: String = message.chars().take(MAX_PROGRESS_CHARS).collect();
            let shown = display::escape(&message);
            progress.progress(
                &self.call,
                &display::shorten(&shown, MAX_PROGRESS_CHARS),
                percent.map(|percent| percent.min(100)),
            );
        }
        Ok(())
    }
}
