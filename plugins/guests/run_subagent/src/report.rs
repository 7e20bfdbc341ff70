//! What came of a subagent, for the model.

use dunlin_sdk::Output;
use dunlin_sdk::subagent::{SubagentEnd, SubagentReport};
use serde_json::json;

/// Its last message, after a line where that is not an answer; and its numbers.
pub fn output(report: &SubagentReport, agent: Option<&str>) -> Output {
    let text = match (not_answered(&report.end), report.text.trim().is_empty()) {
        (None, false) => report.text.clone(),
        (None, true) => "The subagent ended without a message.".to_owned(),
        (Some(why), false) => format!("{why}; its last words:\n{}", report.text),
        (Some(why), true) => format!("{why}; it wrote nothing."),
    };
    let mut structured = json!({
        "name": report.name,
        "end": word(&report.end),
        "rounds": report.rounds,
        "calls": report.calls,
        "input_tokens": report.input_tokens,
        "output_tokens": report.output_tokens,
        "seconds": (report.duration.as_secs_f64() * 10.0).round() / 10.0,
    });
    if let Some(agent) = agent {
        structured["agent"] = agent.into();
    }
    let mut output = Output::text(text);
    output.structured = Some(structured.to_string());
    output
}

/// Why it ended without an answer, in one line.
fn not_answered(end: &SubagentEnd) -> Option<String> {
    let line = match end {
        SubagentEnd::Answered => return None,
        SubagentEnd::CutOff => {
            "The answer of the subagent was cut off at the longest that its model may write"
                .to_owned()
        }
        SubagentEnd::Denied(question) => {
            format!("The subagent was stopped because a call was denied ({question})")
        }
        SubagentEnd::RoundLimit => "The subagent was stopped at its limit of rounds".to_owned(),
        SubagentEnd::Stopped => "The subagent was stopped by the user".to_owned(),
        SubagentEnd::TooLong(details) => format!(
            "The conversation of the subagent does not fit into its context window ({details})"
        ),
        SubagentEnd::Failed(error) => {
            format!("The subagent was stopped by an error of its model ({error})")
        }
    };
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn word(end: &SubagentEnd) -> &'static str {
    match end {
        SubagentEnd::Answered => "answered",
        SubagentEnd::CutOff => "cut_off",
        SubagentEnd::Denied(_) => "denied",
        SubagentEnd::RoundLimit => "round_limit",
        SubagentEnd::Stopped => "stopped",
        SubagentEnd::TooLong(_) => "too_long",
        SubagentEnd::Failed(_) => "failed",
    }
}
