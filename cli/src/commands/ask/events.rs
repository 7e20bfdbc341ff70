//! What `ask --output stream-json` prints while the turn runs: one JSON object a line, as docs/scripting.md lists them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use dunlin_host::Progress;
use dunlin_host::ask::Answer;
use dunlin_host::json;
use dunlin_host::target::Need;
use serde::Serialize;
use serde_json::Value;

use crate::dialogue::presenter::Presenter;
use dunlin_chat::provider::retry::Retrying;
use dunlin_chat::turn::{CallRecord, CallState, CallView, Frontend, TurnCall};
use dunlin_terminal::ui::Ui;

/// One line. A parser finds texts as they came.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event<'a> {
    /// A request is being sent: the first of the turn is round 1.
    Request { round: u32 },
    /// A piece of the reply.
    Text { text: &'a str },
    /// A piece of what the model thinks before it answers.
    Reasoning { text: &'a str },
    /// All pieces of this reply so far belong to the reasoning.
    TextWasReasoning,
    /// The reply of a round is over; one with calls is followed by another round.
    ReplyEnded { has_calls: bool },
    /// A call runs.
    CallStarted {
        id: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    },
    /// A call is over: the record that the document has of it.
    Call {
        #[serde(flatten)]
        record: Box<CallRecord>,
    },
    /// Something that the user should know.
    Notice { text: &'a str },
    /// Something that the user must know.
    Warning { text: &'a str },
    /// The request has failed and is sent again.
    Retry {
        reason: &'a str,
        wait_ms: u128,
        attempt: u32,
        attempts: u32,
    },
}

/// Prints what happens, and has the terminal shown the rest of it.
pub struct Events {
    shown: Presenter,
    ui: Arc<Ui>,
    /// The request of the round that is being sent, from 1.
    attempt: AtomicU32,
}

impl Events {
    /// What a turn is told to, beside what shows it on the terminal.
    pub fn beside(shown: Presenter) -> Arc<dyn Frontend> {
        let ui = shown.ui();
        Arc::new(Events {
            shown,
            ui,
            attempt: AtomicU32::new(1),
        })
    }

    /// A closed pipe ends the turn through the terminal, as with any other output.
    fn print(&self, event: &Event<'_>) {
        if let Ok(line) = json::to_string(event) {
            self.ui.data(&line);
        }
    }
}

impl Progress for Events {
    fn progress(&self, call: &str, message: &str, percent: Option<u8>) {
        self.shown.progress(call, message, percent);
    }

    fn hook(&self, call: &str, hook: Option<&str>) {
        self.shown.hook(call, hook);
    }

    fn output(&self, call: &str, bytes: &[u8]) {
        self.shown.output(call, bytes);
    }
}

impl Frontend for Events {
    fn round(&self, round: u32) {
        self.attempt.store(1, Ordering::Relaxed);
        self.print(&Event::Request { round });
        self.shown.round(round);
    }

    fn text(&self, text: &str) {
        self.print(&Event::Text { text });
        self.shown.text(text);
    }

    fn reasoning(&self, text: &str) {
        self.print(&Event::Reasoning { text });
        self.shown.reasoning(text);
    }

    fn was_reasoning(&self) {
        self.print(&Event::TextWasReasoning);
        self.shown.was_reasoning();
    }

    fn call_started(&self, tool: &str) {
        self.shown.call_started(tool);
    }

    fn reply_ended(&self, has_calls: bool) {
        self.print(&Event::ReplyEnded { has_calls });
        self.shown.reply_ended(has_calls);
    }

    fn call(&self, call: &CallView) {
        self.shown.call(call);
    }

    fn keep_call(&self, call: &TurnCall) {
        let record = call.record();
        if call.state == CallState::Running {
            self.print(&Event::CallStarted {
                id: &record.id,
                tool: &record.tool,
                arguments: &record.arguments,
            });
        } else if call.state.is_settled() {
            self.print(&Event::Call {
                record: Box::new(record),
            });
        }
        self.shown.keep_call(call);
    }

    fn output_so_far(&self) -> Option<String> {
        self.shown.output_so_far()
    }

    fn notice(&self, text: &str) {
        self.print(&Event::Notice { text });
        self.shown.notice(text);
    }

    fn stored(&self, tool: &str, needs: &[Need], answer: Answer) {
        self.shown.stored(tool, needs, answer);
    }

    fn warning(&self, text: &str) {
        self.print(&Event::Warning { text });
        self.shown.warning(text);
    }

    fn retrying(&self, wait: Option<&Retrying>) {
        // Told every second of the wait; the line says how long it is when it begins.
        if let Some(wait) = wait
            && self.attempt.swap(wait.attempt, Ordering::Relaxed) != wait.attempt
        {
            self.print(&Event::Retry {
                reason: &wait.reason,
                wait_ms: wait.remaining.as_millis(),
                attempt: wait.attempt,
                attempts: wait.attempts,
            });
        }
        self.shown.retrying(wait);
    }
}
