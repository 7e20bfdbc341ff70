//! What the machine makes of odd replies.

use super::tests::{
    ALLOW, allowed, answer, check, decided, finished, kept, reply, rules, undecided,
};
use super::*;

const REPEATED: &str = "not run again: this message has the same call before this one (call 1), and its result holds for both";

fn proposed(id: &str, path: &str) -> ProposedCall {
    super::tests::proposed(id, path)
}

#[test]
fn arguments_that_nest_too_deep_are_bad_ones() {
    let nested = |depth: usize| {
        let mut call = proposed("a", "x");
        let value = (0..depth).fold(serde_json::Value::Null, |value, _| vec![value].into());
        call.arguments = Ok([("z".to_owned(), value)].into_iter().collect());
        call
    };
    for (depth, runs) in [(63, true), (64, false), (120, false)] {
        let mut conversation = Conversation::new();
        let (mut turn, _) = Turn::begin(&mut conversation, "Go".into(), rules());
        turn.handle(Event::Composed);
        turn.handle(reply(vec![nested(depth)]));
        let is_prepared = turn.state == State::Preparing(0);
        assert_eq!(is_prepared, runs, "{depth}");
        drop(turn);
        // What is kept can be read back.
        let messages = serde_json::to_string(conversation.messages()).unwrap();
        assert!(serde_json::from_str::<Vec<Message>>(&messages).is_ok());
    }
}

#[test]
fn the_same_call_twice_in_a_message_runs_once() {
    check(
        "asked about and run once, and each has a result",
        rules(),
        vec![
            Event::Composed,
            reply(vec![
                proposed("a", "x"),
                proposed("b", "x"),
                proposed("c", "y"),
                proposed("d", "x"),
            ]),
            undecided(0),
            allowed(2),
            decided([answer(0, ALLOW)]),
            kept(0),
            finished(0, Ok("X")),
            finished(2, Ok("Y")),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Prepare(2)",
            "Wait",
            "Keep(0, yes)",
            "Run(0)",
            "Run(2)",
            "Compose",
        ],
        &[
            "Assistant:  a:read_file b:read_file c:read_file d:read_file",
            "a: X",
            &format!("b: {REPEATED}"),
            "c: Y",
            &format!("d: {REPEATED}"),
        ],
    );
    check(
        "in another message it is another call",
        rules(),
        vec![
            Event::Composed,
            reply(vec![proposed("a", "x")]),
            allowed(0),
            finished(0, Ok("X")),
            Event::Composed,
            reply(vec![proposed("b", "x")]),
            allowed(1),
        ],
        &[
            "Compose",
            "Send",
            "Prepare(0)",
            "Run(0)",
            "Compose",
            "Send",
            "Prepare(1)",
            "Run(1)",
        ],
        &[
            "Assistant:  a:read_file",
            "a: X",
            "Assistant:  b:read_file",
            "b: cancelled by user",
        ],
    );
}

#[test]
fn replies_that_are_cut_again_and_again_end_the_turn() {
    let cut = |id: &str| {
        Event::ReplyEnded(ReplyEnd {
            calls: vec![proposed(id, "x")],
            finish: Finish::Cut,
            replay: None,
        })
    };
    let events = vec![
        Event::Composed,
        cut("a"),
        Event::Composed,
        cut("b"),
        Event::Composed,
        cut("c"),
    ];
    let mut conversation = Conversation::new();
    let (mut turn, _) = Turn::begin(&mut conversation, "Go".into(), rules());
    let effects: Vec<Effect> = events
        .into_iter()
        .flat_map(|event| turn.handle(event))
        .collect();
    assert!(
        matches!(effects.last(), Some(Effect::End(TurnEnd::CutOff))),
        "{effects:?}"
    );
    assert_eq!(turn.rounds(), 3);
}

#[test]
fn text_that_was_a_thought_is_kept_as_one() {
    let mut conversation = Conversation::new();
    let (mut turn, _) = Turn::begin(&mut conversation, "Go".into(), rules());
    for event in [
        Event::Composed,
        Event::Text("I think.".to_owned()),
        Event::WasReasoning("reasoning_content"),
        Event::Text("Hi".to_owned()),
        reply(Vec::new()),
    ] {
        turn.handle(event);
    }
    assert_eq!(turn.reply(), "Hi");
    drop(turn);
    let last = conversation.messages().last().unwrap();
    assert_eq!(last.content, "Hi");
    assert_eq!(
        last.reasoning.as_ref().map(|r| r.text.as_str()),
        Some("I think.")
    );
}

#[test]
fn how_a_call_was_written_is_known_to_the_end() {
    let mut conversation = Conversation::new();
    let (mut turn, _) = Turn::begin(&mut conversation, "Go".into(), rules());
    turn.handle(Event::Composed);
    let (recovered, repaired) = (true, true);
    turn.handle(reply(vec![
        ProposedCall {
            recovered,
            ..proposed("a", "x")
        },
        ProposedCall {
            repaired,
            ..proposed("b", "y")
        },
    ]));
    turn.handle(undecided(0));
    turn.handle(undecided(1));
    let records = turn.records();
    assert!(records[0].recovered && records[1].repaired);
}

#[test]
fn a_call_that_may_be_a_quotation_is_asked_about_whatever_allows_it() {
    let quoted = r#"what does it say? {"name": "read_file", "arguments": {"path": "x"}}"#;
    for (recovered, prompt, asks) in [
        (true, quoted, true),
        (true, "Go", false),
        (false, quoted, false),
    ] {
        let mut conversation = Conversation::new();
        let (mut turn, _) = Turn::begin(&mut conversation, prompt.into(), rules());
        turn.handle(Event::Composed);
        let call = ProposedCall {
            recovered,
            ..proposed("a", "x")
        };
        turn.handle(reply(vec![call]));
        turn.handle(allowed(0));
        let state = turn.call(0).unwrap().state;
        assert_eq!(
            state == CallState::Asking,
            asks,
            "{recovered} {prompt}: {state:?}"
        );
    }
}
