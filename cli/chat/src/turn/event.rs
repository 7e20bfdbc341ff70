//! What goes into the machine and what comes out of it.

use dunlin_host::ask::Answer;
use dunlin_host::call::{Failure, Outcome, Plan};
use serde::{Deserialize, Serialize};

use super::approve::Resolution;
use super::pause::CancelReason;
use crate::media::Media;
use crate::provider::ReplyEnd;
use crate::provider::error::ProviderError;
use crate::request::TooLong;

/// What happens to the turn when the user denies a call without a comment, or nobody can be asked. After every other denial (by
/// a rule, a mode, a hook, or the tool itself) the model is told, and goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnDenial {
    /// The calls that remain are not run and the turn ends.
    #[default]
    Stop,
    /// The model is told, and goes on.
    Continue,
}

/// What a turn may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnRules {
    /// What happens after a denial.
    pub on_denial: OnDenial,
    /// Most rounds (requests) of one turn. The calls of the last one are not run.
    pub max_tool_rounds: u32,
}

impl Default for TurnRules {
    /// Fifty rounds: long work takes some thirty, a model that runs in circles does not stop by
    /// itself.
    fn default() -> TurnRules {
        TurnRules {
            on_denial: OnDenial::Stop,
            max_tool_rounds: 50,
        }
    }
}

/// What has happened. Calls are named by their number within the turn.
#[derive(Debug)]
pub enum Event {
    /// The request is made.
    Composed,
    /// The request is made, and is to be paused.
    Paused,
    /// The user sends the paused request.
    Released,
    /// The user does not send it.
    Withdrawn(CancelReason),
    /// The endpoint takes the request only in another form, and the user has to see that form first.
    Outdated,
    /// No request can be made that fits.
    TooLong(TooLong),
    /// A piece of the answer.
    Text(String),
    /// A piece of the reasoning, and the field it came in.
    Reasoning(&'static str, String),
    /// The text so far was reasoning, which should have come in this field.
    WasReasoning(&'static str),
    /// The reply is over.
    ReplyEnded(ReplyEnd),
    /// There will be no whole reply.
    StreamFailed(ProviderError),
    /// The endpoint refuses the request, as it seems because of what the user has attached to the message.
    Refused(ProviderError, Vec<Media>),
    /// What the host knows about a call before it runs.
    Prepared(usize, Result<Plan, Failure>),
    /// What the user decided while the turn waited. [`Resolution::Stop`] is an interruption.
    Resolved(Resolution),
    /// The answer to a call is kept, or why it could not be.
    Kept(usize, Result<(), Failure>),
    /// A call has run.
    Finished(usize, Outcome),
    /// The user wants no more of it.
    Interrupted,
}

/// What is to be done. Each is answered by the event that it names.
#[derive(Debug)]
pub enum Effect {
    /// Make the request: [`Event::Composed`], [`Event::Paused`] or [`Event::TooLong`].
    Compose,
    /// Wait for the user to send or cancel the request: [`Event::Released`] or [`Event::Withdrawn`].
    Pause,
    /// Send it and pass on what comes: [`Event::ReplyEnded`], [`Event::StreamFailed`], [`Event::Refused`],
    /// [`Event::Outdated`], or [`Event::TooLong`] where the model cannot take it.
    Send,
    /// A call has changed: show it. No answer.
    Show(usize),
    /// Find out about a call: [`Event::Prepared`].
    Prepare(usize),
    /// Wait for the user to decide about the calls that are open: [`Event::Resolved`].
    Wait,
    /// Keep what the user answered to a call: [`Event::Kept`].
    Keep(usize, Answer),
    /// What was answered for this call alone is void. No answer.
    Forget(usize),
    /// Run a call: [`Event::Finished`].
    Run(usize),
    /// The turn is over. Nothing comes after it.
    End(TurnEnd),
}

/// How a turn ended.
#[derive(Debug)]
pub enum TurnEnd {
    /// The model has answered.
    Answered,
    /// The model's answer was cut off at its token limit; what there is of it is kept and marked.
    CutOff,
    /// A call was denied.
    Denied,
    /// The rounds were used up.
    RoundLimit,
    /// The user interrupted.
    Interrupted,
    /// A paused request was cancelled before it was sent.
    Withdrawn {
        /// Why.
        reason: CancelReason,
        /// Whether it was the first of the turn: the user's message was taken out of the conversation again.
        is_unsent: bool,
    },
    /// What must be sent does not fit. The conversation is as it was, with what the user said.
    TooLong(TooLong),
    /// The provider failed; what came before is kept and marked.
    Failed(ProviderError),
    /// The provider does not accept what the user has attached, as it seems: the user's message was taken out of the
    /// conversation again.
    Refused {
        error: ProviderError,
        media: Vec<Media>,
    },
}

impl TurnEnd {
    /// Whether what the user said is no longer in the conversation.
    pub fn is_taken_back(&self) -> bool {
        match self {
            TurnEnd::Refused { .. } => true,
            TurnEnd::Withdrawn { is_unsent, .. } => *is_unsent,
            _ => false,
        }
    }
}
