//! The audit log: one JSON line for every decision and every use.
//!
//! A line is written with one system call to a file opened for appending, so lines of several Dunlins
//! do not mix. A use that cannot be logged does not happen: see [`crate::capability`].

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::json;

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}", path = .path.display())]
pub struct AuditError {
    /// Which file.
    pub path: PathBuf,
    /// The system's answer.
    pub source: io::Error,
}

/// One line. Fields that do not apply are left out.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record<'a> {
    /// RFC 3339, UTC, with microseconds.
    pub(crate) time: String,
    pub(crate) session: &'a str,
    pub(crate) call: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) plugin: &'a str,
    pub(crate) digest: &'a str,
    pub(crate) event: Event,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<&'static str>,
    /// Which rule or answer decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<&'a str>,
    /// How often it was used, if more than once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) times: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_us: Option<u64>,
    /// For a program: the command line it stands in, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<&'a str>,
    /// For the end of a call: what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a str>,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// A use was allowed, by a rule or an answer.
    Allowed,
    /// A use was denied.
    Denied,
    /// What was done under an allowed use, when it was over.
    Used,
    /// A call ended.
    Ended,
}

/// An append-only file of JSON lines, made at the first line: 0600, its folder 0700.
#[derive(Debug)]
pub(crate) struct JsonLines {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl JsonLines {
    pub(crate) fn new(path: &Path) -> JsonLines {
        JsonLines {
            path: path.to_owned(),
            file: Mutex::new(None),
        }
    }

    /// Appends one line for each record, in one write.
    pub(crate) fn append<T: Serialize>(&self, records: &[T]) -> Result<(), AuditError> {
        if records.is_empty() {
            return Ok(());
        }
        let fail = |source| AuditError {
            path: self.path.clone(),
            source,
        };
        let mut lines = Vec::with_capacity(256 * records.len());
        for record in records {
            json::append_line(record, &mut lines).map_err(|e| fail(e.into()))?;
        }
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *slot {
            Some(file) => file,
            None => slot.insert(self.open().map_err(fail)?),
        };
        file.write_all(&lines).map_err(fail)
    }

    fn open(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
        }
        OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.path)
    }
}

/// Now, as lines write it.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().to_string()
}
