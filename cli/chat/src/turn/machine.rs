//! The turn as a pure state machine.
//!
//! Events that do not fit the state, late or doubled ones, are ignored: the driver may be as
//! careless as it likes, no event can make a call run that was not allowed.

mod calls;
mod denied;
mod quotation;

use std::collections::BTreeMap;

use dunlin_host::call::Outcome;

use super::call::{CallRecord, CallState, Denial, TurnCall};
use super::event::{Effect, Event, TurnEnd, TurnRules};
use super::pause::CancelReason;
use crate::message::{
    CANCELLED, Conversation, Message, Reasoning, Replay, Role, ToolCall, UserMessage, wire_name,
};
use crate::provider::{Finish, ProposedCall, ReplyEnd};

/// Which event is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Composing,
    /// The user looks at the request.
    Paused,
    Streaming,
    Preparing(usize),
    Keeping(usize),
    /// The user decides.
    Waiting,
    /// Calls run: those whose state says so.
    Running,
    Ended,
}

/// A turn on its way. Dropping it interrupts it: the conversation is legal whenever the turn is
/// gone.
#[derive(Debug)]
pub struct Turn<'a> {
    conversation: &'a mut Conversation,
    rules: TurnRules,
    state: State,
    rounds: u32,
    text: String,
    reasoning: Option<Reasoning>,
    /// The calls of all replies.
    calls: Vec<TurnCall>,
    /// Where those of the last reply begin.
    reply_start: usize,
    /// By the number of the call.
    denials: BTreeMap<usize, Denial>,
    /// The first call whose denial ends the turn with the calls of this reply.
    stopped_by: Option<usize>,
    /// Whether nobody is asked about the calls that are undecided: the user ended it.
    closing: bool,
    /// Whether a call was denied while it ran: none runs after it.
    halted: bool,
    /// How many replies in a row were cut off in their calls.
    cut_replies: u32,
    /// Whether the calls are all there is: nothing goes back to a model.
    by_hand: bool,
    /// Whether what the user said may still be taken back: nothing of the turn was sent.
    is_unsent: bool,
    reply: String,
}

impl<'a> Turn<'a> {
    /// Begins a turn with what the user said.
    pub fn begin(
        conversation: &'a mut Conversation,
        prompt: UserMessage,
        rules: TurnRules,
    ) -> (Turn<'a>, Vec<Effect>) {
        conversation.push_user(prompt);
        (Turn::new(conversation, rules, false), vec![Effect::Compose])
    }

    /// Keeps what the user said open to being taken back until a request is sent.
    #[must_use]
    pub fn unsent(mut self) -> Turn<'a> {
        self.is_unsent = true;
        self
    }

    /// Begins with calls that nobody but the user proposed, and ends with them.
    pub fn by_hand(
        conversation: &'a mut Conversation,
        calls: Vec<ProposedCall>,
        rules: TurnRules,
    ) -> (Turn<'a>, Vec<Effect>) {
        let mut turn = Turn::new(conversation, rules, true);
        turn.state = State::Streaming;
        let effects = turn.handle(Event::ReplyEnded(ReplyEnd {
            calls,
            finish: Finish::Complete,
            replay: None,
        }));
        (turn, effects)
    }

    fn new(conversation: &'a mut Conversation, rules: TurnRules, by_hand: bool) -> Turn<'a> {
        Turn {
            conversation,
            rules,
            state: State::Composing,
            rounds: 0,
            text: String::new(),
            reasoning: None,
            calls: Vec::new(),
            reply_start: 0,
            denials: BTreeMap::new(),
            stopped_by: None,
            closing: false,
            halted: false,
            cut_replies: 0,
            by_hand,
            is_unsent: false,
            reply: String::new(),
        }
    }

    /// What is to be done about an event. Never blocks, never fails.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match (self.state, event) {
            (State::Ended, _) => {}
            (_, Event::Interrupted) => self.interrupt(&mut effects),
            (State::Composing, Event::Composed) | (State::Paused, Event::Released) => {
                self.state = State::Streaming;
                self.is_unsent = false;
                self.rounds += 1;
                effects.push(Effect::Send);
            }
            (State::Composing, Event::Paused) => {
                self.state = State::Paused;
                effects.push(Effect::Pause);
            }
            (State::Paused, Event::Withdrawn(reason)) => self.withdraw(reason, &mut effects),
            (State::Streaming, Event::Outdated) if !self.has_begun() => {
                self.state = State::Composing;
                self.rounds -= 1;
                effects.push(Effect::Compose);
            }
            (State::Composing | State::Streaming, Event::TooLong(why)) => {
                self.is_unsent = false;
                self.end(TurnEnd::TooLong(why), &mut effects);
            }
            (State::Streaming, Event::Text(text)) => self.text.push_str(&text),
            (State::Streaming, Event::Reasoning(field, text)) => {
                let reasoning = self.reasoning.get_or_insert_default();
                field.clone_into(&mut reasoning.field);
                reasoning.text.push_str(&text);
            }
            (State::Streaming, Event::WasReasoning(field)) => {
                let text = std::mem::take(&mut self.text);
                let reasoning = self.reasoning.get_or_insert_default();
                field.clone_into(&mut reasoning.field);
                reasoning.text.push_str(&text);
            }
            (State::Streaming, Event::ReplyEnded(end)) => self.reply_ended(end, &mut effects),
            (State::Streaming, Event::StreamFailed(error)) => {
                self.store(Vec::new(), None, true);
                self.end(TurnEnd::Failed(error), &mut effects);
            }
            (State::Streaming, Event::Refused(error, media)) if !self.has_begun() => {
                self.conversation.take_back_user();
                self.end(TurnEnd::Refused { error, media }, &mut effects);
            }
            (State::Preparing(waiting), Event::Prepared(number, result)) if waiting == number => {
                self.prepared(number, result, &mut effects);
                self.advance(&mut effects);
            }
            (State::Waiting, Event::Resolved(resolution)) => {
                self.resolved(resolution, &mut effects);
            }
            (State::Keeping(waiting), Event::Kept(number, result)) if waiting == number => {
                self.kept(number, result, &mut effects);
                self.advance(&mut effects);
            }
            (State::Running, Event::Finished(number, outcome)) if self.runs(number) => {
                self.finished(number, outcome, &mut effects);
                self.advance(&mut effects);
            }
            _ => {}
        }
        effects
    }

    /// Keeps what the call that runs alone has printed: with an interruption it would be lost.
    pub fn keep_output(&mut self, output: String) {
        let mut calls = self.calls.iter_mut();
        let alone =
            |call: &&mut TurnCall| call.state == CallState::Running && !call.runs_in_parallel();
        if let Some(call) = calls.find(alone) {
            call.output = Some(output);
        }
    }

    /// Keeps how a call ended that was interrupted after that. Nothing else begins.
    pub fn keep_outcome(&mut self, number: usize, outcome: Outcome) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.runs(number) {
            self.finished(number, outcome, &mut effects);
        }
        effects
    }

    /// The conversation as it stands.
    pub fn conversation(&self) -> &Conversation {
        self.conversation
    }

    /// A call by its number.
    pub fn call(&self, number: usize) -> Option<&TurnCall> {
        self.calls.get(number)
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> &[TurnCall] {
        &self.calls
    }

    /// The calls of the last reply that has any results missing, in order.
    pub fn reply_calls(&self) -> &[TurnCall] {
        &self.calls[self.reply_start..]
    }

    /// How many requests there were.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// What the model said last.
    pub fn reply(&self) -> &str {
        &self.reply
    }

    /// What became of the calls, in order.
    pub fn records(&self) -> Vec<CallRecord> {
        self.calls.iter().map(TurnCall::record).collect()
    }

    /// What was refused, in the order of the calls.
    pub fn denials(&self) -> Vec<Denial> {
        self.denials.values().cloned().collect()
    }

    /// Whether what the user said is in the conversation only as long as the request is looked at.
    pub fn is_unsent(&self) -> bool {
        self.is_unsent
    }

    /// Whether a reply to the last request has begun.
    fn has_begun(&self) -> bool {
        !self.text.is_empty() || self.reasoning.is_some()
    }

    fn withdraw(&mut self, reason: CancelReason, effects: &mut Vec<Effect>) {
        let is_unsent = std::mem::take(&mut self.is_unsent);
        if is_unsent {
            self.conversation.take_back_user();
        }
        self.end(TurnEnd::Withdrawn { reason, is_unsent }, effects);
    }

    fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        if self.is_unsent || self.state == State::Paused {
            return self.withdraw(CancelReason::User, effects);
        }
        if self.state == State::Streaming {
            self.store(Vec::new(), None, true);
        }
        for number in self.reply_start..self.calls.len() {
            if !self.calls[number].state.is_settled() {
                let result = match self.calls[number].output.take() {
                    Some(output) => format!("{CANCELLED}; it had printed:\n{output}"),
                    None => CANCELLED.to_owned(),
                };
                self.settle(number, CallState::Cancelled, result, None, effects);
            }
        }
        self.store_results();
        self.end(TurnEnd::Interrupted, effects);
    }

    fn end(&mut self, end: TurnEnd, effects: &mut Vec<Effect>) {
        self.state = State::Ended;
        effects.push(Effect::End(end));
    }

    /// Puts what the model said into the conversation. Returns the calls as stored.
    fn store(
        &mut self,
        tool_calls: Vec<ToolCall>,
        replay: Option<Replay>,
        partial: bool,
    ) -> Vec<ToolCall> {
        let content = std::mem::take(&mut self.text);
        let reasoning = self.reasoning.take();
        if !content.trim().is_empty() {
            self.reply.clone_from(&content);
        }
        self.conversation.push_assistant(Message {
            tool_calls,
            partial,
            reasoning,
            replay,
            ..Message::text(Role::Assistant, content)
        })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.handle(Event::Interrupted);
    }
}

/// The call as the conversation keeps it.
fn history_call(call: &ProposedCall) -> ToolCall {
    ToolCall {
        id: call.id.clone(),
        name: wire_name(&call.tool),
        arguments: call.arguments.clone().unwrap_or_default(),
        raw_arguments: call.arguments.as_ref().err().map(|bad| bad.raw.clone()),
        number: 0,
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "machine_denials_tests.rs"]
mod denials;

#[cfg(test)]
#[path = "machine_waiting_tests.rs"]
mod waiting;

#[cfg(test)]
#[path = "machine_parallel_tests.rs"]
mod parallel;

#[cfg(test)]
#[path = "machine_replies_tests.rs"]
mod replies;

#[cfg(test)]
#[path = "machine_fuzz_tests.rs"]
mod fuzz;
