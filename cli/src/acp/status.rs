//! What Dunlin says beside a reply: notices, warnings, what was stored. It goes to standard error, and during a turn to the
//! client, too, among what the model thinks: the protocol has no other place that every editor shows.

use std::io::{self, Write};
use std::sync::Arc;

use dunlin_host::display::escape;
use dunlin_terminal::ui::Ui;
use parking_lot::Mutex;

use super::client::Client;
use super::wire::Update;

/// How many lines are kept from one turn to the next, for the client.
const MAX_HELD: usize = 100;

/// The status of one session.
pub(super) struct Status {
    client: Arc<Client>,
    session: String,
    /// Writes to standard error.
    log: Arc<Ui>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// A line that has not ended.
    line: Vec<u8>,
    /// Lines that were said between turns.
    held: Vec<String>,
    in_turn: bool,
}

impl Status {
    pub(super) fn new(client: &Arc<Client>, session: &str, log: &Arc<Ui>) -> Arc<Status> {
        Arc::new(Status {
            client: Arc::clone(client),
            session: session.to_owned(),
            log: Arc::clone(log),
            state: Mutex::default(),
        })
    }

    /// A turn begins: the client gets what is said from here on, and what was said before.
    pub(super) fn begin_turn(&self) {
        let held = {
            let mut state = self.state.lock();
            state.in_turn = true;
            std::mem::take(&mut state.held)
        };
        held.iter().for_each(|line| self.send(line));
    }

    pub(super) fn end_turn(&self) {
        self.state.lock().in_turn = false;
    }

    fn send(&self, line: &str) {
        // A paragraph of its own.
        let thought = Update::thought(format!("{}\n\n", line.trim()));
        self.client.update(&self.session, &thought);
    }

    fn said(&self, line: &str) {
        self.log
            .status(&format!("[{}] {line}", escape(&self.session)));
        let in_turn = {
            let mut state = self.state.lock();
            if !state.in_turn && state.held.len() < MAX_HELD {
                state.held.push(line.to_owned());
            }
            state.in_turn
        };
        if in_turn {
            self.send(line);
        }
    }
}

/// Where the session's output goes.
pub(super) struct Lines(pub(super) Arc<Status>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let lines = {
            let mut state = self.0.state.lock();
            state.line.extend_from_slice(bytes);
            let end = state.line.iter().rposition(|byte| *byte == b'\n');
            let whole: Vec<u8> = match end {
                Some(end) => state.line.drain(..=end).collect(),
                None => Vec::new(),
            };
            String::from_utf8_lossy(&whole).into_owned()
        };
        let lines = lines.lines().filter(|line| !line.trim().is_empty());
        lines.for_each(|line| self.0.said(line));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::tests::client;
    use super::*;

    #[test]
    fn the_client_hears_of_it_during_turns() {
        let (client, written) = client();
        let log = Arc::new(Ui::elsewhere(Box::new(io::sink()), Box::new(io::sink())));
        let status = Status::new(&client, "s", &log);
        let mut lines = Lines(Arc::clone(&status));
        lines.write_all(b"before\n\nhalf").unwrap();
        assert!(written.messages().is_empty());
        status.begin_turn();
        lines.write_all(b" a line\nmore").unwrap();
        status.end_turn();
        lines.write_all(b"\n").unwrap();
        let texts: Vec<String> = written
            .messages()
            .iter()
            .map(|it| it["params"]["update"]["content"]["text"].to_string())
            .collect();
        assert_eq!(texts, ["\"before\\n\\n\"", "\"half a line\\n\\n\""]);
    }
}
