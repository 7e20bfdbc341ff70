//! What the user has to know although the call that it is about has ended.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

/// Notices that wait, at most: whoever shows them does so before and after each turn.
const MAX_WAITING: usize = 200;

/// One-line notices that wait to be shown. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notices(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    waiting: Mutex<Vec<String>>,
    /// How many tasks may still push notices about calls that have ended.
    expected: watch::Sender<usize>,
}

/// Held by a task that may still push a notice.
#[derive(Debug)]
pub(crate) struct Expected(Notices);

impl Notices {
    pub(crate) fn push(&self, notice: String) {
        let mut waiting = self.waiting();
        if waiting.len() < MAX_WAITING {
            waiting.push(notice);
        }
    }

    pub(crate) fn take(&self) -> Vec<String> {
        mem::take(&mut self.waiting())
    }

    /// Announces a notice: [`Notices::settled`] waits until the returned value is dropped.
    pub(crate) fn expect(&self) -> Expected {
        self.0.expected.send_modify(|expected| *expected += 1);
        Expected(self.clone())
    }

    /// Waits until nothing is expected any more, but not longer than `most`.
    pub(crate) async fn settled(&self, most: Duration) {
        let mut expected = self.0.expected.subscribe();
        // Only the time can end this wait early: `self` holds the sender.
        let _ = tokio::time::timeout(most, expected.wait_for(|expected| *expected == 0)).await;
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.waiting.lock()
    }
}

impl Expected {
    pub(crate) fn push(&self, notice: String) {
        self.0.push(notice);
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        let expected = &self.0.0.expected;
        expected.send_modify(|expected| *expected = expected.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn settled_waits_for_what_is_expected_and_no_longer_than_told() {
        let notices = Notices::default();
        notices.settled(Duration::from_secs(3600)).await;

        let expected = notices.expect();
        let task = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            expected.push("late".to_owned());
        });
        notices.settled(Duration::from_secs(1)).await;
        assert!(notices.take().is_empty());
        notices.settled(Duration::from_secs(3600)).await;
        assert_eq!(notices.take(), ["late"]);
        task.await.unwrap();
    }

    #[test]
    fn notices_are_bounded() {
        let notices = Notices::default();
        for number in 0..2 * MAX_WAITING {
            notices.push(number.to_string());
        }
        assert_eq!(notices.take().len(), MAX_WAITING);
    }
}
