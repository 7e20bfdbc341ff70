//! Turns, and taking back what the last one edited.

use std::sync::atomic::Ordering;

use super::Host;
use crate::audit::{self, Event, Record};
use crate::target::Operation;
use crate::undo::{UndoError, Undone};

impl Host {
    /// A turn begins: what is edited from now on is taken back together.
    pub fn begin_turn(&self) {
        self.0.shared.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back the edits of the last turn in this project that made any, whole or not at all. `None`:
    /// there is none, or it is too long ago.
    ///
    /// Files that changed since are an error that names them. Blocks until the disk has it.
    pub fn undo_last(&self) -> Result<Option<Undone>, UndoError> {
        let shared = &self.0.shared;
        let session = shared.session();
        let undone = shared.undo.undo_last(self.permissions().project())?;
        let targets: Vec<String> = undone
            .iter()
            .flat_map(|undone| &undone.files)
            .map(|(path, _)| path.display().to_string())
            .collect();
        let records: Vec<Record<'_>> = targets
            .iter()
            .map(|target| Record {
                time: audit::now(),
                session: &session,
                call: "",
                tool: "/undo",
                plugin: "",
                digest: "",
                event: Event::Used,
                target: Some(target),
                operation: Some(Operation::Write.verb()),
                rule: Some("the user took the last edits back"),
                times: None,
                bytes: None,
                duration_us: None,
                line: None,
                error: None,
            })
            .collect();
        shared.audit.append(&records)?;
        Ok(undone)
    }
}
