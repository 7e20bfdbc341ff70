//! How messages travel to a server and back, behind two traits: whole messages, one after the other.

use async_trait::async_trait;

/// Makes connections to one server.
#[async_trait]
pub trait Connect: Send + Sync {
    /// Connects. Dropping the future leaves nothing behind. The error says why it cannot be, as the end of a sentence
    /// that starts with the server's name.
    async fn connect(&self, log: &dyn ServerLog) -> Result<Connection, String>;
}

/// Takes what a server says beside the protocol, line by line. Any bytes a server can write: never shown unescaped.
pub trait ServerLog: Send + Sync {
    /// A place for it that outlives the call.
    fn keep(&self) -> Box<dyn FnMut(&str) + Send>;
}

/// An open connection. Dropping it closes it.
pub struct Connection {
    /// Takes messages.
    pub sender: Box<dyn Sender>,
    /// Gives them.
    pub receiver: Box<dyn Receiver>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

/// Takes messages.
#[async_trait]
pub trait Sender: Send {
    /// Sends one message. Dropping the future may leave half of it sent: the connection is of no use then.
    async fn send(&mut self, message: &str) -> Result<(), SendError>;

    /// Nothing more will be sent: takes leave as this way wants it. The server may go on talking until
    /// [`Receiver::receive`] fails, which is the end. Whoever closes bounds the time of both.
    async fn close(&mut self) {}
}

/// Why a message could not be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendError {
    /// The end of a sentence that starts with the server's name.
    pub why: String,
    /// Whether nothing more can be sent.
    pub is_over: bool,
}

/// Gives messages.
#[async_trait]
pub trait Receiver: Send {
    /// The next message, at most [`crate::limits::MAX_SERVER_MESSAGE_BYTES`]. Dropping the future loses nothing. The
    /// error says why there will be none, as the end of a sentence that starts with the server's name.
    async fn receive(&mut self) -> Result<String, String>;
}
