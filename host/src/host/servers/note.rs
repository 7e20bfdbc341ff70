//! What the audit log says of a call that uses a server.

use super::McpTools;
use crate::audit::{Event, Record};
use crate::call::{Call, Failure};
use crate::display::chain;
use crate::mcp::Server;
use crate::target::Need;

impl McpTools {
    /// Writes into the audit log what a call did with a server.
    pub(super) fn log(&self, call: &Call, server: &Server, note: &Note<'_>) -> Result<(), Failure> {
        let session = self.shared.session();
        let target = note.need.map(|need| need.target.to_string());
        let record = Record {
            target: target.as_deref(),
            operation: note.need.map(|need| need.operation.verb()),
            rule: note.rule,
            duration_us: note.duration_us,
            line: note.line,
            error: note.error,
            ..Record::new(note.event, &session, &call.id, &call.tool, &server.id)
        };
        let logged = self.shared.audit.append(&[record]);
        logged.map_err(|e| Failure::Host(chain(&e)))
    }
}

/// What is noted of a call in the audit log.
pub(super) struct Note<'a> {
    pub(super) event: Event,
    pub(super) need: Option<&'a Need>,
    pub(super) rule: Option<&'a str>,
    pub(super) line: Option<&'a str>,
    pub(super) duration_us: Option<u64>,
    pub(super) error: Option<&'a str>,
}

impl<'a> Note<'a> {
    pub(super) fn ended() -> Note<'a> {
        Note {
            event: Event::Ended,
            need: None,
            rule: None,
            line: None,
            duration_us: None,
            error: None,
        }
    }

    /// What was decided about the call itself, which no target stands for.
    pub(super) fn decided(event: Event, rule: &'a str) -> Note<'a> {
        Note {
            event,
            rule: Some(rule),
            ..Note::ended()
        }
    }

    pub(super) fn denied(need: &'a Need, rule: &'a str) -> Note<'a> {
        Note {
            event: Event::Denied,
            need: Some(need),
            rule: Some(rule),
            ..Note::ended()
        }
    }
}
