//! Runs Dunlin's tools: WebAssembly components that can touch nothing the user did not grant.
//!
//! A tool has no authority of its own. It is a component with a list of imports, and every use of an
//! import is resolved to a target and an operation, looked up in the permission store, asked of the
//! user where nothing is decided, logged, and only then done. All of that happens at the moment of
//! use: what a tool says of itself beforehand (`prepare`) shapes the question and grants nothing.
//!
//! The crate could run inside a server. It never prints, never reads the environment or the home
//! folder, knows no terminal and no model provider: paths, limits and the asking of the user
//! ([`ask::Ask`]) are handed in. Making a [`Host`] costs nothing; the engine starts, and components
//! are compiled or loaded, when the first tool is needed.
//!
//! The way of a call:
//!
//! 1. [`Host::prepare`] checks the arguments and asks the tool what it would touch.
//! 2. [`Host::answer`] remembers what the user said to the needs that were open.
//! 3. [`Host::run`] runs it in a fresh store within its limits. Dropping the future cancels it.
//!
//! Tools of [`mcp`] servers join while the host is used; they go the same way.

mod actions;
mod arguments;
pub mod ask;
mod audit;
mod bindings;
pub mod call;
mod capability;
pub mod ceiling;
mod code;
pub mod command;
pub mod display;
pub mod edit;
pub mod egress;
pub mod embedding;
mod engine;
mod history;
mod host;
pub mod json;
pub mod limits;
pub mod mcp;
pub mod model;
mod notices;
pub mod permission;
mod plugin;
pub mod process;
mod resolve;
mod schema;
pub mod search;
pub mod secrets;
pub mod target;
pub mod undo;
pub mod walk;

use std::path::PathBuf;

pub use audit::AuditError;
pub use code::{Code, CodeError};
pub use engine::cache::sha256_hex;
pub use history::History;
pub(crate) use history::HistoryBook;
pub use host::{Host, HostError, ServerPrompt};
pub use limits::Limits;
pub use permission::{Explained, PermissionError, Permissions, Stored};
pub use plugin::{Description, LoadError, ParameterText, Plugin, Tool, ToolTexts};
pub use process::CommandOptions;
pub use resolve::ResolveError;
pub use search::SearchOptions;

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
    /// What one call may use.
    pub limits: Limits,
    /// How commands are run.
    pub commands: CommandOptions,
    /// How the web is reached.
    pub web: WebOptions,
    /// The MCP servers that may be used.
    pub mcp: mcp::McpOptions,
    /// The model of meaning, if there is one.
    pub embedder: Option<std::sync::Arc<dyn embedding::Embedder>>,
}

/// How tools reach the web.
#[derive(Debug, Clone)]
pub struct WebOptions {
    /// The way out.
    pub egress: egress::Egress,
    /// Headers that the user gave for certain sites: no tool sees them.
    pub sites: std::sync::Arc<egress::SiteHeaders>,
    /// The search engine.
    pub search: SearchOptions,
}

impl WebOptions {
    /// The network of the system, no headers, and the search engine that needs nothing.
    pub fn system(user_agent: impl Into<String>) -> WebOptions {
        let options = egress::EgressOptions::system(user_agent);
        WebOptions {
            egress: egress::Egress::new(options),
            sites: std::sync::Arc::default(),
            search: SearchOptions::default(),
        }
    }
}

/// Shows how far a running call is.
pub trait Progress: Send + Sync {
    /// A message, escaped and short enough for one line, and a percentage of at most 100.
    /// Called from within the call: must not block.
    fn progress(&self, call: &str, message: &str, percent: Option<u8>);

    /// The newest output of a running command, as it comes and at a pace that can be shown; where more comes than
    /// that, only the end of it. Raw bytes, cut anywhere: escape before showing. Called from within the call: must
    /// not block.
    fn output(&self, _call: &str, _bytes: &[u8]) {}
}

/// Shows nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn progress(&self, _call: &str, _message: &str, _percent: Option<u8>) {}
}

/// What the audit log says of a refusal that nobody gave.
pub(crate) const NOBODY: &str = "there was nobody to ask";

/// An answer in the words of the audit log.
pub(crate) fn describe_answer(answer: ask::Answer) -> String {
    let word = if answer.allow { "yes" } else { "no" };
    match answer.scope {
        ask::Scope::Once => format!("answered: {word}, for this call"),
        ask::Scope::Session => format!("answered: {word}, for this session"),
        ask::Scope::Always => format!("answered: {word}, always"),
    }
}
