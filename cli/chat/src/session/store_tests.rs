use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::message::{Conversation, Message, Role};
use crate::session::Session;
use crate::session::record::Speaker;
use crate::turn::Journal;

fn speaker() -> Speaker {
    Speaker {
        agent: "assistant".to_owned(),
        model: "small".to_owned(),
    }
}

/// Keeps a session of one message and closes it.
fn keep(store: &Store, id: &str, text: &str) -> Entry {
    let session = Session::fresh(store, id, speaker());
    let mut conversation = Conversation::new();
    conversation.push_user(text);
    session.keep(&conversation, &[]);
    assert_eq!(session.take_trouble(), None);
    session.entry()
}

fn ids(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.id.as_str()).collect()
}

#[test]
fn nothing_is_made_before_there_is_something_to_keep() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let session = Session::fresh(&store, "k7", speaker());
    assert_eq!((store.last(), store.entries(true)), (None, Vec::new()));
    assert!(matches!(store.find(None), Err(StoreError::None)));
    session.keep(&Conversation::new(), &[]);
    session.rename("a title");
    drop(session);
    assert!(!store.folder().exists());
    let entry = keep(&store, "k7", "hi");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&entry.path), mode(store.folder())), (0o600, 0o700));
}

#[test]
fn projects_never_share() {
    let data = tempfile::tempdir().unwrap();
    let long = format!("/{}", "x".repeat(300));
    let projects = [
        "/a_b",
        "/a-b",
        "/a.b",
        "/a/b",
        "/a b",
        "/A_B",
        &long,
        &format!("{long}y"),
    ];
    for (number, project) in projects.iter().enumerate() {
        let store = Store::new(data.path(), Path::new(project));
        assert_eq!(store.last(), None, "{project}");
        keep(&store, &format!("b{number}"), project);
    }
    for (number, project) in projects.iter().enumerate() {
        let store = Store::new(data.path(), Path::new(project));
        assert_eq!(store.last().unwrap().id, format!("b{number}"));
        assert_eq!(ids(&store.entries(false)), [format!("b{number}")]);
        assert_eq!(store.list(false, 9)[0].project, *project);
    }
}

#[test]
fn the_last_session_is_found_without_its_hint() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let other = Store::new(data.path(), Path::new("/q"));
    let first = keep(&store, "first", "one");
    let second = keep(&store, "second", "two");
    keep(&other, "other", "three");
    assert_eq!(store.last().as_ref(), Some(&second));
    // Whoever is resumed is the last one.
    store.remember(&first);
    assert_eq!(store.last().as_ref(), Some(&first));
    // The hint leads nowhere, out of the folder, or is gone with all others.
    fs::remove_file(&first.path).unwrap();
    assert_eq!(store.last().as_ref(), Some(&second));
    for wrong in ["../../../etc/passwd", "", "\u{0}\u{ff}", "second", "."] {
        fs::write(store.last_file(), wrong).unwrap();
        assert_eq!(store.last().as_ref(), Some(&second), "{wrong}");
    }
    fs::remove_file(store.last_file()).unwrap();
    assert_eq!(store.last(), None);
    fs::remove_dir_all(store.folder().join("last")).unwrap();
    assert_eq!(store.last().as_ref(), Some(&second));
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id_or_its_title() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let other = Store::new(data.path(), Path::new("/q"));
    for (id, text) in [("kmq2", "Terns"), ("kmr3", "Sand pipers"), ("km", "Gulls")] {
        keep(&store, id, text);
    }
    keep(&other, "zz99", "Owls");
    let check = |typed: &str, expected: Result<&str, &str>| {
        let found = store.find(Some(typed));
        let found = found
            .map(|entry| entry.id)
            .map_err(|error| error.to_string());
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(found, expected, "{typed}");
    };
    check("kmq", Ok("kmq2"));
    check("KMR3", Ok("kmr3"));
    check("km", Ok("km"));
    check("zz", Ok("zz99"));
    check("sand pipers", Ok("kmr3"));
    check(
        "k",
        Err("several sessions begin with \"k\": km, kmq2, kmr3"),
    );
    for empty in ["", " "] {
        check(empty, Err("the id or title of the session is empty"));
    }
    check("owls", Err("there is no session \"owls\""));
    check("x\u{1b}", Err("there is no session \"x\\u{1b}\""));
    // A fork has the title of what it was made of.
    keep(&store, "zw77", "Sand pipers");
    let error = store.find(Some("Sand Pipers")).unwrap_err();
    let StoreError::SameTitle { mut ids, .. } = error else {
        panic!("{error}");
    };
    ids.sort();
    assert_eq!(ids, ["kmr3", "zw77"]);
    check("zw77", Ok("zw77"));
}

#[test]
fn strange_files_are_listed_as_what_they_are() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    keep(&store, "good", "hi");
    let mark = mark(Path::new("/p"));
    let place = |name: &str| store.folder().join(name);
    fs::write(place(&format!("empty-{mark}.jsonl")), "").unwrap();
    fs::write(place(&format!("noise-{mark}.jsonl")), [0xff; 100]).unwrap();
    fs::create_dir(place(&format!("folder-{mark}.jsonl"))).unwrap();
    fs::write(
        place("copied.jsonl"),
        fs::read(store.entry("good").path).unwrap(),
    )
    .unwrap();
    fs::write(place("other.txt"), "x").unwrap();
    fs::write(place(".jsonl"), "x").unwrap();
    let mut found: Vec<(String, Option<String>)> = store
        .list(false, 99)
        .into_iter()
        .map(|summary| (summary.id, summary.problem))
        .collect();
    found.sort();
    let expected = [
        ("copied", None),
        ("empty", Some("empty")),
        ("folder", Some("it is not a regular file")),
        ("good", None),
        ("noise", Some("its first line is damaged")),
    ];
    let expected = expected.map(|(id, problem)| (id.to_owned(), problem.map(str::to_owned)));
    assert_eq!(found, expected);
    for (typed, expected) in [
        ("empty", "it is empty"),
        ("noise", "nothing in it is a record of a session"),
        ("folder", "it is not a regular file"),
    ] {
        let entry = store.find(Some(typed)).unwrap();
        let error = entry.load().unwrap_err();
        let StoreError::Read { source, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(source.to_string(), expected);
        assert!(Session::open(&store, &entry).is_err());
        assert!(entry.path.exists());
    }
    assert_eq!(
        store.find(Some("copied")).unwrap().load().unwrap().title,
        "hi"
    );
}

#[test]
fn what_is_open_is_not_deleted() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let entry = keep(&store, "k7", "hi");
    let (session, _) = Session::open(&store, &entry).unwrap();
    let error = store.delete(&entry).unwrap_err().to_string();
    let pid = std::process::id();
    assert_eq!(
        error,
        format!("the session k7 is open in another Dunlin (process {pid})")
    );
    drop(session);
    store.delete(&entry).unwrap();
    assert_eq!((store.last(), store.entries(true).len()), (None, 0));
    assert!(store.delete(&entry).is_err());
}

#[test]
fn a_session_goes_with_what_its_subagents_said_and_nothing_else_does() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let (one, other) = (keep(&store, "k7", "hi"), keep(&store, "k77", "ho"));
    for entry in [&one, &other] {
        let subagents = store.of_subagents(&entry.id);
        keep(&subagents, "1", "Find the eggs");
        keep(&subagents, "2", "Find the nests");
        assert_eq!(subagents.entries(true).len(), 2);
        assert_eq!(store.of_subagents("k").entries(true), []);
    }
    // They are no sessions of their own, and none is the last one.
    assert_eq!(store.entries(true).len(), 2);
    assert_eq!(store.last().unwrap().id, "k77");
    // As long as it is open, both stay.
    let (open, _) = Session::open(&store, &one).unwrap();
    assert!(store.delete(&one).is_err());
    assert_eq!(store.of_subagents("k7").entries(true).len(), 2);
    drop(open);
    store.delete(&one).unwrap();
    assert!(!store.of_subagents("k7").folder().exists());
    assert_eq!(store.of_subagents("k77").entries(true).len(), 2);
    // A link in place of the folder goes; what it leads to stays.
    let linked = keep(&store, "m3", "hi");
    let elsewhere = store.of_subagents("k77");
    std::os::unix::fs::symlink(elsewhere.folder(), store.of_subagents("m3").folder()).unwrap();
    store.delete(&linked).unwrap();
    assert_eq!(elsewhere.entries(true).len(), 2);
    assert_eq!(ids(&store.entries(true)), ["k77"]);
}

#[test]
fn ids_are_short_and_differ() {
    let ids: std::collections::HashSet<String> = (0..1000).map(|_| Store::new_id()).collect();
    assert_eq!(ids.len(), 1000);
    for id in ids {
        assert_eq!(id.len(), ID_LENGTH);
        assert!(id.bytes().all(|byte| ID_LETTERS.contains(&byte)));
        assert!(id.starts_with(|c: char| c.is_ascii_lowercase()), "{id}");
    }
}

#[test]
fn many_sessions_are_as_quick_to_begin_with_as_one() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let entry = keep(&store, "k7", "the last one");
    let bytes = fs::read(&entry.path).unwrap();
    let mark = mark(Path::new("/q"));
    for number in 0..3000 {
        fs::write(
            store.folder().join(format!("b{number}-{mark}.jsonl")),
            &bytes,
        )
        .unwrap();
    }
    // The hint alone tells; without it none of the others is opened: a folder of theirs would be an error to read.
    assert_eq!(store.last().as_ref(), Some(&entry));
    fs::remove_dir_all(store.folder().join("last")).unwrap();
    assert_eq!(store.last().as_ref(), Some(&entry));
    assert_eq!(store.list(false, 50).len(), 1);
    assert_eq!(store.list(true, 50).len(), 50);
}

#[test]
fn messages_of_the_file_are_those_of_the_conversation() {
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let entry = keep(&store, "k7", "hi");
    let loaded = entry.load().unwrap();
    assert_eq!(loaded.messages, [Message::text(Role::User, "hi")]);
    assert!(loaded.closed);
    assert!(loaded.is_of("/p") && !loaded.is_of("/q"));
}

#[test]
fn what_a_session_file_says_is_one_word_of_a_command() {
    let error = StoreError::Elsewhere {
        id: "k7; id".to_owned(),
        project: "/home/ada/shore'; touch x; '".to_owned(),
    };
    assert_eq!(
        error.hint().unwrap(),
        r"dunlin --project '/home/ada/shore'\''; touch x; '\''' --resume 'k7; id'"
    );
    let error = StoreError::Locked {
        id: "$(id)".to_owned(),
        pid: None,
    };
    let hint = error.hint().unwrap();
    assert!(
        hint.starts_with("dunlin sessions fork '$(id)' makes"),
        "{hint}"
    );
    // It would be an option.
    let data = tempfile::tempdir().unwrap();
    let store = Store::new(data.path(), Path::new("/p"));
    let entry = keep(&store, "k7", "hi");
    fs::rename(&entry.path, store.folder().join("--all.jsonl")).unwrap();
    assert_eq!(store.entries(true), []);
}
