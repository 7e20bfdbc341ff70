//! Messages as lines of JSON, in and out.
//!
//! A transport for the SDK, in place of its own: that one drops a line that is too long or no JSON without a
//! word, so that whoever sent it waits for ever, and a notification before the first request ends its server.

use std::io;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;

use super::closing::Closing;
use crate::bounded_lines::{self, next_line};

/// Messages that were read and wait to be handled. More make the client wait.
const WAITING_MESSAGES: usize = 16;

/// Messages that wait to be written. With more, no request is read: the SDK takes any number of them, and a client that does
/// not read would fill the memory with their answers.
const UNWRITTEN_MESSAGES: usize = 128;

/// The two streams.
#[derive(Debug)]
pub(super) struct Lines<W> {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    output: Output<W>,
    /// Ends with this.
    _reader: JoinSet<()>,
}

impl<W: AsyncWrite + Send + Unpin + 'static> Lines<W> {
    /// Begins to read. `closing` is told when the input ends or the output takes no more.
    pub(super) fn open(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: W,
        closing: Closing,
    ) -> Lines<W> {
        let (sender, messages) = mpsc::channel(WAITING_MESSAGES);
        let output = Output {
            stream: Arc::new(Mutex::new(output)),
            unwritten: watch::Sender::new(0),
            closing: closing.clone(),
        };
        let mut reader = JoinSet::new();
        let answers = output.clone();
        reader.spawn(async move {
            tokio::select! {
                biased;
                () = closing.begun() => {}
                () = read(BufReader::new(input), &sender, &answers) => closing.begin(),
            }
        });
        Lines {
            messages,
            output,
            _reader: reader,
        }
    }
}

impl<W: AsyncWrite + Send + Unpin + 'static> Transport<RoleServer> for Lines<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        let counted = output.count();
        async move {
            let _counted = counted;
            output.send(&message).await
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.stream.lock().await.flush().await
    }
}

#[derive(Debug)]
struct Output<W> {
    stream: Arc<Mutex<W>>,
    /// How many messages wait to be written.
    unwritten: watch::Sender<usize>,
    closing: Closing,
}

impl<W> Clone for Output<W> {
    fn clone(&self) -> Output<W> {
        Output {
            stream: Arc::clone(&self.stream),
            unwritten: self.unwritten.clone(),
            closing: self.closing.clone(),
        }
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    /// Writes one message. A stream that takes none ends the server: nobody would hear of anything any more.
    async fn send(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut stream = self.stream.lock().await;
        let written = async {
            stream.write_all(&line).await?;
            stream.flush().await
        };
        let written = written.await;
        if written.is_err() {
            self.closing.begin();
        }
        written
    }

    /// Counts a message that waits to be written, until it is dropped.
    fn count(&self) -> Unwritten {
        self.unwritten.send_modify(|count| *count += 1);
        Unwritten(self.unwritten.clone())
    }

    /// Waits until one more request may be answered.
    async fn has_room(&self) {
        let mut unwritten = self.unwritten.subscribe();
        // The sender is here.
        let _ = unwritten
            .wait_for(|count| *count < UNWRITTEN_MESSAGES)
            .await;
    }
}

/// A message that waits to be written.
#[derive(Debug)]
struct Unwritten(watch::Sender<usize>);

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// Reads to the end and passes on what are messages; what is none is answered here.
async fn read<W: AsyncWrite + Unpin>(
    mut input: impl AsyncBufRead + Unpin,
    messages: &mpsc::Sender<ClientJsonRpcMessage>,
    answers: &Output<W>,
) {
    let mut sorter = Sorter::default();
    let mut line = Vec::new();
    // A stream that cannot be read has ended.
    while let Ok(Some(whole)) = next_line(&mut input, &mut line).await {
        let sorted = if whole {
            sorter.sort(&line)
        } else {
            let refusal = ErrorData::invalid_request(bounded_lines::too_long(), None);
            Sorted::Refused(refusal, None)
        };
        let gone = match sorted {
            Sorted::Message(message) => {
                answers.has_room().await;
                messages.send(*message).await.is_err()
            }
            Sorted::Refused(error, id) => {
                let refusal = ServerJsonRpcMessage::error(error, id);
                answers.send(&refusal).await.is_err()
            }
            Sorted::Ignored => false,
        };
        if gone {
            break;
        }
    }
}

/// What becomes of a line.
#[derive(Debug)]
enum Sorted {
    /// It is for the SDK.
    Message(Box<ClientJsonRpcMessage>),
    /// It is answered with this.
    Refused(ErrorData, Option<RequestId>),
    /// Nobody waits for an answer.
    Ignored,
}

/// Tells messages from other lines.
#[derive(Debug, Default)]
struct Sorter {
    /// Whether the client has made the request that everything else follows.
    opened: bool,
}

impl Sorter {
    fn sort(&mut self, line: &[u8]) -> Sorted {
        let Some(line) = bounded_lines::content(line) else {
            return Sorted::Ignored;
        };
        let refused = |problem: &'static str, id| {
            Sorted::Refused(ErrorData::invalid_request(problem, None), id)
        };
        let value: Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => {
                let problem = format!("the line is not JSON: {error}");
                return Sorted::Refused(ErrorData::parse_error(problem, None), None);
            }
        };
        let Value::Object(object) = &value else {
            return refused("a message is one JSON object; batches are not taken", None);
        };
        let is_call = object.contains_key("method");
        let id = match object.get("id") {
            None => None,
            Some(id) => match serde_json::from_value::<RequestId>(id.clone()) {
                Ok(id) => Some(id),
                Err(_) if is_call => {
                    return refused("the id of a request is a text or a whole number", None);
                }
                // The answer to a line that could not be understood is not answered in turn.
                Err(_) => return Sorted::Ignored,
            },
        };
        if is_call && object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return refused("a message has \"jsonrpc\": \"2.0\"", id);
        }
        let method = object.get("method").and_then(Value::as_str);
        let params = method.map(|method| format!("the params of {method} do not fit"));
        let is_answer = object.contains_key("result") || object.contains_key("error");
        match serde_json::from_value::<ClientJsonRpcMessage>(value) {
            Ok(message) => self.admit(message),
            Err(_) if is_call && id.is_some() => match params {
                Some(problem) => Sorted::Refused(ErrorData::invalid_params(problem, None), id),
                None => refused("the method of a request is a text", id),
            },
            Err(_) if is_call || is_answer => Sorted::Ignored,
            Err(_) => refused("a message has a method, a result or an error", id),
        }
    }

    /// Passes on what may come at this point.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Sorted {
        match &message {
            _ if self.opened => {}
            ClientJsonRpcMessage::Request(request) => match &request.request {
                ClientRequest::PingRequest(_) => {}
                ClientRequest::InitializeRequest(_) => self.opened = true,
                other if other.get_meta().protocol_version().is_none() => {
                    let problem = "the first request is initialize, or names the version of \
                                   the protocol in its _meta";
                    let error = ErrorData::invalid_request(problem, None);
                    return Sorted::Refused(error, Some(request.id.clone()));
                }
                ClientRequest::DiscoverRequest(_) => {}
                other => self.opened = opens(other),
            },
            // Nobody has asked anything, and nothing has begun that could be told of.
            _ => return Sorted::Ignored,
        }
        Sorted::Message(Box::new(message))
    }
}

/// Whether the SDK takes a request for the beginning, which its service loop follows.
fn opens(request: &ClientRequest) -> bool {
    let meta = request.get_meta();
    let known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
    let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
    missing.is_empty() && meta.protocol_version().is_some_and(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sort_after(before: &[&str], line: &[u8]) -> String {
        let mut sorter = Sorter::default();
        for line in before {
            let sorted = sorter.sort(line.as_bytes());
            assert!(matches!(sorted, Sorted::Message(_)), "{line}: {sorted:?}");
        }
        match sorter.sort(line) {
            Sorted::Message(message) => match *message {
                ClientJsonRpcMessage::Request(request) => request.request.method().to_owned(),
                ClientJsonRpcMessage::Notification(_) => "notification".to_owned(),
                _ => "answer".to_owned(),
            },
            Sorted::Refused(error, id) => {
                let id = id.map_or("-".to_owned(), |id| id.to_string());
                format!("{} {id} {}", error.code.0, error.message)
            }
            Sorted::Ignored => "ignored".to_owned(),
        }
    }

    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

    #[test]
    fn lines_that_are_no_messages_are_answered() {
        let check = |line: &str, expected: &str| {
            let sorted = sort_after(&[INITIALIZE], line.as_bytes());
            assert!(sorted.starts_with(expected), "{line}: {sorted}");
        };
        check("", "ignored");
        check("  \r\n", "ignored");
        check("hello", "-32700 - the line is not JSON");
        check("{\"jsonrpc\":", "-32700 - the line is not JSON");
        check("[]", "-32600 - a message is one JSON object");
        check("7", "-32600 - a message is one JSON object");
        check("{}", "-32600 - a message has a method");
        check(
            r#"{"jsonrpc":"2.0","id":1}"#,
            "-32600 1 a message has a method",
        );
        check(
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            "-32600 1 a message has \"jsonrpc\"",
        );
        check(
            r#"{"id":"a","method":"ping"}"#,
            "-32600 a a message has \"jsonrpc\"",
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            "-32600 - the id of a request",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            "-32600 - the id of a request",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
            "-32600 1 the method",
        );
        check(r#"{"jsonrpc":"2.0","method":7}"#, "ignored");
        // What comes of our own refusals, should anybody send them back.
        check(
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}"#,
            "answer",
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
            "ignored",
        );
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "ping");
        check(
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n",
            "ping",
        );
        check(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, "no/such");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}"#,
            "-32602 1 the params of tools/call",
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
            "tools/call",
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "notification",
        );
        let deep = "[".repeat(100_000);
        check(&deep, "-32700 - the line is not JSON");
        assert!(sort_after(&[INITIALIZE], b"\xff\xfe{}").starts_with("-32700"));
    }

    #[test]
    fn nothing_but_a_beginning_begins() {
        let check = |line: &str, expected: &str| {
            let sorted = sort_after(&[], line.as_bytes());
            assert!(sorted.starts_with(expected), "{line}: {sorted}");
        };
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "ignored",
        );
        check(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#, "ignored");
        check(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "ping");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            "-32600 1 the first request",
        );
        check(INITIALIZE, "initialize");
        let meta = |keys: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{keys}}}}}}}"#
            )
        };
        let version = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
        let whole = format!(r#"{version},"io.modelcontextprotocol/clientCapabilities":{{}}"#);
        let told = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        // The SDK refuses what lacks something, and goes on waiting for the beginning.
        assert_eq!(sort_after(&[&meta(version)], told.as_bytes()), "ignored");
        assert_eq!(
            sort_after(&[&meta(&whole)], told.as_bytes()),
            "notification"
        );
    }

    /// Its answers would fill the memory.
    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_is_not_read_either() {
        let (mut client, server) = tokio::io::duplex(64);
        let (input, output) = tokio::io::split(server);
        let mut lines = Lines::open(input, output, Closing::default());
        let sent = async {
            let mut sent = 0;
            let ping = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
            client.write_all(INITIALIZE.as_bytes()).await.unwrap();
            client.write_all(b"\n").await.unwrap();
            // Until nobody takes any more.
            while let Ok(written) = tokio::time::timeout(
                std::time::Duration::from_millis(200),
                client.write_all(ping.as_bytes()),
            )
            .await
            {
                written.unwrap();
                sent += 1;
            }
            sent
        };
        let answered = async {
            let mut waiting = JoinSet::new();
            while lines.receive().await.is_some() {
                let error = ErrorData::internal_error("x".repeat(100), None);
                waiting.spawn(lines.send(ServerJsonRpcMessage::error(error, None)));
            }
            waiting.len()
        };
        tokio::select! {
            sent = sent => assert!((100..1_000).contains(&sent), "{sent}"),
            _ = answered => panic!("the client was there"),
        }
    }
}
