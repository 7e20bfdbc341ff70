//! What an inspector reads in the files of sessions: the requests that were sent.
//!
//! A chat names a session and a number. Both only select what this user has stored; no file is named by a chat.

use std::path::PathBuf;

use dunlin_chat::request::measure::Measure;
use dunlin_chat::session::Store;
use dunlin_chat::session::requests::{RequestFile, Side};
use dunlin_chat::turn::PausedRequest;
use dunlin_host::ForeignError;
use dunlin_terminal::inspector::{Logged, Logs};
use dunlin_terminal::request::paused::Paused;

use crate::requests::{sent, summaries};

/// The logs in the data folder of this user.
pub struct SessionLogs(pub Store);

/// The session was removed, or has no file yet.
#[derive(Debug, thiserror::Error)]
#[error("the session is not stored")]
struct NotStored;

impl SessionLogs {
    fn path(&self, session: &str) -> Option<PathBuf> {
        let entries = self.0.entries(true).into_iter();
        let mut found = entries.filter(|entry| entry.id == session);
        found.next().map(|entry| entry.path)
    }

    fn file(&self, session: &str) -> Result<RequestFile, ForeignError> {
        let path = self.path(session).ok_or(NotStored)?;
        Ok(RequestFile::read(&path)?)
    }
}

impl Logs for SessionLogs {
    fn rows(&self, session: &str) -> Vec<Logged> {
        summaries(self.path(session).as_deref())
    }

    fn sent(&self, session: &str, number: u64) -> Result<Paused, ForeignError> {
        let file = self.file(session)?;
        let request = sent(&file, number)?;
        let logged = file.request(number)?;
        let entry = &logged.entry;
        // It is counted as it was when it was sent: the number is the one that the list of requests shows.
        let scale = entry.scale.as_ref();
        Ok(Paused::new(PausedRequest {
            number: Some(number),
            time: logged.time,
            measure: scale.map_or_else(Measure::default, Measure::restored),
            window: entry.window,
            ..PausedRequest::new(request)
        }))
    }

    fn body(&self, session: &str, sha256: &str) -> Option<Vec<u8>> {
        let file = self.file(session).ok()?;
        let mut requests = file.requests().iter().rev();
        let request = requests.find(|request| request.entry.sent_body().sha256 == sha256)?;
        file.body(request.entry.number, Side::Sent).ok()
    }
}
