//! Reads a session: whatever a file holds, its good part becomes a conversation that can be sent.
//!
//! Nothing is changed on the disk. A line that is not a record is left out and counted, and what comes after it is
//! read all the same; a reply that was being written is what was streamed of it, marked as partial; calls that
//! have no result are [`INTERRUPTED`], or [`NOT_STARTED`] where that is known. Only a file without a single record is an error: an empty conversation
//! would be a lie.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use jiff::Timestamp;

use super::record::{CallEntry, FORMAT, Head, Record, Speaker};
use crate::media::Media;
use crate::message::{MAX_CALLS, Message, Role, ToolCall};
use crate::price::Charge;
use crate::request::truncation::Compacted;
use crate::turn::{CallRecord, CallState};

/// The result of a call that had none when Dunlin ended.
pub const INTERRUPTED: &str = "interrupted: Dunlin ended before this call had a result; \
    it may have been carried out, or in part, or not at all";

/// The result of a call that had not begun to run when Dunlin ended.
pub const NOT_STARTED: &str = "not started: Dunlin ended before this call ran, as far as was noted";

/// The longest line that is read, in bytes. The longest message, 16 MiB piped in, is shorter unless it is made of
/// control characters; what is longer is skipped without being held in memory.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;

/// How far a number may be ahead of the one before it: what is farther was not written by Dunlin.
const MAX_GAP: u64 = 1_000_000_000;

/// Whether a number can be one that Dunlin counted after this one, or before it. The next is counted from the highest, and two
/// calls must never have the same.
fn counts_on(number: u64, last: u64) -> bool {
    number != 0 && number.saturating_sub(last) <= MAX_GAP
}

/// Why there is no conversation.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
    #[error("nothing in it is a record of a session")]
    Strange,
    #[error("it has the format {0}, and this Dunlin reads {FORMAT}: a newer one wrote it")]
    Newer(u32),
}

/// A session as it was found.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The first line, if that could be read.
    pub head: Option<Head>,
    pub title: String,
    /// Whether the user called it so.
    pub named: bool,
    pub speaker: Option<Speaker>,
    /// What was said, results included.
    pub messages: Vec<Message>,
    /// When each of them was written.
    pub times: Vec<Option<Timestamp>>,
    /// What the model has summed up of them.
    pub compacted: Option<Compacted>,
    /// The MCP servers that it uses, by name.
    pub servers: Vec<String>,
    /// How much the model thinks, where the user chose that; otherwise empty.
    pub effort: String,
    /// How many of the messages need not be added to the file: those behind them were made up here, to end what
    /// was cut off.
    pub complete: usize,
    /// What became of the calls, in the order in which they were proposed.
    pub calls: Vec<CallEntry>,
    /// The highest number that a call has had, of calls that were taken back, too.
    pub last_call: usize,
    /// What the user said in a message that was never sent: its request was paused when Dunlin ended.
    pub unsent: Option<String>,
    /// The highest number that a request has had.
    pub last_request: u64,
    /// What all turns have cost.
    pub charge: Charge,
    /// The number of the next record.
    pub next: u64,
    /// The process that wrote last.
    pub pid: Option<u32>,
    /// Whether it was left in order.
    pub closed: bool,
    /// Whether what is added begins on a line of its own.
    pub ends_with_line: bool,
    pub damage: Damage,
}

impl Loaded {
    /// Whether it was begun in this project, as far as its first line says.
    pub fn is_of(&self, project: &str) -> bool {
        self.head
            .as_ref()
            .is_none_or(|head| head.project == project)
    }

    /// Whether the last turn ended without an answer of the model.
    pub fn is_unanswered(&self) -> bool {
        let last = self.messages.last();
        last.is_some_and(|last| matches!(last.role, Role::User | Role::Tool))
    }

    /// Every call of the session as the chat knows it. One that has no entry was interrupted with Dunlin.
    pub fn records(&self) -> Vec<CallRecord> {
        let entries = self.calls.iter().cloned().map(CallEntry::into_record);
        let mut records: Vec<CallRecord> = entries.collect();
        let mut numbers: HashSet<usize> = records.iter().map(|record| record.number).collect();
        let mut results: HashMap<&str, &Message> = HashMap::new();
        for message in &self.messages {
            if let Some(id) = &message.tool_call_id {
                results.entry(id).or_insert(message);
            }
        }
        let calls = self.messages.iter().flat_map(|message| &message.tool_calls);
        for call in calls {
            if numbers.insert(call.number) {
                records.push(without_entry(call, results.get(&*call.id).copied()));
            }
        }
        records
    }
}

/// A call that was interrupted with Dunlin, and the message with its result.
fn without_entry(call: &ToolCall, result: Option<&Message>) -> CallRecord {
    CallRecord {
        number: call.number,
        id: call.id.clone(),
        tool: call.name.clone(),
        arguments: serde_json::Value::Object(call.arguments.clone()),
        // Dunlin ended while it ran, or before.
        state: match result {
            Some(message) if message.content == NOT_STARTED => CallState::NotRun,
            _ => CallState::Cancelled,
        },
        result: result.map(|message| message.content.clone()),
        media: result
            .map(|message| message.media.clone())
            .unwrap_or_default(),
        not_media: None,
        duration_ms: None,
        recovered: false,
        repaired: false,
        error: None,
        failure: None,
        denied_by: None,
        edits: Arc::default(),
        changed: None,
    }
}

/// What of a file was left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damage {
    /// Lines that are not records.
    pub broken: usize,
    /// Bytes of a last line that is not whole.
    pub torn_bytes: usize,
    /// Bytes that are zero, where a disk lost what was written.
    pub nul_bytes: usize,
    /// Lines longer than [`MAX_LINE_BYTES`].
    pub oversized: usize,
    /// Lines that are there twice.
    pub doubled: usize,
    /// Numbers that no line has, broken ones not counted.
    pub missing: u64,
    /// The kinds of records that this version does not know.
    pub unknown: BTreeSet<String>,
    /// Whether the first line could not be read.
    pub headless: bool,
}

impl Damage {
    /// What was left out, in one line; `None`: nothing.
    pub fn notice(&self) -> Option<String> {
        let count = |number: u64, one: &str, many: &str| match number {
            0 => None,
            1 => Some(format!("1 {one}")),
            _ => Some(format!("{number} {many}")),
        };
        let kinds: Vec<&str> = self.unknown.iter().map(String::as_str).collect();
        let parts = [
            self.headless.then(|| "its first line".to_owned()),
            count(self.broken as u64, "broken line", "broken lines"),
            count(
                self.torn_bytes as u64,
                "byte of a last line",
                "bytes of a last line that is not whole",
            ),
            count(self.nul_bytes as u64, "zero byte", "zero bytes"),
            count(
                self.oversized as u64,
                "line that is too long",
                "lines that are too long",
            ),
            count(
                self.doubled as u64,
                "line that was there twice",
                "lines that were there twice",
            ),
            (!kinds.is_empty())
                .then(|| format!("what a newer version wrote ({})", kinds.join(", "))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let missing = count(self.missing, "line is missing", "lines are missing");
        match (parts.is_empty(), missing) {
            (true, None) => None,
            (true, Some(missing)) => Some(missing),
            (false, None) => Some(format!("left out: {}", parts.join(", "))),
            (false, Some(missing)) => Some(format!("left out: {}; {missing}", parts.join(", "))),
        }
    }
}

/// Reads a session to its end. Memory is what the conversation takes, and a line.
pub fn read(from: impl BufRead) -> Result<Loaded, ReadError> {
    let mut lines = Lines::new(from);
    let mut assembler = Assembler::default();
    let mut damage = Damage::default();
    let mut seen = Seen::default();
    let (mut known, mut other) = (0_usize, 0_usize);
    let mut ends_with_line = true;
    while let Some(line) = lines.next()? {
        ends_with_line = line.ended;
        if line.oversized {
            damage.oversized += 1;
            continue;
        }
        let whole = line.bytes.trim_ascii();
        let text = trim_nul(whole);
        damage.nul_bytes += whole.len() - text.len();
        if text.is_empty() {
            continue;
        }
        let numbered = match Record::read(text) {
            Ok(numbered) if numbered.n.saturating_sub(seen.next) <= MAX_GAP => numbered,
            Err(_) if !line.ended => {
                damage.torn_bytes += text.len();
                continue;
            }
            _ => {
                damage.broken += 1;
                continue;
            }
        };
        if !seen.is_new(numbered.n) {
            damage.doubled += 1;
            continue;
        }
        match &numbered.record {
            Record::Head(head) if head.format > FORMAT => {
                return Err(ReadError::Newer(head.format));
            }
            Record::Unknown(kind) => {
                damage.unknown.insert(kind.clone());
                other += 1;
            }
            _ => known += 1,
        }
        if let Record::Message(message) = &numbered.record
            && message.tool_calls.len() > MAX_CALLS
        {
            // Nothing writes that.
            damage.broken += 1;
            known -= 1;
            continue;
        }
        assembler.record(numbered.time, numbered.record);
    }
    if known == 0 {
        let nothing = other + damage.broken + damage.oversized + damage.torn_bytes == 0;
        return Err(if nothing {
            ReadError::Empty
        } else {
            ReadError::Strange
        });
    }
    let mut loaded = assembler.finish();
    let lost = (damage.broken + damage.oversized) as u64;
    damage.missing = seen.missing().saturating_sub(lost);
    damage.headless = loaded.head.is_none();
    if damage.headless {
        // The first line is named as such and not counted again.
        match damage.broken.checked_sub(1) {
            Some(others) => damage.broken = others,
            None => damage.missing = damage.missing.saturating_sub(1),
        }
    }
    loaded.next = seen.next;
    loaded.ends_with_line = ends_with_line;
    loaded.damage = damage;
    Ok(loaded)
}

/// The numbers that were seen.
#[derive(Debug, Default)]
struct Seen {
    /// All below it were seen or are in `gaps`.
    next: u64,
    /// From and to, the latter not included.
    gaps: BTreeSet<(u64, u64)>,
}

impl Seen {
    fn is_new(&mut self, n: u64) -> bool {
        if n >= self.next {
            if n > self.next {
                self.gaps.insert((self.next, n));
            }
            self.next = n.saturating_add(1);
            return true;
        }
        let before = self.gaps.range(..=(n, u64::MAX)).next_back().copied();
        let Some((from, to)) = before.filter(|(_, to)| n < *to) else {
            return false;
        };
        self.gaps.remove(&(from, to));
        let parts = [(from, n), (n + 1, to)].into_iter();
        self.gaps.extend(parts.filter(|(from, to)| from < to));
        true
    }

    fn missing(&self) -> u64 {
        let lengths = self.gaps.iter().map(|(from, to)| to - from);
        lengths.fold(0, u64::saturating_add)
    }
}

/// Zero bytes at both ends: what a disk leaves that lost the rest of a line.
pub(super) fn trim_nul(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|byte| *byte != 0)
        .unwrap_or(text.len());
    let end = text
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(start, |at| at + 1);
    text[start..end].trim_ascii()
}

/// The text of a result, and what it holds beside that.
type ResultParts = (String, Vec<Media>);

/// Makes a conversation of records.
#[derive(Debug, Default)]
struct Assembler {
    loaded: Loaded,
    /// The reply that is being written.
    stream: String,
    /// The calls of the last assistant message, until all have results.
    open: Vec<ToolCall>,
    /// The first place of each id among them.
    places: HashMap<String, usize>,
    /// How many assistant messages with calls were closed.
    closed: usize,
    /// Where each of the loaded calls belongs: behind those of the messages that were closed before, at the place of its
    /// call in its message.
    order: Vec<(usize, Option<usize>)>,
    results: HashMap<String, (ResultParts, Option<Timestamp>)>,
    /// Those of the open calls that have begun to run.
    started: HashSet<String>,
}

impl Assembler {
    fn record(&mut self, time: Option<Timestamp>, record: Record) {
        self.loaded.closed = false;
        match record {
            Record::Head(head) => {
                // Only the first counts: another belongs to what was copied behind it.
                if self.loaded.head.is_none() {
                    self.loaded.title.clone_from(&head.title);
                    self.loaded.named = head.named;
                    self.loaded.speaker = Some(Speaker {
                        agent: head.agent.clone(),
                        model: head.model.clone(),
                    });
                    self.loaded.pid = Some(head.pid);
                    self.loaded.head = Some(head);
                }
            }
            Record::Message(message) => self.message(time, message),
            Record::Stream(text) => {
                self.close();
                self.stream.push_str(&text);
            }
            Record::Started(id) => {
                self.started.insert(id);
            }
            Record::Call(mut call) => {
                if !counts_on(call.number as u64, self.loaded.last_call as u64) {
                    let open = self.places.get(&call.id).and_then(|at| self.open.get(*at));
                    call.number = open.map(|open| open.number).unwrap_or_default();
                }
                self.loaded.last_call = self.loaded.last_call.max(call.number);
                let result = call.result.clone().unwrap_or_default();
                let place = self.places.get(&call.id).copied();
                self.order.push((self.closed, place));
                let id = call.id.clone();
                self.result(&id, (result, call.media.clone()), time);
                self.loaded.calls.push(call);
            }
            Record::Turn(turn) => {
                self.loaded.charge = self.loaded.charge.plus(turn.charge());
                (self.loaded.title, self.loaded.named) = (turn.title, turn.named);
            }
            Record::Renamed(title) => {
                (self.loaded.title, self.loaded.named) = (title, true);
            }
            Record::Speaker(speaker) => self.loaded.speaker = Some(speaker),
            Record::Cut(keep) => {
                self.end();
                self.truncate(keep);
            }
            Record::Unsent(text) => self.loaded.unsent = Some(text).filter(|text| !text.is_empty()),
            Record::Cleared => {
                self.loaded.unsent = None;
                self.end();
                self.truncate(0);
                self.loaded.calls.clear();
                self.order.clear();
            }
            Record::Compacted(compacted) => self.loaded.compacted = Some(compacted),
            Record::Servers(servers) => self.loaded.servers = servers,
            Record::Effort(effort) => self.loaded.effort = effort,
            Record::Opened(pid) => self.loaded.pid = Some(pid),
            Record::Closed => self.loaded.closed = true,
            Record::Request(request) => {
                let last = &mut self.loaded.last_request;
                if counts_on(request.number, *last) {
                    *last = (*last).max(request.number);
                }
            }
            // What became of a request is for whoever looks at the log.
            Record::Answer(_) => {}
            // How a subagent ended is for whoever lists them.
            Record::Subagent(_) => {}
            Record::Unknown(_) => {}
        }
    }

    fn message(&mut self, time: Option<Timestamp>, mut message: Message) {
        for call in &mut message.tool_calls {
            if !counts_on(call.number as u64, self.loaded.last_call as u64) {
                // Earlier builds stored no numbers, and counted the calls.
                call.number = self.loaded.last_call.saturating_add(1);
            }
            self.loaded.last_call = self.loaded.last_call.max(call.number);
        }
        match message.role {
            Role::Tool => {
                let id = message.tool_call_id.unwrap_or_default();
                self.result(&id, (message.content, message.media), time);
            }
            Role::Assistant => {
                // It is what the stream became.
                self.stream.clear();
                self.close();
                self.open.clone_from(&message.tool_calls);
                for (at, call) in self.open.iter().enumerate() {
                    self.places.entry(call.id.clone()).or_insert(at);
                }
                self.push(message, time);
            }
            Role::User | Role::System => {
                self.loaded.unsent = None;
                self.end();
                if self.loaded.title.is_empty() {
                    self.loaded.title = super::title_of(&message.content);
                }
                self.push(message, time);
            }
        }
    }

    fn push(&mut self, message: Message, time: Option<Timestamp>) {
        self.loaded.messages.push(message);
        self.loaded.times.push(time);
    }

    /// The result of a call; the first counts.
    fn result(&mut self, id: &str, said: ResultParts, time: Option<Timestamp>) {
        if !self.places.contains_key(id) {
            return;
        }
        self.results.entry(id.to_owned()).or_insert((said, time));
        if self.results.len() == self.places.len() {
            self.close();
        }
    }

    /// Gives the open calls their results, in the order of the calls.
    fn close(&mut self) {
        let started = std::mem::take(&mut self.started);
        let head = self.loaded.head.as_ref();
        let notes_starts = head.is_some_and(|head| head.notes_starts);
        self.closed += 1;
        self.places.clear();
        for call in std::mem::take(&mut self.open) {
            let result = self.results.remove(&call.id);
            let why = match notes_starts && !started.contains(&call.id) {
                true => NOT_STARTED,
                false => INTERRUPTED,
            };
            let ((content, media), time) =
                result.unwrap_or_else(|| ((why.to_owned(), Vec::new()), None));
            let message = Message {
                media,
                tool_call_id: Some(call.id),
                name: Some(call.name),
                ..Message::text(Role::Tool, content)
            };
            self.push(message, time);
        }
        self.results.clear();
    }

    /// Ends what was cut off.
    fn end(&mut self) {
        self.close();
        let text = std::mem::take(&mut self.stream);
        if !text.trim().is_empty() {
            let message = Message {
                partial: true,
                ..Message::text(Role::Assistant, text)
            };
            self.push(message, None);
        }
    }

    fn truncate(&mut self, keep: usize) {
        self.loaded.messages.truncate(keep);
        self.loaded.times.truncate(keep);
        let compacted = self.loaded.compacted.take();
        self.loaded.compacted = compacted.filter(|compacted| compacted.through <= keep);
        if !self.loaded.named {
            let first = self.loaded.messages.iter().find(|it| it.role == Role::User);
            let title = first.map(|message| super::title_of(&message.content));
            self.loaded.title = title.unwrap_or_default();
        }
    }

    fn finish(mut self) -> Loaded {
        self.loaded.complete = self.loaded.messages.len();
        self.end();
        let calls = std::mem::take(&mut self.loaded.calls);
        let mut calls: Vec<_> = self.order.into_iter().zip(calls).collect();
        // Stable: calls without a place stay in their order.
        calls.sort_by_key(|(order, _)| *order);
        self.loaded.calls = calls.into_iter().map(|(_, call)| call).collect();
        self.loaded
    }
}

/// A line of a file, whole or not.
struct RawLine {
    bytes: Vec<u8>,
    /// Whether it has an end.
    ended: bool,
    /// Whether it is longer than [`MAX_LINE_BYTES`]; it has no bytes then.
    oversized: bool,
}

/// Lines of a bounded length.
struct Lines<R> {
    from: R,
}

impl<R: BufRead> Lines<R> {
    fn new(from: R) -> Lines<R> {
        Lines { from }
    }

    fn next(&mut self) -> io::Result<Option<RawLine>> {
        const SKIPPED_AT_ONCE: u64 = 64 * 1024;
        let mut bytes = Vec::new();
        let read = (&mut self.from)
            .take(MAX_LINE_BYTES as u64)
            .read_until(b'\n', &mut bytes)?;
        let oversized = read == MAX_LINE_BYTES && !bytes.ends_with(b"\n");
        let mut ended = bytes.ends_with(b"\n");
        while oversized && !ended {
            bytes = Vec::new();
            let more = (&mut self.from)
                .take(SKIPPED_AT_ONCE)
                .read_until(b'\n', &mut bytes)?;
            ended = bytes.ends_with(b"\n");
            if more == 0 {
                break;
            }
        }
        if oversized {
            bytes = Vec::new();
        }
        Ok((read > 0).then_some(RawLine {
            bytes,
            ended,
            oversized,
        }))
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
