//! Servers of the Model Context Protocol, and their tools.
//!
//! Nothing of it costs anything before it is wanted: until the model calls `mcp_loader` there is no process, no connection
//! and no component. Then each server gets a bridge of its own: a component in the sandbox that speaks the protocol over the
//! one line that it is given. The way to the server is the host's: a program's standard streams ([`Program`]), or
//! whatever else [`transport::Connect`] is implemented for.
//!
//! The user configured the servers, so what they offer needs no further permission unless the configuration says so. Still
//! all that they say is foreign: see `offered`.

pub(crate) mod bridge;
pub(crate) mod offered;
pub(crate) mod secret;
mod server;
mod stdio;
pub mod transport;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;

pub use self::offered::Facts;
pub(crate) use self::server::Server;
pub use self::stdio::Program;
use self::transport::Connect;
use crate::host::BridgeEngine;
use crate::plugin::{DescribedTool, Plugin};

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
    pub facts: Facts,
    /// The tools that it offers, by the names that the model knows, and whether the server says that they may destroy.
    pub tools: Vec<(String, bool)>,
    /// The tools that are not offered, and why.
    pub left_out: Vec<String>,
}

/// All servers of a host.
pub(crate) struct Servers {
    pub(crate) all: Vec<Arc<Server>>,
    pub(crate) bridge: Option<Plugin>,
    pub(crate) version: String,
    /// `None`: there are no servers.
    pub(crate) loader: Option<DescribedTool>,
    /// Made with the first connection.
    pub(crate) engine: OnceCell<Result<Arc<BridgeEngine>, String>>,
    pub(crate) state: Mutex<State>,
}

/// What is remembered of calls and of the session.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// As what a tool was shown, by call.
    pub(crate) prepared: HashMap<String, String>,
    /// The calls that were answered with yes.
    pub(crate) answered: HashSet<String>,
    /// The tools that may be called until the session ends, and the digest of what they were then.
    pub(crate) allowed: HashSet<(String, String)>,
}

impl Servers {
    pub(crate) fn new(options: McpOptions) -> Servers {
        let all: Vec<Arc<Server>> = match &options.bridge {
            Some(_) => options.servers.into_iter().map(Server::new).collect(),
            None => Vec::new(),
        };
        let about: Vec<(&str, Option<&str>)> = all
            .iter()
            .map(|it| (it.config.name.as_str(), it.config.description.as_deref()))
            .collect();
        let loader = (!about.is_empty()).then(|| DescribedTool::new(offered::loader(&about)));
        Servers {
            loader,
            all,
            bridge: options.bridge,
            version: options.version,
            engine: OnceCell::new(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single insertion or removal: nothing is half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
