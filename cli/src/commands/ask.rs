//! `dunlin ask`: one turn, then the end. For scripts and pipes.

use std::io::{self, Read};

use dunlin_host::json;
use dunlin_host::subagent::SubagentEnd;
use serde::Serialize;

use crate::app::App;
use crate::apps;
use crate::args::{AskArgs, Global};
use crate::dialogue::way_out::say_unasked;
use crate::dialogue::{Dialogue, choice, conclude_one};
use crate::error::{CliError, Exit};
use crate::pausing;
use crate::prompt::line::Recall;
use crate::subagents::Subagent;
use dunlin_chat::provider::Usage;
use dunlin_chat::turn::{CallRecord, CallState, Denial, TurnEnd, TurnReport};

/// The longest piped text in bytes: more than any model reads, less than fills the memory.
const MAX_INPUT_BYTES: u64 = 16 * 1024 * 1024;

/// What is wrong with the question.
#[derive(Debug, thiserror::Error)]
enum PromptError {
    #[error("there is no question")]
    Empty,
    #[error("cannot read standard input")]
    Read(#[source] io::Error),
    #[error("standard input has more than {} MiB", MAX_INPUT_BYTES / 1024 / 1024)]
    TooLong,
}

/// The document of `--json`. A parser finds texts as they came; what acts on a terminal is written as `\uXXXX`.
#[derive(Serialize)]
struct Document<'a> {
    /// `answered`, `cut_off`, `denied`, `round_limit`, `interrupted`, `cancelled`, `too_long` or `failed`.
    end: &'static str,
    reply: &'a str,
    calls: &'a [CallRecord],
    denials: &'a [Denial],
    /// What all requests cost together, those of subagents included.
    usage: Usage,
    rounds: u32,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subagents: Vec<SubagentDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// One subagent in the document.
#[derive(Serialize)]
struct SubagentDocument {
    name: String,
    agent: String,
    model: String,
    task: String,
    /// The id of the call that started it.
    call: String,
    /// `answered`, `cut_off`, `denied`, `round_limit`, `stopped`, `too_long` or `failed`.
    end: &'static str,
    rounds: u32,
    calls: u32,
    usage: Usage,
    duration_ms: f64,
}

impl SubagentDocument {
    fn of(subagent: &Subagent) -> SubagentDocument {
        let live = subagent.live();
        SubagentDocument {
            name: subagent.name.clone(),
            agent: subagent.agent.name.clone(),
            model: subagent.agent.model.clone(),
            task: subagent.task.clone(),
            call: subagent.call.clone(),
            end: match &live.end {
                Some(SubagentEnd::Answered) => "answered",
                Some(SubagentEnd::CutOff) => "cut_off",
                Some(SubagentEnd::Denied(_)) => "denied",
                Some(SubagentEnd::RoundLimit) => "round_limit",
                Some(SubagentEnd::TooLong(_)) => "too_long",
                Some(SubagentEnd::Failed(_)) => "failed",
                Some(SubagentEnd::Stopped) | None => "stopped",
            },
            rounds: live.rounds,
            calls: live.calls,
            usage: live.usage,
            duration_ms: (live.elapsed().as_secs_f64() * 1e4).round() / 10.0,
        }
    }
}

/// Asks, prints, ends.
pub fn run(app: &mut App, args: AskArgs, global: &Global) -> Result<Exit, CliError> {
    let prompt = prompt(&args.prompt, app.ui.streams().input).map_err(|error| {
        let hint = matches!(error, PromptError::Empty)
            .then(|| "dunlin ask QUESTION, or pipe the question in".to_owned());
        CliError::usage(error).with_hint(hint)
    })?;
    if let Some(exit) = super::setup::see_to_agent(app, global)? {
        return Ok(exit);
    }
    if args.json {
        // The document is all there is on standard output; a question would be in its midst.
        app.never_ask();
    }
    pausing::intercept(app, args.intercept)?;
    super::permissions::allow_for_run(app, &args)?;
    let dialogue = Dialogue::begin(app)?;
    let mut dialogue = if args.json {
        dialogue.silent()
    } else {
        dialogue
    };
    if !choice::may_use_its_own(app, &mut dialogue)? {
        return Ok(Exit::Failed);
    }
    let report = dialogue.turn(app, prompt.into(), Recall::default())?;
    if args.json {
        print_document(app, &report)?;
    }
    apps::say_not_made(
        &app.ui,
        &app.settings,
        &dialogue.agent().name,
        &report.reply,
    );
    let failed = report
        .calls
        .iter()
        .any(|call| call.state == CallState::Failed);
    let report = conclude_one(app, report)?;
    if !app.asks() {
        say_unasked(app, &report.denials);
    }
    Ok(match report.end {
        TurnEnd::Interrupted | TurnEnd::Withdrawn { .. } => Exit::Interrupted,
        _ if !report.denials.is_empty() => Exit::Denied,
        TurnEnd::RoundLimit => Exit::Failed,
        // Every call fails then, which the model may answer with an apology.
        _ if failed && app.permissions()?.list().is_err() => Exit::Failed,
        _ => Exit::Done,
    })
}

fn print_document(app: &App, report: &TurnReport) -> Result<(), CliError> {
    let document = Document {
        end: match report.end {
            TurnEnd::Answered => "answered",
            TurnEnd::CutOff => "cut_off",
            TurnEnd::Denied => "denied",
            TurnEnd::RoundLimit => "round_limit",
            TurnEnd::Interrupted => "interrupted",
            TurnEnd::Withdrawn { .. } => "cancelled",
            TurnEnd::TooLong(_) => "too_long",
            TurnEnd::Failed(_) => "failed",
        },
        reply: &report.reply,
        calls: &report.calls,
        denials: &report.denials,
        usage: report.usage,
        rounds: report.rounds,
        subagents: app
            .subagents
            .of_turn()
            .iter()
            .map(|it| SubagentDocument::of(it))
            .collect(),
        error: match &report.end {
            TurnEnd::Failed(error) => Some(error.to_string()),
            TurnEnd::TooLong(why) => Some(why.to_string()),
            _ => None,
        },
    };
    app.ui
        .data(&json::to_string(&document).map_err(CliError::failed)?);
    Ok(())
}

/// The words of the command line, and what is piped in below them.
fn prompt(words: &[String], is_terminal: bool) -> Result<String, PromptError> {
    let mut prompt = words.join(" ");
    if !is_terminal {
        let mut bytes = Vec::new();
        #[expect(clippy::disallowed_methods, reason = "text that is piped in")]
        let read = io::stdin()
            .lock()
            .take(MAX_INPUT_BYTES + 1)
            .read_to_end(&mut bytes);
        read.map_err(PromptError::Read)?;
        if bytes.len() as u64 > MAX_INPUT_BYTES {
            return Err(PromptError::TooLong);
        }
        append(&mut prompt, &String::from_utf8_lossy(&bytes));
    }
    if prompt.trim().is_empty() {
        Err(PromptError::Empty)
    } else {
        Ok(prompt)
    }
}

fn append(prompt: &mut String, piped: &str) {
    let piped = piped.trim_end();
    if !prompt.is_empty() && !piped.is_empty() {
        prompt.push_str("\n\n");
    }
    prompt.push_str(piped);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_piped_in_stands_below() {
        let check = |words: &str, piped: &str, expected: &str| {
            let mut prompt = words.to_owned();
            append(&mut prompt, piped);
            assert_eq!(prompt, expected);
        };
        check("summarise", "a\nb\n", "summarise\n\na\nb");
        check("", "a\n", "a");
        check("hello", "", "hello");
    }

    #[test]
    fn nothing_is_no_question() {
        assert!(matches!(prompt(&[], true), Err(PromptError::Empty)));
        assert!(matches!(
            prompt(&["  ".to_owned()], true),
            Err(PromptError::Empty)
        ));
    }
}
