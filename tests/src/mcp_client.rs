//! A client of the Model Context Protocol that says exactly what a test wants said.

use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::invocation::{Invocation, Output};
use crate::rpc_client::RpcClient;

/// The revision of the protocol that [`McpClient::initialize`] asks for.
const VERSION: &str = "2025-11-25";

/// One conversation with a server over its standard streams.
#[derive(Debug)]
#[must_use = "dropping it kills the server"]
pub struct McpClient {
    client: RpcClient,
}

impl McpClient {
    /// Starts the server; nothing is said yet.
    pub fn start(invocation: Invocation<'_>) -> McpClient {
        McpClient {
            client: RpcClient::start(invocation),
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

    /// Begins to call a tool; the id that the answer will have.
    pub fn begin_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool; what comes back, error or not.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin_call(tool, arguments);
        self.answer(id)
    }

    /// How long it takes until a message is there, from the moment in which `act` was done.
    pub fn measure(&mut self, act: impl FnOnce(&mut McpClient) -> u64) -> Duration {
        let start = Instant::now();
        let id = act(self);
        self.answer(id);
        start.elapsed()
    }

    /// Closes the server's input and waits for its end.
    pub fn close(self) -> Output {
        self.client.close()
    }
}

impl Deref for McpClient {
    type Target = RpcClient;

    fn deref(&self) -> &RpcClient {
        &self.client
    }
}

impl DerefMut for McpClient {
    fn deref_mut(&mut self) -> &mut RpcClient {
        &mut self.client
    }
}
