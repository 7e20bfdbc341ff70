//! A client of the Model Context Protocol that says exactly what a test wants said.

use std::io::Write;
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::invocation::{Invocation, Output, Running};

/// The revision of the protocol that [`McpClient::initialize`] asks for.
const VERSION: &str = "2025-11-25";

/// One conversation with a server over its standard streams. Whatever the server writes has to be one JSON-RPC
/// message a line; everything else fails the test.
#[derive(Debug)]
#[must_use = "dropping it kills the server"]
pub struct McpClient {
    running: Running,
    /// `None` once it was closed.
    stdin: Option<ChildStdin>,
    requests: u64,
}

impl McpClient {
    /// Starts the server; nothing is said yet.
    pub fn start(invocation: Invocation<'_>) -> McpClient {
        let (running, stdin) = invocation.converse();
        McpClient {
            running,
            stdin: Some(stdin),
            requests: 0,
        }
    }

    /// Starts the server and agrees on the protocol.
    pub fn open(invocation: Invocation<'_>) -> McpClient {
        let mut client = McpClient::start(invocation);
        let answer = client.initialize(json!({}));
        assert_eq!(answer["result"]["protocolVersion"], VERSION, "{answer}");
        client
    }

    /// Agrees on the protocol as a client with these abilities; what the server answers.
    pub fn initialize(&mut self, capabilities: Value) -> Value {
        let id = self.request(
            "initialize",
            json!({
                "protocolVersion": VERSION,
                "capabilities": capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            }),
        );
        let answer = self.answer(id);
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Writes these bytes and a newline.
    ///
    /// # Panics
    ///
    /// When the server reads no more.
    pub fn line(&mut self, bytes: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().expect("an input that is open");
        let mut line = bytes.as_ref().to_vec();
        line.push(b'\n');
        stdin.write_all(&line).expect("a server that reads");
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

    /// Begins to call a tool; the id that the answer will have.
    pub fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool; what comes back, error or not.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments);
        self.answer(id)
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
    pub fn wait(&self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        let found = self
            .running
            .watch_stdout(|bytes| messages(bytes).into_iter().find(&mut wanted));
        found.unwrap_or_else(|| panic!("the server ended: {:?}", self.messages()))
    }

    /// All that came until now.
    pub fn messages(&self) -> Vec<Value> {
        self.running
            .watch_stdout(|bytes| Some(messages(bytes)))
            .unwrap_or_default()
    }

    /// How long it takes until a message is there, from the moment in which `act` was done.
    pub fn measure(&mut self, act: impl FnOnce(&mut McpClient) -> u64) -> Duration {
        let start = Instant::now();
        let id = act(self);
        self.answer(id);
        start.elapsed()
    }

    /// The program behind it.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Closes the server's input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Closes the server's input and waits for its end.
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
