use std::collections::HashSet;
use std::time::Duration;

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::call::{Failure, Outcome, Plan, PlanStatus, Success};
use dunlin_host::target::{Need, Operation, Target};
use serde_json::json;

use super::calls::CUT_OFF;
use super::*;
use crate::provider::BadArguments;
use crate::provider::error::ProviderError;
use crate::turn::approve::{Choice, Decision, Resolution};
use crate::turn::event::OnDenial;

pub(super) const ALLOW: Answer = Answer {
    allow: true,
    scope: Scope::Once,
};

pub(super) fn proposed(id: &str, path: &str) -> ProposedCall {
    let arguments = json!({"path": path})
        .as_object()
        .cloned()
        .unwrap_or_default();
    ProposedCall::new(id, "read_file", arguments)
}

pub(super) fn reply(calls: Vec<ProposedCall>) -> Event {
    Event::ReplyEnded(ReplyEnd {
        calls,
        finish: Finish::Complete,
        replay: None,
    })
}

pub(super) fn need() -> Need {
    Need {
        target: Target::Path("/p/a".into()),
        operation: Operation::Read,
    }
}

pub(super) fn plan(status: PlanStatus) -> Plan {
    Plan {
        question: "Read file 'a'?".to_owned(),
        needs: vec![need()],
        actions: Vec::new(),
        status,
        runs_in_parallel: false,
    }
}

pub(super) fn allowed(number: usize) -> Event {
    Event::Prepared(number, Ok(plan(PlanStatus::Allowed)))
}

pub(super) fn undecided(number: usize) -> Event {
    Event::Prepared(
        number,
        Ok(plan(PlanStatus::Ask {
            needs: vec![need()],
            notices: Vec::new(),
            lasting: vec![need()],
            longest: dunlin_host::ask::Scope::Always,
        })),
    )
}

pub(super) fn ruled_out(number: usize) -> Event {
    Event::Prepared(
        number,
        Ok(plan(PlanStatus::Denied {
            need: Some(need()),
            rule: "/p/ is ---".to_owned(),
            revert: None,
        })),
    )
}

pub(super) fn hook_denies() -> Failure {
    Failure::Hook {
        hook: "guard".to_owned(),
        reason: "not this".to_owned(),
    }
}

/// As in plan mode.
pub(super) fn ruled_out_by_mode(number: usize) -> Event {
    Event::Prepared(
        number,
        Ok(plan(PlanStatus::Denied {
            need: Some(need()),
            rule: "mode plan".to_owned(),
            revert: Some(dunlin_host::permission::Revert::SessionMode),
        })),
    )
}

/// The same answer, for the session.
pub(super) fn for_session(answer: Answer) -> Answer {
    Answer {
        scope: Scope::Session,
        ..answer
    }
}

/// A decision about a call in the form that it has after it was prepared once.
pub(super) fn choose(number: usize, choice: Choice) -> Decision {
    Decision {
        number,
        revision: 1,
        choice,
        comment: None,
    }
}

pub(super) fn answer(number: usize, answer: Answer) -> Decision {
    choose(number, Choice::Answer(answer))
}

pub(super) fn because(comment: &str, decision: Decision) -> Decision {
    Decision {
        comment: Some(comment.to_owned()),
        ..decision
    }
}

pub(super) fn decided(decisions: impl IntoIterator<Item = Decision>) -> Event {
    Event::Resolved(Resolution::Decided(decisions.into_iter().collect()))
}

pub(super) fn kept(number: usize) -> Event {
    Event::Kept(number, Ok(()))
}

pub(super) fn composed_with(ids: &[&str]) -> Vec<Event> {
    let calls = ids.iter().map(|id| proposed(id, id)).collect();
    vec![Event::Composed, reply(calls)]
}

pub(super) fn finished(number: usize, result: Result<&str, Failure>) -> Event {
    let result = result.map(|text| Success {
        text: text.to_owned(),
        blobs: Vec::new(),
        structured: None,
        note: None,
        has_failed: false,
    });
    Event::Finished(
        number,
        Outcome {
            result,
            duration: Duration::from_millis(3),
            edits: Vec::new(),
            said: String::new(),
        },
    )
}

pub(super) fn error() -> ProviderError {
    ProviderError::Key {
        key: "main".to_owned(),
    }
}

/// Effects in short; what is shown is left out.
pub(super) fn names(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Show(_) => None,
            Effect::Keep(number, answer) => {
                let word = if answer.allow { "yes" } else { "no" };
                Some(format!("Keep({number}, {word})"))
            }
            Effect::End(TurnEnd::Failed(_)) => Some("End(Failed)".to_owned()),
            effect => Some(format!("{effect:?}")),
        })
        .collect()
}

/// Messages in short.
pub(super) fn messages(conversation: &Conversation) -> Vec<String> {
    let line = |message: &Message| {
        let partial = if message.partial { " (partial)" } else { "" };
        let calls: Vec<String> = message
            .tool_calls
            .iter()
            .map(|call| format!(" {}:{}", call.id, call.name))
            .collect();
        match &message.tool_call_id {
            Some(id) => format!("{id}: {}", message.content),
            None => format!(
                "{:?}: {}{}{partial}",
                message.role,
                message.content,
                calls.concat()
            ),
        }
    };
    conversation.messages().iter().map(line).collect()
}

/// The events, in order, have these effects and leave this conversation; the user has said "Go".
#[track_caller]
pub(super) fn check(
    case: &str,
    rules: TurnRules,
    events: Vec<Event>,
    effects: &[&str],
    left: &[&str],
) {
    let mut conversation = Conversation::new();
    let (mut turn, begun) = Turn::begin(&mut conversation, "Go".into(), rules);
    let mut seen = names(&begun);
    for event in events {
        seen.extend(names(&turn.handle(event)));
    }
    assert_eq!(seen, effects, "{case}");
    drop(turn);
    assert_eq!(
        messages(&conversation),
        [&["User: Go"], left].concat(),
        "{case}"
    );
    assert_legal(&conversation);
}

/// Every call has one result, in the messages right after it, and nobody says nothing.
pub(super) fn assert_legal(conversation: &Conversation) {
    let mut open: HashSet<&str> = HashSet::new();
    let mut ids: HashSet<&str> = HashSet::new();
    for message in conversation.messages() {
        if let Some(id) = &message.tool_call_id {
            assert!(open.remove(id.as_str()), "a result without its call: {id}");
            continue;
        }
        assert!(open.is_empty(), "calls without a result: {open:?}");
        for call in &message.tool_calls {
            assert!(ids.insert(&call.id), "an id twice: {}", call.id);
            open.insert(&call.id);
        }
        let says = !message.content.trim().is_empty() || !message.tool_calls.is_empty();
        assert!(says || message.role != Role::Assistant, "an empty message");
    }
    assert!(
        open.is_empty(),
        "calls without a result at the end: {open:?}"
    );
}

pub(super) fn rules() -> TurnRules {
    TurnRules::default()
}

pub(super) fn going_on() -> TurnRules {
    TurnRules {
        on_denial: OnDenial::Continue,
        ..rules()
    }
}

#[test]
fn an_answer_without_calls() {
    check(
        "answered",
        rules(),
        vec![
            Event::Composed,
            Event::Text("He".to_owned()),
            Event::Text("llo".to_owned()),
            reply(vec![]),
        ],
        &["Compose", "Send", "End(Answered)"],
        &["Assistant: Hello"],
    );
    check(
        "cut off",
        rules(),
        vec![
            Event::Composed,
            Event::Text("Hel".to_owned()),
            Event::ReplyEnded(ReplyEnd {
                calls: vec![],
                finish: Finish::Cut,
                replay: None,
            }),
        ],
        &["Compose", "Send", "End(CutOff)"],
        &["Assistant: Hel (partial)"],
    );
    check(
        "nothing said",
        rules(),
        vec![Event::Composed, reply(vec![])],
        &["Compose", "Send", "End(Answered)"],
        &[],
    );
    check(
        "failed",
        rules(),
        vec![
            Event::Composed,
            Event::Text("Hel".to_owned()),
            Event::StreamFailed(error()),
            Event::Composed,
        ],
        &["Compose", "Send", "End(Failed)"],
        &["Assistant: Hel (partial)"],
    );
}

#[test]
fn calls_are_prepared_decided_and_run_in_order() {
    check(
        "one allowed, one asked about, one that fails",
        rules(),
        vec![
            Event::Composed,
            Event::Text("Let me see".to_owned()),
            reply(vec![
                proposed("a", "a"),
                proposed("b", "b"),
                proposed("c", "c"),
            ]),
            allowed(0),
            undecided(1),
            Event::Prepared(
                2,
                Err(Failure::UnknownTool {
                    name: "red_file".to_owned(),
                    near: vec!["read_file".to_owned()],
                }),
            ),
            decided([answer(1, ALLOW)]),
            kept(1),
            finished(0, Ok("A")),
            finished(
                1,
                Err(Failure::Tool {
                    tool: "read_file".to_owned(),
                    message: "no such file".to_owned(),
                }),
            ),
            Event::Composed,
            Event::Text("Done".to_owned()),
            reply(vec![]),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(1)",
            "Prepare(2)",
            "Wait",
            "Keep(1, yes)",
            "Run(0)",
            "Run(1)",
            "Compose",
            "Send",
            "End(Answered)",
        ],
        &[
            "Assistant: Let me see a:read_file b:read_file c:read_file",
            "a: A",
            "b: ERROR: no such file",
            "c: ERROR: there is no tool named \"red_file\"; similar: read_file",
            "Assistant: Done",
        ],
    );
}

#[test]
fn an_answer_that_cannot_be_kept_runs_nothing() {
    check(
        "the permission file is broken",
        rules(),
        vec![
            Event::Composed,
            reply(vec![proposed("a", "a")]),
            undecided(0),
            decided([answer(0, ALLOW)]),
            Event::Kept(
                0,
                Err(Failure::Host("the permission file is broken".to_owned())),
            ),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Wait",
            "Keep(0, yes)",
            "Compose",
        ],
        &[
            "Assistant:  a:read_file",
            "a: ERROR: the permission file is broken",
        ],
    );
}

#[test]
fn calls_that_cannot_be_run() {
    let garbage = ProposedCall {
        id: String::new(),
        tool: "functions.read file".to_owned(),
        arguments: Err(BadArguments {
            raw: "{'a'".to_owned(),
            problem: "not valid JSON".to_owned(),
        }),
        ..proposed("", "")
    };
    check(
        "unreadable arguments",
        rules(),
        vec![
            Event::Composed,
            reply(vec![
                garbage,
                proposed("call00001", "a"),
                proposed("call00001", "b"),
            ]),
            allowed(1),
            allowed(2),
        ],
        &["Compose", "Send", "Prepare(1)", "Prepare(2)", "Run(1)"],
        &[
            "Assistant:  call00001:functions_read_file call00002:read_file call00003:read_file",
            "call00001: ERROR: the arguments of functions.read file do not fit: not valid JSON",
            "call00002: cancelled by user",
            "call00003: cancelled by user",
        ],
    );
    check(
        "the reply was cut off",
        rules(),
        vec![
            Event::Composed,
            Event::ReplyEnded(ReplyEnd {
                calls: vec![proposed("a", "a")],
                finish: Finish::Cut,
                replay: None,
            }),
        ],
        &["Compose", "Send", "Compose"],
        &[
            "Assistant:  a:read_file (partial)",
            &format!("a: {CUT_OFF}"),
        ],
    );
}

#[test]
fn rounds_are_limited() {
    let once = || reply(vec![proposed("", "a")]);
    check(
        "two rounds",
        TurnRules {
            max_tool_rounds: 2,
            ..rules()
        },
        vec![
            Event::Composed,
            once(),
            allowed(0),
            finished(0, Ok("A")),
            Event::Composed,
            once(),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Run(0)",
            "Compose",
            "Send",
            "End(RoundLimit)",
        ],
        &[
            "Assistant:  call00001:read_file",
            "call00001: A",
            "Assistant:  call00002:read_file",
            "call00002: not run: the limit of 2 rounds per turn is reached",
        ],
    );
}

#[test]
fn reasoning_is_kept_under_its_name() {
    let mut conversation = Conversation::new();
    let (mut turn, _) = Turn::begin(&mut conversation, "Go".into(), rules());
    for event in [
        Event::Composed,
        Event::Reasoning("reasoning", "h".to_owned()),
        Event::Reasoning("reasoning", "m".to_owned()),
        Event::Text("Hi".to_owned()),
        reply(vec![]),
    ] {
        turn.handle(event);
    }
    drop(turn);
    let kept = Reasoning {
        field: "reasoning".to_owned(),
        text: "hm".to_owned(),
    };
    assert_eq!(conversation.messages()[1].reasoning, Some(kept));
}
