//! A model in this process: nothing is connected to, and nothing leaves the machine.
//!
//! The body of a request is that of chat completions, so it is counted and shown like any other; here the
//! model's own chat template makes a prompt of it. The computing happens on a thread of its own, which
//! loads the model when the first request comes and keeps it, with what it has read, for the next. Dropping
//! a reply, or the future that waits for it, stops that thread between two layers of the model: within
//! milliseconds for the small ones.
//!
//! Models have one channel, their text, and call within it, as their templates tell them to. It is the same
//! reader as for text from elsewhere that finds the calls (`TextCalls`); here they are nothing odd.

pub mod embedding;
mod request_fields;
pub mod template_process;
pub mod threads;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use dunlin_host::Tool;
use dunlin_local::{DEFAULT_WINDOW, End, LoadError, Model, Piece, Prompt, Renderer, ReplyError};
use futures::stream;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::models;
use dunlin_chat::agent::Agent;
use dunlin_chat::provider::error::{ModelError, Overflow, ProviderError};
use dunlin_chat::provider::{
    Dialect, EventStream, Finish, ProposedCall, Provider, ReplyEnd, StreamEvent, Usage, Window,
};
use dunlin_chat::request::editor::{Origin, Outline};
use dunlin_chat::request::{Draft, Request};
use dunlin_provider::normalizer::normalized;
use dunlin_provider::outline;
use dunlin_provider::profile::Profile;
use dunlin_provider::text_calls::TextCalls;
use dunlin_provider::window::KnownWindow;
use request_fields::RequestFields;

/// Pieces that may wait to be shown. A reader that is behind by more makes the model wait.
const PIECES_AHEAD: usize = 64;

/// A model of this machine.
#[derive(Debug)]
pub struct Local(Arc<Shared>);

/// What the threads need that compute.
#[derive(Debug)]
struct Shared {
    path: PathBuf,
    name: String,
    /// The longest conversation that memory is spent on, in tokens.
    longest: usize,
    model: Mutex<Option<Model>>,
    window: KnownWindow,
    takes_tools: OnceLock<bool>,
    renderer: Renderer,
}

impl Local {
    /// The model of an agent, whose template is run by `renderer`. Touches nothing.
    pub fn new(agent: &Agent, renderer: Renderer) -> Local {
        let longest = agent.context_window.map(usize::try_from);
        Local(Arc::new(Shared {
            // A base URL of another kind is refused before it comes here.
            path: agent.base_url.to_file_path().unwrap_or_default(),
            name: agent.model.clone(),
            longest: longest.map_or(DEFAULT_WINDOW, |longest| longest.unwrap_or(usize::MAX)),
            model: Mutex::default(),
            window: KnownWindow::new(agent.context_window),
            takes_tools: OnceLock::new(),
            renderer,
        }))
    }
}

#[async_trait]
impl Provider for Local {
    fn dialect(&self) -> Arc<dyn Dialect> {
        Arc::new(InProcess(Profile {
            include_usage: false,
            offers_tools: self.takes_tools() != Some(false),
            // So small a model would have room for little else.
            describes_tools: false,
            ..Profile::default()
        }))
    }

    fn window(&self) -> Option<Window> {
        self.0.window.get()
    }

    fn takes_tools(&self) -> Option<bool> {
        self.0.takes_tools.get().copied()
    }

    async fn send(&self, request: &Request) -> Result<EventStream, ProviderError> {
        let (events, received) = mpsc::channel(PIECES_AHEAD);
        let (accept, accepted) = oneshot::channel();
        let stop = StopWhenDropped(Arc::default());
        let work = Work {
            shared: Arc::clone(&self.0),
            fields: RequestFields::read(request.body()),
            tools: Arc::clone(request.tools()),
            stopped: Arc::clone(&stop.0),
            events,
        };
        tokio::task::spawn_blocking(move || work.run(accept));
        // The thread answers, unless the program ends.
        let stopped = |_| self.0.failed(LoadError::Stopped.into(), None);
        accepted.await.map_err(stopped)??;
        let reply = (received, stop);
        let events = stream::unfold(reply, |mut reply| async {
            reply.0.recv().await.map(|event| (event, reply))
        });
        Ok(normalized(Box::pin(events), Arc::clone(request.tools())))
    }
}

/// Chat completions, with the options that the model honours.
struct InProcess(Profile);

impl Dialect for InProcess {
    fn offers_tools(&self) -> bool {
        self.0.offers_tools()
    }

    fn describes_tools(&self) -> bool {
        self.0.describes_tools()
    }

    fn body(&self, draft: &Draft<'_>) -> Value {
        self.0.body(draft)
    }

    fn outline(&self, body: &Value, origins: &[Origin]) -> Outline {
        outline::local(body, origins)
    }

    fn echoes_reasoning(&self) -> bool {
        self.0.echoes_reasoning()
    }
}

/// Tells the thread that nobody waits any more.
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// One request on its thread.
struct Work {
    shared: Arc<Shared>,
    fields: RequestFields,
    tools: Arc<[Tool]>,
    stopped: Arc<AtomicBool>,
    events: mpsc::Sender<Result<StreamEvent, ProviderError>>,
}

impl Work {
    fn run(self, accept: oneshot::Sender<Result<(), ProviderError>>) {
        let shared = Arc::clone(&self.shared);
        // Whoever held it last may still be in the layer in which it was stopped.
        let mut model = shared.model.lock();
        let (model, prompt) = match self.prepare(&mut model) {
            Ok(ready) => ready,
            Err(error) => {
                let _ = accept.send(Err(error));
                return;
            }
        };
        if accept.send(Ok(())).is_err() {
            return;
        }
        if !self.fields.tools.is_empty() && !model.offers_tools() {
            let name = &shared.name;
            // The next request offers none, so this is said once.
            self.send(StreamEvent::Notice(format!(
                "{name} does not support tools; it can only chat"
            )));
        }
        if let Err(error) = self.reply(model, &prompt) {
            let _ = self.events.blocking_send(Err(error));
        }
    }

    /// The model, loaded if it was not, and a prompt that it has room for.
    fn prepare<'a>(
        &self,
        slot: &'a mut Option<Model>,
    ) -> Result<(&'a mut Model, Prompt), ProviderError> {
        let shared = &self.shared;
        let model = match slot {
            Some(model) => model,
            none => {
                let loaded = Model::load(&shared.path, shared.longest, &mut || self.is_stopped());
                let mut model = loaded.map_err(|error| shared.not_loaded(error))?;
                model.render_by(shared.renderer);
                shared.window.answered(u64::try_from(model.window()).ok());
                // Another model of the same file would say the same.
                let _ = shared.takes_tools.set(model.offers_tools());
                none.insert(model)
            }
        };
        let prompt = model.prompt(&self.fields.messages, &self.fields.tools);
        let prompt = prompt.map_err(|error| shared.not_answered(error))?;
        model
            .room(&prompt)
            .map_err(|error| shared.not_answered(error))?;
        Ok((model, prompt))
    }

    fn reply(&self, model: &mut Model, prompt: &Prompt) -> Result<(), ProviderError> {
        let mut calls = TextCalls::new(Arc::clone(&self.tools));
        let mut watch = |piece: Piece<'_>| {
            if let Piece::Text(piece) = piece {
                let mut text = String::new();
                calls.text(piece, &mut text);
                self.say(text);
            }
            match self.is_stopped() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let reply = model
            .reply(
                prompt,
                self.fields.limit,
                self.fields.sampling,
                &mut watch,
                &mut || self.is_stopped(),
            )
            .map_err(|error| self.shared.not_answered(error))?;
        let finish = match reply.end {
            End::Stopped => return Ok(()),
            End::Limit => Finish::Cut,
            End::Done => Finish::Complete,
        };
        let mut rest = String::new();
        let calls = calls.end(finish == Finish::Complete, &mut rest);
        self.say(rest);
        for call in &calls {
            self.send(StreamEvent::CallStarted {
                tool: call.tool.clone(),
            });
        }
        self.send(StreamEvent::Usage(Usage {
            input_tokens: reply.prompt_tokens as u64,
            cached_tokens: reply.known_tokens as u64,
            written_tokens: 0,
            output_tokens: reply.reply_tokens as u64,
        }));
        let calls = calls.into_iter().map(|call| ProposedCall {
            // It may have been quoted, from a file as well: that is for the turn to see.
            recovered: true,
            ..ProposedCall::new("", call.tool, call.arguments)
        });
        self.send(StreamEvent::End(ReplyEnd {
            calls: calls.collect(),
            finish,
            replay: None,
        }));
        Ok(())
    }

    fn say(&self, text: String) {
        if !text.is_empty() {
            self.send(StreamEvent::Text(text));
        }
    }

    /// Whether the reader has gone is noticed by [`Self::is_stopped`].
    fn send(&self, event: StreamEvent) {
        let _ = self.events.blocking_send(Ok(event));
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl Shared {
    fn failed(&self, source: ModelError, hint: Option<String>) -> ProviderError {
        ProviderError::Model {
            model: self.name.clone(),
            hint,
            overflow: None,
            source,
        }
    }

    fn not_loaded(&self, error: LoadError) -> ProviderError {
        let hint = way_out(&self.name, &error);
        self.failed(error.into(), Some(hint))
    }

    fn not_answered(&self, error: ReplyError) -> ProviderError {
        let hint = match &error {
            ReplyError::Template(_) => {
                Some("another model may take the conversation as it is".to_owned())
            }
            _ => None,
        };
        let overflow = match &error {
            ReplyError::TooLong { tokens, window } => Some(Overflow {
                needed: u64::try_from(*tokens).ok(),
                window: u64::try_from(*window).ok(),
            }),
            _ => None,
        };
        ProviderError::Model {
            model: self.name.clone(),
            hint,
            overflow,
            source: error.into(),
        }
    }
}

/// What to do about a model that cannot be loaded.
pub fn way_out(model: &str, error: &LoadError) -> String {
    let entry = models::entry(model);
    match error {
        LoadError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => match entry {
            Some(entry) => format!("`dunlin model pull {}` fetches it", entry.name),
            None => "`dunlin model list` shows which models there are".to_owned(),
        },
        LoadError::Read { .. } => "check that the file can be read".to_owned(),
        LoadError::NotAModel { .. } | LoadError::Damaged { .. } => match entry {
            Some(entry) => format!("`dunlin model pull {}` fetches it again", entry.name),
            None => "copy the file from its source again".to_owned(),
        },
        LoadError::Unsupported { .. } => {
            "`dunlin model list` shows models that can be run; others need a server such as llama.cpp"
                .to_owned()
        }
        LoadError::Memory { .. } => {
            "close what takes memory, or choose a smaller model".to_owned()
        }
        _ => "ask again".to_owned(),
    }
}

#[cfg(test)]
mod tests;
