//! The rules of a turn hold whatever happens.

use std::collections::{HashMap, HashSet};

use dunlin_host::ask::Answer;
use dunlin_host::call::{Failure, Plan, PlanStatus};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::tests::{
    ALLOW, allowed, assert_legal, choose, error, finished, for_session, proposed, ruled_out,
    undecided,
};
use super::*;
use crate::provider::BadArguments;
use crate::turn::approve::{Choice, Decision, Resolution};
use crate::turn::event::OnDenial;
use crate::turn::pause::CancelReason;

/// What the world does next: the sensible answer to the last effect in one of its forms, or
/// anything at all.
#[derive(Debug, Clone)]
enum Step {
    Answer(u8),
    Noise(u8, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => any::<u8>().prop_map(Step::Answer),
        1 => (any::<u8>(), 0..6usize).prop_map(|(kind, number)| Step::Noise(kind, number)),
    ];
    prop::collection::vec(step, 0..80)
}

fn some_reply(form: u8) -> Event {
    let bad = BadArguments {
        raw: "{".to_owned(),
        problem: "they end in the middle".to_owned(),
    };
    let calls = match form % 6 {
        0 => vec![],
        1 => vec![proposed("a", "a")],
        2 => vec![proposed("", "a"), proposed("a", "b"), proposed("a", "c")],
        3 => vec![
            proposed("b", "a"),
            ProposedCall {
                arguments: Err(bad),
                ..proposed("", "b")
            },
        ],
        4 => vec![proposed("c", "a"), proposed("d", "a"), proposed("e", "b")],
        _ => vec![proposed("c", "a"), proposed("d", "b")],
    };
    let finish = if form.is_multiple_of(7) {
        Finish::Cut
    } else {
        Finish::Complete
    };
    Event::ReplyEnded(ReplyEnd {
        calls,
        finish,
        replay: None,
    })
}

fn some_event(kind: u8, number: usize) -> Event {
    match kind % 21 {
        16 => Event::Paused,
        17 => Event::Released,
        18 => Event::Withdrawn(CancelReason::User),
        19 => Event::Outdated,
        20 => Event::Refused(error(), Vec::new()),
        0 => Event::Composed,
        1 => Event::Text("text".to_owned()),
        2 => Event::Reasoning("reasoning", "hm".to_owned()),
        3..=5 => some_reply(kind / 16),
        6 => Event::StreamFailed(error()),
        7 => allowed(number),
        8 => undecided(number),
        9 => ruled_out(number),
        10 => Event::Prepared(
            number,
            Err(Failure::Denied {
                question: "?".to_owned(),
                by_user: true,
            }),
        ),
        11 => decisions(kind, &[number, number + 1], u32::from(kind) % 3),
        12 if kind < 128 => Event::Kept(number, Ok(())),
        12 => Event::Kept(number, Err(Failure::Host("broken".to_owned()))),
        13 => finished(number, Ok("text")),
        14 => finished(
            number,
            Err(if kind < 128 {
                Failure::Cancelled
            } else {
                Failure::Denied {
                    question: "?".to_owned(),
                    by_user: true,
                }
            }),
        ),
        _ => Event::Interrupted,
    }
}

/// Some decision about each of these calls, in this form of them.
fn decisions(kind: u8, numbers: &[usize], revision: u32) -> Event {
    let decision = |(index, number): (usize, &usize)| {
        let kind = kind.wrapping_add(u8::try_from(index).unwrap_or(0).wrapping_mul(37));
        let choice = match kind % 8 {
            0..=2 => Choice::Answer(ALLOW),
            3 => Choice::Answer(for_session(ALLOW)),
            4 => Choice::Answer(Answer::DENY),
            5 => Choice::Answer(for_session(Answer::DENY)),
            6 => Choice::Skip,
            _ => Choice::Edit(edited(kind)),
        };
        Decision {
            revision,
            comment: (kind / 8 % 2 == 0).then(|| "why".to_owned()),
            ..choose(*number, choice)
        }
    };
    let list: Vec<Decision> = numbers.iter().enumerate().map(decision).collect();
    Event::Resolved(Resolution::Decided(list))
}

fn edited(kind: u8) -> Map<String, Value> {
    json!({ "path": kind }).as_object().cloned().unwrap()
}

/// A plan that says which form of the call it was made of, and comes out in one of two ways.
fn some_plan(turn: &Turn<'_>, number: usize, form: u8) -> Event {
    let Event::Prepared(_, Ok(plan)) = (match form % 5 {
        0 => allowed(number),
        1..=3 => undecided(number),
        _ => ruled_out(number),
    }) else {
        unreachable!()
    };
    let arguments = turn
        .call(number)
        .map(|call| call.call.arguments.to_string());
    let way = form.is_multiple_of(11);
    let question = format!("{} {way}", arguments.unwrap_or_default());
    let plan = Plan {
        question,
        runs_in_parallel: form.is_multiple_of(3),
        ..plan
    };
    Event::Prepared(number, Ok(plan))
}

/// What a call is right now: an answer holds for exactly that.
fn content(turn: &Turn<'_>, number: usize) -> Option<(usize, String, String)> {
    let call = turn.call(number)?;
    let question = call.plan.as_ref()?.question.clone();
    Some((number, call.call.arguments.to_string(), question))
}

fn resolution(turn: &Turn<'_>, form: u8) -> Event {
    let open: Vec<&TurnCall> = turn
        .reply_calls()
        .iter()
        .filter(|call| !call.state.is_settled())
        .collect();
    match form % 24 {
        0 => return Event::Resolved(Resolution::Run(None)),
        1 => return Event::Resolved(Resolution::Reconsider),
        2 => return Event::Resolved(Resolution::Stop),
        _ => {}
    }
    let call = open[usize::from(form) % open.len()];
    // Now and then somebody answers to what stood there before.
    let revision = call.revision - u32::from(form.is_multiple_of(13)).min(call.revision);
    decisions(form, &[call.number], revision)
}

fn answer_to(turn: &Turn<'_>, effect: Option<&Effect>, form: u8) -> Option<Event> {
    Some(match effect? {
        Effect::Compose if form.is_multiple_of(3) => Event::Paused,
        Effect::Compose => Event::Composed,
        Effect::Pause if form.is_multiple_of(5) => Event::Withdrawn(CancelReason::User),
        Effect::Pause => Event::Released,
        Effect::Send if form.is_multiple_of(23) => Event::Outdated,
        Effect::Send if form < 40 => Event::Text("text".to_owned()),
        Effect::Send => some_reply(form),
        Effect::Prepare(number) if form.is_multiple_of(17) => {
            Event::Prepared(*number, Err(Failure::Host("no".to_owned())))
        }
        Effect::Prepare(number) => some_plan(turn, *number, form),
        Effect::Wait => resolution(turn, form),
        Effect::Keep(number, _) if form.is_multiple_of(19) => {
            Event::Kept(*number, Err(Failure::Host("broken".to_owned())))
        }
        Effect::Keep(number, _) => Event::Kept(*number, Ok(())),
        Effect::Run(_) => {
            let running: Vec<&TurnCall> = turn
                .reply_calls()
                .iter()
                .filter(|call| call.state == CallState::Running)
                .collect();
            let number = running[usize::from(form / 8) % running.len()].number;
            let denied = Failure::Denied {
                question: "?".to_owned(),
                by_user: true,
            };
            match form.is_multiple_of(8) {
                true => finished(number, Err(denied)),
                false => finished(number, Ok("text")),
            }
        }
        Effect::Show(_) | Effect::Forget(_) | Effect::End(_) => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// Whatever happens: no call runs but in the very form that was allowed without a question or that
    /// somebody said yes to; nobody is asked after a denial that ends it; a paused request is sent only when it is
    /// released, and what was never sent or was taken back leaves nothing behind where that may be; nothing follows the end; every call
    /// has one result; and what is left can be sent.
    #[test]
    fn nothing_breaks_the_rules(steps in steps(), (stop, is_unsent) in any::<(bool, bool)>(), max_tool_rounds in 0..6u32) {
        let on_denial = if stop { OnDenial::Stop } else { OnDenial::Continue };
        let mut conversation = Conversation::new();
        let (mut turn, mut effects) = Turn::begin(&mut conversation, "Go".into(), TurnRules { on_denial, max_tool_rounds });
        if is_unsent {
            turn = turn.unsent();
        }
        let mut allowed = HashSet::new();
        let mut last_shown = HashMap::new();
        let mut pending = HashSet::new();
        let mut waiting: Option<Effect> = effects.pop();
        let (mut ended, mut is_taken_back) = (false, false);
        let (mut requests, mut was_sent) = (0, false);
        for step in steps {
            let event = match step {
                Step::Answer(form) => answer_to(&turn, waiting.as_ref(), form),
                Step::Noise(kind, number) => Some(some_event(kind, number)),
            };
            let Some(event) = event else { continue };
            // What counts as permission, judged by what was waited for and by what stood there.
            let mut by_plan = None;
            match (&event, &waiting) {
                (Event::Prepared(number, Ok(plan)), Some(Effect::Prepare(open)))
                    if number == open && plan.status == PlanStatus::Allowed =>
                {
                    by_plan = Some(*number);
                }
                (Event::Resolved(Resolution::Decided(list)), Some(Effect::Wait)) => {
                    for decision in list {
                        let current = turn.call(decision.number).map(|call| call.revision);
                        if current == Some(decision.revision)
                            && let Choice::Answer(Answer { allow: true, .. }) = decision.choice
                        {
                            pending.extend(content(&turn, decision.number));
                        }
                    }
                }
                (Event::Kept(number, Ok(())), Some(Effect::Keep(open, answer))) if number == open && answer.allow => {
                    let now = content(&turn, *number);
                    prop_assert!(now.as_ref().is_some_and(|now| pending.contains(now)), "kept what nobody answered");
                    allowed.extend(now);
                }
                _ => {}
            }
            let (is_released, is_outdated) = (matches!(event, Event::Released), matches!(event, Event::Outdated));
            let is_paused = matches!(waiting, Some(Effect::Pause));
            let effects = turn.handle(event);
            if let Some(number) = by_plan
                && let Some(now) = content(&turn, number)
            {
                // Allowed without a question; but not where the user was asked about something else before.
                if !last_shown.contains_key(&number) || last_shown.get(&number) == Some(&now) {
                    allowed.insert(now);
                }
            }
            for effect in effects {
                prop_assert!(!ended, "{effect:?} after the end");
                match &effect {
                    Effect::Run(number) => {
                        let now = content(&turn, *number);
                        prop_assert!(now.is_some_and(|now| allowed.contains(&now)), "{number} was not allowed");
                        let running = turn.reply_calls().iter().filter(|call| call.state == CallState::Running);
                        prop_assert!(running.filter(|call| !call.runs_in_parallel()).count() < 2, "two run that may not");
                    }
                    Effect::Wait => {
                        for call in turn.reply_calls().iter().filter(|call| call.state == CallState::Asking) {
                            if let Some(now) = content(&turn, call.number) {
                                last_shown.insert(call.number, now);
                            }
                        }
                        prop_assert!(!turn.closing, "asked after a denial");
                    }
                    Effect::Send => {
                        prop_assert_eq!(is_paused, is_released, "only what is paused is released");
                        (requests, was_sent) = (requests + 1, true);
                    }
                    Effect::Compose => {
                        prop_assert!(turn.stopped_by.is_none(), "went on after a denial");
                        // The same request in another form.
                        requests -= u32::from(is_outdated);
                    }
                    Effect::Pause => prop_assert!(!is_paused),
                    Effect::End(end) => {
                        ended = true;
                        is_taken_back = requests == 1 && matches!(end, TurnEnd::Refused { .. });
                    }
                    Effect::Show(number) | Effect::Forget(number) => prop_assert!(turn.call(*number).is_some()),
                    Effect::Prepare(_) | Effect::Keep(..) => {}
                }
                if !matches!(effect, Effect::Show(_) | Effect::Forget(_)) {
                    waiting = Some(effect);
                }
            }
        }
        prop_assert!(requests <= max_tool_rounds.max(1));
        if ended {
            prop_assert!(turn.records().iter().all(|call| call.state.is_settled() && call.result.is_some()));
            prop_assert!(turn.conversation().open_calls().is_empty());
        }
        drop(turn);
        if is_unsent {
            prop_assert_eq!(was_sent && !is_taken_back, !conversation.messages().is_empty());
        }
        assert_legal(&conversation);
    }
}
