//! A client of a program that speaks JSON-RPC over its standard streams, one message a line.

use std::io::Write;
use std::process::ChildStdin;

use serde_json::{Value, json};

use crate::invocation::{Invocation, Output, Running};

/// One conversation. Whatever the program writes has to be one JSON-RPC message a line; everything else fails the test.
#[derive(Debug)]
#[must_use = "dropping it kills the program"]
pub struct RpcClient {
    running: Running,
    /// `None` once it was closed.
    stdin: Option<ChildStdin>,
    requests: u64,
}

impl RpcClient {
    /// Starts the program; nothing is said yet.
    pub fn start(invocation: Invocation<'_>) -> RpcClient {
        let (running, stdin) = invocation.converse();
        RpcClient {
            running,
            stdin: Some(stdin),
            requests: 0,
        }
    }

    /// Writes these bytes and a newline.
    ///
    /// # Panics
    ///
    /// When the program reads no more.
    pub fn line(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("an input that is open");
        let mut line = bytes.as_ref().to_vec();
        line.push(b'\n');
        stdin.write_all(&line).expect("a program that reads");
    }

    /// Sends a request; the id that its answer will have.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(message.to_string());
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.line(message.to_string());
    }

    /// Waits for the answer to a request.
    pub fn answer(&self, id: u64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Waits for the first message of all that came that is the one wanted.
    ///
    /// # Panics
    ///
    /// When it does not come, or something comes that is not a message.
    pub fn wait(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        self.wait_for(0, wanted)
    }

    /// Waits for the one with this number, from 0, of all messages that are wanted.
    ///
    /// # Panics
    ///
    /// Like [`wait`](RpcClient::wait).
    pub fn wait_for(&self, number: usize, wanted: impl Fn(&Value) -> bool) -> Value {
        let found = self
            .running
            .watch_stdout(|bytes| messages(bytes).into_iter().filter(&wanted).nth(number));
        found.unwrap_or_else(|| panic!("the program ended: {:?}", self.messages()))
    }

    /// All that came until now.
    pub fn messages(&self) -> Vec<Value> {
        self.running
            .watch_stdout(|bytes| Some(messages(bytes)))
            .unwrap_or_default()
    }

    /// The program behind it.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Closes the program's input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the program, while its input stays open.
    pub fn wait_for_end(self) -> Output {
        let RpcClient { running, stdin, .. } = self;
        let output = running.wait();
        drop(stdin);
        output
    }

    /// Closes the program's input and waits for its end.
    pub fn close(mut self) -> Output {
        self.hang_up();
        self.running.wait()
    }
}

/// The whole lines of an output, each one message.
fn messages(bytes: &[u8]) -> Vec<Value> {
    let whole = bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |end| end + 1);
    let lines = bytes[..whole]
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let message: Value = serde_json::from_slice(line).unwrap_or_else(|error| {
                panic!("no JSON: {error}: {}", String::from_utf8_lossy(line))
            });
            assert_eq!(message["jsonrpc"], "2.0", "{message}");
            message
        })
        .collect()
}
