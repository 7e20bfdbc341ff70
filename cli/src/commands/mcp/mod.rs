//! `dunlin mcp`: the servers whose tools the chat may use, and Dunlin's own tools for other programs.

mod login;
mod serve;
mod servers;
mod test;

pub use self::servers::how_it_runs;
pub use self::test::unknown_server;
use crate::args::McpCommand;
use crate::error::{CliError, Exit};
use crate::workshop::Workshop;

/// Runs one of the commands.
pub fn run(workshop: &mut Workshop, command: McpCommand) -> Result<Exit, CliError> {
    match command {
        McpCommand::List => servers::list(workshop),
        McpCommand::Add(args) => servers::add(workshop, args),
        McpCommand::Remove { names, yes } => servers::remove(workshop, &names, yes),
        McpCommand::Serve(args) => serve::run(workshop, &args),
        McpCommand::Test { name } => test::run(workshop, &name),
        McpCommand::Login { name, scope } => login::run(workshop, &name, scope.as_deref()),
        McpCommand::Logout { name } => login::forget(workshop, &name),
    }
}
