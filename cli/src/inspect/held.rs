//! Does the commands of inspectors on the request that is paused.

use std::sync::{Arc, Mutex, PoisonError};

use dunlin_chat::request::editor::EditableRequest;
use dunlin_chat::turn::CancelReason;
use dunlin_terminal::inspector::{Closed, Remote, Step};
use dunlin_terminal::request::paused::Paused;

use super::board::{Board, Head, Refusal, State, Waiting, at};
use super::protocol::Operation;
use crate::config::request_editor::PauseMode;

/// A paused request on the board. Dropping it says that the request was cancelled, unless it was sent.
pub struct Held {
    board: Arc<Board>,
    pause: u64,
    number: Option<u64>,
    state: Mutex<Ended>,
}

#[derive(Default)]
struct Ended {
    /// How an inspector ended the pause.
    verdict: Option<Result<(), CancelReason>>,
    /// The command that did. It is answered once it is published what became of the request.
    command: Option<Waiting>,
    is_sent: bool,
}

impl Held {
    /// Shows a request that is paused.
    pub fn new(board: &Arc<Board>, paused: &Paused) -> Held {
        let head = Head {
            number: paused.number(),
            round: paused.round(),
            scale: paused.measure().scale(),
            room: paused.room(),
            window: paused.window_tokens(),
        };
        Held {
            board: Arc::clone(board),
            pause: board.pause(paused.request().clone(), head),
            number: paused.number(),
            state: Mutex::default(),
        }
    }

    /// The request was changed here.
    pub fn edited(&self, request: &EditableRequest) {
        self.board.edited(request);
    }

    /// It is sent.
    pub fn sent(&self) {
        self.ended().is_sent = true;
    }

    /// How an inspector ended the pause; once.
    pub fn take_verdict(&self) -> Option<Result<(), CancelReason>> {
        self.ended().verdict.take()
    }

    /// Does the commands that wait, up to one that ends the pause. What to say of each.
    pub fn run(&self, paused: &mut Paused) -> Vec<String> {
        let mut said = Vec::new();
        while let Some(waiting) = self.board.next() {
            match self.done(&waiting.operation, paused) {
                Ok((sentence, verdict)) => {
                    self.board.edited(paused.request());
                    said.push(sentence);
                    if verdict.is_some() {
                        let mut ended = self.ended();
                        ended.verdict = verdict;
                        ended.command = Some(waiting);
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
        if let Some(at) = at(operation) {
            let revision = paused.request().revision();
            if at.pause != self.pause {
                return Err(Refusal::NotPaused);
            }
            if at.revision != revision {
                return Err(Refusal::Outdated(revision));
            }
        }
        let step = match operation {
            Operation::Edit { edit, .. } => {
                let edit = edit.clone();
                paused.step(move |request| request.apply(edit))
            }
            Operation::Undo(_) => paused.step(EditableRequest::undo),
            Operation::Redo(_) => paused.step(EditableRequest::redo),
            Operation::Reset(_) => paused.step(EditableRequest::reset),
            Operation::Send(_) => {
                return match paused.problem() {
                    None => Ok((format!("sent {FROM}"), Some(Ok(())))),
                    Some(problem) => Err(Refusal::Impossible(format!("not sent: {problem}"))),
                };
            }
            Operation::Cancel(_) => {
                let verdict = Some(Err(CancelReason::User));
                return Ok((format!("cancelled {FROM}"), verdict));
            }
            Operation::Mode { mode } => {
                self.board.set_mode(operation);
                let verdict = (*mode == PauseMode::Off).then_some(Err(CancelReason::ModeOff));
                let said = format!("pausing set to {} {FROM}", mode.as_str());
                return Ok((said, verdict));
            }
        };
        let how = match operation {
            Operation::Undo(_) => "undone",
            Operation::Redo(_) => "redone",
            _ => "edited",
        };
        match step {
            Ok(said) => Ok((format!("{how} {FROM}: {said}"), None)),
            Err(error) => Err(Refusal::Impossible(error.to_string())),
        }
    }

    fn ended(&self) -> std::sync::MutexGuard<'_, Ended> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let pause = self.pause;
        let state = match self.ended().is_sent {
            true => State::Sent {
                pause,
                number: self.number,
            },
            false => State::Cancelled { pause },
        };
        self.board.end(state);
        if let Some(command) = self.ended().command.take() {
            command.answer(Ok(()));
        }
    }
}

impl Remote for Held {
    fn step(&self, paused: &mut Paused) -> Step {
        self.board.edited(paused.request());
        let mut said = self.run(paused);
        let closed = match &self.ended().verdict {
            None => None,
            Some(Ok(())) => Some(Closed::Send),
            Some(Err(_)) => Some(Closed::Cancel),
        };
        match (closed, said.pop()) {
            (Some(closed), _) => Step::Close(closed),
            (None, Some(said)) => Step::Said(said),
            (None, None) => Step::Nothing,
        }
    }
}
