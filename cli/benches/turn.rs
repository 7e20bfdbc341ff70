//! What a turn costs while pausing is off: the chat's interceptor in that mode beside a turn without any, taken in turns
//! within one run. The server answers at once, so that nothing but the turn is measured. Prints figures and decides nothing.

use std::error::Error;
use std::future::pending;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dunlin::app::App;
use dunlin::args::Global;
use dunlin::config::env::Environment;
use dunlin::provider::provider;
use dunlin::repl::interceptor::TerminalInterceptor;
use dunlin::repl::line::Recall;
use dunlin::repl::metadata::Answering;
use dunlin::repl::slash::SlashCommands;
use dunlin::settings::Settings;
use dunlin_chat::agent::Agent;
use dunlin_chat::message::{Conversation, Message, Role};
use dunlin_chat::provider::error::ProviderError;
use dunlin_chat::provider::retry::RetryPolicy;
use dunlin_chat::provider::{Dialect, EventStream, Finish, Provider, ReplyEnd, StreamEvent};
use dunlin_chat::request::{ContextBudget, HistoryLimits, Request};
use dunlin_chat::turn::approve::DenyAll;
use dunlin_chat::turn::{
    CallContext, CallView, Frontend, Interceptor, NoInterceptor, NoJournal, Tools, TurnContext,
    TurnRules, run_turn,
};
use dunlin_host::Progress;
use dunlin_host::ask::{Answer, Ask};
use dunlin_host::call::{Call, Failure, Outcome, Plan};
use dunlin_provider::http::Timeouts;
use dunlin_terminal::ui::Ui;
use futures::stream;

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
        }
    }

    fn cancelled(&self, _call: &Call) {}
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
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let agent = Agent::sample();
    let inside = runtime.enter();
    let fast = Fast(provider(&agent, Timeouts::default())?);
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
    for (messages, turns) in SIZES {
        let conversation = conversation(messages);
        let take = |interceptor: &dyn Interceptor| {
            let mut conversation = conversation.clone();
            let context_budget = Mutex::new(ContextBudget::default());
            let context = TurnContext {
                agent: &agent,
                provider: &fast,
                tool_list: &[],
                limits: HistoryLimits::default(),
                context_budget: &context_budget,
                retries: RetryPolicy::with_retries(0),
                journal: &NoJournal,
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
            let report = runtime.block_on(run_turn(
                &mut conversation,
                "Go".into(),
                &context,
                pending(),
            ));
            (start.elapsed(), report.reply.len())
        };
        let (mut without, mut with) = (Vec::new(), Vec::new());
        for turn in 0..turns {
            // Each is the first one as often as the other.
            let (first, second): (&dyn Interceptor, &dyn Interceptor) = match turn % 2 {
                0 => (&NoInterceptor, &off),
                _ => (&off, &NoInterceptor),
            };
            let (one, other) = (take(first), take(second));
            if one.1 == 0 || other.1 == 0 {
                return Err("a turn was not answered".into());
            }
            let (one, other) = match turn % 2 {
                0 => (one.0, other.0),
                _ => (other.0, one.0),
            };
            without.push(one);
            with.push(other);
        }
        let (without, with) = (median(without), median(with));
        let shown = |took: Duration| format!("{:.1} µs", took.as_secs_f64() * 1e6);
        println!(
            "{messages:<12} {:>14} {:>14}  ×{:.3}",
            shown(without),
            shown(with),
            with.as_secs_f64() / without.as_secs_f64()
        );
    }
    Ok(())
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
