//! What a chat publishes for inspectors, and the commands that wait for it.
//!
//! Publishing replaces a state behind a mutex and wakes whoever writes it to a socket: each inspector gets the latest
//! state when it can take it, so the chat never waits for one. A state is shared, not copied.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use dunlin_chat::request::editor::{Edit, EditError, EditableRequest, Outline, Section};
use dunlin_chat::request::measure::Scale;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::protocol::{
    At, Conversation, Edits, Message, Operation, PausedMessage, Pauses, Subagents,
};
use crate::config::request_editor::PauseMode;

/// How long is waited before the line that the chat reads is woken again. See `dunlin_terminal::ui::wake`.
pub const WAKE_AGAIN: Duration = Duration::from_millis(50);

/// How many pauses that are over are remembered, for inspectors that were slow.
const MAX_ENDED: usize = 64;

/// How many bytes of edits an inspector is told. More of them are not told: it gets the request with them instead.
pub const MAX_EDIT_BYTES: usize = 16 * 1024 * 1024;

/// Why a command was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("this request is not paused any more")]
    NotPaused,
    #[error("the request has changed since")]
    Outdated,
    /// The edit is not possible, or the request cannot be sent as it is.
    #[error("{0}")]
    Impossible(String),
}

impl From<EditError> for Refusal {
    fn from(error: EditError) -> Refusal {
        Refusal::Impossible(error.to_string())
    }
}

/// What the state asks of the chat.
pub trait Chat: Send + Sync {
    /// Which requests are paused.
    fn pauses(&self) -> Pauses;
    /// The subagents of the conversation.
    fn subagents(&self) -> Subagents;
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
    /// Names this state.
    pub revision: String,
    /// Since when it is so, in milliseconds of Unix time.
    pub active: u64,
    /// The request as it is now.
    pub request: EditableRequest,
    /// Why it cannot be sent as it is now.
    pub problem: Option<String>,
    /// What does not change while it is paused.
    pub head: Arc<Head>,
}

/// What does not change while a request is paused.
#[derive(Debug, Clone)]
pub struct Head {
    /// Its number in the session.
    pub number: Option<u64>,
    /// When it was composed, in milliseconds of Unix time.
    pub time: Option<i64>,
    /// Which request of its turn it is.
    pub round: u32,
    pub scale: Scale,
    /// How many tokens it may have.
    pub max_request_tokens: u64,
    pub window: Option<u64>,
    /// The SHA-256 of the last request that the endpoint was sent.
    pub last_sent: Option<String>,
}

impl PausedState {
    /// The edits, for an inspector that knows the request.
    pub fn edits(&self) -> Edits {
        Edits {
            pause: self.pause,
            revision: self.revision.clone(),
            edits: self.request.edits().to_vec(),
            undone: self.request.undone().to_vec(),
        }
    }

    /// Whether the edits are told as a request that has them.
    pub fn is_composed(&self) -> bool {
        let all = self.request.edits().iter().chain(self.request.undone());
        let bytes = all.map(|edit| match edit {
            Edit::Set { old, new, .. } => {
                let values = old.iter().chain(new);
                values.map(String::len).sum()
            }
            _ => 0,
        });
        bytes.sum::<usize>() > MAX_EDIT_BYTES
    }

    /// The request, for an inspector that does not know it.
    pub fn message(&self) -> Message {
        let request = &self.request;
        let (body, outline, edits) = match self.is_composed() {
            false => (request.original(), request.outline(), self.edits()),
            true => {
                let edits = Edits {
                    pause: self.pause,
                    revision: self.revision.clone(),
                    ..Edits::default()
                };
                (request.bytes(), composed(request), edits)
            }
        };
        Message::Paused(Box::new(PausedMessage {
            edits,
            active: self.active,
            number: self.head.number,
            time: self.head.time,
            round: self.head.round,
            body: String::from_utf8_lossy(body).into_owned(),
            outline,
            scale: self.head.scale.clone(),
            max_request_tokens: self.head.max_request_tokens,
            window: self.head.window,
            last_sent: self.head.last_sent.clone(),
        }))
    }

    /// Whether a command would change something. It is tried on a copy: the user is at the prompt, and must not notice
    /// commands that come to nothing.
    fn check(&self, operation: &Operation) -> Result<(), Refusal> {
        match operation {
            Operation::Edit { edit, .. } => {
                self.request.clone().apply(edit.clone())?;
            }
            Operation::Undo(_) if self.request.edits().is_empty() => {
                return Err(EditError::NothingToUndo.into());
            }
            Operation::Redo(_) if self.request.undone().is_empty() => {
                return Err(EditError::NothingToRedo.into());
            }
            Operation::Send(_) => {
                if let Some(problem) = &self.problem {
                    return Err(not_sent(problem));
                }
            }
            Operation::Undo(_)
            | Operation::Redo(_)
            | Operation::Cancel(_)
            | Operation::Mode { .. } => {}
        }
        Ok(())
    }
}

/// Refuses to send a request.
pub fn not_sent(problem: &str) -> Refusal {
    Refusal::Impossible(format!("not sent: {problem}"))
}

/// The outline of the request with its edits: sections that are deleted are not in it.
fn composed(request: &EditableRequest) -> Outline {
    let Outline { sections, options } = request.outline();
    let sections = sections.into_iter().enumerate();
    let sections = sections.filter_map(|(index, section)| {
        let number = index + 1;
        let path = request.path(number)?;
        (!request.is_deleted(number)).then_some(Section { path, ..section })
    });
    Outline {
        sections: sections.collect(),
        options,
    }
}

/// A pause that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    pub pause: u64,
    /// What became of its request.
    pub outcome: Outcome,
}

/// What became of a request that was paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Sent {
        /// Its number in the session.
        number: Option<u64>,
    },
    Cancelled,
}

impl Ended {
    /// What an inspector is told.
    pub fn message(self) -> Message {
        match self.outcome {
            Outcome::Sent { number } => Message::Sent {
                pause: Some(self.pause),
                number,
            },
            Outcome::Cancelled => Message::Cancelled { pause: self.pause },
        }
    }
}

/// All that an inspector is shown.
#[derive(Debug, Clone, Default)]
pub struct Published {
    /// Grows with every change.
    pub serial: u64,
    /// When something happened last, in milliseconds of Unix time.
    pub active: u64,
    pub conversation: Conversation,
    /// The request that is paused.
    pub paused: Option<Arc<PausedState>>,
    /// The last pauses that are over, the newest one last.
    pub ended: VecDeque<Ended>,
    /// The last request that was sent, if any was in this conversation. Those of subagents do not count.
    pub logged: Option<Logged>,
}

/// A request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Logged {
    /// Its number in the session.
    pub number: u64,
    /// Counts those of the chat: a number can come again in a session that was cleared.
    pub count: u64,
    /// Whether it was paused before: those who saw that know that it was sent.
    pub was_paused: bool,
}

/// A command that the chat has to do or refuse. Dropping it refuses it.
#[derive(Debug)]
pub struct Waiting {
    /// What is to be done.
    pub operation: Operation,
    ticket: u64,
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
    revisions: u64,
    tickets: u64,
    /// The number of the paused request that was sent last: the log will say so, too.
    expected: Option<u64>,
    /// Each inspector has at most one.
    waiting: VecDeque<Waiting>,
}

/// The state of a chat, shared between its turn and the threads of its inspectors.
pub struct SharedState {
    inner: Mutex<Inner>,
    changed: Condvar,
    /// Makes revisions that nobody can guess.
    random: RandomState,
    chat: Box<dyn Chat>,
}

impl SharedState {
    /// Of a chat in which nothing has happened yet.
    pub fn new(chat: Box<dyn Chat>) -> SharedState {
        let published = Published {
            active: unix_millis(),
            ..Published::default()
        };
        SharedState {
            inner: Mutex::new(Inner {
                published,
                ..Inner::default()
            }),
            changed: Condvar::new(),
            random: RandomState::new(),
            chat,
        }
    }

    pub fn pauses(&self) -> Pauses {
        self.chat.pauses()
    }

    pub fn subagents(&self) -> Subagents {
        self.chat.subagents()
    }

    /// The chat is in this conversation.
    pub fn set_conversation(&self, conversation: Conversation) {
        let mut inner = self.inner.lock();
        if inner.published.conversation != conversation {
            if inner.published.conversation.session != conversation.session {
                inner.published.logged = None;
                inner.expected = None;
            }
            inner.published.conversation = conversation;
            self.publish(inner);
        }
    }

    /// The conversation gets its title with its first message. One that has a title keeps it.
    pub fn set_title(&self, title: impl FnOnce() -> String) {
        let mut inner = self.inner.lock();
        if inner.published.conversation.title.is_empty() {
            inner.published.conversation.title = title();
            self.publish(inner);
        }
    }

    /// A request is paused; the number of the pause. `problem`: why it cannot be sent as it is.
    pub fn pause(&self, request: EditableRequest, problem: Option<String>, head: Head) -> u64 {
        let mut inner = self.inner.lock();
        inner.pauses += 1;
        let paused = PausedState {
            pause: inner.pauses,
            revision: self.new_revision(&mut inner),
            active: unix_millis(),
            request,
            problem,
            head: Arc::new(head),
        };
        let pause = paused.pause;
        inner.published.paused = Some(Arc::new(paused));
        self.publish(inner);
        pause
    }

    /// The paused request is this now. `problem`: why it cannot be sent.
    pub fn set_request(&self, request: &EditableRequest, problem: impl FnOnce() -> Option<String>) {
        let mut inner = self.inner.lock();
        let Some(before) = inner.published.paused.clone() else {
            return;
        };
        if before.request.revision() == request.revision() {
            return;
        }
        inner.published.paused = Some(Arc::new(PausedState {
            pause: before.pause,
            revision: self.new_revision(&mut inner),
            active: unix_millis(),
            request: request.clone(),
            problem: problem(),
            head: Arc::clone(&before.head),
        }));
        self.publish(inner);
    }

    /// A request of this session is in its file.
    pub fn logged(&self, session: &str, number: u64) {
        let mut inner = self.inner.lock();
        let was_paused = inner.expected.take_if(|it| *it == number).is_some();
        if inner.published.conversation.session != session {
            return;
        }
        inner.logged += 1;
        inner.published.logged = Some(Logged {
            number,
            count: inner.logged,
            was_paused,
        });
        self.publish(inner);
    }

    /// The request is not paused any more. Commands that wait are refused.
    pub fn end(&self, ended: Ended) {
        let mut inner = self.inner.lock();
        if let Outcome::Sent { number } = ended.outcome {
            inner.expected = number;
        }
        let published = &mut inner.published;
        published.paused = None;
        if published.ended.len() >= MAX_ENDED {
            published.ended.pop_front();
        }
        published.ended.push_back(ended);
        inner.waiting.clear();
        self.publish(inner);
    }

    /// The next command that waits for the chat.
    pub fn next(&self) -> Option<Waiting> {
        self.inner.lock().waiting.pop_front()
    }

    /// Waits until something newer than `serial` is published.
    pub fn after(&self, serial: u64) -> Published {
        let mut inner = self.inner.lock();
        self.changed
            .wait_while(&mut inner, |inner| inner.published.serial <= serial);
        inner.published.clone()
    }

    pub fn now(&self) -> Published {
        self.inner.lock().published.clone()
    }

    /// Wakes whoever waits for something new, where what is new is not published.
    pub fn notify(&self) {
        self.inner.lock().published.serial += 1;
        self.changed.notify_all();
    }

    /// Has the chat do a command, and waits until it has. `is_gone`: nobody wants it done any more.
    ///
    /// # Errors
    /// It was refused.
    pub fn command(&self, operation: Operation, is_gone: impl Fn() -> bool) -> Result<(), Refusal> {
        if let Some(at) = operation.at() {
            self.paused_at(at)?.check(&operation)?;
        }
        match operation {
            Operation::Mode { mode, at: None } => {
                self.set_mode(mode);
                return Ok(());
            }
            Operation::Mode { mode, .. } if mode != PauseMode::Off => {
                self.set_mode(mode);
                return Ok(());
            }
            _ => {}
        }
        let (answer, answered) = sync_channel(1);
        let ticket = {
            let mut inner = self.inner.lock();
            inner.tickets += 1;
            let ticket = inner.tickets;
            if inner.published.paused.is_none() {
                return Err(Refusal::NotPaused);
            }
            inner.waiting.push_back(Waiting {
                operation,
                ticket,
                answer,
            });
            ticket
        };
        self.wait(ticket, &answered, is_gone)
    }

    fn wait(
        &self,
        ticket: u64,
        answered: &Receiver<Result<(), Refusal>>,
        is_gone: impl Fn() -> bool,
    ) -> Result<(), Refusal> {
        loop {
            // What the chat does already is waited for.
            if is_gone() && self.withdraw(ticket) {
                return Err(Refusal::NotPaused);
            }
            self.chat.wake();
            match answered.recv_timeout(WAKE_AGAIN) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(Refusal::NotPaused),
            }
        }
    }

    fn withdraw(&self, ticket: u64) -> bool {
        let mut inner = self.inner.lock();
        let before = inner.waiting.len();
        inner.waiting.retain(|waiting| waiting.ticket != ticket);
        inner.waiting.len() < before
    }

    /// How many commands wait for the chat.
    pub fn waiting(&self) -> usize {
        self.inner.lock().waiting.len()
    }

    /// The paused request, if it is in the state that a command was made for.
    ///
    /// # Errors
    /// It is not.
    pub fn paused_at(&self, at: &At) -> Result<Arc<PausedState>, Refusal> {
        match &self.inner.lock().published.paused {
            Some(paused) if paused.pause == at.pause => match paused.revision == at.revision {
                true => Ok(Arc::clone(paused)),
                false => Err(Refusal::Outdated),
            },
            _ => Err(Refusal::NotPaused),
        }
    }

    /// Has other requests paused. Inspectors are told by whoever watches the mode.
    pub fn set_mode(&self, mode: PauseMode) {
        self.chat.set_mode(mode);
        self.notify();
    }

    fn new_revision(&self, inner: &mut Inner) -> String {
        inner.revisions += 1;
        format!("{:016x}", self.random.hash_one(inner.revisions))
    }

    fn publish(&self, mut inner: MutexGuard<'_, Inner>) {
        inner.published.serial += 1;
        inner.published.active = unix_millis();
        drop(inner);
        self.changed.notify_all();
    }
}

/// Milliseconds of Unix time.
pub(super) fn unix_millis() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
