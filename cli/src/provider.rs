//! Chooses the implementation of [`Provider`] that an agent's protocol needs, and adds what the table of models knows.

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::price::Price;
use dunlin_chat::provider::error::{Endpoint, ProviderError};
use dunlin_chat::provider::{Dialect, EventStream, Provider, Window, WindowSource};
use dunlin_chat::request::Request;
use dunlin_provider::http::Timeouts;
use dunlin_provider::ollama::Ollama;
use dunlin_provider::streamed::StreamedProvider;
use url::Url;

use crate::app::App;
use crate::config::agent::ApiName;
use crate::error::CliError;
use crate::model_table::{Entry, ModelMetadata};
use crate::protocol::Spoken;

#[cfg(feature = "local-model")]
use crate::local_model::{Local, template_process};

/// The model would run in this process, and this program was built without that.
#[derive(Debug, thiserror::Error)]
#[error("this dunlin was built without local models (feature local-model)")]
pub struct NoLocalModels;

/// Where an agent with this `base_url` sends requests; `None`: to no server.
pub fn address(api: ApiName, base_url: &Url) -> Option<Endpoint> {
    let url = match Spoken::from(Api::from(api)) {
        Spoken::Streamed(protocol) => protocol.address(base_url),
        Spoken::Ollama => Ollama::address(base_url),
        Spoken::NoServer => return None,
    };
    Some(Endpoint::of(&url))
}

/// The way to the agent's model. Touches nothing yet but the table of models; what is wrong with that is said once.
pub fn connect(app: &App, agent: &Agent) -> Result<Arc<dyn Provider>, CliError> {
    let timeouts = Timeouts {
        idle: app.settings.limits.request_timeout_secs.value.duration(),
        ..Timeouts::default()
    };
    let known = app.settings.known_of(agent);
    for warning in app.settings.warnings_of_table(agent, known.as_ref()) {
        app.ui.warn(&warning);
    }
    // The client belongs to the runtime that polls it.
    let _inside = app.runtime()?.enter();
    provider(agent, known, timeouts).map_err(CliError::usage)
}

/// The provider of an agent, whose model is `known`. Touches nothing: the connection is made by the first request.
///
/// # Errors
/// See [`NoLocalModels`]. The configuration refuses such an agent, too.
pub fn provider(
    agent: &Agent,
    known: Option<Entry>,
    timeouts: Timeouts,
) -> Result<Arc<dyn Provider>, NoLocalModels> {
    let mut agent = agent.clone();
    if let Some(reads) = known.as_ref().and_then(|entry| entry.metadata.reads) {
        let endpoint = &mut agent.endpoint;
        endpoint.images = endpoint.images.or(Some(reads.images()));
        endpoint.pdf = endpoint.pdf.or(reads.documents());
    }
    let agent = &agent;
    let provider: Arc<dyn Provider> = match Spoken::from(agent.api) {
        Spoken::Streamed(protocol) => Arc::new(StreamedProvider::new(protocol, agent, timeouts)),
        Spoken::Ollama => Arc::new(Ollama::new(agent, timeouts)),
        #[cfg(feature = "local-model")]
        Spoken::NoServer => Arc::new(Local::new(agent, template_process::render)),
        #[cfg(not(feature = "local-model"))]
        Spoken::NoServer => {
            return Err(NoLocalModels);
        }
    };
    Ok(match known {
        Some(entry) => Arc::new(Known {
            provider,
            metadata: entry.metadata,
        }),
        None => provider,
    })
}

/// A provider of a model that is in the table of models.
struct Known {
    provider: Arc<dyn Provider>,
    metadata: ModelMetadata,
}

#[async_trait]
impl Provider for Known {
    fn dialect(&self) -> Arc<dyn Dialect> {
        self.provider.dialect()
    }

    fn endpoint(&self) -> Option<Endpoint> {
        self.provider.endpoint()
    }

    fn window(&self) -> Option<Window> {
        self.provider.window().or_else(|| {
            self.metadata.window.map(|tokens| Window {
                tokens,
                source: WindowSource::Table,
            })
        })
    }

    fn price(&self) -> Option<&Price> {
        self.metadata.price.as_ref()
    }

    fn takes_tools(&self) -> Option<bool> {
        self.provider.takes_tools()
    }

    async fn look_up_window(&self) {
        self.provider.look_up_window().await;
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        self.provider.send(request).await
    }
}
