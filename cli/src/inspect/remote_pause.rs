//! Does the commands of inspectors on the request that is paused.

use std::sync::Arc;

use dunlin_chat::request::editor::EditableRequest;
use dunlin_chat::turn::CancelReason;
use dunlin_host::sha256_hex;
use dunlin_terminal::inspector::{Closed, Remote, Step};
use dunlin_terminal::request::paused::Paused;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::protocol::Operation;
use super::shared_state::{Ended, Head, Outcome, Refusal, SharedState, Waiting, not_sent};
use crate::config::request_editor::PauseMode;

/// A paused request that inspectors see. Dropping it says that the request was cancelled, unless it was sent.
pub struct RemotePause {
    shared: Arc<SharedState>,
    pause: u64,
    number: Option<u64>,
    state: Mutex<End>,
}

#[derive(Default)]
struct End {
    /// How an inspector ended the pause.
    verdict: Option<Result<(), CancelReason>>,
    /// The command that did. It is answered once it is published what became of the request.
    command: Option<Waiting>,
    is_sent: bool,
}

impl RemotePause {
    /// Shows a request that is paused.
    pub fn new(shared: &Arc<SharedState>, paused: &Paused) -> RemotePause {
        let head = Head {
            number: paused.number(),
            time: paused.time().map(Timestamp::as_millisecond),
            round: paused.round(),
            scale: paused.measure().scale(),
            max_request_tokens: paused.max_request_tokens(),
            window: paused.window_tokens(),
            last_sent: paused.last_sent().map(|body| sha256_hex(body.as_bytes())),
        };
        RemotePause {
            shared: Arc::clone(shared),
            pause: shared.pause(paused.request().clone(), problem(paused), head),
            number: paused.number(),
            state: Mutex::default(),
        }
    }

    /// The request may have been changed here.
    pub fn publish(&self, paused: &Paused) {
        self.shared
            .set_request(paused.request(), || problem(paused));
    }

    pub fn sent(&self) {
        self.state.lock().is_sent = true;
    }

    /// Whether an inspector ended the pause.
    pub fn is_over(&self) -> bool {
        self.state.lock().verdict.is_some()
    }

    /// How an inspector ended the pause; once.
    pub fn take_verdict(&self) -> Option<Result<(), CancelReason>> {
        self.state.lock().verdict.take()
    }

    /// Does the commands that wait, up to one that ends the pause. What to say of each.
    pub fn run(&self, paused: &mut Paused) -> Vec<String> {
        let mut said = Vec::new();
        self.publish(paused);
        while let Some(waiting) = self.shared.next() {
            match self.done(&waiting.operation, paused) {
                Ok((sentence, verdict)) => {
                    self.publish(paused);
                    said.push(sentence);
                    if verdict.is_some() {
                        let mut end = self.state.lock();
                        end.verdict = verdict;
                        end.command = Some(waiting);
                        break;
                    }
                    waiting.answer(Ok(()));
                }
                Err(refusal) => waiting.answer(Err(refusal)),
            }
        }
        said
    }

    fn done(
        &self,
        operation: &Operation,
        paused: &mut Paused,
    ) -> Result<(String, Option<Result<(), CancelReason>>), Refusal> {
        const FROM: &str = "from another terminal";
        // The request may have changed since the command began to wait.
        if let Some(at) = operation.at() {
            self.shared.paused_at(at)?;
        }
        let (how, step) = match operation {
            Operation::Edit { edit, .. } => {
                let edit = edit.clone();
                ("edited", paused.step(move |request| request.apply(edit)))
            }
            Operation::Undo(_) => ("undone", paused.step(EditableRequest::undo)),
            Operation::Redo(_) => ("redone", paused.step(EditableRequest::redo)),
            Operation::Send(_) => {
                return match problem(paused) {
                    None => Ok((format!("sent {FROM}"), Some(Ok(())))),
                    Some(problem) => Err(not_sent(&problem)),
                };
            }
            Operation::Cancel(_) => {
                let verdict = Some(Err(CancelReason::User));
                return Ok((format!("cancelled {FROM}"), verdict));
            }
            Operation::Mode { mode, at } => {
                self.shared.set_mode(*mode);
                let cancels = at.is_some() && *mode == PauseMode::Off;
                let verdict = cancels.then_some(Err(CancelReason::ModeOff));
                let said = format!("pausing set to {} {FROM}", mode.as_str());
                return Ok((said, verdict));
            }
        };
        Ok((format!("{how} {FROM}: {}", step?), None))
    }
}

fn problem(paused: &Paused) -> Option<String> {
    paused.problem().map(|problem| problem.to_string())
}

impl Drop for RemotePause {
    fn drop(&mut self) {
        let outcome = match self.state.lock().is_sent {
            true => Outcome::Sent {
                number: self.number,
            },
            false => Outcome::Cancelled,
        };
        self.shared.end(Ended {
            pause: self.pause,
            outcome,
        });
        if let Some(command) = self.state.lock().command.take() {
            command.answer(Ok(()));
        }
    }
}

impl Remote for RemotePause {
    fn step(&self, paused: &mut Paused) -> Step {
        let mut said = self.run(paused);
        let closed = match &self.state.lock().verdict {
            None => None,
            Some(Ok(())) => Some(Closed::Send),
            Some(Err(_)) => Some(Closed::Cancel),
        };
        match (closed, said.pop()) {
            (Some(closed), _) => Step::Close(closed),
            (None, Some(said)) => Step::Notice(said),
            (None, None) => Step::Nothing,
        }
    }
}
