//! Anthropic's Messages API, streamed: `POST /v1/messages`.
//!
//! The same three layers as elsewhere: the framing is that of all event streams, [`Blocks`] reads a reply, and a dialect
//! of its own writes requests. What only this protocol has: a model's reasoning is signed, and goes back to the endpoint as
//! it came ([`dunlin_chat::message::Replay`]); the client marks where the endpoint may cache; a limit on the reply's length
//! is required.

mod assembly;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_chat::agent::Agent;
use dunlin_chat::endpoint::ReasoningEcho;
use dunlin_chat::provider::error::{Endpoint, ProviderError};
use dunlin_chat::provider::{Dialect, EventStream, Provider, Window};
use dunlin_chat::request::Request;
use url::Url;

use crate::connection::Connection;
use crate::fallbacks::Fallbacks;
use crate::http::Timeouts;
use crate::normalizer::normalized;
use crate::profile::Profile;
use crate::protocol::{Headers, below, without_ends};
use crate::window::KnownWindow;
use crate::{look_up, reply};
use wire::Wire;

pub use assembly::Blocks;

/// The headers of a request.
pub const HEADERS: Headers = Headers {
    key: "x-api-key",
    before_key: "",
    others: &[("anthropic-version", "2023-06-01")],
};

/// An endpoint that speaks the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    connection: Connection,
    fallbacks: Fallbacks,
    base_url: Url,
    model: String,
    window: KnownWindow,
}

impl Anthropic {
    /// The endpoint of an agent. Touches nothing.
    pub fn new(agent: &Agent, timeouts: Timeouts) -> Anthropic {
        let url = Anthropic::address(&agent.base_url);
        let profile = Profile {
            // It goes back in blocks of its own, which nothing but a refusal of these leaves out.
            reasoning: ReasoningEcho::WithCalls,
            replays_to: format!("{url} {}", agent.model),
            ..Profile::of_agent(agent)
        };
        Anthropic {
            connection: Connection::new(agent, url, HEADERS, timeouts),
            fallbacks: Fallbacks::new(profile),
            base_url: agent.base_url.clone(),
            model: agent.model.clone(),
            window: KnownWindow::new(agent.context_window),
        }
    }

    /// The address of the chat below a `base_url`, which may end with `/v1` or not.
    pub fn address(base_url: &Url) -> Url {
        below(&root(base_url), "v1/messages")
    }

    /// The address of the list of models. It comes in pages, and this asks for the longest one.
    pub fn list_address(base_url: &Url) -> Url {
        let mut url = below(&root(base_url), "v1/models");
        url.set_query(Some("limit=1000"));
        url
    }
}

/// The address without the path of the protocol.
fn root(base_url: &Url) -> Url {
    without_ends(base_url, &["/v1/messages", "/v1"])
}

#[async_trait]
impl Provider for Anthropic {
    fn dialect(&self) -> Arc<dyn Dialect> {
        Arc::new(Wire(self.fallbacks.profile()))
    }

    fn endpoint(&self) -> Option<Endpoint> {
        Some(self.connection.endpoint().clone())
    }

    fn window(&self) -> Option<Window> {
        self.window.get()
    }

    async fn look_up_window(&self) {
        if self.window.wants_look_up() {
            let list = Anthropic::list_address(&self.base_url);
            let root = root(&self.base_url);
            let tokens = look_up::window(&self.connection, list, &root, &self.model).await;
            self.window.answered(tokens);
        }
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let response = self
            .connection
            .send(request, "text/event-stream", &self.fallbacks)
            .await?;
        let frames = reply::frames(response, &self.connection);
        let events = reply::read(
            frames,
            Box::new(Blocks::of(&self.fallbacks.profile().replays_to)),
            &self.connection,
        );
        Ok(normalized(events, Arc::clone(request.tools())))
    }
}

#[cfg(test)]
mod request_tests;
