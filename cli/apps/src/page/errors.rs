//! Errors of the page on their way to the chat.

use std::time::Duration;

use parking_lot::Mutex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::allowance::Allowance;
use crate::part::Part;

/// The longest message that is kept, in characters: some lines on a terminal.
const MAX_MESSAGE_CHARS: usize = 1000;

/// Errors that are passed on without waiting: what a page reports at once that loads many things from elsewhere.
const BURST: u32 = 20;

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
    /// Whether it is only something that the policy kept out: most of the page works without it.
    pub is_blocked: bool,
    /// How many errors before this one were not passed on, because there were too many.
    pub omitted: u64,
}

/// A place in what the model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Location {
    /// In which block, of those of the page.
    #[serde(rename = "source", deserialize_with = "part_of_page")]
    pub part: Part,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

fn part_of_page<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Part, D::Error> {
    let name = String::deserialize(deserializer)?;
    match name.parse() {
        Ok(part @ (Part::Html | Part::Renderer)) => Ok(part),
        _ => Err(D::Error::custom("a page has no such part")),
    }
}

/// Passes errors on, a few per second.
pub(super) struct Errors {
    to: mpsc::Sender<PageError>,
    allowance: Mutex<Allowance>,
}

fn now() -> std::time::Instant {
    Instant::now().into_std()
}

impl Errors {
    pub(super) fn new(to: mpsc::Sender<PageError>) -> Self {
        Self {
            to,
            allowance: Mutex::new(Allowance::new(BURST, INTERVAL, now())),
        }
    }

    /// Begins anew, for another version of the app: what is wrong with it must not drown in the errors of the one before.
    pub(super) fn begin(&self) {
        *self.allowance.lock() = Allowance::new(BURST, INTERVAL, now());
    }

    /// Passes an error on, or counts it.
    pub(super) fn report(&self, mut error: PageError) {
        let mut allowance = self.allowance.lock();
        allowance.omit(error.omitted);
        let Some(omitted) = allowance.take(now()) else {
            return;
        };
        if let Some((end, _)) = error.message.char_indices().nth(MAX_MESSAGE_CHARS) {
            error.message.truncate(end);
            error.message.push('…');
        }
        error.omitted = omitted;
        if self.to.try_send(error).is_err() {
            allowance.omit(omitted.saturating_add(1));
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
            is_blocked: false,
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
        let omitted = 1000 - u64::from(BURST);
        assert_eq!((later.message.as_str(), later.omitted), ("later", omitted));
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
