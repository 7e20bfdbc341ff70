//! What a turn costs while pausing is off: the chat's interceptor in that mode beside a turn without any, and a turn of a
//! session with an inspector attached beside one without. Both are taken in turns within one run. The server answers at
//! once, so that nothing but the turn is measured. Prints figures and decides nothing.

use std::error::Error;
use std::future::pending;
use std::io::{BufRead, BufReader};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dunlin::app::App;
use dunlin::args::Global;
use dunlin::config::env::Environment;
use dunlin::config::request_editor::PauseMode;
use dunlin::inspect::folder::sockets;
use dunlin::inspect::protocol::{self, Pauses, Subagents};
use dunlin::inspect::server::{Listening, listen};
use dunlin::inspect::shared_state::{Chat, SharedState};
use dunlin::prompt::interceptor::TerminalInterceptor;
use dunlin::prompt::line::Recall;
use dunlin::prompt::metadata::Answering;
use dunlin::provider::provider;
use dunlin::repl::slash::SlashCommands;
use dunlin::settings::Settings;
use dunlin_chat::agent::Agent;
use dunlin_chat::message::{Conversation, Message, Role};
use dunlin_chat::provider::error::ProviderError;
use dunlin_chat::provider::retry::RetryPolicy;
use dunlin_chat::provider::{Dialect, EventStream, Finish, Provider, ReplyEnd, StreamEvent};
use dunlin_chat::request::{ContextBudget, HistoryLimits, Request};
use dunlin_chat::session::record::Speaker;
use dunlin_chat::session::{Session, Store};
use dunlin_chat::turn::approve::DenyAll;
use dunlin_chat::turn::{
    CallContext, CallView, Frontend, Interceptor, Journal, NoInterceptor, NoJournal, Tools,
    TurnContext, TurnRules, run_turn,
};
use dunlin_host::Progress;
use dunlin_host::ask::{Answer, Ask};
use dunlin_host::call::{Call, Failure, Outcome, Plan};
use dunlin_provider::http::Timeouts;
use dunlin_terminal::ui::Ui;
use futures::stream;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

/// Messages of the conversations, and how many turns of each are measured.
const SIZES: [(usize, usize); 2] = [(2, 2_000), (1_000, 100)];

/// Bytes of a message.
const MESSAGE_BYTES: usize = 200;

/// Answers every request with one word.
struct Fast(Arc<dyn Provider>);

#[async_trait]
impl Provider for Fast {
    fn dialect(&self) -> Arc<dyn Dialect> {
        self.0.dialect()
    }

    async fn send(&self, _request: &Request) -> Result<EventStream, ProviderError> {
        let end = ReplyEnd {
            calls: Vec::new(),
            finish: Finish::Complete,
            replay: None,
        };
        let events = [StreamEvent::Text("Yes.".to_owned()), StreamEvent::End(end)];
        Ok(Box::pin(stream::iter(events.map(Ok))))
    }
}

/// There are no tools.
struct Nothing;

#[async_trait]
impl Tools for Nothing {
    async fn prepare(&self, call: &Call) -> Result<Plan, Failure> {
        Err(unknown(call))
    }

    async fn answer(&self, call: &Call, _plan: &Plan, _answer: Answer) -> Result<(), Failure> {
        Err(unknown(call))
    }

    async fn run(
        &self,
        call: &Call,
        _plan: &Plan,
        _ask: Arc<dyn Ask>,
        _progress: Arc<dyn Progress>,
    ) -> Outcome {
        Outcome {
            result: Err(unknown(call)),
            duration: Duration::ZERO,
            edits: Vec::new(),
            said: String::new(),
        }
    }

    fn cancelled(&self, _call: &Call) -> Option<Outcome> {
        None
    }
}

fn unknown(call: &Call) -> Failure {
    Failure::UnknownTool {
        name: call.tool.clone(),
        near: Vec::new(),
    }
}

impl Progress for Nothing {
    fn progress(&self, _call: &str, _message: &str, _percent: Option<u8>) {}
}

impl Frontend for Nothing {
    fn text(&self, _piece: &str) {}
    fn call(&self, _call: &CallView) {}
    fn notice(&self, _text: &str) {}
}

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let app = app(home.path())?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let agent = Agent::sample();
    let inside = runtime.enter();
    let fast = Fast(provider(&agent, None, Timeouts::default())?);
    drop(inside);
    let answering = Answering {
        agent: &agent,
        provider: &fast,
    };
    let off = TerminalInterceptor::new(&app, &[], Arc::new(Recall::default()), answering);
    println!(
        "{:<12} {:>14} {:>14}  ratio",
        "messages", "no interceptor", "pausing off"
    );
    let turns = Turns {
        runtime: &runtime,
        agent: &agent,
        provider: &fast,
    };
    for (messages, count) in SIZES {
        let conversation = conversation(messages);
        compare(
            messages,
            count,
            || turns.take(&conversation, &NoInterceptor, &NoJournal),
            || turns.take(&conversation, &off, &NoJournal),
        )?;
    }
    println!(
        "{:<12} {:>14} {:>14}  ratio",
        "messages", "not inspected", "inspected"
    );
    for (messages, count) in SIZES {
        let conversation = conversation(messages);
        let [alone, inspected] = ["alone", "inspected"].map(|name| home.path().join(name));
        let (alone, _alone) = watched(&app.store(), &alone)?;
        let (inspected, listening) = watched(&app.store(), &inspected)?;
        let inspector = attach(&listening.folder)?;
        compare(
            messages,
            count,
            || turns.take(&conversation, &off, &alone),
            || turns.take(&conversation, &off, &inspected),
        )?;
        drop((inspected, listening));
        inspector.shutdown(Shutdown::Both)?;
    }
    Ok(())
}

/// What takes turns.
struct Turns<'a> {
    runtime: &'a Runtime,
    agent: &'a Agent,
    provider: &'a Fast,
}

impl Turns<'_> {
    /// Takes a turn behind this conversation.
    fn take(
        &self,
        conversation: &Conversation,
        interceptor: &dyn Interceptor,
        journal: &dyn Journal,
    ) -> Result<Duration, Box<dyn Error>> {
        let mut conversation = conversation.clone();
        let context_budget = Mutex::new(ContextBudget::default());
        let context = TurnContext {
            agent: self.agent,
            provider: self.provider,
            tool_list: &[],
            limits: HistoryLimits::default(),
            context_budget: &context_budget,
            retries: RetryPolicy::with_retries(0),
            journal,
            interceptor,
            calls: CallContext {
                tools: &Nothing,
                rules: TurnRules::default(),
                approver: &DenyAll,
                ask: Arc::new(dunlin_host::ask::DenyAll),
                frontend: Arc::new(Nothing),
            },
        };
        let start = Instant::now();
        let turn = run_turn(&mut conversation, "Go".into(), &context, pending());
        let report = self.runtime.block_on(turn);
        match report.reply.is_empty() {
            true => Err("a turn was not answered".into()),
            false => Ok(start.elapsed()),
        }
    }
}

/// Takes turns of both kinds, each as often the first as the other, and prints how long they take.
#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn compare(
    messages: usize,
    count: usize,
    without: impl Fn() -> Result<Duration, Box<dyn Error>>,
    with: impl Fn() -> Result<Duration, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let (mut one, mut other) = (Vec::new(), Vec::new());
    for turn in 0..count {
        if turn % 2 == 0 {
            one.push(without()?);
            other.push(with()?);
        } else {
            other.push(with()?);
            one.push(without()?);
        }
    }
    let (one, other) = (median(one), median(other));
    let shown = |took: Duration| format!("{:.1} µs", took.as_secs_f64() * 1e6);
    println!(
        "{messages:<12} {:>14} {:>14}  ×{:.3}",
        shown(one),
        shown(other),
        other.as_secs_f64() / one.as_secs_f64()
    );
    Ok(())
}

/// A chat that nobody has to wake.
struct Asleep;

impl Chat for Asleep {
    fn pauses(&self) -> Pauses {
        Pauses {
            mode: PauseMode::Off,
            ..Pauses::default()
        }
    }

    fn subagents(&self) -> Subagents {
        Subagents::default()
    }

    fn set_mode(&self, _: PauseMode) {}

    fn wake(&self) {}
}

/// Where an inspector can attach, as long as it lives.
struct Open {
    folder: PathBuf,
    _listening: Listening,
}

/// A session whose requests are published, as those of a chat on a terminal are.
fn watched(store: &Store, folder: &Path) -> Result<(Session, Open), Box<dyn Error>> {
    let shared = Arc::new(SharedState::new(Box::new(Asleep)));
    let listening = listen(folder, &shared)?;
    let speaker = Speaker {
        agent: "assistant".to_owned(),
        model: "small".to_owned(),
    };
    let session = Session::fresh(store, &Store::new_id(), speaker);
    let id = session.id();
    shared.set_conversation(protocol::Conversation {
        session: id.clone(),
        ..Default::default()
    });
    let watcher = move |number, _: Option<&str>| shared.logged(&id, number);
    session.requests().watch(watcher);
    let open = Open {
        folder: folder.to_path_buf(),
        _listening: listening,
    };
    Ok((session, open))
}

/// Attaches to the chat that listens there, and reads whatever it says.
fn attach(folder: &Path) -> Result<UnixStream, Box<dyn Error>> {
    let socket = sockets(folder).pop().ok_or("no socket")?;
    let stream = UnixStream::connect(socket)?;
    let mut from = BufReader::new(stream.try_clone()?);
    let mut hello = String::new();
    from.read_line(&mut hello)?;
    std::thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()));
    Ok(stream)
}

/// A chat with an empty home folder.
fn app(home: &Path) -> Result<App, Box<dyn Error>> {
    let environment: Environment = [("HOME", home)].into_iter().collect();
    let global = Global::default();
    let ui = Ui::new(global.terminal(), &environment, true);
    let settings = Settings::load(&global, environment, home)?;
    Ok(App::new(Arc::new(ui), settings, Vec::new(), &SlashCommands))
}

fn conversation(messages: usize) -> Conversation {
    let mut conversation = Conversation::new();
    for index in 0..messages / 2 {
        conversation.push_user(format!("{index} ").repeat(MESSAGE_BYTES / 4));
        conversation.push_assistant(Message::text(Role::Assistant, "Yes."));
    }
    conversation
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
