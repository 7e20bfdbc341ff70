//! The time limit of one call: a clock that stands still while the user is being asked.
//!
//! Epochs see only a guest that computes. This clock surrounds the whole call, waits of the host
//! included.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

/// A clock with a limit. Clones are the same clock.
#[derive(Debug, Clone)]
pub(crate) struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: Duration,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// What had run when it was last stopped.
    spent: Duration,
    /// Since when it runs; `None` while it stands.
    since: Option<Instant>,
    /// What was spent on work that has a limit of its own.
    elsewhere: Duration,
    /// How many pauses are open.
    pauses: usize,
}

impl Clock {
    /// Starts a clock.
    pub(crate) fn start(limit: Duration) -> Clock {
        Clock(Arc::new(Inner {
            limit,
            state: Mutex::new(State {
                spent: Duration::ZERO,
                since: Some(Instant::now()),
                elsewhere: Duration::ZERO,
                pauses: 0,
            }),
            changed: Notify::new(),
        }))
    }

    /// Stops it until the pause is dropped.
    pub(crate) fn pause(&self) -> Pause {
        self.change(|state| {
            state.pauses += 1;
            if let Some(since) = state.since.take() {
                state.spent += since.elapsed();
            }
        });
        Pause {
            clock: self.clone(),
            work: None,
        }
    }

    /// Stops it until the pause is dropped, for work that has a time limit of its own: it counts as spent, and not
    /// against the limit.
    pub(crate) fn pause_for_work(&self) -> Pause {
        let mut pause = self.pause();
        pause.work = Some(Instant::now());
        pause
    }

    /// What has run so far, here and elsewhere.
    pub(crate) fn spent(&self) -> Duration {
        let state = self.0.state.lock();
        let running = state.since.map_or(Duration::ZERO, |since| since.elapsed());
        state.spent + state.elsewhere + running
    }

    /// Waits until the limit has run.
    pub(crate) async fn expired(&self) {
        loop {
            let changed = self.0.changed.notified();
            let running = {
                let state = self.0.state.lock();
                state.since.map(|since| state.spent + since.elapsed())
            };
            match running {
                Some(spent) if spent >= self.0.limit => return,
                Some(spent) => {
                    tokio::select! {
                        () = tokio::time::sleep(self.0.limit - spent) => {}
                        () = changed => {}
                    }
                }
                None => changed.await,
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.state.lock());
        self.0.changed.notify_waiters();
    }
}

/// The clock stands while this lives.
#[derive(Debug)]
pub(crate) struct Pause {
    clock: Clock,
    /// Since when something else works, if it is that.
    work: Option<Instant>,
}

impl Drop for Pause {
    fn drop(&mut self) {
        let worked = self.work.map_or(Duration::ZERO, |since| since.elapsed());
        self.clock.change(|state| {
            state.elsewhere += worked;
            state.pauses -= 1;
            if state.pauses == 0 {
                state.since = Some(Instant::now());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn stands_while_paused() {
        let clock = Clock::start(Duration::from_millis(20));
        let pause = clock.pause();
        let spent = clock.spent();
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert_eq!(clock.spent(), spent);
        assert!(clock.expired().now_or_never().is_none());
        drop(pause);
        clock.expired().await;
        assert!(clock.spent() >= Duration::from_millis(20));
    }

    #[tokio::test]
    async fn work_elsewhere_is_spent_and_not_limited() {
        let clock = Clock::start(Duration::from_secs(3600));
        let short = Clock::start(Duration::from_millis(20));
        let pauses = [clock.pause_for_work(), short.pause_for_work()];
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert!(short.expired().now_or_never().is_none());
        drop(pauses);
        assert!(clock.spent() >= Duration::from_millis(40));
    }
}
