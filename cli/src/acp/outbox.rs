//! What is to be written to the client, one line after the other, in a thread of its own: a client that reads nothing keeps
//! nobody from reading what it writes.

use std::collections::{HashSet, VecDeque};
use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::watch;

/// How much waits before a session waits as well, in bytes: a few screens of text.
const MAX_WAITING_BYTES: usize = 1024 * 1024;

/// How much waits at most, in bytes. A client to which that much was to be said and that reads nothing counts as gone.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The lines that wait, and who writes them.
pub(super) struct Outbox {
    state: Mutex<State>,
    /// Signalled when lines came or went, and when a session does not wait any more.
    changed: Condvar,
    /// Whether nothing can be written any more.
    gone: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    lines: VecDeque<Vec<u8>>,
    /// Of all lines that wait, and of the one that is being written.
    bytes: usize,
    /// Sessions whose turn is to end. They wait for nothing.
    cancelled: HashSet<String>,
    is_closed: bool,
}

impl Outbox {
    /// Begins to write.
    ///
    /// # Errors
    /// The thread that writes cannot be started.
    pub(super) fn new(out: Box<dyn Write + Send>) -> io::Result<Arc<Outbox>> {
        let outbox = Arc::new(Outbox {
            state: Mutex::default(),
            changed: Condvar::new(),
            gone: watch::Sender::new(false),
        });
        let writes = Arc::clone(&outbox);
        thread::Builder::new()
            .name("acp-output".to_owned())
            .spawn(move || writes.write_all(out))?;
        Ok(outbox)
    }

    /// Waits until nothing can be written any more.
    pub(super) async fn gone(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.gone.subscribe().wait_for(|gone| *gone).await;
    }

    fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    /// Has a line written, and does not wait.
    pub(super) fn put(&self, line: Vec<u8>) {
        let mut state = self.state.lock();
        if self.is_gone() {
            return;
        }
        if state.bytes > MAX_BYTES {
            self.gone.send_replace(true);
            state.lines.clear();
        } else {
            state.bytes += line.len();
            state.lines.push_back(line);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// The same for a line of a session, which waits as long as much is to be written, unless its turn is to end.
    pub(super) fn put_of(&self, session: &str, line: Vec<u8>) {
        let mut state = self.state.lock();
        let is_full = |state: &mut State| {
            state.bytes > MAX_WAITING_BYTES && !state.cancelled.contains(session) && !self.is_gone()
        };
        self.changed.wait_while(&mut state, is_full);
        drop(state);
        self.put(line);
    }

    /// The turn of a session is to end, or another one begins.
    pub(super) fn set_cancelled(&self, session: &str, is_cancelled: bool) {
        let mut state = self.state.lock();
        match is_cancelled {
            true => drop(state.cancelled.insert(session.to_owned())),
            false => drop(state.cancelled.remove(session)),
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until everything is written, or nothing can be, but not for longer than this.
    pub(super) fn finish(&self, longest: Duration) {
        let deadline = Instant::now() + longest;
        let mut state = self.state.lock();
        while state.bytes > 0 && !self.is_gone() {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return;
            }
        }
    }

    /// The thread ends when it has written everything.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }

    fn write_all(&self, mut out: Box<dyn Write + Send>) {
        loop {
            let mut state = self.state.lock();
            let waits =
                |state: &mut State| state.lines.is_empty() && !state.is_closed && !self.is_gone();
            self.changed.wait_while(&mut state, waits);
            let Some(line) = state.lines.pop_front() else {
                return;
            };
            drop(state);
            let written = out.write_all(&line).and_then(|()| out.flush());
            if written.is_err() {
                self.gone.send_replace(true);
            }
            let mut state = self.state.lock();
            state.bytes = state.bytes.saturating_sub(line.len());
            drop(state);
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// Longer than anything takes here.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_session_waits_for_a_client_that_reads_nothing_and_the_others_do_not() {
        let (mut reader, writer) = io::pipe().unwrap();
        let outbox = Outbox::new(Box::new(writer)).unwrap();
        let line = vec![b'x'; MAX_WAITING_BYTES];
        outbox.put_of("s", line.clone());
        outbox.put_of("s", line.clone());
        thread::scope(|scope| {
            let waits = scope.spawn(|| outbox.put_of("s", b"third".to_vec()));
            // A line of nobody's, and one of a session that is to end.
            outbox.put(b"one".to_vec());
            outbox.set_cancelled("t", true);
            outbox.put_of("t", b"two".to_vec());
            assert!(!waits.is_finished());
            outbox.set_cancelled("s", true);
            waits.join().unwrap();
            outbox.set_cancelled("s", false);
            scope.spawn(|| {
                outbox.finish(LONG);
                outbox.close();
            });
            let mut all = vec![0; 2 * line.len() + "onetwothird".len()];
            reader.read_exact(&mut all).unwrap();
            assert_eq!(&all[2 * line.len()..], b"onetwothird");
        });
    }

    #[test]
    fn a_client_that_is_gone_keeps_nobody_waiting() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let outbox = Outbox::new(Box::new(writer)).unwrap();
        let line = vec![b'x'; MAX_WAITING_BYTES];
        for _ in 0..3 {
            outbox.put_of("s", line.clone());
        }
        outbox.finish(LONG);
        assert!(outbox.is_gone());
    }

    #[test]
    fn what_waits_is_bounded() {
        let (_reader, writer) = io::pipe().unwrap();
        let outbox = Outbox::new(Box::new(writer)).unwrap();
        let line = vec![b'x'; MAX_BYTES / 4];
        for _ in 0..4 {
            outbox.put(line.clone());
        }
        assert!(!outbox.is_gone());
        outbox.put(line.clone());
        outbox.put(line);
        assert!(outbox.is_gone());
        assert!(outbox.state.lock().lines.is_empty());
    }
}
