//! What may be typed after `dunlin mcp`.

use clap::{Args, Subcommand};

use super::Allow;

/// What can be done with MCP.
#[derive(Debug, Subcommand)]
pub enum McpCommand {
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
