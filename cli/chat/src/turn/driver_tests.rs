use std::error::Error;

use async_trait::async_trait;
use serde_json::json;

use super::*;
use crate::message::{Message, Role};
use crate::turn::approve::Approver;
use crate::turn::event::OnDenial;
use crate::turn::scripted_tests::{Piece, World, end, text, usage};

/// Takes a turn that is interrupted when something hangs.
async fn turn(world: &World, on_denial: OnDenial) -> (TurnReport, Conversation) {
    let mut conversation = Conversation::new();
    let context = world.context(on_denial);
    let report = run_turn(
        &mut conversation,
        "Go".into(),
        &context,
        world.hanging.notified(),
    )
    .await;
    (report, conversation)
}

fn last(conversation: &Conversation) -> &Message {
    conversation.messages().last().unwrap()
}

#[tokio::test]
async fn a_whole_turn() {
    let scripts = vec![
        vec![
            text("Let me see"),
            usage(3),
            usage(5),
            end(&["a.txt", "outside"]),
        ],
        vec![text("Do"), text("ne"), usage(2), end(&[])],
    ];
    let world = World::new(scripts, Some(true));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    let expected = [
        "request with 1 messages",
        "text Let me see",
        "1 a.txt Proposed",
        "2 outside Proposed",
        "2 outside Asking",
        "ask Read file 'outside'? [\"outside the project\"]",
        "answer c1 true",
        "1 a.txt Running",
        "run c0 a.txt",
        "progress c0 half",
        "1 a.txt Completed",
        "2 outside Running",
        "run c1 outside",
        "progress c1 half",
        "2 outside Completed",
        "request with 4 messages",
        "text Do",
        "text ne",
    ];
    assert_eq!(world.log(), expected);
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(
        (
            report.reply.as_str(),
            report.rounds,
            report.charge.usage.output_tokens
        ),
        ("Done", 2, 7)
    );
    assert_eq!(
        serde_json::to_value(&report.calls[1]).unwrap(),
        json!({
            "id": "c1", "tool": "read_file", "arguments": {"path": "outside"}, "state": "completed",
            "result": "contents of outside", "duration_ms": 7.0,
        })
    );
}

#[tokio::test]
async fn denials_are_noted_and_reported() {
    let scripts = || {
        vec![
            vec![end(&["outside", "forbidden", "a.txt"])],
            vec![text("I see"), end(&[])],
        ]
    };
    let world = World::new(scripts(), Some(false));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::Denied), "{:?}", report.end);
    // What a rule refuses is known before anybody is asked.
    assert_eq!(report.denials.len(), 2);
    assert_eq!(report.denials[0].question, "Read file 'outside'?");
    assert!(report.denials[0].lacks_comment());
    assert!(!report.denials[1].lacks_comment());
    let log = world.log().join("\n");
    assert!(log.contains("answer c0 false\n1 outside Denied"), "{log}");
    assert!(
        log.ends_with("3 a.txt NotRun (not run: call 1 was denied)"),
        "{log}"
    );

    // After a rule the model continues.
    let by_rule = vec![
        vec![end(&["forbidden", "a.txt"])],
        vec![text("Then without"), end(&[])],
    ];
    let world = World::new(by_rule, Some(false));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(report.denials.len(), 1);
    let log = world.log().join("\n");
    assert!(log.contains("run c1 a.txt"), "{log}");

    let world = World::new(scripts(), Some(false));
    let (report, _) = turn(&world, OnDenial::Continue).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(report.denials[1].rule.as_deref(), Some("/ is ---"));
    let log = world.log().join("\n");
    assert!(log.contains("2 forbidden Denied (/ is ---)"), "{log}");
    assert!(log.contains("run c2 a.txt"), "{log}");
}

#[tokio::test]
async fn a_use_that_was_not_declared_is_asked_about_while_it_runs() {
    let scripts = || {
        vec![
            vec![end(&["surprise", "a.txt"])],
            vec![text("Fine"), end(&[])],
        ]
    };
    let world = World::new(scripts(), Some(true));
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert_eq!(report.reply, "Fine");
    let world = World::new(scripts(), Some(false));
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::Denied), "{:?}", report.end);
    assert_eq!(report.denials[0].question, "Read '/etc/passwd'?");
    // There a no takes no text.
    assert!(!report.denials[0].lacks_comment());
    assert_eq!(last(&conversation).content, "not run: call 1 was denied");
}

#[tokio::test]
async fn a_failure_keeps_what_came() {
    let world = World::new(vec![vec![text("Hel"), Piece::Fail]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    let TurnEnd::Failed(error) = &report.end else {
        panic!("{:?}", report.end)
    };
    assert_eq!(
        error.to_string(),
        "the reply of http://127.0.0.1/v1 ended in the middle"
    );
    assert!(error.source().is_none());
    assert!(last(&conversation).partial);
    assert_eq!(report.reply, "Hel");
}

#[tokio::test]
async fn a_stream_without_an_end_is_not_taken_for_whole() {
    let world = World::new(vec![vec![text("Hel")]], None);
    let (report, _) = turn(&world, OnDenial::Stop).await;
    assert!(matches!(report.end, TurnEnd::CutOff), "{:?}", report.end);
}

#[tokio::test]
async fn an_interruption_ends_the_turn_wherever_it_waits() {
    let world = World::new(vec![vec![text("Hel"), Piece::Hang]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(
        (report.reply.as_str(), last(&conversation).partial),
        ("Hel", true)
    );

    let world = World::new(vec![vec![end(&["outside"])]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(last(&conversation).content, "cancelled by user");

    let world = World::new(vec![vec![end(&["a.txt", "slow", "b.txt"])]], None);
    let (report, conversation) = turn(&world, OnDenial::Stop).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    let results: Vec<&str> = conversation.messages()[2..]
        .iter()
        .map(|result| result.content.as_str())
        .collect();
    assert_eq!(
        results,
        [
            "contents of a.txt",
            "cancelled by user",
            "cancelled by user"
        ]
    );
    let log = world.log();
    let cancelled: Vec<&String> = log
        .iter()
        .filter(|line| line.starts_with("cancelled"))
        .collect();
    assert_eq!(
        cancelled,
        ["cancelled c1"],
        "the host hears of the call that ran"
    );
}

/// Leaves the question.
struct Leaves;

#[async_trait(?Send)]
impl Approver for Leaves {
    async fn decide(&self, _waiting: Waiting<'_>) -> Resolution {
        Resolution::Stop
    }
}

#[tokio::test]
async fn leaving_the_question_denies_what_was_asked() {
    let world = World::new(vec![vec![end(&["a.txt", "outside"])]], None);
    let mut context = world.context(OnDenial::Stop);
    context.calls.approver = &Leaves;
    let mut conversation = Conversation::new();
    let go = "Go".into();
    let report = run_turn(&mut conversation, go, &context, std::future::pending()).await;
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(last(&conversation).content, "cancelled by user");
    let log = world.log().join("\n");
    assert!(
        log.contains("answer c1 false") && !log.contains("run "),
        "{log}"
    );
}

#[tokio::test]
async fn a_call_by_hand_takes_the_same_steps() {
    let world = World::new(Vec::new(), Some(true));
    let context = world.context(OnDenial::Stop);
    let Piece::Event(StreamEvent::End(reply)) = end(&["outside"]) else {
        unreachable!()
    };
    let report = run_calls(reply.calls, 0, &context.calls, std::future::pending()).await;
    assert!(matches!(report.end, TurnEnd::Answered), "{:?}", report.end);
    assert_eq!(
        report.calls[0].result.as_deref(),
        Some("contents of outside")
    );
    let log = world.log().join("\n");
    assert!(
        log.contains("ask Read file 'outside'?") && log.contains("answer c0 true\n"),
        "{log}"
    );
}

#[tokio::test]
async fn an_interruption_needs_one_poll() {
    let world = World::new(Vec::new(), None);
    let context = world.context(OnDenial::Stop);
    let mut conversation = Conversation::new();
    let turn = run_turn(
        &mut conversation,
        "Go".into(),
        &context,
        std::future::ready(()),
    );
    let report = futures::FutureExt::now_or_never(turn).expect("one poll is enough");
    assert!(
        matches!(report.end, TurnEnd::Interrupted),
        "{:?}",
        report.end
    );
    assert_eq!(last(&conversation).role, Role::User);
}

#[tokio::test]
async fn a_dropped_turn_leaves_a_legal_conversation() {
    let world = World::new(vec![vec![end(&["slow"])]], None);
    let context = world.context(OnDenial::Stop);
    let mut conversation = Conversation::new();
    tokio::select! {
        biased;
        report = run_turn(&mut conversation, "Go".into(), &context, std::future::pending()) => panic!("{report:?}"),
        () = world.hanging.notified() => {}
    }
    assert_eq!(last(&conversation).content, "cancelled by user");
    assert!(conversation.open_calls().is_empty());
    assert_eq!(world.log().last().map(String::as_str), Some("cancelled c0"));
}
