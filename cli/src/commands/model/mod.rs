//! `dunlin model`: the models that run in this process, and what is known of those that run elsewhere.

mod here;
mod list;
#[cfg(feature = "local-model")]
pub mod local;
mod refresh;

use crate::app::App;
use crate::args::ModelCommand;
use crate::error::{CliError, Exit};

/// Runs one of the commands.
pub fn run(app: &App, command: ModelCommand) -> Result<Exit, CliError> {
    match command {
        ModelCommand::List { text: None, json } => list::run(app, json)?,
        ModelCommand::List {
            text: Some(text),
            json,
        } => list::search(app, &text, json)?,
        ModelCommand::Refresh { url } => refresh::run(app, url)?,
        #[cfg(feature = "local-model")]
        ModelCommand::Pull { name } => local::pull_named(app, name.as_deref())?,
        #[cfg(feature = "local-model")]
        ModelCommand::Remove { name } => local::remove(app, &name)?,
        #[cfg(feature = "local-model")]
        ModelCommand::Path => local::path(app),
    }
    Ok(Exit::Done)
}
