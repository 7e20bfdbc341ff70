//! Subagents: conversations beside the chat's own. Only Dunlin's own tool `run_subagent` can start them; every other plugin
//! gets [`Error::Unsupported`].

use std::time::Duration;

use crate::bindings::subagent_runner::dunlin::tool::subagent as host;
use crate::error::Error;

/// What a subagent is to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubagentTask {
    /// Everything that it is told.
    pub task: String,
    /// The agent whose model and settings it has. `None`: those of the chat.
    pub agent: Option<String>,
    /// The tools that it may call, of those that it would have. `None`: all of them.
    pub tools: Option<Vec<String>>,
    /// The most requests that it may make. `None`: as many as a turn of the chat.
    pub max_rounds: Option<u32>,
    /// Files that it is given with the task: their paths and their texts.
    pub context: Vec<(String, String)>,
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
    /// The user stopped it.
    Stopped,
    /// Its conversation does not fit into the context window. Contains the details.
    TooLong(String),
    /// The provider failed. Contains the error.
    Failed(String),
}

/// What came of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubagentReport {
    /// What it is called where several are shown: `research 2`.
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

/// Runs a subagent, and waits until it has ended; the wait is not counted against the time limit of the call.
///
/// Fails with `Unsupported` in every other plugin and where no subagents can run, with `Invalid` or `TooLarge` for a task
/// beyond the limits of the contract, with `Failed` where it cannot be started.
pub fn run(task: SubagentTask) -> Result<SubagentReport, Error> {
    crate::host::in_component()?;
    let file = |(path, text): (String, String)| host::ContextFile { path, text };
    let report = host::run(&host::SubagentTask {
        task: task.task,
        agent: task.agent,
        tools: task.tools,
        max_rounds: task.max_rounds,
        context: task.context.into_iter().map(file).collect(),
    })?;
    Ok(SubagentReport {
        name: report.name,
        end: match report.end {
            host::SubagentEnd::Answered => SubagentEnd::Answered,
            host::SubagentEnd::CutOff => SubagentEnd::CutOff,
            host::SubagentEnd::Denied(question) => SubagentEnd::Denied(question),
            host::SubagentEnd::RoundLimit => SubagentEnd::RoundLimit,
            host::SubagentEnd::Stopped => SubagentEnd::Stopped,
            host::SubagentEnd::TooLong(details) => SubagentEnd::TooLong(details),
            host::SubagentEnd::Failed(error) => SubagentEnd::Failed(error),
        },
        text: report.text,
        rounds: report.rounds,
        calls: report.calls,
        input_tokens: report.input_tokens,
        output_tokens: report.output_tokens,
        duration: Duration::from_millis(report.duration_ms),
    })
}
