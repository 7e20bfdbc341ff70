//! The host: holds the plugins and the servers, and leads each call through its three steps.

mod background;
mod component;
mod guests;
mod results;
mod servers;
mod turns;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::OnceCell;

use self::component::{ComponentTool, Components};
use self::guests::Guests;
use self::servers::{McpTools, ServerTool, Timed};
pub use self::servers::{PromptError, ServerPrompt};
use self::turns::first_turn;
use crate::answer::NOBODY;
use crate::app::{AppOptions, AppProgram, Apps};
use crate::ask::{Answer, Ask, Scope};
use crate::audit::JsonLines;
use crate::call::{Call, Failure, Outcome, Plan, PlanStatus};
use crate::capability::Shared;
use crate::edit::prepare::hash_of;
use crate::edit::syntax::Checker;
use crate::engine::LazyEngine;
use crate::engine::cache::Cache;
use crate::hooks::Hooks;
use crate::machine::LazyMachine;
use crate::mcp::{LOADER, ServerReport, Servers};
use crate::nearest::similar;
use crate::notices::Notices;
use crate::permission::{PermissionError, Permissions};
use crate::plugin::{DescribedTool, LoadError, Plugin, Registered, Tool};
use crate::process::{CommandSandbox, SandboxError};
use crate::settings::{PluginSettings, SettingsError, SettingsFile};
use crate::undo::Journal;
use crate::{AuditError, History, HistoryBook, HostOptions, Progress, display, limits, resolve};

/// Names that are suggested in place of an unknown one, at most.
const MAX_SUGGESTIONS: usize = 3;

/// Why the host, rather than a tool, failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A plugin cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The permission store cannot be used.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The audit log cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

/// Holds the plugins and runs their tools. Clones are the same host.
#[derive(Clone)]
pub struct Host(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    guests: Arc<Guests>,
    components: Arc<Components>,
    servers: McpTools,
    apps: Arc<Apps>,
    hooks: Hooks,
    /// Whether there is nobody who answers.
    unattended: AtomicBool,
}

/// What a call names.
enum Callee {
    /// A tool of a plugin.
    Component(ComponentTool),
    /// A tool of an MCP server.
    Server(ServerTool),
    /// The tool that connects MCP servers.
    Loader,
}

/// Whether the host keeps a name for itself, whatever is configured.
fn is_reserved(tool: &str) -> bool {
    tool == LOADER
}

impl Host {
    /// Makes a host. Touches no wasm, no network and no large file.
    pub fn new(options: HostOptions, plugins: Vec<Plugin>) -> Result<Host, HostError> {
        let cache = Cache::new(&options.cache_dir);
        let engine = Arc::new(LazyEngine::new(options.limits));
        let machine = Arc::new(LazyMachine::new(Arc::clone(&engine)));
        let shared = Arc::new(Shared {
            permissions: Permissions::open(&options)?,
            audit: JsonLines::new(&options.audit_file),
            log: JsonLines::bounded(&options.log_file, limits::MAX_LOG_FILE_BYTES),
            session: RwLock::new(options.session.into()),
            history: HistoryBook::default(),
            undo: Journal::new(&options.undo_dir),
            stores: options.stores_dir,
            settings: SettingsFile::beside(&options.permissions_file),
            turn: AtomicU64::new(first_turn()),
            commands: options.commands,
            notices: Notices::default(),
            egress: options.web.egress,
            sites: options.web.sites,
            search: options.web.search,
            searches: Mutex::default(),
            embedder: options.embedder,
            syntax: Checker::new(options.syntax, engine, cache.clone()),
            sandbox: OnceCell::new(),
        });
        let apps = Apps::new(
            Arc::clone(&shared),
            options.limits,
            cache.clone(),
            Arc::clone(&machine),
            options.app_engine,
        );
        let guests = Guests::new(Arc::clone(&shared), options.limits, cache, machine, plugins);
        let guests = Arc::new(guests);
        let components = Components::new(Arc::clone(&shared), Arc::clone(&guests));
        let servers = Servers::new(options.mcp);
        Ok(Host(Arc::new(Inner {
            servers: McpTools::new(Arc::clone(&shared), Arc::clone(&guests), servers),
            hooks: Hooks::new(Arc::clone(&shared), options.hooks),
            shared,
            guests,
            components: Arc::new(components),
            apps,
            unattended: AtomicBool::new(false),
        })))
    }

    /// From now on these are the plugins. What is known already of one that stays the same is kept, and calls that
    /// run go on with what they began with.
    pub fn replace_plugins(&self, plugins: Vec<Plugin>) {
        let before = self.0.guests.all();
        self.0.guests.replace(plugins);
        let after = self.0.guests.all();
        // What was said of a tool was said of this plugin, in this version.
        let is_gone = |old: &Arc<Registered>| !after.iter().any(|new| Arc::ptr_eq(old, new));
        for plugin in before.iter().filter(|plugin| is_gone(plugin)) {
            if let Some(Ok(described)) = plugin.described.get() {
                for tool in &described.tools {
                    self.0.shared.permissions.forget_always(&tool.tool.name);
                }
            }
        }
    }

    /// Opens an app. Nothing of it is loaded before its first use.
    pub fn open_app(&self, options: AppOptions) -> AppProgram {
        self.0.apps.open(options)
    }

    /// The permission store.
    pub fn permissions(&self) -> &Permissions {
        &self.0.shared.permissions
    }

    /// Checks a call, asks its tool what it would touch, and the hooks whether they deny it. Never asks the user, never runs
    /// it.
    ///
    /// Dropping the future ends a hook that runs, and leaves nothing else behind.
    pub async fn prepare(&self, call: &Call) -> Result<Plan, Failure> {
        let plan = self.plan(call).await?;
        if !matches!(plan.status, PlanStatus::Denied { .. }) {
            self.0.hooks.before_question(call, &plan).await?;
        }
        Ok(plan)
    }

    async fn plan(&self, call: &Call) -> Result<Plan, Failure> {
        match Box::pin(self.callee(&call.tool)).await? {
            Callee::Component(tool) => {
                let is_attended = !self.0.unattended.load(Ordering::Relaxed);
                Box::pin(self.0.components.prepare(call, &tool, is_attended)).await
            }
            Callee::Server(tool) => self.0.servers.prepare_tool(call, &tool),
            Callee::Loader => self.0.servers.prepare_loader(call),
        }
    }

    /// Remembers what the user answered to the needs that a plan left open. `Once` holds for this call.
    ///
    /// An answer for always is on the disk when this returns; it blocks for some milliseconds.
    pub async fn answer(&self, call: &Call, plan: &Plan, answer: Answer) -> Result<(), Failure> {
        let longest = match &plan.status {
            PlanStatus::Ask { longest, .. } => *longest,
            PlanStatus::Allowed | PlanStatus::Denied { .. } => Scope::Once,
        };
        let answer = answer.at_most(longest);
        let open = plan.answered(answer);
        let rule = self.in_words(answer);
        let Inner {
            components,
            servers,
            ..
        } = &*self.0;
        match Box::pin(self.callee(&call.tool)).await? {
            Callee::Component(tool) => components.answer(call, &tool, open, answer, &rule),
            Callee::Server(tool) => servers.answer_tool(call, &tool, open, answer, &rule),
            Callee::Loader => servers.answer_loader(call, open, answer, &rule),
        }
    }

    /// Runs a call as it was planned, and the hooks around it. Every use is checked again; `ask` is for uses that the plan did
    /// not declare and nothing decides about, and the clock of the call stands meanwhile.
    ///
    /// Dropping the future stops the guest at its next epoch, within some milliseconds, and drops
    /// everything it held. Call [`Host::cancelled`] then, so that the audit log says so.
    pub async fn run(
        &self,
        call: &Call,
        plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome {
        let Inner {
            components,
            servers,
            hooks,
            ..
        } = &*self.0;
        let unrun = |failure| Outcome {
            result: Err(failure),
            duration: Duration::ZERO,
            edits: Vec::new(),
            said: String::new(),
        };
        let _begun = match hooks.before_run(call, plan, &*progress).await {
            Ok(begun) => begun,
            Err(failure) => {
                self.cancelled(call);
                return unrun(failure);
            }
        };
        // Boxed: what holds this future would hold the layers of all three.
        let mut outcome = match Box::pin(self.callee(&call.tool)).await {
            Ok(Callee::Component(tool)) => {
                let progress = Arc::clone(&progress);
                Box::pin(components.run(call, tool, plan, ask, progress)).await
            }
            Ok(Callee::Server(tool)) => {
                let ask = Timed::new(ask);
                let run =
                    Box::pin(servers.run_tool(call, &tool, ask.clone(), Arc::clone(&progress)));
                ask.outcome(run).await
            }
            Ok(Callee::Loader) => {
                let ask = Timed::new(ask);
                let run = Box::pin(servers.run_loader(call, ask.clone(), Arc::clone(&progress)));
                ask.outcome(run).await
            }
            Err(failure) => unrun(failure),
        };
        hooks.after_run(call, &mut outcome, &*progress).await;
        self.cancelled(call);
        outcome
    }

    /// Forgets what was answered for one call, after it was dropped or will not be run. How the call ended, if it had ended
    /// and only hooks were still running when it was dropped.
    pub fn cancelled(&self, call: &Call) -> Option<Outcome> {
        self.permissions().forget_call(&call.id);
        self.0.servers.forget_call(&call.id);
        self.0.hooks.forget_call(&call.id)
    }

    /// Finds what a call names. The host's own names are never a plugin's; of a plugin's tool and a server's with one name
    /// the plugin's counts.
    async fn callee(&self, name: &str) -> Result<Callee, Failure> {
        let Inner {
            guests, servers, ..
        } = &*self.0;
        if !is_reserved(name)
            && let Some((plugin, described, index)) = guests.find(name).await
        {
            return Ok(Callee::Component(ComponentTool {
                plugin,
                described,
                index,
            }));
        }
        if servers.loader_tool().is_some_and(|it| it.name == name) {
            return Ok(Callee::Loader);
        }
        if let Some(tool) = servers.find(name) {
            return Ok(Callee::Server(tool));
        }
        let name = display::shorten(name, 100).into_owned();
        let near = self.near(&name);
        Err(Failure::UnknownTool { name, near })
    }

    /// Names of tools that resemble this one, the nearest first.
    fn near(&self, name: &str) -> Vec<String> {
        let names: Vec<String> = self.0.guests.names();
        let names: Vec<String> = names.into_iter().chain(self.0.servers.names()).collect();
        let names = || names.iter().map(String::as_str);
        let wanted = name.to_ascii_lowercase();
        // Models put prefixes before names, as in `functions.read_file`.
        let mut near: Vec<&str> = names()
            .filter(|known| known.contains(&wanted) || wanted.contains(known))
            .collect();
        for known in similar(&wanted, names()) {
            if !near.contains(&known) {
                near.push(known);
            }
        }
        let near = near.into_iter().take(MAX_SUGGESTIONS);
        near.map(str::to_owned).collect()
    }

    /// From now on nobody answers: the audit log says so of what is denied for that reason.
    pub fn nobody_answers(&self) {
        self.0.unattended.store(true, Ordering::Relaxed);
    }

    /// An answer in the words of the audit log.
    fn in_words(&self, answer: Answer) -> String {
        match self.0.unattended.load(Ordering::Relaxed) && answer == Answer::DENY {
            true => NOBODY.to_owned(),
            false => answer.in_words(),
        }
    }

    /// All tools, sorted by name: known beforehand, from the cache, or described by their plugins, side by side.
    ///
    /// A plugin that cannot be used is left out and stands in the second list. Of two tools with one
    /// name the one of the plugin that was given first counts.
    pub async fn tools(&self) -> (Vec<Tool>, Vec<LoadError>) {
        let Inner {
            guests, servers, ..
        } = &*self.0;
        let plugins = guests.all();
        let described =
            futures::future::join_all(plugins.iter().map(|plugin| guests.describe(plugin))).await;
        let mut tools: Vec<Tool> = Vec::new();
        let mut errors = Vec::new();
        for (plugin, described) in plugins.iter().zip(described) {
            let described = match described {
                Ok(described) => described,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            for DescribedTool { tool, .. } in &described.tools {
                if is_reserved(&tool.name) {
                    errors.push(LoadError::Reserved {
                        plugin: plugin.id.name.clone(),
                        tool: tool.name.clone(),
                    });
                    continue;
                }
                match tools.iter().find(|other| other.name == tool.name) {
                    Some(other) => errors.push(LoadError::Taken {
                        plugin: plugin.id.name.clone(),
                        tool: tool.name.clone(),
                        other: other.plugin.clone(),
                    }),
                    None => tools.push(tool.clone()),
                }
            }
        }
        tools.extend(servers.loader_tool());
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        (tools, errors)
    }

    /// Whether the component with this digest is compiled already; if not, its first use takes a while.
    pub fn is_compiled(&self, digest: &str) -> bool {
        self.0.guests.is_compiled(digest)
    }

    /// What a plugin lets the user set, and what is set.
    ///
    /// # Errors
    /// There is no such plugin, it cannot be described, or what is set cannot be read.
    pub async fn settings(&self, plugin: &str) -> Result<PluginSettings, SettingsError> {
        let (identity, schema) = self.settings_schema(plugin).await?;
        let set = self.0.shared.settings.of(&identity)?;
        Ok(PluginSettings::new(&schema, &set))
    }

    /// Sets what a plugin lets the user set; `None` removes a value. Changes all of it or nothing.
    ///
    /// # Errors
    /// As for [`Host::settings`], and where a value does not fit.
    pub async fn set_settings(
        &self,
        plugin: &str,
        changes: Vec<(String, Option<serde_json::Value>)>,
    ) -> Result<(), SettingsError> {
        let (identity, schema) = self.settings_schema(plugin).await?;
        self.0.shared.settings.set(&identity, &schema, changes)
    }

    async fn settings_schema(
        &self,
        name: &str,
    ) -> Result<(String, Arc<serde_json::Value>), SettingsError> {
        let guests = &self.0.guests;
        let plugins = guests.all();
        let plugin = plugins.iter().find(|plugin| plugin.id.name == name);
        let plugin = plugin.ok_or_else(|| SettingsError::NoPlugin(name.to_owned()))?;
        let described = guests.describe(plugin).await?;
        match &described.settings_schema {
            Some(schema) => Ok((plugin.id.identity(), Arc::clone(schema))),
            None => Err(SettingsError::None(name.to_owned())),
        }
    }

    /// The tools of the MCP servers that this session uses, by now.
    pub fn joined(&self) -> Vec<Tool> {
        self.0.servers.joined()
    }

    /// The servers that were configured.
    pub fn servers(&self) -> Vec<ServerReport> {
        self.0.servers.reports()
    }

    /// Ends the connection to a server and takes its tools out of the session until it is connected again. `false`: it was
    /// not in use.
    pub async fn disconnect_server(&self, name: &str) -> bool {
        self.0.servers.disconnect(name).await
    }

    /// The user wants a server connected, however often it has ended in this session: its starts are counted anew.
    pub fn forgive_server(&self, name: &str) {
        self.0.servers.forgive(name);
    }

    /// Disables a server until the session ends, or enables it again. A disabled server is not connected, whoever asks
    /// for it; one that is connected has to be disconnected as well.
    pub fn set_server_disabled(&self, name: &str, is_disabled: bool) {
        self.0.servers.set_disabled(name, is_disabled);
    }

    /// The session goes on that used these servers. They are connected when one of their tools is called; until then what
    /// they offered the last time is offered.
    pub fn use_servers(&self, names: &[String]) {
        self.0.servers.use_servers(names);
    }

    /// The servers that the session uses, by name.
    pub fn used_servers(&self) -> Vec<String> {
        self.0.servers.used()
    }

    /// Whether any server is connected.
    pub fn has_connections(&self) -> bool {
        self.0.servers.has_connections()
    }

    /// Takes leave of all servers, side by side, and waits until they are gone, within a second. Those that take longer are
    /// cut off. A server is connected again when a tool of it is called.
    pub async fn close_servers(&self) {
        Box::pin(self.0.servers.close()).await;
    }

    /// The prompts of the connected servers; what could not be asked for stands in the second list, a line each.
    pub async fn prompts(&self) -> (Vec<ServerPrompt>, Vec<String>) {
        Box::pin(self.0.servers.prompts()).await
    }

    /// Fills a prompt in. The text is the server's: it becomes a message of the user's, who has seen it then.
    pub async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Vec<(String, String)>,
    ) -> Result<String, PromptError> {
        Box::pin(self.0.servers.prompt(server, name, arguments)).await
    }

    /// What happened to servers, and what commands left behind whose calls had ended, one line each; each once.
    pub fn take_notices(&self) -> Vec<String> {
        self.0.shared.notices.take()
    }

    /// Waits until commands whose calls were interrupted have ended and their repositories were looked at, but not longer
    /// than [`limits::REVIEW_TIME`].
    pub async fn commands_ended(&self) {
        self.0.shared.notices.settled(limits::REVIEW_TIME).await;
    }

    /// What commands run in on this machine; found out at the first call, which takes some milliseconds.
    ///
    /// The error says why none can run.
    pub async fn command_sandbox(&self) -> Result<CommandSandbox, SandboxError> {
        self.0.shared.announced_sandbox().await
    }

    /// Marks a file as attached by the user: tools may read it whole. A path that leads nowhere is an
    /// error.
    pub fn mark_attached(&self, path: &Path) -> Result<(), PermissionError> {
        let path = resolve::real_path(&self.permissions().project().join(path))?;
        // One that cannot be read was not attached with its content: it has to be read before it is edited.
        let content = crate::open::for_reading(&path).and_then(|file| hash_of(&file));
        let content = content.ok().flatten();
        self.0
            .shared
            .history
            .mark(&path, History::ATTACHED, content);
        Ok(())
    }

    /// Another session begins: the audit log names it from now on, and everything that held until the session ends is
    /// forgotten: answers, modes of tools, which files were seen, and how often was searched. Calls that are running
    /// belong to the session in which they began.
    pub fn begin_session(&self, id: &str) {
        let shared = &self.0.shared;
        shared.set_session(id);
        shared.permissions.forget_session();
        shared.history.clear();
        self.0.servers.forget_all();
        shared.searches().clear();
    }

    /// The model has forgotten what it saw of files: each has to be read again before lines of it are edited.
    pub fn forget_seen_files(&self) {
        self.0.shared.history.clear();
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let plugins = self.0.guests.all();
        let plugins: Vec<&str> = plugins
            .iter()
            .map(|plugin| plugin.id.name.as_str())
            .collect();
        f.debug_struct("Host")
            .field("plugins", &plugins)
            .finish_non_exhaustive()
    }
}
