//! `mcp`: the line between a bridge and its server.
//!
//! What may be reached was decided when the line was made; what goes over it is the protocol's business. Here are the
//! limits: of a message's size, and of how long it is waited for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use tokio::sync::Notify;
use wasmtime::component::Resource;

use super::sampling::Terms;
use super::{CallState, Refusal};
use crate::Progress;
use crate::ask::Ask;
use crate::bindings::dunlin::tool::mcp::{self, Incoming};
use crate::bindings::dunlin::tool::types::Error;
use crate::limits::{MAX_BACKLOG_BYTES, MAX_SERVER_MESSAGE_BYTES};
use crate::mcp::secret::form;
use crate::mcp::transport::Connection;

/// What stands behind the contract's `line`: there is one for each bridge, so the handle holds nothing.
#[derive(Debug)]
pub struct TakenLine;

/// Who calls, as the audit log and questions name it.
pub(crate) struct Asked {
    pub(crate) call: String,
    pub(crate) tool: String,
    pub(crate) arguments: serde_json::Value,
    pub(crate) ask: Arc<dyn Ask>,
    pub(crate) progress: Arc<dyn Progress>,
}

/// A wish that can be seen and waited for.
#[derive(Debug, Default)]
pub(crate) struct Wish {
    is_there: AtomicBool,
    came: Notify,
}

impl Wish {
    pub(crate) fn make(&self) {
        self.is_there.store(true, Ordering::Release);
        self.came.notify_waiters();
    }

    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    pub(crate) async fn come(&self) {
        loop {
            let came = self.came.notified();
            if self.is_there() {
                return;
            }
            came.await;
        }
    }
}

/// A line to a server.
#[derive(Debug)]
pub(crate) struct ServerLine {
    connection: Connection,
    /// What came while something was being sent.
    backlog: VecDeque<String>,
    backlog_bytes: usize,
    is_taken: bool,
    /// Why nothing will come any more.
    closed: Option<String>,
    /// What holds for the server.
    pub(crate) terms: Terms,
    /// Whether the form that the server sent last seems to ask for a secret.
    pub(crate) asks_secret: bool,
    /// That the bridge is to come back.
    pub(crate) end: Arc<Wish>,
}

impl ServerLine {
    pub(crate) fn new(connection: Connection, terms: Terms) -> ServerLine {
        ServerLine {
            connection,
            backlog: VecDeque::new(),
            backlog_bytes: 0,
            is_taken: false,
            closed: None,
            terms,
            asks_secret: false,
            end: Arc::default(),
        }
    }

    /// Waits until there is something to attend to.
    pub(crate) async fn arrived(&mut self) {
        if self.backlog.is_empty() && self.closed.is_none() {
            let received = self.connection.receiver.receive().await;
            self.keep(received);
        }
    }

    /// Takes leave of the server, and waits for it to be gone. Whoever calls bounds the time.
    pub(crate) async fn close(&mut self) {
        self.connection.sender.close().await;
        if self.closed.is_none() {
            while self.connection.receiver.receive().await.is_ok() {}
        }
        self.closed = Some("was closed".to_owned());
    }

    fn keep(&mut self, received: Result<String, String>) {
        match received {
            Ok(message) => {
                self.backlog_bytes += message.len();
                self.backlog.push_back(message);
            }
            Err(why) => self.closed = Some(why),
        }
    }

    fn next(&mut self) -> Option<Incoming> {
        if let Some(message) = self.backlog.pop_front() {
            self.backlog_bytes -= message.len();
            // The bridge reads the form next, and asks the user what is in it.
            self.asks_secret = form(&message).unwrap_or(self.asks_secret);
            return Some(Incoming::Message(message));
        }
        self.closed.clone().map(Incoming::Closed)
    }

    async fn receive(&mut self, wait: bool) -> Incoming {
        if let Some(incoming) = self.next() {
            return incoming;
        }
        if !wait {
            match self.connection.receiver.receive().now_or_never() {
                Some(received) => self.keep(received),
                None => return Incoming::Nothing,
            }
            return self.next().unwrap_or(Incoming::Nothing);
        }
        let end = Arc::clone(&self.end);
        tokio::select! {
            biased;
            () = end.come() => Incoming::Cancelled,
            received = self.connection.receiver.receive() => {
                self.keep(received);
                self.next().unwrap_or(Incoming::Nothing)
            }
        }
    }

    /// Sends, and takes meanwhile what comes: a server may stop listening until it was listened to.
    async fn send(&mut self, message: &str) -> Result<(), Error> {
        if let Some(why) = &self.closed {
            return Err(Error::Failed(why.clone()));
        }
        let ServerLine {
            connection,
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
                    return sent.map_err(|error| {
                        if error.is_over {
                            closed.get_or_insert_with(|| error.why.clone());
                        }
                        Error::Failed(error.why)
                    });
                }
                received = receiver.receive(), if has_room => match received {
                    Ok(message) => {
                        *backlog_bytes += message.len();
                        backlog.push_back(message);
                    }
                    Err(why) => *closed = Some(why),
                },
                () = end.come() => {
                    *closed = Some("does not listen".to_owned());
                    return Err(Error::Cancelled);
                }
            }
        }
    }
}

impl mcp::Host for CallState {
    async fn open(&mut self) -> Result<Resource<TakenLine>, Refusal> {
        self.only_in_run()?;
        let Some(line) = &mut self.line_to_server else {
            return Err(Error::Unsupported("this component was made for no server".into()).into());
        };
        if std::mem::replace(&mut line.is_taken, true) {
            return Err(Error::Conflict("the line is taken".into()).into());
        }
        let handle = self.table.push(TakenLine).map_err(wasmtime::Error::from)?;
        Ok(handle)
    }

    async fn offered(&mut self) -> wasmtime::Result<mcp::Offer> {
        let line = self.line_to_server.as_ref();
        Ok(line.map_or_else(|| Terms::default().offer(), |line| line.terms.offer()))
    }

    async fn ask_model(&mut self, prompt: mcp::ModelPrompt) -> Result<mcp::ModelAnswer, Refusal> {
        self.ask_model_for_server(prompt).await
    }
}

impl mcp::HostLine for CallState {
    async fn send(&mut self, line: Resource<TakenLine>, message: String) -> Result<(), Refusal> {
        self.table.get(&line).map_err(wasmtime::Error::from)?;
        if message.len() > MAX_SERVER_MESSAGE_BYTES {
            return Err(Error::TooLarge(format!(
                "the message has {} bytes; at most {MAX_SERVER_MESSAGE_BYTES} are possible",
                message.len()
            ))
            .into());
        }
        match &mut self.line_to_server {
            Some(line) => Ok(line.send(&message).await?),
            None => Err(Error::Failed("there is no line".into()).into()),
        }
    }

    async fn receive(
        &mut self,
        line: Resource<TakenLine>,
        wait: bool,
    ) -> wasmtime::Result<Incoming> {
        self.table.get(&line)?;
        Ok(match &mut self.line_to_server {
            Some(line) => line.receive(wait).await,
            None => Incoming::Closed("there is no line".to_owned()),
        })
    }

    async fn drop(&mut self, line: Resource<TakenLine>) -> wasmtime::Result<()> {
        self.table.delete(line)?;
        self.line_to_server = None;
        Ok(())
    }
}

impl CallState {
    /// A call begins in a bridge, which outlives it.
    pub(crate) fn begin_call(&mut self, asked: Asked) {
        self.call = asked.call;
        self.tool = asked.tool;
        self.arguments = asked.arguments;
        self.ask = Some(asked.ask);
        self.progress = Some(asked.progress);
        self.text_questions = 0;
        self.prompts = 0;
    }

    /// It is over: nobody is there to be asked or shown anything.
    pub(crate) fn end_call(&mut self) {
        self.ask = None;
        self.progress = None;
        self.write_messages();
        self.messages = super::log::Messages::default();
        // What a bridge does is in the log as what its calls do.
        self.closed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;

    use crate::mcp::transport::{Receiver, SendError, Sender};

    /// Listens only after its messages were taken.
    struct Stubborn(Arc<Wish>, usize);

    #[async_trait]
    impl Sender for Arc<Wish> {
        async fn send(&mut self, _: &str) -> Result<(), SendError> {
            self.come().await;
            Ok(())
        }
    }

    #[async_trait]
    impl Receiver for Stubborn {
        async fn receive(&mut self) -> Result<String, String> {
            match self.1 {
                0 => {
                    self.0.make();
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
        let heard = Arc::new(Wish::default());
        let connection = Connection {
            sender: Box::new(Arc::clone(&heard)),
            receiver: Box::new(Stubborn(heard, 3)),
        };
        let mut line = ServerLine::new(connection, Terms::default());
        line.send("x").await.unwrap();
        for expected in ["3", "2", "1"] {
            let incoming = line.receive(true).await;
            assert!(matches!(incoming, Incoming::Message(text) if text == expected));
        }
        assert!(matches!(line.receive(false).await, Incoming::Nothing));
        line.end.make();
        assert!(matches!(line.receive(true).await, Incoming::Cancelled));
    }
}
