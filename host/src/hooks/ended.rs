//! The end of a call about which hooks run.
//!
//! The call itself has ended: where its hooks are interrupted, how it ended is kept, and so is what they have changed.

use super::rewritten::Rewritten;
use super::{Hook, Hooks};
use crate::call::{Call, Outcome};
use crate::display::{chain, escape};
use crate::edit::FileEdit;

/// Collects what hooks make of the outcome of a call. Dropping it adds that to the outcome.
pub(super) struct Ended<'a> {
    hooks: &'a Hooks,
    call: &'a Call,
    pub(super) outcome: &'a mut Outcome,
    files: Rewritten,
    /// The hook that runs. One that does when this is dropped was interrupted.
    running: Option<&'a Hook>,
    made: Vec<FileEdit>,
}

impl<'a> Ended<'a> {
    pub(super) fn new(hooks: &'a Hooks, call: &'a Call, outcome: &'a mut Outcome) -> Ended<'a> {
        Ended {
            hooks,
            call,
            files: Rewritten::of(&outcome.edits),
            outcome,
            running: None,
            made: Vec::new(),
        }
    }

    /// A hook begins to run.
    pub(super) fn begins(&mut self, hook: &'a Hook) {
        self.running = Some(hook);
    }

    /// The hook has ended, and says this to the model.
    pub(super) fn ends(&mut self, message: Option<&str>) {
        let Some(hook) = self.running.take() else {
            return;
        };
        if let Some(message) = message {
            let said = format!("\n\n[The hook `{}` says]\n{message}", hook.name());
            self.outcome.said.push_str(&said);
        }
        self.take_changes(hook);
    }

    fn take_changes(&mut self, hook: &Hook) {
        let name = hook.name();
        for change in self.files.changes() {
            let path = escape(&change.path.to_string_lossy()).into_owned();
            self.outcome.said.push_str(&format!(
                "\n\n[Dunlin] The hook `{name}` changed {path} after this edit. Read the file again before you edit it."
            ));
            if let Err(error) = self.hooks.keep(&change) {
                let why = chain(&error);
                let notice = format!(
                    "the hook `{name}` changed {path}, which /undo cannot take back: {why}"
                );
                self.hooks.notice(notice);
            }
            self.made.push(change.into_edit(name.clone()));
        }
    }
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let interrupted = self.running.take();
        if let Some(hook) = interrupted {
            let said = "\n\n[Dunlin] The user interrupted the hooks that run after this edit.";
            self.outcome.said.push_str(said);
            self.take_changes(hook);
        }
        self.outcome.edits.append(&mut self.made);
        if interrupted.is_some() {
            let mut state = self.hooks.state.lock();
            let outcome = self.outcome.clone();
            state.interrupted.insert(self.call.id.clone(), outcome);
        }
    }
}
