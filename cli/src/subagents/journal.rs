//! Keeps what a subagent says in a session of its own, and its requests in the log of the chat's.

use std::sync::Arc;

use dunlin_chat::message::Conversation;
use dunlin_chat::price::Charge;
use dunlin_chat::request::truncation::Compacted;
use dunlin_chat::session::Session;
use dunlin_chat::session::requests::{Answered, Kind, RequestLog, Sent};
use dunlin_chat::turn::{CallRecord, Journal};

use super::Subagent;

/// The journal of one subagent.
pub struct SubagentJournal {
    /// Who it is.
    pub subagent: Arc<Subagent>,
    /// Its own session; `None`: nothing is kept.
    pub session: Option<Session>,
    /// The log of the requests of the chat.
    pub log: Option<RequestLog>,
}

impl Journal for SubagentJournal {
    fn text(&self, piece: &str) {
        if let Some(session) = &self.session {
            session.text(piece);
        }
    }

    fn keep(&self, conversation: &Conversation, ended: &[CallRecord]) {
        self.subagent
            .note(|live| live.messages = conversation.snapshot());
        if let Some(session) = &self.session {
            session.keep(conversation, ended);
        }
    }

    fn started(&self, id: &str) {
        self.subagent.note(|live| live.calls += 1);
        if let Some(session) = &self.session {
            session.started(id);
        }
    }

    fn compacted(&self, compacted: &Compacted) {
        if let Some(session) = &self.session {
            session.compacted(compacted);
        }
    }

    fn sent(&self, sent: &Sent<'_>) -> u64 {
        self.subagent.note(|live| live.rounds += 1);
        let sent = Sent {
            kind: match sent.kind {
                Kind::Turn => Kind::Subagent,
                kind => kind,
            },
            subagent: Some(&self.subagent.name),
            ..*sent
        };
        let Some(log) = &self.log else { return 0 };
        let number = log.sent(&sent);
        self.subagent.note(|live| live.sent = Some(number));
        number
    }

    fn answered(&self, number: u64, answered: &Answered) {
        let charge = Charge {
            usage: answered.usage.unwrap_or_default(),
            money: answered.money,
        };
        self.subagent
            .note(|live| live.charge = live.charge.plus(charge));
        if let Some(log) = &self.log {
            log.answered(number, answered);
        }
    }
}
