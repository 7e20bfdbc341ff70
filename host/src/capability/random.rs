//! `random`: bytes of the operating system's generator.

use rand::TryRngCore;
use rand::rngs::OsRng;

use super::context::CallContext;
use crate::bindings::dunlin::tool::random;
use crate::limits::MAX_RANDOM_BYTES;

impl random::Host for CallContext {
    fn bytes(&mut self, count: u32) -> wasmtime::Result<Vec<u8>> {
        self.not_in_describe()?;
        let mut bytes = vec![0; (count as usize).min(MAX_RANDOM_BYTES)];
        OsRng.try_fill_bytes(&mut bytes)?;
        Ok(bytes)
    }
}
