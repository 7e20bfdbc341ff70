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
pub(crate) mod connection;
pub(crate) mod engine;
pub(crate) mod offered;
mod options;
pub(crate) mod secret;
mod server;
mod stdio;
pub mod transport;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OnceCell;

use self::engine::BridgeEngine;
pub use self::offered::{LOADER, SEPARATOR};
pub use self::options::{McpOptions, McpServer, ServerAt, ServerInfo, ServerReport};
pub(crate) use self::server::{Contents, Server};
pub use self::stdio::Program;
use crate::engine::error::EngineError;
use crate::plugin::{DescribedTool, Plugin};

/// All servers of a host.
pub(crate) struct Servers {
    pub(crate) all: Vec<Arc<Server>>,
    pub(crate) bridge: Option<Plugin>,
    pub(crate) version: String,
    /// `None`: there are no servers.
    pub(crate) loader: Option<DescribedTool>,
    /// Made with the first connection.
    pub(crate) engine: OnceCell<Result<Arc<BridgeEngine>, EngineError>>,
    pub(crate) state: Mutex<State>,
}

/// What is remembered of calls and of the session.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// As what a tool was shown, by call.
    pub(crate) prepared: HashMap<String, String>,
    /// The calls that were answered with yes.
    pub(crate) answered: HashSet<String>,
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
        self.state.lock()
    }
}
