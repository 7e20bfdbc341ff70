use std::fs;
use std::path::Path;

use super::*;
use crate::media::samples::{document, picture};
use crate::message::{Message, Role, ToolCall, UserMessage};
use crate::price::Charge;
use crate::turn::CallState;

struct World {
    _data: tempfile::TempDir,
    store: Store,
    session: Session,
    conversation: Conversation,
}

fn speaker(model: &str) -> Speaker {
    Speaker {
        agent: "assistant".to_owned(),
        model: model.to_owned(),
    }
}

/// Whoever looks for a title at the same time begins one session of it.
#[test]
fn a_title_is_given_once() {
    let world = World::new();
    let begin = |id: &str| {
        let session = Session::fresh(&world.store, id, speaker("small"));
        (session.begin_titled("notes"), session)
    };
    let begun: Vec<_> = std::thread::scope(|scope| {
        let ids = ["k7", "k8", "k9", "m7", "m8", "m9"];
        let threads: Vec<_> = ids.map(|id| scope.spawn(move || begin(id))).into();
        threads.into_iter().map(|it| it.join().unwrap()).collect()
    });
    let (first, others): (Vec<_>, Vec<_>) = begun.iter().partition(|(begun, _)| begun.is_ok());
    assert_eq!((first.len(), others.len()), (1, 5), "{begun:?}");
    for (error, session) in others {
        let is_it = matches!(error, Err(StoreError::Begun { title }) if title == "notes");
        assert!(is_it && !session.exists(), "{error:?}");
    }
    let found = world.store.find(Some("notes")).unwrap();
    assert_eq!(found, first[0].1.entry());
    // Nobody else may have it before it is closed, and where nothing was said it is gone.
    let opened = Session::open(&world.store, &found).map(|_| ());
    assert!(
        matches!(opened, Err(StoreError::Locked { .. })),
        "{opened:?}"
    );
    first[0].1.unsent(None);
    assert!(!found.path.exists());
    let again = Session::fresh(&world.store, "n7", speaker("small"));
    again.begin_titled("notes").unwrap();
    let mut conversation = Conversation::new();
    conversation.push_user("hello");
    again.keep(&conversation, &[]);
    again.unsent(None);
    let entry = again.entry();
    drop(again);
    let loaded = entry.load().unwrap();
    assert_eq!((loaded.title.as_str(), loaded.named), ("notes", true));
    assert_eq!(loaded.messages.len(), 1);
}

impl World {
    fn new() -> World {
        let data = tempfile::tempdir().unwrap();
        let store = Store::new(data.path(), Path::new("/p"));
        World {
            session: Session::fresh(&store, "k7", speaker("small")),
            store,
            conversation: Conversation::new(),
            _data: data,
        }
    }

    fn user(&mut self, text: &str) {
        self.conversation.push_user(text);
        self.session.keep(&self.conversation, &[]);
    }

    fn model(&mut self, text: &str) {
        let message = Message::text(Role::Assistant, text);
        self.conversation.push_assistant(message);
        self.session.keep(&self.conversation, &[]);
    }

    fn path(&self) -> std::path::PathBuf {
        self.session.entry().path
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// The types of the records in the file.
    fn kinds(&self) -> Vec<String> {
        let kind = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            value["type"].as_str().unwrap_or("?").to_owned()
        };
        self.text().lines().map(kind).collect()
    }

    /// The conversation as somebody would find it now.
    #[track_caller]
    fn assert_kept(&self) {
        let loaded = self.session.entry().load().unwrap();
        assert_eq!(loaded.messages, self.conversation.messages());
        assert_eq!(loaded.damage.notice(), None);
    }

    /// Ends as a killed process does, without a word, and goes on.
    fn killed(&mut self) -> Loaded {
        self.forget();
        self.open()
    }

    fn forget(&mut self) {
        let entry = self.session.entry();
        let fresh = Session::fresh(&self.store, "unused", speaker("small"));
        let session = std::mem::replace(&mut self.session, fresh);
        // The lock goes with the file, and nothing is said.
        session.lock().file = None;
        session.lock().begun = false;
        drop(session);
        self.session.lock().entry = entry;
    }

    fn open_again(&mut self) -> Loaded {
        let entry = self.session.entry();
        self.session = Session::fresh(&self.store, "unused", speaker("small"));
        self.session.lock().entry = entry;
        self.open()
    }

    fn open(&mut self) -> Loaded {
        let (session, loaded) = Session::open(&self.store, &self.session.entry()).unwrap();
        self.conversation = Conversation::from_messages(loaded.messages.clone());
        self.session = session;
        loaded
    }
}

fn asks(ids: &[&str]) -> Message {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "read_file".to_owned(),
        arguments: serde_json::Map::new(),
        raw_arguments: None,
        number: 0,
    };
    Message {
        tool_calls: ids.iter().map(call).collect(),
        ..Message::text(Role::Assistant, "I look")
    }
}

fn ended(id: &str, result: &str) -> CallRecord {
    CallRecord {
        number: 0,
        id: id.to_owned(),
        tool: "read_file".to_owned(),
        arguments: serde_json::json!({}),
        state: CallState::Completed,
        result: Some(result.to_owned()),
        duration_ms: Some(1.0),
        recovered: false,
        repaired: false,
        media: Vec::new(),
        not_media: None,
        error: None,
        failure: None,
        edits: std::sync::Arc::default(),
        changed: None,
        denied_by: None,
    }
}

#[test]
fn each_event_is_in_the_file_at_once() {
    let mut world = World::new();
    assert!(!world.session.exists());
    world.user("What is in a?");
    assert_eq!(world.kinds(), ["session", "message"]);
    assert_eq!(world.session.title(), "What is in a?");
    world.assert_kept();
    world.session.text("I ");
    assert_eq!(world.kinds().len(), 2);
    world.session.text("look\nand ");
    assert_eq!(world.kinds().last().unwrap(), "stream");
    world.session.text("think");
    world.conversation.push_assistant(asks(&["a", "b"]));
    world.session.keep(&world.conversation, &[]);
    assert_eq!(world.kinds().len(), 4);
    world.session.keep(&world.conversation, &[ended("b", "2")]);
    // The last one, and the results come into the conversation with it.
    world.conversation.push_result("a", "1");
    world.conversation.push_result("b", "2");
    world.session.keep(&world.conversation, &[ended("a", "1")]);
    assert_eq!(world.kinds()[4..], ["call", "call"]);
    world.assert_kept();
    world.model("Done.");
    let sync = world
        .session
        .turn_ended(&world.conversation, Charge::default());
    sync.unwrap().run();
    assert_eq!(world.kinds()[6..], ["message", "turn"]);
    world.assert_kept();
    assert_eq!(world.session.take_trouble(), None);
}

#[test]
fn a_reply_of_calls_that_end_at_once_is_kept() {
    let mut world = World::new();
    world.user("go");
    world.conversation.push_assistant(asks(&["a"]));
    world.conversation.push_result("a", "ERROR: no");
    world
        .session
        .keep(&world.conversation, &[ended("a", "ERROR: no")]);
    assert_eq!(world.kinds()[2..], ["message", "call"]);
    world.assert_kept();
    // A result that no call told of is a message.
    world.conversation.push_assistant(asks(&["b"]));
    world.conversation.push_result("b", "lost");
    world.session.keep(&world.conversation, &[]);
    assert_eq!(world.kinds()[4..], ["message", "message"]);
    world.assert_kept();
}

#[test]
fn whatever_streams_in_waits_for_less_than_a_row() {
    let mut world = World::new();
    world.user("go");
    for _ in 0..100 {
        world.session.text("word ");
    }
    let loaded = world.session.entry().load().unwrap();
    let kept = loaded.messages[1].content.len();
    assert!((500 - MAX_WAITING_BYTES..=500).contains(&kept), "{kept}");
    assert!(loaded.messages[1].partial);
    let writes = world.kinds().len();
    assert!(writes < 20, "{writes}");
}

#[test]
fn a_killed_session_is_gone_on_with() {
    let mut world = World::new();
    world.user("What is in a?");
    world.conversation.push_assistant(asks(&["a", "b"]));
    world.session.keep(&world.conversation, &[ended("a", "1")]);
    let not_started = world.killed();
    assert_eq!(
        not_started.messages[3].content,
        crate::session::reader::NOT_STARTED
    );
    world.session.started("b");
    let loaded = world.killed();
    assert_eq!((loaded.complete, loaded.messages.len()), (2, 4));
    assert_eq!(
        loaded.messages[3].content,
        crate::session::reader::INTERRUPTED
    );
    // Looking changes nothing.
    let before = world.text();
    drop(world.open_again());
    assert_eq!(world.text(), before);
    // What was made up is written with what comes.
    world.user("and?");
    world.assert_kept();
    world.session.text("a whole line\nand half");
    let loaded = world.killed();
    assert_eq!(
        loaded.messages.last().unwrap().content,
        "a whole line\nand half"
    );
    world.user("go on");
    world.assert_kept();
    assert_eq!(
        world
            .kinds()
            .iter()
            .filter(|kind| *kind == "opened")
            .count(),
        3
    );
}

#[test]
fn a_torn_file_is_gone_on_with_on_a_new_line() {
    let mut world = World::new();
    world.user("one");
    world.forget();
    let mut bytes = fs::read(world.path()).unwrap();
    bytes.extend(b"{\"type\":\"message\",\"n\":2,\"mess");
    fs::write(world.path(), &bytes).unwrap();
    let loaded = world.open();
    assert!(loaded.damage.notice().is_some());
    world.user("two");
    // Nothing of what was there is gone.
    assert!(fs::read(world.path()).unwrap().starts_with(&bytes));
    let loaded = world.session.entry().load().unwrap();
    assert_eq!(loaded.messages, world.conversation.messages());
    assert_eq!(loaded.damage.broken, 1);
}

#[test]
fn two_never_write_one_session() {
    let mut world = World::new();
    world.user("one");
    let entry = world.session.entry();
    let error = Session::open(&world.store, &entry).unwrap_err();
    let pid = std::process::id();
    assert!(matches!(&error, StoreError::Locked { pid: Some(found), .. } if *found == pid));
    assert!(error.hint().unwrap().contains("fork k7"));
    // Its name is taken for others, too.
    let other = Session::fresh(&world.store, "k7", speaker("small"));
    other.keep(&world.conversation, &[]);
    assert_ne!(other.id(), "k7");
    assert_eq!(world.session.entry().load().unwrap().messages.len(), 1);
    drop(other);
    world.session = Session::fresh(&world.store, "other", speaker("small"));
    assert!(Session::open(&world.store, &entry).is_ok());
}

#[test]
fn a_disk_that_fails_is_said_once_and_made_up_for() {
    let mut world = World::new();
    world.user("one");
    // A file that takes nothing: it can only be read.
    let path = world.path();
    world.session.lock().file = Some(File::open(&path).unwrap());
    world.model("1");
    let trouble = world.session.take_trouble().unwrap();
    assert!(
        trouble.starts_with("the session cannot be saved in "),
        "{trouble}"
    );
    world.user("two");
    world.session.text("a line\n");
    assert_eq!(world.session.take_trouble(), None);
    assert!(world.session.is_failing());
    assert_eq!(world.session.entry().load().unwrap().messages.len(), 1);
    world.session.lock().file = Some(open_to_append(&world.session.entry()).unwrap());
    world.model("2");
    let told = world.session.take_trouble().unwrap();
    assert_eq!(
        told,
        "the session is saved again, with all that was missing"
    );
    world.assert_kept();
}

#[test]
fn a_folder_that_cannot_be_made_stops_nothing() {
    let mut world = World::new();
    fs::write(world.store.folder(), "no folder").unwrap();
    world.user("one");
    assert!(world.session.take_trouble().is_some());
    world.model("1");
    assert_eq!(world.session.take_trouble(), None);
    fs::remove_file(world.store.folder()).unwrap();
    world.user("two");
    assert!(world.session.take_trouble().is_some());
    world.assert_kept();
}

#[test]
fn what_is_forgotten_or_taken_back_is_so_when_resumed() {
    let mut world = World::new();
    world.user("one");
    world.model("1");
    world.user("two");
    world.model("2");
    let kept = world.conversation.messages()[..2].to_vec();
    world.conversation = Conversation::from_messages(kept);
    world.session.cut(2);
    world.assert_kept();
    world.user("three");
    world.assert_kept();
    world.conversation.clear();
    world.session.clear();
    world.assert_kept();
    assert_eq!(world.session.title(), "");
    world.user("four");
    world.assert_kept();
    assert_eq!(world.session.title(), "four");
    world.session.rename("Numbers");
    world.conversation.clear();
    world.session.clear();
    world.user("five");
    let loaded = world.killed();
    assert_eq!((loaded.title.as_str(), loaded.named), ("Numbers", true));
}

#[test]
fn who_answers_is_noted_when_it_changes() {
    let mut world = World::new();
    world.session.speaks("assistant", "small");
    world.user("one");
    world.session.speaks("assistant", "small");
    world.user("two");
    world.session.speaks("assistant", "large");
    world.user("three");
    assert_eq!(
        world.kinds(),
        ["session", "message", "message", "speaker", "message"]
    );
    let loaded = world.session.entry().load().unwrap();
    assert_eq!(loaded.speaker, Some(speaker("large")));
}

#[test]
fn a_copy_has_everything_and_the_original_stays() {
    let mut world = World::new();
    world.user("go");
    world.conversation.push_assistant(asks(&["a"]));
    world.conversation.push_result("a", "1");
    world.session.keep(&world.conversation, &[ended("a", "1")]);
    world.session.rename("Birds");
    let before = world.text();
    let entry = world.session.entry();
    let loaded = entry.load().unwrap();
    let copy = Session::fork(&world.store, "zz", &entry, &loaded).unwrap();
    world.conversation.push_user("more");
    copy.keep(&world.conversation, &[]);
    let found = copy.entry().load().unwrap();
    assert_eq!(found.messages, world.conversation.messages());
    assert_eq!(found.calls, loaded.calls);
    assert_eq!((found.title.as_str(), found.named), ("Birds", true));
    assert_eq!(found.head.unwrap().forked_from.as_deref(), Some("k7"));
    assert_eq!(found.damage.notice(), None);
    assert_eq!(world.text(), before);
}

#[test]
fn a_session_that_is_left_says_so() {
    let mut world = World::new();
    world.user("one");
    let entry = world.session.entry();
    world.session = Session::fresh(&world.store, "unused", speaker("small"));
    let loaded = entry.load().unwrap();
    assert!(loaded.closed);
    // Who only looks leaves no trace.
    let before = fs::read(&entry.path).unwrap();
    drop(Session::open(&world.store, &entry).unwrap());
    assert_eq!(fs::read(&entry.path).unwrap(), before);
}

#[test]
fn images_and_documents_are_kept_once_with_what_they_belong_to() {
    let mut world = World::new();
    let (tern, eggs) = (picture("tern.png", 8, 6), document("", 2));
    world.conversation.push_user(UserMessage {
        media: vec![tern.clone()],
        ..UserMessage::from("Look")
    });
    world.conversation.push_assistant(asks(&["a"]));
    world.session.keep(&world.conversation, &[]);
    let read = CallRecord {
        media: vec![eggs.clone()],
        ..ended("a", "[PDF]")
    };
    world
        .session
        .keep(&world.conversation, std::slice::from_ref(&read));
    world
        .conversation
        .push_result_with("a", "[PDF]", vec![eggs.clone()]);
    world.session.keep(&world.conversation, &[]);
    world.assert_kept();
    for media in [&tern, &eggs] {
        assert_eq!(world.text().matches(media.base64()).count(), 1);
    }
    let loaded = world.killed();
    assert_eq!(loaded.messages[0].media, std::slice::from_ref(&tern));
    assert_eq!(loaded.records()[0].media, std::slice::from_ref(&eggs));
    let entry = world.session.entry();
    let copy = Session::fork(&world.store, "copy", &entry, &loaded).unwrap();
    let copied = copy.entry().load().unwrap();
    assert_eq!(copied.messages, loaded.messages);
    let text = fs::read_to_string(copy.entry().path).unwrap();
    assert_eq!(text.matches(eggs.base64()).count(), 1);
}
