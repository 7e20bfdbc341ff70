//! Subagents: conversations that the model starts with `run_subagent`, each with its own messages, limits and tools, under the
//! same permissions as the chat.
//!
//! The call of the tool runs in the sandbox and asks for a subagent through the host ([`launch`]); [`run`] polls all of them
//! beside the turn, in the same task. [`Roster`] knows what each is doing: the rows below the turn, `/agents`, and the sums
//! of their cost come from there. What they say is kept in sessions of their own beside that of the chat; their requests are
//! in its log.

mod frontend;
mod journal;
pub mod launch;
pub mod published;
pub mod rows;
pub mod run;

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use dunlin_chat::agent::{Agent, RUN_SUBAGENT};
use dunlin_chat::message::Message;
use dunlin_chat::provider::{Provider, Usage};
use dunlin_chat::request::report::Cost;
use dunlin_chat::session::Store;
use dunlin_chat::turn::Denial;
use dunlin_host::Tool;
use dunlin_host::edit::FileEdit;
use dunlin_host::subagent::SubagentEnd;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::settings::{Settings, SubagentChoice};

/// How many a turn can start.
pub const MAX_OF_TURN: usize = 16;

/// How many that have ended are listed.
pub const MAX_LISTED: usize = 10;

/// The subagents of a session: those that run, and the last that have ended.
#[derive(Default)]
pub struct Roster {
    state: Mutex<State>,
    /// Told when something has changed.
    watcher: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

#[derive(Default)]
struct State {
    all: VecDeque<Arc<Subagent>>,
    /// The number of the last one, once it is known.
    last: Option<u64>,
    /// Those of this turn.
    of_turn: Vec<Arc<Subagent>>,
    /// How many this turn has wanted to start.
    wanted: usize,
}

/// One subagent.
pub struct Subagent {
    /// Its number in the session, from 1.
    pub number: u64,
    /// What it is called: the name of its agent, with its number.
    pub name: String,
    /// The id of the call that it runs for.
    pub call: String,
    /// What it is to do.
    pub task: String,
    /// Who it is, with the tools that it may use.
    pub agent: Agent,
    /// All tools there are.
    pub tools: Arc<[Tool]>,
    /// The way to its model.
    pub provider: Arc<dyn Provider>,
    /// Ends it, and not the turn.
    pub stop: CancellationToken,
    live: Mutex<Live>,
}

/// How a subagent is doing.
#[derive(Debug, Clone)]
pub struct Live {
    /// What it does; once it has ended, nothing.
    pub activity: String,
    /// Why it is over.
    pub end: Option<SubagentEnd>,
    /// Calls that it made.
    pub calls: u32,
    /// Requests that it made.
    pub rounds: u32,
    /// What they have cost.
    pub usage: Usage,
    /// The number of its latest request that is in the session's file.
    pub request: Option<u64>,
    /// When it began.
    pub begun: Instant,
    /// The same in milliseconds of Unix time.
    pub begun_at: u64,
    /// How long it ran.
    pub duration: Option<Duration>,
    /// What was said.
    pub messages: Arc<Vec<Message>>,
    /// What it has changed in files.
    pub edits: Vec<Arc<[FileEdit]>>,
    /// The calls that were denied to it.
    pub denials: Vec<Denial>,
}

/// What a subagent begins with.
struct New {
    call: String,
    task: String,
    agent: Agent,
    tools: Arc<[Tool]>,
    provider: Arc<dyn Provider>,
}

impl Subagent {
    /// How it is doing.
    pub fn live(&self) -> Live {
        self.live.lock().clone()
    }

    /// Notes how it is doing.
    fn note(&self, change: impl FnOnce(&mut Live)) {
        change(&mut self.live.lock());
    }

    /// Whether it is over.
    pub fn has_ended(&self) -> bool {
        self.live.lock().end.is_some()
    }
}

impl Live {
    fn begin() -> Live {
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        Live {
            activity: "starting".to_owned(),
            end: None,
            calls: 0,
            rounds: 0,
            usage: Usage::default(),
            request: None,
            begun: Instant::now(),
            begun_at: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            duration: None,
            edits: Vec::new(),
            messages: Arc::default(),
            denials: Vec::new(),
        }
    }

    /// How long it has been running, or ran.
    pub fn elapsed(&self) -> Duration {
        self.duration.unwrap_or_else(|| self.begun.elapsed())
    }
}

/// Why a subagent cannot be stopped.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// There is none with this number.
    #[error("there is no subagent {0}; /agents lists them")]
    Unknown(u64),
    /// It is over already.
    #[error("subagent {0} has ended")]
    Ended(u64),
}

impl Roster {
    /// From now on this is told when something has changed; once.
    pub fn watch(&self, watcher: impl Fn() + Send + Sync + 'static) {
        // Nobody else watches.
        let _ = self.watcher.set(Box::new(watcher));
    }

    fn tell(&self) {
        if let Some(watcher) = self.watcher.get() {
            watcher();
        }
    }

    /// A request of the subagent with this name is in the session's file.
    pub fn logged(&self, name: &str, number: u64) {
        let subagent = self.all().into_iter().find(|it| it.name == name);
        if let Some(subagent) = subagent {
            subagent.note(|live| live.request = Some(number));
            self.tell();
        }
    }

    /// A turn begins: what is counted from here on is its.
    pub fn begin_turn(&self) {
        let mut state = self.state.lock();
        state.of_turn.clear();
        state.wanted = 0;
    }

    /// Another session begins: its subagents are others.
    pub fn begin_session(&self) {
        *self.state.lock() = State::default();
        self.tell();
    }

    /// Whether this turn may start one more, which counts from now on.
    fn reserve(&self) -> bool {
        let mut state = self.state.lock();
        let has_room = state.wanted < MAX_OF_TURN;
        state.wanted += usize::from(has_room);
        has_room
    }

    /// One more begins. `stored`: the number of the last one whose session is kept, which is looked for once.
    fn add(&self, stored: impl FnOnce() -> u64, new: New) -> Arc<Subagent> {
        let New {
            call,
            task,
            agent,
            tools,
            provider,
        } = new;
        let known = self.state.lock().last;
        let known = known.unwrap_or_else(stored);
        let mut state = self.state.lock();
        let number = state.last.unwrap_or_default().max(known) + 1;
        state.last = Some(number);
        let subagent = Arc::new(Subagent {
            number,
            name: format!("{} {number}", agent.name),
            call,
            task,
            agent,
            tools,
            provider,
            stop: CancellationToken::new(),
            live: Mutex::new(Live::begin()),
        });
        state.all.push_back(Arc::clone(&subagent));
        state.of_turn.push(Arc::clone(&subagent));
        subagent
    }

    /// Forgets the oldest that have ended, but for the last few.
    fn forget_old(&self) {
        let mut state = self.state.lock();
        let ended = state.all.iter().filter(|it| it.has_ended()).count();
        let mut surplus = ended.saturating_sub(MAX_LISTED);
        state.all.retain(|it| {
            let goes = surplus > 0 && it.has_ended();
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// All that are known, by their numbers.
    pub fn all(&self) -> Vec<Arc<Subagent>> {
        self.state.lock().all.iter().cloned().collect()
    }

    /// Those of this turn, or of the last one.
    pub fn of_turn(&self) -> Vec<Arc<Subagent>> {
        self.state.lock().of_turn.clone()
    }

    /// The one with this number.
    pub fn find(&self, number: u64) -> Option<Arc<Subagent>> {
        let state = self.state.lock();
        state.all.iter().find(|it| it.number == number).cloned()
    }

    /// The one that runs for the call with this id.
    pub fn of_call(&self, call: &str) -> Option<Arc<Subagent>> {
        let state = self.state.lock();
        state.all.iter().rev().find(|it| it.call == call).cloned()
    }

    /// Ends one. What it has said goes back to whoever started it.
    ///
    /// # Errors
    /// There is none with this number, or it is over.
    pub fn stop(&self, number: u64) -> Result<Arc<Subagent>, StopError> {
        let subagent = self.find(number).ok_or(StopError::Unknown(number))?;
        if subagent.has_ended() {
            return Err(StopError::Ended(number));
        }
        subagent.stop.cancel();
        Ok(subagent)
    }

    /// What those of this turn have cost.
    pub fn spent(&self) -> Cost {
        let of_turn = self.of_turn();
        let lives = of_turn.iter().map(|it| it.live());
        let costs = lives.map(|live| Cost {
            usage: live.usage,
            requests: live.rounds,
        });
        costs.fold(Cost::default(), Cost::plus)
    }

    /// What was denied to those of this turn.
    pub fn denials(&self) -> Vec<Denial> {
        let of_turn = self.of_turn();
        of_turn.iter().flat_map(|it| it.live().denials).collect()
    }
}

/// Tells the model which agents it can start.
pub fn introduce(settings: &Settings, tools: &mut [Tool]) {
    let Some(tool) = tools.iter_mut().find(|tool| tool.name == RUN_SUBAGENT) else {
        return;
    };
    let choices = settings.subagents();
    if !choices.is_empty() {
        tool.description.push_str("\n\nAgents:");
    }
    for SubagentChoice { name, description } in choices {
        tool.description
            .push_str(&format!("\n- {name}: {description}"));
    }
}

/// The highest number of a call of the subagents whose sessions are kept here: the last of them may have it. What cannot be
/// read has none.
pub fn last_call(store: &Store) -> usize {
    let newest = store.entries(true).into_iter().take(MAX_OF_TURN);
    let last = newest.filter_map(|entry| Some(entry.load().ok()?.last_call));
    last.max().unwrap_or_default()
}

/// The number of the last subagent whose session is kept here.
fn last_stored(store: &Store) -> u64 {
    let numbers = store.entries(true).into_iter();
    // A number that nobody can have got to was given by somebody else, and no number is left behind it.
    let numbers = numbers.filter_map(|entry| entry.id.parse::<u32>().ok());
    numbers.max().map_or(0, u64::from)
}
