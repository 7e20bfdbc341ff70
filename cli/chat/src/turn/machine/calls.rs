//! The calls of one reply: prepared, decided, run, and given their results.
//!
//! There is one thing to do at a time, and [`Turn::advance`] finds it in the calls themselves: an answer to
//! keep, a call to prepare, the user to wait for, a call to run, the results to store.

use std::sync::Arc;

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::call::{Call, Failure, Outcome, Plan, PlanStatus, Success};
use serde_json::Value;

use super::super::approve::{Choice, Decision, Resolution};
use super::super::call::{CallState, DeniedBy, Task, TurnCall, changed_files, own_edits};
use super::super::event::{Effect, OnDenial, TurnEnd};
use super::{State, Turn, history_call, quotation};
use crate::media::{Media, NotMedia};
use crate::message::CANCELLED;
use crate::provider::{BadArguments, Finish, ProposedCall, ReplyEnd};

/// The result of a call that the user left out.
const SKIPPED: &str = "skipped by the user: not run, but not denied either";

/// The result of a call whose reply was cut off.
pub(super) const CUT_OFF: &str = "ERROR: not run: the reply was cut off before it was complete; \
    send the call again, with shorter arguments if they were long";

/// After so many replies in a row that were cut off in their calls the turn ends: the next one would be,
/// too.
const MAX_CUT_REPLIES: u32 = 3;

/// The longest edited arguments that the model is told, in characters: it knows its own, and a text of a
/// few pages it can read again.
const MAX_EDITED_CHARS: usize = 8_000;

/// Most calls that run side by side. Each of them keeps an instance of its tool for as long as it runs, and what it runs
/// needs instances, too: the host has few.
const MAX_IN_PARALLEL: usize = 4;

/// How deep arguments may nest. A reader of JSON stops at 128 levels, and a record of a session adds some around them.
const MAX_ARGUMENT_DEPTH: usize = 64;

/// Arguments that a session could not be read back with count as arguments that cannot be read.
fn refuse_deep_arguments(call: &mut ProposedCall) {
    fn is_deep(value: &Value, remaining_depth: usize) -> bool {
        match (value, remaining_depth) {
            (Value::Array(_) | Value::Object(_), 0) => true,
            (Value::Array(items), _) => items.iter().any(|item| is_deep(item, remaining_depth - 1)),
            (Value::Object(fields), _) => fields
                .values()
                .any(|field| is_deep(field, remaining_depth - 1)),
            _ => false,
        }
    }
    let Ok(arguments) = &call.arguments else {
        return;
    };
    if arguments
        .values()
        .any(|value| is_deep(value, MAX_ARGUMENT_DEPTH - 1))
    {
        call.arguments = Err(BadArguments {
            // As text it nests nothing.
            raw: Value::Object(arguments.clone()).to_string(),
            problem: format!("they nest deeper than {MAX_ARGUMENT_DEPTH} levels"),
        });
    }
}

impl Turn<'_> {
    pub(super) fn reply_ended(&mut self, mut end: ReplyEnd, effects: &mut Vec<Effect>) {
        for call in &mut end.calls {
            refuse_deep_arguments(call);
        }
        let cut = end.finish == Finish::Cut;
        // What is not whole is not what the endpoint would know again.
        let replay = end.replay.take().filter(|_| !cut);
        if end.calls.is_empty() {
            self.store(Vec::new(), replay, cut);
            let end = if cut {
                TurnEnd::CutOff
            } else {
                TurnEnd::Answered
            };
            return self.end(end, effects);
        }
        let stored = self.store(end.calls.iter().map(history_call).collect(), replay, cut);
        self.reply_start = self.calls.len();
        self.cut_replies = if cut { self.cut_replies + 1 } else { 0 };
        for (proposed, stored) in end.calls.into_iter().zip(stored) {
            let number = self.calls.len();
            let index = stored.number;
            let (recovered, repaired) = (proposed.recovered, proposed.repaired);
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
            let repeated = self.in_reply(&call);
            let repeated = repeated.filter(|_| bad.is_none() && !self.by_hand);
            let quoted = recovered && quotation::is_quoted(&call, self.conversation.messages());
            self.calls.push(TurnCall {
                recovered,
                quoted,
                repaired,
                ..TurnCall::new(number, index, call)
            });
            if self.rounds >= self.rules.max_tool_rounds && !self.by_hand {
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
            } else if let Some(earlier) = repeated {
                let note = Some(format!("not run: it is the same as call {earlier}"));
                let result = format!(
                    "not run again: this message has the same call before this one (call {earlier}), \
                     and its result holds for both"
                );
                self.settle(number, CallState::NotRun, result, note, effects);
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
                self.calls[number].task = Some(Task::Prepare);
                effects.push(Effect::Show(number));
            }
        }
        self.advance(effects);
    }

    /// Does the next thing. Answers are kept before anything is prepared: they may be what allows it.
    pub(super) fn advance(&mut self, effects: &mut Vec<Effect>) {
        if let Some(number) = self.first(|call| matches!(call.task, Some(Task::Keep(_))))
            && let Some(Task::Keep(answer)) = self.calls[number].task
        {
            self.state = State::Keeping(number);
            return effects.push(Effect::Keep(number, answer));
        }
        if let Some(number) = self.first(|call| call.task == Some(Task::Prepare)) {
            self.state = State::Preparing(number);
            return effects.push(Effect::Prepare(number));
        }
        let is_asking = |call: &TurnCall| call.state == CallState::Asking;
        if self.start(|call| call.runs_now, effects) && self.first(is_asking).is_some() {
            return;
        }
        while let Some(number) = self.first(is_asking) {
            if self.closing || self.is_after_denial(number) {
                self.leave_out(number, effects);
                continue;
            }
            return self.wait(effects);
        }
        self.run_next(effects);
    }

    fn wait(&mut self, effects: &mut Vec<Effect>) {
        for number in self.reply_start..self.calls.len() {
            if self.calls[number].state != CallState::Asking {
                continue;
            }
            if self.is_after_denial(number) {
                self.leave_out(number, effects);
            } else if !std::mem::replace(&mut self.calls[number].shown, true) {
                effects.push(Effect::Show(number));
            }
        }
        self.state = State::Waiting;
        effects.push(Effect::Wait);
    }

    pub(super) fn prepared(
        &mut self,
        number: usize,
        result: Result<Plan, Failure>,
        effects: &mut Vec<Effect>,
    ) {
        let call = &mut self.calls[number];
        call.task = None;
        let plan = match result {
            Ok(plan) => plan,
            Err(failure) if call.edited => {
                // The user can mend what the user wrote.
                call.problem = Some(failure);
                call.plan = None;
                call.state = CallState::Asking;
                call.explicit = false;
                call.revision += 1;
                return effects.push(Effect::Show(number));
            }
            Err(failure) => return self.fail(number, failure, effects),
        };
        let same = call.plan.as_ref().is_some_and(|old| {
            (&old.question, &old.needs, &old.actions)
                == (&plan.question, &plan.needs, &plan.actions)
        });
        if call.plan.as_deref() != Some(&plan) {
            call.revision += 1;
        }
        let status = plan.status.clone();
        call.plan = Some(Arc::new(plan));
        call.problem = None;
        match status {
            PlanStatus::Denied { rule, revert, .. } => {
                let by = DeniedBy { rule, revert };
                self.deny(number, None, Some(by), effects);
            }
            // Something else than what the user saw is never run, whatever allows it by now.
            PlanStatus::Allowed
                if (same || !call.shown) && (!call.quoted || call.edited || call.explicit) =>
            {
                call.state = CallState::Approved;
            }
            PlanStatus::Allowed | PlanStatus::Ask { .. } => {
                call.state = CallState::Asking;
                call.explicit = false;
            }
        }
    }

    pub(super) fn resolved(&mut self, resolution: Resolution, effects: &mut Vec<Effect>) {
        match resolution {
            Resolution::Stop => return self.interrupt(effects),
            Resolution::Decided(decisions) => {
                for decision in decisions {
                    self.decide(decision, effects);
                }
            }
            Resolution::Run(comment) => {
                // It is about what is left out; one result is enough to carry it.
                if let Some(number) = self.first(|call| call.state == CallState::Asking)
                    && comment.is_some()
                {
                    self.calls[number].comment = comment;
                }
                while let Some(number) = self.first(|call| call.state == CallState::Asking) {
                    self.skip(number, effects);
                }
            }
            Resolution::Reconsider => self.reconsider(|_| true),
        }
        self.advance(effects);
    }

    fn decide(&mut self, decision: Decision, effects: &mut Vec<Effect>) {
        let number = decision.number;
        let Some(call) = self.calls.get_mut(number) else {
            return;
        };
        let known = number >= self.reply_start && !call.state.is_settled();
        if !known || call.revision != decision.revision || call.task.is_some() {
            return;
        }
        let comment = decision.comment.map(|comment| comment.trim().to_owned());
        if let Some(comment) = comment.filter(|comment| !comment.is_empty()) {
            call.comment = Some(comment);
        }
        match decision.choice {
            // What cannot be run cannot be allowed.
            Choice::Answer(Answer { allow: true, .. }) | Choice::RunNow
                if call.problem.is_some() => {}
            Choice::Answer(answer) => call.task = Some(Task::Keep(answer)),
            Choice::RunNow => {
                call.runs_now = true;
                if call.state == CallState::Asking {
                    call.task = Some(Task::Keep(Answer {
                        allow: true,
                        scope: Scope::Once,
                    }));
                }
            }
            Choice::Skip => self.skip(number, effects),
            Choice::Edit(arguments) => {
                Arc::make_mut(&mut call.call).arguments = Value::Object(arguments);
                call.edited = true;
                call.runs_now = false;
                call.revision += 1;
                call.state = CallState::Proposed;
                call.plan = None;
                call.problem = None;
                call.explicit = false;
                call.shown = true;
                call.task = Some(Task::Prepare);
                effects.extend([Effect::Forget(number), Effect::Show(number)]);
            }
        }
    }

    /// An answer is kept, or could not be. One that holds for longer than its call may settle others.
    pub(super) fn kept(
        &mut self,
        number: usize,
        result: Result<(), Failure>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Task::Keep(answer)) = self.calls[number].task.take() else {
            return;
        };
        match result {
            Ok(()) if answer.allow => {
                let call = &mut self.calls[number];
                call.state = CallState::Approved;
                call.explicit = true;
            }
            Err(failure) if answer.allow => self.fail(number, failure, effects),
            // A no holds, whether or not it could be kept.
            _ => {
                let silent = self.calls[number].comment.is_none();
                self.closing |= silent && self.rules.on_denial == OnDenial::Stop;
                self.deny(number, None, None, effects);
            }
        }
        if answer.scope != Scope::Once {
            self.reconsider(|call| !call.explicit);
        }
    }

    /// Has the open calls of which this is true prepared again.
    fn reconsider(&mut self, concerned: impl Fn(&TurnCall) -> bool) {
        for call in &mut self.calls[self.reply_start..] {
            if !call.state.is_settled() && call.task.is_none() && concerned(call) {
                call.task = Some(Task::Prepare);
            }
        }
    }

    pub(super) fn finished(&mut self, number: usize, outcome: Outcome, effects: &mut Vec<Effect>) {
        self.calls[number].duration = Some(outcome.duration);
        self.calls[number].edits = outcome.edits.into();
        self.calls[number].said = outcome.said;
        match outcome.result {
            Ok(mut success) => {
                let note = success.note.take();
                let state = match success.has_failed {
                    true => CallState::Failed,
                    false => CallState::Completed,
                };
                let text = parts_of(success, &mut self.calls[number]);
                self.settle(number, state, text, note, effects);
            }
            Err(failure) => {
                self.fail(number, failure, effects);
                let denied = self.calls[number].state == CallState::Denied;
                self.halted |= denied && self.stopped_by.is_some();
            }
        }
    }

    /// Starts what may run now of the approved calls of which this is true: those that run in parallel, up to
    /// [`MAX_IN_PARALLEL`], and the first of the rest. Whether any call runs.
    fn start(&mut self, concerned: impl Fn(&TurnCall) -> bool, effects: &mut Vec<Effect>) -> bool {
        let runs = |call: &TurnCall| call.state == CallState::Running;
        let mut is_alone = self
            .first(|call| runs(call) && !call.runs_in_parallel())
            .is_some();
        let running = self.calls[self.reply_start..].iter();
        let mut in_parallel = running
            .filter(|call| runs(call) && call.runs_in_parallel())
            .count();
        for number in self.reply_start..self.calls.len() {
            let call = &self.calls[number];
            let is_next = call.state == CallState::Approved && concerned(call) && !self.halted;
            let has_room = match call.runs_in_parallel() {
                true => in_parallel < MAX_IN_PARALLEL,
                false => !is_alone,
            };
            if !is_next || !has_room {
                continue;
            }
            in_parallel += usize::from(call.runs_in_parallel());
            is_alone |= !call.runs_in_parallel();
            self.calls[number].state = CallState::Running;
            effects.extend([Effect::Show(number), Effect::Run(number)]);
        }
        let any = self.first(runs).is_some();
        if any {
            self.state = State::Running;
        }
        any
    }

    /// Whether the call with this number runs.
    pub(super) fn runs(&self, number: usize) -> bool {
        let call = self.calls.get(number);
        call.is_some_and(|call| call.state == CallState::Running)
    }

    /// Runs the approved calls; once all are settled, the turn goes on or ends.
    fn run_next(&mut self, effects: &mut Vec<Effect>) {
        for number in self.reply_start..self.calls.len() {
            let call = &self.calls[number];
            // What the user said yes to in so many words survives a no to another call.
            let survives = call.explicit || !self.is_after_denial(number);
            if call.state == CallState::Approved && (self.halted || !survives) {
                self.leave_out(number, effects);
            }
        }
        if self.start(|_| true, effects) {
            return;
        }
        self.store_results();
        if self.stopped_by.is_some() {
            self.end(TurnEnd::Denied, effects);
        } else if self.by_hand {
            self.end(TurnEnd::Answered, effects);
        } else if self.rounds >= self.rules.max_tool_rounds {
            self.end(TurnEnd::RoundLimit, effects);
        } else if self.cut_replies >= MAX_CUT_REPLIES {
            self.end(TurnEnd::CutOff, effects);
        } else {
            self.state = State::Composing;
            effects.push(Effect::Compose);
        }
    }

    /// Puts the results into the conversation, in the order of the calls.
    pub(super) fn store_results(&mut self) {
        for call in &self.calls[self.reply_start..] {
            let result = call.result.as_deref().unwrap_or(CANCELLED);
            self.conversation
                .push_result_with(&call.call.id, result, call.media.clone());
        }
        self.conversation.close_open_calls(CANCELLED);
        self.reply_start = self.calls.len();
    }

    pub(super) fn settle(
        &mut self,
        number: usize,
        state: CallState,
        mut result: String,
        note: Option<String>,
        effects: &mut Vec<Effect>,
    ) {
        let call = &mut self.calls[number];
        if call.edited && matches!(state, CallState::Completed | CallState::Failed) {
            let arguments = call.call.arguments.to_string();
            let arguments = dunlin_host::display::shorten(&arguments, MAX_EDITED_CHARS);
            result.push_str("\n\nThe user changed this call before it ran, to: ");
            result.push_str(&arguments);
        }
        // An end that is not a good one reads as if nothing had happened.
        let is_done = state == CallState::Completed;
        if let Some(changed) = changed_files(own_edits(&call.edits).0).filter(|_| !is_done) {
            result.push_str("\n\nBefore that it changed files, which stay as it left them: ");
            result.push_str(&changed);
        }
        result.push_str(&call.said);
        if let Some(comment) = &call.comment {
            result.push_str("\n\nThe user says about this call: ");
            result.push_str(comment);
        }
        call.state = state;
        call.task = None;
        call.result = Some(result);
        call.note = note;
        effects.push(Effect::Show(number));
    }

    fn fail(&mut self, number: usize, failure: Failure, effects: &mut Vec<Effect>) {
        match failure {
            failure @ (Failure::Denied { .. } | Failure::Hook { .. }) => {
                self.deny(number, Some(failure), None, effects);
            }
            Failure::Cancelled => {
                let result = CANCELLED.to_owned();
                self.settle(number, CallState::Cancelled, result, None, effects);
            }
            failure => {
                let (result, note) = (failure.for_model(), failure.to_string());
                self.calls[number].failure = Some(failure);
                self.settle(number, CallState::Failed, result, Some(note), effects);
            }
        }
    }

    fn skip(&mut self, number: usize, effects: &mut Vec<Effect>) {
        let result = SKIPPED.to_owned();
        self.settle(number, CallState::Skipped, result, None, effects);
    }

    /// The number of the same call, if it stands in the last reply already.
    fn in_reply(&self, call: &Call) -> Option<usize> {
        let mut earlier = self.calls[self.reply_start..].iter();
        let is_same = |earlier: &&TurnCall| {
            earlier.failure.is_none()
                && (&earlier.call.tool, &earlier.call.arguments) == (&call.tool, &call.arguments)
        };
        earlier.find(is_same).map(|earlier| earlier.index)
    }

    /// The number of the first call of the last reply of which this is true.
    fn first(&self, condition: impl Fn(&TurnCall) -> bool) -> Option<usize> {
        self.calls[self.reply_start..]
            .iter()
            .position(condition)
            .map(|index| self.reply_start + index)
    }
}

/// The text of a result; the call gets its images and documents. Parts that are not text are named in the text, so that the
/// model does not take them for missing.
fn parts_of(success: Success, call: &mut TurnCall) -> String {
    let mut text = success.text;
    for (media_type, bytes) in success.blobs {
        if !text.is_empty() {
            text.push('\n');
        }
        let why = match Media::new("", &bytes) {
            Ok(media) => {
                text.push_str(&media.to_string());
                call.media.push(media);
                continue;
            }
            Err(NotMedia::Unknown) => String::new(),
            Err(why) => {
                call.not_media = Some(why);
                format!(": {why}")
            }
        };
        let size = bytes.len();
        text.push_str(&format!("[{media_type}, {size} bytes, not shown{why}]"));
    }
    text
}
