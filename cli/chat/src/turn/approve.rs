//! What waits for the user, and what the user can decide about it.

use async_trait::async_trait;
use dunlin_host::ask::Answer;
use serde_json::{Map, Value};

use super::call::{CallState, TurnCall};
use crate::message::Conversation;

/// The turn while it waits: nothing runs, nothing is lost by leaving it like this for hours.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    /// All calls of the reply, in order, with those that are settled already.
    pub calls: &'a [TurnCall],
    /// What was said until now, the reply with the calls included.
    pub conversation: &'a Conversation,
}

impl<'a> Waiting<'a> {
    /// The calls that are not settled, in order.
    pub fn open(self) -> impl Iterator<Item = &'a TurnCall> {
        self.calls.iter().filter(|call| !call.state.is_settled())
    }

    /// The calls that are undecided, in order; there is at least one.
    pub fn asking(self) -> impl Iterator<Item = &'a TurnCall> {
        self.open().filter(|call| call.state == CallState::Asking)
    }
}

/// What becomes of one call.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// One of the six answers.
    Answer(Answer),
    /// Yes, this once; and it runs now, while the others go on waiting.
    RunNow,
    /// It is not run, and nothing is denied.
    Skip,
    /// It is to be another call of the same tool. Whatever was decided about it before is void.
    Edit(Map<String, Value>),
}

/// A decision about one call as it was shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The call's number within the turn.
    pub number: usize,
    /// Which form of the call was decided about ([`TurnCall::revision`]); one that is no more is
    /// decided about by nobody.
    pub revision: u32,
    /// What becomes of it.
    pub choice: Choice,
    /// What the user says to the model about it; goes back with the results.
    pub comment: Option<String>,
}

/// What ended the waiting.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolution {
    /// These were decided, in this order. The turn waits again if others are left.
    Decided(Vec<Decision>),
    /// The round starts with what is approved; what is undecided is skipped, and the model hears this about it.
    Run(Option<String>),
    /// What is permitted has changed otherwise: see how the calls stand now.
    Reconsider,
    /// The user wants no more of it. Every open question is denied, and the turn is interrupted.
    Stop,
}

/// Decides about the calls that wait.
///
/// It is polled in place, within the turn, and may borrow from whoever takes the turn.
#[async_trait(?Send)]
pub trait Approver {
    /// Comes back once something is decided, after as long as the user thinks. Dropping the future
    /// withdraws the question.
    async fn decide(&self, waiting: Waiting<'_>) -> Resolution;

    /// Told of the conversation when calls begin to run that may run beside others: others may be asked about meanwhile,
    /// and whoever answers may want to look at it.
    fn begins_to_run(&self, _conversation: &Conversation) {}
}

/// Denies everything: wherever nobody can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

#[async_trait(?Send)]
impl Approver for DenyAll {
    /// One at a time: what happens to the others is for `on_denial` to say.
    async fn decide(&self, waiting: Waiting<'_>) -> Resolution {
        let deny = |call: &TurnCall| Decision {
            number: call.number,
            revision: call.revision,
            choice: Choice::Answer(Answer::DENY),
            comment: None,
        };
        Resolution::Decided(waiting.asking().take(1).map(deny).collect())
    }
}
