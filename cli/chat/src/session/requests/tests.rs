//! Whatever is sent comes back byte for byte, and whatever a file holds is read without harm.

mod subagents;

use dunlin_host::sha256_hex;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::delta::{Source, encode};
use super::log::{Follower, Outgoing};
use super::*;
use crate::message::{Message, Role, ToolCall};
use crate::request::editor::{SectionId, Target};
use crate::session::record::Record;

const URL: &str = "http://127.0.0.1:8080/v1/chat/completions";

/// A session file that grows.
struct Growing {
    file: tempfile::NamedTempFile,
    bytes: Vec<u8>,
    next: u64,
    follower: Follower,
    sent: Vec<(u64, Bytes, Bytes)>,
}

impl Growing {
    fn new() -> Growing {
        Growing {
            file: tempfile::NamedTempFile::new().unwrap(),
            bytes: Vec::new(),
            next: 0,
            follower: Follower::default(),
            sent: Vec::new(),
        }
    }

    fn record(&mut self, record: &Record) {
        record.write(self.next, &mut self.bytes);
        self.next += 1;
        std::fs::write(self.file.path(), &self.bytes).unwrap();
    }

    fn says(&mut self, text: &str) {
        self.record(&Record::Message(Message::text(Role::User, text)));
    }

    fn sends(&mut self, kind: Kind, original: &[u8], sent: &[u8]) {
        let outgoing = self.outgoing(kind, None, original, sent);
        self.logs(outgoing);
    }

    /// A round of the subagent with this name.
    fn subagent_sends(&mut self, name: &str, body: &[u8]) {
        let outgoing = self.outgoing(Kind::Subagent, Some(name), body, body);
        self.logs(outgoing);
    }

    fn outgoing(
        &self,
        kind: Kind,
        subagent: Option<&str>,
        original: &[u8],
        sent: &[u8],
    ) -> Outgoing {
        let number = self.sent.len() as u64 + 1;
        let original = Bytes::copy_from_slice(original);
        let sent = Bytes::copy_from_slice(sent);
        Outgoing::of(
            number,
            &Sent {
                kind,
                agent: "assistant",
                subagent,
                model: "small",
                endpoint: URL,
                counted: None,
                original: &original,
                sent: &sent,
                edits: &[],
            },
        )
    }

    fn logs(&mut self, outgoing: Outgoing) {
        let (original, sent) = (outgoing.original.clone(), outgoing.sent.clone());
        let number = outgoing.entry.number;
        self.follower.catch_up(self.file.path()).unwrap();
        let entry = self.follower.encode(outgoing);
        self.record(&Record::Request(Box::new(entry)));
        self.sent.push((number, original, sent));
    }

    fn read(&self) -> RequestFile {
        RequestFile::parse(self.bytes.clone())
    }

    fn check(&self) {
        let file = self.read();
        assert_eq!(file.requests().len(), self.sent.len());
        let mut restorer = file.restorer();
        for (number, original, sent) in &self.sent {
            assert_eq!(file.body(*number, Side::Original).unwrap(), *original);
            assert_eq!(file.body(*number, Side::Sent).unwrap(), *sent);
            assert_eq!(restorer.body(*number, Side::Sent).unwrap(), *sent);
            assert_eq!(restorer.body(*number, Side::Original).unwrap(), *original);
        }
    }

    /// The length of the last line.
    fn last_line(&self) -> usize {
        let mut lines = self.bytes.split_inclusive(|byte| *byte == b'\n');
        lines.next_back().map_or(0, <[u8]>::len)
    }
}

fn body(messages: &[&str]) -> Vec<u8> {
    let messages: Vec<Value> = messages
        .iter()
        .map(|text| json!({"role": "user", "content": text}))
        .collect();
    json!({"model": "small", "messages": messages, "stream": true, "tools": []})
        .to_string()
        .into_bytes()
}

#[test]
fn a_request_takes_little_more_than_what_is_new_in_no_message() {
    let mut session = Growing::new();
    let first = "An early word. ".repeat(300);
    session.says(&first);
    session.sends(Kind::Turn, &body(&[&first]), &body(&[&first]));
    // No message has been sent twice.
    assert!(session.last_line() < 700, "{}", session.last_line());
    let second = "quotes \" and \\ and ß and \u{9b} in it; ".repeat(100);
    session.says(&second);
    let both = body(&[&first, &second]);
    session.sends(Kind::Turn, &both, &both);
    let line = session.last_line();
    assert!(line < 5000, "{line}");
    // Sent again as it is.
    session.sends(Kind::Turn, &both, &both);
    assert!(session.last_line() < 500, "{}", session.last_line());
    // An edit of one word.
    let edited = String::from_utf8(both.clone()).unwrap();
    let edited = edited.replacen("early", "late", 1).into_bytes();
    session.sends(Kind::Turn, &both, &edited);
    assert!(session.last_line() < 800, "{}", session.last_line());
    session.check();
    let file = session.read();
    assert!(!file.request(3).unwrap().entry.is_edited());
    assert!(file.request(4).unwrap().entry.is_edited());
}

#[test]
fn arguments_of_calls_are_found_as_they_are_escaped() {
    let mut session = Growing::new();
    let text = "fn main() { println!(\"a \\n b\"); }\n".repeat(40);
    let mut arguments = serde_json::Map::new();
    arguments.insert("content".to_owned(), text.into());
    let raw = Value::Object(arguments.clone()).to_string();
    session.record(&Record::Message(Message {
        tool_calls: vec![ToolCall {
            id: "a".to_owned(),
            name: "write_file".to_owned(),
            arguments,
            raw_arguments: None,
            number: 1,
        }],
        ..Message::text(Role::Assistant, "")
    }));
    let calls = json!({"messages": [{"tool_calls": [{"function": {"arguments": raw}}]}]});
    let calls = calls.to_string();
    session.sends(Kind::Turn, calls.as_bytes(), calls.as_bytes());
    assert!(session.last_line() < 800, "{}", session.last_line());
    session.check();
}

#[test]
fn a_resumed_log_builds_on_the_last_request() {
    let mut session = Growing::new();
    let fixed = "A long system prompt, which is in no message. ".repeat(100);
    session.says("hello");
    let one = body(&[&fixed, "hello"]);
    session.sends(Kind::Turn, &one, &one);
    session.follower = Follower::default();
    session.says("and again");
    let two = body(&[&fixed, "hello", "and again"]);
    session.sends(Kind::Turn, &two, &two);
    assert!(session.last_line() < 700, "{}", session.last_line());
    assert_eq!(session.read().request(2).unwrap().entry.base, Some(1));
    session.check();
}

#[test]
fn summaries_and_sampling_do_not_disturb_the_turns() {
    let mut session = Growing::new();
    let long = "What was said. ".repeat(200);
    session.says(&long);
    let turn = body(&[&long]);
    session.sends(Kind::Turn, &turn, &turn);
    let summary = body(&[&format!("Sum up:\n\nUser: {long}\n")]);
    session.sends(Kind::Summary, &summary, &summary);
    assert!(session.last_line() < 800, "{}", session.last_line());
    let sampling = body(&["A server asks."]);
    session.sends(Kind::Sampling, &sampling, &sampling);
    session.sends(Kind::Turn, &turn, &turn);
    assert!(session.last_line() < 500, "{}", session.last_line());
    session.check();
    let bases: Vec<Option<u64>> = session
        .read()
        .requests()
        .iter()
        .map(|it| it.entry.base)
        .collect();
    assert_eq!(bases, [None, Some(1), None, Some(1)]);
}

#[test]
fn a_wrong_byte_is_an_error_that_says_so() {
    let mut session = Growing::new();
    let words: String = (0..40)
        .map(|n| format!("the word {n} of a message "))
        .collect();
    session.says(&words);
    let one = body(&[&words]);
    session.sends(Kind::Turn, &one, &one);
    let text = String::from_utf8(session.bytes.clone()).unwrap();
    let changed = text.replacen("the word 20", "The word 20", 1);
    let error = RequestFile::parse(changed.into_bytes())
        .body(1, Side::Sent)
        .unwrap_err();
    let expected = format!("the log says {}", sha256_hex(&one));
    assert!(error.to_string().ends_with(&expected), "{error}");
    // Without the message there is nothing to copy from.
    let (_, rest) = text.split_once('\n').unwrap();
    let error = RequestFile::parse(rest.as_bytes().to_vec())
        .body(1, Side::Sent)
        .unwrap_err();
    assert!(error.to_string().contains("line 0 is missing"), "{error}");
}

/// A file with these requests and one message.
fn file(requests: &[Value]) -> RequestFile {
    let mut text = r#"{"type":"message","n":0,"message":{"role":"user","content":"x"}}"#.to_owned();
    for (index, request) in requests.iter().enumerate() {
        let line = json!({"type": "request", "n": index + 1, "request": request});
        text.push_str(&format!("\n{line}"));
    }
    text.push('\n');
    RequestFile::parse(text.into_bytes())
}

fn entry(number: u64, base: Option<u64>, parts: &Value) -> Value {
    let original = json!({"bytes": 1, "sha256": "00", "parts": parts});
    json!({"number": number, "base": base, "original": original})
}

#[test]
fn hostile_records_are_errors() {
    let check = |requests: &[Value], number: u64, expected: &str| {
        let error = file(requests).body(number, Side::Sent).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&[], 3, "no request 3 in this session; none was logged");
    let some: Vec<Value> = [1, 2, 5, 9].map(|n| entry(n, None, &json!([]))).into();
    check(&some, 6, "nearest: 5, 9, 2");
    check(
        &[entry(1, Some(1), &json!([["base", 0, 1]]))],
        1,
        "request 1 is missing",
    );
    check(
        &[entry(1, Some(2), &json!([])), entry(2, Some(1), &json!([]))],
        2,
        "missing",
    );
    check(
        &[entry(1, None, &json!([["base", 0, 1]]))],
        1,
        "outside of the body of the base",
    );
    check(
        &[entry(1, None, &json!([["original", 0, 1]]))],
        1,
        "outside",
    );
    check(
        &[entry(1, None, &json!([[0, 0, u64::MAX]]))],
        1,
        "outside of line 0",
    );
    check(
        &[entry(1, None, &json!([[0, u64::MAX, u64::MAX]]))],
        1,
        "outside of line 0",
    );
    check(
        &[entry(1, None, &json!([["escaped:0", 70, 999]]))],
        1,
        "outside of line 0",
    );
    check(
        &[entry(1, None, &json!([["escaped:7", 0, 9]]))],
        1,
        "line 7 is missing",
    );
    check(
        &[entry(1, None, &json!([{"hex": "zz"}]))],
        1,
        "not one that Dunlin writes",
    );
    check(&[entry(1, None, &json!(["x"]))], 1, "SHA-256");
    check(&[entry(1, None, &Value::Null)], 1, "is not stored");
    let many = vec![json!(""); super::delta::MAX_PARTS + 1];
    check(&[entry(1, None, &Value::Array(many))], 1, "no request 1");
    // A source that is not known makes the record unreadable, and the request unknown.
    check(
        &[entry(1, None, &json!([["moon", 0, 1]]))],
        1,
        "no request 1",
    );
}

#[test]
fn bodies_that_grow_without_measure_are_errors() {
    // Each body is the one before it twice.
    let mut requests = vec![entry(1, None, &json!(["x".repeat(64)]))];
    for number in 2..=40_u64 {
        let length = 64_u64
            .checked_shl(u32::try_from(number).unwrap() - 2)
            .unwrap();
        let parts = json!([["base", 0, length], ["base", 0, length]]);
        requests.push(entry(number, Some(number - 1), &parts));
    }
    let error = file(&requests).body(40, Side::Sent).unwrap_err();
    assert!(matches!(error, LogError::Excessive(_)), "{error}");
    // Each body is the one before it in another order, which takes long.
    let pieces: Vec<Value> = (0..4096).map(|at| json!([0, at % 60, 1])).collect();
    let mut requests = vec![entry(1, None, &Value::Array(pieces))];
    for number in 2..=9000_u64 {
        let parts = json!([["base", 1, 4095], ["base", 0, 1]]);
        requests.push(entry(number, Some(number - 1), &parts));
    }
    let error = file(&requests).body(9000, Side::Sent).unwrap_err();
    assert!(matches!(error, LogError::Excessive(_)), "{error}");
}

#[test]
fn edits_are_stored_once_while_they_are_the_same() {
    let target = Target {
        section: SectionId::Message(3),
        path: "content[0].text".parse().unwrap(),
    };
    let edits = [
        Edit::Set {
            target,
            old: None,
            new: Some("\"x\"".to_owned()),
        },
        Edit::Delete {
            sections: vec![SectionId::Tool("a b".to_owned()), SectionId::System],
        },
        Edit::Reset,
    ];
    let text = serde_json::to_string(&edits).unwrap();
    assert_eq!(
        text,
        r#"[{"type":"set","target":{"section":"message:3","path":"content[0].text"},"new":"\"x\""},{"type":"delete","sections":["tool:a b","system"]},{"type":"reset"}]"#
    );
    assert_eq!(serde_json::from_str::<Vec<Edit>>(&text).unwrap(), edits);

    let mut follower = Follower::default();
    let (original, sent) = (Bytes::from_static(b"{}"), Bytes::from_static(b"[]"));
    let mut entry = |number| {
        follower.encode(Outgoing::of(
            number,
            &Sent {
                kind: Kind::Turn,
                agent: "",
                subagent: None,
                model: "",
                endpoint: "",
                counted: None,
                original: &original,
                sent: &sent,
                edits: &edits,
            },
        ))
    };
    assert_eq!(entry(1).edits, edits);
    let again = entry(2);
    assert!(again.same_edits && again.edits.is_empty());
    let third = entry(3);
    assert!(third.same_edits && third.edits.is_empty());
}

#[test]
fn a_chain_is_gone_through_once() {
    const REQUESTS: u64 = 2000;
    let edit = json!({"type": "delete", "sections": ["system"]});
    let requests: Vec<Value> = (1..=REQUESTS)
        .map(|number| {
            let (parts, base) = match number {
                1 => (json!(["x"]), None),
                _ => (json!([["base", 0, 1]]), Some(number - 1)),
            };
            let mut entry = entry(number, base, &parts);
            entry["original"]["sha256"] = sha256_hex(b"x").into();
            match number {
                1 => entry["edits"] = json!([edit]),
                _ => entry["same_edits"] = true.into(),
            }
            entry
        })
        .collect();
    let file = file(&requests);
    let mut restorer = file.restorer();
    let first = file.requests().first().unwrap();
    for request in file.requests() {
        assert!(std::ptr::eq(
            file.edits(request),
            &raw const *first.entry.edits
        ));
        let number = request.entry.number;
        for side in [Side::Sent, Side::Original] {
            assert_eq!(restorer.body(number, side).unwrap(), b"x");
        }
    }
    assert_eq!(restorer.steps as u64, REQUESTS);
    // In another order it takes longer, and the bytes are the same.
    assert_eq!(restorer.body(7, Side::Sent).unwrap(), b"x");
    assert_eq!(restorer.steps as u64, REQUESTS + 7);
}

#[test]
fn a_chain_that_is_broken_is_not_tried_for_each_request() {
    let requests: Vec<Value> = (1..=100)
        .map(|number: u64| entry(number, Some(number.saturating_sub(1)), &json!([])))
        .collect();
    let file = file(&requests);
    let mut restorer = file.restorer();
    for number in 1..=100 {
        let error = restorer.body(number, Side::Sent).unwrap_err().to_string();
        let expected = match number {
            1 => "request 0 is missing".to_owned(),
            _ => format!("it builds on the one of request {}", number - 1),
        };
        assert!(error.contains(&expected), "{error}");
    }
    assert_eq!(restorer.steps, 0);
}

#[test]
fn of_two_requests_with_one_number_there_is_the_first() {
    let mut second = entry(1, None, &json!(["other"]));
    second["model"] = "other".into();
    let requests = [
        entry(1, None, &json!(["x"])),
        second,
        entry(2, Some(1), &json!([["base", 0, 1]])),
    ];
    let file = file(&requests);
    let numbers: Vec<u64> = file.requests().iter().map(|it| it.entry.number).collect();
    assert_eq!(numbers, [1, 2]);
    assert_eq!(file.request(1).unwrap().entry.model, "");
}

/// What bodies and messages are made of.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        "[a-z \"\\\\{}:,ß🪶\u{9b}\u{1}]{0,40}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..50),
        Just(b"a line that is long enough to be found again, \"wherever\" it stands ".to_vec()),
        Just(
            "ßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßßß"
                .as_bytes()
                .to_vec()
        ),
    ];
    prop::collection::vec(word, 0..6).prop_map(|words| words.concat())
}

/// What happens in a session.
#[derive(Debug, Clone)]
enum Step {
    Says(Vec<u8>),
    Sends(Kind, Vec<u8>, Option<Vec<u8>>),
    /// The last body with something in its midst.
    SendsMore(usize, Vec<u8>),
    /// A round of one of several subagents.
    SubagentSends(u8, Vec<u8>),
    Resumes,
}

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![Just(Kind::Turn), Just(Kind::Summary), Just(Kind::Sampling)];
    prop_oneof![
        3 => words().prop_map(Step::Says),
        2 => (kind, words(), prop::option::of(words())).prop_map(|(kind, a, b)| Step::Sends(kind, a, b)),
        2 => (0..12_u8, words()).prop_map(|(subagent, body)| Step::SubagentSends(subagent, body)),
        3 => (any::<usize>(), words()).prop_map(|(at, more)| Step::SendsMore(at, more)),
        1 => Just(Step::Resumes),
    ]
}

fn play(steps: Vec<Step>) -> Growing {
    let mut session = Growing::new();
    for step in steps {
        match step {
            Step::Says(text) => session.says(&String::from_utf8_lossy(&text)),
            Step::Sends(kind, original, sent) => {
                let sent = sent.unwrap_or_else(|| original.clone());
                session.sends(kind, &original, &sent);
            }
            Step::SubagentSends(subagent, body) => {
                session.subagent_sends(&format!("research {subagent}"), &body);
            }
            Step::SendsMore(at, more) => {
                let last = session.sent.last();
                let last = last
                    .map(|(_, original, _)| original.to_vec())
                    .unwrap_or_default();
                let (start, end) = last.split_at(at % (last.len() + 1));
                let now = [start, &more, end].concat();
                session.sends(Kind::Turn, &now, &now);
            }
            Step::Resumes => session.follower = Follower::default(),
        }
    }
    session
}

#[test]
fn a_body_may_begin_within_a_character() {
    let body = b"\xb8\xb8 and text";
    let parts = encode(body, Some((Source::Base, body)), &[], &[]);
    let known = [(Source::Base, body.as_slice())].into_iter().collect();
    assert!(super::log::is_same(body, &parts, &known), "{parts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_body_comes_back(steps in prop::collection::vec(step(), 0..20)) {
        play(steps).check();
    }

    #[test]
    fn any_body_is_the_sum_of_its_parts(
        body in words(),
        first in words(),
        line in words(),
        more in words(),
    ) {
        let known = [(Source::Base, first), (Source::Line(1), line), (Source::Line(2), more)];
        let known: Vec<(Source, &[u8])> = known.iter().map(|(source, bytes)| (*source, bytes.as_slice())).collect();
        let parts = encode(&body, Some(known[0]), &known[1..2], &known);
        let known = known.into_iter().collect();
        prop_assert!(super::log::is_same(&body, &parts, &known), "{parts:?}");
        // In a text there are no bytes.
        if std::str::from_utf8(&body).is_ok() {
            let is_bytes = |part: &Part| matches!(part, Part::Bytes { .. });
            prop_assert!(!parts.iter().any(is_bytes), "{parts:?}");
        }
    }

    #[test]
    fn damaged_files_give_the_right_bytes_or_an_error(
        steps in prop::collection::vec(step(), 1..12),
        damage in prop::collection::vec((any::<usize>(), prop::option::of(any::<u8>())), 1..6),
    ) {
        let session = play(steps);
        let mut bytes = session.bytes.clone();
        for (at, byte) in damage {
            if bytes.is_empty() {
                break;
            }
            let at = at % bytes.len();
            match byte {
                Some(byte) => bytes[at] = byte,
                None => {
                    bytes.remove(at);
                }
            }
        }
        let file = RequestFile::parse(bytes);
        for request in file.requests() {
            for side in [Side::Original, Side::Sent] {
                if let Ok(body) = file.body(request.entry.number, side) {
                    let entry = &file.request(request.entry.number).unwrap().entry;
                    let digest = match side {
                        Side::Original => &entry.original.sha256,
                        Side::Sent => &entry.sent_body().sha256,
                    };
                    prop_assert_eq!(&sha256_hex(&body), digest);
                }
            }
            let _ = file.reply(request);
        }
    }
}
