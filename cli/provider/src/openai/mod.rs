//! Chat completions, streamed: the profile says what to send, framing and assembly what came back.

mod wire;

pub(crate) use wire::declaration;

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream;
use url::Url;

use crate::assembly::Assembly;
use crate::connection::Connection;
use crate::fallbacks::Fallbacks;
use crate::framing::Frames;
use crate::http::Timeouts;
use crate::normalizer::normalized;
use crate::profile::Profile;
use crate::window::{self, KnownWindow, More};
use crate::{ollama, reply};
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
            connection: Connection::new(agent, url, timeouts),
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
        let mut url = base_url.clone();
        let base = base_url.path().trim_end_matches('/');
        url.set_path(&format!("{base}/chat/completions"));
        url
    }

    /// What the server says of the model's window: in its list of models, or where that leads.
    async fn ask_for_window(&self) -> Option<u64> {
        let list = self.connection.ask(self.beside("models"), None).await?;
        let listed = window::listed(&list, &self.model);
        if listed.window.is_some() {
            return listed.window;
        }
        let more = match listed.more {
            Some(More::LlamaCpp) => {
                let props = self.connection.ask(self.above("props"), None).await;
                props.as_ref().and_then(window::llama_cpp)
            }
            Some(More::LmStudio) => {
                let list = self.connection.ask(self.above("api/v0/models"), None).await;
                list.as_ref()
                    .and_then(|list| window::lm_studio(list, &self.model))
            }
            Some(More::Ollama) => {
                let running = self.connection.ask(self.above("api/ps"), None).await;
                running
                    .as_ref()
                    .and_then(|running| ollama::window_of_running(running, &self.model))
            }
            None => None,
        };
        more.or(listed.trained)
    }

    /// An address beside the one of the chat.
    fn beside(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }

    /// An address of the same server that is not part of this protocol.
    fn above(&self, path: &str) -> Url {
        let mut url = self.base_url.clone();
        let base = url.path().trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
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
            let tokens = self.ask_for_window().await;
            self.window.answered(tokens);
        }
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let response = self
            .connection
            .send(request, "text/event-stream", &self.fallbacks)
            .await?;
        let frames = Frames::new(response.bytes_stream(), self.connection.timeouts().idle);
        let frames = stream::unfold(frames, |mut frames| async {
            frames.next().await.map(|frame| (frame, frames))
        });
        let assembly = Box::new(Assembly::new());
        let events = reply::read(Box::pin(frames), assembly, &self.connection);
        Ok(normalized(events, Arc::clone(request.tools())))
    }
}

#[cfg(test)]
mod request_tests;
