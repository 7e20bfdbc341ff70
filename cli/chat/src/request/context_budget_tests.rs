use super::*;
use crate::media::Media;
use crate::media::samples::document;
use crate::message::Conversation;
use crate::provider::plain::Plain;
use crate::provider::{Window, WindowSource};

fn said(turns: usize) -> Conversation {
    let mut conversation = Conversation::new();
    for _ in 0..turns {
        conversation.push_user("word ".repeat(90));
        conversation.push_assistant(Message::text(Role::Assistant, "word ".repeat(90)));
    }
    conversation
}

fn limits(max_tokens: u64, window: Option<u64>) -> HistoryLimits {
    HistoryLimits {
        max_tokens,
        window: window.map(|tokens| Window {
            tokens,
            source: WindowSource::Server,
        }),
        ..HistoryLimits::default()
    }
}

fn fit(
    context_budget: &mut ContextBudget,
    conversation: &Conversation,
    limits: &HistoryLimits,
) -> Result<(usize, String), String> {
    let agent = Agent::sample();
    let fitted = context_budget.fit(conversation.messages(), occasion(&agent, *limits));
    fitted
        .map(|fitted| (fitted.messages.len(), fitted.notice.unwrap_or_default()))
        .map_err(|error| error.to_string())
}

fn occasion(agent: &Agent, limits: HistoryLimits) -> Occasion<'_> {
    Occasion {
        agent,
        tools: &[],
        dialect: &Plain,
        limits,
    }
}

fn usage(input_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        ..Usage::default()
    }
}

#[test]
fn a_change_is_said_once_and_old_turns_go_in_strides() {
    // A turn comes to 212 tokens, so nine fit into 2,000; the first message stays.
    let limits = limits(2000, None);
    let mut context_budget = ContextBudget::new();
    let mut seen = Vec::new();
    for turns in 1..20 {
        let (sent, notice) = fit(&mut context_budget, &said(turns), &limits).unwrap();
        seen.push(sent);
        if !notice.is_empty() {
            seen.push(0);
            let left_out = context_budget
                .truncation()
                .turns_left_out(said(turns).messages());
            assert_eq!(
                notice,
                format!("· {left_out} turns are not sent (max_history_tokens is 2,000)")
            );
        }
    }
    assert_eq!(
        seen,
        [
            2, 4, 6, 8, 10, 12, 14, 16, 18, 13, 0, 15, 17, 13, 0, 15, 17, 13, 0, 15, 17, 13, 0
        ]
    );
}

#[test]
fn the_window_leaves_room_for_the_reply() {
    // 2,400 tokens, a quarter of them for the reply.
    let mut context_budget = ContextBudget::new();
    let (sent, _) = fit(&mut context_budget, &said(8), &limits(100_000, Some(2400))).unwrap();
    assert_eq!(sent, 16);
    let (sent, notice) = fit(&mut context_budget, &said(9), &limits(100_000, Some(2400))).unwrap();
    assert_eq!(
        (sent, notice.as_str()),
        (
            11,
            "· 4 turns are not sent (the model's window has 2,400 tokens)"
        )
    );
}

#[test]
fn the_providers_count_wins() {
    let limits = limits(2000, None);
    let check = |counted: u64, turns: usize, sent: usize| {
        let mut context_budget = ContextBudget::new();
        fit(&mut context_budget, &said(2), &limits).unwrap();
        context_budget.measured(usage(counted));
        assert_eq!(
            fit(&mut context_budget, &said(turns), &limits).unwrap().0,
            sent,
            "{counted}"
        );
    };
    check(424, 9, 18);
    // Twice as many tokens as we count: half as much fits.
    check(848, 4, 8);
    check(848, 5, 5);
    check(300, 12, 24);
    // No counts, or none of what was sent.
    check(0, 9, 18);
    check(20, 9, 18);
    check(100_000, 9, 18);
}

#[test]
fn better_counts_move_nothing_that_was_sent() {
    let limits = limits(2000, None);
    let mut context_budget = ContextBudget::new();
    fit(&mut context_budget, &said(10), &limits).unwrap();
    let before = context_budget.truncation().clone();
    context_budget.measured(usage(1000));
    fit(&mut context_budget, &said(10), &limits).unwrap();
    assert_eq!(context_budget.truncation(), &before);
}

#[test]
fn what_cannot_fit_says_what_it_takes_and_the_way_out() {
    let mut conversation = said(2);
    conversation.push_user("word ".repeat(3000));
    let mut context_budget = ContextBudget::new();
    assert_eq!(
        fit(&mut context_budget, &conversation, &limits(2000, None)).unwrap_err(),
        "the last turn alone comes to about 3,540 tokens, and max_history_tokens is 2,000"
    );
    assert_eq!(
        fit(
            &mut context_budget,
            &conversation,
            &limits(9000, Some(2000))
        )
        .unwrap_err(),
        "the last turn alone comes to about 3,540 tokens, and the model's window has 2,000 tokens"
    );
    let full = TooLong {
        tokens: 6,
        lines: 1,
        fixed: 1785,
        limit: Limit::Tokens(1500),
    };
    assert_eq!(
        full.to_string(),
        "the system prompt and the tools alone come to about 1,785 tokens, and max_history_tokens is 1,500"
    );
    assert!(
        full.hint_of_one()
            .starts_with("give the agent a shorter system_prompt, shorter")
    );
    // Nothing of it sticks: where the next message is short, all goes on.
    conversation.push_user("never mind");
    assert!(fit(&mut context_budget, &conversation, &limits(2000, None)).is_ok());
}

#[test]
fn a_conversation_that_was_cut_back_is_counted_anew() {
    let limits = limits(2000, None);
    let mut context_budget = ContextBudget::new();
    fit(&mut context_budget, &said(12), &limits).unwrap();
    assert!(!context_budget.truncation().is_empty());
    assert_eq!(fit(&mut context_budget, &said(2), &limits).unwrap().0, 4);
    assert!(context_budget.truncation().is_empty());
    context_budget.clear();
    assert_eq!(fit(&mut context_budget, &said(1), &limits).unwrap().0, 2);
}

#[test]
fn a_refusal_teaches_the_window() {
    let limits = limits(100_000, None);
    let check = |needed: Option<u64>, window: Option<u64>, expected: &str| {
        let mut context_budget = ContextBudget::new();
        fit(&mut context_budget, &said(20), &limits).unwrap();
        context_budget.overflowed(needed, window);
        let (_, notice) = fit(&mut context_budget, &said(20), &limits).unwrap();
        let limit = notice
            .split_once('(')
            .map(|(_, limit)| limit.trim_end_matches(')'));
        assert_eq!(limit, Some(expected), "{needed:?} {window:?}");
        // And it stays.
        let (sent, _) = fit(&mut context_budget, &said(40), &limits).unwrap();
        assert!(sent < 40, "{sent}");
    };
    // 20 turns come to 4,240 tokens here.
    check(
        Some(4500),
        Some(4096),
        "the model's window has 4,096 tokens",
    );
    check(None, Some(2048), "the model's window has 2,048 tokens");
    // It counts otherwise, and does not say how.
    check(None, Some(8000), "the model's window has 8,000 tokens");
    check(None, None, "the server has refused more than 2,120 tokens");
}

#[test]
fn compacting_is_off_unless_it_is_wanted() {
    let agent = Agent::sample();
    let mut context_budget = ContextBudget::new();
    let mut compacting = |turns: usize, compact_at: Option<u64>| {
        let limits = HistoryLimits {
            compact_at,
            ..limits(2000, None)
        };
        let conversation = said(turns);
        let compacting =
            context_budget.compacting(conversation.messages(), occasion(&agent, limits), false);
        compacting.map(|compacting| compacting.through)
    };
    for turns in 1..20 {
        assert_eq!(compacting(turns, None), None);
    }
    // A turn comes to 212 tokens; a third of the room is three of them.
    assert_eq!(compacting(7, Some(800)), None);
    assert_eq!(compacting(8, Some(800)), Some(10));
    assert_eq!(compacting(8, Some(900)), None);
}

#[test]
fn a_summary_makes_room() {
    let agent = Agent::sample();
    let limits = HistoryLimits {
        compact_at: Some(800),
        ..limits(2000, None)
    };
    let conversation = said(8);
    let messages = conversation.messages();
    let mut context_budget = ContextBudget::new();
    let compacting = context_budget
        .compacting(messages, occasion(&agent, limits), false)
        .unwrap();
    assert_eq!((compacting.through, compacting.count), (10, 10));
    let said_of_it = context_budget.compacted(Compacted {
        through: compacting.through,
        summary: "Words were said.".to_owned(),
    });
    assert_eq!(
        said_of_it,
        "· 10 messages are compacted into 3 words for the model"
    );
    assert!(
        context_budget
            .compacting(messages, occasion(&agent, limits), false)
            .is_none()
    );
    let fitted = context_budget
        .fit(messages, occasion(&agent, limits))
        .unwrap();
    assert_eq!((fitted.messages.len(), fitted.notice), (6, None));
    assert!(fitted.messages[0].content.contains("Words were said."));
    assert_eq!(
        context_budget.summary().map(|compacted| compacted.through),
        Some(10)
    );
}

#[test]
fn what_failed_is_not_tried_again_in_the_same_turn() {
    let agent = Agent::sample();
    let limits = HistoryLimits {
        compact_at: Some(800),
        ..limits(2000, None)
    };
    let mut conversation = said(8);
    let mut context_budget = ContextBudget::new();
    assert!(
        context_budget
            .compacting(conversation.messages(), occasion(&agent, limits), false)
            .is_some()
    );
    context_budget.not_compacted(conversation.messages());
    assert!(
        context_budget
            .compacting(conversation.messages(), occasion(&agent, limits), false)
            .is_none()
    );
    conversation.push_user("next");
    assert!(
        context_budget
            .compacting(conversation.messages(), occasion(&agent, limits), false)
            .is_some()
    );
}

#[test]
fn by_hand_all_but_the_last_turn_is_compacted() {
    let agent = Agent::sample();
    let check = |turns: usize, expected: Option<usize>| {
        let conversation = said(turns);
        let limits = HistoryLimits::default();
        let compacting = ContextBudget::new().compacting(
            conversation.messages(),
            occasion(&agent, limits),
            true,
        );
        assert_eq!(
            compacting.map(|compacting| compacting.through),
            expected,
            "{turns}"
        );
    };
    check(0, None);
    check(1, Some(2));
    check(2, Some(2));
    check(5, Some(8));
}

#[test]
fn a_stored_summary_is_taken_over_where_it_fits() {
    let check = |through: usize, expected: Option<usize>| {
        let mut context_budget = ContextBudget::new();
        let compacted = Compacted {
            through,
            summary: "Words.".to_owned(),
        };
        context_budget.restore(compacted, said(3).messages());
        assert_eq!(
            context_budget.summary().map(|compacted| compacted.through),
            expected,
            "{through}"
        );
    };
    check(2, Some(2));
    check(6, Some(6));
    check(3, None);
    check(7, None);
}

#[test]
fn what_is_taken_back_takes_its_cuts_along() {
    let limits = limits(2000, None);
    let mut context_budget = ContextBudget::new();
    let conversation = said(12);
    fit(&mut context_budget, &conversation, &limits).unwrap();
    let truncation = context_budget.truncation().clone();
    // The last turn is taken back, and said otherwise: what was left out before it stays left out.
    context_budget.truncate(22);
    let mut again = Conversation::from_messages(conversation.messages()[..22].to_vec());
    again.push_user("otherwise");
    fit(&mut context_budget, &again, &limits).unwrap();
    assert_eq!(context_budget.truncation(), &truncation);
    context_budget.truncate(2);
    assert!(context_budget.truncation().is_empty());
}

#[test]
fn messages_are_told_apart_by_what_stands_beside_their_text() {
    let with = |media: &[Media]| Message {
        media: media.to_vec(),
        ..Message::text(Role::User, "Look")
    };
    let (one, two) = (document("", 1), document("", 2));
    assert_eq!(
        mark(&with(std::slice::from_ref(&one))),
        mark(&with(std::slice::from_ref(&one)))
    );
    assert_ne!(mark(&with(std::slice::from_ref(&one))), mark(&with(&[two])));
    assert_ne!(mark(&with(&[one])), mark(&with(&[])));
}
