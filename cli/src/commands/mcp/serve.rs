//! `dunlin mcp serve`: the tools, over standard input and output, for whoever speaks MCP.

use std::sync::Arc;

use rmcp::transport::stdio_pipes;

use crate::args::McpServeArgs;
use crate::commands::permissions::allow_for_session;
use crate::dialogue::interrupted;
use crate::error::{CliError, Exit};
use crate::serve::{Served, serve};
use crate::workshop::Workshop;

/// Serves until the input ends.
pub fn run(workshop: &mut Workshop, args: &McpServeArgs) -> Result<Exit, CliError> {
    // Whoever is at the other end of the streams is no user.
    workshop.never_ask();
    let settings = &workshop.settings;
    // Without a name there is no agent whose list could be meant.
    let tools = match settings.is_agent_named() {
        true => settings.agent_entry()?.1.tools.clone(),
        false => None,
    };
    let host = workshop.host()?.clone();
    // Else the audit log would name an answer of somebody who was never asked.
    host.nobody_answers();
    allow_for_session(workshop, &args.allow)?;
    let ui = &workshop.ui;
    if ui.streams().input {
        ui.status("Waiting for an MCP client on standard input; Ctrl-D ends it.");
    }
    let interrupt = interrupted(workshop)?;
    let served = Served {
        host,
        tools,
        ui: Arc::clone(ui),
    };
    let ended = workshop.runtime()?.block_on(async {
        let (input, output) = stdio_pipes();
        tokio::select! {
            biased;
            () = interrupt => None,
            ended = serve(served, input, output) => Some(ended),
        }
    });
    match ended {
        None => Ok(Exit::Interrupted),
        Some(Ok(())) => Ok(Exit::Done),
        Some(Err(error)) => Err(CliError::failed(error)),
    }
}
