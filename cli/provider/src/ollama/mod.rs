//! Ollama's own protocol: `POST /api/chat`, answered with one JSON object per line.
//!
//! Ollama speaks chat completions as well, but there nobody can say how large a window is wanted, and what does
//! not fit is dropped without a word. Here it can be said, and what was read is counted.

mod assembly;
mod framing;
mod truncation;
mod wire;

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use serde_json::{Value, json};
use url::Url;

use crate::connection::Connection;
use crate::fallbacks::Fallbacks;
use crate::http::Timeouts;
use crate::normalizer::normalized;
use crate::profile::Profile;
use crate::protocol::{BEARER, below, without_ends};
use crate::reply;
use crate::window::KnownWindow;
use assembly::Lines;
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::Window;
use dunlin_chat::provider::error::{Endpoint, ProviderError, Refusal};
use dunlin_chat::provider::{Dialect, EventStream, Provider, StreamEvent};
use dunlin_chat::request::Request;
use truncation::{Prompt, Witness};
use wire::Wire;

/// An Ollama server.
#[derive(Debug)]
pub struct Ollama(Arc<Server>);

/// What a reply that is being read needs, too.
#[derive(Debug)]
struct Server {
    connection: Connection,
    root: Url,
    model: String,
    fallbacks: Fallbacks,
    num_ctx: Option<u64>,
    window: KnownWindow,
    takes_tools: OnceLock<bool>,
    witness: Witness,
}

impl Ollama {
    /// The address of the chat below a `base_url`.
    pub fn address(base_url: &Url) -> Url {
        below(&root(base_url), "api/chat")
    }

    /// The server of an agent. Touches nothing.
    pub fn new(agent: &Agent, timeouts: Timeouts) -> Ollama {
        let root = root(&agent.base_url);
        Ollama(Arc::new(Server {
            connection: Connection::new(agent, Ollama::address(&agent.base_url), BEARER, timeouts),
            model: agent.model.clone(),
            fallbacks: Fallbacks::new(Profile {
                takes: Profile::of_agent(agent).takes,
                ..Profile::default()
            }),
            num_ctx: agent.context_window,
            window: KnownWindow::new(agent.context_window),
            takes_tools: OnceLock::new(),
            witness: Witness::new(&agent.name, agent.context_window),
            root,
        }))
    }
}

impl Server {
    /// Asks the server for the window, unless it was asked before.
    async fn look_up_window(&self) {
        if self.window.wants_look_up() {
            let tokens = self.ask_for_window().await;
            self.window.answered(tokens);
        }
    }

    /// The warning, if the server has read less of a prompt than was sent. Asks it for its window first, if only
    /// that is missing.
    async fn counted(&self, prompt: Prompt, counted: u64) -> Option<String> {
        if self.witness.suspects(prompt, counted) {
            self.look_up_window().await;
        }
        self.witness.counted(prompt, counted)
    }

    /// What the server says of the window in force, and of itself.
    async fn ask_for_window(&self) -> Option<u64> {
        let named = json!({"model": self.model});
        let (running, shown, version) = tokio::join!(
            self.connection.ask(below(&self.root, "api/ps"), None),
            self.connection
                .ask(below(&self.root, "api/show"), Some(&named)),
            self.connection.ask(below(&self.root, "api/version"), None),
        );
        if let Some(takes_tools) = shown.as_ref().and_then(takes_tools) {
            // A second answer would say the same.
            let _ = self.takes_tools.set(takes_tools);
        }
        let longest = shown.as_ref().and_then(longest_window);
        let in_force = running
            .as_ref()
            .and_then(|running| window_of_running(running, &self.model))
            .or_else(|| match self.num_ctx {
                // More than the model has is not given.
                Some(asked_for) => longest.map(|longest| longest.min(asked_for)),
                None => shown.as_ref().and_then(window_of_modelfile),
            });
        let version = version.as_ref().and_then(|version| version.get("version"));
        self.witness
            .server_said(in_force, longest, version.and_then(Value::as_str));
        in_force
    }

    /// Adds the way out that only this server has.
    fn with_way_out(&self, refusal: &mut Refusal) {
        if let Some(overflow) = refusal.overflow {
            refusal.way_out = Some(format!(
                "{}: it does not fit the model's window",
                self.witness.way_out(overflow.needed)
            ));
        } else if refusal.status == 404 {
            refusal.way_out = Some(format!(
                "`ollama pull {}` fetches the model; base_url is the address of the server alone",
                dunlin_host::display::escape(&self.model)
            ));
        }
    }
}

#[async_trait]
impl Provider for Ollama {
    fn dialect(&self) -> Arc<dyn Dialect> {
        Arc::new(Wire {
            profile: self.0.fallbacks.profile().as_ref().clone(),
            num_ctx: self.0.num_ctx,
        })
    }

    fn endpoint(&self) -> Option<Endpoint> {
        Some(self.0.connection.endpoint().clone())
    }

    fn window(&self) -> Option<Window> {
        self.0.window.get()
    }

    fn takes_tools(&self) -> Option<bool> {
        self.0.takes_tools.get().copied()
    }

    async fn look_up_window(&self) {
        self.0.look_up_window().await;
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let server = &self.0;
        let sent = server
            .connection
            .send(request, "application/x-ndjson", &server.fallbacks)
            .await;
        let response = sent.map_err(|mut error| {
            if let ProviderError::Status(refusal) = &mut error {
                server.with_way_out(refusal);
            }
            error
        })?;
        let idle = server.connection.timeouts().idle;
        let lines = framing::lines(response.bytes_stream(), idle);
        let events = reply::read(lines, Box::new(Lines::default()), &server.connection);
        let prompt = Prompt::of(request.body());
        let server = Arc::clone(server);
        let watched = events.then(move |event| {
            let server = Arc::clone(&server);
            async move {
                let warning = match &event {
                    Ok(StreamEvent::Usage(usage)) => {
                        server.counted(prompt, usage.input_tokens).await
                    }
                    _ => None,
                };
                [
                    Some(event),
                    warning.map(|warning| Ok(StreamEvent::Warning(warning))),
                ]
            }
        });
        let events = watched.flat_map(|events| stream::iter(events.into_iter().flatten()));
        Ok(normalized(Box::pin(events), Arc::clone(request.tools())))
    }
}

/// The server's own address, however it was written: with the path of either protocol or with none.
pub fn root(base_url: &Url) -> Url {
    without_ends(base_url, &["/v1", "/api/chat", "/api"])
}

/// The window of a model that is loaded, from `/api/ps`.
pub(super) fn window_of_running(running: &Value, model: &str) -> Option<u64> {
    let models = running.get("models")?.as_array()?;
    let loaded = models.iter().find(|loaded| {
        ["name", "model"]
            .iter()
            .filter_map(|field| loaded.get(field)?.as_str())
            .any(|name| is_same_model(name, model))
    })?;
    loaded.get("context_length")?.as_u64()
}

/// The window that the model's own file sets, from `/api/show`.
fn window_of_modelfile(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters")?.as_str()?;
    parameters.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some("num_ctx")).then(|| words.next()?.parse().ok())?
    })
}

/// The longest window that the model was trained for, from `/api/show`.
fn longest_window(shown: &Value) -> Option<u64> {
    let metadata = shown.get("model_info")?.as_object()?;
    metadata
        .iter()
        .find(|(name, _)| name.ends_with(".context_length"))
        .and_then(|(_, value)| value.as_u64())
}

/// Whether the model can be offered tools, from `/api/show`; `None` where the server does not say.
fn takes_tools(shown: &Value) -> Option<bool> {
    let capabilities = shown.get("capabilities")?.as_array()?;
    Some(capabilities.iter().any(|capability| capability == "tools"))
}

/// Names without a tag mean the latest.
pub fn is_same_model(one: &str, other: &str) -> bool {
    let whole = |name: &str| {
        let tagged = name.rsplit('/').next().unwrap_or(name).contains(':');
        if tagged {
            name.to_owned()
        } else {
            format!("{name}:latest")
        }
    };
    whole(one) == whole(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_server_may_be_written_with_a_path() {
        for (base_url, chat) in [
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/api/chat"),
            ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/api/chat"),
            (
                "http://127.0.0.1:11434/v1",
                "http://127.0.0.1:11434/api/chat",
            ),
            (
                "http://127.0.0.1:11434/v1/",
                "http://127.0.0.1:11434/api/chat",
            ),
            (
                "http://127.0.0.1:11434/api",
                "http://127.0.0.1:11434/api/chat",
            ),
            (
                "https://example.org/ollama",
                "https://example.org/ollama/api/chat",
            ),
        ] {
            let root = root(&base_url.parse().unwrap());
            assert_eq!(below(&root, "api/chat").as_str(), chat, "{base_url}");
        }
    }

    #[test]
    fn what_the_server_says_of_a_model() {
        let running = json!({"models": [
            {"name": "other:latest", "model": "other:latest", "context_length": 1},
            {"name": "small:latest", "model": "small:latest", "context_length": 4096},
        ]});
        assert_eq!(window_of_running(&running, "small"), Some(4096));
        assert_eq!(window_of_running(&running, "small:1b"), None);
        assert_eq!(
            window_of_running(&json!({"models": [{"name": "small:latest"}]}), "small"),
            None
        );
        let shown = json!({
            "parameters": "stop                           \"<|im_end|>\"\nnum_ctx                        8192",
            "model_info": {"general.architecture": "llama", "llama.context_length": 131_072},
            "capabilities": ["completion", "tools"],
        });
        assert_eq!(window_of_modelfile(&shown), Some(8192));
        assert_eq!(longest_window(&shown), Some(131_072));
        assert_eq!(takes_tools(&shown), Some(true));
        assert_eq!(
            takes_tools(&json!({"capabilities": ["completion"]})),
            Some(false)
        );
        assert_eq!(takes_tools(&json!({})), None);
        for nonsense in [
            json!(null),
            json!([]),
            json!({"models": 1, "parameters": 2, "model_info": "x"}),
        ] {
            assert_eq!(window_of_running(&nonsense, "small"), None);
            assert_eq!(window_of_modelfile(&nonsense), None);
            assert_eq!(longest_window(&nonsense), None);
        }
    }
}
