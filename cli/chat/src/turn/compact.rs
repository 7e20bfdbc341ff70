//! Asks the model for a summary, beside the turn: what it says is shown to nobody and joins no conversation.

use futures::StreamExt;

use super::in_flight::InFlight;
use super::journal::Journal;
use crate::agent::Agent;
use crate::price::Charge;
use crate::provider::error::ProviderError;
use crate::provider::{Finish, Provider, StreamEvent, Usage};
use crate::request::Request;
use crate::session::requests::{Ending, Kind};

/// A summary, and what it has cost.
#[derive(Debug)]
pub struct Summary {
    /// What the model said.
    pub text: String,
    pub charge: Charge,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoSummary {
    /// The provider failed.
    #[error(transparent)]
    Failed(#[from] ProviderError),
    /// The model said nothing, or not to its end.
    #[error("the model did not write a whole summary")]
    NotWhole,
}

/// Sends a request for a summary and waits for all of it. Sends once. Dropping the future closes the connection. The
/// journal is told of the request.
///
/// # Errors
/// The provider failed, or what came is not a summary.
pub async fn summarise(
    (agent, provider): (&Agent, &dyn Provider),
    request: &Request,
    journal: &dyn Journal,
) -> Result<Summary, NoSummary> {
    let mut in_flight = InFlight::new(journal);
    in_flight.begin(Kind::Summary, (agent, provider), request, None);
    let mut usage = Usage::default();
    let text = read_summary(provider, request, &mut in_flight, &mut usage).await;
    let charge = match &text {
        Err(NoSummary::Failed(error)) => in_flight.failed(error, usage),
        _ => in_flight.end(Ending::Answered, usage),
    };
    text.map(|text| Summary { text, charge })
}

async fn read_summary(
    provider: &dyn Provider,
    request: &Request,
    in_flight: &mut InFlight<'_, dyn Journal + '_>,
    spent: &mut Usage,
) -> Result<String, NoSummary> {
    let mut events = provider.send(request).await?;
    let mut summary = String::new();
    let mut is_whole = false;
    while let Some(event) = events.next().await {
        in_flight.event();
        match event? {
            StreamEvent::Text(text) => summary.push_str(&text),
            StreamEvent::Usage(usage) => *spent = usage,
            StreamEvent::End(end) => is_whole = end.finish == Finish::Complete,
            _ => {}
        }
    }
    let summary = summary.trim();
    match is_whole && !summary.is_empty() {
        true => Ok(summary.to_owned()),
        false => Err(NoSummary::NotWhole),
    }
}
