//! `dunlin plugin`: tools that somebody else wrote.

mod install;
mod report;

use crate::args::PluginCommand;
use crate::error::{CliError, Exit};
use crate::workshop::Workshop;

/// Runs one of the commands.
pub fn run(workshop: &Workshop, command: PluginCommand) -> Result<Exit, CliError> {
    match command {
        PluginCommand::Check(args) => install::check(workshop, &args.from),
        PluginCommand::Install(args) => install::install(workshop, &args),
        PluginCommand::Remove { names, yes } => install::remove(workshop, &names, yes),
        PluginCommand::List => install::list(workshop),
    }
}
