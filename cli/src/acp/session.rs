//! One session: a thread with an [`App`] of its own, which does one thing after the other.
//!
//! A session has its own project, settings, tools and permissions until it ends, so everything that belongs to one in the
//! chat belongs to one here, and sessions cannot get into each other's way.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use dunlin_chat::session::Loaded;
use dunlin_chat::turn::TurnEnd;
use dunlin_host::permission::{ModeSwitch, SessionMode};
use dunlin_terminal::ui::Ui;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::client::{Client, Reply};
use super::questions::Questions;
use super::status::{Lines, Status};
use super::updates::{Known, Updates};
use super::wire::{Block, Mode, Modes, Open, Refusal, StopReason, Update};
use super::{AcpServer, commands, prompt, replay, servers};
use crate::app::App;
use crate::apps;
use crate::args::Global;
use crate::dialogue::attach::Attached;
use crate::dialogue::resume::{resume, warn_of_damage};
use crate::dialogue::{Dialogue, choice, conclude_one};
use crate::error::{CliError, Exit};
use crate::modes;
use crate::prompt::line::Recall;
use crate::settings::{Settings, SettingsError};
use dunlin_chat::message::UserMessage;

/// The stack of a session, in bytes: that of a main thread, on which turns run elsewhere.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// What a session begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Nothing.
    New,
    /// A conversation that was kept, which the client is told of again.
    Load,
    /// The same, and the client knows it.
    Resume,
}

/// What a session is to do.
enum Work {
    Prompt(Vec<Block>, Reply),
    Close(Reply),
}

/// The way to a session.
pub(super) struct Session {
    work: Sender<Work>,
    /// Whether it is doing something: it begins, or a turn runs.
    is_busy: Arc<AtomicBool>,
    /// Whether the turn is to end.
    cancelled: Arc<watch::Sender<bool>>,
    /// Its mode, as soon as it has begun.
    mode: Arc<OnceLock<ModeSwitch>>,
    id: String,
    client: Arc<Client>,
}

impl Session {
    /// Begins one in a thread of its own, which answers the request when it is ready. `ended` is dropped when the thread
    /// ends. `leave` is called before that, and before the client hears of it: the session is gone.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn begin(
        server: &Arc<AcpServer>,
        client: &Arc<Client>,
        (id, beginning, open): (String, Beginning, Open),
        reply: Reply,
        (ended, leave): (Sender<()>, impl FnOnce() + Send + 'static),
    ) -> std::io::Result<Session> {
        let (work, queue) = channel();
        let session = Session {
            work,
            is_busy: Arc::new(AtomicBool::new(true)),
            cancelled: Arc::new(watch::Sender::new(false)),
            mode: Arc::default(),
            id: id.clone(),
            client: Arc::clone(client),
        };
        let running = Running {
            server: Arc::clone(server),
            client: Arc::clone(client),
            id,
            is_busy: Arc::clone(&session.is_busy),
            cancelled: Arc::clone(&session.cancelled),
            mode: Arc::clone(&session.mode),
        };
        std::thread::Builder::new()
            .name("acp-session".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let _ended = ended;
                running.run((beginning, open), reply, &queue, Leaving(Some(leave)));
                running.client.set_cancelled(&running.id, false);
            })?;
        Ok(session)
    }

    /// Has it take a turn.
    pub(super) fn prompt(&self, blocks: Vec<Block>, reply: Reply) {
        if self.is_busy.swap(true, Ordering::AcqRel) {
            let problem = "a prompt of this session is under way, or the session is not ready yet";
            return reply.refuse(Refusal::invalid(problem));
        }
        self.client.set_cancelled(&self.id, false);
        self.cancelled.send_replace(false);
        self.does(Work::Prompt(blocks, reply));
    }

    /// Ends the turn that runs.
    pub(super) fn cancel(&self) {
        self.cancelled.send_replace(true);
        self.client.set_cancelled(&self.id, true);
    }

    /// Chooses a mode, which counts from the next use on, also in a turn that runs: the client is the user's side.
    pub(super) fn set_mode(&self, mode: &str) -> Result<Value, Refusal> {
        let Some(switch) = self.mode.get() else {
            return Err(Refusal::invalid("the session is not ready yet"));
        };
        let mode = mode.parse::<SessionMode>();
        switch.set(mode.map_err(|error| Refusal::params(error.to_string()))?);
        Ok(json!({}))
    }

    /// Ends it after the turn that runs, which ends now.
    pub(super) fn close(&self, reply: Reply) {
        self.is_busy.store(true, Ordering::Release);
        self.cancel();
        self.does(Work::Close(reply));
    }

    /// A session that has crashed drops what it is to do, which refuses the request.
    fn does(&self, work: Work) {
        drop(self.work.send(work));
    }
}

/// Has the session leave once, also where it crashes.
struct Leaving<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Leaving<F> {
    fn now(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

impl<F: FnOnce()> Drop for Leaving<F> {
    fn drop(&mut self) {
        self.now();
    }
}

/// The thread of a session.
struct Running {
    server: Arc<AcpServer>,
    client: Arc<Client>,
    id: String,
    is_busy: Arc<AtomicBool>,
    cancelled: Arc<watch::Sender<bool>>,
    mode: Arc<OnceLock<ModeSwitch>>,
}

/// What a session works with.
struct Made {
    app: App,
    dialogue: Dialogue,
    status: Arc<Status>,
}

impl Running {
    fn run(
        &self,
        (beginning, open): (Beginning, Open),
        reply: Reply,
        queue: &Receiver<Work>,
        mut leaving: Leaving<impl FnOnce()>,
    ) {
        let (mut made, loaded) = match self.make(beginning, open) {
            Ok(made) => made,
            Err(error) => {
                leaving.now();
                return reply.refuse(Refusal::failed(error.with_hints_in_one_line()));
            }
        };
        // Nobody else sets it.
        let _ = self.mode.set(made.app.mode.clone());
        for update in loaded.iter().flat_map(replay::updates) {
            self.client.update(&self.id, &update);
        }
        self.is_busy.store(false, Ordering::Release);
        let modes = modes_of(made.app.mode.get());
        reply.send(Ok(match beginning {
            Beginning::New => json!({"sessionId": self.id, "modes": modes}),
            Beginning::Load | Beginning::Resume => json!({"modes": modes}),
        }));
        if let Some(commands) = commands::available(&made.app) {
            self.client.update(&self.id, &commands);
        }
        // It ends with the client.
        while let Ok(work) = queue.recv() {
            match work {
                Work::Prompt(blocks, reply) => {
                    made.status.begin_turn();
                    let stopped = self.turn(&mut made, blocks);
                    made.status.end_turn();
                    self.is_busy.store(false, Ordering::Release);
                    reply.send(stopped.map(|reason| json!({"stopReason": reason})));
                }
                Work::Close(reply) => {
                    drop(made);
                    leaving.now();
                    return reply.send(Ok(json!({})));
                }
            }
        }
    }

    fn make(&self, beginning: Beginning, open: Open) -> Result<(Made, Option<Loaded>), CliError> {
        let (settings, notices) = self.settings(open.cwd, open.mcp_servers.unwrap_or_default())?;
        let status = Status::new(&self.client, &self.id, &self.server.ui);
        let lines = || Box::new(Lines(Arc::clone(&status)));
        let ui = Arc::new(Ui::elsewhere(lines(), lines()));
        for notice in settings.notices.iter().chain(&notices) {
            ui.warn(notice);
        }
        let mut app = (self.server.make_app)(ui, settings);
        // A configured mode may narrow what is done here; accepting edits without a question was chosen for the chat.
        app.begin_in(modes::beginning(
            None,
            app.settings.general.mode.value,
            false,
        ));
        let known = Arc::new(Known::default());
        app.ask_elsewhere(Arc::new(Questions {
            client: Arc::clone(&self.client),
            session: self.id.clone(),
            known: Arc::clone(&known),
            cancelled: Arc::clone(&self.cancelled),
            last: AtomicU64::new(0),
        }));
        let (dialogue, loaded) = match beginning {
            Beginning::New => {
                app.begin_session(&self.id);
                (Dialogue::begin(&app)?.saved(&app), None)
            }
            Beginning::Load | Beginning::Resume => {
                let (dialogue, loaded) = self.resumed(&app)?;
                (dialogue, (beginning == Beginning::Load).then_some(loaded))
            }
        };
        let (client, id) = (Arc::clone(&self.client), self.id.clone());
        let dialogue = dialogue.silent().with_frontend(move |presenter| {
            let updates = Updates::new(&client, &id, &known, presenter);
            Arc::new(updates)
        });
        let made = Made {
            app,
            dialogue,
            status,
        };
        Ok((made, loaded))
    }

    /// The settings for the folder that the client names, and what the user should know of the servers that it names.
    fn settings(
        &self,
        cwd: PathBuf,
        servers: Vec<Value>,
    ) -> Result<(Settings, Vec<String>), CliError> {
        // The boundary that the client has drawn, also where the folder is in a larger repository.
        let global = Global {
            project: Some(cwd.clone()),
            ..self.server.global.clone()
        };
        let mut settings = Settings::load(&global, self.server.environment.clone(), &cwd)?;
        if !settings.has_agents() {
            let hint = "dunlin config init, in a terminal, chooses who answers".to_owned();
            return Err(CliError::usage(SettingsError::NoAgents).with_hint(hint));
        }
        let problems = servers::join(&mut settings, servers);
        Ok((settings, problems))
    }

    /// Goes on with the session of this id, and not with one that is called so.
    fn resumed(&self, app: &App) -> Result<(Dialogue, Loaded), CliError> {
        let entry = app.store().find(Some(&self.id))?;
        if entry.id != self.id {
            return Err(CliError::usage(NoSession(self.id.clone())));
        }
        let mut dialogue = None;
        let loaded = resume(app, &mut dialogue, &entry)?;
        warn_of_damage(app, &loaded);
        let dialogue = dialogue.ok_or_else(|| CliError::silent(Exit::Failed))?;
        Ok((dialogue, loaded))
    }

    fn turn(&self, made: &mut Made, blocks: Vec<Block>) -> Result<StopReason, Refusal> {
        let stopped = self.answered(made, blocks);
        match stopped {
            // Whatever came of it.
            _ if *self.cancelled.borrow() => Ok(StopReason::Cancelled),
            Ok(stopped) => stopped,
            Err(error) if error.exit() == Exit::Interrupted => Ok(StopReason::Cancelled),
            Err(error) => Err(Refusal::failed(error.with_hints_in_one_line())),
        }
    }

    fn answered(
        &self,
        made: &mut Made,
        blocks: Vec<Block>,
    ) -> Result<Result<StopReason, Refusal>, CliError> {
        let Made { app, dialogue, .. } = made;
        let message = match commands::expanded(app, &blocks)? {
            Some(text) => text.into(),
            None => match self.attached(app, dialogue, blocks)? {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(Ok(StopReason::EndTurn)),
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        if !choice::may_use_its_own(app, dialogue)? {
            return Ok(Ok(StopReason::Cancelled));
        }
        let report = dialogue.turn(app, message, Recall::default())?;
        let agent = &dialogue.agent().name;
        apps::say_not_made(&app.ui, &app.settings, agent, &report.reply);
        let report = conclude_one(app, report)?;
        Ok(Ok(stop_reason(&report.end)))
    }

    /// The message with the files that it mentions. `None`: it is nothing but files, which wait for the next one.
    fn attached(
        &self,
        app: &App,
        dialogue: &mut Dialogue,
        blocks: Vec<Block>,
    ) -> Result<Result<Option<UserMessage>, Refusal>, CliError> {
        let said = match prompt::user_prompt(blocks, &app.settings.project) {
            Ok(said) => said,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let text = (said.text.as_str(), said.data.as_slice(), said.media);
        Ok(match dialogue.attach(app, text, Recall::default())? {
            Attached::Message(message, _) => Ok(Some(message)),
            Attached::Waiting => {
                let text = "The files go with your next message.";
                self.client.update(&self.id, &Update::message(text));
                Ok(None)
            }
            Attached::Back { problems, .. } => Err(Refusal::params(problems.join("; "))),
        })
    }
}

/// The modes, and which one holds.
fn modes_of(now: SessionMode) -> Modes {
    let mode = |mode: SessionMode| Mode {
        id: mode.as_str(),
        name: match mode {
            SessionMode::Ask => "Ask",
            SessionMode::AcceptEdits => "Accept edits",
            SessionMode::Plan => "Plan",
        },
        description: modes::about(mode),
    };
    Modes {
        current_mode_id: now.as_str(),
        available_modes: SessionMode::ALL.into_iter().map(mode).collect(),
    }
}

/// How the protocol calls the end of a turn. A denied call ends it as usual: `refusal` would have the client take the
/// user's message out of the conversation.
fn stop_reason(end: &TurnEnd) -> StopReason {
    match end {
        TurnEnd::CutOff => StopReason::MaxTokens,
        TurnEnd::RoundLimit => StopReason::MaxTurnRequests,
        TurnEnd::Interrupted | TurnEnd::Withdrawn { .. } => StopReason::Cancelled,
        TurnEnd::Answered
        | TurnEnd::Denied
        | TurnEnd::TooLong(_)
        | TurnEnd::Failed(_)
        | TurnEnd::Refused { .. } => StopReason::EndTurn,
    }
}

/// There is no session of this id.
#[derive(Debug, thiserror::Error)]
#[error("there is no session {0:?}")]
struct NoSession(String);
