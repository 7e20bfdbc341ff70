//! How a turn ended, in words.

use super::refused;
use crate::app::App;
use crate::error::{CliError, Exit};
use crate::money;
use crate::settings::Origin;
use dunlin_chat::provider::error::ProviderError;
use dunlin_chat::turn::{CancelReason, Denial, TurnEnd, TurnReport};
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;

/// Says how a turn ended, where that is not plain from what was shown. A provider's failure comes back
/// as the error it is.
pub fn conclude(app: &App, report: TurnReport) -> Result<TurnReport, CliError> {
    conclude_with(app, report, ProviderError::hint)
}

/// The same for a turn that is the only one: its way out names no commands of the chat.
pub fn conclude_one(app: &App, report: TurnReport) -> Result<TurnReport, CliError> {
    conclude_with(app, report, ProviderError::hint_of_one)
}

fn conclude_with(
    app: &App,
    report: TurnReport,
    hint: impl FnOnce(&ProviderError) -> Option<String>,
) -> Result<TurnReport, CliError> {
    let ui = &app.ui;
    let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    if ui.is_verbose() {
        let usage = report.charge.usage;
        let (input, cached, output) =
            (usage.input_tokens, usage.cached_tokens, usage.output_tokens);
        let cost = money::spent(report.charge.money);
        let cost = cost.map_or_else(String::new, |cost| format!(", {cost}"));
        quiet(&format!(
            "{input} tokens in ({cached} cached), {output} out, rounds: {}{cost}",
            report.rounds
        ));
    }
    match report.end {
        TurnEnd::Answered if report.reply.trim().is_empty() => quiet("(the model said nothing)"),
        TurnEnd::Answered => {}
        TurnEnd::Denied if ui.is_chat() => {
            let way = match report.denials.iter().any(Denial::lacks_comment) {
                true => "n TEXT",
                false => "on_denial = \"continue\"",
            };
            let hint = format!("(a denied call ends the turn: {way} lets the model continue)");
            // Whoever denies again knows what it does.
            if app.is_new(&hint) {
                quiet(&hint);
            }
        }
        TurnEnd::Denied => {}
        TurnEnd::CutOff => quiet("(cut off: max_tokens of the agent is the limit)"),
        TurnEnd::RoundLimit => {
            let limit = &app.settings.limits.max_tool_rounds;
            let rounds = limit.value.clamped();
            let name = match limit.origin {
                Origin::Flag(name) => name,
                _ => "max_tool_rounds",
            };
            quiet(&format!(
                "(stopped after {rounds} rounds: {name} is the limit)"
            ));
        }
        TurnEnd::Interrupted => quiet("(interrupted)"),
        TurnEnd::Withdrawn {
            is_unsent: false,
            reason: CancelReason::User | CancelReason::ModeOff,
        } => quiet(&format!(
            "{CANCELLED_BEFORE_SENDING} What came before it stays. {}",
            again(ui)
        )),
        TurnEnd::Withdrawn { reason, .. } => quiet(match reason {
            CancelReason::User | CancelReason::ModeOff => CANCELLED_BEFORE_SENDING,
            CancelReason::ContextChanged => "Context changed: request discarded.",
        }),
        TurnEnd::TooLong(why) => {
            let hint = match ui.is_chat() {
                true => why.hint(),
                false => why.hint_of_one(),
            };
            return Err(CliError::new(Exit::Failed, why).with_hint(hint));
        }
        TurnEnd::Refused { error, media } => {
            let hint = refused::hint(&media, ui.is_chat());
            let error = refused::NotAccepted::new(error, &media);
            return Err(CliError::new(Exit::Provider, error).with_hint(hint));
        }
        TurnEnd::Failed(error) => {
            let hint = hint(&error);
            return Err(CliError::new(Exit::Provider, error).with_hint(hint));
        }
    }
    Ok(report)
}

/// Said of a paused request that was not sent.
pub(super) const CANCELLED_BEFORE_SENDING: &str = "Request cancelled before sending.";

/// How a message is begun again. Only the chat has commands.
pub(super) fn again(ui: &Ui) -> &'static str {
    match ui.is_chat() {
        true => "/retry begins the message again.",
        false => "Your next message continues from there.",
    }
}
