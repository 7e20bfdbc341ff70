//! One small request, to see whether the agent answers that was just written down.

use crate::app::App;
use crate::dialogue::{Dialogue, conclude_one, with_key};
use crate::error::CliError;
use crate::prompt::line::Recall;
use dunlin_chat::agent::Agent;
use dunlin_chat::turn::TurnEnd;
use dunlin_terminal::ui::style::Label;

/// What the model is told: an answer to it is short.
const GREETING: &str = "Say hello in one short sentence.";

/// Sends a greeting without any tools, and shows the answer or what went wrong.
///
/// # Errors
/// The request cannot even be made.
pub fn answers(app: &App, name: &str) -> Result<bool, CliError> {
    let ui = &app.ui;
    let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    quiet("Trying it with one small request (Ctrl-C skips this):");
    let (agent, warning) = with_key(app, app.settings.agent_named_without_key(name)?)?;
    let agent = Agent {
        system_prompt: Some(String::new()),
        tools: Some(Vec::new()),
        ..agent
    };
    let tried = Dialogue::begin_with(app, (agent, warning))
        .map(|dialogue| dialogue.without_instructions(app))
        .and_then(|mut dialogue| dialogue.turn(app, GREETING.into(), Recall::default()))
        .and_then(|report| conclude_one(app, report));
    match tried {
        Ok(report) => {
            ui.data("");
            let is_answered = !report.reply.trim().is_empty();
            Ok(is_answered || matches!(report.end, TurnEnd::Interrupted))
        }
        Err(error) => {
            ui.error(&error);
            Ok(false)
        }
    }
}
