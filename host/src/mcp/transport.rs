//! How messages travel to a server and back, behind two traits: whole messages, one after the other.

use std::io;
use std::path::PathBuf;

use async_trait::async_trait;

use crate::ForeignError;
use crate::limits::MAX_SERVER_MESSAGE_BYTES;

/// Makes connections to one server.
#[async_trait]
pub trait Connect: Send + Sync {
    /// Connects. Dropping the future leaves nothing behind.
    async fn connect(&self, log: &dyn ServerLog) -> Result<Connection, TransportError>;
}

/// Why there is no connection to a server, or no longer one. Whoever knows the server's name says it in front of the message:
/// "git cannot be started".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The program does not exist.
    #[error("cannot be started: there is no program {0:?}")]
    NoProgram(String),
    /// What the search path leads to would be what a command left there.
    #[error(
        "cannot be started: commands can change the file that {0:?} leads to; configure a path, or sandbox = true"
    )]
    Changeable(PathBuf),
    /// The folder that it runs in could not be made.
    #[error("cannot be started: Dunlin cannot make its folder {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The program could not be started.
    #[error("cannot be started")]
    Start(#[source] ForeignError),
    /// The program ended before it served; what its supervisor said, escaped.
    #[error("cannot be started: {0}")]
    NotStarted(String),
    /// The server could not be connected.
    #[error("cannot be connected")]
    Connect(#[source] ForeignError),
    /// The server sent more than a message may have.
    #[error("sent a line longer than {} MiB", MAX_SERVER_MESSAGE_BYTES / (1024 * 1024))]
    LineTooLong,
    /// The program ended.
    #[error("has ended")]
    Ended,
    /// The program ended, and said something before; escaped.
    #[error("has ended; its last words: {0}")]
    EndedSaying(String),
    /// The server closed the connection.
    #[error("has closed the connection")]
    Closed,
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
    /// The next message, at most [`crate::limits::MAX_SERVER_MESSAGE_BYTES`]. Dropping the future loses nothing.
    /// After an error nothing more comes.
    async fn receive(&mut self) -> Result<String, TransportError>;
}
