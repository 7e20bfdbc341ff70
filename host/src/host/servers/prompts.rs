//! Prompts of servers: messages that somebody prepared, which a person asks for by name.

use std::sync::Arc;

use super::McpTools;
use crate::NoProgress;
use crate::ask::DenyAll;
use crate::bindings::bridge::exports::dunlin::tool::mcp_client as bridge;
use crate::display;
use crate::mcp::Server;
use crate::mcp::bridge::{Reply, Request};
use crate::mcp::connection::ServerCall;

/// Characters of a name or a description that are shown.
const MAX_SHOWN_CHARS: usize = 200;

/// A prompt of a connected server. Its texts are escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerPrompt {
    /// The server, as it is configured.
    pub server: String,
    /// What it is called there.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What it can be given: name, and whether it has to be.
    pub arguments: Vec<(String, bool)>,
}

/// Why a prompt of a server was not filled in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// There is no connection to the server.
    #[error("the MCP server {0} is not connected")]
    NotConnected(String),
    /// The server answered with something else.
    #[error("the MCP server {0} answered something else than a prompt")]
    NoPrompt(String),
    /// The server refused, broke or took too long.
    #[error("the MCP server {server} {why}")]
    Failed {
        /// Its name.
        server: String,
        /// What it did, escaped.
        why: String,
    },
}

impl McpTools {
    /// The prompts of the connected servers; what could not be asked for stands in the second list, a line each.
    pub(in crate::host) async fn prompts(&self) -> (Vec<ServerPrompt>, Vec<String>) {
        let mut prompts = Vec::new();
        let mut failed = Vec::new();
        for server in &self.servers.all {
            if !server.server_info().has_prompts {
                continue;
            }
            let Some(bridge) = server.bridge() else {
                continue;
            };
            let short =
                |text: &str| display::shorten(&display::escape(text), MAX_SHOWN_CHARS).into_owned();
            match bridge
                .request(Request::ListPrompts, server_call(server))
                .await
            {
                Ok(Reply::Prompts(listed)) => {
                    prompts.extend(listed.into_iter().map(|prompt| {
                        ServerPrompt {
                            server: server.name().to_owned(),
                            name: prompt.name,
                            description: short(&prompt.description),
                            arguments: prompt
                                .arguments
                                .into_iter()
                                .map(|it| (it.name, it.required))
                                .collect(),
                        }
                    }));
                }
                Ok(_) => {}
                Err(why) => failed.push(format!(
                    "the prompts of {} cannot be listed: it {}",
                    server.name(),
                    why
                )),
            }
        }
        (prompts, failed)
    }

    /// Fills a prompt in. The text is the server's: it becomes a message of the user's, who has seen it then.
    pub(in crate::host) async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Vec<(String, String)>,
    ) -> Result<String, PromptError> {
        let mut servers = self.servers.all.iter();
        let found = servers.find(|it| it.name() == server);
        let Some((server, bridge)) = found.and_then(|it| Some((it, it.bridge()?))) else {
            return Err(PromptError::NotConnected(server.to_owned()));
        };
        let request = Request::GetPrompt(name.to_owned(), arguments);
        match bridge.request(request, server_call(server)).await {
            Ok(Reply::Content(content)) => {
                let texts = content.into_iter().map(|part| match part {
                    bridge::Content::Text(text) => text,
                    bridge::Content::Blob(blob) => format!("[{}, not shown]", blob.media_type),
                });
                Ok(texts.collect::<Vec<_>>().join("\n"))
            }
            Ok(_) => Err(PromptError::NoPrompt(server.name().to_owned())),
            Err(why) => Err(PromptError::Failed {
                server: server.name().to_owned(),
                why: why.to_string(),
            }),
        }
    }
}

/// Somebody at the prompt: nobody is asked, nothing is shown meanwhile.
fn server_call(server: &Server) -> ServerCall {
    ServerCall {
        call: String::new(),
        tool: server.name().to_owned(),
        arguments: serde_json::Value::Null,
        ask: Arc::new(DenyAll),
        progress: Arc::new(NoProgress),
    }
}
