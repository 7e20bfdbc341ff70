//! The run of a server's tool: what is asked of the bridge, and what came of it.

use std::sync::Arc;
use std::time::Instant;

use super::note::Note;
use super::{McpTools, ServerTool};
use crate::Progress;
use crate::ask::Ask;
use crate::audit::Event;
use crate::bindings::bridge::exports::dunlin::tool::mcp_client as bridge;
use crate::bindings::declared::{DeclaredOutput, DeclaredPart};
use crate::call::{Call, Failure, Success};
use crate::display;
use crate::host::results::{checked_arguments, fault, success};
use crate::limits::MAX_FAILURE_BYTES;
use crate::mcp::Server;
use crate::mcp::bridge::{BridgeError, Reply, Request};
use crate::mcp::connection::ServerCall;
use crate::mcp::offered::Does;

impl McpTools {
    pub(in crate::host) async fn run_tool(
        &self,
        call: &Call,
        named: &ServerTool,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Result<Success, Failure> {
        let (server, tool) = (&named.server, named.tool());
        let server_call = || ServerCall {
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
        let bridge = self.connection_to(call, server, server_call()).await;
        let bridge = bridge.map_err(|why| said(call, server, why))?;
        let offered = self.offered_by(server);
        let mut tools = offered.tools.iter();
        let current = tools.find(|it| it.described.tool.name == call.tool);
        let shown = self.servers.state().prepared.get(&call.id).cloned();
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
        // Whatever was decided before: the user may have chosen otherwise since.
        if let Some(rule) = self.shared.permissions.refusal_of_server(&call.tool) {
            let rule = rule.to_string();
            self.log(call, server, &Note::decided(Event::Denied, &rule))?;
            let question = named.question();
            return Err(Failure::Denied {
                question,
                by_user: false,
            });
        }
        // What cannot be logged does not happen.
        let why = self.why_allowed(call, named);
        self.log(call, server, &Note::decided(Event::Allowed, &why))?;
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
        let answered = bridge.request(request, server_call()).await;
        let result = match answered {
            Ok(Reply::Content(content)) => {
                let max_bytes = self.guests.limits.result_bytes;
                success(
                    &tool.described,
                    DeclaredOutput {
                        parts: content.into_iter().map(of_bridge).collect(),
                        structured: None,
                    },
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
        self.log(call, server, &note)?;
        result
    }
}

fn of_bridge(content: bridge::Content) -> DeclaredPart {
    match content {
        bridge::Content::Text(text) => DeclaredPart::Text(text),
        bridge::Content::Blob(blob) => DeclaredPart::Blob {
            media_type: display::escape(&blob.media_type).into_owned(),
            bytes: blob.bytes,
        },
    }
}

/// What can be read, a line each, for the model.
fn of_things(things: &[bridge::ResourceInfo]) -> String {
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
