//! The turn as a pure state machine.
//!
//! Events that do not fit the state, late or doubled ones, are ignored: the driver may be as
//! careless as it likes, no event can make a call run that was not allowed.

use dunlin_host::call::{Call, Failure, Standing, Success};
use serde_json::Value;

use super::call::{CallRecord, CallState, Denial, TurnCall};
use super::event::{Effect, Event, OnDenial, TurnEnd, TurnRules};
use crate::message::{CANCELLED, Conversation, Message, Reasoning, Role, ToolCall, wire_name};
use crate::provider::{Finish, ProposedCall, ReplyEnd};

/// The result of a call that comes after a denied one.
const AFTER_DENIAL: &str = "not run: an earlier call was denied";

/// The result of a call whose reply was cut off.
const CUT_OFF: &str = "ERROR: not run: the reply was cut off before it was complete; \
    send the call again, with shorter arguments if they were long";

/// Which event is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Composing,
    Streaming,
    Preparing(usize),
    Deciding(usize),
    Running(usize),
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
    denials: Vec<Denial>,
    stopping: bool,
    reply: String,
}

impl<'a> Turn<'a> {
    /// Begins a turn with what the user said.
    pub fn begin(
        conversation: &'a mut Conversation,
        prompt: String,
        rules: TurnRules,
    ) -> (Turn<'a>, Vec<Effect>) {
        conversation.push_user(prompt);
        let turn = Turn {
            conversation,
            rules,
            state: State::Composing,
            rounds: 0,
            text: String::new(),
            reasoning: None,
            calls: Vec::new(),
            reply_start: 0,
            denials: Vec::new(),
            stopping: false,
            reply: String::new(),
        };
        (turn, vec![Effect::Compose])
    }

    /// What is to be done about an event. Never blocks, never fails.
    pub fn handle(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match (self.state, event) {
            (State::Ended, _) => {}
            (_, Event::Interrupted) => self.interrupt(&mut effects),
            (State::Composing, Event::Composed) => {
                self.state = State::Streaming;
                self.rounds += 1;
                effects.push(Effect::Send);
            }
            (State::Streaming, Event::Text(text)) => self.text.push_str(&text),
            (State::Streaming, Event::Reasoning(field, text)) => {
                let reasoning = self.reasoning.get_or_insert_default();
                field.clone_into(&mut reasoning.field);
                reasoning.text.push_str(&text);
            }
            (State::Streaming, Event::ReplyEnded(end)) => self.reply_ended(end, &mut effects),
            (State::Streaming, Event::StreamFailed(error)) => {
                self.store(Vec::new(), true);
                self.end(TurnEnd::Failed(error), &mut effects);
            }
            (State::Preparing(waiting), Event::Prepared(number, result)) if waiting == number => {
                match result {
                    Ok(plan) => self.calls[number].plan = Some(plan),
                    Err(failure) => self.fail(number, failure, &mut effects),
                }
                self.prepare_next(&mut effects);
            }
            (State::Deciding(waiting), Event::Answered(number, result)) if waiting == number => {
                match result {
                    Ok(answer) if answer.allow => self.calls[number].state = CallState::Approved,
                    Ok(_) => self.deny(number, None, None, &mut effects),
                    Err(failure) => self.fail(number, failure, &mut effects),
                }
                self.decide_next(&mut effects);
            }
            (State::Running(waiting), Event::Finished(number, outcome)) if waiting == number => {
                self.calls[number].duration = Some(outcome.duration);
                match outcome.result {
                    Ok(success) => {
                        self.settle(
                            number,
                            CallState::Completed,
                            text_of(success),
                            None,
                            &mut effects,
                        );
                    }
                    Err(failure) => self.fail(number, failure, &mut effects),
                }
                self.run_next(&mut effects);
            }
            _ => {}
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

    /// What was refused, in order.
    pub fn denials(&self) -> &[Denial] {
        &self.denials
    }

    fn reply_ended(&mut self, end: ReplyEnd, effects: &mut Vec<Effect>) {
        let cut = end.finish == Finish::Cut;
        if end.calls.is_empty() {
            self.store(Vec::new(), cut);
            let end = if cut {
                TurnEnd::CutOff
            } else {
                TurnEnd::Answered
            };
            return self.end(end, effects);
        }
        let stored = self.store(end.calls.iter().map(history_call).collect(), cut);
        self.reply_start = self.calls.len();
        for (index, (proposed, stored)) in end.calls.into_iter().zip(stored).enumerate() {
            let number = self.calls.len();
            let (arguments, bad) = match proposed.arguments {
                Ok(arguments) => (arguments, None),
                Err(bad) => (stored.arguments, Some(bad)),
            };
            // The host gets the name as the model wrote it: only then can it name the tools that
            // come near.
            let call = Call {
                id: stored.id,
                tool: proposed.tool,
                arguments: Value::Object(arguments),
            };
            self.calls.push(TurnCall::new(index + 1, call));
            if self.rounds >= self.rules.max_tool_rounds {
                let note = format!(
                    "not run: the limit of {} rounds per turn is reached",
                    self.rules.max_tool_rounds
                );
                self.settle(number, CallState::NotRun, note.clone(), Some(note), effects);
            } else if cut {
                let note = "not run: the reply was cut off".to_owned();
                self.settle(
                    number,
                    CallState::NotRun,
                    CUT_OFF.to_owned(),
                    Some(note),
                    effects,
                );
            } else if let Some(bad) = bad {
                let tool = self.calls[number].call.tool.clone();
                self.fail(
                    number,
                    Failure::Arguments {
                        tool,
                        problem: bad.problem,
                    },
                    effects,
                );
            } else {
                effects.push(Effect::Show(number));
            }
        }
        self.prepare_next(effects);
    }

    /// Prepares the first call that is not, in order.
    fn prepare_next(&mut self, effects: &mut Vec<Effect>) {
        let next = self.first(|call| call.state == CallState::Proposed && call.plan.is_none());
        match next {
            Some(number) => {
                self.state = State::Preparing(number);
                effects.push(Effect::Prepare(number));
            }
            None => self.decide_next(effects),
        }
    }

    /// Decides calls in order, up to the first that the user must be asked about.
    fn decide_next(&mut self, effects: &mut Vec<Effect>) {
        while let Some(number) = self.first(|call| call.state == CallState::Proposed) {
            if self.stopping {
                self.skip(number, effects);
                continue;
            }
            match self.calls[number].plan.as_ref().map(|plan| &plan.standing) {
                Some(Standing::Allowed) => self.calls[number].state = CallState::Approved,
                Some(Standing::Ask { .. }) => {
                    self.calls[number].state = CallState::Asking;
                    self.state = State::Deciding(number);
                    effects.extend([Effect::Show(number), Effect::Ask(number)]);
                    return;
                }
                Some(Standing::Denied { rule, .. }) => {
                    let rule = rule.clone();
                    self.deny(number, None, Some(rule), effects);
                }
                // Every call is prepared before the first is decided.
                None => self.skip(number, effects),
            }
        }
        self.run_next(effects);
    }

    /// Runs the first approved call; once all are settled, the turn goes on or ends.
    fn run_next(&mut self, effects: &mut Vec<Effect>) {
        while let Some(number) = self.first(|call| call.state == CallState::Approved) {
            if self.is_after_denial(number) {
                self.skip(number, effects);
                continue;
            }
            self.calls[number].state = CallState::Running;
            self.state = State::Running(number);
            effects.extend([Effect::Show(number), Effect::Run(number)]);
            return;
        }
        self.store_results();
        if self.rounds >= self.rules.max_tool_rounds {
            self.end(TurnEnd::RoundLimit, effects);
        } else if self.stopping {
            self.end(TurnEnd::Denied, effects);
        } else {
            self.state = State::Composing;
            effects.push(Effect::Compose);
        }
    }

    fn interrupt(&mut self, effects: &mut Vec<Effect>) {
        if self.state == State::Streaming {
            self.store(Vec::new(), true);
        }
        for number in self.reply_start..self.calls.len() {
            if !self.calls[number].state.is_settled() {
                self.settle(
                    number,
                    CallState::Cancelled,
                    CANCELLED.to_owned(),
                    None,
                    effects,
                );
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
    fn store(&mut self, tool_calls: Vec<ToolCall>, partial: bool) -> Vec<ToolCall> {
        let content = std::mem::take(&mut self.text);
        let reasoning = self.reasoning.take();
        if !content.trim().is_empty() {
            self.reply.clone_from(&content);
        }
        self.conversation.push_assistant(Message {
            tool_calls,
            partial,
            reasoning,
            ..Message::text(Role::Assistant, content)
        })
    }

    /// Puts the results into the conversation, in the order of the calls.
    fn store_results(&mut self) {
        for call in &self.calls[self.reply_start..] {
            self.conversation
                .push_result(&call.call.id, call.result.as_deref().unwrap_or(CANCELLED));
        }
        self.conversation.close_open_calls(CANCELLED);
        self.reply_start = self.calls.len();
    }

    fn settle(
        &mut self,
        number: usize,
        state: CallState,
        result: String,
        note: Option<String>,
        effects: &mut Vec<Effect>,
    ) {
        let call = &mut self.calls[number];
        call.state = state;
        call.result = Some(result);
        call.note = note;
        effects.push(Effect::Show(number));
    }

    fn fail(&mut self, number: usize, failure: Failure, effects: &mut Vec<Effect>) {
        match failure {
            Failure::Denied { question } => self.deny(number, Some(question), None, effects),
            Failure::Cancelled => self.settle(
                number,
                CallState::Cancelled,
                CANCELLED.to_owned(),
                None,
                effects,
            ),
            failure => {
                self.settle(
                    number,
                    CallState::Failed,
                    failure.for_model(),
                    Some(failure.to_string()),
                    effects,
                );
            }
        }
    }

    /// Refuses a call; without another question it is the one that its plan holds.
    fn deny(
        &mut self,
        number: usize,
        question: Option<String>,
        rule: Option<String>,
        effects: &mut Vec<Effect>,
    ) {
        let call = &self.calls[number];
        let planned = || call.plan.as_ref().map(|plan| plan.question.clone());
        let question = question
            .or_else(planned)
            .unwrap_or_else(|| call.call.tool.clone());
        self.denials.push(Denial {
            call: call.call.id.clone(),
            tool: call.call.tool.clone(),
            question: question.clone(),
            rule: rule.clone(),
        });
        self.stopping |= self.rules.on_denial == OnDenial::Stop;
        let result = Failure::Denied { question }.for_model();
        self.settle(number, CallState::Denied, result, rule, effects);
    }

    fn skip(&mut self, number: usize, effects: &mut Vec<Effect>) {
        self.settle(
            number,
            CallState::NotRun,
            AFTER_DENIAL.to_owned(),
            Some(AFTER_DENIAL.to_owned()),
            effects,
        );
    }

    fn is_after_denial(&self, number: usize) -> bool {
        self.stopping
            && self
                .first(|call| call.state == CallState::Denied)
                .is_some_and(|denied| denied < number)
    }

    /// The number of the first call of the last reply of which this is true.
    fn first(&self, condition: impl Fn(&TurnCall) -> bool) -> Option<usize> {
        self.calls[self.reply_start..]
            .iter()
            .position(condition)
            .map(|index| self.reply_start + index)
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
    }
}

/// The text of a result. Parts that are no text are named, so that the model does not take them for
/// missing.
fn text_of(success: Success) -> String {
    let mut text = success.text;
    for (media_type, bytes) in success.blobs {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[{media_type}, {} bytes, not shown]", bytes.len()));
    }
    text
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "machine_fuzz.rs"]
mod fuzz;
