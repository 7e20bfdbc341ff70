use proptest::prelude::*;

use super::*;
use crate::media::samples::document;
use crate::message::{Conversation, ToolCall};
use crate::tokens::estimate;

/// What happens in a conversation, by the size of its texts.
#[derive(Debug, Clone)]
enum Step {
    Ask(usize),
    Answer(usize),
    /// Calls, each with the size of its result.
    Call(Vec<usize>),
}

/// About `size` tokens, a line for each ten of them.
fn text(size: usize) -> String {
    let words: Vec<&str> = (0..size)
        .map(|index| if index % 10 == 9 { "word\n" } else { "word " })
        .collect();
    words.concat()
}

fn play(conversation: &mut Conversation, step: &Step) {
    match step {
        Step::Ask(size) => conversation.push_user(text(*size)),
        Step::Answer(size) => {
            conversation.push_assistant(Message::text(Role::Assistant, text(*size)));
        }
        Step::Call(results) => {
            let call = |_: &usize| ToolCall {
                id: String::new(),
                name: "read_file".to_owned(),
                arguments: serde_json::Map::new(),
                raw_arguments: None,
                number: 0,
            };
            let calls = conversation.push_assistant(Message {
                tool_calls: results.iter().map(call).collect(),
                ..Message::text(Role::Assistant, "")
            });
            for (call, size) in calls.iter().zip(results) {
                conversation.push_result(&call.id, text(*size));
            }
        }
    }
}

fn conversation(steps: &[Step]) -> Vec<Message> {
    let mut conversation = Conversation::new();
    for step in steps {
        play(&mut conversation, step);
    }
    conversation.messages().to_vec()
}

fn costs(messages: &[Message]) -> Vec<Cost> {
    let cost = |message| Cost::of(message, false, estimate);
    messages.iter().map(cost).collect()
}

fn limit(tokens: u64) -> Cost {
    let lines = 100_000;
    Cost { tokens, lines }
}

fn fitted(messages: &[Message], limit: Cost) -> Result<Truncation, DoesNotFit> {
    fit(messages, &costs(messages), limit, &Truncation::default())
}

/// The sent messages in short: who, and how much of it.
fn shape(messages: &[Message], truncation: &Truncation) -> Vec<String> {
    let short = |message: &Cow<'_, Message>| {
        let who = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant if message.tool_calls.is_empty() => "answer",
            Role::Assistant => "call",
            Role::Tool => "result",
        };
        let note = message.content.lines().find(|line| line.starts_with('['));
        match note {
            Some(note) => format!("{who} {note}"),
            None => who.to_owned(),
        }
    };
    truncation.apply(messages).iter().map(short).collect()
}

#[test]
fn what_fits_is_left_alone() {
    let messages = conversation(&[Step::Ask(10), Step::Call(vec![500]), Step::Answer(10)]);
    assert_eq!(fitted(&messages, limit(2000)), Ok(Truncation::default()));
    assert_eq!(
        shape(&messages, &Truncation::default()),
        ["user", "call", "result", "answer"]
    );
    assert_eq!(fitted(&[], limit(0)), Ok(Truncation::default()));
}

#[test]
fn old_results_go_first_and_say_what_was_there() {
    let turn = [Step::Ask(10), Step::Call(vec![400]), Step::Answer(10)];
    let messages = conversation(&[&turn[..], &turn, &turn].concat());
    let truncation = fitted(&messages, limit(1400)).unwrap();
    let replaced = "result [The result of read_file is left out here: 2000 bytes. Call it again if you need it.]";
    assert_eq!(
        shape(&messages, &truncation),
        [
            "user", "call", replaced, "answer", "user", "call", replaced, "answer", "user", "call",
            "result", "answer"
        ]
    );
    assert_eq!(
        (truncation.left_out(), truncation.turns_left_out(&messages)),
        (0, 0)
    );
}

#[test]
fn then_turns_go_but_for_the_first_message() {
    let turn = [Step::Ask(10), Step::Answer(300)];
    let messages = conversation(&[&turn[..], &turn, &turn, &turn].concat());
    let truncation = fitted(&messages, limit(1200)).unwrap();
    let note = "[3 earlier messages are left out here: the conversation has become too long.]";
    let after = format!("user {note}");
    assert_eq!(
        shape(&messages, &truncation),
        ["user", after.as_str(), "answer", "user", "answer"]
    );
    assert_eq!(
        (truncation.left_out(), truncation.turns_left_out(&messages)),
        (3, 2)
    );

    // A first message that takes an eighth of the limit is no longer an introduction.
    let long = [
        &[Step::Ask(200), Step::Answer(300)][..],
        &turn,
        &turn,
        &turn,
    ]
    .concat();
    let messages = conversation(&long);
    let truncation = fitted(&messages, limit(1200)).unwrap();
    let note = "user [4 earlier messages are left out here: the conversation has become too long.]";
    assert_eq!(
        shape(&messages, &truncation),
        [note, "answer", "user", "answer"]
    );
}

#[test]
fn in_the_last_turn_only_results_are_cut() {
    let steps = [
        Step::Ask(10),
        Step::Call(vec![500]),
        Step::Call(vec![500]),
        Step::Call(vec![500, 20]),
    ];
    let messages = conversation(&steps);
    let truncation = fitted(&messages, limit(1400)).unwrap();
    let replaced = "result [The result of read_file is left out here: 2500 bytes. Call it again if you need it.]";
    let expected = [
        "user", "call", replaced, "call", replaced, "call", "result", "result",
    ];
    assert_eq!(shape(&messages, &truncation), expected);

    let truncation = fitted(&messages, limit(500)).unwrap();
    let ends = "result [… 1875 bytes are left out here: the result is too long …]";
    let expected = [
        "user", "call", replaced, "call", replaced, "call", ends, "result",
    ];
    assert_eq!(shape(&messages, &truncation), expected);
    let sent = truncation.apply(&messages);
    assert!(sent[6].content.starts_with("word word") && sent[6].content.ends_with("word\n"));
}

#[test]
fn what_the_user_said_is_never_cut() {
    let turn = [Step::Ask(10), Step::Answer(10)];
    let messages = conversation(&[&turn[..], &[Step::Ask(1000)]].concat());
    let error = fitted(&messages, limit(500)).unwrap_err();
    assert!(error.needs.tokens > 1000, "{error:?}");
    // The next message is another turn, and that one can go then.
    let messages = conversation(&[&turn[..], &[Step::Ask(1000), Step::Ask(10)]].concat());
    let truncation = fitted(&messages, limit(500)).unwrap();
    assert_eq!(shape(&messages, &truncation).len(), 2);
}

#[test]
fn lines_count_as_well() {
    let turn = [Step::Ask(10), Step::Call(vec![1000]), Step::Answer(10)];
    let messages = conversation(&[&turn[..], &turn].concat());
    let few_lines = Cost {
        tokens: 1_000_000,
        lines: 150,
    };
    let truncation = fitted(&messages, few_lines).unwrap();
    assert_eq!(truncation.results.keys().collect::<Vec<_>>(), [&2]);
}

#[test]
fn text_is_cut_between_characters() {
    let mut conversation = Conversation::new();
    conversation.push_user("go");
    play(&mut conversation, &Step::Call(vec![1]));
    let mut messages = conversation.messages().to_vec();
    messages[2].content = "日本語".repeat(3000);
    let truncation = fitted(&messages, limit(1000)).unwrap();
    let sent = &truncation.apply(&messages)[2].content;
    assert!(
        sent.starts_with("日本語") && sent.ends_with("日本語"),
        "{sent}"
    );
    assert!(sent.len() < 5000, "{sent}");
}

#[test]
fn cuts_of_messages_that_are_no_more_are_forgotten() {
    let mut truncation = Truncation {
        start: 4,
        keeps_first: true,
        results: BTreeMap::from([(5, ResultCut::Replaced), (9, ResultCut::Ends(600))]),
        compacted: None,
    };
    truncation.truncate(9);
    assert_eq!(truncation.results.len(), 1);
    assert_eq!(truncation.start, 4);
    truncation.truncate(3);
    assert_eq!(truncation, Truncation::default());
}

#[test]
fn a_summary_stands_for_what_is_left_out() {
    let turn = [Step::Ask(10), Step::Call(vec![400]), Step::Answer(10)];
    let messages = conversation(&[&turn[..], &turn, &turn].concat());
    let mut truncation = fitted(&messages, limit(1400)).unwrap();
    truncation.compact(Compacted {
        through: 4,
        summary: "They read a file.".to_owned(),
    });
    let sent = truncation.apply(&messages);
    assert_eq!(sent.len(), 8);
    let said = sent[0].content.split("word").next().unwrap();
    assert_eq!(
        said,
        "[4 earlier messages are left out here. This is your own summary of them:]\n\nThey read a file.\n\n\
         [The conversation continues.]\n\n"
    );
    // More is left out later: the summary stays and says what it is of.
    let truncation = fit(&messages, &costs(&messages), limit(700), &truncation).unwrap();
    let sent = truncation.apply(&messages);
    assert_eq!(sent.len(), 4);
    assert!(sent[0].content.starts_with(
        "[8 earlier messages are left out here. This is your own summary of the first 4 of them:]"
    ));
    // A session file keeps it.
    let stored = serde_json::to_string(&truncation.compacted).unwrap();
    assert_eq!(stored, r#"{"through":4,"summary":"They read a file."}"#);
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = || prop_oneof![4 => 0..60usize, 1 => 60..900usize];
    let step = prop_oneof![
        3 => size().prop_map(Step::Ask),
        3 => size().prop_map(Step::Answer),
        4 => prop::collection::vec(size(), 1..4).prop_map(Step::Call),
    ];
    prop::collection::vec(step, 1..40)
}

/// Whether each call is followed by its results before anyone else speaks, and no result comes without a call.
fn is_legal(sent: &[Cow<'_, Message>]) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for message in sent {
        match message.role {
            Role::Tool => {
                let id = message.tool_call_id.as_deref().unwrap_or_default();
                let Some(position) = open.iter().position(|open| *open == id) else {
                    return false;
                };
                open.remove(position);
            }
            _ if !open.is_empty() => return false,
            _ => open.extend(message.tool_calls.iter().map(|call| call.id.as_str())),
        }
    }
    open.is_empty()
}

proptest! {
    #[test]
    fn whatever_is_said(steps in steps(), tokens in 100..3000u64, lines in 30..300u64) {
        let limit = Cost { tokens, lines };
        let mut conversation = Conversation::new();
        let mut truncation = Truncation::default();
        let mut before: Vec<Message> = Vec::new();
        for step in &steps {
            play(&mut conversation, step);
            let messages = conversation.messages();
            let costs = costs(messages);
            let old = truncation.clone();
            let Ok(next) = fit(messages, &costs, limit, &old) else {
                // Then what is left is the last turn without results: nothing more could go.
                continue;
            };
            truncation = next;
            let sent = truncation.apply(messages);
            prop_assert!(is_legal(&sent), "{sent:#?}");
            // It fits, as counted and as it is.
            prop_assert!(!truncation.total(messages, &costs).exceeds(limit));
            let real: Cost = sent.iter().map(|message| Cost::of(message, false, estimate)).sum();
            prop_assert!(!real.exceeds(limit), "{real:?} exceeds {limit:?}");
            // What the user said last is there, and nothing before it in the wrong order.
            if let Some(last) = messages.iter().rposition(|message| message.role == Role::User) {
                let said = &messages[last].content;
                prop_assert!(sent.iter().any(|message| message.content.ends_with(said.as_str())));
            }
            // A truncation only grows, and while it stays the same what was sent before is sent again.
            prop_assert!(truncation.start >= old.start);
            if truncation == old {
                let alike = sent.iter().zip(&before).all(|(now, before)| now.as_ref() == before);
                prop_assert!(alike && sent.len() >= before.len());
            } else {
                prop_assert!(old.total(messages, &costs).exceeds(limit), "cut without need");
            }
            // The same again gives the same, and cutting once more changes nothing.
            prop_assert_eq!(&fit(messages, &costs, limit, &truncation).unwrap(), &truncation);
            before = sent.into_iter().map(Cow::into_owned).collect();
        }
    }
}

#[test]
fn a_document_that_fills_the_window_is_left_out() {
    let mut messages = conversation(&[Step::Ask(10), Step::Call(vec![10, 10])]);
    messages[2].media = vec![document("", 100)];
    let truncation = fitted(&messages, limit(1_000)).unwrap();
    let sent = truncation.apply(&messages);
    let named =
        "[The result of read_file is left out here, so that the rest fits: [PDF, 100 pages, 3 kB]]";
    assert_eq!(sent[2].content, named);
    assert_eq!(sent[2].media, []);
    assert_eq!(sent[3].content, messages[3].content);
    // What the user attached is not left out of the turn that it is about.
    messages[0].media = vec![document("", 100)];
    assert!(fitted(&messages, limit(1_000)).is_err());
}
