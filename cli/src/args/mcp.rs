//! What may be typed after `dunlin mcp`.

use clap::{Args, Subcommand};
use url::Url;

use super::Allow;

/// What can be done with MCP.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// List the configured servers
    List,
    /// Add a server to the configuration
    Add(McpAddArgs),
    /// Remove servers from the configuration
    Remove {
        /// The servers
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Without asking
        #[arg(long)]
        yes: bool,
    },
    /// Connect to a server of the configuration and say what it offers
    Test {
        /// The server
        name: String,
    },
    /// Log in to a server at an address, with a browser (OAuth)
    Login {
        /// The server
        name: String,
        /// What for, where the server wants more than it proposes
        #[arg(long)]
        scope: Option<String>,
    },
    /// Forget a login
    Logout {
        /// The server
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
    /// What it is called, and its tools after it: 1 to 24 of a-z A-Z 0-9 - _
    pub name: String,
    /// Where it answers over streamable HTTP
    #[arg(long, conflicts_with_all = ["command", "env"])]
    pub url: Option<Url>,
    /// The key of the configuration that is its bearer token
    #[arg(long, value_name = "KEY", requires = "url")]
    pub api_key: Option<String>,
    /// What it is for, for the model
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Set a variable for the command
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// The program that is the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Arguments of `mcp serve`.
#[derive(Debug, Args)]
pub struct McpServeArgs {
    /// Allow a target while it serves: a file, `folder/`, a program, `https://host/`; bits of rwx
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
