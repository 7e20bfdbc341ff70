//! What can be decided while calls wait.

use dunlin_host::ask::Answer;
use dunlin_host::call::{Failure, Plan, PlanStatus};
use serde_json::json;

use super::tests::{
    ALLOW, allowed, answer, because, check, choose, composed_with, decided, finished, for_session,
    going_on, kept, names, plan, proposed, ruled_out, rules, undecided,
};
use super::*;
use crate::turn::approve::{Choice, Decision, Resolution};

/// Three calls that are all asked about, and what happens then.
#[track_caller]
fn check_waiting(
    case: &str,
    rules: TurnRules,
    then: Vec<Event>,
    effects: &[&str],
    results: &[&str],
) {
    let mut events = composed_with(&["a", "b", "c"]);
    events.extend([undecided(0), undecided(1), undecided(2)]);
    events.extend(then);
    let begun = [
        "Compose",
        "Send",
        "Prepare(0)",
        "Prepare(1)",
        "Prepare(2)",
        "Wait",
    ];
    let said = "Assistant:  a:read_file b:read_file c:read_file";
    check(
        case,
        rules,
        events,
        &[&begun, effects].concat(),
        &[&[said], results].concat(),
    );
}

const DENIED: &str = "ERROR: Permission denied: Read file 'a'?";

#[test]
fn calls_are_decided_in_any_order_and_run_in_theirs() {
    check_waiting(
        "one after the other",
        rules(),
        vec![
            decided([answer(2, ALLOW)]),
            kept(2),
            decided([answer(0, ALLOW), choose(1, Choice::Skip)]),
            kept(0),
            finished(0, Ok("A")),
            finished(2, Ok("C")),
        ],
        &[
            "Keep(2, yes)",
            "Wait",
            "Keep(0, yes)",
            "Run(0)",
            "Run(2)",
            "Compose",
        ],
        &[
            "a: A",
            "b: skipped by the user: not run, but not denied either",
            "c: C",
        ],
    );
    check_waiting(
        "what is left is skipped",
        rules(),
        vec![
            decided([answer(1, ALLOW)]),
            kept(1),
            Event::Resolved(Resolution::Run(None)),
            finished(1, Ok("B")),
        ],
        &["Keep(1, yes)", "Wait", "Run(1)", "Compose"],
        &[
            "a: skipped by the user: not run, but not denied either",
            "b: B",
            "c: skipped by the user: not run, but not denied either",
        ],
    );
}

#[test]
fn an_explicit_yes_survives_a_later_no() {
    check_waiting(
        "y 3, n 2",
        rules(),
        vec![
            decided([answer(2, ALLOW)]),
            kept(2),
            decided([answer(1, Answer::DENY)]),
            kept(1),
            finished(2, Ok("C")),
        ],
        &[
            "Keep(2, yes)",
            "Wait",
            "Keep(1, no)",
            "Run(2)",
            "End(Denied)",
        ],
        &[
            "a: not run: call 2 was denied",
            &format!("b: {DENIED}"),
            "c: C",
        ],
    );
}

#[test]
fn comments_go_back_with_the_results() {
    check_waiting(
        "a no that is explained",
        rules(),
        vec![
            decided([because("not that one", answer(1, Answer::DENY))]),
            kept(1),
            decided([
                because(" ", answer(0, ALLOW)),
                because("well done", answer(2, ALLOW)),
            ]),
            kept(0),
            kept(2),
            finished(0, Ok("A")),
            finished(2, Ok("C")),
        ],
        &[
            "Keep(1, no)",
            "Wait",
            "Keep(0, yes)",
            "Keep(2, yes)",
            "Run(0)",
            "Run(2)",
            "Compose",
        ],
        &[
            "a: A",
            &format!("b: {DENIED}\n\nThe user says about this call: not that one"),
            "c: C\n\nThe user says about this call: well done",
        ],
    );
}

#[test]
fn an_answer_that_holds_longer_settles_others() {
    check_waiting(
        "yes, for the session",
        rules(),
        vec![
            decided([answer(0, for_session(ALLOW))]),
            kept(0),
            allowed(1),
            undecided(2),
            decided([answer(2, ALLOW)]),
            kept(2),
        ],
        &[
            "Keep(0, yes)",
            "Prepare(1)",
            "Prepare(2)",
            "Wait",
            "Keep(2, yes)",
            "Run(0)",
        ],
        &[
            "a: cancelled by user",
            "b: cancelled by user",
            "c: cancelled by user",
        ],
    );
    check_waiting(
        "no, for the session",
        going_on(),
        vec![
            decided([answer(2, for_session(Answer::DENY))]),
            kept(2),
            ruled_out(0),
            ruled_out(1),
        ],
        &["Keep(2, no)", "Prepare(0)", "Prepare(1)", "Compose"],
        &[
            &format!("a: {DENIED}"),
            &format!("b: {DENIED}"),
            &format!("c: {DENIED}"),
        ],
    );
}

/// A plan that comes to something else than [`plan`].
fn other_plan(status: PlanStatus) -> Plan {
    Plan {
        question: "Read file 'z'?".to_owned(),
        ..plan(status)
    }
}

#[test]
fn what_comes_out_otherwise_is_asked_about_again() {
    let again = Event::Prepared(1, Ok(other_plan(PlanStatus::Allowed)));
    let late = Decision {
        revision: 2,
        ..answer(1, ALLOW)
    };
    check_waiting(
        "allowed by now, but it is not what was shown",
        rules(),
        vec![
            decided([answer(0, for_session(ALLOW)), answer(2, ALLOW)]),
            kept(0),
            kept(2),
            again,
            decided([answer(1, ALLOW)]),
            decided([late]),
            kept(1),
            finished(0, Ok("A")),
        ],
        &[
            "Keep(0, yes)",
            "Keep(2, yes)",
            "Prepare(1)",
            "Wait",
            "Wait",
            "Keep(1, yes)",
            "Run(0)",
            "Run(1)",
        ],
        &["a: A", "b: cancelled by user", "c: cancelled by user"],
    );
}

#[test]
fn an_edit_voids_what_was_decided() {
    let arguments = json!({"path": "z"}).as_object().cloned().unwrap();
    let edit = choose(1, Choice::Edit(arguments));
    let of_edited = |revision, choice| Decision {
        revision,
        ..choose(1, choice)
    };
    check_waiting(
        "approved, edited, refused by the schema, edited again, approved again",
        rules(),
        vec![
            decided([answer(1, ALLOW)]),
            kept(1),
            decided([edit]),
            Event::Prepared(1, Err(Failure::Host("no such thing".to_owned()))),
            decided([of_edited(3, Choice::Answer(ALLOW))]),
            decided([of_edited(3, Choice::Edit(serde_json::Map::new()))]),
            Event::Prepared(1, Ok(other_plan(PlanStatus::Allowed))),
            decided([answer(1, ALLOW)]),
            decided([of_edited(5, Choice::Answer(ALLOW))]),
            kept(1),
            Event::Resolved(Resolution::Run(None)),
            finished(1, Ok("B")),
        ],
        &[
            "Keep(1, yes)",
            "Wait",
            "Forget(1)",
            "Prepare(1)",
            "Wait",
            "Wait",
            "Forget(1)",
            "Prepare(1)",
            "Wait",
            "Wait",
            "Keep(1, yes)",
            "Wait",
            "Run(1)",
            "Compose",
        ],
        &[
            "a: skipped by the user: not run, but not denied either",
            "b: B\n\nThe user changed this call before it ran, to: {}",
            "c: skipped by the user: not run, but not denied either",
        ],
    );
}

#[test]
fn changed_permissions_are_seen_by_all_that_wait() {
    check_waiting(
        "one is approved, then its tool is forbidden",
        rules(),
        vec![
            decided([answer(0, ALLOW)]),
            kept(0),
            Event::Resolved(Resolution::Reconsider),
            ruled_out(0),
            allowed(1),
            allowed(2),
            finished(1, Ok("B")),
            finished(2, Ok("C")),
        ],
        &[
            "Keep(0, yes)",
            "Wait",
            "Prepare(0)",
            "Prepare(1)",
            "Prepare(2)",
            "Run(1)",
            "Run(2)",
            "Compose",
        ],
        &[&format!("a: {DENIED}"), "b: B", "c: C"],
    );
}

#[test]
fn leaving_the_question_cancels_the_turn() {
    check_waiting(
        "stop",
        rules(),
        vec![
            decided([answer(0, ALLOW)]),
            kept(0),
            Event::Resolved(Resolution::Stop),
        ],
        &["Keep(0, yes)", "Wait", "End(Interrupted)"],
        &[
            "a: cancelled by user",
            "b: cancelled by user",
            "c: cancelled by user",
        ],
    );
}

#[test]
fn calls_by_hand_end_with_themselves() {
    let mut conversation = Conversation::new();
    let calls = vec![proposed("a", "a"), proposed("b", "b")];
    let (mut turn, begun) = Turn::by_hand(&mut conversation, calls, rules());
    let mut seen = names(&begun);
    for event in [
        allowed(0),
        allowed(1),
        finished(0, Ok("A")),
        finished(1, Ok("B")),
    ] {
        seen.extend(names(&turn.handle(event)));
    }
    assert_eq!(
        seen,
        [
            "Prepare(0)",
            "Prepare(1)",
            "Run(0)",
            "Run(1)",
            "End(Answered)"
        ]
    );
    assert_eq!(turn.records()[1].result.as_deref(), Some("B"));
}
