use super::*;
use crate::media::samples::picture;
use crate::message::Role;

#[test]
fn records_come_back_as_they_were() {
    let head = Head {
        format: FORMAT,
        id: "k7mq2x9d".to_owned(),
        project: "/home/ada/shore".to_owned(),
        agent: "assistant".to_owned(),
        model: "small".to_owned(),
        title: "Birds \u{1b}".to_owned(),
        named: false,
        pid: 7,
        forked_from: None,
        call: None,
        notes_starts: true,
    };
    let call = CallEntry {
        number: 1,
        id: "a".to_owned(),
        tool: "read_file".to_owned(),
        parameters: serde_json::json!({"path": "a"}),
        status: CallState::Completed,
        result: Some("text".to_owned()),
        media: vec![picture("", 3, 4)],
        error: None,
        execution_time_ms: Some(3.25),
        changed: Some(ChangedLines {
            added: 1,
            removed: 0,
        }),
        recovered: false,
        repaired: false,
    };
    let turn = TurnEntry {
        messages: 4,
        said: 1,
        title: "Birds".to_owned(),
        named: true,
        usage: Usage::default(),
        money: Money::default(),
    };
    let speaker = Speaker {
        agent: "other".to_owned(),
        model: "large".to_owned(),
    };
    for (number, record) in [
        Record::Head(head),
        Record::Message(Message::text(Role::User, "one\ntwo\u{0}")),
        Record::Stream("a \"piece\"".to_owned()),
        Record::Started("a".to_owned()),
        Record::Call(call),
        Record::Turn(turn),
        Record::Renamed("Sandpipers".to_owned()),
        Record::Speaker(speaker),
        Record::Cut(2),
        Record::Effort("high".to_owned()),
        Record::Unsent("not yet".to_owned()),
        Record::Cleared,
        Record::Opened(8),
        Record::Closed,
        Record::Compacted(Compacted {
            through: 2,
            summary: "They met.".to_owned(),
        }),
        Record::Subagent(SubagentEntry {
            end: "failed".to_owned(),
            why: Some("status 500".to_owned()),
            last_request: Some(7),
            ..SubagentEntry::default()
        }),
        Record::Unknown("foreseen".to_owned()),
    ]
    .into_iter()
    .enumerate()
    {
        let mut out = Vec::new();
        record.write(number as u64, &mut out);
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
        let read = Record::read(out.trim_ascii_end()).unwrap();
        assert_eq!((read.n, &read.record), (number as u64, &record));
        assert_eq!(
            read.time.is_none(),
            matches!(record, Record::Stream(_)),
            "{record:?}"
        );
    }
}

#[test]
fn a_summary_of_an_earlier_build_is_read() {
    let line = br#"{"type":"condensed","n":3,"condensed":{"through":2,"summary":"They met."}}"#;
    let compacted = Compacted {
        through: 2,
        summary: "They met.".to_owned(),
    };
    let read = Record::read(line).unwrap();
    assert_eq!(read.record, Record::Compacted(compacted));
}

#[test]
fn what_a_newer_version_writes_is_known_to_be_unknown() {
    let check = |line: &str, expected: &str| {
        let read = Record::read(line.as_bytes());
        let found = match read {
            Ok(Numbered { record, .. }) => format!("{record:?}"),
            Err(_) => "no record".to_owned(),
        };
        assert_eq!(found, expected, "{line}");
    };
    check(r#"{"type":"star","n":3}"#, r#"Unknown("star")"#);
    check(
        r#"{"type":"star","n":3,"text":{"new":1},"time":7}"#,
        r#"Unknown("star")"#,
    );
    check(r#"{"type":"closed","n":3,"why":"tired"}"#, "Closed");
    check(r#"{"type":"closed","n":3,"time":"yesterday"}"#, "Closed");
    check(r#"{"type":"stream","n":3,"text":7}"#, "no record");
    check(r#"{"type":"stream","n":3}"#, "no record");
    check(r#"{"type":"stream","n":-3,"text":"x"}"#, "no record");
    check(r#"{"n":3}"#, "no record");
    check("[]", "no record");
    check("", "no record");
}
