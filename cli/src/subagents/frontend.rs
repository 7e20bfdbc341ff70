//! What is shown of a subagent while it runs: what it is doing, in its row. Its calls can be looked at as any others.

use std::sync::Arc;

use dunlin_chat::provider::retry::Retrying;
use dunlin_chat::turn::log::CallLog;
use dunlin_chat::turn::{CallState, CallView, Frontend, TurnCall, own_edits};
use dunlin_host::Progress;
use dunlin_host::ask::Answer;
use dunlin_host::edit::FileEdit;
use dunlin_host::target::Need;
use dunlin_terminal::ui::Ui;

use super::{Roster, Subagent};
use crate::dialogue::presenter::{say_stored, show_edits, show_notice};
use dunlin_terminal::ui::diff;
use parking_lot::Mutex;

/// Shows one subagent.
pub struct SubagentFrontend {
    /// Which one.
    pub subagent: Arc<Subagent>,
    /// Draws the rows.
    pub roster: Arc<Roster>,
    /// Where.
    pub ui: Arc<Ui>,
    /// Where calls are kept.
    pub calls: Arc<CallLog>,
    /// What the call that is shown next has changed in files, and whether the user saw that before.
    pub edits: Mutex<(Arc<[FileEdit]>, bool)>,
}

impl SubagentFrontend {
    /// It does this from now on.
    fn does(&self, activity: String) {
        self.subagent.note(|live| live.activity = activity);
        self.roster.draw(&self.ui);
    }

    /// Shows a call that has ended where it changed files or failed: the rest is for `/agents`.
    fn settled(&self, call: &CallView) {
        let (edits, was_seen) = std::mem::take(&mut *self.edits.lock());
        if edits.is_empty() && call.state != CallState::Failed {
            return;
        }
        let mut call = call.clone();
        call.tool = format!("[{}] {}", self.subagent.name, call.tool);
        if call.note.is_none() && !edits.is_empty() {
            call.note = Some(diff::count(own_edits(&edits).0));
        }
        self.ui.ended_beside(&call);
        for broken in edits.iter().filter_map(FileEdit::broken) {
            if !was_seen {
                self.warning(&broken);
            }
        }
        if let Some(number) = call.number {
            let name = Some(self.subagent.name.as_str());
            show_edits(&self.ui, name, number, (&edits, was_seen));
        }
    }

    fn waits(&self) {
        self.does(format!("waiting for {}", self.subagent.speaker.model));
    }
}

impl Progress for SubagentFrontend {
    fn progress(&self, _call: &str, _message: &str, _percent: Option<u8>) {}

    fn hook(&self, _call: &str, hook: Option<&str>) {
        if let Some(hook) = hook {
            self.does(hook.to_owned());
        }
    }
}

impl Frontend for SubagentFrontend {
    fn round(&self, _round: u32) {
        self.waits();
    }

    fn text(&self, _piece: &str) {
        let is_new = self.subagent.live.lock().activity != WRITING;
        if is_new {
            self.does(WRITING.to_owned());
        }
    }

    fn call_started(&self, tool: &str) {
        self.does(format!("writing a call of {tool}"));
    }

    fn keep_call(&self, call: &TurnCall) {
        let record = call.record();
        if call.state.is_settled() && !record.edits.is_empty() {
            let edits = Arc::clone(&record.edits);
            self.subagent.note(|live| live.edits.push(edits));
        }
        *self.edits.lock() = (Arc::clone(&record.edits), call.is_approved_by_hand());
        self.calls.keep(record);
    }

    fn call(&self, call: &CallView) {
        let what = match call.target.is_empty() {
            true => call.tool.clone(),
            false => format!("{} {}", call.tool, call.target),
        };
        match call.state {
            CallState::Running => self.does(what),
            CallState::Asking => self.does(format!("asks: {what}")),
            state if state.is_settled() => self.settled(call),
            _ => {}
        }
    }

    fn notice(&self, text: &str) {
        show_notice(&self.ui, Some(&self.subagent.name), text);
    }

    fn stored(&self, tool: &str, needs: &[Need], answer: Answer) {
        say_stored(&self.ui, tool, needs, answer);
    }

    fn warning(&self, text: &str) {
        self.ui.warn(&format!("[{}] {text}", self.subagent.name));
    }

    fn retrying(&self, wait: Option<&Retrying>) {
        match wait {
            Some(wait) => self.does(wait.line()),
            None => self.waits(),
        }
    }
}

/// While a reply comes.
const WRITING: &str = "writing";
