//! `dunlin mcp`: the servers whose tools the chat may use, and Dunlin's own tools for other programs.

mod login;
mod serve;
mod servers;
mod test;

use crate::app::App;
use crate::args::McpCommand;
use crate::error::{CliError, Exit};

/// Runs one of the commands.
pub fn run(app: &mut App, command: McpCommand) -> Result<Exit, CliError> {
    match command {
        McpCommand::List(args) => servers::list(app, args.json),
        McpCommand::Add(args) => servers::add(app, args),
        McpCommand::Remove { names, yes } => servers::remove(app, &names, yes),
        McpCommand::Serve(args) => serve::run(app, &args),
        McpCommand::Test { name } => test::run(app, &name),
        McpCommand::Login { name, scope } => login::run(app, &name, scope.as_deref()),
        McpCommand::Logout { name } => login::forget(app, &name),
    }
}
