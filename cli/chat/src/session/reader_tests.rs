use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::message::Conversation;
use crate::price::Money;
use crate::session::record::TurnEntry;
use crate::turn::CallState;
use crate::usage::Usage;

fn head() -> Record {
    Record::Head(Head {
        format: FORMAT,
        id: "k7".to_owned(),
        project: "/p".to_owned(),
        agent: "assistant".to_owned(),
        model: "small".to_owned(),
        title: "Birds".to_owned(),
        named: false,
        pid: 7,
        forked_from: None,
        call: None,
        notes_starts: false,
    })
}

fn user(text: &str) -> Record {
    Record::Message(Message::text(Role::User, text))
}

fn model(text: &str, calls: &[&str]) -> Record {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "read_file".to_owned(),
        arguments: serde_json::Map::new(),
        raw_arguments: None,
        number: 0,
    };
    Record::Message(Message {
        tool_calls: calls.iter().map(call).collect(),
        ..Message::text(Role::Assistant, text)
    })
}

fn stream(text: &str) -> Record {
    Record::Stream(text.to_owned())
}

fn call(id: &str, result: &str) -> Record {
    Record::Call(CallEntry {
        number: 0,
        id: id.to_owned(),
        tool: "read_file".to_owned(),
        parameters: serde_json::json!({}),
        status: CallState::Completed,
        result: Some(result.to_owned()),
        media: Vec::new(),
        error: None,
        execution_time_ms: Some(1.0),
        changed: None,
        recovered: false,
        repaired: false,
    })
}

fn turn(title: &str) -> Record {
    Record::Turn(TurnEntry {
        messages: 2,
        said: 1,
        title: title.to_owned(),
        named: false,
        usage: Usage {
            input_tokens: 10,
            cached_tokens: 1,
            written_tokens: 0,
            output_tokens: 2,
        },
        money: Money {
            nano_usd: 7,
            incomplete: 0,
        },
    })
}

/// The lines of a file, each with its number.
fn lines(records: &[Record]) -> Vec<Vec<u8>> {
    let line = |(number, record): (usize, &Record)| {
        let mut out = Vec::new();
        record.write(number as u64, &mut out);
        out
    };
    records.iter().enumerate().map(line).collect()
}

fn loaded(bytes: &[u8]) -> Loaded {
    read(Cursor::new(bytes)).unwrap()
}

/// The messages in short: who, what, and `…` where it is partial.
fn shape(messages: &[Message]) -> Vec<String> {
    let line = |message: &Message| {
        let who = match message.role {
            Role::System => "s",
            Role::User => "u",
            Role::Assistant => "a",
            Role::Tool => "t",
        };
        let ids: Vec<&str> = message.tool_calls.iter().map(|it| it.id.as_str()).collect();
        let calls = match ids.as_slice() {
            [] => String::new(),
            ids => format!(" [{}]", ids.join(",")),
        };
        let partial = if message.partial { " …" } else { "" };
        format!("{who} {}{calls}{partial}", message.content)
    };
    messages.iter().map(line).collect()
}

#[test]
fn calls_are_counted_as_they_were_proposed() {
    let records = [
        head(),
        user("go"),
        model("", &["a", "b", "c"]),
        call("c", "3"),
        call("a", "1"),
        call("stranger", "?"),
        call("b", "2"),
        model("", &["d"]),
        call("d", "4"),
    ];
    let loaded = loaded(&lines(&records).concat());
    let ids: Vec<&str> = loaded.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["stranger", "a", "b", "c", "d"]);
}

/// The next call is counted from the highest number, and must have one of its own.
#[test]
fn a_file_does_not_use_up_the_numbers() {
    for number in [usize::MAX, usize::MAX - 1] {
        let (Record::Message(mut message), Record::Call(mut entry)) =
            (model("Let me look.", &["a"]), call("a", "text"))
        else {
            unreachable!()
        };
        message.tool_calls[0].number = number;
        entry.number = number;
        let records = [
            head(),
            user("hi"),
            Record::Message(message),
            Record::Call(entry),
        ];
        let read = loaded(&lines(&records).concat());
        assert_eq!(read.last_call, 1);
        assert_eq!(read.records()[0].number, 1);
    }
}

#[test]
fn records_become_a_conversation() {
    let interrupted = format!("t {INTERRUPTED}");
    let check = |records: &[Record], expected: &[&str], complete: usize| {
        let mut all = vec![head()];
        all.extend_from_slice(records);
        let loaded = loaded(&lines(&all).concat());
        assert_eq!(shape(&loaded.messages), expected);
        assert_eq!(loaded.complete, complete, "{expected:?}");
        assert_eq!(loaded.damage, Damage::default());
        assert_eq!(loaded.times.len(), loaded.messages.len());
        // What comes out can be sent as it is.
        let conversation = Conversation::from_messages(loaded.messages.clone());
        assert_eq!(shape(conversation.messages()), expected);
    };
    check(&[user("hi")], &["u hi"], 1);
    // A reply replaces what was streamed of it, and what was streamed of one that never came stays.
    check(
        &[
            user("hi"),
            stream("Hel"),
            stream("lo"),
            model("Hello.", &[]),
        ],
        &["u hi", "a Hello."],
        2,
    );
    check(
        &[user("hi"), stream("Hel"), stream("lo\n")],
        &["u hi", "a Hello\n …"],
        1,
    );
    check(&[user("hi"), stream(" \n")], &["u hi"], 1);
    check(
        &[user("hi"), stream("Hel"), user("you there?")],
        &["u hi", "a Hel …", "u you there?"],
        3,
    );
    // Results stand in the order of the calls, whenever they came.
    check(
        &[
            user("go"),
            model("", &["a", "b"]),
            call("b", "2"),
            call("a", "1"),
            stream("Do"),
        ],
        &["u go", "a  [a,b]", "t 1", "t 2", "a Do …"],
        4,
    );
    // What was open when Dunlin ended is closed.
    check(
        &[user("go"), model("I look", &["a", "b"]), call("a", "1")],
        &["u go", "a I look [a,b]", "t 1", &interrupted],
        2,
    );
    check(
        &[user("go"), model("", &["a"]), user("and?")],
        &["u go", "a  [a]", &interrupted, "u and?"],
        4,
    );
    // A result may stand as a message; the first one counts.
    let result = Record::Message(Message {
        tool_call_id: Some("a".to_owned()),
        ..Message::text(Role::Tool, "other")
    });
    check(
        &[
            user("go"),
            model("", &["a"]),
            call("a", "1"),
            result.clone(),
        ],
        &["u go", "a  [a]", "t 1"],
        3,
    );
    check(
        &[user("go"), model("", &["a"]), result],
        &["u go", "a  [a]", "t other"],
        3,
    );
    // Forgetting and going back.
    check(&[user("hi"), model("Yes?", &[]), Record::Cleared], &[], 0);
    check(
        &[
            user("1"),
            model("one", &[]),
            user("2"),
            stream("tw"),
            Record::Cut(2),
            user("3"),
        ],
        &["u 1", "a one", "u 3"],
        3,
    );
    check(&[user("1"), Record::Cut(9), user("2")], &["u 1", "u 2"], 2);
    check(&[call("ghost", "boo"), user("hi")], &["u hi"], 1);
}

#[test]
fn what_turns_of_earlier_builds_have_cost_is_not_known() {
    let line = lines(&[head(), turn("Birds")]).concat();
    let line = String::from_utf8(line).unwrap();
    let (before, after) = line
        .split_once(r#","money":{"nano_usd":7,"incomplete":0}"#)
        .unwrap();
    let found = loaded(format!("{before}{after}").as_bytes());
    assert_eq!(found.charge.usage.output_tokens, 2);
    assert_eq!(found.charge.money, Money::unknown());
}

#[test]
fn what_else_is_known() {
    let renamed = Record::Renamed("Sandpipers".to_owned());
    let speaker = Record::Speaker(Speaker {
        agent: "other".to_owned(),
        model: "large".to_owned(),
    });
    let records = [
        head(),
        user("hi"),
        model("", &["a"]),
        call("a", "1"),
        turn("Birds"),
        renamed,
        speaker,
        Record::Opened(9),
        user("more"),
        turn("Sandpipers"),
        Record::Closed,
    ];
    let found = loaded(&lines(&records).concat());
    assert_eq!((found.title.as_str(), found.next), ("Sandpipers", 11));
    assert_eq!(found.charge.usage.input_tokens, 20);
    assert_eq!(
        (found.charge.money.nano_usd, found.charge.money.incomplete),
        (14, 0)
    );
    assert_eq!(found.speaker.unwrap().model, "large");
    assert_eq!((found.pid, found.closed), (Some(9), true));
    assert_eq!(found.calls.len(), 1);
    let found = loaded(&lines(&records[..5]).concat());
    assert_eq!((found.title.as_str(), found.closed), ("Birds", false));
    // A title that nobody chose goes with what was said.
    let cleared = [head(), user("hi"), Record::Cleared, user("Terns")];
    assert_eq!(loaded(&lines(&cleared).concat()).title, "Terns");
}

#[test]
fn damage_is_left_out_and_said() {
    let good = lines(&[head(), user("one"), model("1", &[]), user("two")]);
    let all: &[&str] = &["u one", "a 1", "u two"];
    let check = |bytes: Vec<u8>, expected: &[&str], notice: Option<&str>| {
        let loaded = loaded(&bytes);
        assert_eq!(shape(&loaded.messages), expected, "{notice:?}");
        assert_eq!(loaded.damage.notice().as_deref(), notice);
    };
    let with = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut changed = good.clone();
        change(&mut changed);
        changed.concat()
    };
    check(with(&|_| {}), all, None);
    check(
        with(&|lines| lines[3].truncate(20)),
        &["u one", "a 1"],
        Some("left out: 20 bytes of a last line that is not whole"),
    );
    check(
        with(&|lines| assert_eq!(lines[3].pop(), Some(b'\n'))),
        all,
        None,
    );
    check(
        with(&|lines| lines.push(vec![0; 512])),
        all,
        Some("left out: 512 zero bytes"),
    );
    check(
        with(&|lines| lines[1] = b"{\"type\":\"mess\xff\n".to_vec()),
        &["a 1", "u two"],
        Some("left out: 1 broken line"),
    );
    check(
        with(&|lines| drop(lines.remove(2))),
        &["u one", "u two"],
        Some("1 line is missing"),
    );
    check(
        with(&|lines| lines.insert(2, lines[1].clone())),
        all,
        Some("left out: 1 line that was there twice"),
    );
    check(
        with(&|lines| lines.extend(good.clone())),
        all,
        Some("left out: 4 lines that were there twice"),
    );
    check(
        with(&|lines| lines.push(b"{\"type\":\"star\",\"n\":4}\n".to_vec())),
        all,
        Some("left out: what a newer version wrote (star)"),
    );
    check(
        with(&|lines| lines[0] = b"scribble\n".to_vec()),
        all,
        Some("left out: its first line"),
    );
    check(
        with(&|lines| drop(lines.remove(0))),
        all,
        Some("left out: its first line"),
    );
    let far = b"{\"type\":\"closed\",\"n\":18446744073709551615}\n";
    check(
        with(&|lines| lines.push(far.to_vec())),
        all,
        Some("left out: 1 broken line"),
    );
    check(with(&|lines| lines.push(b"\n \r\n".to_vec())), all, None);
    check(
        with(&|lines| {
            lines
                .iter_mut()
                .for_each(|line| line.insert(line.len() - 1, b'\r'))
        }),
        all,
        None,
    );
}

#[test]
fn a_line_without_an_end_is_gone_on_behind() {
    let good = lines(&[head(), user("one")]).concat();
    assert!(loaded(&good).ends_with_line);
    assert!(!loaded(&good[..good.len() - 1]).ends_with_line);
}

#[test]
fn what_is_no_session_is_an_error() {
    let check = |bytes: &[u8], expected: &str| {
        let error = read(Cursor::new(bytes)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    check(b"", "it is empty");
    check(b"\n\n", "it is empty");
    check(&[0; 4096], "it is empty");
    let strange = "nothing in it is a record of a session";
    check(b"hello\nworld\n", strange);
    check(b"{\"role\":\"user\",\"content\":\"hi\"}\n", strange);
    check(b"{\"type\":\"star\",\"n\":0}\n", strange);
    check(b"\x7fELF\0\0\0", strange);
    let newer = String::from_utf8(lines(&[head()]).concat()).unwrap();
    let newer = newer.replace("\"format\":1", "\"format\":2");
    check(
        newer.as_bytes(),
        "it has the format 2, and this Dunlin reads 1: a newer one wrote it",
    );
}

#[test]
fn a_line_of_any_length_takes_bounded_memory() {
    let mut bytes = lines(&[head(), user("one")]).concat();
    bytes.extend(vec![b'x'; MAX_LINE_BYTES + 100_000]);
    bytes.push(b'\n');
    let mut last = Vec::new();
    user("two").write(3, &mut last);
    bytes.extend(last);
    let loaded = loaded(&bytes);
    assert_eq!(shape(&loaded.messages), ["u one", "u two"]);
    let notice = "left out: 1 line that is too long";
    assert_eq!(loaded.damage.notice().as_deref(), Some(notice));
}

fn any_record() -> impl Strategy<Value = Record> {
    let text = "[a-z\u{0}\n\"\\\\ä]{0,12}";
    let id = "[a-c]";
    prop_oneof![
        text.prop_map(|text| user(&text)),
        text.prop_map(|text| stream(&text)),
        (text, prop::collection::vec(id, 0..3)).prop_map(|(text, ids)| {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            model(&text, &ids)
        }),
        (id, text).prop_map(|(id, text)| call(&id, &text)),
        text.prop_map(|text| turn(&text)),
        text.prop_map(Record::Renamed),
        (0_usize..6).prop_map(Record::Cut),
        "[a-z ]{0,9}".prop_map(Record::Unsent),
        "[a-z]{0,4}".prop_map(Record::Effort),
        Just(Record::Cleared),
        Just(Record::Closed),
        Just(Record::Unknown("star".to_owned())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn anything_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(Cursor::new(bytes));
    }

    /// Cut anywhere, the file holds what it held before the cut.
    #[test]
    fn a_good_beginning_is_kept(
        records in prop::collection::vec(any_record(), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut all = vec![head()];
        all.extend(records);
        let bytes = lines(&all).concat();
        let at = cut.index(bytes.len() + 1);
        let whole = bytes[..at].iter().filter(|byte| **byte == b'\n').count();
        let cut = read(Cursor::new(&bytes[..at]));
        if whole == 0 {
            return Ok(());
        }
        let cut = cut.unwrap();
        let ends_between = at == bytes.len() || bytes[at - 1] == b'\n' || bytes[at] == b'\n';
        let known = if bytes.get(at) == Some(&b'\n') { whole + 1 } else { whole };
        let good = loaded(&lines(&all[..known]).concat());
        prop_assert_eq!(shape(&cut.messages), shape(&good.messages));
        prop_assert_eq!(cut.damage.torn_bytes == 0, ends_between);
        prop_assert_eq!(cut.messages.len(), cut.times.len());
        prop_assert!(cut.complete <= cut.messages.len());
    }

    /// Scribbled over somewhere, the lines that are whole are still read, and nothing panics.
    #[test]
    fn scribbles_cost_their_lines(
        records in prop::collection::vec(any_record(), 1..12),
        place in any::<prop::sample::Index>(),
        scribble in prop::collection::vec(any::<u8>(), 1..30),
    ) {
        let mut all = vec![head()];
        all.extend(records);
        let mut bytes = lines(&all).concat();
        let at = place.index(bytes.len());
        for (to, from) in bytes[at..].iter_mut().zip(&scribble) {
            *to = *from;
        }
        if let Ok(loaded) = read(Cursor::new(&bytes)) {
            let conversation = Conversation::from_messages(loaded.messages);
            prop_assert!(conversation.open_calls().is_empty());
        }
    }
}

#[test]
fn a_summary_is_kept_while_its_messages_are() {
    let compacted = || {
        Record::Compacted(crate::request::truncation::Compacted {
            through: 2,
            summary: "They met.".to_owned(),
        })
    };
    let check = |after: Vec<Record>, expected: Option<usize>| {
        let mut records = vec![head(), user("1"), model("one", &[]), user("2"), compacted()];
        records.extend(after);
        let loaded = loaded(&lines(&records).concat());
        let through = loaded.compacted.map(|compacted| compacted.through);
        assert_eq!(through, expected);
    };
    check(vec![], Some(2));
    check(vec![model("two", &[])], Some(2));
    check(vec![Record::Cut(2)], Some(2));
    check(vec![Record::Cut(1)], None);
    check(vec![Record::Cleared], None);
}

#[test]
fn calls_stand_in_the_order_of_their_message() {
    let records = [
        head(),
        user("one"),
        model("", &["a", "b", "c"]),
        call("c", "C"),
        call("x", "of no message"),
        call("a", "A"),
        call("a", "again"),
        call("b", "B"),
        model("", &["d", "e"]),
        call("e", "E"),
        call("d", "D"),
        model("done", &[]),
    ];
    let loaded = loaded(&lines(&records).concat());
    let ids: Vec<&str> = loaded.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["x", "a", "a", "b", "c", "d", "e"]);
    let shape = shape(&loaded.messages);
    assert_eq!(
        shape[1..5],
        ["a  [a,b,c]", "t A", "t B", "t C"].map(str::to_owned)
    );
}

#[test]
fn a_message_with_more_calls_than_a_reply_can_have_is_left_out() {
    let ids: Vec<String> = (0..=MAX_CALLS).map(|id| id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let of = |ids: &[&str]| {
        let records = [head(), user("one"), model("two", ids)];
        loaded(&lines(&records).concat())
    };
    let most = of(&ids[1..]);
    assert_eq!(
        (most.messages.len(), most.damage.broken),
        (2 + MAX_CALLS, 0)
    );
    assert_eq!(most.records().len(), MAX_CALLS);
    let more = of(&ids);
    assert_eq!((more.messages.len(), more.damage.broken), (1, 1));
    assert!(more.records().is_empty());
}
