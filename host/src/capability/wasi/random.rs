//! `wasi:random`: numbers of the system's generator; in `describe` always the same ones.

use rand::TryRngCore;
use rand::rngs::OsRng;

use super::bindings::wasi::random::{insecure, insecure_seed, random};
use crate::capability::context::{Phase, View};
use crate::capability::wasi::machine::Machine;

/// Bytes that are given at once. Keys and seeds have a few dozen.
const MAX_RANDOM_BYTES: u64 = 64 * 1024;

/// Asked for more than is given at once.
#[derive(Debug, thiserror::Error)]
#[error("wanted {0} random bytes at once; at most {MAX_RANDOM_BYTES} are given")]
struct TooMany(u64);

impl random::Host for View<'_, Machine> {
    fn get_random_bytes(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(count)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.random_number()
    }
}

impl insecure::Host for View<'_, Machine> {
    fn get_insecure_random_bytes(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(count)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.random_number()
    }
}

impl insecure_seed::Host for View<'_, Machine> {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((self.random_number()?, self.random_number()?))
    }
}

impl View<'_, Machine> {
    fn random_bytes(&mut self, count: u64) -> wasmtime::Result<Vec<u8>> {
        let length = usize::try_from(count).unwrap_or(usize::MAX);
        if count > MAX_RANDOM_BYTES {
            return Err(TooMany(count).into());
        }
        let mut bytes = vec![0; length];
        match self.phase {
            Phase::Describe => {
                for piece in bytes.chunks_mut(8) {
                    let number = self.same_number().to_le_bytes();
                    piece.copy_from_slice(&number[..piece.len()]);
                }
            }
            Phase::Prepare | Phase::Run => OsRng.try_fill_bytes(&mut bytes)?,
        }
        Ok(bytes)
    }

    fn random_number(&mut self) -> wasmtime::Result<u64> {
        match self.phase {
            Phase::Describe => Ok(self.same_number()),
            Phase::Prepare | Phase::Run => Ok(OsRng.try_next_u64()?),
        }
    }

    /// The next of a row that is always the same (SplitMix64): well mixed, and known to everybody.
    fn same_number(&mut self) -> u64 {
        self.own.drawn += 1;
        let mut z = self.own.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
