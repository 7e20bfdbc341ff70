//! From what a running call shows to the client's notifications.

use std::sync::Arc;

use dunlin_host::{NoProgress, Progress};
use parking_lot::Mutex;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;

use dunlin_terminal::ui::tail::Tail;

/// Steps that wait to be sent. A client that reads slowly misses some.
const WAITING_STEPS: usize = 8;

/// Where a call shows how far it is, and what passes that on. The second ends once the first is dropped and
/// everything is sent, so that nothing of it comes after the result.
pub(super) fn channel(
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
) -> (Arc<dyn Progress>, impl Future<Output = ()> + Send) {
    let (sender, mut steps) = mpsc::channel(WAITING_STEPS);
    let progress: Arc<dyn Progress> = match &token {
        Some(_) => Arc::new(Steps {
            sender,
            counter: Mutex::default(),
            output: Mutex::default(),
        }),
        // Nobody has asked for it. The channel ends at once.
        None => Arc::new(NoProgress),
    };
    let pass_on = async move {
        let Some(token) = token else { return };
        while let Some(Step { at, total, message }) = steps.recv().await {
            let mut note = ProgressNotificationParam::new(token.clone(), at).with_message(message);
            note.total = total;
            // Where it cannot be sent, neither can the result.
            let _ = peer.notify_progress(note).await;
        }
    };
    (progress, pass_on)
}

struct Steps {
    sender: mpsc::Sender<Step>,
    counter: Mutex<Counter>,
    output: Mutex<Tail>,
}

#[derive(Debug, PartialEq)]
struct Step {
    at: f64,
    total: Option<f64>,
    message: String,
}

/// Makes numbers that grow from step to step, as the protocol demands, whatever a tool says.
#[derive(Debug, Default)]
struct Counter {
    last: f64,
}

impl Counter {
    /// The next number, and of how many. `None`: it would not be more than the last.
    fn next(&mut self, percent: Option<u8>) -> Option<(f64, Option<f64>)> {
        let (at, total) = match percent {
            Some(percent) => (f64::from(percent), Some(100.0)),
            None => (self.last + 1.0, None),
        };
        let grows = at > self.last;
        self.last = self.last.max(at);
        grows.then_some((at, total))
    }
}

impl Steps {
    fn step(&self, message: &str, percent: Option<u8>) {
        let mut counter = self.counter.lock();
        if let Some((at, total)) = counter.next(percent) {
            let message = message.to_owned();
            let _ = self.sender.try_send(Step { at, total, message });
        }
    }
}

impl Progress for Steps {
    fn progress(&self, _call: &str, message: &str, percent: Option<u8>) {
        self.step(message, percent);
    }

    /// The newest line of a command's output.
    fn output(&self, _call: &str, bytes: &[u8]) {
        let mut output = self.output.lock();
        output.push(bytes);
        if let Some(line) = output.last() {
            self.step(line, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_grow() {
        let mut counter = Counter::default();
        let hundred = Some(100.0);
        for (percent, expected) in [
            (Some(0), None),
            (Some(5), Some((5.0, hundred))),
            (Some(5), None),
            (None, Some((6.0, None))),
            (Some(3), None),
            (Some(50), Some((50.0, hundred))),
            (None, Some((51.0, None))),
        ] {
            assert_eq!(counter.next(percent), expected, "{percent:?}");
        }
    }
}
