//! A conversation with an agent: what a turn needs, kept between turns, and how a turn is shown.

pub mod aside;
pub mod attach;
pub mod budget;
pub mod choice;
mod conclusion;
pub mod effort;
mod hands_off;
pub mod hooks;
mod instructions;
mod key;
pub mod notes;
pub mod presenter;
pub mod refused;
pub mod resume;
pub mod sampling_model;
mod status_line;
pub mod switch;
pub mod tags;
pub mod way_out;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use dunlin_host::display::{escape, shorten};
use dunlin_host::{Host, LoadError, Tool};
use parking_lot::Mutex;

use crate::app::App;
use crate::config::request_editor::PauseMode;
use crate::error::CliError;
use crate::instructions::SessionInstructions;
use crate::modes;
use crate::pausing;
use crate::prompt::decider::Decider;
use crate::prompt::interceptor::TerminalInterceptor;
use crate::prompt::line::Recall;
use crate::prompt::metadata::Answering;
use crate::provider::connect;
use crate::settings::KeyPlace;
use crate::subagents::launch::Launcher;
use crate::subagents::run::Parent;
use crate::subagents::{self, Subagent};
use crate::tools;
use conclusion::{CANCELLED_BEFORE_SENDING, again};
pub use conclusion::{conclude, conclude_one};
use dunlin_chat::agent::Agent;
use dunlin_chat::message::{Conversation, Message, UserMessage};
use dunlin_chat::provider::Provider;
use dunlin_chat::provider::retry::RetryPolicy;
use dunlin_chat::request::ContextBudget;
use dunlin_chat::request::report::{Cost, Spent};
use dunlin_chat::session::record::Speaker;
use dunlin_chat::session::{Entry, Loaded, Session, Store, StoreError, title_of};
use dunlin_chat::turn::{
    CallContext, Frontend, Interceptor, Journal, NoInterceptor, NoJournal, TurnContext, TurnReport,
    TurnRules, run_turn, with_joined,
};
use dunlin_terminal::ui::Ui;
pub use hands_off::{HandsOff, hands_off, interrupted, unless_interrupted};
use notes::Notes;
use presenter::Presenter;
use sampling_model::{AskWithModel, SamplingModel};
use tags::Tags;

/// A conversation and what its turns need; made with the first message, because only then is a key
/// read and a tool looked at.
pub struct Dialogue {
    conversation: Conversation,
    /// Where it is kept; `None`: nowhere.
    session: Option<Session>,
    agent: Agent,
    /// What the agents are told at the beginning; read with the first message.
    instructions: Option<SessionInstructions>,
    provider: Arc<dyn Provider>,
    tools: Vec<Tool>,
    context_budget: Mutex<ContextBudget>,
    /// What the endpoint listed when it was asked.
    models: Vec<String>,
    /// Whether the model may be used without looking at that list.
    pub is_model_checked: bool,
    tags: Tags,
    spent: Spent,
    /// How full the window was when that was last spoken of, in percent.
    marked: u64,
    shows_reply: bool,
    /// What a turn is told to.
    frontend: Box<dyn Fn(Presenter) -> Arc<dyn Frontend>>,
    /// What the model is told with the next message.
    notes: Notes,
    /// The turns whose messages the user typed in this process.
    typed: BTreeSet<u64>,
}

impl Dialogue {
    /// Begins a conversation with the configured agent.
    pub fn begin(app: &App) -> Result<Dialogue, CliError> {
        Dialogue::begin_with(app, with_key(app, app.settings.agent_without_key()?)?)
    }

    /// Begins a conversation with this agent, after the warning that comes with it.
    pub fn begin_with(
        app: &App,
        (agent, warning): (Agent, Option<String>),
    ) -> Result<Dialogue, CliError> {
        if let Some(warning) = warning {
            app.ui.warn(&warning);
        }
        Ok(Dialogue {
            conversation: Conversation::new(),
            session: None,
            provider: connect(app, &agent)?,
            tools: tools_for(app, &agent)?,
            agent,
            instructions: None,
            context_budget: Mutex::default(),
            models: Vec::new(),
            is_model_checked: false,
            tags: Tags::default(),
            spent: Spent::default(),
            marked: 0,
            shows_reply: true,
            frontend: Box::new(|presenter| Arc::new(presenter)),
            notes: Notes::default(),
            typed: BTreeSet::new(),
        })
    }

    /// Keeps what is said in a session of its own, from the first message on.
    #[must_use]
    pub fn saved(mut self, app: &App) -> Dialogue {
        self.session = Some(self.fresh_session(app));
        self
    }

    /// Goes on with a session instead of what was said until now, which is closed.
    ///
    /// # Errors
    /// It cannot be read, or another Dunlin has it open; everything is as it was then.
    pub fn resume(&mut self, app: &App, entry: &Entry) -> Result<Loaded, StoreError> {
        let store = app.store();
        let (session, loaded) = Session::open(&store, entry)?;
        if let Some(head) = loaded
            .head
            .as_ref()
            .filter(|_| !loaded.is_of(&store.project_name()))
        {
            return Err(StoreError::Elsewhere {
                id: entry.id.clone(),
                project: head.project.clone(),
            });
        }
        store.remember(entry);
        self.forget_undone();
        self.continue_with(app, session, &loaded);
        Ok(loaded)
    }

    /// Goes on with a session that was opened, and with what was found in it.
    pub fn continue_with(&mut self, app: &App, session: Session, loaded: &Loaded) {
        app.begin_session(&session.id());
        self.conversation = Conversation::from_messages(loaded.messages.iter().cloned());
        let speaker = loaded.speaker.as_ref();
        if speaker.is_some_and(|speaker| speaker.agent != self.agent.name) {
            self.conversation.move_elsewhere();
        }
        self.tags.forget_sent();
        self.forget_context_budget();
        let of_subagents = app.store().of_subagents(&app.session_id());
        let subagents = subagents::stored::all(&of_subagents);
        let costs = subagents.iter().map(Subagent::cost);
        self.know(loaded, costs.fold(Cost::default(), Cost::plus));
        app.subagents.restore(subagents);
        self.instructions = None;
        self.session = Some(session);
        self.take_effort(app, loaded);
        if !loaded.servers.is_empty()
            && let Ok(host) = app.host()
        {
            host.use_servers(&loaded.servers);
        }
        if let Some(text) = &loaded.unsent {
            app.ui.status(CANCELLED_BEFORE_SENDING);
            if app.pausing.mode() == PauseMode::Off && app.ui.is_chat() {
                app.ui.status(PAUSED_BEFORE);
            }
            app.ui.keep_foreign_for_later(text);
        } else if !loaded.closed && loaded.is_unanswered() {
            app.ui.status(&format!("{UNANSWERED} {}", again(&app.ui)));
        }
        let (last_call, calls) = subagents::stored::calls(&of_subagents);
        self.conversation
            .number_calls_after(loaded.last_call.max(last_call));
        app.calls
            .restore(loaded.records().into_iter().chain(calls).collect());
    }

    /// Begins an empty conversation in a session of its own; the old one is closed and stays.
    pub fn start_afresh(&mut self, app: &App) {
        self.reload_instructions(app);
        self.conversation = Conversation::new();
        self.forget_undone();
        self.tags.forget_sent();
        self.forget_context_budget();
        self.spent = Spent::default();
        app.begin_session(&Store::new_id());
        app.calls.restore(Vec::new());
        self.session = Some(self.fresh_session(app));
    }

    fn fresh_session(&self, app: &App) -> Session {
        let speaker = Speaker {
            agent: self.agent.name.clone(),
            model: self.agent.model.clone(),
        };
        Session::fresh(&app.store(), &app.session_id(), speaker)
    }

    /// The conversation with everything that is known of it: from the file, or where that lacks something, from
    /// memory.
    pub fn loaded(&self) -> Loaded {
        let session = self.session.as_ref();
        let whole = session.filter(|session| session.exists() && !session.is_failing());
        let loaded = whole.and_then(|session| session.entry().load().ok());
        loaded.unwrap_or_else(|| Loaded {
            title: session.map_or_else(String::new, Session::title),
            messages: self.conversation.messages().to_vec(),
            speaker: Some(Speaker {
                agent: self.agent.name.clone(),
                model: self.agent.model.clone(),
            }),
            ..Loaded::default()
        })
    }

    /// The model that answers.
    pub fn model(&self) -> &str {
        &self.agent.model
    }

    /// Where the conversation is kept.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Does not print replies: whoever wants them takes them from the report.
    #[must_use]
    pub fn silent(mut self) -> Dialogue {
        self.shows_reply = false;
        self
    }

    /// Tells what happens in turns to this frontend, which has the presenter show it.
    #[must_use]
    pub fn with_frontend(
        mut self,
        frontend: impl Fn(Presenter) -> Arc<dyn Frontend> + 'static,
    ) -> Dialogue {
        self.frontend = Box::new(frontend);
        self
    }

    /// Keeps what the user says in a message that is not sent yet, so that nothing loses it; `None`: it will not be.
    pub fn keep_unsent(&self, text: Option<&str>) {
        if let Some(session) = &self.session {
            session.unsent(text);
        }
    }

    /// What was said, in order.
    pub fn messages(&self) -> &[Message] {
        self.conversation.messages()
    }

    /// Forgets what was said. The file of the session keeps it, but for whoever goes on with it nothing was said.
    pub fn clear(&mut self) {
        self.conversation.clear();
        self.forget_context_budget();
        if let Some(session) = &self.session {
            session.clear();
        }
        self.forget_undone();
        self.tags.forget_sent();
    }

    /// The user has typed the message of the last turn.
    pub fn know_typed(&mut self) {
        let said = self.conversation.messages().iter();
        let mut turns = said.rev().filter_map(|message| message.turn);
        self.typed.extend(turns.next());
    }

    /// Whether the user typed the message at this place in this process: it is no foreign text then.
    pub fn was_typed_here(&self, at: usize) -> bool {
        let message = self.conversation.messages().get(at);
        let turn = message.and_then(|message| message.turn);
        turn.is_some_and(|turn| self.typed.contains(&turn))
    }

    /// Takes one turn. Ctrl-C or Esc ends it at once; what was said until then is kept.
    /// `recall` is what the line editor knows while calls are being approved.
    pub fn turn(
        &mut self,
        app: &App,
        mut prompt: UserMessage,
        recall: Recall,
    ) -> Result<TurnReport, CliError> {
        if app.refresh_plugins() {
            let before = std::mem::replace(&mut self.tools, look_at_tools(app)?);
            if let Some(changes) = tools::changes(&before, &self.tools) {
                app.ui.status(&changes);
            }
        }
        pausing::apply_saved_edits(app);
        if let Some(changes) = self.changed_instructions(app) {
            app.ui.status(&escape(&changes));
        }
        self.read_instructions(app);
        let host = app.host()?;
        let settings = &app.settings;
        let mut presenter = Presenter::new(Arc::clone(&app.ui));
        presenter.shows_reply = self.shows_reply;
        presenter.model.clone_from(&self.agent.model);
        presenter.keep_calls(&app.calls);
        presenter.subagents = Some(Arc::clone(&app.subagents));
        // In a pipe the reply is data, and stays whole.
        presenter.folding =
            (app.ui.is_chat() && settings.writes_apps(&self.agent.name)).then(Mutex::default);
        let known = with_joined(&self.tools, host.joined());
        let recall = Arc::new(recall);
        let decider = Decider::new(app, &known, Arc::clone(&recall));
        let interceptor: Box<dyn Interceptor> = match app.asks() {
            true => {
                let answering = Answering {
                    agent: &self.agent,
                    provider: self.provider.as_ref(),
                };
                Box::new(TerminalInterceptor::new(app, &known, recall, answering))
            }
            false => Box::new(NoInterceptor),
        };
        if let Some(session) = &self.session {
            session.speaks(&self.agent.name, &self.agent.model);
            session.thinks(self.chosen_effort(app));
            if app.asks() {
                let (shared, id) = (Arc::clone(&app.shared), session.id());
                let subagents = Arc::clone(&app.subagents);
                session
                    .requests()
                    .watch(move |number, subagent| match subagent {
                        Some(name) => subagents.logged(name, number),
                        None => shared.logged(&id, number),
                    });
            }
        }
        app.subagents.begin_turn();
        let journal = journal_of(self.session.as_ref());
        let log = self.session.as_ref().map(|it| it.requests().clone());
        let sampling_model = Arc::new(SamplingModel::new(
            Arc::clone(&self.provider),
            &self.agent,
            log,
        ));
        let (launcher, starts) = Launcher::new(&app.subagents);
        let ask = Arc::new(AskWithModel {
            ask: decider.ask(None),
            model: Arc::clone(&sampling_model),
            subagents: Some(Arc::new(launcher)),
            unasked: Mutex::default(),
        });
        let context = TurnContext {
            agent: &self.agent,
            provider: self.provider.as_ref(),
            tool_list: &self.tools,
            limits: settings.history_limits(),
            context_budget: &self.context_budget,
            retries: RetryPolicy::with_retries(settings.limits.max_retries.value),
            journal,
            interceptor: interceptor.as_ref(),
            calls: CallContext {
                tools: host,
                rules: TurnRules {
                    on_denial: settings.general.on_denial.value,
                    max_tool_rounds: settings.limits.max_tool_rounds.value.clamped(),
                },
                approver: decider.approver(),
                ask: ask.clone(),
                frontend: (self.frontend)(presenter),
            },
        };
        let interrupt = interrupted(app)?;
        let _hands_off = HandsOff::begin(app);
        let _queue = app.ui.queue_messages(self.status_line(app));
        let turn = host.begin_turn();
        app.calls.begin_turn(turn);
        prompt.turn = Some(turn);
        prompt.typed.get_or_insert(prompt.text.len());
        // The session gets its title with its first message, which may be paused for long.
        app.shared.set_title(|| title_of(&prompt.text));
        if let Some(note) = self.notes.text() {
            prompt.text.push_str("\n\n");
            prompt.text.push_str(&note);
        }
        modes::add_note(&mut prompt.text, app.mode.get());
        let session = self.session.as_ref();
        let running = Parent {
            app,
            host,
            agent: &self.agent,
            provider: &self.provider,
            tools: &self.tools,
            instructions: self.instructions.as_ref(),
            shared_tools: OnceCell::new(),
            decider: &decider,
            sampling_model: &sampling_model,
            conversation: self.conversation.beside(),
            session: session.map(|it| (app.store(), it.id(), it.requests().clone())),
            roster: &app.subagents,
        };
        let turn = run_turn(&mut self.conversation, prompt, &context, interrupt);
        let mut report = app.runtime()?.block_on(async {
            tokio::select! {
                biased;
                report = turn => report,
                never = running.serve(starts) => match never {},
                never = decider.serve() => match never {},
                never = hooks::say_slow(&app.ui, host, Some(&*context.calls.frontend)) => match never {},
                never = app.ui.animate() => match never {},
                never = app.ui.survive_stops() => match never {},
            }
        });
        // A message that was taken back was not told of it.
        if !report.end.is_taken_back() {
            self.notes = Notes::default();
        }
        drop(running);
        // Those that were dropped have ended.
        app.subagents.draw(&app.ui);
        ask.complete(&mut report.denials);
        report.denials.extend(app.subagents.denials());
        app.ui.end_reply();
        app.show_notices(host, app.runtime()?);
        let frontend = context.calls.frontend.as_ref();
        hooks::run_at_end(app, host, &report.end, frontend, interrupted(app)?)?;
        let own = sampling_model.spent().plus(Cost {
            charge: report.charge,
            requests: report.rounds,
        });
        let of_subagents = app.subagents.spent();
        report.charge = own.plus(of_subagents).charge;
        if let Some(session) = &self.session {
            session.uses(host.used_servers());
            if let Some(sync) = session.turn_ended(&self.conversation, report.charge) {
                app.runtime()?.spawn_blocking(|| sync.run());
            }
            if let Some(trouble) = session.take_trouble() {
                app.ui.warn(&trouble);
            }
        }
        drop(context);
        drop(decider);
        drop(interceptor);
        self.spent.add(own, of_subagents);
        self.speak_of_the_window(app);
        Ok(report)
    }
}

/// The agent with its key, and a warning about that, if there is one.
///
/// # Errors
/// The key cannot be read, or the user interrupted it.
pub fn with_key(
    app: &App,
    (mut agent, key): (Agent, Option<KeyPlace>),
) -> Result<(Agent, Option<String>), CliError> {
    let Some(key) = key else {
        return Ok((agent, None));
    };
    // Anything else is there at once, and needs no task.
    let (secret, warning) = match key.is_in_keyring() {
        true => hands_off(app, key::read(app, key))??,
        false => key.read()?,
    };
    agent.api_key = Some(secret);
    Ok((agent, warning))
}

/// What keeps the turns of a dialogue.
fn journal_of(session: Option<&Session>) -> &dyn Journal {
    match session {
        Some(session) => session,
        None => &NoJournal,
    }
}

/// All tools there are, after a warning of those that the agent is to have and that do not exist.
fn tools_for(app: &App, agent: &Agent) -> Result<Vec<Tool>, CliError> {
    let tools = look_at_tools(app)?;
    warn_of_unknown(&app.ui, &agent.name, &agent.unknown_tools(&tools));
    hooks::warn_of_hooks(&app.ui, &app.settings, &tools);
    Ok(tools)
}

/// Warns of tools that an agent is to have and that do not exist, each with the nearest that does.
pub fn warn_of_unknown(ui: &Ui, agent: &str, unknown: &[(&str, Option<&str>)]) {
    for (name, near) in unknown {
        let near = near.map_or_else(String::new, |near| format!("; the nearest is {near:?}"));
        let (agent, name) = (escape(agent), shorten(name, MAX_NAME_CHARS));
        ui.warn(&format!(
            "[agents.{agent}] names the tool {name:?}, which does not exist{near}"
        ));
    }
}

/// How much of a tool's name that does not exist is quoted, in characters.
const MAX_NAME_CHARS: usize = 100;

/// All tools there are, after a warning of plugins that have none because they are broken. The first look
/// compiles the plugins and may take a while: Ctrl-C ends it.
pub fn look_at_tools(app: &App) -> Result<Vec<Tool>, CliError> {
    let (mut tools, broken) = look_at_tools_of(app, app.host()?)?;
    app.ui.warn_of(&broken);
    subagents::introduce(&app.settings, &mut tools);
    Ok(tools)
}

/// All tools of a host, and why others are left out.
pub fn look_at_tools_of(app: &App, host: &Host) -> Result<(Vec<Tool>, Vec<LoadError>), CliError> {
    hands_off(app, host.tools())
}

/// Said where the request of a message was paused when Dunlin ended, and would not be now.
const PAUSED_BEFORE: &str = "Its request was paused and what was edited in it is gone. Pausing is off now; /pause changes that.";

/// Said of a conversation that Dunlin did not end.
const UNANSWERED: &str = "Dunlin ended before the model had answered. What came before it stays.";
