//! Two errors that must not be confused: [`Error`], with which an import answers a tool, and
//! [`Failure`], with which a tool answers the model. `?` turns the first into the second.

use std::time::Duration;

use crate::need::Need;

/// Why an import refused or failed. The texts are the host's, for people and for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The user or a rule refused. Says nothing about whether the target exists.
    #[error("permission to {} '{}' was denied", .0.operation.word(), .0.target.as_str())]
    Denied(Need),
    /// There is nothing at that place.
    #[error("{0}")]
    NotFound(String),
    /// A folder, a device, a socket; or not UTF-8 where text was asked for.
    #[error("{0}")]
    WrongKind(String),
    /// An argument makes no sense in itself.
    #[error("{0}")]
    Invalid(String),
    /// Answering would pass a limit of the host. Ask for less.
    #[error("{0}")]
    TooLarge(String),
    /// It changed since it was read, or somebody else holds it.
    #[error("{0}")]
    Conflict(String),
    /// The time limit of this operation passed.
    #[error("{0}")]
    TimedOut(String),
    /// A server or a service cannot be reached now. The same may work later.
    #[error("{0}")]
    Unavailable(String),
    /// The user interrupted the call. Return at once.
    #[error("cancelled by the user")]
    Cancelled,
    /// This host does not offer that.
    #[error("{0}")]
    Unsupported(String),
    /// The operating system, or the other side of a connection, reported a failure.
    #[error("{0}")]
    Failed(String),
}

/// A kind of failure that the host and the model may act on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The message says which argument and how to correct it.
    InvalidArguments,
    /// A needed capability was refused.
    Denied,
    /// What was asked for does not exist.
    NotFound,
    /// The message says what to ask instead.
    TooLarge,
    /// Something changed meanwhile; the message says what to do first.
    Conflict,
    /// A time limit passed.
    TimedOut,
    /// A server cannot be reached now. The same call may work later.
    Unavailable,
    /// This host, or this machine, does not offer what the call needs.
    Unsupported,
    /// The user interrupted.
    Cancelled,
    /// Everything else.
    Failed,
}

/// A failure that the tool declares. It goes to the model as the result of the call.
///
/// Say what went wrong, where, and the way out, in one to three sentences: the model reads it and
/// tries again. A host keeps at most 4 KiB.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What sort of failure.
    pub kind: FailureKind,
    /// For the model.
    pub message: String,
    /// After what time the same call may work.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// A failure of any kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after: None,
        }
    }

    /// The same call may work after this time.
    #[must_use]
    pub fn retry_after(self, time: Duration) -> Self {
        Self {
            retry_after: Some(time),
            ..self
        }
    }

    /// The arguments cannot be used.
    pub fn invalid_arguments(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidArguments, message)
    }

    /// What was asked for does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FailureKind::NotFound, message)
    }

    /// The answer, or what has to be read for it, is too large.
    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(FailureKind::TooLarge, message)
    }

    /// Everything else.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, message)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Denied(_) => FailureKind::Denied,
            Error::NotFound(_) => FailureKind::NotFound,
            Error::Invalid(_) => FailureKind::InvalidArguments,
            Error::TooLarge(_) => FailureKind::TooLarge,
            Error::Cancelled => FailureKind::Cancelled,
            Error::Conflict(_) => FailureKind::Conflict,
            Error::TimedOut(_) => FailureKind::TimedOut,
            Error::Unavailable(_) => FailureKind::Unavailable,
            Error::Unsupported(_) => FailureKind::Unsupported,
            Error::WrongKind(_) | Error::Failed(_) => FailureKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}
