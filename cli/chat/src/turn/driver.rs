//! Performs what the machine wants done.
//!
//! Everything is polled in place, in one future: nothing is spawned, so nothing outlives the turn,
//! and between the machine's wish to run a call and its result stands nothing but the host. The
//! interruption is polled first, beside whatever is being waited for; when it comes, that is
//! dropped and the turn ends within the same poll. Calls that run side by side are the only things that are
//! waited for together.

use std::collections::VecDeque;
use std::pin::{Pin, pin};
use std::sync::Arc;

use dunlin_host::ask::Answer;
use dunlin_host::call::{Call, Failure, Outcome, Plan, PlanStatus};
use dunlin_host::display::grouped;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use parking_lot::Mutex;

use super::approve::{Resolution, Waiting};
use super::call::{CallRecord, CallState, Denial};
use super::context::{CallContext, Tools, TurnContext, unless};
use super::event::{Effect, Event, TurnEnd};
use super::in_flight::InFlight;
use super::journal::JournalWriter;
use super::machine::Turn;
use super::review::{Review, next_of};
use super::sending::Unsent;
use super::{fit, sending};
use crate::message::{Conversation, UserMessage};
use crate::price::Charge;
use crate::provider::{Finish, ProposedCall, ReplyEnd, StreamEvent, Usage};
use crate::request::Request;

/// What came of a turn.
#[derive(Debug)]
pub struct TurnReport {
    /// How it ended.
    pub end: TurnEnd,
    /// What the model said last; unescaped.
    pub reply: String,
    /// What became of the calls, in order.
    pub calls: Vec<CallRecord>,
    /// What was refused, in order.
    pub denials: Vec<Denial>,
    /// What all rounds cost together, as far as the provider counts.
    pub charge: Charge,
    /// How many requests there were.
    pub rounds: u32,
}

/// Takes one turn. When `interrupt` completes, the turn ends at once with [`TurnEnd::Interrupted`], also
/// while it waits for the user. Dropping the future is the same without a report. What either leaves behind
/// stands in [the module's table](super).
pub async fn run_turn(
    conversation: &mut Conversation,
    prompt: UserMessage,
    context: &TurnContext<'_>,
    interrupt: impl Future<Output = ()>,
) -> TurnReport {
    let (mut turn, effects) = Turn::begin(conversation, prompt, context.calls.rules);
    let interceptor = context.interceptor;
    if interceptor.pauses(next_of(&turn)) || interceptor.revises() {
        turn = turn.unsent();
    }
    drive(turn, effects, Some(context), &context.calls, interrupt).await
}

/// Leads calls that the user made by hand through the same steps as a model's, and ends with them. They are numbered
/// after `last_call`, the last number that the session has used.
pub async fn run_calls(
    calls: Vec<ProposedCall>,
    last_call: usize,
    context: &CallContext<'_>,
    interrupt: impl Future<Output = ()>,
) -> TurnReport {
    let mut conversation = Conversation::new();
    conversation.number_calls_after(last_call);
    let (turn, effects) = Turn::by_hand(&mut conversation, calls, context.rules);
    drive(turn, effects, None, context, interrupt).await
}

/// Performs effects until the turn is over. Without a `speaker` there is no request to make.
async fn drive(
    mut turn: Turn<'_>,
    effects: Vec<Effect>,
    speaker: Option<&TurnContext<'_>>,
    context: &CallContext<'_>,
    interrupt: impl Future<Output = ()>,
) -> TurnReport {
    let mut interrupt = pin!(interrupt);
    let mut effects = VecDeque::from(effects);
    let mut request = None;
    let mut review = Review::default();
    let mut charge = Charge::default();
    let mut end = TurnEnd::Interrupted;
    let mut journal_writer = JournalWriter::new(speaker.map(|speaker| speaker.journal));
    if !turn.is_unsent() {
        journal_writer.write(&turn);
    }
    let ended = Mutex::new(Vec::new());
    let mut running = FuturesUnordered::new();
    loop {
        let Some(effect) = effects.pop_front() else {
            if running.is_empty() {
                break;
            }
            let event = match unless(interrupt.as_mut(), running.next()).await.flatten() {
                Some((number, outcome)) => Event::Finished(number, outcome),
                None => {
                    running.clear();
                    for (number, outcome) in std::mem::take(&mut *ended.lock()) {
                        effects.extend(turn.keep_outcome(number, outcome));
                    }
                    if let Some(output) = context.frontend.output_so_far() {
                        turn.keep_output(output);
                    }
                    Event::Interrupted
                }
            };
            effects.extend(turn.handle(event));
            journal_writer.write(&turn);
            continue;
        };
        let event = match effect {
            Effect::Compose
                if !fit::made(speaker, &turn, &mut charge, interrupt.as_mut()).await =>
            {
                Some(Event::Interrupted)
            }
            Effect::Compose => match speaker.map(|speaker| speaker.compose(&turn)).transpose() {
                Ok(composed) => {
                    let paused = speaker.is_some_and(|it| review.is_due(it, &turn));
                    request = composed;
                    Some(if paused {
                        Event::Paused
                    } else {
                        Event::Composed
                    })
                }
                Err(too_long) => Some(Event::TooLong(too_long)),
            },
            Effect::Pause => match (speaker, request.take()) {
                (Some(speaker), Some(composed)) => {
                    let reviewed = speaker.review(&turn, composed, &mut review);
                    let verdict = unless(interrupt.as_mut(), reviewed).await;
                    Some(match verdict {
                        Some(Ok(reviewed)) => {
                            request = Some(reviewed);
                            Event::Released
                        }
                        Some(Err(reason)) => Event::Withdrawn(reason),
                        None => Event::Interrupted,
                    })
                }
                _ => Some(Event::Interrupted),
            },
            Effect::Send => match (speaker, request.take()) {
                (Some(speaker), Some(request)) => Some(
                    speaker
                        .stream(
                            &mut turn,
                            request,
                            &mut review,
                            &mut charge,
                            interrupt.as_mut(),
                        )
                        .await,
                ),
                _ => Some(Event::Interrupted),
            },
            Effect::Show(number) => {
                if let Some(call) = turn.call(number) {
                    // Before anybody sees that it runs.
                    if let Some(speaker) = speaker.filter(|_| call.state == CallState::Running) {
                        speaker.journal.started(&call.call.id);
                        // A question about the call would have said so.
                        if call.recovered && !call.shown {
                            let tool = &call.call.tool;
                            let notice = format!("· The model wrote this call of {tool} as text.");
                            context.frontend.notice(&notice);
                        }
                    }
                    context.frontend.keep_call(call);
                    context.frontend.call(&call.view());
                }
                None
            }
            Effect::Prepare(number) => match turn.call(number) {
                Some(call) => {
                    let tool = &call.call.tool;
                    let withheld = speaker.and_then(|speaker| speaker.withheld(tool, &review));
                    let prepare = async {
                        match withheld {
                            Some(failure) => Err(failure),
                            None => context.tools.prepare(&call.call).await,
                        }
                    };
                    let prepared = unless(interrupt.as_mut(), prepare).await;
                    Some(prepared.map_or(Event::Interrupted, |plan| Event::Prepared(number, plan)))
                }
                None => Some(Event::Interrupted),
            },
            Effect::Wait => {
                let decided = unless(interrupt.as_mut(), context.wait(&turn)).await;
                Some(decided.map_or(Event::Interrupted, Event::Resolved))
            }
            Effect::Keep(number, answer) => {
                let kept = unless(interrupt.as_mut(), context.keep(&turn, number, answer)).await;
                Some(kept.map_or(Event::Interrupted, |kept| Event::Kept(number, kept)))
            }
            Effect::Forget(number) => {
                if let Some(call) = turn.call(number) {
                    context.tools.cancelled(&call.call);
                }
                None
            }
            Effect::Run(number) => match planned(&turn, number) {
                Some((call, plan)) => {
                    let (call, plan) = (Arc::clone(call), Arc::clone(plan));
                    if plan.runs_in_parallel {
                        context.approver.begins_to_run(turn.conversation());
                    }
                    let ended = &ended;
                    running.push(async move {
                        let run = context.run(&call, &plan, |it| ended.lock().push((number, it)));
                        (number, run.await)
                    });
                    None
                }
                None => Some(Event::Interrupted),
            },
            Effect::End(reached) => {
                end = reached;
                None
            }
        };
        if let Some(event) = event {
            effects.extend(turn.handle(event));
            if !turn.is_unsent() {
                journal_writer.write(&turn);
            }
        }
    }
    TurnReport {
        end,
        reply: turn.reply().to_owned(),
        calls: turn.records(),
        denials: turn.denials(),
        charge,
        rounds: turn.rounds(),
    }
}

impl TurnContext<'_> {
    /// Sends the request and passes on what comes, until the reply is over. Unless a reply has begun, a request that was too
    /// long for the model is made shorter and sent once more, and one that was refused is tried without pictures and documents.
    async fn stream(
        &self,
        turn: &mut Turn<'_>,
        mut request: Request,
        review: &mut Review,
        charge: &mut Charge,
        mut interrupt: Pin<&mut impl Future<Output = ()>>,
    ) -> Event {
        self.calls.frontend.round(turn.rounds());
        let forms = review.forms();
        let before = *charge;
        let mut may_shorten = true;
        let event = loop {
            let sent = request.original().clone();
            let (event, begun) = self
                .attempt(turn, &mut request, forms, charge, interrupt.as_mut())
                .await;
            if begun || matches!(event, Event::ReplyEnded(_)) {
                let mut budget = self.context_budget();
                budget.verdicts.accepted(request.media());
            }
            let error = match event {
                Event::StreamFailed(error) if !begun => error,
                event => break event,
            };
            let is_overflow = error.context_overflow().is_some();
            let again = match is_overflow && std::mem::take(&mut may_shorten) {
                true => match self.shorter(turn, &error, &sent) {
                    Some(Ok(request)) => Ok(request),
                    // Where the endpoint can be asked for more room, that is the better way out.
                    Some(Err(too_long)) if !error.names_way_out() => Err(Event::TooLong(too_long)),
                    _ => Err(Event::StreamFailed(error)),
                },
                false => self
                    .without_refused(turn, error, &request)
                    .map_err(|event| *event),
            };
            match again {
                Ok(_) if forms.is_some() => break Event::Outdated,
                Ok(again) => request = again,
                Err(event) => break event,
            }
        };
        if matches!(event, Event::Outdated) {
            review.outdated();
        }
        let used = charge.less(before).usage;
        if review.was_paused() && used.cached_tokens > 0 {
            let (cached, all) = (grouped(used.cached_tokens), grouped(used.input_tokens));
            let notice = format!("· the server had {cached} of {all} tokens in its cache");
            self.calls.frontend.notice(&notice);
        }
        event
    }

    /// Sends the request and passes on what comes, until the reply is over; and whether any of it came.
    async fn attempt(
        &self,
        turn: &mut Turn<'_>,
        request: &mut Request,
        forms: Option<u32>,
        charge: &mut Charge,
        mut interrupt: Pin<&mut impl Future<Output = ()>>,
    ) -> (Event, bool) {
        let mut begun = false;
        let mut round_usage = Usage::default();
        let mut warnings = Vec::new();
        let mut in_flight = InFlight::new(self.journal);
        let sending = self.send(turn, request, forms, &mut in_flight);
        let sent = unless(interrupt.as_mut(), sending).await;
        let stream = sent
            .map(|sent| sent.map(|stream| sending::beside(stream, self.provider.look_up_window())));
        let event = match stream {
            None => Event::Interrupted,
            Some(Err(Unsent::Failed(error))) => Event::StreamFailed(error),
            Some(Err(Unsent::MediaRefused(error, media))) => Event::Refused(*error, media),
            Some(Err(Unsent::Outdated)) => return (Event::Outdated, false),
            Some(Ok(mut stream)) => loop {
                let next = unless(interrupt.as_mut(), stream.next()).await;
                if let Some(Some(Ok(_))) = next {
                    in_flight.event();
                }
                match next {
                    None => break Event::Interrupted,
                    Some(Some(Ok(StreamEvent::Text(text)))) => {
                        begun = true;
                        // First kept, then shown: what was seen is never lost.
                        self.journal.text(&text);
                        self.calls.frontend.text(&text);
                        turn.handle(Event::Text(text));
                    }
                    Some(Some(Ok(StreamEvent::Reasoning { field, text }))) => {
                        begun = true;
                        self.calls.frontend.reasoning(&text);
                        turn.handle(Event::Reasoning(field, text));
                    }
                    Some(Some(Ok(StreamEvent::WasReasoning { field }))) => {
                        self.calls.frontend.was_reasoning();
                        turn.handle(Event::WasReasoning(field));
                    }
                    Some(Some(Ok(StreamEvent::CallStarted { tool }))) => {
                        begun = true;
                        self.calls.frontend.call_started(&tool);
                    }
                    Some(Some(Ok(StreamEvent::Usage(counted)))) => round_usage = counted,
                    Some(Some(Ok(StreamEvent::Notice(notice)))) => {
                        self.calls.frontend.notice(&notice)
                    }
                    Some(Some(Ok(StreamEvent::Warning(warning)))) => warnings.push(warning),
                    Some(Some(Ok(StreamEvent::End(end)))) => break Event::ReplyEnded(end),
                    Some(Some(Err(error))) => break Event::StreamFailed(error),
                    // A provider ends with an end or an error; one that does neither cannot be
                    // trusted to be whole.
                    Some(None) => {
                        break Event::ReplyEnded(ReplyEnd {
                            finish: Finish::Cut,
                            ..ReplyEnd::default()
                        });
                    }
                }
            },
        };
        *charge = charge.plus(in_flight.ended(&event, round_usage));
        self.context_budget().measured(round_usage);
        let has_calls = matches!(&event, Event::ReplyEnded(end) if !end.calls.is_empty());
        self.calls.frontend.reply_ended(has_calls);
        // Not in the middle of a sentence.
        for warning in warnings {
            self.calls.frontend.warning(&warning);
        }
        (event, begun)
    }
}

impl CallContext<'_> {
    /// Waits for the user. Who wants no more of it has denied what was asked.
    async fn wait(&self, turn: &Turn<'_>) -> Resolution {
        let waiting = Waiting {
            calls: turn.reply_calls(),
            conversation: turn.conversation(),
        };
        let resolution = self.approver.decide(waiting).await;
        if resolution == Resolution::Stop {
            for call in waiting.asking() {
                // The turn ends whether or not this could be kept; the log is told as far as it can be.
                let _ = self.keep(turn, call.number, Answer::DENY).await;
            }
        }
        resolution
    }

    /// Keeps the answer to a call.
    async fn keep(&self, turn: &Turn<'_>, number: usize, answer: Answer) -> Result<(), Failure> {
        // A call that was edited into something that cannot be prepared can be denied, and nothing else.
        let Some((call, plan)) = planned(turn, number) else {
            return Ok(());
        };
        let kept = self.tools.answer(call, plan, answer).await;
        if let (Ok(()), PlanStatus::Ask { longest, .. }) = (&kept, &plan.status) {
            let answer = answer.at_most(*longest);
            let needs = plan.answered(answer);
            self.frontend.stored(&call.tool, needs, answer);
        }
        if let (false, Err(failure)) = (answer.allow, &kept) {
            self.frontend
                .notice(&format!("the answer could not be kept: {failure}"));
        }
        kept
    }

    /// Runs a call. The host hears of it when this is dropped before that is over; `ended` then gets the outcome, if the
    /// call itself had ended.
    async fn run(&self, call: &Call, plan: &Plan, ended: impl Fn(Outcome) + Send) -> Outcome {
        let mut running = Running {
            tools: self.tools,
            call: Some(call),
            ended,
        };
        let outcome = self
            .tools
            .run(call, plan, self.ask.clone(), self.frontend.clone())
            .await;
        running.call = None;
        outcome
    }
}

struct Running<'a, E: Fn(Outcome)> {
    tools: &'a dyn Tools,
    call: Option<&'a Call>,
    ended: E,
}

impl<E: Fn(Outcome)> Drop for Running<'_, E> {
    fn drop(&mut self) {
        if let Some(outcome) = self.call.and_then(|call| self.tools.cancelled(call)) {
            (self.ended)(outcome);
        }
    }
}

fn planned<'a>(turn: &'a Turn<'_>, number: usize) -> Option<(&'a Arc<Call>, &'a Arc<Plan>)> {
    let call = turn.call(number)?;
    Some((&call.call, call.plan.as_ref()?))
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
