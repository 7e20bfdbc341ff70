//! The connection between a bridge and its server, with its limits.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::secret::{Secrets, form};
use super::transport::{Connection, TransportError};
use crate::Progress;
use crate::ask::Ask;
use crate::bindings::dunlin::tool::mcp::Incoming;
use crate::bindings::dunlin::tool::types::Error;
use crate::display::chain;
use crate::limits::MAX_BACKLOG_BYTES;

/// How long a server that does not listen any more is waited for to say why.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The tool call for which a server is asked something, as questions and the audit log name it.
pub(crate) struct ServerCall {
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) arguments: serde_json::Value,
    pub(crate) ask: Arc<dyn Ask>,
    pub(crate) progress: Arc<dyn Progress>,
}

/// What holds for a server, besides what its messages are.
#[derive(Debug, Clone, Default)]
pub(crate) struct Terms {
    /// Its name in the configuration.
    pub(crate) name: String,
    /// The folders that it is told of.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether it may ask the model.
    pub(crate) consent: Consent,
    /// Whether there was a model to be asked when the connection was made.
    pub(crate) has_model: bool,
}

/// Whether a server may ask the model until the session ends; nothing: the user is asked each time. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Consent(Arc<Mutex<Option<bool>>>);

impl Consent {
    pub(crate) fn get(&self) -> Option<bool> {
        *self.0.lock()
    }

    pub(crate) fn set(&self, allow: bool) {
        *self.0.lock() = Some(allow);
    }
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct ServerConnection {
    transport: Connection,
    /// What came while something was being sent.
    backlog: VecDeque<String>,
    backlog_bytes: usize,
    pub(crate) is_taken: bool,
    /// Why nothing will come any more.
    closed: Option<String>,
    /// What holds for the server.
    pub(crate) terms: Terms,
    /// What the form that the server sent last seems to ask for.
    pub(crate) secrets: Secrets,
    /// That the bridge is to come back.
    pub(crate) end: CancellationToken,
}

impl ServerConnection {
    pub(crate) fn new(connection: Connection, terms: Terms) -> ServerConnection {
        ServerConnection {
            transport: connection,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            is_taken: false,
            closed: None,
            terms,
            secrets: Secrets::default(),
            end: CancellationToken::new(),
        }
    }

    /// Waits until there is something to attend to.
    pub(crate) async fn arrived(&mut self) {
        if self.backlog.is_empty() && self.closed.is_none() {
            let received = self.transport.receiver.receive().await;
            self.keep(received);
        }
    }

    /// Takes leave of the server, and waits for it to be gone. Whoever calls bounds the time.
    pub(crate) async fn close(&mut self) {
        self.transport.sender.close().await;
        if self.closed.is_none() {
            while self.transport.receiver.receive().await.is_ok() {}
        }
        self.closed = Some("was closed".to_owned());
    }

    fn keep(&mut self, received: Result<String, TransportError>) {
        match received {
            Ok(message) => {
                self.backlog_bytes += message.len();
                self.backlog.push_back(message);
            }
            Err(error) => self.closed = Some(chain(&error)),
        }
    }

    fn next(&mut self) -> Option<Incoming> {
        if let Some(message) = self.backlog.pop_front() {
            self.backlog_bytes -= message.len();
            // The bridge reads the form next, and asks the user what is in it.
            if let Some(secrets) = form(&message) {
                self.secrets = secrets;
            }
            return Some(Incoming::Message(message));
        }
        self.closed.clone().map(Incoming::Closed)
    }

    pub(crate) async fn receive(&mut self, wait: bool) -> Incoming {
        if let Some(incoming) = self.next() {
            return incoming;
        }
        if !wait {
            match self.transport.receiver.receive().now_or_never() {
                Some(received) => self.keep(received),
                None => return Incoming::Nothing,
            }
            return self.next().unwrap_or(Incoming::Nothing);
        }
        let end = self.end.clone();
        tokio::select! {
            biased;
            () = end.cancelled() => Incoming::Cancelled,
            received = self.transport.receiver.receive() => {
                self.keep(received);
                self.next().unwrap_or(Incoming::Nothing)
            }
        }
    }

    /// Sends, and takes meanwhile what comes: a server may stop listening until it was listened to.
    pub(crate) async fn send(&mut self, message: &str) -> Result<(), Error> {
        if let Some(why) = &self.closed {
            return Err(Error::Failed(why.clone()));
        }
        let ServerConnection {
            transport: connection,
            backlog,
            backlog_bytes,
            closed,
            end,
            ..
        } = self;
        let Connection { sender, receiver } = connection;
        let mut sending = sender.send(message);
        loop {
            let has_room = *backlog_bytes < MAX_BACKLOG_BYTES && closed.is_none();
            tokio::select! {
                biased;
                sent = &mut sending => {
                    let Err(error) = sent else { return Ok(()) };
                    if !error.is_over {
                        return Err(Error::Failed(error.why));
                    }
                    if closed.is_none() {
                        // It has ended or is about to: why, comes from its other end.
                        let ended = async {
                            loop {
                                match receiver.receive().await {
                                    Ok(message) if *backlog_bytes < MAX_BACKLOG_BYTES => {
                                        *backlog_bytes += message.len();
                                        backlog.push_back(message);
                                    }
                                    Ok(_) => {}
                                    Err(error) => return chain(&error),
                                }
                            }
                        };
                        let why = tokio::time::timeout(LAST_WORDS, ended).await;
                        *closed = Some(why.unwrap_or(error.why.clone()));
                    }
                    return Err(Error::Failed(closed.clone().unwrap_or(error.why)));
                }
                received = receiver.receive(), if has_room => match received {
                    Ok(message) => {
                        *backlog_bytes += message.len();
                        backlog.push_back(message);
                    }
                    Err(error) => *closed = Some(chain(&error)),
                },
                () = end.cancelled() => {
                    *closed = Some("does not listen".to_owned());
                    return Err(Error::Cancelled);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;

    use crate::mcp::transport::{Receiver, SendError, Sender};

    /// Listens only after its messages were taken.
    struct Stubborn(CancellationToken, usize);

    #[async_trait]
    impl Sender for CancellationToken {
        async fn send(&mut self, _: &str) -> Result<(), SendError> {
            self.cancelled().await;
            Ok(())
        }
    }

    #[async_trait]
    impl Receiver for Stubborn {
        async fn receive(&mut self) -> Result<String, TransportError> {
            match self.1 {
                0 => {
                    self.0.cancel();
                    std::future::pending().await
                }
                left => {
                    self.1 -= 1;
                    Ok(left.to_string())
                }
            }
        }
    }

    #[tokio::test]
    async fn who_talks_is_heard_before_it_listens() {
        let heard = CancellationToken::new();
        let connection = Connection {
            sender: Box::new(heard.clone()),
            receiver: Box::new(Stubborn(heard, 3)),
        };
        let mut connection = ServerConnection::new(connection, Terms::default());
        connection.send("x").await.unwrap();
        for expected in ["3", "2", "1"] {
            let incoming = connection.receive(true).await;
            assert!(matches!(incoming, Incoming::Message(text) if text == expected));
        }
        assert!(matches!(connection.receive(false).await, Incoming::Nothing));
        connection.end.cancel();
        assert!(matches!(
            connection.receive(true).await,
            Incoming::Cancelled
        ));
    }
}
