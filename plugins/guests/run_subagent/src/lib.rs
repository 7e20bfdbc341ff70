//! The tool `run_subagent`: lets a model hand work to another conversation, and get back its last message.
//!
//! Starting a subagent grants nothing, so nothing has to be approved: what the subagent calls is asked about when it calls it.
//! Only the files that it is given are read here, and declared like those of any other tool.

mod context;
mod report;

use dunlin_sdk::{
    Error, Failure, FailureKind, Output, Parameters, Plan, Tool, parameters, subagent,
};
use serde::Deserialize;

/// The most requests that a model can ask for: what a turn of the chat has unless it is configured otherwise.
const MAX_ROUNDS: i64 = 50;

/// Files that a subagent can be given; what the contract says of `subagent`.
const MAX_FILES: usize = 16;

/// The tool.
#[derive(Debug)]
pub struct RunSubagent;

/// What the model says.
#[derive(Debug, Deserialize)]
pub struct Arguments {
    task: String,
    agent: Option<String>,
    tools: Option<Vec<String>>,
    max_rounds: Option<i64>,
    #[serde(default)]
    context: Vec<String>,
}

/// The beginning of a task, for the question about it.
fn beginning(task: &str) -> String {
    const CHARS: usize = 60;
    let line = task.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

impl Arguments {
    fn rounds(&self) -> Result<Option<u32>, Failure> {
        let Some(rounds) = self.max_rounds else {
            return Ok(None);
        };
        let possible = u32::try_from(rounds).ok();
        match possible.filter(|_| (1..=MAX_ROUNDS).contains(&rounds)) {
            Some(rounds) => Ok(Some(rounds)),
            None => Err(Failure::invalid_arguments(format!(
                "max_rounds: {rounds} is not possible; use 1 to {MAX_ROUNDS}"
            ))),
        }
    }
}

impl Tool for RunSubagent {
    const NAME: &'static str = "run_subagent";
    const TITLE: Option<&'static str> = Some("Run a subagent");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(false);

    const DESCRIPTION: &'static str = "Starts a subagent, waits until it has ended, and returns its last message. \
        Use it for work that reads much and returns little, such as a search through many files. Several calls in one \
        reply run side by side. A subagent sees nothing of this conversation, so the task must say everything: the \
        goal, what is known, and what to return. It cannot start subagents, and it may do no more than the user allows.";

    const PARAMETERS: Parameters = parameters!(
        "@param task {string} [required] Everything that the subagent has to know, and what its last message has to contain\n\
         @param agent {string} [optional] Name of a configured agent to use instead of the current one\n\
         @param tools {array} [optional] Names of the only tools that it may use; default: all that the agent has\n\
         @param tools[] {string} [required] One name\n\
         @param max_rounds {integer} [optional] The most requests that it may make, 1 to 50\n\
         @param context {array} [optional] Text files that it gets with the task, at most 16\n\
         @param context[] {string} [required] Path of a file, relative to the project folder or absolute",
    );

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        if arguments.task.trim().is_empty() {
            let problem = "task: it is empty; write everything that the subagent has to know";
            return Err(Failure::invalid_arguments(problem));
        }
        arguments.rounds()?;
        let paths = &arguments.context;
        if paths.len() > MAX_FILES {
            return Err(Failure::invalid_arguments(format!(
                "context: there are {} files; at most {MAX_FILES} are possible",
                paths.len()
            )));
        }
        if paths.iter().any(String::is_empty) {
            let problem = "context: a path is empty; give the paths of files";
            return Err(Failure::invalid_arguments(problem));
        }
        let who = match &arguments.agent {
            Some(agent) => format!("subagent '{agent}'"),
            None => "a subagent".to_owned(),
        };
        let plan = Plan::ask(match paths.as_slice() {
            [] => format!("Run {who} for '{}'?", beginning(&arguments.task)),
            [path] => format!("Give file '{path}' to {who}?"),
            paths => format!("Give {} files to {who}?", paths.len()),
        });
        Ok(paths.iter().fold(plan, Plan::reads))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let max_rounds = arguments.rounds()?;
        let agent = arguments.agent;
        let task = subagent::SubagentTask {
            task: arguments.task,
            agent: agent.clone(),
            tools: arguments.tools,
            max_rounds,
            context: context::read(&arguments.context)?,
        };
        match subagent::run(task) {
            Ok(report) => Ok(report::output(&report, agent.as_deref())),
            Err(Error::Unsupported(problem)) => Err(Failure::new(
                FailureKind::Unsupported,
                format!("{problem}: do the work yourself"),
            )),
            Err(error) => Err(error.into()),
        }
    }
}

dunlin_sdk::export!(RunSubagent);

#[cfg(test)]
mod tests;
