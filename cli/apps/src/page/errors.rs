//! Errors of the page on their way to the chat.

use std::time::Duration;

use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The longest message that is kept, in characters: some lines on a terminal.
const MAX_MESSAGE_CHARS: usize = 1000;

/// Errors that are passed on without waiting: what a script with several mistakes reports at once.
const BURST: u32 = 5;

/// The time after which one more error is passed on. An error in an animation happens sixty times per second, and the first
/// says it all.
const INTERVAL: Duration = Duration::from_millis(500);

/// An error that the browser met in an app. The text comes from the app: it is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageError {
    /// What went wrong.
    pub message: String,
    /// Where, if the browser knows.
    pub location: Option<Location>,
    /// How many errors before this one were not passed on, because there were too many.
    pub omitted: u64,
}

/// A place in what the model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Location {
    /// In which block.
    pub source: Source,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// A part of the page of an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Source {
    /// The block `html`.
    #[serde(rename = "html")]
    Html,
    /// The block `renderer-js`.
    #[serde(rename = "renderer-js")]
    Renderer,
}

/// Passes errors on, a few per second.
pub(super) struct Errors {
    to: mpsc::Sender<PageError>,
    flow: Mutex<Flow>,
}

struct Flow {
    allowance: u32,
    filled: Instant,
    omitted: u64,
}

impl Flow {
    fn new() -> Self {
        Self {
            allowance: BURST,
            filled: Instant::now(),
            omitted: 0,
        }
    }
}

impl Errors {
    pub(super) fn new(to: mpsc::Sender<PageError>) -> Self {
        Self {
            to,
            flow: Mutex::new(Flow::new()),
        }
    }

    /// Begins anew, for another version of the app: what is wrong with it must not drown in the errors of the one before.
    pub(super) fn begin(&self) {
        *self.flow.lock() = Flow::new();
    }

    /// Passes an error on, or counts it.
    pub(super) fn report(&self, mut error: PageError) {
        let mut flow = self.flow.lock();
        let passed = flow.filled.elapsed().as_millis() / INTERVAL.as_millis();
        if passed > 0 {
            let passed = u32::try_from(passed).unwrap_or(u32::MAX);
            flow.allowance = flow.allowance.saturating_add(passed).min(BURST);
            flow.filled = Instant::now();
        }
        flow.omitted = flow.omitted.saturating_add(error.omitted);
        if flow.allowance == 0 {
            flow.omitted = flow.omitted.saturating_add(1);
            return;
        }
        flow.allowance -= 1;
        if let Some((end, _)) = error.message.char_indices().nth(MAX_MESSAGE_CHARS) {
            error.message.truncate(end);
            error.message.push('…');
        }
        error.omitted = flow.omitted;
        match self.to.try_send(error) {
            Ok(()) => flow.omitted = 0,
            Err(_) => flow.omitted = flow.omitted.saturating_add(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(message: &str) -> PageError {
        PageError {
            message: message.to_owned(),
            location: None,
            omitted: 0,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_flood_a_few_arrive_and_the_rest_is_counted() {
        let (to, mut from) = mpsc::channel(100);
        let errors = Errors::new(to);
        for _ in 0..1000 {
            errors.report(error("flood"));
        }
        for _ in 0..BURST {
            assert_eq!(from.try_recv().expect("passed on"), error("flood"));
        }
        assert!(from.try_recv().is_err());
        tokio::time::advance(INTERVAL).await;
        errors.report(error("later"));
        errors.report(error("one more"));
        let later = from.try_recv().expect("passed on");
        assert_eq!((later.message.as_str(), later.omitted), ("later", 995));
        assert!(from.try_recv().is_err());
        errors.begin();
        errors.report(error("another version"));
        assert_eq!(
            from.try_recv().expect("passed on"),
            error("another version")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn errors_that_nobody_takes_are_counted() {
        let (to, mut from) = mpsc::channel(1);
        let errors = Errors::new(to);
        errors.report(error("first"));
        errors.report(error("no room"));
        assert_eq!(from.try_recv().expect("passed on"), error("first"));
        errors.report(error("third"));
        assert_eq!(from.try_recv().expect("passed on").omitted, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_message_is_cut_between_characters() {
        let (to, mut from) = mpsc::channel(1);
        Errors::new(to).report(error(&"ä".repeat(5000)));
        let message = from.try_recv().expect("passed on").message;
        assert_eq!(message, "ä".repeat(MAX_MESSAGE_CHARS) + "…");
    }
}
