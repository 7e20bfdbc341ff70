//! What a list of sessions shows, read from both ends of a file: the same few kilobytes, however long it is.

use std::io::{self, Read, Seek, SeekFrom};

use jiff::Timestamp;
use serde::Serialize;

use super::record::{FORMAT, Numbered, Record, SubagentEntry};
use crate::message::Role;

/// How much of the start is read, in bytes. The first line has a path of at most 4 KiB and a few words.
const HEAD_BYTES: u64 = 8 * 1024;

/// How much of the end is read, in bytes. The end of a turn is some 200; what is added behind it by a rename or when
/// it is closed is less.
const TAIL_BYTES: u64 = 4 * 1024;

/// A session in a list. Texts are as they stand in the file: escape before showing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Summary {
    pub id: String,
    pub title: String,
    /// The project it was begun in; empty where that cannot be read.
    pub project: String,
    /// The agent it was begun with.
    pub agent: String,
    pub model: String,
    pub begun: Option<Timestamp>,
    /// When it was written last.
    pub changed: Option<Timestamp>,
    /// How many messages the user has said, where the end of the file tells.
    pub said: Option<usize>,
    /// Whether a Dunlin has it open.
    pub open: bool,
    /// The call for which it was begun, if it is a subagent's.
    #[serde(skip)]
    pub call: Option<String>,
    /// How the subagent whose it is ended, where the end of the file tells.
    #[serde(skip)]
    pub subagent: Option<SubagentEntry>,
    /// Why it cannot be resumed, as far as its first line says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Summary {
    /// Reads the two ends of a session of `length` bytes. The name and the time of the file are the caller's to fill
    /// in.
    pub fn read(from: &mut (impl Read + Seek), length: u64) -> io::Result<Summary> {
        let mut summary = Summary::default();
        let mut head = Vec::new();
        from.by_ref().take(HEAD_BYTES).read_to_end(&mut head)?;
        let first = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match Record::read(first) {
            Ok(Numbered {
                time,
                record: Record::Head(head),
                ..
            }) => {
                if head.format > FORMAT {
                    summary.problem = Some(format!("format {}, from a newer Dunlin", head.format));
                }
                summary.begun = time;
                summary.title = head.title;
                summary.project = head.project;
                summary.agent = head.agent;
                summary.model = head.model;
                summary.call = head.call;
            }
            _ if length == 0 => summary.problem = Some("empty".to_owned()),
            _ => summary.problem = Some("its first line is damaged".to_owned()),
        }
        let tail = match length.checked_sub(HEAD_BYTES) {
            // All of it was read.
            None => head,
            Some(_) => {
                let mut tail = Vec::new();
                from.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
                from.by_ref().take(TAIL_BYTES).read_to_end(&mut tail)?;
                tail
            }
        };
        summary.apply_tail(&tail, length <= tail.len() as u64);
        Ok(summary)
    }

    /// Takes over what the last lines say. The first of them may be half a line, unless they are `all`.
    fn apply_tail(&mut self, tail: &[u8], all: bool) {
        let (mut title, mut said) = (None, None);
        // What the user said behind the last turn that has ended: the process may have been killed in the next one.
        let mut behind = 0;
        for line in tail.split(|byte| *byte == b'\n').rev() {
            if title.is_some() && said.is_some() {
                break;
            }
            match Record::read(line).map(|numbered| numbered.record) {
                Ok(Record::Turn(turn)) => {
                    title.get_or_insert(turn.title);
                    said.get_or_insert(Some(turn.said + behind));
                }
                Ok(Record::Renamed(renamed)) => {
                    title.get_or_insert(renamed);
                }
                Ok(Record::Cleared) => {
                    said.get_or_insert(Some(behind));
                }
                // How many of the messages that it leaves are the user's is not known here.
                Ok(Record::Cut(_)) => {
                    said.get_or_insert(None);
                }
                Ok(Record::Subagent(subagent)) => {
                    self.subagent.get_or_insert(subagent);
                }
                Ok(Record::Message(message)) if message.role == Role::User => behind += 1,
                _ => {}
            }
        }
        self.said = said.unwrap_or(Some(behind).filter(|behind| all && *behind > 0));
        if let Some(title) = title {
            self.title = title;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::message::Message;
    use crate::price::Money;
    use crate::session::record::{Head, TurnEntry};
    use crate::usage::Usage;

    /// Counts what is read.
    struct Counting<R> {
        inner: R,
        bytes: usize,
    }

    impl<R: Read> Read for Counting<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let read = self.inner.read(buffer)?;
            self.bytes += read;
            Ok(read)
        }
    }

    impl<R: Seek> Seek for Counting<R> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.inner.seek(to)
        }
    }

    fn head(format: u32) -> Record {
        Record::Head(Head {
            format,
            id: "k7mq2x9d".to_owned(),
            project: "/p".to_owned(),
            agent: "assistant".to_owned(),
            model: "small".to_owned(),
            title: "first words".to_owned(),
            named: false,
            pid: 1,
            forked_from: None,
            call: None,
            notes_starts: false,
        })
    }

    fn turn(said: usize, title: &str) -> Record {
        Record::Turn(TurnEntry {
            messages: 2 * said,
            said,
            title: title.to_owned(),
            named: false,
            usage: Usage::default(),
            money: Money::default(),
        })
    }

    fn message(bytes: usize) -> Record {
        Record::Message(Message::text(Role::User, "x".repeat(bytes)))
    }

    fn file(records: &[Record]) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, record) in records.iter().enumerate() {
            record.write(number as u64, &mut out);
        }
        out
    }

    fn summary(bytes: &[u8]) -> (Summary, usize) {
        let mut from = Counting {
            inner: Cursor::new(bytes),
            bytes: 0,
        };
        let summary = Summary::read(&mut from, bytes.len() as u64).unwrap();
        (summary, from.bytes)
    }

    #[test]
    fn both_ends_tell() {
        let check = |records: &[Record], title: &str, said: Option<usize>| {
            let (summary, _) = summary(&file(records));
            assert_eq!((summary.title.as_str(), summary.said), (title, said));
            assert_eq!(summary.problem, None);
        };
        let renamed = || Record::Renamed("Birds".to_owned());
        check(&[head(1)], "first words", None);
        check(&[head(1), message(3)], "first words", Some(1));
        check(
            &[head(1), message(3), turn(1, "first words")],
            "first words",
            Some(1),
        );
        check(
            &[head(1), turn(1, "a"), turn(2, "b"), Record::Closed],
            "b",
            Some(2),
        );
        check(
            &[head(1), turn(1, "a"), renamed(), message(9)],
            "Birds",
            Some(2),
        );
        check(&[head(1), turn(1, "a"), Record::Cleared], "a", Some(0));
        check(&[head(1), turn(2, "a"), Record::Cut(3)], "a", None);
        check(
            &[
                head(1),
                turn(2, "a"),
                Record::Cut(3),
                turn(2, "b"),
                message(9),
            ],
            "b",
            Some(3),
        );
        check(&[head(1), message(100_000), turn(9, "z")], "z", Some(9));
        check(
            &[head(1), turn(1, "a"), message(100_000)],
            "first words",
            None,
        );
    }

    #[test]
    fn the_end_of_a_subagent_stands_behind_its_turn() {
        let ended = SubagentEntry {
            end: "failed".to_owned(),
            why: Some("x".repeat(200)),
            calls: 4,
            ..SubagentEntry::default()
        };
        let record = Record::Subagent(ended.clone());
        let records = [
            head(1),
            message(100_000),
            turn(1, "a"),
            record,
            Record::Closed,
        ];
        let (ended_one, _) = summary(&file(&records));
        assert_eq!(ended_one.subagent, Some(ended));
        let (killed, _) = summary(&file(&records[..2]));
        assert_eq!(killed.subagent, None);
    }

    #[test]
    fn however_long_a_file_is_little_of_it_is_read() {
        let mut records = vec![head(1)];
        records.extend((0..2000).map(|_| message(1000)));
        records.push(turn(2000, "long"));
        let bytes = file(&records);
        let (summary, read) = summary(&bytes);
        assert_eq!((summary.title.as_str(), summary.said), ("long", Some(2000)));
        assert!(bytes.len() > 2_000_000);
        assert!(read as u64 <= HEAD_BYTES + TAIL_BYTES, "{read}");
    }

    #[test]
    fn what_cannot_be_resumed_says_so() {
        let check = |bytes: &[u8], problem: &str| {
            assert_eq!(summary(bytes).0.problem.as_deref(), Some(problem));
        };
        check(b"", "empty");
        check(b"\0\0\0", "its first line is damaged");
        check(b"hello\nworld\n", "its first line is damaged");
        check(&[b'x'; 100_000], "its first line is damaged");
        check(&file(&[head(2)]), "format 2, from a newer Dunlin");
    }
}
