//! What ends a turn before the model is done: a denial, and the user.

use std::time::Duration;

use dunlin_host::ask::Answer;
use dunlin_host::call::{Failure, Outcome};

use super::tests::{
    ALLOW, allowed, answer, assert_legal, check, choose, decided, finished, going_on, hook_denies,
    kept, messages, names, proposed, reply, ruled_out, ruled_out_by_mode, rules, undecided,
};
use super::*;
use crate::turn::approve::Choice;
use crate::turn::event::OnDenial;

#[test]
fn only_a_no_of_the_user_stops_what_comes_after_it() {
    let calls = || {
        reply(vec![
            proposed("a", "a"),
            proposed("b", "b"),
            proposed("c", "c"),
        ])
    };
    check(
        "by the user",
        rules(),
        vec![
            Event::Composed,
            calls(),
            allowed(0),
            undecided(1),
            undecided(2),
            decided([answer(1, Answer::DENY)]),
            kept(1),
            finished(0, Ok("A")),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Prepare(2)",
            "Wait",
            "Keep(1, no)",
            "Run(0)",
            "End(Denied)",
        ],
        &[
            "Assistant:  a:read_file b:read_file c:read_file",
            "a: A",
            "b: ERROR: Permission denied: Read file 'a'?",
            "c: not run: call 2 was denied",
        ],
    );
    check(
        "by a rule",
        rules(),
        vec![
            Event::Composed,
            reply(vec![proposed("a", "a"), proposed("b", "b")]),
            ruled_out(0),
            allowed(1),
            finished(1, Ok("B")),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Run(1)",
            "Compose",
        ],
        &[
            "Assistant:  a:read_file b:read_file",
            "a: ERROR: Permission denied: Read file 'a'?",
            "b: B",
        ],
    );
    check(
        "by a hook, before the question and when it is to run",
        rules(),
        vec![
            Event::Composed,
            reply(vec![proposed("a", "a"), proposed("b", "b")]),
            Event::Prepared(0, Err(hook_denies())),
            allowed(1),
            Event::Finished(
                1,
                Outcome {
                    result: Err(hook_denies()),
                    duration: Duration::ZERO,
                    edits: Vec::new(),
                    said: String::new(),
                },
            ),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Run(1)",
            "Compose",
        ],
        &[
            "Assistant:  a:read_file b:read_file",
            "a: ERROR: Permission denied by the hook `guard`: not this",
            "b: ERROR: Permission denied by the hook `guard`: not this",
        ],
    );
    let told = |number, failure| {
        Event::Finished(
            number,
            Outcome {
                result: Err(failure),
                duration: Duration::ZERO,
                edits: Vec::new(),
                said: "\n\n[The hook `lint` says]\nlong".to_owned(),
            },
        )
    };
    let denied = Failure::Denied {
        question: "More?".to_owned(),
        by_user: true,
    };
    check(
        "with what hooks say, however the call ended",
        TurnRules {
            on_denial: OnDenial::Continue,
            ..rules()
        },
        vec![
            Event::Composed,
            reply(vec![proposed("a", "a"), proposed("b", "b")]),
            allowed(0),
            allowed(1),
            told(0, denied),
            told(1, Failure::Cancelled),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Run(0)",
            "Run(1)",
            "Compose",
        ],
        &[
            "Assistant:  a:read_file b:read_file",
            "a: ERROR: Permission denied: More?\n\n[The hook `lint` says]\nlong",
            "b: cancelled by user\n\n[The hook `lint` says]\nlong",
        ],
    );
    check(
        "by the mode of the session",
        rules(),
        vec![
            Event::Composed,
            reply(vec![proposed("a", "a"), proposed("b", "b")]),
            ruled_out_by_mode(0),
            allowed(1),
            finished(1, Ok("B")),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Run(1)",
            "Compose",
        ],
        &[
            "Assistant:  a:read_file b:read_file",
            "a: ERROR: Permission denied: Read file 'a'?\n\nPlan mode is on: nothing is changed. Find out what \
             you need by reading, and end with a plan.",
            "b: B",
        ],
    );
    check(
        "while it ran, by a rule or the tool itself",
        rules(),
        vec![
            Event::Composed,
            reply(vec![proposed("a", "a"), proposed("b", "b")]),
            allowed(0),
            allowed(1),
            finished(
                0,
                Err(Failure::Denied {
                    question: "Read '/etc'?".to_owned(),
                    by_user: false,
                }),
            ),
            finished(1, Ok("B")),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Run(0)",
            "Run(1)",
            "Compose",
        ],
        &[
            "Assistant:  a:read_file b:read_file",
            "a: ERROR: Permission denied: Read '/etc'?",
            "b: B",
        ],
    );
    check(
        "while it ran",
        rules(),
        vec![
            Event::Composed,
            reply(vec![proposed("a", "a"), proposed("b", "b")]),
            allowed(0),
            allowed(1),
            finished(
                0,
                Err(Failure::Denied {
                    question: "Read '/etc'?".to_owned(),
                    by_user: true,
                }),
            ),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Run(0)",
            "End(Denied)",
        ],
        &[
            "Assistant:  a:read_file b:read_file",
            "a: ERROR: Permission denied: Read '/etc'?",
            "b: not run: call 1 was denied",
        ],
    );
}

#[test]
fn a_denial_may_go_back_to_the_model() {
    check(
        "the others run",
        going_on(),
        vec![
            Event::Composed,
            reply(vec![
                proposed("a", "a"),
                proposed("b", "b"),
                proposed("c", "c"),
            ]),
            undecided(0),
            ruled_out(1),
            allowed(2),
            decided([answer(0, Answer::DENY)]),
            kept(0),
            finished(2, Ok("C")),
            Event::Composed,
            Event::Text("I see".to_owned()),
            reply(vec![]),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Prepare(2)",
            "Wait",
            "Keep(0, no)",
            "Run(2)",
            "Compose",
            "Send",
            "End(Answered)",
        ],
        &[
            "Assistant:  a:read_file b:read_file c:read_file",
            "a: ERROR: Permission denied: Read file 'a'?",
            "b: ERROR: Permission denied: Read file 'a'?",
            "c: C",
            "Assistant: I see",
        ],
    );
}

#[test]
fn an_interruption_leaves_what_the_table_says() {
    let calls = || reply(vec![proposed("a", "a"), proposed("b", "b")]);
    let said = "Assistant:  a:read_file b:read_file";
    let cancelled = [said, "a: cancelled by user", "b: cancelled by user"];
    let skipped_a = "a: skipped by the user: not run, but not denied either";
    let prefixes: [(&str, Vec<Event>, &[&str]); 8] = [
        ("compose", vec![], &[]),
        ("stream, nothing yet", vec![Event::Composed], &[]),
        (
            "stream",
            vec![Event::Composed, Event::Text("Hel".to_owned())],
            &["Assistant: Hel (partial)"],
        ),
        (
            "prepare",
            vec![Event::Composed, calls(), undecided(0)],
            &cancelled,
        ),
        (
            "wait",
            vec![
                Event::Composed,
                calls(),
                undecided(0),
                undecided(1),
                decided([answer(1, ALLOW)]),
                kept(1),
            ],
            &cancelled,
        ),
        (
            "keep",
            vec![
                Event::Composed,
                calls(),
                undecided(0),
                undecided(1),
                decided([answer(1, ALLOW)]),
            ],
            &cancelled,
        ),
        (
            "wait, one skipped",
            vec![
                Event::Composed,
                calls(),
                undecided(0),
                undecided(1),
                decided([choose(0, Choice::Skip)]),
            ],
            &[said, skipped_a, "b: cancelled by user"],
        ),
        (
            "run",
            vec![
                Event::Composed,
                calls(),
                allowed(0),
                allowed(1),
                finished(0, Ok("A")),
            ],
            &[said, "a: A", "b: cancelled by user"],
        ),
    ];
    for (case, events, left) in prefixes {
        let mut conversation = Conversation::new();
        let (mut turn, _) = Turn::begin(&mut conversation, "Go".into(), rules());
        for event in events {
            turn.handle(event);
        }
        let last = names(&turn.handle(Event::Interrupted));
        assert_eq!(last, ["End(Interrupted)"], "{case}");
        drop(turn);
        assert_eq!(
            messages(&conversation),
            [&["User: Go"], left].concat(),
            "{case}"
        );
        assert_legal(&conversation);
    }
}
