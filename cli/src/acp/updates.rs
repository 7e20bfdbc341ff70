//! Tells the client what happens in a turn.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use dunlin_chat::provider::retry::Retrying;
use dunlin_chat::todo::{self, TODO};
use dunlin_chat::turn::{CallState, CallView, Frontend, TurnCall};
use dunlin_host::Progress;
use dunlin_host::ask::Answer;
use dunlin_host::target::Need;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::suspicion::Suspicion;
use dunlin_terminal::ui::tail::Tail;
use parking_lot::Mutex;
use serde_json::Value;

use super::calls;
use super::client::Client;
use super::wire::{Call, Content, PlanEntry, Update};
use crate::dialogue::presenter::Presenter;

/// How often the output of a call that runs is shown. All of it comes with the result.
const OUTPUT_EVERY: Duration = Duration::from_millis(200);

/// The calls that the client knows, by their ids.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<HashSet<String>>);

impl Known {
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.lock().contains(id)
    }

    /// Whether it was not known before.
    fn add(&self, id: &str) -> bool {
        self.0.lock().insert(id.to_owned())
    }
}

/// Tells it.
pub(super) struct Updates {
    client: Arc<Client>,
    session: String,
    known: Arc<Known>,
    /// Keeps calls, and says what is not part of the reply.
    shown: Presenter,
    ui: Arc<Ui>,
    /// The start of a reply that may be a thought: an editor takes nothing back.
    suspicion: Mutex<Suspicion>,
    output: Mutex<Output>,
    attempt: AtomicU32,
}

/// What a call that runs has printed.
#[derive(Default)]
struct Output {
    call: String,
    tail: Tail,
    shown: Option<Instant>,
}

impl Updates {
    pub(super) fn new(
        client: &Arc<Client>,
        session: &str,
        known: &Arc<Known>,
        shown: Presenter,
    ) -> Updates {
        Updates {
            client: Arc::clone(client),
            session: session.to_owned(),
            known: Arc::clone(known),
            ui: shown.ui(),
            shown,
            suspicion: Mutex::default(),
            output: Mutex::default(),
            attempt: AtomicU32::new(1),
        }
    }

    fn send(&self, update: &Update) {
        self.client.update(&self.session, update);
    }

    fn message(&self, text: &str) {
        if !text.is_empty() {
            self.send(&Update::message(text));
        }
    }

    fn thought(&self, text: &str) {
        if !text.is_empty() {
            self.send(&Update::thought(text));
        }
    }

    /// Shows something in a call that runs.
    fn content(&self, call: &str, text: String) {
        self.send(&Update::ToolCallChanged(Call {
            tool_call_id: call.to_owned(),
            content: Some(vec![Content::text(text)]),
            ..Call::default()
        }));
    }
}

/// The steps of a model's work.
pub(super) fn plan(arguments: &Value) -> Update {
    let entry = |step: todo::Step| PlanEntry {
        content: step.content,
        // The tool knows none.
        priority: "medium",
        status: step.status.into(),
    };
    let steps = todo::steps(arguments).into_iter();
    Update::Plan {
        entries: steps.map(entry).collect(),
    }
}

impl Progress for Updates {
    fn progress(&self, call: &str, message: &str, percent: Option<u8>) {
        let text = match percent {
            Some(percent) => format!("{percent} % {message}"),
            None => message.to_owned(),
        };
        self.content(call, calls::fenced(&text));
    }

    /// An editor shows that the call is under way, and does not know the calls of subagents.
    fn hook(&self, _call: &str, _hook: Option<&str>) {}

    fn output(&self, call: &str, bytes: &[u8]) {
        let mut output = self.output.lock();
        if output.call != call {
            *output = Output {
                call: call.to_owned(),
                ..Output::default()
            };
        }
        output.tail.push(bytes);
        let is_due = output
            .shown
            .is_none_or(|shown| shown.elapsed() >= OUTPUT_EVERY);
        if let Some(text) = output.tail.text().filter(|_| is_due) {
            output.shown = Some(Instant::now());
            self.content(call, calls::fenced(&text));
        }
    }
}

impl Frontend for Updates {
    fn round(&self, _round: u32) {
        self.attempt.store(1, Ordering::Relaxed);
    }

    fn text(&self, piece: &str) {
        let piece = self.suspicion.lock().piece(piece);
        self.message(&piece);
    }

    fn reasoning(&self, piece: &str) {
        self.thought(piece);
    }

    fn was_reasoning(&self) {
        let held = {
            let mut suspicion = self.suspicion.lock();
            let held = suspicion.rest();
            suspicion.confirm();
            held
        };
        match held.is_empty() {
            true => self.ui.status("(so far the model was thinking)"),
            false => self.thought(&held),
        }
    }

    fn reply_ended(&self, _has_calls: bool) {
        let rest = std::mem::take(&mut *self.suspicion.lock()).rest();
        self.message(&rest);
    }

    fn call(&self, _call: &CallView) {}

    fn keep_call(&self, call: &TurnCall) {
        self.shown.keep_call(call);
        let is_new = self.known.add(&call.call.id);
        if call.state == CallState::Running {
            *self.output.lock() = Output::default();
        }
        // The question tells of one that waits.
        if !is_new && call.state == CallState::Asking {
            return;
        }
        let told = calls::of_turn(call, is_new);
        self.send(&match is_new {
            true => Update::ToolCall(told),
            false => Update::ToolCallChanged(told),
        });
        if call.call.tool == TODO && call.state == CallState::Completed {
            self.send(&plan(&call.call.arguments));
        }
    }

    fn output_so_far(&self) -> Option<String> {
        self.output.lock().tail.text()
    }

    fn notice(&self, text: &str) {
        self.shown.notice(text);
    }

    fn stored(&self, tool: &str, needs: &[Need], answer: Answer) {
        self.shown.stored(tool, needs, answer);
    }

    fn warning(&self, text: &str) {
        self.shown.warning(text);
    }

    fn retrying(&self, wait: Option<&Retrying>) {
        // Told every second of the wait; the line says how long it is when it begins.
        if let Some(wait) = wait
            && self.attempt.swap(wait.attempt, Ordering::Relaxed) != wait.attempt
        {
            self.ui.status(&wait.line());
        }
    }
}
