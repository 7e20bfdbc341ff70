//! Chat completions, streamed: the profile says what to send, framing and assembly what came back.

mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use futures::stream;

use crate::agent::Agent;
use crate::provider::assembly::Assembly;
use crate::provider::connection::Connection;
use crate::provider::error::ProviderError;
use crate::provider::framing::Frames;
use crate::provider::http::Timeouts;
use crate::provider::profile::Profile;
use crate::provider::{Dialect, EventStream, Provider, reply};
use crate::request::Request;

/// An endpoint that speaks chat completions.
#[derive(Debug)]
pub struct OpenAi {
    connection: Connection,
    profile: Arc<Profile>,
}

impl OpenAi {
    /// The endpoint of an agent. Touches nothing.
    pub fn new(agent: &Agent, timeouts: Timeouts) -> OpenAi {
        let mut url = agent.base_url.clone();
        url.set_path(&format!(
            "{}/chat/completions",
            agent.base_url.path().trim_end_matches('/')
        ));
        OpenAi {
            connection: Connection::new(agent, url, timeouts),
            profile: Arc::new(Profile::of(&agent.base_url)),
        }
    }
}

#[async_trait]
impl Provider for OpenAi {
    fn dialect(&self) -> Arc<dyn Dialect> {
        self.profile.clone()
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let response = self.connection.send(request, "text/event-stream").await?;
        let frames = Frames::new(response.bytes_stream(), self.connection.timeouts().idle);
        let frames = stream::unfold(frames, |mut frames| async {
            frames.next().await.map(|frame| (frame, frames))
        });
        let assembly = Box::new(Assembly::new());
        Ok(reply::read(Box::pin(frames), assembly, &self.connection))
    }
}
