//! Chat completions, streamed: the profile says what to send, framing and assembly what came back.

mod wire;

pub(crate) use wire::declaration;

use std::sync::Arc;

use async_trait::async_trait;
use url::Url;

use crate::assembly::Assembly;
use crate::connection::Connection;
use crate::fallbacks::Fallbacks;
use crate::http::Timeouts;
use crate::normalizer::normalized;
use crate::profile::Profile;
use crate::protocol::{BEARER, below, without_ends};
use crate::window::KnownWindow;
use crate::{look_up, reply};
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::Window;
use dunlin_chat::provider::error::{Endpoint, ProviderError};
use dunlin_chat::provider::{Dialect, EventStream, Provider};
use dunlin_chat::request::Request;

/// An endpoint that speaks chat completions.
#[derive(Debug)]
pub struct OpenAi {
    connection: Connection,
    fallbacks: Fallbacks,
    base_url: Url,
    model: String,
    window: KnownWindow,
}

impl OpenAi {
    /// The endpoint of an agent. Touches nothing.
    pub fn new(agent: &Agent, timeouts: Timeouts) -> OpenAi {
        let url = OpenAi::address(&agent.base_url);
        OpenAi {
            connection: Connection::new(agent, url, BEARER, timeouts),
            fallbacks: Fallbacks::new(Profile::of_agent(agent)),
            base_url: agent.base_url.clone(),
            model: agent.model.clone(),
            window: KnownWindow::new(agent.context_window),
        }
    }
}

impl OpenAi {
    /// The address of the chat below a `base_url`.
    pub fn address(base_url: &Url) -> Url {
        below(base_url, "chat/completions")
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn dialect(&self) -> Arc<dyn Dialect> {
        self.fallbacks.profile()
    }

    fn endpoint(&self) -> Option<Endpoint> {
        Some(self.connection.endpoint().clone())
    }

    fn window(&self) -> Option<Window> {
        self.window.get()
    }

    async fn look_up_window(&self) {
        if self.window.wants_look_up() {
            let list = below(&self.base_url, "models");
            // What is not of this protocol stands above it.
            let root = without_ends(&self.base_url, &["/v1"]);
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
        let assembly = Box::new(Assembly::new());
        let events = reply::read(frames, assembly, &self.connection);
        Ok(normalized(events, Arc::clone(request.tools())))
    }
}

#[cfg(test)]
mod request_tests;
