//! The audit log: one JSON line for every decision and every use.
//!
//! A line is written with one system call to a file opened for appending, so lines of several Dunlins
//! do not mix. A use that cannot be logged does not happen: see [`crate::capability`].

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde::Serialize;

use crate::call::WebRequest;
use crate::engine::cache::sha256_hex;
use crate::files::make_private;
use crate::json;
use crate::permission::PluginId;

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
    /// What of a request its target does not say.
    #[serde(flatten)]
    pub(crate) sent: Option<Sent<'a>>,
    /// For a use that changed a name rather than a content: what it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) change: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_us: Option<u64>,
    /// For a program: the command line it stands in, shortened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<&'a str>,
    /// For the end of a call: what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<&'a str>,
}

/// A request, in an entry of the audit log.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Sent<'a> {
    /// With the query.
    url: &'a str,
    /// `NAME: VALUE`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    headers: Vec<String>,
    /// SHA-256 of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent_sha256: Option<String>,
}

impl<'a> Sent<'a> {
    pub(crate) fn of(request: &'a WebRequest) -> Sent<'a> {
        let header = |(name, value): &(String, String)| format!("{name}: {value}");
        let body = &request.body;
        Sent {
            url: &request.url,
            headers: request.headers.iter().map(header).collect(),
            sent_sha256: (!body.is_empty()).then(|| sha256_hex(body)),
        }
    }
}

impl<'a> Record<'a> {
    /// What happened now, during this call, to a tool of this plugin. The other fields are left out.
    pub(crate) fn new(
        event: Event,
        session: &'a str,
        call: &'a str,
        tool: &'a str,
        plugin: &'a PluginId,
    ) -> Record<'a> {
        Record {
            time: now(),
            session,
            call,
            tool,
            plugin: &plugin.name,
            digest: &plugin.digest,
            event,
            target: None,
            operation: None,
            rule: None,
            times: None,
            bytes: None,
            sent: None,
            change: None,
            duration_us: None,
            line: None,
            error: None,
        }
    }
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// A use was allowed, by a rule or an answer.
    Allowed,
    /// A use was denied.
    Denied,
    /// A request is about to leave that says more than its target.
    Sent,
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
    /// Bytes from which on the file is put aside; `None`: never.
    most: Option<u64>,
}

impl JsonLines {
    /// A file that only ever grows.
    pub(crate) fn new(path: &Path) -> JsonLines {
        JsonLines {
            path: path.to_owned(),
            file: Mutex::new(None),
            most: None,
        }
    }

    /// A file that is put aside as `NAME.old` when it would have more than `most` bytes. The one put aside before is
    /// lost, so both together have at most twice as many.
    pub(crate) fn bounded(path: &Path, most: u64) -> JsonLines {
        JsonLines {
            most: Some(most),
            ..JsonLines::new(path)
        }
    }

    /// Appends one line for each record, in one write.
    pub(crate) fn append<T: Serialize>(&self, records: &[T]) -> Result<(), AuditError> {
        self.append_counted(records).map(drop)
    }

    /// The same; the value is the number of bytes.
    pub(crate) fn append_counted<T: Serialize>(&self, records: &[T]) -> Result<usize, AuditError> {
        if records.is_empty() {
            return Ok(0);
        }
        let fail = |source| AuditError {
            path: self.path.clone(),
            source,
        };
        let mut lines = Vec::with_capacity(256 * records.len());
        for record in records {
            json::append_line(record, &mut lines).map_err(|e| fail(e.into()))?;
        }
        let mut slot = self.file.lock();
        if let (Some(file), Some(most)) = (&*slot, self.most)
            && file.metadata().map_err(fail)?.len() + lines.len() as u64 > most
        {
            self.put_aside(file).map_err(fail)?;
            *slot = None;
        }
        let file = match &mut *slot {
            Some(file) => file,
            None => slot.insert(self.open().map_err(fail)?),
        };
        file.write_all(&lines).map_err(fail)?;
        Ok(lines.len())
    }

    /// Renames the file, unless another Dunlin has done so already.
    fn put_aside(&self, file: &File) -> io::Result<()> {
        let (own, named) = (file.metadata()?, std::fs::metadata(&self.path));
        let is_same = named.is_ok_and(|it| (it.dev(), it.ino()) == (own.dev(), own.ino()));
        if is_same {
            let mut old = self.path.clone().into_os_string();
            old.push(".old");
            std::fs::rename(&self.path, old)?;
        }
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            make_private(folder)?;
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

/// How many bytes more a call may write into a log, with whatever it does in the background. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct LogQuota(Arc<AtomicUsize>);

impl LogQuota {
    pub(crate) fn new(bytes: usize) -> LogQuota {
        LogQuota(Arc::new(bytes.into()))
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    pub(crate) fn take(&self, bytes: usize) {
        let less = |left: usize| Some(left.saturating_sub(bytes));
        // Always `Ok`: there is always a next value.
        let _ = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_file_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines.jsonl");
        let (one, other) = (
            JsonLines::bounded(&path, 1_000),
            JsonLines::bounded(&path, 1_000),
        );
        for number in 0..100 {
            // Two Dunlins write the same file.
            one.append(&[format!("one {number} {}", "x".repeat(80))])
                .unwrap();
            other
                .append(&[format!("other {number} {}", "x".repeat(80))])
                .unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let old = std::fs::read_to_string(folder.path().join("lines.jsonl.old")).unwrap();
        assert!(
            text.len() <= 1_000 && old.len() <= 1_000,
            "{} {}",
            text.len(),
            old.len()
        );
        assert!(text.contains("other 99"), "{text}");
        for line in text.lines().chain(old.lines()) {
            assert!(serde_json::from_str::<String>(line).is_ok(), "{line}");
        }
    }
}
