//! What stands behind a page.

use async_trait::async_trait;
use serde::Serialize;

/// What answers the calls of an app: its main part.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Answers `dunlin.invoke(name, arguments)`; both the arguments and the answer are JSON.
    ///
    /// How large they may be is for it to say. The future is dropped when the page that asked is gone, the app was replaced or
    /// closed. Calls run side by side, up to [`MAX_CALLS`](super::MAX_CALLS).
    async fn invoke(&self, name: &str, arguments: &str) -> Result<String, BackendError>;
}

/// Why a call failed, as the app sees it: an `Error` with these fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct BackendError {
    /// What went wrong.
    pub message: String,
    /// A name for programs: `TypeError`, `TimeoutError`, `BusyError`, …
    pub kind: String,
    /// The line in `main-js`, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in that line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl BackendError {
    pub(super) fn new(kind: &str, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            kind: kind.to_owned(),
            line: None,
            column: None,
        }
    }
}
