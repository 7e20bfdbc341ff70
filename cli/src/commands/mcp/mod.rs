//! `dunlin mcp`: Dunlin's own tools for other programs.

mod serve;

use crate::args::McpCommand;
use crate::error::{CliError, Exit};
use crate::workshop::Workshop;

/// Runs one of the commands.
pub fn run(workshop: &mut Workshop, command: McpCommand) -> Result<Exit, CliError> {
    match command {
        McpCommand::Serve(args) => serve::run(workshop, &args),
    }
}
