//! Sessions as a chat writes them: how large their logs are, and what follows a resume.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::{Answered, Ending, Kind, RequestFile, Sent, Side};
use crate::agent::Agent;
use crate::message::{Conversation, Message, Role, ToolCall};
use crate::price::{Charge, Money};
use crate::provider::plain::Plain;
use crate::request::compose;
use crate::request::measure::{Counted, Measure};
use crate::session::record::Speaker;
use crate::session::{Session, Store};
use crate::turn::{CallRecord, CallState, Journal};
use crate::usage::Usage;

const URL: &str = "http://127.0.0.1:8080/v1/chat/completions";

/// A session with a real file, which sends what a chat would.
struct Chatting {
    _data: tempfile::TempDir,
    session: Session,
    conversation: Conversation,
    agent: Agent,
    /// The first message that is still sent.
    from: usize,
}

/// How long a body may become, in bytes: 25,000 tokens. It is a quarter of the default limit, so that the beginning of
/// the conversation is left out more often than usual.
const MAX_HISTORY_BYTES: usize = 100_000;

impl Chatting {
    fn new() -> Chatting {
        let data = tempfile::tempdir().unwrap();
        let store = Store::new(data.path(), Path::new("/p"));
        let speaker = Speaker {
            agent: "assistant".to_owned(),
            model: "small".to_owned(),
        };
        Chatting {
            session: Session::fresh(&store, "k7", speaker),
            conversation: Conversation::new(),
            agent: Agent {
                system_prompt: Some("You answer in a few words. ".repeat(40)),
                ..Agent::sample()
            },
            from: 0,
            _data: data,
        }
    }

    fn keep(&self, ended: &[CallRecord]) {
        self.session.keep(&self.conversation, ended);
    }

    fn sends(&mut self) {
        use std::borrow::Cow;
        let compose = |from: usize| {
            let messages = self.conversation.messages().iter().skip(from);
            compose(messages.map(Cow::Borrowed), &self.agent, &Plain, &[])
        };
        let mut request = compose(self.from);
        if request.bytes().len() > MAX_HISTORY_BYTES {
            // A quarter is left out in one step, as the context budget does.
            let sent = self.conversation.messages().len() - self.from;
            self.from += sent / 4;
            request = compose(self.from);
        }
        let number = self.session.sent(&Sent {
            kind: Kind::Turn,
            agent: &self.agent.name,
            subagent: None,
            model: &self.agent.model,
            endpoint: URL,
            counted: Some(&Counted {
                tokens: 1234,
                scale: Measure::default().scale(),
                window: Some(32_768),
            }),
            original: request.bytes(),
            sent: request.bytes(),
            edits: &[],
        });
        self.session.answered(
            number,
            &Answered {
                end: Ending::Answered,
                error: None,
                status: None,
                usage: Some(Usage {
                    input_tokens: 93_412,
                    cached_tokens: 92_012,
                    written_tokens: 0,
                    output_tokens: 207,
                }),
                money: Money {
                    nano_usd: 34_908_600,
                    incomplete: 0,
                },
                first_event: Some(Duration::from_micros(412_345)),
                total: Duration::from_micros(3_412_345),
            },
        );
    }

    /// A short question; every second one is answered after the model has read a file.
    fn turn(&mut self, n: usize) {
        let words = |count: usize, seed: usize| {
            let word =
                |at: usize| format!("{:x} ", (at + 1) * (seed + 17) * 2_654_435_761 % 65_521);
            let text: String = (0..).map(word).take(count).collect();
            text.chars().take(count).collect::<String>()
        };
        self.conversation.push_user(words(60, n));
        self.keep(&[]);
        self.sends();
        if n.is_multiple_of(2) {
            let id = format!("call-{n}");
            let path = format!("src/part_{n}.rs");
            let arguments = serde_json::Map::from_iter([("path".to_owned(), path.into())]);
            self.conversation.push_assistant(Message {
                tool_calls: vec![ToolCall {
                    id: id.clone(),
                    name: "read_file".to_owned(),
                    arguments: arguments.clone(),
                    raw_arguments: None,
                    number: 0,
                }],
                ..Message::text(Role::Assistant, "I will look at the file.")
            });
            self.keep(&[]);
            let result = words(4000, n + 1);
            self.conversation.push_result(&id, result.clone());
            let call = CallRecord {
                number: n,
                id,
                tool: "read_file".to_owned(),
                arguments: Value::Object(arguments),
                state: CallState::Completed,
                result: Some(result),
                duration_ms: Some(1.5),
                recovered: false,
                repaired: false,
                media: Vec::new(),
                not_media: None,
                error: None,
                failure: None,
                denied_by: None,
                edits: std::sync::Arc::default(),
                changed: None,
            };
            self.keep(&[call]);
            self.sends();
        }
        let reply = Message::text(Role::Assistant, words(800, n + 2));
        self.conversation.push_assistant(reply);
        self.keep(&[]);
        drop(
            self.session
                .turn_ended(&self.conversation, Charge::default()),
        );
    }

    /// The length of the file in bytes, and what of it is the log.
    fn sizes(&self) -> (usize, usize) {
        let bytes = std::fs::read(self.session.entry().path).unwrap();
        let is_log = |line: &[u8]| {
            line.starts_with(br#"{"type":"request""#) || line.starts_with(br#"{"type":"answer""#)
        };
        let log = bytes.split_inclusive(|byte| *byte == b'\n');
        let log = log.filter(|line| is_log(line)).map(<[u8]>::len).sum();
        (bytes.len(), log)
    }
}

#[test]
fn the_log_of_a_long_session_is_a_fraction_of_it_and_grows_linearly() {
    const TURNS: usize = 1000;
    let mut chat = Chatting::new();
    let mut half = 0;
    for n in 0..TURNS {
        chat.turn(n);
        if n + 1 == TURNS / 2 {
            half = chat.sizes().1;
        }
    }
    let (all, log) = chat.sizes();
    let without = all - log;
    println!(
        "session {without} bytes, log {log} bytes: {:.2}",
        log as f64 / without as f64
    );
    assert!(all <= 2 * without, "{all} {without}");
    // The second half is as long as the first.
    let second = log - half;
    assert!(second * 10 <= half * 12, "{half} {second}");
    // It is all there.
    let file = RequestFile::read(&chat.session.entry().path).unwrap();
    assert_eq!(file.requests().len(), TURNS + TURNS / 2);
    assert_eq!(chat.session.next_request_number(), 1501);
    for number in [1, 2, 3, 700, 1499, 1500] {
        let request = file.request(number).unwrap();
        assert_eq!(
            request.answer.as_ref().map(|it| it.end),
            Some(Ending::Answered)
        );
        assert!(file.reply(request).is_some(), "{number}");
        let body = file.body(number, Side::Sent).unwrap();
        assert!(serde_json::from_slice::<Value>(&body).is_ok());
    }
}

#[test]
fn who_watches_is_told_once_a_request_is_in_the_file() {
    let mut chat = Chatting::new();
    let (sender, told) = std::sync::mpsc::channel();
    let path = chat.session.entry().path;
    let watcher = move |number, _: Option<&str>| {
        let file = RequestFile::read(&path);
        let is_there = file.is_ok_and(|file| file.request(number).is_ok());
        sender.send((number, is_there)).unwrap();
    };
    chat.turn(0);
    chat.session.requests().watch(watcher);
    chat.turn(1);
    chat.turn(2);
    let next = chat.session.next_request_number();
    // The log, and with it the watcher, ends with the session. The file stays meanwhile.
    let Chatting { session, _data, .. } = chat;
    drop(session);
    let told: Vec<(u64, bool)> = told.iter().collect();
    let first = told.first().map_or(0, |(number, _)| *number);
    assert!(first > 1, "{told:?}");
    let expected: Vec<(u64, bool)> = (first..next).map(|number| (number, true)).collect();
    assert_eq!(told, expected);
}

/// As long as whoever watches takes its time, the thread of the log comes to no other request.
#[test]
fn an_answer_waits_for_its_own_request_and_for_no_other() {
    let mut chat = Chatting::new();
    chat.turn(0);
    let session = &chat.session;
    let (told, is_told) = std::sync::mpsc::channel();
    let (goes_on, wait) = std::sync::mpsc::channel::<()>();
    session.requests().watch(move |number, _: Option<&str>| {
        let _ = told.send(number);
        let _ = wait.recv();
    });
    let body = bytes::Bytes::from_static(b"{}");
    let send = || {
        session.sent(&Sent {
            kind: Kind::Turn,
            agent: "",
            subagent: None,
            model: "",
            endpoint: URL,
            counted: None,
            original: &body,
            sent: &body,
            edits: &[],
        })
    };
    let first = send();
    while is_told.recv().unwrap() != first {
        goes_on.send(()).unwrap();
    }
    let second = send();
    let answered = Answered {
        end: Ending::Answered,
        error: None,
        status: None,
        usage: None,
        money: Money::default(),
        first_event: None,
        total: Duration::ZERO,
    };
    session.answered(first, &answered);
    let file = RequestFile::read(&session.entry().path).unwrap();
    assert!(file.request(first).unwrap().answer.is_some());
    assert!(file.request(second).is_err(), "it is not written yet");
    drop(goes_on);
    session.answered(second, &answered);
    let file = RequestFile::read(&session.entry().path).unwrap();
    assert!(file.request(second).unwrap().answer.is_some());
}

#[test]
fn numbers_continue_over_a_resume() {
    let mut chat = Chatting::new();
    chat.turn(0);
    chat.turn(1);
    let (store, entry) = (
        Store::new(chat._data.path(), Path::new("/p")),
        chat.session.entry(),
    );
    drop(chat.session);
    let (session, loaded) = Session::open(&store, &entry).unwrap();
    assert_eq!(loaded.damage.notice(), None);
    assert_eq!((loaded.last_request, session.next_request_number()), (3, 4));
    chat.session = session;
    chat.turn(2);
    let file = RequestFile::read(&entry.path).unwrap();
    let numbers: Vec<u64> = file.requests().iter().map(|it| it.entry.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    for number in numbers {
        file.body(number, Side::Sent).unwrap();
    }
    assert_eq!(file.request(4).unwrap().entry.base, Some(3));
}
