//! A request between being sent and the end of its reply, for the log of requests.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::event::Event;
use super::journal::Journal;
use crate::agent::Agent;
use crate::price::{Charge, Money, Price};
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
    price: Option<Price>,
}

impl Current {
    /// What it has cost.
    fn money(&self, end: Ending, usage: Usage) -> Money {
        let is_counted = usage != Usage::default();
        match (&self.price, end) {
            // Nothing was answered, so nothing is charged.
            (_, Ending::Refused | Ending::Failed) if !is_counted && self.first_event.is_none() => {
                Money::default()
            }
            (Some(price), _) if is_counted => Money {
                nano_usd: price.of(usage),
                // What came after the last count is charged, too.
                incomplete: u32::from(end != Ending::Answered),
            },
            _ => Money::unknown(),
        }
    }
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
            price: provider
                .price()
                .filter(|_| is_asked(&agent.model, request.body()))
                .cloned(),
        });
    }

    /// Something of the reply has come.
    pub fn event(&mut self) {
        if let Some(current) = &mut self.current {
            let now = current.sent.elapsed();
            current.first_event.get_or_insert(now);
        }
    }

    /// The request has ended without an error. The result is what it has cost.
    pub fn end(&mut self, end: Ending, usage: Usage) -> Charge {
        self.log(end, (None, None), usage)
    }

    /// The provider has failed. The result is what the request has cost nevertheless.
    pub fn failed(&mut self, error: &ProviderError, usage: Usage) -> Charge {
        let (end, status) = match error {
            ProviderError::Status(refusal) => (Ending::Refused, Some(refusal.status)),
            _ => (Ending::Failed, None),
        };
        let error = dunlin_host::display::chain(error);
        self.log(end, (Some(error), status), usage)
    }

    fn log(
        &mut self,
        end: Ending,
        (error, status): (Option<String>, Option<u16>),
        usage: Usage,
    ) -> Charge {
        let mut money = Money::default();
        if let Some(current) = self.current.take() {
            money = current.money(end, usage);
            let answered = Answered {
                end,
                error,
                status,
                usage: (usage != Usage::default()).then_some(usage),
                money,
                first_event: current.first_event,
                total: current.sent.elapsed(),
            };
            self.journal.answered(current.number, &answered);
        }
        Charge { usage, money }
    }

    /// The request has ended as the turn says.
    pub(super) fn ended(&mut self, event: &Event, usage: Usage) -> Charge {
        match event {
            Event::StreamFailed(error) => self.failed(error, usage),
            Event::Interrupted => self.end(Ending::Interrupted, usage),
            _ => self.end(Ending::Answered, usage),
        }
    }
}

/// Whether a request is for this model: the user may have edited it.
fn is_asked(model: &str, body: &Value) -> bool {
    body.get("model").is_none_or(|sent| sent == model)
}

impl<J: Journal + ?Sized> Drop for InFlight<'_, J> {
    fn drop(&mut self) {
        self.end(Ending::Interrupted, Usage::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::price::Rates;

    #[test]
    fn what_a_request_costs_depends_on_how_it_ended() {
        let price = Price {
            rates: Rates {
                input: 1_000,
                output: 1_000,
                cache_read: None,
                cache_write: None,
            },
            longer: Vec::new(),
        };
        let used = Usage {
            output_tokens: 7,
            ..Usage::default()
        };
        let none = Usage::default();
        let check = |is_priced: bool, has_begun: bool, end, usage, expected: (u64, u32)| {
            let current = Current {
                number: 1,
                sent: Instant::now(),
                first_event: has_begun.then_some(Duration::ZERO),
                price: is_priced.then(|| price.clone()),
            };
            let money = current.money(end, usage);
            let about = (is_priced, has_begun, end, usage);
            assert_eq!((money.nano_usd, money.incomplete), expected, "{about:?}");
        };
        check(true, true, Ending::Answered, used, (7, 0));
        check(true, true, Ending::Answered, none, (0, 1));
        check(false, true, Ending::Answered, used, (0, 1));
        check(true, false, Ending::Refused, none, (0, 0));
        check(false, false, Ending::Failed, none, (0, 0));
        check(true, true, Ending::Failed, none, (0, 1));
        check(true, true, Ending::Failed, used, (7, 1));
        check(true, true, Ending::Interrupted, used, (7, 1));
        check(true, false, Ending::Interrupted, none, (0, 1));
    }

    #[test]
    fn a_price_is_that_of_the_model_that_is_asked() {
        let check = |body: &str, expected| {
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(is_asked("small", &body), expected, "{body}");
        };
        check(r#"{"model":"small"}"#, true);
        check(r#"{"messages":[]}"#, true);
        check(r#"{"model":"large"}"#, false);
        check(r#"{"model":7}"#, false);
    }
}
