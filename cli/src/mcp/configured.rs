//! The servers of the configuration, by their names.

use dunlin_host::nearest::nearest;

use crate::app::App;
use crate::config::mcp::ServerEntry;
use crate::error::CliError;

/// There is no such server.
#[derive(Debug, thiserror::Error)]
enum NoServer {
    #[error("there is no MCP server {0:?} in the configuration")]
    Unknown(String),
    #[error("the MCP server {0:?} is switched off (enabled = false)")]
    Off(String),
}

/// The entry of a server that can be used.
pub fn configured<'a>(app: &'a App, name: &str) -> Result<&'a ServerEntry, CliError> {
    let servers = &app.settings.mcp_servers;
    match servers.get(name) {
        None => Err(unknown_server(app, name)),
        Some(server) if !server.value.is_enabled() => {
            Err(CliError::usage(NoServer::Off(name.to_owned())))
        }
        Some(server) => Ok(&server.value),
    }
}

/// Says that no server has this name, and which names there are.
pub fn unknown_server(app: &App, name: &str) -> CliError {
    let servers = &app.settings.mcp_servers;
    let names: Vec<&str> = servers.keys().map(String::as_str).collect();
    let hint = match nearest(name, names.iter().copied()) {
        _ if names.is_empty() => "none is configured; dunlin mcp add adds one".to_owned(),
        Some(near) if names.len() > 1 => {
            format!("the nearest is {near:?}; configured: {}", names.join(", "))
        }
        Some(near) => format!("the nearest is {near:?}"),
        None => format!("configured: {}", names.join(", ")),
    };
    CliError::usage(NoServer::Unknown(name.to_owned())).with_hint(Some(hint))
}

/// With which rights a program runs, where it starts and what is asked about, as far as that is configured.
pub fn how_it_runs(entry: &ServerEntry) -> String {
    let mut said = Vec::new();
    if entry.command.is_some() {
        said.push(match entry.sandbox {
            Some(true) => "sandboxed".to_owned(),
            _ => "no sandbox".to_owned(),
        });
    }
    said.extend(entry.cwd.as_ref().map(|cwd| format!("cwd = {cwd:?}")));
    if entry.ask == Some(true) {
        said.push("ask = true".to_owned());
    } else if !entry.ask_tools.is_empty() {
        said.push(format!("ask_tools = {:?}", entry.ask_tools));
    }
    said.join(", ")
}
