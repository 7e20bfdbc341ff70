//! What keeps a turn while it happens, so that its end, whatever that is, loses nothing.

use super::call::CallRecord;
use super::machine::Turn;
use crate::message::Conversation;
use crate::request::truncation::Compacted;
use crate::session::requests::{Answered, Sent};

/// Keeps what happens. Called in place after each event: it must not block for longer than a short write
/// takes, and what goes wrong is its own to remember.
pub trait Journal {
    /// A piece of a reply that may never be whole. The message that it becomes comes with
    /// [`Journal::keep`].
    fn text(&self, piece: &str);

    /// Something happened: the conversation as it is now, and the calls that have ended since the last time.
    /// Their results may be in the conversation already, or come into it later.
    fn keep(&self, conversation: &Conversation, ended: &[CallRecord]);

    /// The call with this id begins to run.
    fn started(&self, _id: &str) {}

    /// A summary stands for messages from now on.
    fn compacted(&self, _compacted: &Compacted) {}

    /// A request goes out. The result is its number in the session, for [`Journal::answered`]; 0: it has none.
    fn sent(&self, _sent: &Sent<'_>) -> u64 {
        0
    }

    /// The number that the next request will have in the session; `None`: it will have none.
    fn next_request(&self) -> Option<u64> {
        None
    }

    /// A request has ended, in whatever way. Called once for each that was sent, before its reply is kept.
    fn answered(&self, _number: u64, _answered: &Answered) {}
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn text(&self, _piece: &str) {}
    fn keep(&self, _conversation: &Conversation, _ended: &[CallRecord]) {}
}

/// Writes into a journal what is new in a turn.
pub(super) struct JournalWriter<'a> {
    journal: Option<&'a dyn Journal>,
    /// Which calls it has, by their numbers.
    written: Vec<bool>,
}

impl<'a> JournalWriter<'a> {
    /// Without a journal nothing is written.
    pub(super) fn new(journal: Option<&'a dyn Journal>) -> JournalWriter<'a> {
        JournalWriter {
            journal,
            written: Vec::new(),
        }
    }

    /// To be called after every event but pieces of text.
    pub(super) fn write(&mut self, turn: &Turn<'_>) {
        let Some(journal) = self.journal else {
            return;
        };
        let calls = turn.calls();
        self.written.resize(calls.len(), false);
        let mut ended = Vec::new();
        for (call, written) in calls.iter().zip(&mut self.written) {
            if call.state.is_settled() && !std::mem::replace(written, true) {
                ended.push(call.record());
            }
        }
        journal.keep(turn.conversation(), &ended);
    }
}
