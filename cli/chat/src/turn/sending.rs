//! Gets a request accepted: composes it anew where the endpoint has taught how, waits and sends again where
//! that may help.
//!
//! All of it happens before the first byte of a reply. Once a reply has begun, nothing is sent again.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use futures::{Stream, poll, stream};
use tokio::time::{Instant, sleep};

use super::context::{Frontend, TurnContext};
use super::in_flight::InFlight;
use super::journal::Journal;
use super::machine::Turn;
use crate::media::Media;
use crate::provider::EventStream;
use crate::provider::Usage;
use crate::provider::error::ProviderError;
use crate::provider::retry::Retrying;
use crate::request::HistoryLimits;
use crate::request::Request;
use crate::request::measure::Counted;
use crate::session::requests::Kind;

/// Most requests that are composed anew one after the other, because the endpoint has taught how. The endpoint
/// sees to an end of it as well; this is for one that does not.
const MAX_FALLBACKS: u32 = 8;

/// How often a wait is told of.
const TICK: Duration = Duration::from_secs(1);

/// Why there is no reply.
pub(super) enum Unsent {
    /// The last attempt failed.
    Failed(ProviderError),
    /// The endpoint does not take these, which the user has attached to the message.
    MediaRefused(Box<ProviderError>, Vec<Media>),
    /// The endpoint wants the request otherwise than the user has seen it.
    Outdated,
}

impl TurnContext<'_> {
    /// Sends the request until it is accepted or there is no more hope; `request` is what was sent last. Dropping the future
    /// ends it at once.
    ///
    /// `forms`: how many forms of the request were looked at and refused. Once one was looked at, no other one may be sent
    /// in its place.
    ///
    /// # Errors
    /// The failure of the last attempt, or the request has to be composed anew and looked at again.
    pub(super) async fn send(
        &self,
        turn: &Turn<'_>,
        request: &mut Request,
        forms: Option<u32>,
        in_flight: &mut InFlight<'_, dyn Journal + '_>,
    ) -> Result<EventStream, Unsent> {
        let seed = RandomState::new().hash_one(turn.rounds());
        let mut attempt = 1;
        let mut fallbacks = forms.unwrap_or_default();
        loop {
            let error = match self.send_once(request, in_flight).await {
                Ok(events) => {
                    self.context_budget().sent(request.bytes());
                    return Ok(events);
                }
                Err(error) => error,
            };
            in_flight.failed(&error, Usage::default());
            if let Some(change) = error.profile_change()
                && fallbacks < MAX_FALLBACKS
                && let Ok(again) = self.compose(turn)
            {
                // The same request would be refused once more.
                if again.bytes() != request.original() {
                    let missing = self.missing_of_message(turn, request, &again);
                    if !missing.is_empty() {
                        return Err(Unsent::MediaRefused(Box::new(error), missing));
                    }
                    if let Some(notice) = &change.notice {
                        self.calls.frontend.notice(notice);
                    }
                    if forms.is_some() {
                        return Err(Unsent::Outdated);
                    }
                    *request = again;
                    fallbacks += 1;
                    continue;
                }
            }
            let Some(wait) = self.retries.wait(attempt, &error, seed) else {
                return Err(Unsent::Failed(error));
            };
            attempt += 1;
            let retrying = Retrying {
                reason: error.in_brief(),
                remaining: wait,
                attempt,
                attempts: self.retries.attempts,
            };
            sit_out(self.calls.frontend.as_ref(), retrying).await;
        }
    }

    /// Sends the request and has it logged. It goes out first.
    async fn send_once(
        &self,
        request: &Request,
        in_flight: &mut InFlight<'_, dyn Journal + '_>,
    ) -> Result<EventStream, ProviderError> {
        let mut sending = pin!(self.provider.send(request));
        let early = poll!(sending.as_mut());
        let counted = self.counted();
        in_flight.begin(
            Kind::Turn,
            (self.agent, self.provider),
            request,
            Some(&counted),
        );
        match early {
            Poll::Ready(sent) => sent,
            Poll::Pending => sending.await,
        }
    }
}

impl TurnContext<'_> {
    /// What the request that was made last comes to.
    fn counted(&self) -> Counted {
        let limits = HistoryLimits {
            window: self.provider.window(),
            ..self.limits
        };
        let budget = self.context_budget();
        Counted {
            tokens: budget.measure().sent(),
            scale: budget.measure().scale(),
            window: budget.window(&limits).map(|(tokens, _)| tokens),
        }
    }
}

/// Waits, and says every second how long it still takes.
async fn sit_out(frontend: &dyn Frontend, mut retrying: Retrying) {
    let _end = WaitEnd(frontend);
    let until = Instant::now() + retrying.remaining;
    while !retrying.remaining.is_zero() {
        frontend.retrying(Some(&retrying));
        // To the next whole second, so that the numbers fall one by one.
        let part = Duration::from_nanos(retrying.remaining.subsec_nanos().into());
        sleep(if part.is_zero() { TICK } else { part }).await;
        retrying.remaining = until.saturating_duration_since(Instant::now());
    }
}

/// Says that the wait is over, also when it was dropped.
struct WaitEnd<'a>(&'a dyn Frontend);

impl Drop for WaitEnd<'_> {
    fn drop(&mut self) {
        self.0.retrying(None);
    }
}

/// The same events; while they are waited for, `work` is done. What of it is not done when they end is dropped.
pub(super) fn beside<'a>(
    mut events: EventStream,
    work: impl Future<Output = ()> + Send + 'a,
) -> Pin<Box<dyn Stream<Item = <EventStream as Stream>::Item> + Send + 'a>> {
    let mut work = Some(Box::pin(work));
    Box::pin(stream::poll_fn(move |context| {
        if let Some(working) = &mut work
            && working.as_mut().poll(context) == Poll::Ready(())
        {
            work = None;
        }
        events.as_mut().poll_next(context)
    }))
}

#[cfg(test)]
#[path = "sending_tests.rs"]
mod tests;
