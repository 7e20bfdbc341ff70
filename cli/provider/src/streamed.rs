//! An endpoint that answers with event streams and lists its models. What protocols differ in is a [`Protocol`].

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::error::{Endpoint, ProviderError};
use dunlin_chat::provider::{Dialect, EventStream, Provider, Window};
use dunlin_chat::request::Request;
use url::Url;

use crate::connection::Connection;
use crate::fallbacks::Fallbacks;
use crate::http::Timeouts;
use crate::normalizer::normalized;
use crate::profile::Profile;
use crate::protocol::Headers;
use crate::reply::Assemble;
use crate::window::KnownWindow;
use crate::{look_up, reply};

/// What one protocol has otherwise than the others.
#[derive(Debug)]
pub struct Protocol {
    /// Marks what replies want back as what this protocol can read.
    pub(crate) name: &'static str,
    pub(crate) headers: Headers,
    pub(crate) address: fn(&Url) -> Url,
    pub(crate) models: fn(&Url) -> Url,
    /// The address without the path of the protocol: what servers have beside it stands below.
    pub(crate) root: fn(&Url) -> Url,
    /// What is known of an agent's endpoint.
    pub(crate) profile: fn(&Agent) -> Profile,
    pub(crate) dialect: fn(Arc<Profile>) -> Arc<dyn Dialect>,
    pub(crate) assembly: fn(&Profile) -> Box<dyn Assemble>,
    /// What to do about a refusal that says this, where the user has to do it.
    pub(crate) way_out: fn(&str) -> Option<&'static str>,
}

impl Protocol {
    /// The headers of a request.
    pub fn headers(&self) -> Headers {
        self.headers
    }

    /// The address of the chat below a `base_url`.
    pub fn address(&self, base_url: &Url) -> Url {
        (self.address)(base_url)
    }

    /// The address of the list of models.
    pub fn models(&self, base_url: &Url) -> Url {
        (self.models)(base_url)
    }
}

/// An endpoint that speaks one of these protocols.
#[derive(Debug)]
pub struct StreamedProvider {
    protocol: &'static Protocol,
    connection: Connection,
    fallbacks: Fallbacks,
    base_url: Url,
    model: String,
    window: KnownWindow,
}

impl StreamedProvider {
    /// The endpoint of an agent. Touches nothing.
    pub fn new(protocol: &'static Protocol, agent: &Agent, timeouts: Timeouts) -> StreamedProvider {
        let url = protocol.address(&agent.base_url);
        let profile = Profile {
            replays_to: format!("{} {url} {}", protocol.name, agent.model),
            ..(protocol.profile)(agent)
        };
        StreamedProvider {
            protocol,
            connection: Connection::new(agent, url, protocol.headers, timeouts),
            fallbacks: Fallbacks::new(profile),
            base_url: agent.base_url.clone(),
            model: agent.model.clone(),
            window: KnownWindow::new(agent.context_window),
        }
    }
}

#[async_trait]
impl Provider for StreamedProvider {
    fn dialect(&self) -> Arc<dyn Dialect> {
        (self.protocol.dialect)(self.fallbacks.profile())
    }

    fn endpoint(&self) -> Option<Endpoint> {
        Some(self.connection.endpoint().clone())
    }

    fn window(&self) -> Option<Window> {
        self.window.get()
    }

    async fn look_up_window(&self) {
        if self.window.wants_look_up() {
            let list = self.protocol.models(&self.base_url);
            let root = (self.protocol.root)(&self.base_url);
            let tokens = look_up::window(&self.connection, list, &root, &self.model).await;
            self.window.answered(tokens);
        }
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let sent = self
            .connection
            .send(request, "text/event-stream", &self.fallbacks)
            .await;
        let response = sent.map_err(|mut error| {
            if let ProviderError::Status(refusal) = &mut error {
                let way_out = (self.protocol.way_out)(&refusal.message);
                refusal.way_out = way_out.map(str::to_owned);
            }
            error
        })?;
        let frames = reply::frames(response, &self.connection);
        let assembly = (self.protocol.assembly)(&self.fallbacks.profile());
        let events = reply::read(frames, assembly, &self.connection);
        Ok(normalized(events, Arc::clone(request.tools())))
    }
}
