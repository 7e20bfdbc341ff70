//! The chat: arguments, configuration, the prompt, and the turn between user, model and tools.

pub mod acp;
mod age;
pub mod app;
mod apps;
pub mod args;
mod bounded_lines;
pub mod built_in_plugins;
pub mod commands;
pub mod config;
pub mod dialogue;
pub mod discover;
pub mod error;
pub mod host_options;
pub mod inspect;
pub mod instructions;
pub mod keyring;
#[cfg(feature = "local-model")]
pub mod local_model;
mod log_file;
pub mod mcp;
pub mod mcp_server;
pub mod mentions;
pub mod model_table;
pub mod models;
mod modes;
mod money;
mod output_file;
pub mod pages;
pub mod pausing;
mod permission_rules;
pub mod plugin;
pub mod prompt;
pub mod protocol;
pub mod provider;
pub mod repl;
mod requests;
pub mod saved_edits;
mod sessions;
pub mod settings;
pub mod subagents;
mod summary;
pub mod templates;
mod tools;
mod trust;
pub mod used_models;
pub mod value_in_editor;

use std::process::ExitCode;

use clap::error::ErrorKind;
use dunlin_host::Plugin;
use dunlin_host::process::{SUPERVISOR_FLAG, harden_this_process, supervisor_main};

/// The program with the tools that come with it.
pub fn main() -> ExitCode {
    main_with(Vec::new())
}

/// The program: reads the command line and runs its command. `plugins` join the built-in ones, which
/// keep their names.
///
/// Help, version and wrong usage end here, before a file, a thread or a variable is touched.
///
/// Started as the supervisor of a command, or to run a template, it is nothing but that.
pub fn main_with(plugins: Vec<Plugin>) -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == SUPERVISOR_FLAG)
    {
        return supervisor_main();
    }
    // Before anything secret is read.
    if let Err(error) = harden_this_process() {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "error: cannot protect the memory of this process: {error}"
        );
        return error::Exit::Failed.into();
    }
    #[cfg(feature = "local-model")]
    if std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == local_model::template_process::RENDERER)
    {
        return local_model::template_process::renderer_main();
    }
    if let Some(exit) = commands::completions::answer() {
        return exit.into();
    }
    let cli = match args::Cli::of_process() {
        Ok(cli) => cli,
        Err(error) => {
            // A reader of the help that went away is not a failure.
            let _ = error.print();
            return match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error::Exit::Done.into(),
                _ => error::Exit::Usage.into(),
            };
        }
    };
    let environment = config::env::Environment::of_process();
    #[cfg(feature = "local-model")]
    local_model::threads::leave_room(&environment);
    commands::run(cli, environment, plugins).into()
}
