//! The end of a child process that nobody waits for.

use std::process::Child;
use std::sync::{Mutex, PoisonError};

/// Keepers whose commands were dropped. They end by themselves, and are taken over when the next one is left.
static LEFT: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Lets a keeper end without waiting for it.
pub(super) fn leave(keeper: Child) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.push(keeper);
    left.retain_mut(|keeper| matches!(keeper.try_wait(), Ok(None)));
}
