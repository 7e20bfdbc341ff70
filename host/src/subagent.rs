//! Subagents, for the tool that starts them.
//!
//! The host knows no conversations: whoever asks the user hands this in, see [`crate::ask::Ask::subagents`]. The calls of a
//! subagent come back to the host like all others, under the same permissions.

use std::time::Duration;

use async_trait::async_trait;

use crate::ForeignError;

/// Runs subagents.
#[async_trait]
pub trait Subagents: Send + Sync {
    /// Runs one until it has ended. `call` is the id of the call of `run_subagent`. Dropping the future ends it.
    ///
    /// # Errors
    /// Why none was started: there is no such agent or tool, or too many are running.
    async fn run(&self, call: &str, task: SubagentTask) -> Result<SubagentReport, ForeignError>;
}

/// What a subagent is to do. Written by a model: escape before showing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentTask {
    /// Everything that it is told.
    pub task: String,
    /// The agent whose model and settings it has. `None`: those of the chat.
    pub agent: Option<String>,
    /// The tools that it may call, of those that it would have. `None`: all of them.
    pub tools: Option<Vec<String>>,
    /// The most requests that it may make. `None`: as many as the settings allow.
    pub max_rounds: Option<u32>,
    /// Files that it is given with the task.
    pub context: Vec<ContextFile>,
}

/// A file that a subagent is given. The call of `run_subagent` was allowed to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// As the model wrote it.
    pub path: String,
    /// The content.
    pub text: String,
}

/// What came of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentReport {
    /// What it is called where several are shown: `research`, `research 2`.
    pub name: String,
    /// Why it is over.
    pub end: SubagentEnd,
    /// Its last message; empty where it wrote none.
    pub text: String,
    /// Requests that it made.
    pub rounds: u32,
    /// Tools that it called.
    pub calls: u32,
    /// Tokens of its requests.
    pub input_tokens: u64,
    /// Tokens of the replies.
    pub output_tokens: u64,
    /// From its start to its end.
    pub duration: Duration,
}

/// Why a subagent is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubagentEnd {
    /// It has answered.
    Answered,
    /// Its answer was as long as one may be.
    CutOff,
    /// A call was denied, and with it the rest. Contains the question.
    Denied(String),
    /// It made as many requests as it may.
    RoundLimit,
    /// The user stopped it, and not the turn that it belongs to.
    Stopped,
    /// Its conversation does not fit into the context window. Contains the details.
    TooLong(String),
    /// The provider failed. Contains the error.
    Failed(String),
}

impl SubagentEnd {
    /// The word for it, for scripts and files.
    pub const fn word(&self) -> &'static str {
        match self {
            SubagentEnd::Answered => "answered",
            SubagentEnd::CutOff => "cut_off",
            SubagentEnd::Denied(_) => "denied",
            SubagentEnd::RoundLimit => "round_limit",
            SubagentEnd::Stopped => "stopped",
            SubagentEnd::TooLong(_) => "too_long",
            SubagentEnd::Failed(_) => "failed",
        }
    }

    /// What it contains besides the word.
    pub fn details(&self) -> Option<&str> {
        match self {
            SubagentEnd::Denied(details)
            | SubagentEnd::TooLong(details)
            | SubagentEnd::Failed(details) => Some(details),
            SubagentEnd::Answered
            | SubagentEnd::CutOff
            | SubagentEnd::RoundLimit
            | SubagentEnd::Stopped => None,
        }
    }

    /// The end that has this word, with these details; `None`: no end has it.
    pub fn of(word: &str, details: String) -> Option<SubagentEnd> {
        let ends = [
            SubagentEnd::Answered,
            SubagentEnd::CutOff,
            SubagentEnd::Denied(details.clone()),
            SubagentEnd::RoundLimit,
            SubagentEnd::Stopped,
            SubagentEnd::TooLong(details.clone()),
            SubagentEnd::Failed(details),
        ];
        ends.into_iter().find(|end| end.word() == word)
    }
}
