//! What may be typed after `dunlin mcp`.

use clap::{Args, Subcommand};
use url::Url;

use super::{Allow, ListArgs};

/// What can be done with MCP.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the configured servers
    List(ListArgs),
    /// Add a server to the configuration
    Add(McpAddArgs),
    /// Remove servers from the configuration
    Remove {
        /// The names of the servers
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
    /// Connect to a configured server and print what it offers
    Test {
        /// The name of the server
        name: String,
    },
    /// Log in to a server with a URL in your browser (OAuth)
    Login {
        /// The name of the server
        name: String,
        /// Request this scope instead of those that the server proposes
        #[arg(long)]
        scope: Option<String>,
    },
    /// Delete the stored login of a server
    Logout {
        /// The name of the server
        name: String,
    },
    /// Offer Dunlin's own tools to an MCP client, over standard input and output
    Serve(McpServeArgs),
}

/// Arguments of `mcp add`.
#[derive(Debug, Args)]
#[command(
    override_usage = "dunlin mcp add [OPTIONS] NAME -- COMMAND [ARGS]...\n       \
                      dunlin mcp add [OPTIONS] NAME --url URL"
)]
pub struct McpAddArgs {
    /// The name of the server, with which the names of its tools begin: 1 to 24 of a-z A-Z 0-9 - _
    pub name: String,
    /// The URL of a server that speaks streamable HTTP
    #[arg(long, conflicts_with_all = ["command", "env"])]
    pub url: Option<Url>,
    /// Send this key of the configuration as the bearer token
    #[arg(long, value_name = "KEY", requires = "url")]
    pub api_key: Option<String>,
    /// Tell the model what the server is for
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Set a variable for the command
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Start the command in this folder: . is the project. Without it, it starts in an empty folder of its own
    #[arg(long, value_name = "FOLDER", conflicts_with = "url")]
    pub cwd: Option<String>,
    /// Run the command in the sandbox for commands, instead of with all of your rights
    #[arg(long, conflicts_with = "url")]
    pub sandbox: bool,
    /// The program of the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Arguments of `mcp serve`.
#[derive(Debug, Args)]
pub struct McpServeArgs {
    /// Allow a target while the server runs: a file, `folder/`, a program or `https://host/` with letters of rwx
    #[arg(long, value_name = "TARGET=rwx")]
    pub allow: Vec<Allow>,
}

/// `NAME=VALUE`.
fn variable(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE"),
    }
}
