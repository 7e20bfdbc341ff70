//! A request between being sent and the end of its reply, for the log of requests.

use std::time::Duration;

use tokio::time::Instant;

use super::event::Event;
use super::journal::Journal;
use crate::agent::Agent;
use crate::provider::error::{Endpoint, ProviderError};
use crate::provider::{Provider, Usage};
use crate::request::Request;
use crate::request::measure::Counted;
use crate::session::requests::{Answered, Ending, Kind, Sent};

/// Tells a journal of each request, and of its end. One that is dropped before was interrupted.
pub struct InFlight<'a, J: Journal + ?Sized> {
    journal: &'a J,
    current: Option<Current>,
}

/// The request that has not ended.
struct Current {
    number: u64,
    sent: Instant,
    first_event: Option<Duration>,
}

impl<'a, J: Journal + ?Sized> InFlight<'a, J> {
    /// For the requests of this journal, one after the other.
    pub fn new(journal: &'a J) -> InFlight<'a, J> {
        InFlight {
            journal,
            current: None,
        }
    }

    /// A request goes out. `counted`: its tokens, as far as they were counted.
    pub fn begin(
        &mut self,
        kind: Kind,
        (agent, provider): (&Agent, &dyn Provider),
        request: &Request,
        counted: Option<&Counted>,
    ) {
        let endpoint = provider.endpoint();
        let endpoint = endpoint.unwrap_or_else(|| Endpoint::of(&agent.base_url));
        let sent = Instant::now();
        let number = self.journal.sent(&Sent {
            kind,
            agent: &agent.name,
            subagent: None,
            model: &agent.model,
            endpoint: &endpoint.to_string(),
            counted,
            original: request.original(),
            sent: request.bytes(),
            edits: request.edits(),
        });
        self.current = Some(Current {
            number,
            sent,
            first_event: None,
        });
    }

    /// Something of the reply has come.
    pub fn event(&mut self) {
        if let Some(current) = &mut self.current {
            let now = current.sent.elapsed();
            current.first_event.get_or_insert(now);
        }
    }

    /// The request has ended without an error.
    pub fn end(&mut self, end: Ending, usage: Usage) {
        self.log(end, (None, None), usage);
    }

    /// The provider has failed.
    pub fn failed(&mut self, error: &ProviderError, usage: Usage) {
        let (end, status) = match error {
            ProviderError::Status(refusal) => (Ending::Refused, Some(refusal.status)),
            _ => (Ending::Failed, None),
        };
        let error = dunlin_host::display::chain(error);
        self.log(end, (Some(error), status), usage);
    }

    fn log(&mut self, end: Ending, (error, status): (Option<String>, Option<u16>), usage: Usage) {
        if let Some(current) = self.current.take() {
            let answered = Answered {
                end,
                error,
                status,
                usage: (usage != Usage::default()).then_some(usage),
                first_event: current.first_event,
                total: current.sent.elapsed(),
            };
            self.journal.answered(current.number, &answered);
        }
    }

    /// The request has ended as the turn says.
    pub(super) fn ended(&mut self, event: &Event, usage: Usage) {
        match event {
            Event::StreamFailed(error) => self.failed(error, usage),
            Event::Interrupted => self.end(Ending::Interrupted, usage),
            _ => self.end(Ending::Answered, usage),
        }
    }
}

impl<J: Journal + ?Sized> Drop for InFlight<'_, J> {
    fn drop(&mut self) {
        self.end(Ending::Interrupted, Usage::default());
    }
}
