//! What `ask --json` prints: one document of what became of the question.

use std::sync::Arc;

use dunlin_host::json;
use dunlin_host::subagent::SubagentEnd;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::dialogue::refused;
use crate::error::CliError;
use crate::subagents::Subagent;
use dunlin_chat::price::CostDocument;
use dunlin_chat::turn::{CallRecord, Denial, TurnEnd, TurnReport};
use dunlin_chat::usage::Usage;

/// The document. A parser finds texts as they came; what acts on a terminal is written as `\uXXXX`.
#[derive(Serialize)]
struct Document<'a> {
    /// Only in a stream, where it sets the last line apart: `result`.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    /// `answered`, `cut_off`, `denied`, `round_limit`, `interrupted`, `cancelled`, `too_long` or `failed`.
    end: &'static str,
    reply: &'a str,
    /// The reply as a value, where a schema asks for one and it fits.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a Value>,
    /// The session that keeps the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    calls: &'a [CallRecord],
    denials: &'a [Denial],
    /// What all requests cost together, those of subagents included.
    usage: Usage,
    cost: CostDocument,
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
    cost: CostDocument,
    duration_ms: f64,
}

impl SubagentDocument {
    fn of(subagent: &Subagent) -> SubagentDocument {
        let live = subagent.live();
        SubagentDocument {
            name: subagent.name.clone(),
            agent: subagent.speaker.agent.clone(),
            model: subagent.speaker.model.clone(),
            task: subagent.task.clone(),
            call: subagent.call.clone(),
            end: live.end.as_ref().unwrap_or(&SubagentEnd::Stopped).word(),
            rounds: live.rounds,
            calls: live.calls,
            usage: live.charge.usage,
            cost: live.charge.money.into(),
            duration_ms: (live.elapsed().as_secs_f64() * 1e4).round() / 10.0,
        }
    }
}

/// What became of the question.
pub struct AskOutcome<'a> {
    /// Whether it is the last line of a stream.
    pub is_streamed: bool,
    /// What became of the turn.
    pub report: &'a TurnReport,
    /// The subagents of it.
    pub subagents: &'a [Arc<Subagent>],
    /// Where the conversation is kept.
    pub session: Option<String>,
    /// The value that a schema asked for.
    pub output: Option<&'a Value>,
    /// What is wrong with the reply.
    pub misfit: Option<String>,
}

/// Prints the document.
pub fn print(app: &App, outcome: AskOutcome<'_>) -> Result<(), CliError> {
    let report = outcome.report;
    let document = Document {
        kind: outcome.is_streamed.then_some("result"),
        end: match report.end {
            TurnEnd::Answered => "answered",
            TurnEnd::CutOff => "cut_off",
            TurnEnd::Denied => "denied",
            TurnEnd::RoundLimit => "round_limit",
            TurnEnd::Interrupted => "interrupted",
            TurnEnd::Withdrawn { .. } => "cancelled",
            TurnEnd::TooLong(_) => "too_long",
            TurnEnd::Failed(_) | TurnEnd::Refused { .. } => "failed",
        },
        reply: &report.reply,
        output: outcome.output,
        session: outcome.session.as_deref(),
        calls: &report.calls,
        denials: &report.denials,
        usage: report.charge.usage,
        cost: report.charge.money.into(),
        rounds: report.rounds,
        subagents: outcome
            .subagents
            .iter()
            .map(|it| SubagentDocument::of(it))
            .collect(),
        error: match &report.end {
            TurnEnd::Failed(error) => Some(error.to_string()),
            TurnEnd::Refused { error, media } => Some(refused::in_one_line(error, media)),
            TurnEnd::TooLong(why) => Some(why.to_string()),
            _ => outcome.misfit,
        },
    };
    app.ui
        .data(&json::to_string(&document).map_err(CliError::failed)?);
    Ok(())
}
