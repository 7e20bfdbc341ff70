//! `dunlin inspect`: a paused request in one terminal is edited, sent and cancelled from another one.

mod inspector;
mod peers;
mod socket;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use dunlin_tests::{DEADLINE, Environment, Provider};
use serde_json::{Value, json};

/// The line in which a paused request is edited.
pub const REQUEST: &str = "  request?";

pub fn run_folder(environment: &Environment) -> PathBuf {
    environment.data().join("run")
}

pub fn sockets(environment: &Environment) -> Vec<PathBuf> {
    let entries = fs::read_dir(run_folder(environment)).expect("a folder of sockets");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// An inspector that speaks the protocol itself.
pub struct Peer {
    from: BufReader<UnixStream>,
    to: UnixStream,
}

impl Peer {
    pub fn attach(environment: &Environment) -> Peer {
        let to = UnixStream::connect(&sockets(environment)[0]).expect("a chat that listens");
        to.set_read_timeout(Some(DEADLINE)).expect("a time limit");
        Peer {
            from: BufReader::new(to.try_clone().expect("a second handle")),
            to,
        }
    }

    #[track_caller]
    pub fn wait(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            self.from.read_line(&mut line).expect("a message");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["type"] == kind {
                return message;
            }
        }
    }

    pub fn say(&mut self, line: &Value) {
        let line = format!("{line}\n");
        self.to
            .write_all(line.as_bytes())
            .expect("a chat that reads");
    }

    pub fn edit(&mut self, (pause, revision): (u64, &Value), old: &str, new: &str) {
        self.say(&json!({"id": 1, "op": "edit", "pause": pause, "revision": revision, "edit": {"type": "set",
            "target": {"section": "message:0", "path": "content"},
            "old": format!("{old:?}"), "new": format!("{new:?}")}}));
    }
}

pub fn said(provider: &Provider) -> Vec<String> {
    let requests = provider.requests();
    let text = |request: &dunlin_tests::Received| {
        request.messages()[0]["content"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    requests.iter().map(text).collect()
}
