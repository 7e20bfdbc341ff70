//! Reads the log of requests of a session file, whatever the file holds.
//!
//! The file is in memory as a whole while it is looked at, so memory is in proportion to its size. A body is put together
//! from slices of the file, so even a long chain of requests takes little more than the last body itself. What a hostile
//! file could make large beyond that is bounded: the length of a body and the number of slices.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use dunlin_host::files::open_regular;
use dunlin_host::sha256_hex;
use jiff::Timestamp;
use serde::Deserialize;

use super::delta::Source;
use super::restore::Restorer;
use super::{AnswerEntry, RequestEntry};
use crate::request::editor::{Edit, SectionId};
use crate::session::reader::trim_nul;
use crate::session::record::{LineError, Record};

/// The largest session file that is read for its requests, in bytes: 1 GiB.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Most parts of all bodies that are kept. A long session has some ten thousand.
const MAX_PARTS_OF_ALL: usize = 1 << 22;

/// How many numbers an error names.
const MAX_NEAREST: usize = 3;

/// Which body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Original,
    Sent,
}

/// Why the log or a body in it cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the session file is larger than 1 GiB")]
    TooLarge,
    #[error("no request {number} in this session{}", nearest_words(.nearest))]
    Unknown {
        number: u64,
        /// The numbers that there are and that are next to it.
        nearest: Vec<u64>,
    },
    #[error("the body of request {0} is not stored: it was too long for the log")]
    NotStored(u64),
    #[error(
        "the body of request {number} cannot be restored: {missing} is missing from the session file"
    )]
    Missing { number: u64, missing: String },
    /// A body copies what is not there.
    #[error(
        "the body of request {number} cannot be restored: it refers to bytes outside of {source_name}"
    )]
    OutOfRange {
        number: u64,
        /// What it refers to.
        source_name: String,
    },
    /// No Dunlin wrote this.
    #[error("the body of request {0} cannot be restored: its record is not one that Dunlin writes")]
    Excessive(u64),
    #[error(
        "the body of request {number} cannot be restored: it builds on the one of request {base}"
    )]
    Base { number: u64, base: u64 },
    /// The bytes are others than those that were sent.
    #[error(
        "the body of request {number} is damaged: its SHA-256 is {found}, the log says {expected}"
    )]
    Digest {
        number: u64,
        expected: String,
        /// Of the bytes that came out.
        found: String,
    },
}

fn nearest_words(nearest: &[u64]) -> String {
    let numbers: Vec<String> = nearest.iter().map(u64::to_string).collect();
    match numbers.is_empty() {
        true => "; none was logged".to_owned(),
        false => format!("; nearest: {}", numbers.join(", ")),
    }
}

/// A request as it was logged.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRequest {
    pub time: Option<Timestamp>,
    pub entry: RequestEntry,
    /// What came of it; `None`: Dunlin ended before.
    pub answer: Option<AnswerEntry>,
    /// The number of its line.
    pub line: u64,
    /// The line of the reply, where there is one.
    reply: Option<u64>,
    /// The request in the file that names the edits of this one: another one where they are the same as before.
    edits: usize,
}

impl LoggedRequest {
    /// Compares the digest of a body with that in the log.
    pub(super) fn check(&self, side: Side, bytes: &[u8]) -> Result<(), LogError> {
        let body = match side {
            Side::Original => &self.entry.original,
            Side::Sent => self.entry.sent_body(),
        };
        let found = sha256_hex(bytes);
        match found == body.sha256 {
            true => Ok(()),
            false => Err(LogError::Digest {
                number: self.entry.number,
                expected: body.sha256.chars().take(2 * found.len()).collect(),
                found,
            }),
        }
    }
}

/// The requests of a session file.
#[derive(Debug, Default)]
pub struct RequestFile {
    bytes: Vec<u8>,
    /// Where each line is, by its number. Where there are several, the first.
    lines: HashMap<u64, Range<usize>>,
    /// The session that this one is a copy of.
    forked_from: Option<String>,
    requests: Vec<LoggedRequest>,
    by_number: HashMap<u64, usize>,
    /// Up to where there are whole lines.
    end: usize,
}

/// What every line begins with, and Dunlin writes in this order.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    n: u64,
}

/// A line with its kind and number.
pub(super) struct NumberedLine<'a> {
    pub(super) kind: Cow<'a, str>,
    pub(super) n: u64,
    pub(super) text: &'a [u8],
    at: usize,
}

/// Those of the whole lines at the beginning of some bytes that are records, and how long the whole lines are together.
pub(super) fn numbered_lines(bytes: &[u8]) -> (Vec<NumberedLine<'_>>, usize) {
    let mut lines = Vec::new();
    let mut end = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if !line.ends_with(b"\n") {
            break;
        }
        let text = trim_nul(line.trim_ascii());
        let is_padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
        let before = line.iter().position(|byte| !is_padding(byte));
        if let (Some(before), Ok(Outline { kind, n })) = (before, serde_json::from_slice(text)) {
            let at = end + before;
            lines.push(NumberedLine { kind, n, text, at });
        }
        end += line.len();
    }
    (lines, end)
}

impl RequestFile {
    /// Reads a session file.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub fn read(path: &Path) -> Result<RequestFile, LogError> {
        let file = open_regular(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file").into());
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(LogError::TooLarge);
        }
        Ok(RequestFile::parse(bytes))
    }

    /// Reads the text of a session file. Lines that are not records are left out, and so is a request whose number another
    /// one has already: what refers to the number means one of them.
    pub fn parse(bytes: Vec<u8>) -> RequestFile {
        let mut file = RequestFile::default();
        let (lines, end) = numbered_lines(&bytes);
        // The last request of a turn whose reply may come.
        let mut awaits: Option<usize> = None;
        let mut parts = 0;
        for NumberedLine { kind, n, text, at } in lines {
            let range = at..at + text.len();
            if file.lines.contains_key(&n) {
                continue;
            }
            file.lines.insert(n, range);
            match kind.as_ref() {
                "session" => {
                    if let Ok(Record::Head(head)) = record(text) {
                        file.forked_from = head.forked_from;
                    }
                }
                "request" => {
                    let Ok(Record::Request(mut entry)) = record(text) else {
                        continue;
                    };
                    let is_turn = entry.kind == super::Kind::Turn;
                    if file.by_number.contains_key(&entry.number) {
                        // A reply behind it is not one to the request before.
                        awaits = awaits.filter(|_| !is_turn);
                        continue;
                    }
                    for body in [Some(&mut entry.original), entry.sent.as_mut()] {
                        let Some(body) = body else { continue };
                        parts += body.parts.as_ref().map_or(0, Vec::len);
                        if parts > MAX_PARTS_OF_ALL {
                            body.parts = None;
                        }
                    }
                    let index = file.requests.len();
                    let base = entry.base.filter(|_| entry.same_edits);
                    let base = base.and_then(|base| file.request(base).ok());
                    let base = base.filter(|base| base.line < n);
                    let edits = base.map_or(index, |base| base.edits);
                    file.by_number.insert(entry.number, index);
                    file.requests.push(LoggedRequest {
                        time: time_of(text),
                        entry: *entry,
                        answer: None,
                        line: n,
                        reply: None,
                        edits,
                    });
                    if is_turn {
                        awaits = Some(index);
                    }
                }
                "answer" => {
                    if let Ok(Record::Answer(answer)) = record(text)
                        && let Some(index) = file.by_number.get(&answer.number)
                        && let Some(request) = file.requests.get_mut(*index)
                        && request.answer.is_none()
                    {
                        request.answer = Some(answer);
                    }
                }
                "message" => {
                    if text
                        .get(..REPLY_SEARCH.min(text.len()))
                        .is_some_and(is_reply)
                        && let Some(index) = awaits.take()
                        && let Some(request) = file.requests.get_mut(index)
                    {
                        request.reply = Some(n);
                    }
                }
                _ => {}
            }
        }
        file.end = end;
        file.bytes = bytes;
        file
    }

    /// The session that this one is a copy of. It has the requests before the copy.
    pub fn forked_from(&self) -> Option<&str> {
        self.forked_from.as_deref()
    }

    /// The requests in the order of the file.
    pub fn requests(&self) -> &[LoggedRequest] {
        &self.requests
    }

    /// The request with this number.
    ///
    /// # Errors
    /// There is none.
    pub fn request(&self, number: u64) -> Result<&LoggedRequest, LogError> {
        let index = self.by_number.get(&number);
        let found = index.and_then(|index| self.requests.get(*index));
        found.ok_or_else(|| {
            let mut nearest: Vec<u64> = self.by_number.keys().copied().collect();
            nearest.sort_by_key(|other| (other.abs_diff(number), *other));
            nearest.truncate(MAX_NEAREST);
            LogError::Unknown { number, nearest }
        })
    }

    /// What was edited in a request. Where the log says only that it is the same as before, it is what was edited there.
    pub fn edits<'a>(&'a self, request: &'a LoggedRequest) -> &'a [Edit] {
        let named = self.requests.get(request.edits).unwrap_or(request);
        &named.entry.edits
    }

    /// The model that a request was sent to: the one of the agent, unless that was edited.
    pub fn model<'a>(&'a self, request: &'a LoggedRequest) -> Cow<'a, str> {
        let composed = Cow::Borrowed(request.entry.model.as_str());
        let edits = self.edits(request).iter();
        edits.fold(composed.clone(), |model, edit| match edit {
            Edit::Set { target, new, .. } if target.section == SectionId::Options => {
                match target.path.to_string() == "model" {
                    true => match new {
                        Some(new) => serde_json::from_str(new).map_or(model, Cow::Owned),
                        None => composed.clone(),
                    },
                    false => model,
                }
            }
            Edit::Reset => composed.clone(),
            _ => model,
        })
    }

    /// How many bytes of the file are whole lines.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    pub(super) fn text(&self) -> &[u8] {
        &self.bytes
    }

    /// The message that came of a request: the model's reply, with its calls. `None`: there was none, or it was a
    /// summary or for a server.
    pub fn reply(&self, request: &LoggedRequest) -> Option<crate::message::Message> {
        let line = self.bytes.get(self.lines.get(&request.reply?)?.clone())?;
        match record(line).ok()? {
            Record::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The exact bytes of a body. The digest is checked.
    ///
    /// # Errors
    /// There is no such request, or its bytes cannot be restored.
    pub fn body(&self, number: u64, side: Side) -> Result<Vec<u8>, LogError> {
        let target = self.request(number)?;
        let bytes = super::restore::restore(self, &self.chain(target)?, side)?;
        target.check(side, &bytes)?;
        Ok(bytes)
    }

    /// The bodies of many requests. See [`Restorer`].
    pub fn restorer(&self) -> Restorer<'_> {
        Restorer::new(self)
    }

    /// The requests that a body builds on, the first one first, and the request itself.
    pub(super) fn chain<'a>(
        &'a self,
        target: &'a LoggedRequest,
    ) -> Result<Vec<&'a LoggedRequest>, LogError> {
        let mut chain = vec![target];
        let mut current = target;
        while let Some(base) = current.entry.base {
            let missing = || LogError::Missing {
                number: target.entry.number,
                missing: format!("request {base}"),
            };
            let found = self.request(base).map_err(|_| missing())?;
            // A body builds on one that was sent before, so there is an end to it.
            if found.line >= current.line {
                return Err(missing());
            }
            chain.push(found);
            current = found;
        }
        chain.reverse();
        Ok(chain)
    }

    /// A line, for a request that refers to it.
    pub(super) fn line(&self, number: u64, n: u64) -> Result<&[u8], LogError> {
        let line = self.lines.get(&n);
        let line = line.and_then(|range| self.bytes.get(range.clone()));
        line.ok_or_else(|| LogError::Missing {
            number,
            missing: Source::Line(n).to_string(),
        })
    }
}

/// How much of a line is looked at to see whether it is a reply, in bytes: the role comes first in a message.
const REPLY_SEARCH: usize = 160;

fn is_reply(start: &[u8]) -> bool {
    let marks: &[u8] = br#""message":{"role":"assistant""#;
    start.windows(marks.len()).any(|window| window == marks)
}

fn record(line: &[u8]) -> Result<Record, LineError> {
    Record::read(line).map(|numbered| numbered.record)
}

fn time_of(line: &[u8]) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Timed {
        time: Option<String>,
    }
    let timed: Timed = serde_json::from_slice(line).ok()?;
    timed.time?.parse().ok()
}
