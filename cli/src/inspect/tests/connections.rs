//! Inspectors that hang, flood, lie or go away.

use super::*;

#[test]
fn a_peer_that_hangs_holds_nobody_up() {
    let stage = Stage::new();
    let mut hangs = stage.connect();
    // It is being written to when the chat goes on.
    assert_eq!(hangs.next()["type"], "hello");
    // More than a socket holds, and nobody reads it: if the chat waited for that, this test would not end.
    let text = "tern ".repeat(400_000);
    for round in 0..4 {
        let mut request = paused(&text);
        let remote = RemotePause::new(&stage.shared, &request);
        request
            .step(|it| it.set_text(1, &format!("{text}{round}")))
            .unwrap();
        remote.publish(&request);
        remote.sent();
    }
    // Another one is not held up, either, and gets what is newest.
    let request = paused("count");
    let remote = RemotePause::new(&stage.shared, &request);
    assert_eq!(stage.connect().wait("paused")["pause"], 5);
    drop(remote);
    drop(hangs);
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
    assert!(long.expect_dropped().contains("a line has more than"));
    let mut wrong = stage.connect();
    wrong.wait("idle");
    for _ in 0..40 {
        // Fails once the other end is closed. What is right in between forgives nothing.
        let _ = wrong.to.write_all(b"{\"op\":\"format the disk\"}\n");
        let _ = wrong
            .to
            .write_all(b"{\"id\":1,\"op\":\"mode\",\"mode\":\"off\"}\n");
    }
    assert!(
        wrong
            .expect_dropped()
            .contains("lines that are not commands")
    );
    let flood = stage.connect();
    let mut to = flood.to.try_clone().unwrap();
    let reader = std::thread::spawn(move || flood.expect_dropped());
    let line = format!("{}\n", command("send", &json!("0")));
    while to.write_all(line.as_bytes()).is_ok() {}
    let why = reader.join().unwrap();
    assert!(
        why.contains("commands in a second") || why.contains("not read"),
        "{why}"
    );
    // The chat is as it was, for others.
    let mut peer = stage.connect();
    assert_eq!(peer.next()["type"], "hello");
    let mut forced = command("send", &json!("0"));
    forced["force"] = json!(true);
    assert_eq!(peer.refused(&forced), "a command has no field \"force\"");
    // A long name is not told back.
    let mut long = command("send", &json!("0"));
    long["x".repeat(1024 * 1024)] = json!(true);
    peer.refused(&long);
    peer.refused(&json!({"id": 1, "op": "y".repeat(1024 * 1024)}));
}

/// The answer may be there before the thread that writes is.
#[test]
fn the_first_command_is_answered_however_early_it_comes() {
    let stage = Stage::new();
    let mut answered = 0;
    while answered < 500 {
        let mut peer = stage.connect();
        let command = format!("{}\n", command("undo", &json!("")));
        // Those who went may take the place of this one for a moment: then the connection is closed.
        if peer.to.write_all(command.as_bytes()).is_err() {
            continue;
        }
        let mut told = String::new();
        while !told.contains("\"id\":7") {
            match peer.from.read_line(&mut told) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{told}");
                    break;
                }
            }
        }
        answered += u32::from(told.contains("\"id\":7"));
    }
}

#[test]
fn answers_that_nobody_reads_are_few() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    // Fills the socket, so that nothing more is written.
    let _remote = RemotePause::new(&stage.shared, &paused(&"tern ".repeat(400_000)));
    assert_eq!(peer.next()["type"], "hello");
    let line = format!("{}\n", command("send", &json!("0")));
    // The chat does not take more of them than it may keep.
    while peer.to.write_all(line.as_bytes()).is_ok() {}
}

#[test]
fn a_command_of_somebody_who_went_is_not_done() {
    let stage = Stage::new();
    let mut peer = stage.connect();
    let mut request = paused("count");
    let remote = RemotePause::new(&stage.shared, &request);
    let revision = peer.wait("paused")["revision"].clone();
    // The chat has an editor open, and does nothing meanwhile.
    peer.say(&edit(&revision, "count", "sing"));
    until(|| stage.shared.waiting() == 1);
    drop(peer);
    until(|| stage.shared.waiting() == 0);
    assert!(remote.run(&mut request).is_empty());
    assert!(!request.request().is_dirty());
}

#[test]
fn there_is_room_for_eight() {
    let stage = Stage::new();
    let mut peers: Vec<Peer> = (0..8).map(|_| stage.connect()).collect();
    peers.iter_mut().for_each(|peer| drop(peer.wait("hello")));
    assert!(stage.connect().expect_dropped().contains("8 inspectors"));
    // Those who go make room, also where a command of theirs waits.
    let request = paused("count");
    let _remote = RemotePause::new(&stage.shared, &request);
    let mut last = peers.pop().unwrap();
    let revision = last.wait("paused")["revision"].clone();
    last.say(&command("cancel", &revision));
    until(|| stage.shared.waiting() == 1);
    drop((last, peers));
    let mut peers: Vec<Peer> = Vec::new();
    until(|| {
        let mut peer = stage.connect();
        if peer.next()["type"] == "hello" {
            peers.push(peer);
        }
        peers.len() == 8
    });
}

#[test]
fn a_socket_that_nobody_accepts_on_stops_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    super::super::folder::make(&run).unwrap();
    // Of a process that is stopped: as many wait to be accepted as may.
    let full = super::super::folder::socket(&run, std::process::id(), 0);
    let listener = UnixListener::bind(&full).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = super::super::folder::connect(&full) {
        waiting.push(stream);
    }
    let shared = Arc::new(SharedState::new(Box::new(Played::default())));
    let listening = listen(&run, &shared).unwrap();
    let found = sockets(&run);
    assert_eq!(found.len(), 2, "it has its name still");
    let own = found.iter().find(|path| **path != full).unwrap();
    assert_eq!(Peer::new(own).next()["type"], "hello");
    super::super::folder::remove_all_stale(own);
    assert_eq!(sockets(&run), found);
    drop(listening);
    assert_eq!(sockets(&run), [full]);
    assert_eq!(std::fs::read_dir(&run).unwrap().count(), 1);
}
