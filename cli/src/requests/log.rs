//! The log of a session's requests.

use bytes::Bytes;

use crate::app::App;
use crate::error::CliError;
use dunlin_chat::request::editor::{EditableRequest, Outline};
use dunlin_chat::session::Entry;
use dunlin_chat::session::requests::{LogError, RequestFile, Side};
use dunlin_host::display::{escape, own_command};

/// A session with its requests.
pub struct Log {
    pub entry: Entry,
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
    pub fn find(app: &App, session: Option<&str>) -> Result<Log, CliError> {
        Log::of(app.store().find(session)?)
    }

    /// Where the requests before are, if the session is a copy of one that is still there.
    pub fn before(&self, app: &App) -> Option<String> {
        let original = self.file.forked_from()?;
        // The name is what a file says.
        let found = app.store().find(Some(original)).ok()?;
        let id = escape(&found.id);
        (found.id == original).then(|| {
            format!(
                "This session is a copy of {id}; {} lists the requests before.",
                own_command(&["requests", "list", "--session", &id])
            )
        })
    }
}

/// A request as it was sent, with what was edited where that can be told. One of unknown shape is one section.
///
/// # Errors
/// It is not there, or its bytes are not those that were sent.
pub fn sent(file: &RequestFile, number: u64) -> Result<EditableRequest, LogError> {
    let original: Bytes = file.body(number, Side::Original)?.into();
    let sent = match file.request(number)?.entry.is_edited() {
        true => file.body(number, Side::Sent)?.into(),
        false => original.clone(),
    };
    let request = EditableRequest::between(original, &sent);
    Ok(request.unwrap_or_else(|| EditableRequest::new(sent, Outline::raw())))
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
