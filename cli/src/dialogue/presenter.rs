//! How a turn is shown while it runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_apps::blocks::{Folding, Shown};
use dunlin_host::Progress;
use dunlin_host::ask::Answer;
use dunlin_host::display::escape;
use dunlin_host::edit::FileEdit;
use dunlin_host::permission::Revert;
use dunlin_host::target::Need;
use parking_lot::Mutex;

use crate::subagents::{Roster, rows};
use dunlin_chat::agent::RUN_SUBAGENT;
use dunlin_chat::provider::retry::Retrying;
use dunlin_chat::todo::{self, Step, TODO};
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::log::CallLog;
use dunlin_chat::turn::{CallState, CallView, Frontend, TurnCall, changed_files, own_edits};
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::diff;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::suspicion::Suspicion;
use dunlin_terminal::ui::tail::Tail;
use dunlin_terminal::ui::todo as list;
use dunlin_terminal::ui::wrap;
/// How a notice begins that is said in the midst of a turn.
const NOTICE_MARK: &str = "· ";

/// Shows a turn.
pub struct Presenter {
    pub(super) ui: Arc<Ui>,
    pub(super) shows_reply: bool,
    /// Whether the line of a call that failed says why; else whoever made the call does.
    pub(super) says_why: bool,
    /// Who is waited for.
    pub(super) model: String,
    /// Where calls are kept.
    pub(super) calls: Option<Arc<CallLog>>,
    /// The subagents that calls run: they have rows of their own.
    pub(super) subagents: Option<Arc<Roster>>,
    /// The call whose line is being shown: progress is added to it.
    pub(super) current: Mutex<Option<CallView>>,
    /// What the call that is shown next has changed in files, and whether the user saw that before.
    pub(super) edits: Mutex<(Arc<[FileEdit]>, bool)>,
    /// The steps that the call that is shown next writes down.
    pub(super) steps: Mutex<Vec<Step>>,
    /// The newest output of that call.
    pub(super) output: Mutex<Tail>,
    /// What the mode of the session said when it denied the last call of the turn, if it did.
    pub(super) denied_by_mode: Mutex<Option<String>>,
    /// Whether a wait before another request is being shown.
    pub(super) waits: AtomicBool,
    /// A reply that is held while steps are hidden: whether it is one, its calls tell in the end.
    pub(super) held: Mutex<String>,
    /// Folds the parts of an app, where the agent writes one.
    pub(super) folding: Option<Mutex<Folding>>,
    /// What of a reply waits, where it goes into a pipe.
    pub(super) suspicion: Option<Mutex<Suspicion>>,
}

impl Presenter {
    /// Shows turns with this object.
    pub fn new(ui: Arc<Ui>) -> Presenter {
        let piped = !ui.streams().output;
        Presenter {
            suspicion: piped.then(Mutex::default),
            ui,
            shows_reply: true,
            says_why: true,
            model: String::new(),
            calls: None,
            subagents: None,
            current: Mutex::default(),
            edits: Mutex::default(),
            steps: Mutex::default(),
            output: Mutex::default(),
            denied_by_mode: Mutex::default(),
            waits: AtomicBool::new(false),
            held: Mutex::default(),
            folding: None,
        }
    }

    /// Where it shows them.
    pub fn ui(&self) -> Arc<Ui> {
        Arc::clone(&self.ui)
    }

    /// Leaves it to the caller to say why a call failed.
    #[must_use]
    pub fn without_reasons(mut self) -> Presenter {
        self.says_why = false;
        self
    }

    /// Keeps the calls of the turn here, where they can be looked at.
    pub fn keep_calls(&mut self, calls: &Arc<CallLog>) {
        self.calls = Some(Arc::clone(calls));
    }

    /// Says below the line of a call what the user should know of it. Not escaped.
    fn warn_below(&self, text: &str) {
        let room = self.ui.status_columns().saturating_sub(1);
        for row in wrap::barred("  ! ", 2, &escape(text), room) {
            let row = self.ui.status_styles().paint(Label::Warning, &row);
            self.ui.status_with_foreign(&row);
        }
    }

    /// Shows what was held.
    fn let_go(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        if !held.is_empty() {
            self.show_text(&held);
        }
    }

    fn show_text(&self, piece: &str) {
        match &self.suspicion {
            Some(suspicion) => {
                let piece = suspicion.lock().piece(piece);
                if !piece.is_empty() {
                    self.ui.reply_piece(&piece);
                }
            }
            None => self.ui.reply_piece(piece),
        }
    }

    /// Shows the next piece of a reply, or holds it while steps are hidden.
    fn show_or_hold(&self, piece: &str) {
        if !self.ui.shows_steps() {
            self.held.lock().push_str(piece);
            return self.ui.wait_for("writing");
        }
        self.let_go();
        self.show_text(piece);
    }

    /// Shows what became of a reply in which the parts of an app are folded.
    fn show_folded(&self, shown: Vec<Shown>) {
        for shown in shown {
            match shown {
                Shown::Text(text) => self.show_or_hold(&text),
                Shown::Growing(part) => self.ui.wait_for(&format!("writing {part}")),
                Shown::Complete(part) if self.ui.shows_steps() => {
                    self.ui.end_reply();
                    let line = format!("  {part}");
                    let line = self.ui.status_styles().paint(Label::Quiet, &line);
                    self.ui.status(&line);
                }
                Shown::Complete(_) => {}
            }
        }
    }

    /// Shows a call that runs a subagent once it is over: until then the subagent has a row.
    fn subagent(&self, mut call: CallView) {
        if let (Some(roster), CallState::Running) = (&self.subagents, call.state) {
            roster.number(&call.id);
        }
        if !call.state.is_settled() {
            return;
        }
        let subagent = self.subagents.as_ref().and_then(|it| it.of_call(&call.id));
        if let Some(subagent) = subagent {
            rows::tell(&mut call, &subagent);
        }
        self.ui.call(&call);
    }

    /// Has only the first of several calls say that the mode of the session denied them, and how to leave it.
    fn without_repeated_mode(&self, call: &mut CallView) {
        if !call.state.is_settled() {
            return;
        }
        let by_mode = call.revert == Some(Revert::SessionMode);
        let reason = call.note.clone().filter(|_| by_mode);
        let before = std::mem::replace(&mut *self.denied_by_mode.lock(), reason.clone());
        if reason.is_some() && reason == before {
            call.note = None;
        }
    }

    fn wait(&self) {
        self.ui.wait_for(&format!("waiting for {}", self.model));
    }
}

/// Shows what a call has changed in files, folded to a few rows, and what hooks changed after it, each named; of the subagent
/// with this name, if it is one's. `was_seen`: the user has seen what the call itself would change.
pub fn show_edits(
    ui: &Ui,
    subagent: Option<&str>,
    number: usize,
    (edits, was_seen): (&[FileEdit], bool),
) {
    if !ui.shows_steps() {
        return;
    }
    let (own, of_hooks) = own_edits(edits);
    if !was_seen {
        show_diff(ui, number, own);
    }
    for edit in of_hooks.chunks(1) {
        let hook = edit.iter().find_map(|edit| edit.hook.as_deref());
        if let (Some(hook), Some(changed)) = (hook, changed_files(edit)) {
            let text = format!("{NOTICE_MARK}the hook `{hook}` changed {changed}");
            show_notice(ui, subagent, &text);
            show_diff(ui, number, edit);
        }
    }
}

fn show_diff(ui: &Ui, number: usize, edits: &[FileEdit]) {
    /// Rows of a difference that nobody asked for.
    const ROWS: usize = 6;
    if edits.is_empty() {
        return;
    }
    let (rows, more) = diff::rows(edits, ROWS, ui.window());
    rows.iter().for_each(|row| ui.status(row));
    if more > 0 {
        let more = counted(more, "more row", "more rows");
        // Only the chat has commands.
        let note = match ui.is_chat() {
            true => format!("  … {more}: /diff {number}"),
            false => format!("  … {more}"),
        };
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
}

/// Says what is allowed or denied for longer than a call from now on.
pub fn say_stored(ui: &Ui, tool: &str, needs: &[Need], answer: Answer) {
    let said = match needs {
        [] => storing::after_call(tool, answer).into_iter().collect(),
        needs => storing::after_needs(tool, needs, answer),
    };
    for text in said {
        ui.say_stored(&text);
    }
}

/// Says something in the midst of a turn, where steps are shown; of the subagent with this name, if it is one's.
pub fn show_notice(ui: &Ui, subagent: Option<&str>, text: &str) {
    if !ui.shows_steps() {
        return;
    }
    // The last column stays free.
    let room = ui.status_columns().saturating_sub(1);
    let text = escape(text);
    let rows = match (subagent, text.strip_prefix(NOTICE_MARK)) {
        (Some(name), rest) => {
            let first = format!("  {NOTICE_MARK}[{}] ", escape(name));
            wrap::barred(&first, 2, rest.unwrap_or(&text), room)
        }
        // Below the calls that it is about.
        (None, Some(rest)) => wrap::barred(&format!("  {NOTICE_MARK}"), 2, rest, room),
        (None, None) => wrap::rows(&text, room),
    };
    for row in rows {
        let row = ui.status_styles().paint(Label::Quiet, &row);
        ui.status_with_foreign(&row);
    }
}

impl Progress for Presenter {
    fn progress(&self, call: &str, message: &str, percent: Option<u8>) {
        let mut current = self.current.lock();
        let Some(view) = current.as_mut().filter(|view| view.id == call) else {
            return;
        };
        let note = match percent {
            Some(percent) => format!("{percent} % {message}"),
            None => message.to_owned(),
        };
        view.note = Some(note);
        self.ui.call(view);
    }

    fn hook(&self, call: &str, hook: Option<&str>) {
        let current = self.current.lock().clone();
        match (current, hook) {
            (Some(view), _) if view.id == call => {
                self.progress(call, hook.unwrap_or_default(), None);
            }
            (_, Some(hook)) => self.ui.progress(&format!("  … {}", escape(hook))),
            (Some(view), None) => self.ui.call(&view),
            (None, None) => self.ui.end_progress(),
        }
    }

    fn output(&self, call: &str, bytes: &[u8]) {
        let current = self.current.lock();
        if let Some(view) = current.as_ref().filter(|view| view.id == call) {
            let mut output = self.output.lock();
            output.push(bytes);
            self.ui.call_output(view, &output);
        }
    }
}

impl Frontend for Presenter {
    fn round(&self, _round: u32) {
        self.wait();
    }

    fn call_started(&self, tool: &str) {
        self.ui.wait_for(&format!("writing a call of {tool}"));
    }

    fn keep_call(&self, call: &TurnCall) {
        let Some(calls) = &self.calls else {
            return;
        };
        let record = call.record();
        let was_seen = call.is_approved_by_hand();
        *self.edits.lock() = (Arc::clone(&record.edits), was_seen);
        if record.tool == TODO {
            *self.steps.lock() = todo::steps(&record.arguments);
        }
        calls.keep(record);
    }

    fn text(&self, piece: &str) {
        if !self.shows_reply {
            return;
        }
        match &self.folding {
            Some(folding) => {
                let shown = folding.lock().piece(piece);
                self.show_folded(shown);
            }
            None => self.show_or_hold(piece),
        }
    }

    fn was_reasoning(&self) {
        if let Some(folding) = &self.folding {
            *folding.lock() = Folding::default();
        }
        match &self.suspicion {
            Some(suspicion) => suspicion.lock().confirm(),
            None if !self.held.lock().is_empty() => self.held.lock().clear(),
            None if self.shows_reply => {
                self.ui.end_reply();
                self.notice("(so far the model was thinking)");
            }
            None => {}
        }
    }

    fn reasoning(&self, piece: &str) {
        self.ui.reasoning_piece(piece);
    }

    fn reply_ended(&self, has_calls: bool) {
        if let Some(folding) = &self.folding {
            let rest = std::mem::take(&mut *folding.lock()).end();
            self.show_folded(rest);
        }
        match has_calls && !self.ui.shows_steps() {
            true => self.held.lock().clear(),
            false => self.let_go(),
        }
        if let Some(suspicion) = &self.suspicion {
            let rest = std::mem::take(&mut *suspicion.lock()).rest();
            if self.shows_reply && !rest.is_empty() {
                self.ui.reply_piece(&rest);
            }
        }
        self.ui.end_reply();
    }

    fn output_so_far(&self) -> Option<String> {
        self.output.lock().text()
    }

    fn call(&self, call: &CallView) {
        let mut call = call.clone();
        if !self.says_why {
            // Whoever makes a single call needs no number for it.
            call.number = None;
            if matches!(call.state, CallState::Failed | CallState::Denied) {
                call.note = None;
            }
        }
        // What waits is shown by whoever asks about it.
        if call.state == CallState::Asking {
            return;
        }
        self.without_repeated_mode(&mut call);
        if call.tool == RUN_SUBAGENT {
            return self.subagent(call);
        }
        let (edits, was_seen) = std::mem::take(&mut *self.edits.lock());
        let steps = std::mem::take(&mut *self.steps.lock());
        let is_done = call.state == CallState::Completed;
        let (own, _) = own_edits(&edits);
        if is_done && !own.is_empty() && call.note.is_none() {
            call.note = Some(diff::count(own));
        }
        let call = &call;
        let output = std::mem::take(&mut *self.output.lock());
        self.ui.call_with_output(call, &output);
        if let Some(changed) = changed_files(own).filter(|_| !is_done) {
            let undo = match self.ui.is_chat() {
                true => "; /undo reverts that",
                false => "",
            };
            self.warn_below(&format!("Before that it changed {changed}{undo}."));
        }
        if !was_seen {
            for broken in edits.iter().filter_map(FileEdit::broken) {
                self.warn_below(&broken);
            }
        }
        if let Some(number) = call.number {
            show_edits(&self.ui, None, number, (&edits, was_seen));
        }
        if is_done && self.ui.shows_steps() {
            let (styles, columns) = (self.ui.status_styles(), self.ui.status_columns());
            let rows = list::rows(&steps, styles, columns);
            rows.iter().for_each(|row| self.ui.status_with_foreign(row));
        }
        *self.current.lock() = (!call.state.is_settled()).then(|| call.clone());
    }

    fn notice(&self, text: &str) {
        show_notice(&self.ui, None, text);
    }

    fn stored(&self, tool: &str, needs: &[Need], answer: Answer) {
        say_stored(&self.ui, tool, needs, answer);
    }

    fn warning(&self, text: &str) {
        self.ui.warn(text);
    }

    fn retrying(&self, wait: Option<&Retrying>) {
        match wait {
            Some(wait) => {
                let begins = !self.waits.swap(true, Ordering::Relaxed);
                self.ui.countdown(&wait.line(), begins);
            }
            None => {
                self.waits.store(false, Ordering::Relaxed);
                self.ui.end_countdown();
                self.wait();
            }
        }
    }
}
