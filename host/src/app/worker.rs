//! The task of an app: it owns the instance, and does one thing after the other.

use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use wasmtime::Store;

use super::AppOptions;
use super::budget::Budget;
use super::engine::{Apps, Instance, Tenant};
use super::error::{AppError, ProgramError};
use super::page::{AppPage, LogLevel};
use crate::ask::{Answer, Ask, Question};
use crate::bindings::app::App as Bindings;
use crate::bindings::app::exports::dunlin::tool::app_program as wire;
use crate::capability::CallState;
use crate::capability::page::Page;
use crate::display::chain;
use crate::engine::memory_limit::Refused;
use crate::engine::time_limit::{Clock, Pause};
use crate::limits::{
    APP_START_PERIOD, APP_TIMER_PERIOD, MAX_APP_ANSWER_BYTES, MAX_APP_STARTS, MAX_WAITING_CALLS,
};
use crate::trap::explain;

type Reply<T> = oneshot::Sender<Result<T, AppError>>;

/// What is wanted of an app.
pub(super) enum Command {
    Start(Reply<()>),
    Invoke {
        name: String,
        arguments: String,
        reply: Reply<String>,
    },
}

/// A call whose handler waits.
struct Waiting {
    reply: Reply<String>,
    clock: Clock,
}

pub(super) struct Worker {
    apps: Arc<Apps>,
    tenant: Tenant,
    source: String,
    page: Arc<dyn AppPage>,
    asker: Arc<Asker>,
    commands: mpsc::Receiver<Command>,
    instance: Option<Instance>,
    waiting: HashMap<u64, Waiting>,
    /// The number of the last call.
    last_call: u64,
    /// When the timers are to be run.
    due: Option<Instant>,
    /// When the program was started, of late.
    starts: VecDeque<Instant>,
    /// Why it ended the last time.
    ended: Option<AppError>,
    /// The same, as long as no reply says it.
    untold: Option<AppError>,
    budget: Budget,
}

impl Worker {
    pub(super) fn new(
        apps: Arc<Apps>,
        options: &AppOptions,
        commands: mpsc::Receiver<Command>,
    ) -> Worker {
        Worker {
            apps,
            tenant: Tenant {
                caller: options.caller(),
                id: Arc::new(options.identity()),
            },
            source: options.source.clone(),
            page: Arc::clone(&options.page),
            asker: Arc::new(Asker {
                ask: Arc::clone(&options.ask),
                waiting: Mutex::default(),
            }),
            commands,
            instance: None,
            waiting: HashMap::new(),
            last_call: 0,
            due: None,
            starts: VecDeque::new(),
            ended: None,
            untold: None,
            budget: Budget::new(),
        }
    }

    /// Serves the app until nobody has it any more.
    pub(super) async fn work(mut self) {
        loop {
            self.waiting.retain(|_, it| !it.reply.is_closed());
            tokio::select! {
                biased;
                call = first_late(&self.waiting) => {
                    if let Some(late) = self.waiting.remove(&call) {
                        // Whoever asked may be gone, here and below.
                        let _ = late.reply.send(Err(AppError::Timeout(self.apps.limits.run_time)));
                    }
                }
                command = self.commands.recv() => match command {
                    Some(Command::Start(reply)) => {
                        let started = self.start().await;
                        self.reply(reply, started);
                    }
                    Some(Command::Invoke { name, arguments, reply }) => {
                        self.invoke(&name, &arguments, reply).await;
                    }
                    None => return,
                },
                () = reached(self.due) => self.run_timers().await,
            }
            if let Some(error) = self.untold.take() {
                let text = format!("the program was ended: {error}");
                self.page.logged(LogLevel::Error, &text);
            }
        }
    }

    /// Whoever asked may be gone.
    fn reply<T>(&mut self, reply: Reply<T>, outcome: Result<T, AppError>) {
        let is_error = outcome.is_err();
        if reply.send(outcome).is_ok() && is_error {
            self.untold = None;
        }
    }

    /// Has the program run.
    async fn start(&mut self) -> Result<(), AppError> {
        if self.instance.is_some() {
            return Ok(());
        }
        let now = Instant::now();
        self.starts
            .retain(|start| now.duration_since(*start) < APP_START_PERIOD);
        if let Some(last) = &self.ended
            && self.starts.len() >= MAX_APP_STARTS
        {
            let last = Box::new(last.clone());
            return Err(AppError::Resting { last });
        }
        let started = self.start_once().await;
        if let Err(error) = &started {
            self.ended = Some(error.clone());
        }
        started
    }

    async fn start_once(&mut self) -> Result<(), AppError> {
        let page = Page::new(Arc::clone(&self.page));
        let asker: Arc<dyn Ask> = self.asker.clone();
        let instance = self.apps.instantiate(&self.tenant, page, asker).await?;
        self.instance = Some(instance);
        self.starts.push_back(Instant::now());
        let source = std::mem::take(&mut self.source);
        let clock = Clock::start(self.apps.limits.run_time);
        let started = self
            .event(
                &clock,
                async |app, store| {
                    app.dunlin_tool_app_program()
                        .call_start(store, &source)
                        .await
                },
                |started| started.as_ref().err(),
            )
            .await;
        self.source = source;
        if let Err(error) = started? {
            let error = self.thrown(error);
            // What ran of it may have registered handlers; half a program is none.
            self.instance = None;
            return Err(error);
        }
        self.run_timers().await;
        match (&self.instance, &self.ended) {
            (None, Some(error)) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    async fn invoke(&mut self, name: &str, arguments: &str, reply: Reply<String>) {
        if reply.is_closed() {
            return;
        }
        if let Err(error) = self.start().await {
            self.reply(reply, Err(error));
            return;
        }
        if self.waiting.len() >= MAX_WAITING_CALLS {
            let _ = reply.send(Err(AppError::TooManyCalls(MAX_WAITING_CALLS)));
            return;
        }
        self.last_call += 1;
        let call = self.last_call;
        let clock = Clock::start(self.apps.limits.run_time);
        let invoked = self
            .event(
                &clock,
                async |app, store| {
                    let program = app.dunlin_tool_app_program();
                    program.call_invoke(store, call, name, arguments).await
                },
                |outcome| outcome.as_ref()?.as_ref().err(),
            )
            .await;
        match invoked {
            Ok(Some(outcome)) => {
                let _ = reply.send(self.value(outcome));
            }
            Ok(None) => {
                self.asker.waiting.lock().insert(call, clock.clone());
                self.waiting.insert(call, Waiting { reply, clock });
            }
            Err(error) => {
                self.reply(reply, Err(error));
                return;
            }
        }
        self.run_timers().await;
    }

    /// Runs the timers that are due, and tells the calls that came to an end by it.
    async fn run_timers(&mut self) {
        self.due = None;
        if self.instance.is_none() {
            return;
        }
        let clock = Clock::start(self.apps.limits.run_time);
        let progress = self
            .event(
                &clock,
                async |app, store| app.dunlin_tool_app_program().call_run_timers(store).await,
                |progress| {
                    let mut settled = progress.settled.iter();
                    settled.find_map(|it| it.outcome.as_ref().err())
                },
            )
            .await;
        // Whoever waits was told what ended the program.
        let Ok(progress) = progress else {
            return;
        };
        for wire::Settled { call, outcome } in progress.settled {
            self.asker.waiting.lock().remove(&call);
            // Of a call that nobody waits for any more nothing comes.
            if let Some(waiting) = self.waiting.remove(&call) {
                let _ = waiting.reply.send(self.value(outcome));
            }
        }
        self.due = progress.next_timer_ms.and_then(|ms| {
            let wait = Duration::from_millis(ms).max(APP_TIMER_PERIOD);
            Instant::now().checked_add(wait)
        });
    }

    /// Runs one function of the instance, within the limits of a call. What ends it by force ends the instance, and all calls
    /// that wait. `failed`: what of its value is an error of the program.
    async fn event<T>(
        &mut self,
        clock: &Clock,
        function: impl AsyncFnOnce(&Bindings, &mut Store<CallState>) -> wasmtime::Result<T>,
        failed: impl Fn(&T) -> Option<&wire::Error>,
    ) -> Result<T, AppError> {
        // Here until it is known to have survived.
        let Some(mut instance) = self.instance.take() else {
            return Err(AppError::Closed);
        };
        self.forget_cancelled();
        let call = self.apps.next_event();
        let allowance = self.budget.begin_event(Instant::now());
        let Instance {
            store, bindings, ..
        } = &mut instance;
        store
            .data_mut()
            .begin_event(&call, clock.clone(), allowance);
        let engine = self.apps.engine().await?;
        let outcome = {
            let _running = engine.machine.ticking.running();
            tokio::select! {
                biased;
                outcome = function(bindings, store) => Some(outcome),
                () = clock.expired() => None,
            }
        };
        let state = store.data();
        let is_short = state.limiter.refused() == Some(Refused::Memory);
        let limits = &self.apps.limits;
        let memory = || AppError::Memory {
            mebibytes: limits.memory_bytes >> 20,
        };
        let outcome = match outcome {
            None => Err(AppError::Deadline(limits.run_time)),
            Some(Err(_)) if is_short => Err(memory()),
            Some(Err(error)) => Err(AppError::Crash(explain(&error, state, limits))),
            // It ran out of memory, and did not come to terms with that.
            Some(Ok(value)) if is_short && failed(&value).is_some() => Err(memory()),
            Some(Ok(value)) => Ok(value),
        };
        match outcome {
            Ok(value) => {
                let error = failed_words(failed(&value));
                let ended = store.data_mut().end_event(error.as_deref(), None);
                self.budget.end_event(store.data().app_counts());
                self.instance = Some(instance);
                ended.map_err(|e| AppError::Unavailable(chain(&e)))?;
                Ok(value)
            }
            Err(error) => {
                let words = error.to_string();
                // A store that was stopped in the middle is not touched again, only dropped.
                let mut state = instance.store.into_data();
                // That the log has a gap matters less than why the program ended.
                let _ = state.end_event(Some(&words), Some(&words));
                self.budget.end_event(state.app_counts());
                self.end(&error);
                Err(error)
            }
        }
    }

    /// The instance is gone.
    fn end(&mut self, error: &AppError) {
        self.due = None;
        self.ended = Some(error.clone());
        self.asker.waiting.lock().clear();
        self.untold = Some(error.clone());
        for (_, waiting) in std::mem::take(&mut self.waiting) {
            self.reply(waiting.reply, Err(error.clone()));
        }
    }

    /// Nobody waits for these any more.
    fn forget_cancelled(&mut self) {
        self.waiting.retain(|_, it| !it.reply.is_closed());
        let waiting = &self.waiting;
        self.asker
            .waiting
            .lock()
            .retain(|call, _| waiting.contains_key(call));
    }

    /// What the program threw in the event that has just ended.
    fn thrown(&self, error: wire::Error) -> AppError {
        let mut error = ProgramError::from(error);
        let context = self.instance.as_ref().map(|it| &it.store.data().context);
        error.is_refused_by_user = error.kind.as_deref() == Some(ProgramError::DENIED)
            && context.is_some_and(|it| it.questions.was_denied_by_user);
        AppError::Program(error)
    }

    fn value(&self, outcome: Result<String, wire::Error>) -> Result<String, AppError> {
        let value = outcome.map_err(|error| self.thrown(error))?;
        AppError::check_size("the JSON of the value", value.len(), MAX_APP_ANSWER_BYTES)?;
        Ok(value)
    }
}

/// An error of the program, for the audit log.
fn failed_words(error: Option<&wire::Error>) -> Option<String> {
    error.map(|error| ProgramError::from(error.clone()).to_string())
}

async fn reached(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => pending().await,
    }
}

/// Waits until the time of one of these calls has run out.
async fn first_late(waiting: &HashMap<u64, Waiting>) -> u64 {
    if waiting.is_empty() {
        return pending().await;
    }
    let late = waiting.iter().map(|(call, it)| {
        Box::pin(async move {
            it.clock.expired().await;
            *call
        })
    });
    futures::future::select_all(late).await.0
}

/// Asks for an app. The clocks of all calls that wait stand meanwhile: the whole program waits for the answer.
struct Asker {
    ask: Arc<dyn Ask>,
    waiting: Mutex<HashMap<u64, Clock>>,
}

#[async_trait]
impl Ask for Asker {
    async fn ask(&self, question: Question) -> Answer {
        let _paused: Vec<Pause> = self.waiting.lock().values().map(Clock::pause).collect();
        self.ask.ask(question).await
    }

    fn is_attended(&self) -> bool {
        self.ask.is_attended()
    }

    fn went_unasked(&self, question: &Question) {
        self.ask.went_unasked(question);
    }
}
