//! Calls that run side by side.

use super::tests::{
    ALLOW, answer, check, composed_with, decided, finished, kept, plan, rules, undecided,
};
use super::*;
use crate::turn::approve::{Choice, Resolution};
use dunlin_host::call::{Failure, Plan, PlanStatus};

/// The call is allowed, and may run in parallel.
fn parallel(number: usize) -> Event {
    let plan = Plan {
        runs_in_parallel: true,
        ..plan(PlanStatus::Allowed)
    };
    Event::Prepared(number, Ok(plan))
}

fn allowed(number: usize) -> Event {
    Event::Prepared(number, Ok(plan(PlanStatus::Allowed)))
}

/// What these events do to a reply with calls of these ids.
#[track_caller]
fn check_parallel(
    case: &str,
    ids: &[&str],
    events: Vec<Event>,
    effects: &[&str],
    results: &[&str],
) {
    let prepared: Vec<String> = (0..ids.len()).map(|it| format!("Prepare({it})")).collect();
    let prepared: Vec<&str> = prepared.iter().map(String::as_str).collect();
    let begun = [&["Compose", "Send"], prepared.as_slice()].concat();
    let calls: Vec<String> = ids.iter().map(|id| format!(" {id}:read_file")).collect();
    let said = format!("Assistant: {}", calls.concat());
    let mut all = composed_with(ids);
    all.extend(events);
    let effects = [begun.as_slice(), effects].concat();
    let left = [&[said.as_str()], results].concat();
    check(case, rules(), all, &effects, &left);
}

#[test]
fn they_start_together_and_end_in_any_order() {
    check_parallel(
        "three",
        &["a", "b", "c"],
        vec![
            parallel(0),
            parallel(1),
            parallel(2),
            finished(1, Ok("B")),
            finished(1, Ok("again")),
            finished(2, Ok("C")),
            finished(0, Ok("A")),
        ],
        &["Run(0)", "Run(1)", "Run(2)", "Compose"],
        &["a: A", "b: B", "c: C"],
    );
}

#[test]
fn no_more_than_four_run_at_once() {
    check_parallel(
        "six",
        &["a", "b", "c", "d", "e", "f"],
        vec![
            parallel(0),
            parallel(1),
            parallel(2),
            parallel(3),
            parallel(4),
            parallel(5),
            finished(2, Ok("C")),
            finished(4, Ok("E")),
            finished(0, Ok("A")),
            finished(5, Ok("F")),
            finished(3, Ok("D")),
            finished(1, Ok("B")),
        ],
        &[
            "Run(0)", "Run(1)", "Run(2)", "Run(3)", "Run(4)", "Run(5)", "Compose",
        ],
        &["a: A", "b: B", "c: C", "d: D", "e: E", "f: F"],
    );
}

#[test]
fn the_others_run_one_after_the_other_meanwhile() {
    check_parallel(
        "two and two",
        &["a", "b", "c", "d"],
        vec![
            allowed(0),
            parallel(1),
            allowed(2),
            parallel(3),
            finished(3, Ok("D")),
            finished(0, Ok("A")),
            finished(2, Ok("C")),
            finished(1, Ok("B")),
        ],
        &["Run(0)", "Run(1)", "Run(3)", "Run(2)", "Compose"],
        &["a: A", "b: B", "c: C", "d: D"],
    );
}

#[test]
fn nothing_starts_before_all_are_decided() {
    check_parallel(
        "one is asked about",
        &["a", "b"],
        vec![
            parallel(0),
            undecided(1),
            decided([answer(1, ALLOW)]),
            kept(1),
            finished(1, Ok("B")),
            finished(0, Ok("A")),
        ],
        &["Wait", "Keep(1, yes)", "Run(0)", "Run(1)", "Compose"],
        &["a: A", "b: B"],
    );
}

#[test]
fn those_that_run_now_hold_up_the_questions() {
    let run_now = |number| super::tests::choose(number, Choice::RunNow);
    check_parallel(
        "two run, and one is asked about",
        &["a", "b", "c"],
        vec![
            parallel(0),
            parallel(1),
            undecided(2),
            decided([run_now(0), run_now(1)]),
            finished(0, Ok("A")),
            Event::Resolved(Resolution::Run(None)),
            finished(1, Ok("B")),
            decided([answer(2, ALLOW)]),
            kept(2),
            finished(2, Ok("C")),
        ],
        &[
            "Wait",
            "Run(0)",
            "Run(1)",
            "Wait",
            "Keep(2, yes)",
            "Run(2)",
            "Compose",
        ],
        &["a: A", "b: B", "c: C"],
    );
}

#[test]
fn a_failure_of_one_leaves_the_others_alone() {
    let failure = Failure::Host("no".to_owned());
    check_parallel(
        "it failed",
        &["a", "b"],
        vec![
            parallel(0),
            parallel(1),
            finished(0, Err(failure)),
            finished(1, Ok("B")),
        ],
        &["Run(0)", "Run(1)", "Compose"],
        &["a: ERROR: no", "b: B"],
    );
    let question = "Read '/etc/passwd'?".to_owned();
    check_parallel(
        "a no while it ran: the rest of the reply is not begun",
        &["a", "b", "c"],
        vec![
            allowed(0),
            parallel(1),
            allowed(2),
            finished(
                0,
                Err(Failure::Denied {
                    question,
                    by_user: true,
                }),
            ),
            finished(1, Ok("B")),
        ],
        &["Run(0)", "Run(1)", "End(Denied)"],
        &[
            "a: ERROR: Permission denied: Read '/etc/passwd'?",
            "b: B",
            "c: not run: call 1 was denied",
        ],
    );
}

#[test]
fn an_interruption_ends_all_of_them() {
    check_parallel(
        "one had ended",
        &["a", "b", "c"],
        vec![
            parallel(0),
            parallel(1),
            parallel(2),
            finished(1, Ok("B")),
            Event::Interrupted,
            finished(0, Ok("late")),
        ],
        &["Run(0)", "Run(1)", "Run(2)", "End(Interrupted)"],
        &["a: cancelled by user", "b: B", "c: cancelled by user"],
    );
}
