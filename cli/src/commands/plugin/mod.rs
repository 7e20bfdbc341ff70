//! `dunlin plugin`: tools that somebody else wrote.

mod author;
mod changes;
mod install;
mod key;
mod log;
mod publish;
mod report;
mod search;
mod settings;
mod update;
mod zoo;

use crate::app::App;
use crate::args::PluginCommand;
use crate::error::{CliError, Exit};
use crate::log_file::Extent;

/// Runs one of the commands.
pub fn run(app: &App, command: PluginCommand) -> Result<Exit, CliError> {
    match command {
        PluginCommand::New { name, lang } => author::new(app, &name, lang),
        PluginCommand::Build(args) => author::build(app, &args.folder),
        PluginCommand::Test(args) => author::test(app, &args.folder),
        PluginCommand::Dev { plugin, yes } => author::dev(app, &plugin.folder, yes),
        PluginCommand::Upgrade(args) => author::upgrade(app, &args.folder),
        PluginCommand::Check(args) => install::check(app, &args.from),
        PluginCommand::Install(args) => install::install(app, &args),
        PluginCommand::Remove { names, yes } => install::remove(app, &names, yes),
        PluginCommand::Settings {
            name,
            values,
            unset,
        } => settings::settings(app, &name, &values, &unset),
        PluginCommand::Log {
            name,
            lines,
            follow,
        } => log::log(app, name.as_deref(), Extent { lines, follow }),
        PluginCommand::List(args) => install::list(app, args.json),
        PluginCommand::Info { name } => install::info(app, &name),
        PluginCommand::Outdated(args) => update::outdated(app, args.json),
        PluginCommand::Update { names, yes } => update::update(app, &names, yes),
        PluginCommand::Rollback { name, yes } => update::rollback(app, &name, yes),
        PluginCommand::Publish {
            reference,
            from,
            replace,
        } => publish::publish(app, &reference, &from.from, replace),
        PluginCommand::Search { words, json } => search::search(app, &words, json),
        PluginCommand::Source { command } => search::source(app, command),
        PluginCommand::Key { command } => key::run(app, command),
        PluginCommand::Zoo { guests } => zoo::run(app, &guests),
    }
}
