//! `subagent`: conversations beside the chat's own, for the tool that starts them.
//!
//! Here are the limits of what one is given and of what it gives back. Its calls come to the host like all others, and each
//! of them is decided there: starting one grants nothing.

use super::context::View;
use super::refusal::{Refusal, host_failed};
use crate::audit::{Event, Record};
use crate::bindings::dunlin::tool::subagent;
use crate::bindings::dunlin::tool::types::Error;
use crate::display;
use crate::limits::{
    MAX_CONTEXT_BYTES, MAX_CONTEXT_FILES, MAX_FAILURE_BYTES, MAX_SUBAGENT_NAME_BYTES,
    MAX_SUBAGENT_TASK_BYTES, MAX_SUBAGENT_TOOLS, SUBAGENT_RESULT_BYTES,
};
use crate::permission::PluginId;
use crate::subagent::{ContextFile, SubagentEnd, SubagentReport, SubagentTask};

/// How this interface is called among the imports of a plugin.
pub(crate) const IMPORT: &str = "subagent";

/// Whether this plugin is there to run subagents: it came with Dunlin, and it imports the interface.
pub(crate) fn are_run_by(plugin: &PluginId, imports: &[String]) -> bool {
    plugin.built_in && imports.iter().any(|import| import == IMPORT)
}

/// What the interface knows of a call.
#[derive(Debug, Default)]
pub(crate) struct SubagentTool {
    /// Bytes that the result of the call may have.
    pub(crate) result_bytes: usize,
}

impl subagent::Host for View<'_, SubagentTool> {
    async fn run(
        &mut self,
        task: subagent::SubagentTask,
    ) -> Result<subagent::SubagentReport, Refusal> {
        self.only_in_run()?;
        if !self.caller.plugin.built_in {
            let problem = "only Dunlin's own tool can run subagents";
            return Err(Error::Unsupported(problem.into()).into());
        }
        let Some(subagents) = self.ask.as_ref().and_then(|ask| ask.subagents()) else {
            return Err(Error::Unsupported("no subagents can run here".into()).into());
        };
        let task = checked(task)?;
        self.log_start(&task)?;
        let ran = {
            // It has limits of its own, and waits for the user.
            let _paused = self.clock.pause_for_work();
            subagents.run(&self.caller.call, task).await
        };
        let report = ran.map_err(|error| Error::Failed(display::chain(&*error)))?;
        Ok(shown(report, self.own.result_bytes))
    }
}

impl View<'_, SubagentTool> {
    /// What cannot be logged does not happen.
    fn log_start(&self, task: &SubagentTask) -> Result<(), Refusal> {
        let target = match &task.agent {
            Some(agent) => format!("subagent {agent}"),
            None => "subagent".to_owned(),
        };
        let bytes = task.task.len() + bytes_of(&task.context);
        let record = Record {
            target: Some(&target),
            bytes: Some(bytes as u64),
            ..self.record(Event::Used, None, None)
        };
        let logged = self.shared.audit.append(&[record]);
        logged.map_err(|e| host_failed(&e))
    }
}

/// A task that a subagent can be given.
fn checked(task: subagent::SubagentTask) -> Result<SubagentTask, Error> {
    let invalid = |problem: String| Err(Error::Invalid(problem));
    let too_large = |problem: String| Err(Error::TooLarge(problem));
    let file = |file: subagent::ContextFile| ContextFile {
        path: file.path,
        text: file.text,
    };
    let task = SubagentTask {
        task: task.task,
        agent: task.agent,
        tools: task.tools,
        max_rounds: task.max_rounds,
        context: task.context.into_iter().map(file).collect(),
    };
    if task.task.trim().is_empty() {
        return invalid("the task is empty".into());
    }
    let bytes = task.task.len();
    if bytes > MAX_SUBAGENT_TASK_BYTES {
        return too_large(format!(
            "the task has {bytes} bytes; at most {MAX_SUBAGENT_TASK_BYTES} are possible"
        ));
    }
    if task.max_rounds == Some(0) {
        return invalid("a subagent needs at least one round".into());
    }
    let tools = task.tools.as_deref().unwrap_or_default();
    if tools.len() > MAX_SUBAGENT_TOOLS {
        return invalid(format!(
            "there are {} tools; at most {MAX_SUBAGENT_TOOLS} can be named",
            tools.len()
        ));
    }
    let agent = task.agent.iter().map(|name| ("agent", name));
    let tools = tools.iter().map(|name| ("tool", name));
    for (what, name) in agent.chain(tools) {
        if name.trim().is_empty() {
            return invalid(format!("the name of the {what} is empty"));
        }
        let bytes = name.len();
        if bytes > MAX_SUBAGENT_NAME_BYTES {
            return invalid(format!(
                "the name of the {what} has {bytes} bytes; at most {MAX_SUBAGENT_NAME_BYTES} are possible"
            ));
        }
    }
    let files = task.context.len();
    if files > MAX_CONTEXT_FILES {
        return too_large(format!(
            "there are {files} files; at most {MAX_CONTEXT_FILES} are possible"
        ));
    }
    let bytes = bytes_of(&task.context);
    if bytes > MAX_CONTEXT_BYTES {
        return too_large(format!(
            "the files have {bytes} bytes together; at most {MAX_CONTEXT_BYTES} are possible"
        ));
    }
    Ok(task)
}

fn bytes_of(context: &[ContextFile]) -> usize {
    let files = context.iter();
    files.map(|file| file.path.len() + file.text.len()).sum()
}

/// A report as the plugin gets it: together with what that says of it, it is a result that a tool may give.
fn shown(report: SubagentReport, result_bytes: usize) -> subagent::SubagentReport {
    let said = |mut text: String| {
        cut(&mut text, MAX_FAILURE_BYTES);
        text
    };
    let mut name = report.name;
    name.truncate(name.floor_char_boundary(MAX_SUBAGENT_NAME_BYTES));
    let mut text = report.text;
    cut(
        &mut text,
        result_bytes.saturating_sub(SUBAGENT_RESULT_BYTES),
    );
    subagent::SubagentReport {
        name,
        end: match report.end {
            SubagentEnd::Answered => subagent::SubagentEnd::Answered,
            SubagentEnd::CutOff => subagent::SubagentEnd::CutOff,
            SubagentEnd::Denied(question) => subagent::SubagentEnd::Denied(said(question)),
            SubagentEnd::RoundLimit => subagent::SubagentEnd::RoundLimit,
            SubagentEnd::Stopped => subagent::SubagentEnd::Stopped,
            SubagentEnd::TooLong(details) => subagent::SubagentEnd::TooLong(said(details)),
            SubagentEnd::Failed(error) => subagent::SubagentEnd::Failed(said(error)),
        },
        text,
        rounds: report.rounds,
        calls: report.calls,
        input_tokens: report.input_tokens,
        output_tokens: report.output_tokens,
        duration_ms: u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
    }
}

/// Cuts a text at so many bytes, and says so there.
fn cut(text: &mut String, max: usize) {
    let bytes = text.len();
    if bytes > max {
        text.truncate(text.floor_char_boundary(max));
        text.push_str(&format!("… [cut here, at {max} of {bytes} bytes]"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn task() -> subagent::SubagentTask {
        subagent::SubagentTask {
            task: "Find it.".to_owned(),
            agent: Some("research".to_owned()),
            tools: Some(vec!["read_file".to_owned()]),
            max_rounds: Some(1),
            context: vec![file(4)],
        }
    }

    /// A file with so many bytes, its path included.
    fn file(bytes: usize) -> subagent::ContextFile {
        subagent::ContextFile {
            path: "a.md".to_owned(),
            text: "x".repeat(bytes - 4),
        }
    }

    #[test]
    fn tasks_are_bounded() {
        let name = |bytes| "n".repeat(bytes);
        for good in [
            task(),
            subagent::SubagentTask {
                task: "x".repeat(MAX_SUBAGENT_TASK_BYTES),
                tools: Some(vec![name(MAX_SUBAGENT_NAME_BYTES); MAX_SUBAGENT_TOOLS]),
                agent: Some(name(MAX_SUBAGENT_NAME_BYTES)),
                max_rounds: Some(u32::MAX),
                context: vec![file(MAX_CONTEXT_BYTES / MAX_CONTEXT_FILES); MAX_CONTEXT_FILES],
            },
            subagent::SubagentTask {
                task: "x".to_owned(),
                agent: None,
                tools: Some(Vec::new()),
                max_rounds: None,
                context: Vec::new(),
            },
        ] {
            let given = checked(good.clone()).unwrap();
            assert_eq!(
                (given.task, given.tools, given.context.len()),
                (good.task, good.tools, good.context.len())
            );
        }
        let check = |bad, expected: &str| {
            let error = checked(bad).unwrap_err();
            let (kind, said) = match error {
                Error::Invalid(said) => ("invalid", said),
                Error::TooLarge(said) => ("too large", said),
                other => panic!("{other:?}"),
            };
            assert_eq!(format!("{kind}: {said}"), expected);
        };
        let of_task = |text: String| subagent::SubagentTask {
            task: text,
            ..task()
        };
        check(of_task(" \n".to_owned()), "invalid: the task is empty");
        check(
            of_task("x".repeat(MAX_SUBAGENT_TASK_BYTES + 1)),
            "too large: the task has 65537 bytes; at most 65536 are possible",
        );
        let rounds = subagent::SubagentTask {
            max_rounds: Some(0),
            ..task()
        };
        check(rounds, "invalid: a subagent needs at least one round");
        let of_tools = |tools| subagent::SubagentTask {
            tools: Some(tools),
            ..task()
        };
        check(
            of_tools(vec![name(1); 65]),
            "invalid: there are 65 tools; at most 64 can be named",
        );
        check(
            of_tools(vec![name(1), name(0)]),
            "invalid: the name of the tool is empty",
        );
        check(
            of_tools(vec![name(129)]),
            "invalid: the name of the tool has 129 bytes; at most 128 are possible",
        );
        let agent = subagent::SubagentTask {
            agent: Some(name(129)),
            ..task()
        };
        check(
            agent,
            "invalid: the name of the agent has 129 bytes; at most 128 are possible",
        );
        let of_files = |context| subagent::SubagentTask { context, ..task() };
        check(
            of_files(vec![file(4); 17]),
            "too large: there are 17 files; at most 16 are possible",
        );
        check(
            of_files(vec![file(MAX_CONTEXT_BYTES), file(5)]),
            "too large: the files have 1048581 bytes together; at most 1048576 are possible",
        );
    }

    #[test]
    fn a_report_is_a_result_that_a_tool_may_give() {
        let report = |text: &str| SubagentReport {
            name: "ä".repeat(1_000),
            end: SubagentEnd::Failed("e".repeat(10_000)),
            text: text.to_owned(),
            rounds: 1,
            calls: 2,
            input_tokens: 3,
            output_tokens: 4,
            duration: Duration::from_millis(1_500),
        };
        let max = 100_000;
        let kept = max - SUBAGENT_RESULT_BYTES;
        let whole = "x".repeat(kept);
        assert_eq!(shown(report(&whole), max).text, whole);
        let long = "ä".repeat(max);
        let shown = shown(report(&long), max);
        assert!(
            shown
                .text
                .ends_with(&format!("ä… [cut here, at {kept} of {} bytes]", 2 * max)),
            "{}",
            &shown.text[shown.text.len() - 100..]
        );
        let subagent::SubagentEnd::Failed(error) = &shown.end else {
            panic!("{:?}", shown.end);
        };
        assert!(error.ends_with("e… [cut here, at 4096 of 10000 bytes]"));
        assert_eq!(shown.name.len(), MAX_SUBAGENT_NAME_BYTES);
        assert!(shown.text.len() + error.len() + shown.name.len() + 2_000 < max);
        assert_eq!(shown.duration_ms, 1_500);
    }
}
