//! The protocol over a real socket, with a chat that is played, and peers that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use dunlin_chat::request::editor::{EditableRequest, Outline, SectionId};
use dunlin_chat::request::measure::Measure;
use dunlin_chat::turn::PausedRequest;
use dunlin_terminal::request::paused::Paused;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::board::{Board, Chat};
use super::folder::sockets;
use super::held::Held;
use super::protocol::{Command, Conversation, MAX_COMMAND_BYTES};
use super::server::{Listening, listen};
use crate::config::request_editor::PauseMode;

/// A chat whose line is read by nobody.
#[derive(Default)]
struct Played(Mutex<PauseMode>);

impl Chat for Played {
    fn mode(&self) -> PauseMode {
        *self.0.lock().unwrap()
    }

    fn set_mode(&self, mode: PauseMode) {
        *self.0.lock().unwrap() = mode;
    }

    fn wake(&self) {}
}

fn paused(text: &str) -> Paused {
    let body = json!({"model": "small", "messages": [{"role": "user", "content": text}]});
    let outline = Outline::of_chat(&body, &[SectionId::Message(0).into()], Vec::new());
    Paused::new(PausedRequest {
        request: EditableRequest::new(Bytes::from(body.to_string()), outline),
        described: Vec::new(),
        round: 1,
        number: Some(1),
        model: "small",
        messages: &[],
        measure: Measure::default(),
        room: 30_000,
        window: None,
        must_pause: true,
        last_sent: None,
        notice: None,
    })
}

struct Stage {
    folder: tempfile::TempDir,
    board: Arc<Board>,
    _listening: Listening,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let board = Arc::new(Board::new(Box::new(Played::default())));
        let run = folder.path().join("run");
        let listening = listen(&run, &board).unwrap();
        Stage {
            folder,
            board,
            _listening: listening,
        }
    }

    fn connect(&self) -> Peer {
        Peer::new(&sockets(&self.folder.path().join("run"))[0])
    }
}

struct Peer {
    from: BufReader<UnixStream>,
    to: UnixStream,
}

impl Peer {
    fn new(path: &Path) -> Peer {
        let to = UnixStream::connect(path).unwrap();
        Peer {
            from: BufReader::new(to.try_clone().unwrap()),
            to,
        }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }

    /// The next message of this type; those before it are passed over.
    fn wait(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next();
            assert!(!message.is_null(), "closed before {kind}");
            if message["type"] == kind {
                return message;
            }
        }
    }

    fn say(&mut self, line: &Value) {
        self.to.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Reads until the connection is closed.
    fn expect_dropped(mut self) {
        let mut rest = Vec::new();
        // Reset, where something was left unread.
        let _ = self.from.read_to_end(&mut rest);
    }
}

fn edit(revision: u64, old: &str, new: &str) -> Value {
    json!({"id": 7, "op": "edit", "pause": 1, "revision": revision, "edit": {"type": "set",
        "target": {"section": "message:0", "path": "content"},
        "old": format!("{old:?}"), "new": format!("{new:?}")}})
}

/// Does commands as the chat does, until the pause is over or `count` were done.
fn does(held: &Held, paused: &mut Paused, count: usize) -> Vec<String> {
    let mut said = Vec::new();
    while said.len() < count {
        said.extend(held.run(paused));
        std::thread::yield_now();
    }
    said
}

#[test]
fn a_request_is_edited_and_sent_from_elsewhere() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    let hello = peer.next();
    assert_eq!(
        (&hello["type"], &hello["version"], &hello["mode"]),
        (&json!("hello"), &json!(1), &json!("off"))
    );
    assert_eq!(peer.next()["type"], "idle");
    let mut request = paused("count");
    let original = String::from_utf8(request.request().original().to_vec()).unwrap();
    let held = Held::new(&stage.board, &request);
    let seen = peer.wait("paused");
    assert_eq!(
        (&seen["body"], &seen["revision"]),
        (&json!(original), &json!(0))
    );
    assert_eq!(seen["outline"]["sections"][0]["id"], "message:0");
    peer.say(&edit(0, "count", "sing"));
    let said = does(&held, &mut request, 1);
    assert_eq!(
        said,
        ["edited from another terminal: section 1: content set"]
    );
    assert_eq!(peer.wait("edited")["revision"], 1);
    assert_eq!(peer.wait("done")["id"], 7);
    // Made against the state before: refused, after the state as it is was sent.
    peer.say(&edit(0, "count", "dance"));
    peer.say(&json!({"id": 8, "op": "send", "pause": 1, "revision": 1}));
    let said = does(&held, &mut request, 1);
    assert_eq!(said, ["sent from another terminal"]);
    let refused = peer.wait("refused");
    assert_eq!(
        refused["error"],
        "the request has changed since: it is at revision 1"
    );
    assert_eq!(held.take_verdict(), Some(Ok(())));
    assert!(request.request().is_dirty());
    held.sent();
    drop(held);
    let sent = peer.wait("sent");
    assert_eq!((&sent["pause"], &sent["number"]), (&json!(1), &json!(1)));
    peer.say(&edit(1, "sing", "late"));
    assert_eq!(
        peer.wait("refused")["error"],
        "this request is not paused any more"
    );
    // Who comes later sees the same.
    let mut late = stage.connect();
    late.next();
    assert_eq!(late.next()["type"], "sent");
    late.say(&json!({"id": 1, "op": "mode", "mode": "turn"}));
    assert_eq!(peer.wait("mode")["mode"], "turn");
}

#[test]
fn what_the_chat_edits_is_seen_and_undone_elsewhere() {
    let stage = Stage::new();
    let mut request = paused("count");
    let held = Held::new(&stage.board, &request);
    let mut peer = stage.connect();
    peer.wait("paused");
    request.step(|it| it.set_text(1, "sing")).unwrap();
    held.edited(request.request());
    let edited = peer.wait("edited");
    assert_eq!(edited["edits"][0]["new"], "\"sing\"");
    peer.say(&json!({"id": 1, "op": "undo", "pause": 1, "revision": 1}));
    does(&held, &mut request, 1);
    let edited = peer.wait("edited");
    assert_eq!(
        (&edited["edits"], &edited["revision"]),
        (&json!([]), &json!(2))
    );
    peer.say(&json!({"id": 2, "op": "redo", "pause": 1, "revision": 2}));
    does(&held, &mut request, 1);
    peer.say(&json!({"id": 3, "op": "reset", "pause": 1, "revision": 3}));
    does(&held, &mut request, 1);
    assert!(!request.request().is_dirty());
    peer.say(&json!({"id": 4, "op": "mode", "mode": "off"}));
    assert_eq!(does(&held, &mut request, 1).len(), 1);
    assert!(matches!(held.take_verdict(), Some(Err(_))));
    drop(held);
    peer.wait("cancelled");
}

#[test]
fn a_peer_that_hangs_holds_nobody_up() {
    let stage = Stage::new();
    let _silent = stage.connect();
    // More than a socket holds, and nobody reads it.
    let text = "tern ".repeat(400_000);
    for round in 0..4 {
        let mut request = paused(&text);
        let held = Held::new(&stage.board, &request);
        request
            .step(|it| it.set_text(1, &format!("{text}{round}")))
            .unwrap();
        held.edited(request.request());
        held.sent();
    }
    let mut peer = stage.connect();
    peer.next();
    assert_eq!(peer.next()["pause"], 4);
}

#[test]
fn floods_and_lies_end_the_connection() {
    let stage = Stage::new();
    let mut long = stage.connect();
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..=MAX_COMMAND_BYTES / piece.len() {
        if long.to.write_all(&piece).is_err() {
            break;
        }
    }
    long.expect_dropped();
    let mut wrong = stage.connect();
    for _ in 0..40 {
        // Fails once the other end is closed.
        let _ = wrong.to.write_all(b"{\"op\":\"format the disk\"}\n\xff\n");
    }
    wrong.expect_dropped();
    let mut flood = stage.connect();
    let reads = flood.to.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let _ = BufReader::new(reads).read_to_end(&mut Vec::new());
    });
    let line = format!(
        "{}\n",
        json!({"id": 1, "op": "send", "pause": 1, "revision": 0})
    );
    while flood.to.write_all(line.as_bytes()).is_ok() {}
    reader.join().unwrap();
    // The chat is as it was, for others.
    let mut peer = stage.connect();
    assert_eq!(peer.next()["type"], "hello");
    peer.say(&json!({"id": 3, "op": "send", "pause": 1, "revision": 0, "force": true}));
    assert_eq!(
        peer.wait("refused")["error"],
        "a command has no field \"force\""
    );
}

#[test]
fn requests_that_are_not_paused_are_told_once() {
    let stage = Stage::new();
    let board = &stage.board;
    let session = |id: &str| Conversation {
        session: id.to_owned(),
        ..Conversation::default()
    };
    board.converse(session("a"));
    let mut peer = stage.connect();
    peer.wait("idle");
    board.logged("a", 1);
    let sent = peer.wait("sent");
    assert_eq!((&sent["pause"], &sent["number"]), (&json!(null), &json!(1)));
    // One that was paused is known already. One of a session that was left says nothing of this conversation.
    let held = Held::new(board, &paused("count"));
    held.sent();
    drop(held);
    assert_eq!(peer.wait("sent")["pause"], 1);
    board.logged("a", 1);
    board.logged("b", 7);
    board.logged("a", 2);
    assert_eq!(peer.wait("sent")["number"], 2);
    // The same number again is another request: the session was cleared.
    board.logged("a", 2);
    assert_eq!(peer.wait("sent")["number"], 2);
    // Who comes later is told of the last one, as long as the conversation is the same.
    let mut late = stage.connect();
    assert_eq!(late.wait("sent")["pause"], 1);
    assert_eq!(late.wait("sent")["number"], 2);
    board.converse(session("b"));
    peer.wait("conversation");
    let mut later = stage.connect();
    assert_eq!(later.wait("sent")["pause"], 1);
    board.logged("b", 5);
    assert_eq!(later.wait("sent")["number"], 5);
}

#[test]
fn there_is_room_for_eight() {
    let stage = Stage::new();
    let mut peers: Vec<Peer> = (0..8).map(|_| stage.connect()).collect();
    peers.iter_mut().for_each(|peer| drop(peer.wait("hello")));
    stage.connect().expect_dropped();
}

#[test]
fn lines_that_are_commands() {
    let check = |line: &str, expected: bool| {
        assert_eq!(Command::parse(line.as_bytes()).is_ok(), expected, "{line}");
    };
    check(r#"{"id":1,"op":"send","pause":1,"revision":0}"#, true);
    check(r#"{"id":1,"op":"mode","mode":"every"}"#, true);
    check(&edit(0, "a", "b").to_string(), true);
    check(
        r#"{"id":1,"op":"edit","pause":1,"revision":0,"edit":{"type":"set","target":{"section":"options","path":"seed"},"old":null,"new":"1"}}"#,
        true,
    );
    for line in [
        "",
        "1",
        "[]",
        "{}",
        r#"{"id":1}"#,
        r#"{"op":"send","pause":1,"revision":0}"#,
        r#"{"id":-1,"op":"send","pause":1,"revision":0}"#,
        r#"{"id":1,"op":"send","pause":1}"#,
        r#"{"id":1,"op":"send","pause":1,"revision":0,"x":1}"#,
        r#"{"id":1,"op":"mode","mode":"loud"}"#,
        r#"{"id":1,"op":"edit","pause":1,"revision":0,"edit":{"type":"delete","sections":["nothing"]}}"#,
        r#"{"id":1,"op":"edit","pause":1,"revision":0,"edit":{"type":"delete","sections":["system"],"all":1}}"#,
    ] {
        check(line, false);
    }
}

proptest! {
    #[test]
    fn no_line_makes_the_parser_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..200usize) {
        let _ = Command::parse(&bytes);
        let valid = edit(3, "a", "b").to_string();
        let mut bytes = valid.into_bytes();
        let cut = cut % bytes.len();
        bytes[cut] = bytes[cut].wrapping_add(1);
        if let Ok(command) = Command::parse(&bytes) {
            let again = serde_json::to_vec(&command).unwrap();
            prop_assert_eq!(Command::parse(&again).unwrap(), command);
        }
    }
}
