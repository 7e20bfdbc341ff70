//! `dunlin mcp serve`: the tools, over standard input and output, for whoever speaks MCP.

use std::sync::Arc;

use rmcp::transport::stdio_pipes;

use crate::app::App;
use crate::args::McpServeArgs;
use crate::commands::permissions::allow_for_session;
use crate::dialogue::interrupted;
use crate::error::{CliError, Exit};
use crate::mcp_server::{McpServer, serve};

/// Serves until the input ends.
pub fn run(app: &mut App, args: &McpServeArgs) -> Result<Exit, CliError> {
    // Whoever is at the other end of the streams is not a user.
    app.never_ask();
    let settings = &app.settings;
    // Without a name there is no agent whose list could be meant.
    let tools = match settings.is_agent_named() {
        true => settings.agent_entry()?.1.options.tools.clone(),
        false => None,
    };
    let host = app.host()?.clone();
    // Else the audit log would name an answer of somebody who was never asked.
    host.nobody_answers();
    allow_for_session(app, &args.allow)?;
    let ui = &app.ui;
    if ui.streams().input {
        ui.status("Waiting for an MCP client on standard input; Ctrl-D ends it.");
    }
    let interrupt = interrupted(app)?;
    let server = McpServer {
        host,
        tools,
        ui: Arc::clone(ui),
    };
    let ended = app.runtime()?.block_on(async {
        let (input, output) = stdio_pipes();
        tokio::select! {
            biased;
            () = interrupt => None,
            ended = serve(server, input, output) => Some(ended),
        }
    });
    match ended {
        None => Ok(Exit::Interrupted),
        Some(Ok(())) => Ok(Exit::Done),
        Some(Err(error)) => Err(CliError::failed(error)),
    }
}
