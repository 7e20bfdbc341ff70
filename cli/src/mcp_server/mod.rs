//! Dunlin's tools for other programs: an MCP server on two streams.
//!
//! The protocol is the official SDK's. What is ours: lines that are not messages are answered rather than
//! swallowed (`lines`), which tools are offered and what is said of them (`offer`), and a call that goes the
//! same way as a model's, with nobody to ask (`call`). Whatever was not allowed beforehand is denied, and the
//! result says how to allow it. A client can grant nothing.
//!
//! When the input ends, so does the server: calls that run get `GRACE` to finish, for whoever pipes a few lines in.

mod call;
mod closing;
mod handler;
mod lines;
mod offer;
mod progress;

use std::sync::Arc;
use std::time::Duration;

use dunlin_host::Host;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use self::closing::Closing;
use self::handler::Toolbox;
use self::lines::Lines;
use dunlin_terminal::ui::Ui;

/// How long calls may go on after the input has ended. Enough for those that are nearly done; a client that has
/// died must not leave a command running.
const GRACE: Duration = Duration::from_secs(1);

/// What is served.
#[derive(Debug)]
pub struct McpServer {
    /// Runs the tools.
    pub host: Host,
    /// The names of the tools that are offered; `None`: all.
    pub tools: Option<Vec<String>>,
    /// Warns of plugins that cannot be used.
    pub ui: Arc<Ui>,
}

/// Why serving ended early.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Before the client and the server had agreed on anything.
    #[error("the MCP client cannot be server")]
    Start(#[source] Box<ServerInitializeError>),
    /// In the middle.
    #[error("serving the MCP client failed")]
    Broken(#[source] tokio::task::JoinError),
}

/// Serves one client until its input ends or its output takes no more.
///
/// Dropping the future ends all calls.
///
/// # Errors
/// The protocol broke down; the end of the input is none.
pub async fn serve(
    server: McpServer,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ServeError> {
    let closing = Closing::default();
    let lines = Lines::open(input, output, closing.clone());
    let toolbox = Toolbox::new(server, closing);
    let running = match rmcp::serve_server(toolbox, lines).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError::Start(Box::new(error))),
    };
    match running.waiting().await {
        Ok(_) => Ok(()),
        Err(error) => Err(ServeError::Broken(error)),
    }
}
