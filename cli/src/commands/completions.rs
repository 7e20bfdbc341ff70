//! `dunlin completions`: prints the completions for a shell.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::error::{CliError, Exit};
use dunlin_terminal::ui::Ui;

/// Prints the script.
pub fn run(ui: &Ui, args: &CompletionsArgs) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "dunlin", &mut script);
    ui.data(String::from_utf8_lossy(&script).trim_end());
    Ok(Exit::Done)
}
