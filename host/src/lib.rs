//! Runs Dunlin's tools.

#![allow(missing_docs, reason = "API sketch")]
pub mod ask;
pub mod call;
pub mod display;
pub mod target;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ask::Ask;
use call::{Call, Failure, Outcome, Plan};

/// Everything the host needs to know; nothing is read from the environment.
#[derive(Debug, Clone)]
pub struct HostOptions {
    /// The project folder: where relative paths start and reading is allowed.
    pub project: PathBuf,
    /// The user's home folder, for `~/` in keys that people type. `None`: `~` means nothing.
    pub home: Option<PathBuf>,
    /// `tool.permissions.json`; need not exist. `tool.digests.json` stands beside it.
    pub permissions_file: PathBuf,
    /// The audit log (JSON Lines); need not exist.
    pub audit_file: PathBuf,
    /// Where plugins may write to their log file (JSON Lines); need not exist.
    pub log_file: PathBuf,
    /// Where compiled components and tool lists are kept.
    pub cache_dir: PathBuf,
    /// Folders and files that are never granted to a tool: Dunlin's own configuration, data and cache.
    pub protected: Vec<PathBuf>,
    /// The id of the session, for the audit log.
    pub session: String,
    /// What one call may use.
    pub limits: Limits,
}

#[derive(Debug, Clone)]
pub struct Limits;
impl Limits { pub fn standard() -> Limits { Limits } }

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    #[error("placeholder")]
    Placeholder,
}

/// A plugin's component and where it comes from.
#[derive(Debug, Clone)]
pub struct Plugin {
    pub name: String,
    /// The component's bytes.
    pub bytes: std::borrow::Cow<'static, [u8]>,
    /// SHA-256 of the bytes, lower-case hexadecimal.
    pub digest: String,
    pub built_in: bool,
}

/// One tool, as the model is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    pub plugin: String,
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: serde_json::Value,
    /// The interfaces it imports: all the abilities it can ever have. For example `["files", "log"]`.
    pub imports: Vec<String>,
}

/// Progress of a running call.
pub trait Progress: Send + Sync {
    /// Already escaped and shortened.
    fn progress(&self, call: &str, message: &str, percent: Option<u8>);
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Host { _inner: Arc<()> }

impl Host {
    /// Touches no wasm, no network and no large file.
    pub fn new(_options: HostOptions, _plugins: Vec<Plugin>) -> Result<Host, HostError> { unimplemented!() }
    pub fn permissions(&self) -> &Permissions { unimplemented!() }
    /// All tools, sorted by name; from the cache where it can. A plugin that cannot be described is
    /// left out and comes back in the second list with the reason.
    pub async fn tools(&self) -> (Vec<Tool>, Vec<HostError>) { unimplemented!() }
    /// Never asks, never runs the tool's `run`.
    pub async fn prepare(&self, _call: &Call) -> Result<Plan, Failure> { unimplemented!() }
    /// Records what the user answered to the needs a plan left open. `Once` holds for this call id only.
    pub fn answer(&self, _call: &Call, _plan: &Plan, _answer: ask::Answer) -> Result<(), PermissionError> { unimplemented!() }
    /// Runs the call. Dropping the future stops it at the next epoch.
    pub async fn run(&self, _call: &Call, _plan: &Plan, _ask: Arc<dyn Ask>, _progress: Arc<dyn Progress>) -> Outcome { unimplemented!() }
    /// Writes a call that was not run into the audit log.
    pub fn note_denied(&self, _call: &Call, _plan: &Plan, _answer: ask::Answer) { unimplemented!() }
    /// Marks a file as attached by the user: it may be read whole.
    pub fn mark_attached(&self, _path: &Path) { unimplemented!() }
}

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionError {
    #[error("placeholder")]
    Placeholder,
}

/// The permission store. `Permissions::open(&PermissionOptions)` works without a `Host` too.
pub struct Permissions { _x: () }

/// One stored line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub key: String,
    /// Three characters: `rw-`, `r??`.
    pub bits: String,
    /// Which plugins' digests it is bound to, in words; `None`: holds for every tool.
    pub bound_to: Option<String>,
}

/// Why a target is allowed, denied or asked for one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub operation: target::Operation,
    /// `allow`, `deny`, `ask`
    pub verdict: String,
    /// In words, naming the key and the file where one decided.
    pub rule: String,
}

impl Permissions {
    pub fn open(_options: &HostOptions) -> Result<Permissions, PermissionError> { unimplemented!() }
    /// The stored keys, sorted.
    pub fn list(&self) -> Result<Vec<Stored>, PermissionError> { unimplemented!() }
    /// Sets three characters by hand: holds for every tool. Returns the key as stored.
    pub fn set(&self, _target: &str, _bits: &str) -> Result<String, PermissionError> { unimplemented!() }
    /// Removes a key. `false`: there was none.
    pub fn unset(&self, _target: &str) -> Result<bool, PermissionError> { unimplemented!() }
    /// The resolved target and, for r, w, x, what holds and which rule decided.
    pub fn explain(&self, _target: &str) -> Result<(target::Target, Vec<Explained>), PermissionError> { unimplemented!() }
    /// What was answered for the session only, for `/permissions`.
    pub fn session_answers(&self) -> Vec<Stored> { unimplemented!() }
}
