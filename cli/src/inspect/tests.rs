//! The protocol over a real socket, with a chat that is played, and peers that misbehave.

mod connections;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use dunlin_chat::request::editor::{EditableRequest, Outline, SectionId};
use dunlin_chat::turn::PausedRequest;
use dunlin_terminal::request::paused::Paused;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::folder::sockets;
use super::protocol::{
    Conversation, MAX_COMMAND_BYTES, MAX_ERROR_CHARS, MAX_SUBAGENT_CHARS, Pauses, Subagent,
    Subagents,
};
use super::remote_pause::RemotePause;
use super::server::{ChatState, ClientState, Listening, listen};
use super::shared_state::{Chat, SharedState};
use crate::config::request_editor::PauseMode;

/// How long a peer waits for a message: without it, one that does not come would hang the test.
const DEADLINE: Duration = Duration::from_secs(60);

/// A chat whose line is read by nobody.
#[derive(Clone, Default)]
struct Played {
    mode: Arc<Mutex<PauseMode>>,
    wakes: Arc<AtomicUsize>,
    subagents: Arc<Mutex<Vec<Subagent>>>,
}

impl Chat for Played {
    fn pauses(&self) -> Pauses {
        let mode = *self.mode.lock().unwrap();
        let shown = format!("{} tools", mode.as_str());
        Pauses { mode, shown }
    }

    fn subagents(&self) -> Subagents {
        Subagents::shortened(self.subagents.lock().unwrap().clone())
    }

    fn set_mode(&self, mode: PauseMode) {
        *self.mode.lock().unwrap() = mode;
    }

    fn wake(&self) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
    }
}

fn paused(text: &str) -> Paused {
    let body = json!({"model": "small", "messages": [{"role": "user", "content": text}]});
    of(
        &body,
        &Outline::of_chat(&body, &[SectionId::Message(0).into()], Vec::new()),
    )
}

fn of(body: &Value, outline: &Outline) -> Paused {
    Paused::new(PausedRequest {
        number: Some(1),
        time: Timestamp::from_millisecond(1_772_323_200_000).ok(),
        model: "small",
        max_request_tokens: 30_000,
        ..PausedRequest::new(EditableRequest::new(
            Bytes::from(body.to_string()),
            outline.clone(),
        ))
    })
}

struct Stage {
    folder: tempfile::TempDir,
    chat: Played,
    shared: Arc<SharedState>,
    _listening: Listening,
}

impl Stage {
    fn new() -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let chat = Played::default();
        let shared = Arc::new(SharedState::new(Box::new(chat.clone())));
        let run = folder.path().join("run");
        let listening = listen(&run, &shared).unwrap();
        Stage {
            folder,
            chat,
            shared,
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
        to.set_read_timeout(Some(DEADLINE)).unwrap();
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

    /// Reads until the connection is closed. Why it was.
    fn expect_dropped(mut self) -> String {
        let mut rest = Vec::new();
        // Reset, where something was left unread.
        let _ = self.from.read_to_end(&mut rest);
        let rest = String::from_utf8_lossy(&rest).into_owned();
        let last: Value = serde_json::from_str(rest.lines().last().unwrap_or_default()).unwrap();
        assert_eq!((&last["type"], &last["id"]), (&json!("refused"), &json!(0)));
        last["error"].as_str().unwrap().to_owned()
    }

    /// The error with which a command is refused.
    fn refused(&mut self, command: &Value) -> String {
        self.say(command);
        let error = self.wait("refused")["error"].as_str().unwrap().to_owned();
        assert!(error.chars().count() <= MAX_ERROR_CHARS, "{error}");
        error
    }
}

/// A command for the first pause.
fn command(op: &str, revision: &Value) -> Value {
    json!({"id": 7, "op": op, "pause": 1, "revision": revision})
}

fn edit(revision: &Value, old: &str, new: &str) -> Value {
    json!({"id": 7, "op": "edit", "pause": 1, "revision": revision, "edit": {"type": "set",
        "target": {"section": "message:0", "path": "content"},
        "old": format!("{old:?}"), "new": format!("{new:?}")}})
}

/// Does commands as the chat does, until the pause is over or `count` were done.
fn does(remote: &RemotePause, paused: &mut Paused, count: usize) -> Vec<String> {
    let mut said = Vec::new();
    until(|| {
        said.extend(remote.run(paused));
        said.len() >= count
    });
    said
}

/// Waits for another thread.
fn until(mut is_so: impl FnMut() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

#[test]
fn a_request_is_edited_and_sent_from_elsewhere() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    let hello = peer.next();
    assert_eq!(
        (&hello["type"], &hello["version"], &hello["mode"]),
        (
            &json!("hello"),
            &json!(super::protocol::VERSION),
            &json!("off")
        )
    );
    assert!(hello["active"].as_u64() > Some(0));
    assert_eq!(peer.next()["type"], "idle");
    let mut request = paused("count");
    let original = String::from_utf8(request.request().original().to_vec()).unwrap();
    let remote = RemotePause::new(&stage.shared, &request);
    let seen = peer.wait("paused");
    assert_eq!(seen["body"], original);
    assert_eq!(seen["time"], 1_772_323_200_000_u64);
    assert!(seen["active"].as_u64() >= hello["active"].as_u64());
    assert_eq!(seen["outline"]["sections"][0]["id"], "message:0");
    let before = &seen["revision"];
    assert_eq!(before.as_str().map(str::len), Some(16));
    peer.say(&edit(before, "count", "sing"));
    let said = does(&remote, &mut request, 1);
    assert_eq!(
        said,
        ["edited from another terminal: section 1: content set"]
    );
    let edited = peer.wait("edited")["revision"].clone();
    assert_eq!(peer.wait("done")["id"], 7);
    // Made against the state before: refused.
    let refused = peer.refused(&edit(before, "count", "dance"));
    assert_eq!(refused, "the request has changed since");
    peer.say(&command("send", &edited));
    let said = does(&remote, &mut request, 1);
    assert_eq!(said, ["sent from another terminal"]);
    assert_eq!(remote.take_verdict(), Some(Ok(())));
    assert!(request.request().is_dirty());
    remote.sent();
    drop(remote);
    let sent = peer.wait("sent");
    assert_eq!((&sent["pause"], &sent["number"]), (&json!(1), &json!(1)));
    let refused = peer.refused(&edit(&edited, "sing", "late"));
    assert_eq!(refused, "this request is not paused any more");
    // Who comes later knows nothing of that pause.
    let mut late = stage.connect();
    late.next();
    assert_eq!(late.next()["type"], "idle");
    late.say(&json!({"id": 1, "op": "mode", "mode": "turn"}));
    assert_eq!(peer.wait("mode")["mode"], "turn");
}

#[test]
fn a_command_acts_on_the_state_it_was_made_for() {
    let stage = Stage::new();
    let (mut first, mut second) = (stage.connect(), stage.connect());
    let mut request = paused("my password");
    let remote = RemotePause::new(&stage.shared, &request);
    let before = first.wait("paused")["revision"].clone();
    assert_eq!(second.wait("paused")["revision"], before);
    second.say(&edit(&before, "my password", "my password and my number"));
    does(&remote, &mut request, 1);
    let edited = second.wait("edited")["revision"].clone();
    second.wait("done");
    // The other inspector does not know yet, and sends what it has edited. No revision can be guessed.
    first.refused(&edit(&before, "my password", "nothing"));
    for guessed in [
        before.clone(),
        json!("1"),
        json!(""),
        json!("0000000000000001"),
    ] {
        for op in ["send", "cancel", "undo", "redo"] {
            first.refused(&command(op, &guessed));
        }
    }
    // Nobody was disturbed for any of that, and the same text again is another state.
    assert!(remote.run(&mut request).is_empty());
    second.say(&command("undo", &edited));
    does(&remote, &mut request, 1);
    let undone = second.wait("edited")["revision"].clone();
    assert!(undone != before && undone != edited);
    first.refused(&command("send", &before));
    // A command that waits while the user edits is refused, too.
    first.say(&command("send", &undone));
    until(|| stage.shared.waiting() == 1);
    request.step(|it| it.set_text(1, "changed here")).unwrap();
    assert!(remote.run(&mut request).is_empty());
    assert_eq!(
        first.wait("refused")["error"],
        "the request has changed since"
    );
    assert_eq!(remote.take_verdict(), None);
}

#[test]
fn what_changes_nothing_wakes_nobody() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    let mut request = paused("count");
    let remote = RemotePause::new(&stage.shared, &request);
    let revision = peer.wait("paused")["revision"].clone();
    let refused = [
        command("undo", &revision),
        command("redo", &revision),
        command("send", &json!("x")),
        json!({"id": 1, "op": "send", "pause": 2, "revision": revision}),
        edit(&revision, "something else", "x"),
        json!({"id": 1, "op": "edit", "pause": 1, "revision": revision, "edit": {"type": "reset"}}),
        json!({"id": 1, "op": "edit", "pause": 1, "revision": revision,
            "edit": {"type": "restore", "sections": ["message:0"]}}),
        json!({"id": 1, "op": "format the disk"}),
        json!({"id": 1, "op": "mode", "mode": "off", "pause": 1, "revision": "x"}),
    ];
    for command in &refused {
        peer.refused(command);
    }
    peer.say(&json!({"id": 1, "op": "mode", "mode": "every"}));
    peer.wait("done");
    assert_eq!(stage.chat.wakes.load(Ordering::Relaxed), 0);
    peer.say(&edit(&revision, "count", "sing"));
    does(&remote, &mut request, 1);
    peer.wait("done");
    assert!(stage.chat.wakes.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_request_that_cannot_be_sent_wakes_nobody() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    let mut request = paused("count");
    let remote = RemotePause::new(&stage.shared, &request);
    peer.wait("paused");
    request
        .step(|it| it.set_text(1, &"terns ".repeat(40_000)))
        .unwrap();
    assert!(request.problem().is_some());
    remote.publish(&request);
    let revision = peer.wait("edited")["revision"].clone();
    let refused = peer.refused(&command("send", &revision));
    assert!(refused.starts_with("not sent: "), "{refused}");
    assert_eq!(stage.chat.wakes.load(Ordering::Relaxed), 0);
}

#[test]
fn a_mode_cancels_only_the_request_that_it_names() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    let mut request = paused("count");
    let remote = RemotePause::new(&stage.shared, &request);
    let revision = peer.wait("paused")["revision"].clone();
    for mode in ["every", "off"] {
        peer.say(&json!({"id": 1, "op": "mode", "mode": mode}));
        assert_eq!(peer.wait("mode")["mode"], mode);
        peer.wait("done");
    }
    assert!(remote.run(&mut request).is_empty());
    assert_eq!(remote.take_verdict(), None);
    // Another mode than `off` cancels nothing.
    peer.say(&json!({"id": 1, "op": "mode", "mode": "turn", "pause": 1, "revision": revision}));
    peer.wait("done");
    assert!(remote.run(&mut request).is_empty());
    peer.say(&json!({"id": 1, "op": "mode", "mode": "off", "pause": 1, "revision": revision}));
    assert_eq!(does(&remote, &mut request, 1).len(), 1);
    assert!(matches!(remote.take_verdict(), Some(Err(_))));
    drop(remote);
    peer.wait("cancelled");
    assert_eq!(*stage.chat.mode.lock().unwrap(), PauseMode::Off);
}

#[test]
fn what_the_chat_edits_is_seen_and_undone_elsewhere() {
    let stage = Stage::new();
    let mut request = paused("count");
    let remote = RemotePause::new(&stage.shared, &request);
    let mut peer = stage.connect();
    peer.wait("paused");
    request.step(|it| it.set_text(1, "sing")).unwrap();
    remote.publish(&request);
    let edited = peer.wait("edited");
    assert_eq!(edited["edits"][0]["new"], "\"sing\"");
    peer.say(&command("undo", &edited["revision"]));
    does(&remote, &mut request, 1);
    let undone = peer.wait("edited");
    assert_eq!(undone["edits"], json!([]));
    peer.say(&command("redo", &undone["revision"]));
    does(&remote, &mut request, 1);
    let redone = peer.wait("edited")["revision"].clone();
    peer.say(
        &json!({"id": 3, "op": "edit", "pause": 1, "revision": redone, "edit": {"type": "reset"}}),
    );
    does(&remote, &mut request, 1);
    assert!(!request.request().is_dirty());
}

#[test]
fn many_bytes_of_edits_are_told_as_the_request_that_they_make() {
    let stage = Stage::new();
    let mut request = paused("count");
    let remote = RemotePause::new(&stage.shared, &request);
    let mut peer = stage.connect();
    peer.wait("paused");
    let long = |letter: &str| letter.repeat(3 * 1024 * 1024);
    for letter in ["a", "b", "c", "d", "e"] {
        let text = long(letter);
        request.step(|it| it.set_text(1, &text)).unwrap();
        remote.publish(&request);
        let told = loop {
            let told = peer.next();
            if told["type"] == "edited" || told["type"] == "paused" {
                break told;
            }
        };
        let edits = told["edits"].as_array().unwrap().len();
        match told["type"].as_str().unwrap() {
            "edited" => assert!(edits > 0 && letter < "d"),
            _ => {
                assert_eq!((edits, &told["undone"]), (0, &json!([])));
                assert!(told["body"].as_str().unwrap().contains(&text));
            }
        }
        // It can be edited as before.
        if letter == "e" {
            peer.say(&edit(&told["revision"], &text, "short"));
            does(&remote, &mut request, 1);
            peer.wait("done");
        }
    }
    assert!(String::from_utf8_lossy(request.request().bytes()).contains("short"));
    // What is few bytes again is told from the beginning.
    while !request.request().edits().is_empty() {
        request.step(EditableRequest::undo).unwrap();
    }
    request.step(|it| it.set_text(1, "sing")).unwrap();
    remote.publish(&request);
    let told = loop {
        let told = peer.wait("paused");
        if told["edits"].as_array().is_some_and(|it| !it.is_empty()) {
            break told;
        }
    };
    assert_eq!(told["edits"][0]["old"], "\"count\"");
}

#[test]
fn a_composed_request_leaves_out_what_is_deleted() {
    let stage = Stage::new();
    let messages: Vec<Value> = ["one", "two", "three"]
        .map(|text| json!({"role": "user", "content": text}))
        .into();
    let body = json!({"model": "small", "messages": messages});
    let ids = [0, 1, 2].map(|index| SectionId::Message(index).into());
    let mut request = of(&body, &Outline::of_chat(&body, &ids, Vec::new()));
    let remote = RemotePause::new(&stage.shared, &request);
    let long = "x".repeat(9 * 1024 * 1024);
    for text in [long.as_str(), "new"] {
        request.step(|it| it.set_text(3, text)).unwrap();
    }
    request
        .step(|it| {
            it.apply(
                serde_json::from_value(json!({"type": "delete", "sections": ["message:0"]}))
                    .unwrap(),
            )
        })
        .unwrap();
    remote.publish(&request);
    let told = stage.connect().wait("paused");
    let sections = told["outline"]["sections"].as_array().unwrap();
    let ids: Vec<&Value> = sections.iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, ["message:1", "message:2", "options"]);
    // The inspector takes it apart as the chat does.
    let body: Value = serde_json::from_str(told["body"].as_str().unwrap()).unwrap();
    let outline = serde_json::from_value(told["outline"].clone()).unwrap();
    let seen = EditableRequest::new(Bytes::from(body.to_string()), outline);
    assert_eq!(seen.sections().len(), 3);
    assert!(seen.text(2).unwrap().contains("new"));
}

#[test]
fn subagents_are_told_as_they_are_now() {
    let stage = Stage::new();
    let mut early = stage.connect();
    early.wait("idle");
    let research = Subagent {
        number: 1,
        name: "research 1".to_owned(),
        state: "read_file ".repeat(1_000),
        ..Subagent::default()
    };
    let set = |subagents: &[Subagent]| {
        *stage.chat.subagents.lock().unwrap() = subagents.to_vec();
        stage.shared.notify();
    };
    set(std::slice::from_ref(&research));
    let told = early.wait("subagents")["subagents"].clone();
    assert_eq!(
        (&told[0]["name"], &told[0]["end"]),
        (&json!("research 1"), &Value::Null)
    );
    let state = told[0]["state"].as_str().unwrap();
    assert_eq!(state.chars().count(), MAX_SUBAGENT_CHARS);
    // Whoever comes later is told before anything is new.
    let mut late = stage.connect();
    assert_eq!(late.next()["type"], "hello");
    assert_eq!(late.next()["subagents"], told);
    assert_eq!(late.next()["type"], "idle");
    // What has not changed is not told again.
    stage.shared.notify();
    let ended = Subagent {
        end: Some("answered".to_owned()),
        request: Some(7),
        state: String::new(),
        ..research
    };
    set(&[ended]);
    let told = late.next();
    assert_eq!(
        (&told["type"], &told["subagents"][0]["request"]),
        (&json!("subagents"), &json!(7))
    );
    set(&[]);
    assert_eq!(late.wait("subagents")["subagents"], json!([]));
}

#[test]
fn a_pause_is_over_for_those_who_saw_it() {
    let stage = Stage::new();
    let shared = &stage.shared;
    let kinds = |client: &mut ClientState| -> Vec<Value> {
        let updates = client.updates(&shared.now(), &ChatState::default());
        updates
            .iter()
            .map(|it| serde_json::to_value(it).unwrap())
            .map(|it| json!([it["type"], it["pause"]]))
            .collect()
    };
    let pause = |is_sent: bool| {
        let remote = RemotePause::new(shared, &paused("count"));
        if is_sent {
            remote.sent();
        }
    };
    let (mut client, _) = ClientState::greet(&shared.now(), &ChatState::default());
    // A whole pause between two looks.
    pause(true);
    assert_eq!(kinds(&mut client), [] as [Value; 0]);
    let second = RemotePause::new(shared, &paused("count"));
    assert_eq!(kinds(&mut client), [json!(["paused", 2])]);
    second.sent();
    drop(second);
    pause(false);
    let fourth = RemotePause::new(shared, &paused("count"));
    assert_eq!(
        kinds(&mut client),
        [json!(["sent", 2]), json!(["paused", 4])]
    );
    drop(fourth);
    pause(true);
    assert_eq!(kinds(&mut client), [json!(["cancelled", 4])]);
    // The conversation that comes after it, if nobody looks in between.
    let seen = RemotePause::new(shared, &paused("count"));
    kinds(&mut client);
    drop(seen);
    shared.set_conversation(Conversation {
        session: "b2cdq8rs".to_owned(),
        ..Conversation::default()
    });
    assert_eq!(
        kinds(&mut client),
        [json!(["cancelled", 6]), json!(["conversation", null])]
    );
    // So many that nobody knows any more.
    let seen = RemotePause::new(shared, &paused("count"));
    kinds(&mut client);
    drop(seen);
    (0..100).for_each(|_| pause(true));
    assert_eq!(kinds(&mut client), [json!(["idle", null])]);
}

#[test]
fn requests_that_are_not_paused_are_told_once() {
    let stage = Stage::new();
    let shared = &stage.shared;
    let session = |id: &str| Conversation {
        session: id.to_owned(),
        ..Conversation::default()
    };
    shared.set_conversation(session("a"));
    let mut peer = stage.connect();
    peer.wait("idle");
    shared.logged("a", 1);
    let sent = peer.wait("sent");
    assert_eq!(sent, json!({"type": "sent", "number": 1}));
    // One that was paused is known already. One of a session that was left says nothing of this conversation.
    let remote = RemotePause::new(shared, &paused("count"));
    peer.wait("paused");
    remote.sent();
    drop(remote);
    assert_eq!(peer.wait("sent")["pause"], 1);
    shared.logged("a", 1);
    // Who comes later has not seen that pause.
    assert_eq!(
        stage.connect().wait("sent"),
        json!({"type": "sent", "number": 1})
    );
    shared.logged("b", 7);
    shared.logged("a", 2);
    assert_eq!(peer.wait("sent")["number"], 2);
    // The same number again is another request: the session was cleared.
    shared.logged("a", 2);
    assert_eq!(peer.wait("sent")["number"], 2);
    // Who comes later is told of the last one, as long as the conversation is the same.
    let mut late = stage.connect();
    assert_eq!(late.wait("sent")["number"], 2);
    shared.set_conversation(session("b"));
    peer.wait("conversation");
    let mut later = stage.connect();
    assert_eq!(later.next()["type"], "hello");
    assert_eq!(later.next()["type"], "idle");
    shared.logged("b", 5);
    assert_eq!(later.wait("sent")["number"], 5);
}

#[test]
fn a_conversation_gets_one_title() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    assert_eq!(peer.next()["title"], "");
    stage.shared.set_title(|| "count the birds".to_owned());
    assert_eq!(peer.wait("conversation")["title"], "count the birds");
    stage.shared.set_title(|| "another".to_owned());
    assert_eq!(stage.connect().next()["title"], "count the birds");
}
