//! `dunlin chat`: the conversation. Without any configuration it offers to make one first.

use crate::app::App;
use crate::args::{ChatArgs, Global};
use crate::commands::setup;
use crate::error::{CliError, Exit};
use crate::modes;
use crate::pausing;
use crate::repl;

/// Opens the chat.
pub fn run(app: &mut App, args: &ChatArgs, global: &Global) -> Result<Exit, CliError> {
    if let Some(exit) = setup::see_to_agent(app, global, setup::Try::Yes)? {
        return Ok(exit);
    }
    // A wrong name is said now, not after the first message was typed.
    app.settings.agent_entry()?;
    pausing::intercept(app, args.intercept)?;
    let configured = app.settings.general.mode.value;
    app.begin_in(modes::beginning(args.mode, configured, app.asks()));
    if app.asks() {
        repl::run(app, args)
    } else {
        repl::plain::run(app, args)
    }
}
