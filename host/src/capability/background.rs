//! `background`: a call that asks to be run once more.

use super::context::{Phase, UsedInDescribe, View};
use crate::bindings::dunlin::tool::background;
use crate::limits::MAX_ARGUMENT_BYTES;

/// What a call leaves to be done.
#[derive(Debug, Default)]
pub(crate) struct Background {
    /// With what it wants to be run once more, while nobody waits.
    pub(crate) arguments: Option<String>,
}

impl background::Host for View<'_, Background> {
    fn run_again(&mut self, arguments: String) -> wasmtime::Result<()> {
        match self.phase {
            Phase::Describe => return Err(UsedInDescribe.into()),
            Phase::Prepare => return Ok(()),
            Phase::Run => {}
        }
        // More than a call may have at all is not worth keeping until it is refused.
        self.own.arguments =
            Some(arguments).filter(|arguments| arguments.len() <= MAX_ARGUMENT_BYTES);
        Ok(())
    }
}
