//! A value that one thread changes while others wait for it to become what they need.

use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a test waits for anything before it fails. Far above what a loaded machine needs, so that
/// a failure means a hang; far below what makes a person give up on the run.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// A value and the news of its changes.
#[derive(Debug, Default)]
pub struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
}

/// The deadline passed before the value became what was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedOut;

impl<T> Watched<T> {
    /// Starts with `value`.
    pub fn new(value: T) -> Self {
        Watched {
            value: Mutex::new(value),
            changed: Condvar::new(),
        }
    }

    /// Changes the value and wakes everybody who waits for it.
    pub fn update<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        let answer = change(&mut self.lock());
        self.changed.notify_all();
        answer
    }

    /// Looks at the value as it is now.
    pub fn read<R>(&self, look: impl FnOnce(&T) -> R) -> R {
        look(&self.lock())
    }

    /// Blocks until `ready` answers; it is asked now and after every change.
    ///
    /// # Errors
    ///
    /// [`TimedOut`] when it has not answered after `limit`.
    pub fn wait<R>(
        &self,
        limit: Duration,
        mut ready: impl FnMut(&T) -> Option<R>,
    ) -> Result<R, TimedOut> {
        let end = Instant::now() + limit;
        let mut value = self.lock();
        loop {
            if let Some(answer) = ready(&value) {
                return Ok(answer);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(TimedOut);
            }
            value = self
                .changed
                .wait_timeout(value, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// A failed assertion inside a closure must not hide behind a poisoned lock in every later one.
    fn lock(&self) -> MutexGuard<'_, T> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the deadline passed")
    }
}

impl std::error::Error for TimedOut {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_wakes_who_waits() {
        let count = Watched::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..100).for_each(|_| count.update(|n| *n += 1)));
            assert_eq!(
                count.wait(DEADLINE, |n| (*n == 100).then_some("all")),
                Ok("all")
            );
        });
    }

    #[test]
    fn the_deadline_ends_a_wait_for_what_never_comes() {
        let never = Watched::new(());
        assert_eq!(never.wait::<()>(Duration::ZERO, |()| None), Err(TimedOut));
    }
}
