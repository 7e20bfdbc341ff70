//! Subagents: conversations that the model starts with `run_subagent`, each with its own messages, limits and tools, under the
//! same permissions as the chat.
//!
//! The call of the tool runs in the sandbox and asks for a subagent through the host ([`launch`]); [`run`] polls all of them
//! beside the turn, in the same task. [`Roster`] knows what each is doing: the rows below the turn, `/agents`, and the sums
//! of their cost come from there. What they say is kept in sessions of their own beside that of the chat ([`stored`]); their
//! requests are in its log.

mod frontend;
mod journal;
pub mod launch;
pub mod published;
pub mod rows;
pub mod run;
pub mod stored;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use dunlin_chat::agent::{Agent, RUN_SUBAGENT};
use dunlin_chat::message::Message;
use dunlin_chat::price::Charge;
use dunlin_chat::provider::Provider;
use dunlin_chat::request::report::Cost;
use dunlin_chat::session::record::Speaker;
use dunlin_chat::session::{Entry, StoreError};
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
    /// By their numbers: calls run side by side, so a later one may begin first.
    all: BTreeMap<u64, Arc<Subagent>>,
    /// The number of the last one.
    last: u64,
    /// Those of this turn.
    of_turn: BTreeMap<u64, Arc<Subagent>>,
    /// The numbers of those that this turn is about to begin, by the ids of their calls.
    numbers: Vec<(String, u64)>,
    /// How many this turn has wanted to start.
    wanted: usize,
}

impl State {
    /// Those that are listed, and those of this turn.
    fn known(&self) -> impl Iterator<Item = &Arc<Subagent>> {
        self.all.values().chain(self.of_turn.values())
    }
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
    /// Who it is.
    pub speaker: Speaker,
    origin: Origin,
    /// Ends it, and not the turn.
    pub stop: CancellationToken,
    live: Mutex<Live>,
}

/// Where a subagent is from.
enum Origin {
    /// This process has begun it.
    Here(Arc<Means>),
    /// It is over, and its session has what it said.
    Stored(Entry),
}

/// What a subagent works with.
pub struct Means {
    /// Who it is, with the tools that it may use.
    pub agent: Agent,
    /// All tools there are.
    pub tools: Arc<[Tool]>,
    /// The way to its model.
    pub provider: Arc<dyn Provider>,
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
    pub charge: Charge,
    /// The number of its latest request.
    pub sent: Option<u64>,
    /// The number of the latest one that is in the session's file.
    pub logged: Option<u64>,
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
    means: Arc<Means>,
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

    /// What it works with, if this process has begun it.
    pub fn means(&self) -> Option<&Means> {
        match &self.origin {
            Origin::Here(means) => Some(means),
            Origin::Stored(_) => None,
        }
    }

    /// What was said.
    ///
    /// # Errors
    /// Its session cannot be read.
    pub fn messages(&self) -> Result<Arc<Vec<Message>>, StoreError> {
        match &self.origin {
            Origin::Here(_) => Ok(self.live().messages),
            Origin::Stored(entry) => Ok(Arc::new(entry.load()?.messages)),
        }
    }

    /// What it has cost.
    pub fn cost(&self) -> Cost {
        let live = self.live();
        Cost {
            charge: live.charge,
            requests: live.rounds,
        }
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
            charge: Charge::default(),
            sent: None,
            logged: None,
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

    fn notify(&self) {
        if let Some(watcher) = self.watcher.get() {
            watcher();
        }
    }

    /// A request of the subagent with this name is in the session's file.
    pub fn logged(&self, name: &str, number: u64) {
        let subagent = self.all().into_iter().find(|it| it.name == name);
        if let Some(subagent) = subagent {
            subagent.note(|live| live.logged = Some(number));
            self.notify();
        }
    }

    /// A turn begins: what is counted from here on is its.
    pub fn begin_turn(&self) {
        let mut state = self.state.lock();
        state.of_turn.clear();
        state.numbers.clear();
        state.wanted = 0;
    }

    /// Another session begins: its subagents are others.
    pub fn begin_session(&self) {
        *self.state.lock() = State::default();
        self.notify();
    }

    /// The session has these already, by their numbers: only the last ones are listed.
    pub fn restore(&self, subagents: Vec<Subagent>) {
        let mut state = self.state.lock();
        state.last = subagents.last().map_or(0, |it| it.number);
        let surplus = subagents.len().saturating_sub(MAX_LISTED);
        let listed = subagents.into_iter().skip(surplus);
        state.all = listed.map(|it| (it.number, Arc::new(it))).collect();
        drop(state);
        self.notify();
    }

    /// Whether this turn may start one more, which counts from now on.
    fn reserve(&self) -> bool {
        let mut state = self.state.lock();
        let has_room = state.wanted < MAX_OF_TURN;
        state.wanted += usize::from(has_room);
        has_room
    }

    /// A call that is to begin one begins to run. Calls run side by side, and the numbers follow the order of the calls.
    pub fn number(&self, call: &str) {
        let mut state = self.state.lock();
        state.last += 1;
        let number = state.last;
        state.numbers.push((call.to_owned(), number));
    }

    /// One more begins.
    fn add(&self, new: New) -> Arc<Subagent> {
        let New { call, task, means } = new;
        let mut state = self.state.lock();
        let known = state.numbers.iter().position(|(of, _)| *of == call);
        let number = known.map_or(state.last + 1, |at| state.numbers.remove(at).1);
        state.last = state.last.max(number);
        let speaker = Speaker {
            agent: means.agent.name.clone(),
            model: means.agent.model.clone(),
        };
        let subagent = Arc::new(Subagent {
            number,
            name: named(&speaker, number),
            call,
            task,
            speaker,
            origin: Origin::Here(means),
            stop: CancellationToken::new(),
            live: Mutex::new(Live::begin()),
        });
        state.all.insert(number, Arc::clone(&subagent));
        state.of_turn.insert(number, Arc::clone(&subagent));
        subagent
    }

    /// One is over.
    fn ended(&self, subagent: &Subagent, end: SubagentEnd) {
        subagent.note(|live| {
            live.duration = Some(live.elapsed());
            live.activity.clear();
            live.end = Some(end);
        });
        self.forget_old();
    }

    /// Forgets the oldest that have ended, but for the last few.
    fn forget_old(&self) {
        let mut state = self.state.lock();
        let ended = state.all.values().filter(|it| it.has_ended()).count();
        let mut surplus = ended.saturating_sub(MAX_LISTED);
        state.all.retain(|_, it| {
            let goes = surplus > 0 && it.has_ended();
            surplus -= usize::from(goes);
            !goes
        });
    }

    /// All that are known, by their numbers.
    pub fn all(&self) -> Vec<Arc<Subagent>> {
        self.state.lock().all.values().cloned().collect()
    }

    /// Those of this turn, or of the last one, by their numbers.
    pub fn of_turn(&self) -> Vec<Arc<Subagent>> {
        self.state.lock().of_turn.values().cloned().collect()
    }

    /// The one with this number.
    pub fn find(&self, number: u64) -> Option<Arc<Subagent>> {
        let state = self.state.lock();
        let mut known = state.known();
        known.find(|it| it.number == number).cloned()
    }

    /// The one that runs for the call with this id.
    pub fn of_call(&self, call: &str) -> Option<Arc<Subagent>> {
        let state = self.state.lock();
        let its = state.known().filter(|it| it.call == call);
        its.max_by_key(|it| it.number).cloned()
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
        let costs = of_turn.iter().map(|it| it.cost());
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

/// What the subagent with this number is called.
fn named(speaker: &Speaker, number: u64) -> String {
    match speaker.agent.as_str() {
        // The first line of its file cannot be read.
        "" => format!("subagent {number}"),
        agent => format!("{agent} {number}"),
    }
}
