//! `dunlin plugin`: tools that somebody else wrote.

mod author;
mod install;
mod report;
mod zoo;

use crate::args::PluginCommand;
use crate::error::{CliError, Exit};
use crate::workshop::Workshop;

/// Runs one of the commands.
pub fn run(workshop: &Workshop, command: PluginCommand) -> Result<Exit, CliError> {
    match command {
        PluginCommand::New { name, lang } => author::new(workshop, &name, lang),
        PluginCommand::Build(args) => author::build(workshop, &args.folder),
        PluginCommand::Test(args) => author::test(workshop, &args.folder),
        PluginCommand::Dev { plugin, yes } => author::dev(workshop, &plugin.folder, yes),
        PluginCommand::Check(args) => install::check(workshop, &args.from),
        PluginCommand::Install(args) => install::install(workshop, &args),
        PluginCommand::Remove { names, yes } => install::remove(workshop, &names, yes),
        PluginCommand::List => install::list(workshop),
        PluginCommand::Zoo { guests } => zoo::run(workshop, &guests),
    }
}
