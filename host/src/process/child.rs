//! The end of a child process that nobody waits for.

use std::process::Child;

use parking_lot::Mutex;

/// Supervisors whose commands were dropped. They end by themselves, and are taken over when the next one is left.
static LEFT: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Lets a supervisor end without waiting for it.
pub(super) fn leave(child: Child) {
    let mut left = LEFT.lock();
    left.push(child);
    left.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
}
