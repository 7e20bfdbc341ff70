//! What the machine makes of odd replies.

use super::tests::{reply, rules, undecided};
use super::*;

fn proposed(id: &str, path: &str) -> ProposedCall {
    super::tests::proposed(id, path)
}

#[test]
fn text_that_was_a_thought_is_kept_as_one() {
    let mut conversation = Conversation::new();
    let (mut turn, _) = Turn::begin(&mut conversation, "Go".to_owned(), rules());
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
    let (mut turn, _) = Turn::begin(&mut conversation, "Go".to_owned(), rules());
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
    let notices = |number: usize| {
        let entry = crate::approval::entry::Entry::of(turn.call(number).unwrap());
        entry.question.notices
    };
    assert_eq!(notices(0), ["The model wrote this call as text."]);
    assert_eq!(
        notices(1),
        ["The model wrote the arguments in broken JSON; this is how they were read."]
    );
    let records = turn.records();
    assert!(records[0].recovered && records[1].repaired);
}
