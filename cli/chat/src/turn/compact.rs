//! Asks the model for a summary, beside the turn: what it says is shown to nobody and joins no conversation.

use futures::StreamExt;

use crate::provider::error::ProviderError;
use crate::provider::{Finish, Provider, StreamEvent, Usage};
use crate::request::Request;

/// A summary, and what it has cost.
#[derive(Debug)]
pub struct Summary {
    /// What the model said.
    pub text: String,
    /// As the provider counts.
    pub usage: Usage,
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

/// Sends a request for a summary and waits for all of it. Sends once. Dropping the future closes the connection.
///
/// # Errors
/// The provider failed, or what came is no summary.
pub async fn summarise(provider: &dyn Provider, request: &Request) -> Result<Summary, NoSummary> {
    let mut events = provider.send(request).await?;
    let mut summary = Summary {
        text: String::new(),
        usage: Usage::default(),
    };
    let mut is_whole = false;
    while let Some(event) = events.next().await {
        match event? {
            StreamEvent::Text(text) => summary.text.push_str(&text),
            StreamEvent::Usage(usage) => summary.usage = usage,
            StreamEvent::End(end) => is_whole = end.finish == Finish::Complete,
            _ => {}
        }
    }
    summary.text = summary.text.trim().to_owned();
    match is_whole && !summary.text.is_empty() {
        true => Ok(summary),
        false => Err(NoSummary::NotWhole),
    }
}
