//! The rules of a turn hold whatever happens.

use std::collections::HashSet;

use dunlin_host::ask::Answer;
use proptest::prelude::*;

use super::tests::{ALLOW, allowed, assert_legal, error, finished, proposed, ruled_out, undecided};
use super::*;
use crate::provider::BadArguments;

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
    prop::collection::vec(step, 0..60)
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
        _ => vec![proposed("c", "a"), proposed("d", "b")],
    };
    let finish = if form.is_multiple_of(7) {
        Finish::Cut
    } else {
        Finish::Complete
    };
    Event::ReplyEnded(ReplyEnd { calls, finish })
}

fn some_event(kind: u8, number: usize) -> Event {
    match kind % 16 {
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
            }),
        ),
        11 => Event::Answered(number, Ok(if kind < 128 { ALLOW } else { Answer::DENY })),
        12 => Event::Answered(number, Err(Failure::Host("broken".to_owned()))),
        13 => finished(number, Ok("text")),
        14 => finished(
            number,
            Err(if kind < 128 {
                Failure::Cancelled
            } else {
                Failure::Denied {
                    question: "?".to_owned(),
                }
            }),
        ),
        _ => Event::Interrupted,
    }
}

fn answer_to(effect: Option<&Effect>, form: u8) -> Option<Event> {
    Some(match effect? {
        Effect::Compose => Event::Composed,
        Effect::Send if form < 40 => Event::Text("text".to_owned()),
        Effect::Send => some_reply(form),
        Effect::Prepare(number) => match form % 5 {
            0 | 1 => allowed(*number),
            2 | 3 => undecided(*number),
            _ => ruled_out(*number),
        },
        Effect::Ask(number) => {
            Event::Answered(*number, Ok(if form < 150 { ALLOW } else { Answer::DENY }))
        }
        Effect::Run(number) if form.is_multiple_of(8) => finished(
            *number,
            Err(Failure::Denied {
                question: "?".to_owned(),
            }),
        ),
        Effect::Run(number) => finished(*number, Ok("text")),
        Effect::Show(_) | Effect::End(_) => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever happens: no call runs that was not allowed, nobody is asked after a denial that
    /// stops, nothing follows the end, and what is left can be sent.
    #[test]
    fn nothing_breaks_the_rules(steps in steps(), stop in any::<bool>(), max_tool_rounds in 0..6u32) {
        let on_denial = if stop { OnDenial::Stop } else { OnDenial::Continue };
        let mut conversation = Conversation::new();
        let (mut turn, mut effects) = Turn::begin(&mut conversation, "Go".to_owned(), TurnRules { on_denial, max_tool_rounds });
        let mut allowed = HashSet::new();
        let mut waiting: Option<Effect> = effects.pop();
        let mut ended = false;
        let mut requests = 0;
        for step in steps {
            let event = match step {
                Step::Answer(form) => answer_to(waiting.as_ref(), form),
                Step::Noise(kind, number) => Some(some_event(kind, number)),
            };
            let Some(event) = event else { continue };
            // What counts as permission, judged by the question that was open.
            match (&event, &waiting) {
                (Event::Prepared(number, Ok(plan)), Some(Effect::Prepare(open)))
                    if number == open && plan.standing == Standing::Allowed =>
                {
                    allowed.insert(*number);
                }
                (Event::Answered(number, Ok(answer)), Some(Effect::Ask(open))) if number == open && answer.allow => {
                    allowed.insert(*number);
                }
                _ => {}
            }
            let effects = turn.handle(event);
            let was_denied = !turn.denials().is_empty();
            for effect in effects {
                prop_assert!(!ended, "{effect:?} after the end");
                match &effect {
                    Effect::Run(number) => prop_assert!(allowed.contains(number), "{number} was not allowed"),
                    Effect::Ask(_) => prop_assert!(!(stop && was_denied), "asked after a denial"),
                    Effect::Send => requests += 1,
                    Effect::Compose => prop_assert!(!(stop && was_denied), "went on after a denial"),
                    Effect::End(_) => ended = true,
                    Effect::Show(number) => prop_assert!(turn.call(*number).is_some()),
                    Effect::Prepare(_) => {}
                }
                if !matches!(effect, Effect::Show(_)) {
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
        assert_legal(&conversation);
    }
}
