//! What a host is told of MCP servers, and what it tells of them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::stdio::Program;
use super::transport::Connect;
use crate::plugin::Plugin;

/// What a host is told of servers.
#[derive(Clone)]
pub struct McpOptions {
    /// The component that speaks the protocol. `None`: no server can be connected.
    pub bridge: Option<Plugin>,
    /// The version with which the host introduces itself.
    pub version: String,
    /// The servers, under different names.
    pub servers: Vec<McpServer>,
}

impl McpOptions {
    /// No servers.
    pub fn none() -> McpOptions {
        McpOptions {
            bridge: None,
            version: String::new(),
            servers: Vec::new(),
        }
    }
}

impl std::fmt::Debug for McpOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.servers.iter().map(|it| it.name.as_str()).collect();
        f.debug_struct("McpOptions")
            .field("servers", &names)
            .finish_non_exhaustive()
    }
}

/// One server, as it was configured.
#[derive(Clone)]
pub struct McpServer {
    /// 1 to 24 of `a-z A-Z 0-9 - _`, without `__`.
    pub name: String,
    /// What it is for, in the user's words.
    pub description: Option<String>,
    /// Where it is.
    pub at: ServerAt,
    /// Whether each call is asked about.
    pub ask: bool,
    /// The tools of which each call is asked about, by the server's own names.
    pub ask_tools: Vec<String>,
    /// The folders that it is told of (the protocol's roots), absolute. None: it is told of no folders.
    pub roots: Vec<PathBuf>,
    /// How long an answer is waited for, and a connection.
    pub timeout: Duration,
}

/// Where a server is.
#[derive(Clone)]
pub enum ServerAt {
    /// A program that is started.
    Program(Program),
    /// Elsewhere.
    Web {
        /// Its address, for people and for the log.
        url: String,
        /// Makes the connection, and sees to what may be reached.
        connect: Arc<dyn Connect>,
    },
}

/// The state of a server, for people.
#[derive(Debug, Clone)]
pub struct ServerReport {
    /// Its name in the configuration.
    pub name: String,
    /// The command line or the address.
    pub place: String,
    /// Whether the session uses it.
    pub is_used: bool,
    /// Whether it is connected at this moment.
    pub is_connected: bool,
    /// Whether the user disabled it until the session ends.
    pub is_disabled: bool,
    /// How long connecting took, the last time.
    pub connected_in: Option<Duration>,
    /// What it says of itself, if it was ever connected.
    pub server_info: ServerInfo,
    /// The tools that it offers, by the names that the model knows, and whether the server says that they may destroy.
    pub tools: Vec<(String, bool)>,
    /// The tools that are not offered, and why.
    pub left_out: Vec<String>,
}

/// What a server says of itself. Escaped, and short enough to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its own name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The revision of the protocol that was agreed on.
    pub protocol: String,
    /// How it wants to be used; for the model.
    pub instructions: Option<String>,
    /// Whether it has tools.
    pub has_tools: bool,
    /// Whether it has resources.
    pub has_resources: bool,
    /// Whether it has prompts.
    pub has_prompts: bool,
}
