//! What may be typed after `dunlin mcp`.

use clap::{Args, Subcommand};

use super::Allow;

/// What can be done with MCP.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
    /// Connect to a server of the configuration and say what it offers
    Test {
        /// The server
        name: String,
    },
    /// Log in to a server at an address, with a browser (OAuth)
    Login {
        /// The server
        name: String,
    },
    /// Forget a login
    Logout {
        /// The server
        name: String,
    },
    /// Offer Dunlin's own tools to an MCP client, over standard input and output
    Serve(McpServeArgs),
}

/// Arguments of `mcp serve`.
#[derive(Debug, Args)]
pub struct McpServeArgs {
    /// Allow a target while it serves: a file, `folder/`, a program, `https://host/`; bits of rwx
    #[arg(long, value_name = "TARGET=rwx")]
    pub allow: Vec<Allow>,
}
