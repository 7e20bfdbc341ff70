//! `app-page`: what the program of an app tells its page.
//!
//! A page is a window of a browser, and the program may be hostile to it: what comes too fast is dropped, with one note of it
//! as long as it does.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::View;
use crate::app::page::{AppPage, LogLevel};
use crate::bindings::app::dunlin::tool::app_page;
use crate::bindings::dunlin::tool::log;
use crate::limits::{
    MAX_APP_NAME_BYTES, MAX_EMIT_BYTES, MAX_EMIT_BYTES_PER_SECOND, MAX_EMITS_PER_SECOND,
    MAX_LOG_MESSAGE_BYTES, MAX_TOLD_PER_SECOND,
};

/// The page of an app; tools have none.
#[derive(Default)]
pub(crate) struct Page(Option<Open>);

struct Open {
    page: Arc<dyn AppPage>,
    events: Flow,
    messages: Flow,
}

impl Page {
    pub(crate) fn new(page: Arc<dyn AppPage>) -> Page {
        Page(Some(Open {
            page,
            events: Flow::new(MAX_EMITS_PER_SECOND, MAX_EMIT_BYTES_PER_SECOND),
            messages: Flow::new(
                MAX_TOLD_PER_SECOND,
                MAX_TOLD_PER_SECOND * MAX_LOG_MESSAGE_BYTES,
            ),
        }))
    }

    /// Tells the page of a message of the program, or of what became of it.
    pub(crate) fn report(&mut self, level: LogLevel, text: &str) {
        let Some(open) = &mut self.0 else {
            return;
        };
        match open.messages.admit(text.len(), Instant::now()) {
            Admitted::Yes => open.page.logged(level, text),
            Admitted::No => {}
            Admitted::FirstNo => open.page.logged(
                LogLevel::Warn,
                &format!(
                    "more than {MAX_TOLD_PER_SECOND} messages in a second: the rest is dropped"
                ),
            ),
        }
    }
}

impl app_page::Host for View<'_, Page> {
    fn emit(&mut self, event: String, payload: String) -> wasmtime::Result<()> {
        let Some(open) = &mut self.own.0 else {
            return Ok(());
        };
        if event.len() > MAX_APP_NAME_BYTES || payload.len() > MAX_EMIT_BYTES {
            let note = format!(
                "an event of {} bytes is dropped: its name may have {MAX_APP_NAME_BYTES}, its payload {MAX_EMIT_BYTES}",
                event.len() + payload.len()
            );
            self.own.report(LogLevel::Warn, &note);
            return Ok(());
        }
        match open
            .events
            .admit(event.len() + payload.len(), Instant::now())
        {
            Admitted::Yes => open.page.emit(&event, &payload),
            Admitted::No => {}
            Admitted::FirstNo => {
                let note = format!(
                    "more than {MAX_EMITS_PER_SECOND} events or {} MiB in a second: the rest is dropped",
                    MAX_EMIT_BYTES_PER_SECOND >> 20
                );
                self.own.report(LogLevel::Warn, &note);
            }
        }
        Ok(())
    }
}

impl From<log::Level> for LogLevel {
    fn from(level: log::Level) -> LogLevel {
        match level {
            log::Level::Debug => LogLevel::Debug,
            log::Level::Info => LogLevel::Info,
            log::Level::Warn => LogLevel::Warn,
            log::Level::Error => LogLevel::Error,
        }
    }
}

/// Whether one more goes on.
#[derive(Debug, PartialEq, Eq)]
enum Admitted {
    Yes,
    No,
    /// No, and that is new.
    FirstNo,
}

/// How much passes in a second.
struct Flow {
    most: usize,
    most_bytes: usize,
    since: Option<Instant>,
    count: usize,
    bytes: usize,
    /// Whether something was dropped in this second, and whether that was said.
    dropped: bool,
    noted: bool,
}

impl Flow {
    fn new(most: usize, most_bytes: usize) -> Flow {
        Flow {
            most,
            most_bytes,
            since: None,
            count: 0,
            bytes: 0,
            dropped: false,
            noted: false,
        }
    }

    fn admit(&mut self, bytes: usize, now: Instant) -> Admitted {
        const SECOND: Duration = Duration::from_secs(1);
        let age = self.since.map(|since| now.duration_since(since));
        if age.is_none_or(|age| age >= SECOND) {
            // Said once as long as it goes on: until a second passes without a drop.
            self.noted = self.dropped && age.is_some_and(|age| age < 2 * SECOND);
            self.dropped = false;
            self.since = Some(now);
            self.count = 0;
            self.bytes = 0;
        }
        if self.count == self.most || self.bytes + bytes > self.most_bytes {
            self.dropped = true;
            return match std::mem::replace(&mut self.noted, true) {
                true => Admitted::No,
                false => Admitted::FirstNo,
            };
        }
        self.count += 1;
        self.bytes += bytes;
        Admitted::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_too_fast_is_dropped_with_one_note() {
        let start = Instant::now();
        let mut flow = Flow::new(2, 100);
        for (millisecond, bytes, expected) in [
            (0, 10, Admitted::Yes),
            (1, 10, Admitted::Yes),
            (2, 10, Admitted::FirstNo),
            (3, 10, Admitted::No),
            // The next second, in which it goes on.
            (1_000, 10, Admitted::Yes),
            (1_001, 91, Admitted::No),
            (1_002, 90, Admitted::Yes),
            (1_003, 0, Admitted::No),
            // A second without a drop, and then another flood.
            (2_000, 10, Admitted::Yes),
            (3_000, 101, Admitted::FirstNo),
            // A long while later.
            (9_000, 101, Admitted::FirstNo),
        ] {
            let now = start + Duration::from_millis(millisecond);
            assert_eq!(flow.admit(bytes, now), expected, "{millisecond} ms");
        }
    }
}
