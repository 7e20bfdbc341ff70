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

#![warn(missing_docs)]

mod actions;
mod answer;
pub mod app;
mod arguments;
pub mod ask;
mod audit;
mod bindings;
pub mod call;
mod capability;
mod code;
pub mod command;
pub mod declared_permissions;
pub mod display;
pub mod edit;
pub mod egress;
pub mod embedding;
mod engine;
mod file_history;
pub mod files;
pub mod hooks;
mod host;
pub mod json;
pub mod limits;
mod machine;
pub mod masking;
pub mod mcp;
pub mod metadata;
pub mod model;
pub mod nearest;
mod notices;
mod open;
mod options;
pub mod permission;
mod plugin;
pub mod process;
mod progress;
mod resolve;
mod schema;
pub mod search;
pub mod secrets;
mod sections;
pub mod settings;
pub mod subagent;
pub mod target;
mod trap;
pub mod undo;
pub mod walk;

/// Why something failed that whoever made the host put in: a model, a key, a connection. It is shown with its causes.
pub type ForeignError = Box<dyn std::error::Error + Send + Sync>;

pub use audit::AuditError;
pub use capability::store::{store_folder, stored_bytes};
pub use code::{Code, CodeError};
pub use engine::cache::{forget_compiled, sha256_hex};
pub use file_history::History;
pub(crate) use file_history::HistoryBook;
pub use host::{Host, HostError, PromptError, ServerPrompt};
pub use limits::Limits;
pub use open::folder as open_folder;
pub use options::{HostOptions, WebOptions};
pub use permission::{Explained, PermissionError, Permissions, Stored};
pub use plugin::{
    Annotations, ArgumentsError, Description, LoadError, Plugin, Schema, SchemaError, Tool,
    ToolTexts, tools_digest,
};
pub use process::CommandOptions;
pub use progress::{NoProgress, Progress};
pub use resolve::{ResolveError, mounted_elsewhere};
pub use search::SearchOptions;
