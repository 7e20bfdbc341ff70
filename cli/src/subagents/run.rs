//! Runs subagents beside the turn that started them.
//!
//! All of them are polled in one future, in the task of the turn: nothing is spawned, so nothing outlives the turn. How many
//! run at once is for the turn to say, which starts their calls.

use std::cell::OnceCell;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use dunlin_chat::agent::{Agent, RUN_SUBAGENT};
use dunlin_chat::message::{Conversation, UserMessage};
use dunlin_chat::provider::Provider;
use dunlin_chat::provider::retry::RetryPolicy;
use dunlin_chat::session::requests::RequestLog;
use dunlin_chat::session::{Session, Store};
use dunlin_chat::turn::{
    CallContext, Journal, NoInterceptor, TurnContext, TurnEnd, TurnReport, TurnRules, run_turn,
    with_joined,
};
use dunlin_host::subagent::{ContextFile, SubagentEnd, SubagentReport, SubagentTask};
use dunlin_host::{ForeignError, Host, Tool};
use dunlin_terminal::ui::Ui;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Duration, MissedTickBehavior, interval};

use super::frontend::SubagentFrontend;
use super::journal::SubagentJournal;
use super::launch::Start;
use super::{Means, New, Roster, Subagent};
use crate::app::App;
use crate::dialogue::sampling_model::{AskWithModel, SamplingModel};
use crate::error::CliError;
use crate::instructions::SessionInstructions;
use crate::modes;
use crate::prompt::decider::Decider;
use crate::provider::connect;

/// What stands before the files of a task.
const HEADING: &str = "Files that were given with this task:";

/// How often the rows are drawn again: they count seconds.
const TICK: Duration = Duration::from_secs(1);

/// What subagents have of the chat that starts them.
pub struct Parent<'a> {
    /// Everything else.
    pub app: &'a App,
    /// What runs their calls.
    pub host: &'a Host,
    /// The agent of the chat.
    pub agent: &'a Agent,
    /// The way to its model.
    pub provider: &'a Arc<dyn Provider>,
    /// All tools there are from the beginning.
    pub tools: &'a [Tool],
    /// What the agents of the session are told at the beginning.
    pub instructions: Option<&'a SessionInstructions>,
    /// The same, shared by all of them.
    pub shared_tools: OnceCell<Arc<[Tool]>>,
    /// Decides about their calls.
    pub decider: &'a Decider<'a>,
    /// The chat's model, for MCP servers.
    pub sampling_model: &'a Arc<SamplingModel>,
    /// A conversation of the chat's session, in which nothing is said: theirs are beside it.
    pub conversation: Conversation,
    /// Where the chat is kept: its store, its id, and the log of its requests.
    pub session: Option<(Store, String, RequestLog)>,
    /// Where they are listed.
    pub roster: &'a Arc<Roster>,
}

impl Parent<'_> {
    /// Runs whatever is to be started. Never ends; to be polled beside the turn. Dropping it ends all of them.
    pub async fn serve(&self, mut starts: mpsc::UnboundedReceiver<Start>) -> Infallible {
        let mut running = FuturesUnordered::new();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                Some(start) = starts.recv() => running.push(self.start(start)),
                Some(()) = running.next() => {}
                _ = tick.tick(), if !running.is_empty() => {}
                else => std::future::pending().await,
            }
            self.roster.draw(&self.app.ui);
        }
    }

    /// Runs one until it has ended, or nobody waits for it any more.
    async fn start(&self, start: Start) {
        let Start {
            call,
            task,
            mut report,
        } = start;
        let ended = tokio::select! {
            biased;
            // Dropping it has said that it was stopped.
            () = report.closed() => return,
            // One that fails in a way that nobody has thought of must not end the others.
            ended = AssertUnwindSafe(self.run(&call, task)).catch_unwind() => {
                ended.unwrap_or_else(|_| Err("the subagent crashed, which is a defect of Dunlin".into()))
            }
        };
        // Whoever waited may have gone.
        let _ = report.send(ended);
    }

    async fn run(&self, call: &str, task: SubagentTask) -> Result<SubagentReport, ForeignError> {
        let agent = self.agent_of(&task).await?;
        let tools = self.shared_tools.get_or_init(|| self.tools.into());
        let tools = Arc::clone(tools);
        let store = self.session.as_ref();
        let store = store.map(|(store, id, _)| store.of_subagents(id));
        let provider = self.provider_of(&agent).map_err(|it| it.in_one_line())?;
        let means = Arc::new(Means {
            agent,
            tools,
            provider,
        });
        let subagent = self.roster.add(New {
            call: call.to_owned(),
            task: task.task.clone(),
            means: Arc::clone(&means),
        });
        let (end, text) = self.turn(&subagent, &means, &task, store.as_ref()).await;
        let live = subagent.live();
        Ok(SubagentReport {
            name: subagent.name.clone(),
            end,
            text,
            rounds: live.rounds,
            calls: live.calls,
            input_tokens: live.charge.usage.input_tokens,
            output_tokens: live.charge.usage.output_tokens,
            duration: live.elapsed(),
        })
    }

    /// Leads its conversation; how that ended, and what it said last.
    async fn turn(
        &self,
        subagent: &Arc<Subagent>,
        means: &Means,
        task: &SubagentTask,
        store: Option<&Store>,
    ) -> (SubagentEnd, String) {
        let (app, settings) = (self.app, &self.app.settings);
        let agent = &means.agent;
        let number = subagent.number;
        let session = store.map(|store| {
            let speaker = subagent.speaker.clone();
            Session::fresh(store, &number.to_string(), speaker).for_call(&subagent.call)
        });
        let journal = SubagentJournal {
            subagent: Arc::clone(subagent),
            session,
            log: self.session.as_ref().map(|(_, _, log)| log.clone()),
        };
        let ask = Arc::new(AskWithModel {
            ask: self.decider.ask(Some(&subagent.name)),
            model: Arc::clone(self.sampling_model),
            // A subagent starts none.
            subagents: None,
            unasked: Mutex::default(),
        });
        let approver = self.decider.approver_of(number, &subagent.name);
        let most = settings.limits.max_tool_rounds.value.clamped();
        let context_budget = Mutex::default();
        let context = TurnContext {
            agent,
            provider: means.provider.as_ref(),
            tool_list: &means.tools,
            limits: settings.history_limits(),
            context_budget: &context_budget,
            retries: RetryPolicy::with_retries(settings.limits.max_retries.value),
            journal: &journal,
            interceptor: &NoInterceptor,
            calls: CallContext {
                tools: self.host,
                rules: TurnRules {
                    on_denial: settings.general.on_denial.value,
                    max_tool_rounds: task.max_rounds.map_or(most, |rounds| rounds.min(most)),
                },
                approver: approver.as_ref(),
                ask: ask.clone(),
                frontend: Arc::new(SubagentFrontend {
                    subagent: Arc::clone(subagent),
                    roster: Arc::clone(self.roster),
                    ui: Arc::clone(&app.ui),
                    calls: Arc::clone(&app.calls),
                    edits: Mutex::default(),
                }),
            },
        };
        let mut kept = KeptConversation {
            journal: &journal,
            roster: self.roster,
            ui: &app.ui,
            conversation: self.conversation.beside(),
            end: None,
        };
        let stop = subagent.stop.cancelled();
        let mut message = message(task);
        modes::add_note(&mut message.text, app.mode.get());
        let mut report = run_turn(&mut kept.conversation, message, &context, stop).await;
        ask.complete(&mut report.denials);
        for denial in &mut report.denials {
            denial.subagent = Some(subagent.name.clone());
        }
        subagent.note(|live| live.denials.clone_from(&report.denials));
        let text = std::mem::take(&mut report.reply);
        let end = end_of(&report);
        kept.end = Some(end.clone());
        (end, text)
    }

    /// Who a task is for. It never has more tools than the chat that starts it.
    async fn agent_of(&self, task: &SubagentTask) -> Result<Agent, ForeignError> {
        let app = self.app;
        let mut agent = match &task.agent {
            Some(name) => {
                let (mut agent, key) = app.settings.subagent(name, self.agent)?;
                if let Some(key) = key {
                    let (secret, warning) = spawn_blocking(move || key.read()).await??;
                    agent.api_key = Some(secret);
                    if let Some(warning) = warning {
                        app.ui.warn(&warning);
                    }
                }
                if let Some(instructions) = self.instructions {
                    instructions.apply_to(&app.settings, &mut agent);
                }
                agent
            }
            None => {
                let mut agent = self.agent.clone();
                agent.denied_tools.push(RUN_SUBAGENT.to_owned());
                agent
            }
        };
        if let Some(wanted) = &task.tools {
            let all = with_joined(self.tools, self.host.joined());
            let exists = |name: &String| all.iter().any(|tool| tool.name == *name);
            let other = wanted
                .iter()
                .find(|name| !agent.may_use(name) || !exists(name));
            if let Some(other) = other {
                let own = all.iter().map(|tool| tool.name.as_str());
                let own: Vec<&str> = own.filter(|name| agent.may_use(name)).collect();
                let problem = format!("tools: it cannot have {other:?}, only {}", own.join(", "));
                return Err(problem.into());
            }
            agent.tools = Some(wanted.clone());
        }
        Ok(agent)
    }

    /// The way to its model: that of the chat, where it is the same.
    fn provider_of(&self, agent: &Agent) -> Result<Arc<dyn Provider>, CliError> {
        let own = self.agent;
        let is_same = (agent.api, &agent.base_url, &agent.api_key, &agent.endpoint)
            == (own.api, &own.base_url, &own.api_key, &own.endpoint)
            && (&agent.model, &agent.known_as) == (&own.model, &own.known_as);
        match is_same {
            true => Ok(Arc::clone(self.provider)),
            false => connect(self.app, agent),
        }
    }
}

/// The conversation of a subagent. It is kept when the subagent is over, also where this is dropped.
struct KeptConversation<'a> {
    journal: &'a SubagentJournal,
    roster: &'a Roster,
    ui: &'a Ui,
    conversation: Conversation,
    /// How it ended; `None`: it was stopped with its turn.
    end: Option<SubagentEnd>,
}

impl Drop for KeptConversation<'_> {
    fn drop(&mut self) {
        let subagent = &self.journal.subagent;
        subagent.note(|live| live.messages = self.conversation.snapshot());
        let end = self.end.take().unwrap_or(SubagentEnd::Stopped);
        self.roster.ended(subagent, end);
        let Some(session) = &self.journal.session else {
            return;
        };
        session.keep(&self.conversation, &[]);
        let live = subagent.live();
        let sync = session.turn_ended(&self.conversation, live.charge);
        session.subagent_ended(live.entry());
        if let Some(sync) = sync {
            spawn_blocking(|| sync.run());
        }
        if let Some(trouble) = session.take_trouble() {
            self.ui.warn(&trouble);
        }
    }
}

/// The task with its files, as the first message.
fn message(task: &SubagentTask) -> UserMessage {
    let mut text = task.task.clone();
    if !task.context.is_empty() {
        text.push_str(&format!("\n\n{HEADING}\n"));
    }
    for ContextFile {
        path,
        text: content,
    } in &task.context
    {
        text.push_str(&format!("\n{path}:\n{content}\n"));
    }
    UserMessage {
        text,
        attached: task.context.iter().map(|file| file.path.clone()).collect(),
        ..UserMessage::default()
    }
}

fn end_of(report: &TurnReport) -> SubagentEnd {
    match &report.end {
        TurnEnd::Answered => SubagentEnd::Answered,
        TurnEnd::CutOff => SubagentEnd::CutOff,
        TurnEnd::Denied => {
            let denied = report.denials.last();
            SubagentEnd::Denied(denied.map_or_else(String::new, |it| it.question.clone()))
        }
        TurnEnd::RoundLimit => SubagentEnd::RoundLimit,
        TurnEnd::Interrupted | TurnEnd::Withdrawn { .. } => SubagentEnd::Stopped,
        TurnEnd::TooLong(why) => SubagentEnd::TooLong(why.to_string()),
        TurnEnd::Failed(error) | TurnEnd::Refused { error, .. } => {
            SubagentEnd::Failed(error.to_string())
        }
    }
}
