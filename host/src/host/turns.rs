//! Turns: where one begins and ends, the hooks of it, and what its edits are taken back by.

use std::sync::atomic::Ordering;

use tokio::sync::watch;

use super::Host;
use crate::audit::{Event, Record};
use crate::hooks::{Hook, HookEvent, Runs, Slow, TurnOutcome};
use crate::permission::PluginId;
use crate::target::Operation;
use crate::undo::{EditedFiles, UndoError, Undone};

impl Host {
    /// A turn begins: what is edited from now on is taken back together. Its number is larger than that of every turn before,
    /// also of an earlier process.
    pub fn begin_turn(&self) -> u64 {
        self.0.shared.turn.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A turn is over: runs the hooks for that. What they say, a line each.
    ///
    /// Dropping the future ends the one that runs, and no other is started.
    pub async fn turn_ended(&self, outcome: TurnOutcome) -> Vec<String> {
        self.0.hooks.turn_ended(outcome).await
    }

    /// Whether any hook runs at the end of a turn.
    pub fn has_turn_hooks(&self) -> bool {
        self.0.hooks.has(HookEvent::TurnEnd)
    }

    /// The hooks, in the order in which they run, and how often they did.
    pub fn hooks(&self) -> Vec<(Hook, Runs)> {
        self.0.hooks.list()
    }

    /// Learns of the hooks that take longer than a moment while no call runs: before the user is asked, and at the end of a
    /// turn. The value is all that run at this moment.
    pub fn slow_hooks(&self) -> watch::Receiver<Vec<Slow>> {
        self.0.hooks.slow()
    }

    /// Takes back the edits of the last turn of this session that made any in this project, whole or not at all. `None`:
    /// there is none, or it is too long ago.
    ///
    /// Files that changed since are an error that names them. Blocks until the disk has it.
    pub fn undo_last(&self) -> Result<Option<Undone>, UndoError> {
        let shared = &self.0.shared;
        let project = self.permissions().project();
        let undone = shared.undo.undo_last(&shared.session(), project)?;
        self.log_undone(undone, "/undo", "the user took the last edits back")
    }

    /// The same for all edits since a turn of this session began, if they are those that [`Host::edited_since`] has listed.
    pub fn undo_since(
        &self,
        turn: u64,
        shown: &[EditedFiles],
    ) -> Result<Option<Undone>, UndoError> {
        let shared = &self.0.shared;
        let project = self.permissions().project();
        let undone = shared
            .undo
            .undo_since(&shared.session(), project, turn, shown)?;
        self.log_undone(
            undone,
            "/rewind",
            "the user took all edits back since a turn",
        )
    }

    /// What [`Host::undo_since`] would take back, turn by turn.
    pub fn edited_since(&self, turn: u64) -> Result<Vec<EditedFiles>, UndoError> {
        let shared = &self.0.shared;
        let project = self.permissions().project();
        shared.undo.edited_since(&shared.session(), project, turn)
    }

    /// Writes into the audit log what a command of the user's took back.
    fn log_undone(
        &self,
        undone: Option<Undone>,
        command: &str,
        rule: &str,
    ) -> Result<Option<Undone>, UndoError> {
        let shared = &self.0.shared;
        let session = shared.session();
        let targets: Vec<String> = undone
            .iter()
            .flat_map(|undone| &undone.files)
            .map(|(path, _)| path.display().to_string())
            .collect();
        let no_plugin = PluginId {
            name: String::new(),
            origin: None,
            digest: String::new(),
            built_in: true,
        };
        let records: Vec<Record<'_>> = targets
            .iter()
            .map(|target| Record {
                target: Some(target),
                operation: Some(Operation::Write.verb()),
                rule: Some(rule),
                ..Record::new(Event::Used, &session, "", command, &no_plugin)
            })
            .collect();
        shared.audit.append(&records)?;
        Ok(undone)
    }
}

/// A number that no turn had when the host was made some other time.
pub(super) fn first_turn() -> u64 {
    let now = jiff::Timestamp::now().as_millisecond();
    u64::try_from(now).unwrap_or_default()
}
