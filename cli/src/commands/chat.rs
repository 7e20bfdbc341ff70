//! `dunlin chat`: the conversation. Without any configuration it offers to make one first.

use crate::args::{ChatArgs, Global};
use crate::commands::setup;
use crate::error::{CliError, Exit};
use crate::repl;
use crate::workshop::Workshop;

/// Opens the chat.
pub fn run(workshop: &mut Workshop, args: &ChatArgs, global: &Global) -> Result<Exit, CliError> {
    if !workshop.settings.has_agents() {
        let environment = workshop.settings.environment.clone();
        match setup::offer(workshop)? {
            setup::Offered::Written => workshop.settings = super::load(global, environment)?,
            setup::Offered::Declined => return Ok(Exit::Done),
        }
    }
    // A wrong name is said now, not after the first message was typed.
    workshop.settings.agent_entry()?;
    if workshop.asks() {
        repl::run(workshop, args)
    } else {
        repl::plain::run(workshop, args)
    }
}
