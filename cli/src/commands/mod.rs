//! The commands: one module, one argument struct and one function each.

pub mod acp;
pub mod apps;
pub mod ask;
pub mod audit;
#[cfg(feature = "local-model")]
pub mod built_in;
pub mod chat;
pub mod completions;
pub mod config;
pub mod doctor;
mod edit_config;
pub mod help;
pub mod inspect;
pub mod keys;
mod make_app;
pub mod mcp;
pub mod model;
pub mod permissions;
pub mod plugin;
pub mod requests;
pub mod search;
pub mod sessions;
pub mod setup;
pub mod tools;

use std::sync::Arc;

use dunlin_host::Plugin;

use self::make_app::at_work;
use crate::app::App;
use crate::args::{ChatArgs, Cli, Command, Global};
use crate::config::env::Environment;
use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::trust;
use dunlin_terminal::ui::Ui;

/// Runs the command of the command line and says how the program ends.
pub fn run(cli: Cli, environment: Environment, plugins: Vec<Plugin>) -> Exit {
    let one_screen = matches!(cli.command, None | Some(Command::Chat(_)));
    let ui = Arc::new(Ui::new(cli.global.terminal(), &environment, one_screen));
    let result = dispatch(&ui, cli, environment, plugins);
    // A reader that went away explains every other failure.
    let finished = ui.finish().map_err(CliError::from);
    let result = match (result, finished) {
        (Ok(exit), Ok(())) => Ok(exit),
        (Err(error), Ok(())) | (_, Err(error)) => Err(error),
    };
    result.unwrap_or_else(|error| {
        ui.error(&error);
        error.exit()
    })
}

fn dispatch(
    ui: &Arc<Ui>,
    cli: Cli,
    environment: Environment,
    plugins: Vec<Plugin>,
) -> Result<Exit, CliError> {
    let Cli {
        global,
        chat,
        command,
    } = cli;
    let global = &global;
    let app = |environment, plugins| app(ui, global, environment, plugins);
    match command {
        // These work without a configuration and say what is wrong with it.
        Some(Command::Completions(args)) => completions::run(ui, &args),
        Some(Command::Help { topic }) => Ok(help::run(ui, &topic)),
        Some(Command::Doctor) => doctor::run(ui, global, environment),
        Some(Command::Config(args)) => config::run(ui, args, global, environment, plugins),
        None => open_chat(ui, &chat, global, environment, plugins),
        Some(Command::Chat(chat)) => open_chat(ui, &chat, global, environment, plugins),
        Some(Command::Acp) => acp::run(ui, global, environment, plugins),
        Some(Command::Ask(args)) => ask::run(&mut app(environment, plugins)?, args, global),
        Some(Command::Tools(args)) => tools::run(&app(environment, plugins)?, args),
        Some(Command::Mcp(args)) => mcp::run(&mut app(environment, plugins)?, args),
        Some(Command::Plugin(args)) => {
            let mut settings = Settings::load_here(global, environment)?;
            // What is done to plugins is done to no project.
            settings.drop_project_notice();
            plugin::run(&at_work(ui, settings, plugins), args)
        }
        Some(Command::Sessions(args)) => sessions::run(&app(environment, plugins)?, args),
        Some(Command::Requests(args)) => requests::run(&app(environment, plugins)?, args, global),
        Some(Command::App(args)) => apps::run(&app(environment, plugins)?, args),
        Some(Command::Inspect(args)) => inspect::run(&app(environment, plugins)?, &args),
        Some(Command::Model(args)) => model::run(&app(environment, plugins)?, args),
        Some(Command::Search(args)) => search::run(&app(environment, plugins)?, &args),
        Some(Command::Audit(args)) => audit::run(&app(environment, plugins)?, &args),
        Some(Command::Permissions(args)) => permissions::run(&app(environment, plugins)?, args),
    }
}

fn open_chat(
    ui: &Arc<Ui>,
    args: &ChatArgs,
    global: &Global,
    environment: Environment,
    plugins: Vec<Plugin>,
) -> Result<Exit, CliError> {
    let settings = trust::offer(ui, global, environment)?;
    chat::run(&mut at_work(ui, settings, plugins), args, global)
}

fn app(
    ui: &Arc<Ui>,
    global: &Global,
    environment: Environment,
    plugins: Vec<Plugin>,
) -> Result<App, CliError> {
    Ok(at_work(
        ui,
        Settings::load_here(global, environment)?,
        plugins,
    ))
}
