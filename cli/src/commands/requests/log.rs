//! The log of a session's requests.

use crate::app::App;
use crate::error::CliError;
use dunlin_chat::session::Entry;
use dunlin_chat::session::requests::{LogError, RequestFile};

/// A session with its requests.
pub struct Log {
    /// The session.
    pub entry: Entry,
    /// Its requests.
    pub file: RequestFile,
}

impl Log {
    /// Reads the log of a session.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(entry: Entry) -> Result<Log, CliError> {
        let file = RequestFile::read(&entry.path)?;
        Ok(Log { entry, file })
    }

    /// The log of the session that is meant: the latest of the project unless one is named.
    pub(super) fn find(app: &App, session: Option<&str>) -> Result<Log, CliError> {
        Log::of(app.store().find(session)?)
    }
}

impl From<LogError> for CliError {
    fn from(error: LogError) -> CliError {
        match error {
            LogError::Unknown { .. } => CliError::usage(error)
                .with_hint("dunlin requests list shows the requests of a session".to_owned()),
            error => CliError::failed(error),
        }
    }
}
