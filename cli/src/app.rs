//! What a command works with: the settings, the printing object, and what is made only when it is needed.
//!
//! Opening the chat must not wait for anything, so the runtime with its threads and the host with its
//! engine come into being with the first turn or the first look at the tools.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::ffi::OsString;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use dunlin_apps::store::Store as AppStore;
use dunlin_chat::agent::Agent;
use dunlin_chat::message::Message;
use dunlin_host::Tool;
use dunlin_host::ask::{Ask, DenyAll};
use dunlin_host::command::StartError;
use dunlin_host::display::shell_word;
use dunlin_host::files::make_private;
use dunlin_host::json;
use dunlin_host::permission::{ModeSwitch, SessionMode, ToolMode};
use dunlin_host::{Host, HostOptions, Limits, Permissions, Plugin, WebOptions};
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::apps::output::{AppOutput, ShowWhen};
use crate::apps::{Apps, browser};
use crate::built_in_plugins;
use crate::config::command_variables;
use crate::config::request_editor::{MetadataField, PauseMode};
use crate::dialogue::aside::Aside;
use crate::error::CliError;
use crate::host_options::{commands, embedding, hooks, search};
use crate::inspect::protocol::{Pauses, Subagents};
use crate::inspect::shared_state::{Chat, SharedState, WAKE_AGAIN};
use crate::pausing::Pausing;
use crate::plugin::installed::InstalledPlugins;
use crate::prompt::question_handler::QuestionHandler;
use crate::prompt::slash_table::{Command, SlashTable};
use crate::settings::Settings;
use crate::subagents::Roster;
use dunlin_chat::session::Store;
use dunlin_chat::turn::log::CallLog;
use dunlin_provider::http;
use dunlin_terminal::editor;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::ask_during_call::TerminalAsk;
use dunlin_terminal::ui::pager::Pager;
use dunlin_terminal::ui::terminal;
use dunlin_terminal::variables::{Replaced, SHELL};

/// Threads that run tools and wait for the network. Two: a tool that computes must not hold up a reply
/// that streams, and more would only cost memory.
const WORKER_THREADS: usize = 2;

/// Slash commands, for what waits within a turn: the turn cannot know how each is done, as some begin another one.
#[async_trait(?Send)]
pub trait Commands {
    /// Their names.
    fn table(&self) -> SlashTable;

    /// Runs a command while calls wait: the messages and the tools of the conversation, the command and what was typed
    /// after it. The result says whether it changed permissions, on which waiting calls depend.
    ///
    /// # Errors
    /// The command failed.
    fn while_waiting(
        &self,
        app: &App,
        messages: &[Message],
        tools: &[Tool],
        command: &Command,
        rest: &str,
    ) -> Result<bool, CliError>;

    /// Why a command that leaves the conversation would do nothing, in a sentence; `None`: it can be done. `messages` are
    /// those of the conversation with the one that is paused.
    ///
    /// # Errors
    /// What it names does not exist, or cannot be used.
    async fn refusal(
        &self,
        app: &App,
        agent: &Agent,
        messages: &[Message],
        command: (&Command, &str),
    ) -> Result<Option<String>, CliError>;

    /// Lists what a command would choose from. `agent` answers the paused request.
    ///
    /// # Errors
    /// The endpoint cannot be asked for its models.
    async fn list(&self, app: &App, agent: &Agent, command: &Command) -> Result<(), CliError>;
}

/// Settings, output, and what is made on demand.
pub struct App {
    pub ui: Arc<Ui>,
    /// What was decided at the start.
    pub settings: Settings,
    /// The calls of this session, under the numbers that are shown.
    pub calls: Arc<CallLog>,
    /// What holds for all tools together until the session ends.
    pub mode: ModeSwitch,
    /// With which mode a session begins.
    first_mode: Cell<SessionMode>,
    /// Which requests are paused before they are sent.
    pub pausing: Arc<Pausing>,
    /// What inspectors in other terminals are shown.
    pub shared: Arc<SharedState>,
    /// What is waited for beside a turn.
    pub aside: Aside,
    /// The apps that are open.
    pub apps: Apps,
    /// The subagents of this session.
    pub subagents: Arc<Roster>,
    /// What `/metadata` shows.
    metadata: RefCell<Vec<MetadataField>>,
    /// How many sections are listed of a request whose edits are saved.
    pub preview_limit: Cell<u16>,
    /// Whether the user can be asked, as far as this command is concerned.
    asks: bool,
    /// Who is asked instead, elsewhere.
    question_handler: Option<Arc<dyn QuestionHandler>>,
    /// The slash commands.
    pub commands: &'static dyn Commands,
    /// What joins the built-in plugins.
    plugins: Vec<Plugin>,
    /// Names the session in the audit log.
    session: RefCell<String>,
    /// What was said that need not be said twice.
    said: RefCell<HashSet<String>>,
    /// When the installed plugins had changed, the last time it was looked at.
    installed_stamp: Cell<Option<SystemTime>>,
    host: OnceCell<Host>,
    runtime: OnceCell<Runtime>,
}

/// The chat as inspectors can act on it.
struct ThisChat {
    ui: Arc<Ui>,
    pausing: Arc<Pausing>,
    subagents: Arc<Roster>,
}

impl Chat for ThisChat {
    fn pauses(&self) -> Pauses {
        Pauses {
            mode: self.pausing.mode(),
            shown: self.pausing.typed(),
        }
    }

    fn subagents(&self) -> Subagents {
        self.subagents.published()
    }

    fn set_mode(&self, mode: PauseMode) {
        self.pausing.set(mode);
        // Whoever types a message must see whether it is paused.
        while self.pausing.is_prompt_outdated() && self.ui.wake() {
            std::thread::sleep(WAKE_AGAIN);
        }
    }

    fn wake(&self) {
        // A command that waits tries again.
        let _ = self.ui.wake();
    }
}

impl App {
    /// Makes nothing yet. `plugins` join the built-in ones, and `commands` are the slash commands.
    pub fn new(
        ui: Arc<Ui>,
        settings: Settings,
        plugins: Vec<Plugin>,
        commands: &'static dyn Commands,
    ) -> App {
        let asks = ui.can_ask();
        let pausing = match ui.is_chat() {
            true => Arc::new(Pausing::new(settings.request_editor.mode.value)),
            // One question pauses only where that is asked for.
            false => Arc::default(),
        };
        let preview_limit = settings.request_editor.preview_limit.value.get();
        let preview_limit = u16::try_from(preview_limit).unwrap_or(u16::MAX);
        let metadata = RefCell::new(settings.request_editor.metadata.value.clone());
        let subagents: Arc<Roster> = Arc::default();
        let shared = Arc::new(SharedState::new(Box::new(ThisChat {
            ui: Arc::clone(&ui),
            pausing: Arc::clone(&pausing),
            subagents: Arc::clone(&subagents),
        })));
        let watching = Arc::downgrade(&shared);
        let notify = move || {
            if let Some(shared) = watching.upgrade() {
                shared.notify();
            }
        };
        pausing.watch(notify.clone());
        subagents.watch(notify);
        App {
            ui,
            shared,
            metadata,
            preview_limit: Cell::new(preview_limit),
            settings,
            calls: Arc::default(),
            mode: ModeSwitch::default(),
            first_mode: Cell::default(),
            pausing,
            aside: Aside::default(),
            apps: Apps::default(),
            subagents,
            asks,
            question_handler: None,
            commands,
            plugins,
            session: RefCell::new(Store::new_id()),
            said: RefCell::default(),
            installed_stamp: Cell::default(),
            host: OnceCell::new(),
            runtime: OnceCell::new(),
        }
    }

    /// From now on nobody is asked: what is undecided is denied.
    pub fn never_ask(&mut self) {
        self.asks = false;
    }

    /// From now on what turns ask goes to this one, and nothing is asked at the terminal.
    pub fn ask_elsewhere(&mut self, question_handler: Arc<dyn QuestionHandler>) {
        self.asks = false;
        self.question_handler = Some(question_handler);
    }

    /// Whether the user can be asked at the terminal.
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// Who is asked elsewhere.
    pub fn question_handler(&self) -> Option<&Arc<dyn QuestionHandler>> {
        self.question_handler.as_ref()
    }

    /// What `/metadata` shows, in this order.
    pub fn metadata_fields(&self) -> Vec<MetadataField> {
        self.metadata.borrow().clone()
    }

    /// Has `/metadata` show these fields from now on.
    pub fn set_metadata_fields(&self, fields: Vec<MetadataField>) {
        self.metadata.replace(fields);
    }

    /// Who answers questions.
    pub fn asker(&self) -> Arc<dyn Ask> {
        if self.asks {
            Arc::new(TerminalAsk::new(
                Arc::clone(&self.ui),
                Arc::clone(&self.calls),
                self.pager().ok(),
            ))
        } else {
            Arc::new(DenyAll)
        }
    }

    /// The runtime; made at the first call.
    pub fn runtime(&self) -> Result<&Runtime, CliError> {
        match self.runtime.get() {
            Some(runtime) => Ok(runtime),
            None => {
                let runtime = runtime()?;
                if self.ui.streams().input {
                    runtime.spawn(terminal::give_back_when_ended());
                }
                Ok(self.runtime.get_or_init(|| runtime))
            }
        }
    }

    /// The host, if something needed it before.
    pub fn made_host(&self) -> Option<&Host> {
        self.host.get()
    }

    /// The host with the built-in plugins; made at the first call.
    pub fn host(&self) -> Result<&Host, CliError> {
        match self.host.get() {
            Some(host) => Ok(host),
            None => {
                for folder in [&self.settings.folders.data, &self.settings.folders.cache] {
                    make_private(folder).map_err(|source| cannot_make(folder, source))?;
                }
                let plugins = self.all_plugins();
                let session = self.session.borrow();
                let options = HostOptions {
                    mode: self.mode.clone(),
                    ..host_options(&self.settings, &session)
                };
                let host = Host::new(options, plugins)?;
                Ok(self.host.get_or_init(|| host))
            }
        }
    }

    pub fn installed_plugins(&self) -> InstalledPlugins {
        let folders = &self.settings.folders;
        InstalledPlugins::new(folders.plugins(), folders.cache.clone())
    }

    /// The built-in plugins, those that were installed, and those that this program was given.
    fn all_plugins(&self) -> Vec<Plugin> {
        self.installed_stamp.set(self.installed_plugins().stamp());
        let (installed, broken) = self.installed_plugins().plugins();
        self.ui.warn_of(&broken);
        let mut plugins = built_in_plugins::all();
        plugins.extend(installed);
        plugins.extend(self.plugins.iter().cloned());
        plugins
    }

    /// Takes up what was installed, removed or built anew since the host was made. `true`: there was something.
    pub fn refresh_plugins(&self) -> bool {
        let Some(host) = self.host.get() else {
            return false;
        };
        if self.installed_plugins().stamp() == self.installed_stamp.get() {
            return false;
        }
        host.replace_plugins(self.all_plugins());
        true
    }

    /// The id of the session: the audit log names it, and the file of a conversation.
    pub fn session_id(&self) -> String {
        self.session.borrow().clone()
    }

    /// This session, and each that follows, begins in this mode.
    pub fn begin_in(&self, mode: SessionMode) {
        self.first_mode.set(mode);
        self.mode.set(mode);
    }

    /// Another session begins: what was answered until the last one ends is void.
    pub fn begin_session(&self, id: &str) {
        if *self.session.borrow() == id {
            return;
        }
        id.clone_into(&mut self.session.borrow_mut());
        self.take_leave();
        self.mode.set(self.first_mode.get());
        self.subagents.begin_session();
        if let Some(host) = self.host.get() {
            host.begin_session(id);
        }
    }

    /// Lets connected servers end in good order, for a moment.
    fn take_leave(&self) {
        // Somebody who is being waited for by the runtime cannot wait for it.
        let is_outside = tokio::runtime::Handle::try_current().is_err();
        if let (Some(host), Some(runtime)) = (self.host.get(), self.runtime.get())
            && is_outside
        {
            if host.has_connections() {
                runtime.block_on(host.close_servers());
            }
            self.show_notices(host, runtime);
        }
    }

    /// Shows what the user is to know of calls that have ended. Waits a moment for commands that were interrupted.
    pub fn show_notices(&self, host: &Host, runtime: &Runtime) {
        runtime.block_on(host.commands_ended());
        for notice in host.take_notices() {
            self.ui.warn(&notice);
        }
    }

    /// Whether this was not said before; it is now.
    pub fn is_new(&self, notice: &str) -> bool {
        self.said.borrow_mut().insert(notice.to_owned())
    }

    /// The sessions, as they are seen from this project.
    pub fn store(&self) -> Store {
        Store::new(&self.settings.folders.data, &self.settings.project)
    }

    /// What is set for a tool, in the word that sets it, where that is something.
    pub fn tool_mode(&self, tool: &str) -> Option<&'static str> {
        let mode = self.host().ok()?.permissions().tool_mode(tool);
        (mode != ToolMode::Prompt).then(|| mode.as_str())
    }

    /// The permission store alone, for what needs no tools.
    pub fn permissions(&self) -> Result<Permissions, CliError> {
        Ok(Permissions::open(&host_options(
            &self.settings,
            &self.session.borrow(),
        ))?)
    }
}

/// The shell of users who have set none.
const DEFAULT_SHELL: &str = "/bin/sh";

impl App {
    /// Prints a value as one JSON document that no terminal takes for more than text.
    pub fn print_json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let text = json::to_string_pretty(value).map_err(CliError::failed)?;
        self.ui.data(&text);
        Ok(())
    }

    /// The variables that the user's own programs get otherwise: see [`Settings::replaced`]. Without the permission store
    /// they get no paths at all.
    pub fn replaced(&self) -> Replaced {
        if let Some(host) = self.made_host() {
            return self.settings.replaced(host.permissions());
        }
        let permissions = self.permissions();
        permissions.map_or_else(
            |_| command_variables::replaced(&self.settings.environment, |_| true, |_| true),
            |it| self.settings.replaced(&it),
        )
    }

    /// The user's editor as a shell command, with a program that commands cannot change.
    pub fn editor(&self) -> Result<OsString, StartError> {
        self.started_line(editor::choose(&self.settings.environment))
    }

    /// The user's shell, a program that commands cannot change.
    pub fn shell(&self) -> Result<OsString, StartError> {
        let Some(shell) = self.settings.environment.get(SHELL) else {
            return self.started_line(DEFAULT_SHELL.into());
        };
        // The variable is a path, and no command line.
        let quoted = shell.to_str().map(|path| shell_word(path).into());
        self.started_line(quoted.unwrap_or_else(|| shell.to_owned()))
    }

    /// The user's pager, a program that commands cannot change.
    pub fn pager(&self) -> Result<Pager, StartError> {
        let environment = &self.settings.environment;
        let program = self.started_line(Pager::choose(environment))?;
        Ok(Pager::of(environment, program, self.replaced()))
    }

    fn started_line(&self, line: OsString) -> Result<OsString, StartError> {
        if let Some(host) = self.made_host() {
            return self.settings.started_line(line, host.permissions());
        }
        match self.permissions() {
            Ok(permissions) => self.settings.started_line(line, &permissions),
            // Nothing is known of what commands can change.
            Err(_) => Err(StartError::Missing {
                name: line.to_string_lossy().into_owned(),
            }),
        }
    }
}

impl App {
    /// Where apps say something, and when it is shown.
    pub fn app_output(&self) -> &Arc<AppOutput> {
        let when = match self.ui.is_chat() {
            true => ShowWhen::BetweenMessages,
            false => ShowWhen::Now,
        };
        let make = || AppOutput::new(Arc::clone(&self.ui), self.asker(), when);
        self.apps.output(make)
    }

    /// Shows the page of an app that is open in the user's browser, with a program that commands cannot change.
    pub fn show_page(&self, name: &str, url: &str) {
        let (output, name) = (Arc::clone(self.app_output()), name.to_owned());
        browser::show(
            (&self.ui, &self.settings.environment),
            self.started_line(browser::OPENER.into()),
            &self.replaced(),
            url,
            move |why| output.warn(&name, why),
        );
    }

    /// The apps that are kept.
    pub fn app_store(&self) -> AppStore {
        AppStore::new(self.settings.folders.apps())
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.take_leave();
        // A line that is being read on a blocking thread must not keep the program from ending.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A runtime with few threads.
pub fn runtime() -> Result<Runtime, CliError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .map_err(CliError::failed)
}

/// What the host is told.
pub fn host_options(settings: &Settings, session: &str) -> HostOptions {
    let folders = &settings.folders;
    HostOptions {
        project: settings.project.clone(),
        is_project: settings.is_project,
        home: folders.home.clone(),
        search_path: settings.environment.search_path(),
        permissions_file: folders.permissions_file(),
        audit_file: folders.audit_file(),
        log_file: folders.plugin_log_file(),
        cache_dir: folders.cache.clone(),
        undo_dir: folders.undo(),
        stores_dir: folders.stores(),
        protected: settings.own_files(),
        session: session.to_owned(),
        mode: ModeSwitch::default(),
        limits: Limits::standard(),
        commands: commands::options(settings),
        hooks: hooks::options(settings),
        web: WebOptions {
            sites: Arc::clone(&settings.sites),
            search: search::options(settings),
            ..WebOptions::system(http::USER_AGENT)
        },
        mcp: crate::mcp::options(settings),
        syntax: built_in_plugins::parsers(),
        app_engine: built_in_plugins::app_engine(),
        embedder: embedding::embedder(settings),
    }
}

/// A folder of Dunlin's own cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make the folder {}", folder.display())]
struct CannotMake {
    folder: std::path::PathBuf,
    source: std::io::Error,
}

fn cannot_make(folder: &std::path::Path, source: std::io::Error) -> CliError {
    CliError::failed(CannotMake {
        folder: folder.to_path_buf(),
        source,
    })
}
