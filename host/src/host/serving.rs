//! A call of a server's tool on its way: what is asked of the bridge, what came of it, and what is noted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::Host;
use super::served::Served;
use super::wording::{checked_arguments, fault, success};
use crate::Progress;
use crate::ask::{Answer, Ask, Question, TextQuestion};
use crate::audit::{self, Event, Record};
use crate::bindings::bridge::exports::dunlin::tool::mcp_client as bridge;
use crate::bindings::exports::dunlin::tool::tool as wire;
use crate::call::{Call, Failure, Outcome, Success};
use crate::display;
use crate::display::chain;
use crate::limits::MAX_FAILURE_BYTES;
use crate::mcp::Server;
use crate::mcp::bridge::{BridgeError, Reply, Request};
use crate::mcp::line::Asked;
use crate::mcp::offered::{Does, OfferedTool};
use crate::model::Model;
use crate::target::Need;

impl Host {
    pub(super) async fn run_served(
        &self,
        call: &Call,
        tool: Served,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome {
        let begin = Instant::now();
        let timed = Arc::new(Timed {
            ask,
            waited: Mutex::default(),
        });
        let ask: Arc<dyn Ask> = timed.clone();
        let result = match tool {
            Served::Loader => self.run_loader(call, ask, progress).await,
            Served::Tool(server, offered, index) => {
                let tool = &offered.tools[index];
                self.run_tool(call, &server, tool, ask, progress).await
            }
        };
        Outcome {
            result,
            duration: begin.elapsed().saturating_sub(timed.waited()),
        }
    }

    async fn run_tool(
        &self,
        call: &Call,
        server: &Arc<Server>,
        tool: &OfferedTool,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Result<Success, Failure> {
        let asked = || Asked {
            call: call.id.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            ask: Arc::clone(&ask),
            progress: Arc::clone(&progress),
        };
        let begin = Instant::now();
        let was_connected = server.bridge().is_some();
        if !was_connected {
            let text = format!("connecting to the MCP server {}", server.name());
            progress.progress(&call.id, &text, None);
        }
        let bridge = self.connection_to(call, server, asked()).await;
        let bridge = bridge.map_err(|why| said(call, server, why))?;
        let offered = self.offered_by(server);
        let mut tools = offered.tools.iter();
        let current = tools.find(|it| it.described.tool.name == call.tool);
        let shown = self.0.servers.state().prepared.get(&call.id).cloned();
        if current.map(|it| &it.digest) != shown.as_ref() || shown.as_ref() != Some(&tool.digest) {
            return Err(Failure::Action {
                message: format!(
                    "the MCP server {} changed its tool {} since this call was written; call it again as it is \
                     described now",
                    server.name(),
                    call.tool
                ),
            });
        }
        let arguments = checked_arguments(&tool.described, &call.arguments)?;
        let request = match tool.does {
            Does::Call => Request::CallTool {
                name: tool.own_name.clone(),
                arguments,
            },
            Does::ListResources => Request::ListResources,
            Does::ReadResource => {
                let uri = call.arguments.get("uri").and_then(|uri| uri.as_str());
                Request::ReadResource(uri.unwrap_or_default().to_owned())
            }
        };
        let answered = bridge.request(request, asked()).await;
        let result = match answered {
            Ok(Reply::Content(content)) => {
                let max_bytes = self.0.limits.result_bytes;
                success(
                    &call.tool,
                    content.into_iter().map(of_bridge).collect(),
                    max_bytes,
                )
            }
            Ok(Reply::Resources(things)) => Ok(Success {
                text: of_things(&things),
                ..Success::default()
            }),
            Ok(Reply::Prompts(_)) => Err(fault(&call.tool, "answered something else".to_owned())),
            Err(why) => Err(said(call, server, why)),
        };
        let result = result.map(|mut success| {
            if !was_connected {
                success.note = Some(format!("{} connected", server.name()));
            }
            success
        });
        let error = result.as_ref().err().map(ToString::to_string);
        let note = Note {
            duration_us: u64::try_from(begin.elapsed().as_micros()).ok(),
            error: error.as_deref(),
            ..Note::ended()
        };
        self.log_served(call, server, &note)?;
        result
    }

    /// Writes into the audit log what a call did with a server.
    pub(super) fn log_served(
        &self,
        call: &Call,
        server: &Server,
        note: &Note<'_>,
    ) -> Result<(), Failure> {
        let session = self.0.shared.session();
        let target = note.need.map(|need| need.target.to_string());
        let record = Record {
            time: audit::now(),
            session: &session,
            call: &call.id,
            tool: &call.tool,
            plugin: &server.id.name,
            digest: &server.id.digest,
            event: note.event,
            target: target.as_deref(),
            operation: note.need.map(|need| need.operation.verb()),
            rule: note.rule,
            times: None,
            bytes: None,
            duration_us: note.duration_us,
            line: note.line,
            error: note.error,
        };
        let logged = self.0.shared.audit.append(&[record]);
        logged.map_err(|e| Failure::Host(chain(&e)))
    }
}

/// Asks as somebody else does, and knows how long the user thought.
struct Timed {
    ask: Arc<dyn Ask>,
    waited: Mutex<Duration>,
}

impl Timed {
    fn waited(&self) -> Duration {
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn time<T>(&self, asked: impl Future<Output = T>) -> T {
        let begin = Instant::now();
        let answer = asked.await;
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += begin.elapsed();
        answer
    }
}

#[async_trait]
impl Ask for Timed {
    async fn ask(&self, question: Question) -> Answer {
        self.time(self.ask.ask(question)).await
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        self.time(self.ask.ask_text(question)).await
    }

    fn is_attended(&self) -> bool {
        self.ask.is_attended()
    }

    fn answers_texts(&self) -> bool {
        self.ask.answers_texts()
    }

    fn model(&self) -> Option<Arc<dyn Model>> {
        self.ask.model()
    }

    fn went_unasked(&self, needs: &[Need]) {
        self.ask.went_unasked(needs);
    }
}

/// What is noted of a call in the audit log.
pub(super) struct Note<'a> {
    pub(super) event: Event,
    pub(super) need: Option<&'a Need>,
    pub(super) rule: Option<&'a str>,
    pub(super) line: Option<&'a str>,
    pub(super) duration_us: Option<u64>,
    pub(super) error: Option<&'a str>,
}

impl<'a> Note<'a> {
    pub(super) fn ended() -> Note<'a> {
        Note {
            event: Event::Ended,
            need: None,
            rule: None,
            line: None,
            duration_us: None,
            error: None,
        }
    }

    pub(super) fn denied(need: &'a Need, rule: &'a str) -> Note<'a> {
        Note {
            event: Event::Denied,
            need: Some(need),
            rule: Some(rule),
            ..Note::ended()
        }
    }
}

fn of_bridge(content: bridge::Content) -> wire::Content {
    match content {
        bridge::Content::Text(text) => wire::Content::Text(text),
        bridge::Content::Blob(blob) => wire::Content::Blob(wire::Blob {
            media_type: display::escape(&blob.media_type).into_owned(),
            bytes: blob.bytes,
        }),
    }
}

/// What can be read, a line each, for the model.
fn of_things(things: &[bridge::Thing]) -> String {
    let lines = things.iter().map(|thing| {
        let parts = [&thing.name, &thing.media_type, &thing.description];
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        let about: Vec<String> = parts.map(|it| display::escape(it).into_owned()).collect();
        format!("{}  {}", display::escape(&thing.uri), about.join(" · "))
    });
    match things.is_empty() {
        true => "There is nothing to read.".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    }
}

/// Why a server gave nothing, as the model and the user are told.
fn said(call: &Call, server: &Server, why: BridgeError) -> Failure {
    let name = server.name();
    let bounded = |text: String| {
        let mut text = text;
        text.truncate(text.floor_char_boundary(MAX_FAILURE_BYTES));
        display::escape_multiline(&text).into_owned()
    };
    let tool = call.tool.clone();
    match why {
        BridgeError::Tool(text) => Failure::Tool {
            tool,
            message: bounded(text),
        },
        BridgeError::Refused(text) => Failure::Tool {
            tool,
            message: format!("the MCP server {name} refused: {}", bounded(text)),
        },
        BridgeError::Broken(why) => Failure::Tool {
            tool,
            message: format!("the MCP server {name} {}", bounded(why)),
        },
        BridgeError::TimedOut(limit) => Failure::Tool {
            tool,
            message: format!(
                "the MCP server {name} did not answer within {} s (timeout_secs)",
                limit.as_secs()
            ),
        },
        BridgeError::Cancelled => Failure::Cancelled,
    }
}
