//! `dunlin chat`: the conversation. Without any configuration it offers to make one first.

use crate::args::{ChatArgs, Global};
use crate::commands::setup;
use crate::error::{CliError, Exit};
use crate::repl;
use crate::workshop::Workshop;

/// Opens the chat.
pub fn run(workshop: &mut Workshop, args: &ChatArgs, global: &Global) -> Result<Exit, CliError> {
    if let Some(exit) = setup::see_to_agent(workshop, global)? {
        return Ok(exit);
    }
    // A wrong name is said now, not after the first message was typed.
    workshop.settings.agent_entry()?;
    if workshop.asks() {
        repl::run(workshop, args)
    } else {
        repl::plain::run(workshop, args)
    }
}
