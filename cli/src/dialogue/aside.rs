//! Something that the user waits for within a turn, such as the models of a server while a request is paused. An
//! interruption ends this waiting, and not the turn.

use std::cell::RefCell;

use tokio::sync::oneshot::{Sender, channel};

/// The way to stop what is waited for beside the turn.
#[derive(Debug, Default)]
pub struct Aside(RefCell<Option<Sender<()>>>);

impl Aside {
    /// Waits for something. `None`: the user stopped that.
    pub async fn wait<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let (stop, stopped) = channel();
        self.0.replace(Some(stop));
        tokio::select! {
            biased;
            _ = stopped => None,
            done = work => Some(done),
        }
    }

    /// Stops what is waited for. `false`: nothing is, so whatever else runs is meant.
    pub fn stop(&self) -> bool {
        let stop = self.0.take();
        stop.is_some_and(|stop| stop.send(()).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test]
    async fn only_what_is_waited_for_is_stopped() {
        let aside = Aside::default();
        assert!(!aside.stop());
        assert_eq!(aside.wait(ready(1)).await, Some(1));
        assert!(!aside.stop());
        let stop = async { aside.stop() };
        let (waited, stopped) = tokio::join!(aside.wait(pending::<()>()), stop);
        assert_eq!((waited, stopped), (None, true));
        assert!(!aside.stop());
        assert_eq!(aside.wait(ready(2)).await, Some(2));
    }
}
