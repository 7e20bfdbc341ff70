//! What stands behind the handles of the contract that only hold values: what a plugin says of itself, of a call and of its
//! result, and what it is told of a file.

use super::dunlin::tool::files::{History, Kind};
use super::dunlin::tool::tool_types::FailureKind;
use super::dunlin::tool::types::{Header, Need};
use crate::edit::FileChange;

/// A tool, as its plugin describes it. Not checked.
#[derive(Debug, Clone, Default)]
pub struct DeclaredTool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// JSON Schema.
    pub(crate) parameters: String,
    pub(crate) title: Option<String>,
    /// JSON Schema.
    pub(crate) output_schema: Option<String>,
    pub(crate) is_destructive: Option<bool>,
    pub(crate) is_idempotent: Option<bool>,
}

/// A plugin, as it describes itself.
#[derive(Debug, Clone, Default)]
pub struct DeclaredPlugin {
    pub(crate) tools: Vec<DeclaredTool>,
    /// JSON Schema.
    pub(crate) settings_schema: Option<String>,
}

/// What stands behind the contract's `call`.
#[derive(Debug, Clone)]
pub struct ProposedCall {
    pub(crate) tool: String,
    /// JSON.
    pub(crate) arguments: String,
}

/// A command line, as the plugin writes it.
#[derive(Debug, Clone, Default)]
pub struct DeclaredCommand {
    pub(crate) line: String,
    pub(crate) network: bool,
}

/// What a call is going to touch and to do.
#[derive(Debug, Clone, Default)]
pub struct DeclaredPlan {
    pub(crate) question: String,
    pub(crate) needs: Vec<Need>,
    /// Requests that read.
    pub(crate) gets: Vec<DeclaredGet>,
    pub(crate) actions: Vec<DeclaredAction>,
}

/// A request that reads, as the plugin announces it.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredGet {
    pub(crate) url: String,
    pub(crate) headers: Vec<Header>,
}

/// Something that a call is going to do.
#[derive(Debug, Clone)]
pub(crate) enum DeclaredAction {
    /// The text of a file is changed.
    Edit { path: String, change: FileChange },
    /// A file is changed, and only the run can tell how.
    EditLater { path: String },
    /// A command is run.
    Command(DeclaredCommand),
}

/// A failure that a tool reports.
#[derive(Debug, Clone)]
pub struct DeclaredFailure {
    pub(crate) kind: FailureKind,
    pub(crate) message: String,
    pub(crate) retry_after_ms: Option<u64>,
}

/// The result of a call.
#[derive(Debug, Clone, Default)]
pub struct DeclaredOutput {
    pub(crate) parts: Vec<DeclaredPart>,
    /// JSON.
    pub(crate) structured: Option<String>,
}

/// A part of a result.
#[derive(Debug, Clone)]
pub(crate) enum DeclaredPart {
    Text(String),
    Blob { media_type: String, bytes: Vec<u8> },
}

/// What stands behind the contract's `metadata`.
#[derive(Debug)]
pub struct FoundMetadata {
    pub(crate) kind: Kind,
    pub(crate) size_bytes: u64,
    pub(crate) modified_ms: u64,
    pub(crate) history: History,
}

/// What stands behind the contract's `request`.
#[derive(Debug)]
pub struct DeclaredRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<Header>,
    pub(crate) body: Vec<u8>,
}

impl DeclaredRequest {
    /// Of how many values it consists, and their bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        let of_header = |header: &Header| header.name.len() + header.value.len();
        let headers: usize = self.headers.iter().map(of_header).sum();
        let bytes = self.method.len() + self.url.len() + headers + self.body.len();
        (1 + self.headers.len(), bytes)
    }
}
