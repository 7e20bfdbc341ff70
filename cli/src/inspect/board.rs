//! What a chat publishes for inspectors, and the commands that wait for it.
//!
//! Publishing replaces a state behind a mutex and wakes whoever writes it to a socket: each inspector gets the latest
//! state when it can take it, so the chat never waits for one. A state is shared, not copied.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dunlin_chat::request::editor::EditableRequest;
use dunlin_chat::request::measure::Scale;

use super::protocol::{At, Conversation, Edits, Message, Operation, PausedMessage};
use crate::config::request_editor::PauseMode;

/// How many commands may wait for the chat. Each inspector has at most one, so this is never reached by honest ones.
const MAX_WAITING: usize = 16;

/// How long a command waits before the line that the chat reads is woken again. See `dunlin_terminal::ui::wake`.
const WAKE_AGAIN: Duration = Duration::from_millis(50);

/// Why a command was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No request is paused, or another one.
    #[error("this request is not paused any more")]
    NotPaused,
    /// The request has changed since.
    #[error("the request has changed since: it is at revision {0}")]
    Outdated(u64),
    /// The edit is not possible, or the request cannot be sent as it is.
    #[error("{0}")]
    Impossible(String),
    /// Too many commands wait.
    #[error("the chat has too many commands to do")]
    Busy,
}

/// What the board asks of the chat.
pub trait Chat: Send + Sync {
    /// Which requests are paused.
    fn mode(&self) -> PauseMode;
    /// Has other requests paused.
    fn set_mode(&self, mode: PauseMode);
    /// Ends the line that is being read, so that a command is done.
    fn wake(&self);
}

/// A request that is paused.
#[derive(Debug)]
pub struct PausedState {
    /// Which pause of the chat it is.
    pub pause: u64,
    /// The request as it is now.
    pub request: EditableRequest,
    /// What does not change while it is paused.
    pub head: Arc<Head>,
}

/// What does not change while a request is paused.
#[derive(Debug, Clone)]
pub struct Head {
    /// Its number in the session.
    pub number: Option<u64>,
    /// Which request of its turn it is.
    pub round: u32,
    /// How tokens are counted.
    pub scale: Scale,
    /// How many tokens it may have.
    pub room: u64,
    /// The context window.
    pub window: Option<u64>,
}

impl PausedState {
    /// The edits, for an inspector that knows the request.
    pub fn edits(&self) -> Edits {
        Edits {
            pause: self.pause,
            revision: self.request.revision(),
            edits: self.request.edits().to_vec(),
            undone: self.request.undone().to_vec(),
        }
    }

    /// The request, for an inspector that does not know it.
    pub fn message(&self) -> Message {
        Message::Paused(Box::new(PausedMessage {
            edits: self.edits(),
            number: self.head.number,
            round: self.head.round,
            body: String::from_utf8_lossy(self.request.original()).into_owned(),
            outline: self.request.outline(),
            scale: self.head.scale.clone(),
            room: self.head.room,
            window: self.head.window,
        }))
    }
}

/// Whether a request is paused.
#[derive(Debug, Clone, Default)]
pub enum State {
    /// None was paused until now.
    #[default]
    Idle,
    /// This one is.
    Paused(Arc<PausedState>),
    /// The last one was sent.
    Sent {
        /// Which pause it was.
        pause: u64,
        /// The number of the request.
        number: Option<u64>,
    },
    /// The last one was not sent.
    Cancelled {
        /// Which pause it was.
        pause: u64,
    },
}

/// All that an inspector is shown.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// Grows with every change.
    pub serial: u64,
    /// The conversation.
    pub conversation: Conversation,
    /// The request.
    pub state: State,
    /// The last request that was sent without a pause, if any was in this conversation.
    pub logged: Option<Logged>,
}

/// A request that was sent without a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// Its number in the session.
    pub number: u64,
    /// Counts those of the chat: a number can come again in a session that was cleared.
    pub count: u64,
}

/// A command that the chat has to do or refuse. Dropping it refuses it.
#[derive(Debug)]
pub struct Waiting {
    /// What is to be done.
    pub operation: Operation,
    answer: SyncSender<Result<(), Refusal>>,
}

impl Waiting {
    /// Says what came of it.
    pub fn answer(self, answer: Result<(), Refusal>) {
        // Whoever asked may have gone.
        let _ = self.answer.try_send(answer);
    }
}

#[derive(Default)]
struct Inner {
    published: Published,
    pauses: u64,
    logged: u64,
    /// The number of the paused request that was sent last: the log will say so, too.
    expected: Option<u64>,
    waiting: VecDeque<Waiting>,
}

/// The state of a chat, shared between its turn and the threads of its inspectors.
pub struct Board {
    inner: Mutex<Inner>,
    changed: Condvar,
    chat: Box<dyn Chat>,
}

impl Board {
    /// A board on which nothing is.
    pub fn new(chat: Box<dyn Chat>) -> Board {
        Board {
            inner: Mutex::default(),
            changed: Condvar::new(),
            chat,
        }
    }

    /// Which requests are paused.
    pub fn mode(&self) -> PauseMode {
        self.chat.mode()
    }

    /// The chat is in this conversation.
    pub fn converse(&self, conversation: Conversation) {
        let mut inner = self.inner();
        if inner.published.conversation != conversation {
            if inner.published.conversation.session != conversation.session {
                inner.published.logged = None;
                inner.expected = None;
            }
            inner.published.conversation = conversation;
            self.publish(inner);
        }
    }

    /// The conversation is called this as long as it has no title: its first message is not sent yet.
    pub fn call(&self, title: impl FnOnce() -> String) {
        let mut inner = self.inner();
        if inner.published.conversation.title.is_empty() {
            inner.published.conversation.title = title();
            self.publish(inner);
        }
    }

    /// A request is paused; the number of the pause.
    pub fn pause(&self, request: EditableRequest, head: Head) -> u64 {
        let mut inner = self.inner();
        inner.pauses += 1;
        let pause = inner.pauses;
        inner.published.state = State::Paused(Arc::new(PausedState {
            pause,
            request,
            head: Arc::new(head),
        }));
        self.publish(inner);
        pause
    }

    /// The paused request is this now.
    pub fn edited(&self, request: &EditableRequest) {
        let mut inner = self.inner();
        let State::Paused(before) = &inner.published.state else {
            return;
        };
        if before.request.revision() == request.revision() {
            return;
        }
        inner.published.state = State::Paused(Arc::new(PausedState {
            pause: before.pause,
            request: request.clone(),
            head: Arc::clone(&before.head),
        }));
        self.publish(inner);
    }

    /// A request of this session is in its file.
    pub fn logged(&self, session: &str, number: u64) {
        let mut inner = self.inner();
        let is_known = inner.expected.take_if(|it| *it == number).is_some();
        if is_known || inner.published.conversation.session != session {
            return;
        }
        inner.logged += 1;
        let count = inner.logged;
        inner.published.logged = Some(Logged { number, count });
        self.publish(inner);
    }

    /// No request is paused any more. Commands that wait are refused.
    pub fn end(&self, state: State) {
        let mut inner = self.inner();
        if let State::Sent { number, .. } = &state {
            inner.expected = *number;
        }
        inner.published.state = state;
        inner.waiting.clear();
        self.publish(inner);
    }

    /// The next command that waits for the chat.
    pub fn next(&self) -> Option<Waiting> {
        self.inner().waiting.pop_front()
    }

    /// What is published, once that is newer than `serial`, or after the time.
    pub fn after(&self, serial: u64, most: Duration) -> Published {
        let end = Instant::now() + most;
        let mut inner = self.inner();
        while inner.published.serial <= serial {
            let rest = end.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(inner, rest);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        inner.published.clone()
    }

    /// What is published now.
    pub fn now(&self) -> Published {
        self.inner().published.clone()
    }

    /// Wakes whoever waits for something new, for another reason.
    pub fn nudge(&self) {
        let inner = self.inner();
        self.publish(inner);
    }

    /// Has the chat do a command, and waits until it has.
    ///
    /// # Errors
    /// It was refused.
    pub fn command(&self, operation: Operation) -> Result<(), Refusal> {
        let at = at(&operation);
        let answered = {
            let mut inner = self.inner();
            match (&inner.published.state, at) {
                (State::Paused(paused), Some(at)) if paused.pause == at.pause => {}
                (State::Paused(_), None) => {}
                (_, Some(_)) => return Err(Refusal::NotPaused),
                (_, None) => {
                    drop(inner);
                    self.set_mode(&operation);
                    return Ok(());
                }
            }
            if inner.waiting.len() >= MAX_WAITING {
                return Err(Refusal::Busy);
            }
            let (answer, answered) = sync_channel(1);
            inner.waiting.push_back(Waiting { operation, answer });
            answered
        };
        self.wait(&answered)
    }

    fn wait(&self, answered: &Receiver<Result<(), Refusal>>) -> Result<(), Refusal> {
        loop {
            self.chat.wake();
            match answered.recv_timeout(WAKE_AGAIN) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Refusal::NotPaused),
            }
        }
    }

    /// Has other requests paused, where that is the command.
    pub fn set_mode(&self, operation: &Operation) {
        if let Operation::Mode { mode } = operation {
            self.chat.set_mode(*mode);
            self.nudge();
        }
    }

    fn publish(&self, mut inner: MutexGuard<'_, Inner>) {
        inner.published.serial += 1;
        drop(inner);
        self.changed.notify_all();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state that a command was made for.
pub fn at(operation: &Operation) -> Option<At> {
    match operation {
        Operation::Edit { at, .. }
        | Operation::Undo(at)
        | Operation::Redo(at)
        | Operation::Reset(at)
        | Operation::Send(at)
        | Operation::Cancel(at) => Some(*at),
        Operation::Mode { .. } => None,
    }
}
