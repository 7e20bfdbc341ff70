//! `background`: a call's wish to be run once more.

use super::{CallState, Phase, UsedInDescribe};
use crate::bindings::dunlin::tool::background;
use crate::limits::MAX_ARGUMENT_BYTES;

impl background::Host for CallState {
    fn go_on(&mut self, arguments: String) -> wasmtime::Result<()> {
        match self.phase {
            Phase::Describe => return Err(UsedInDescribe.into()),
            Phase::Prepare => return Ok(()),
            Phase::Run => {}
        }
        // More than a call may have at all is not worth keeping until it is refused.
        self.go_on = Some(arguments).filter(|arguments| arguments.len() <= MAX_ARGUMENT_BYTES);
        Ok(())
    }
}
