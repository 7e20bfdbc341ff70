//! Tools of MCP servers, and the loader that connects servers: their calls end at a bridge instead of a plugin.

mod changes;
mod connect;
mod loader;
mod note;
mod prompts;
mod run;
mod timed;
mod tool;

use std::sync::Arc;

pub use self::prompts::{PromptError, ServerPrompt};
pub(super) use self::timed::Timed;
use super::guests::Guests;
use crate::capability::Shared;
use crate::mcp::offered::{Offered, OfferedTool};
use crate::mcp::{Server, ServerReport, Servers};
use crate::plugin::Tool;

/// A tool of a server, at a place among those it offers.
pub(super) struct ServerTool {
    server: Arc<Server>,
    offered: Arc<Offered>,
    index: usize,
}

impl ServerTool {
    fn tool(&self) -> &OfferedTool {
        &self.offered.tools[self.index]
    }
}

/// Leads calls that use MCP servers through their three steps.
pub(super) struct McpTools {
    shared: Arc<Shared>,
    guests: Arc<Guests>,
    servers: Servers,
}

impl McpTools {
    pub(super) fn new(shared: Arc<Shared>, guests: Arc<Guests>, servers: Servers) -> McpTools {
        McpTools {
            shared,
            guests,
            servers,
        }
    }

    /// The tools of the servers that this session uses, by now.
    pub(super) fn joined(&self) -> Vec<Tool> {
        let taken = self.guests.names();
        let mut tools = Vec::new();
        for server in self.servers.all.iter().filter(|it| it.is_used()) {
            let offered = self.offered_by(server);
            let offered = offered.tools.iter().map(|it| &it.described.tool);
            tools.extend(offered.filter(|tool| !taken.contains(&tool.name)).cloned());
        }
        tools
    }

    /// The servers that were configured.
    pub(super) fn reports(&self) -> Vec<ServerReport> {
        let servers = self.servers.all.iter();
        servers.map(|server| server.report()).collect()
    }

    pub(super) fn names(&self) -> Vec<String> {
        let loader = self.loader_tool().map(|tool| tool.name);
        let joined = self.joined().into_iter().map(|tool| tool.name);
        joined.chain(loader).collect()
    }

    /// What a server offers by now; a change is told.
    pub(super) fn offered_by(&self, server: &Server) -> Arc<Offered> {
        let (offered, difference) = server.offered();
        if let Some(difference) = difference {
            let name = server.name();
            let notice = format!("the tools of the MCP server {name} changed: {difference}");
            self.shared.notices.push(notice);
        }
        offered
    }

    /// Finds a tool by name among those of the servers that this session uses.
    pub(super) fn find(&self, name: &str) -> Option<ServerTool> {
        let mut servers = self.servers.all.iter().filter(|it| it.is_used());
        servers.find_map(|server| {
            let offered = self.offered_by(server);
            let index = offered
                .tools
                .iter()
                .position(|tool| tool.described.tool.name == name)?;
            Some(ServerTool {
                server: Arc::clone(server),
                offered,
                index,
            })
        })
    }

    pub(super) fn forget_call(&self, call: &str) {
        let mut state = self.servers.state();
        state.prepared.remove(call);
        state.answered.remove(call);
    }
}
