//! Chooses the implementation of [`Provider`] that an agent's protocol needs.

use std::sync::Arc;

use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::provider::Provider;
use dunlin_chat::provider::error::Endpoint;
use dunlin_provider::http::Timeouts;
use dunlin_provider::ollama::Ollama;
use dunlin_provider::streamed::StreamedProvider;
use url::Url;

use crate::app::App;
use crate::config::agent::ApiName;
use crate::error::CliError;
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

/// The way to the agent's model. Touches nothing yet.
pub fn connect(app: &App, agent: &Agent) -> Result<Arc<dyn Provider>, CliError> {
    let timeouts = Timeouts {
        idle: app.settings.limits.request_timeout_secs.value.duration(),
        ..Timeouts::default()
    };
    // The client belongs to the runtime that polls it.
    let _inside = app.runtime()?.enter();
    provider(agent, timeouts).map_err(CliError::usage)
}

/// The provider of an agent. Touches nothing: the connection is made by the first request.
///
/// # Errors
/// See [`NoLocalModels`]. The configuration refuses such an agent, too.
pub fn provider(agent: &Agent, timeouts: Timeouts) -> Result<Arc<dyn Provider>, NoLocalModels> {
    Ok(match Spoken::from(agent.api) {
        Spoken::Streamed(protocol) => Arc::new(StreamedProvider::new(protocol, agent, timeouts)),
        Spoken::Ollama => Arc::new(Ollama::new(agent, timeouts)),
        #[cfg(feature = "local-model")]
        Spoken::NoServer => Arc::new(Local::new(agent, template_process::render)),
        #[cfg(not(feature = "local-model"))]
        Spoken::NoServer => {
            return Err(NoLocalModels);
        }
    })
}
