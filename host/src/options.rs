//! What a host is told when it is made.

use std::path::PathBuf;
use std::sync::Arc;

use crate::command::Line;
use crate::egress;
use crate::embedding;
use crate::hooks::Hook;
use crate::limits::Limits;
use crate::mcp::{self, ServerAt};
use crate::permission::{ModeSwitch, PermissionError, PermissionOptions, Permissions};
use crate::plugin::Plugin;
use crate::process::CommandOptions;
use crate::search::SearchOptions;

/// Everything the host needs to know; nothing is read from the environment.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The project folder: where relative paths start and reading is allowed.
    pub project: PathBuf,
    /// Whether that folder is a project. `false` for a home folder, what lies above one, and `/`: relative paths start
    /// there as well, but nothing counts as inside, nothing is searched, and commands write only to their own
    /// temporary folder.
    pub is_project: bool,
    /// The user's home folder, for `~/`. `None`: `~/` is an error.
    pub home: Option<PathBuf>,
    /// Where programs are looked up by name, in order.
    pub search_path: Vec<PathBuf>,
    /// `tool.permissions.json`; need not exist. `tool.digests.json` stands beside it.
    pub permissions_file: PathBuf,
    /// The audit log (JSON Lines); need not exist.
    pub audit_file: PathBuf,
    /// Where messages of plugins go (JSON Lines); need not exist.
    pub log_file: PathBuf,
    /// Where compiled components and tool lists are kept; need not exist.
    pub cache_dir: PathBuf,
    /// Where the content of edited files is kept, to take edits back; need not exist.
    pub undo_dir: PathBuf,
    /// Where plugins keep what is theirs, a folder for each; need not exist.
    pub stores_dir: PathBuf,
    /// Folders and files that are never granted to a tool: Dunlin's own. The files and the folders
    /// above are added by themselves.
    pub protected: Vec<PathBuf>,
    /// The id of the session, for the audit log.
    pub session: String,
    /// What holds for all tools together; whoever has another clone of it can turn it.
    pub mode: ModeSwitch,
    /// What one call may use.
    pub limits: Limits,
    /// How commands are run.
    pub commands: CommandOptions,
    /// What runs before calls, after edits and at the end of turns, in this order.
    pub hooks: Vec<Hook>,
    /// How the web is reached.
    pub web: WebOptions,
    /// The MCP servers that may be used.
    pub mcp: mcp::McpOptions,
    /// The component that knows whether a file parses: it exports `dunlin:syntax/checker`. `None`: no edit is checked.
    pub syntax: Option<Plugin>,
    /// The component that runs the programs of apps: it exports `app-program`. `None`: no app can run.
    pub app_engine: Option<Plugin>,
    /// The embedding model, if there is one.
    pub embedder: Option<Arc<dyn embedding::Embedder>>,
}

/// How tools reach the web.
#[derive(Debug, Clone)]
pub struct WebOptions {
    /// The way out.
    pub egress: egress::Egress,
    /// Headers that the user gave for certain sites: no tool sees them.
    pub sites: Arc<egress::SiteHeaders>,
    /// The search engine.
    pub search: SearchOptions,
}

impl WebOptions {
    /// The network of the system, no headers, and the search engine that needs nothing.
    pub fn system(user_agent: impl Into<String>) -> WebOptions {
        let options = egress::EgressOptions::system(user_agent);
        WebOptions {
            egress: egress::Egress::new(options),
            sites: Arc::default(),
            search: SearchOptions::default(),
        }
    }
}

impl Permissions {
    /// Opens the store. The permission file is not read before the first decision.
    pub fn open(options: &HostOptions) -> Result<Permissions, PermissionError> {
        let mut own = options.protected.clone();
        own.extend([
            options.permissions_file.clone(),
            options.audit_file.clone(),
            options.log_file.clone(),
            options.cache_dir.clone(),
            options.undo_dir.clone(),
            options.stores_dir.clone(),
        ]);
        let search = &options.web.search;
        let hooks = options.hooks.iter();
        let hooks = hooks.map(|hook| Line::in_project(hook.command.clone()));
        let servers = options.mcp.servers.iter();
        let servers = servers.filter_map(|server| match &server.at {
            ServerAt::Program(program) => Some(program.whole_line()),
            ServerAt::Web { .. } => None,
        });
        Permissions::new(PermissionOptions {
            project: &options.project,
            is_project: options.is_project,
            home: options.home.as_deref(),
            search_path: &options.search_path,
            file: &options.permissions_file,
            own,
            secrets: options.commands.secrets.as_ref(),
            writable: &options.commands.write,
            environment: &options.commands.environment,
            shell: &options.commands.shell,
            search: search.address().filter(|_| search.is_chosen),
            mode: options.mode.clone(),
            run_by_hooks: options
                .hooks
                .iter()
                .flat_map(|hook| hook.pinned.iter().map(|file| file.path.clone()))
                .collect(),
            run_unasked: hooks.chain(servers).collect(),
        })
    }
}
