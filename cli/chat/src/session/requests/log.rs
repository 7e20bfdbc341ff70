//! Writes the log of requests beside the turn.
//!
//! [`RequestLog::sent`] only hands the bytes over. A thread reads what the session file has gained since the last
//! request, finds the parts of the new body in it and in the body before, and appends the record. It is done long before
//! a reply has ended, so [`RequestLog::answered`] does not wait in fact: where its request is not in the file yet, it does,
//! because what came of it, and the reply, stand behind it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use dunlin_host::files::open_regular;
use dunlin_host::sha256_hex;
use parking_lot::{Mutex, MutexGuard};

use super::delta::{Part, Source, encode, escaped, from_hex};
use super::file::{LoggedRequest, RequestFile, Side, numbered_lines};
use super::restore::MAX_BODY_BYTES;
use super::{AnswerEntry, Answered, Body, Kind, RequestEntry, Sent, Series};
use crate::request::editor::Edit;
use crate::session::reader::MAX_LINE_BYTES;
use crate::session::record::Record;
use crate::session::writer::Inner;

/// The log of an open session. A clone is the same log; it writes nothing once the session is closed.
#[derive(Debug, Clone)]
pub struct RequestLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    session: Weak<Mutex<Inner>>,
    /// The number of the next request.
    next: AtomicU64,
    /// The requests that the thread has not come to yet.
    pending: Arc<Mutex<HashSet<u64>>>,
    /// The way to the thread, which begins with the first request.
    jobs: Mutex<Option<Sender<Job>>>,
}

/// Is told the number of a request, and the name of the subagent that has sent it, if it was one.
type Watcher = Box<dyn Fn(u64, Option<&str>) + Send>;

enum Job {
    Log(Box<Outgoing>),
    /// From now on this is told of each request that is in the file.
    Watch(Watcher),
    /// Says when everything before it is done.
    Flush(SyncSender<()>),
    /// The file is gone, and another one takes its place.
    Forget,
}

/// A request that goes out.
#[derive(Debug)]
pub(in crate::session) struct Outgoing {
    pub(in crate::session) entry: RequestEntry,
    pub(in crate::session) original: Bytes,
    pub(in crate::session) sent: Bytes,
}

impl Outgoing {
    pub(in crate::session) fn of(number: u64, sent: &Sent<'_>) -> Outgoing {
        Outgoing {
            entry: RequestEntry {
                number,
                kind: sent.kind,
                agent: sent.agent.to_owned(),
                subagent: sent.subagent.map(str::to_owned),
                model: sent.model.to_owned(),
                endpoint: sent.endpoint.to_owned(),
                tokens: sent.counted.map(|counted| counted.tokens),
                scale: sent.counted.map(|counted| counted.scale.clone()),
                window: sent.counted.and_then(|counted| counted.window),
                edits: sent.edits.to_vec(),
                ..RequestEntry::default()
            },
            original: sent.original.clone(),
            sent: sent.sent.clone(),
        }
    }
}

impl RequestLog {
    /// The log of a session whose last request had this number; 0: it has none.
    pub(in crate::session) fn new(session: Weak<Mutex<Inner>>, last: u64) -> RequestLog {
        RequestLog(Arc::new(Shared {
            session,
            next: AtomicU64::new(last.saturating_add(1)),
            pending: Arc::default(),
            jobs: Mutex::default(),
        }))
    }

    /// The number that the next request gets.
    pub fn next_number(&self) -> u64 {
        self.0.next.load(Ordering::Relaxed)
    }

    /// Logs a request that goes out, and returns its number. Does not wait for that.
    pub fn sent(&self, sent: &Sent<'_>) -> u64 {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        self.0.pending.lock().insert(number);
        self.give(Job::Log(Box::new(Outgoing::of(number, sent))));
        number
    }

    /// Tells `watcher` the number of each request from now on, once it is in the file, and the name of the subagent that has
    /// sent it. Whoever watched before is told of no more. The thread of the log calls it, so the turn does not wait for it.
    pub fn watch(&self, watcher: impl Fn(u64, Option<&str>) + Send + 'static) {
        self.give(Job::Watch(Box::new(watcher)));
    }

    /// Gives the thread something to do.
    fn give(&self, job: Job) {
        let mut jobs = self.jobs();
        if jobs.is_none() {
            let (sender, receiver) = channel();
            let (session, pending) = (self.0.session.clone(), Arc::clone(&self.0.pending));
            let thread = std::thread::Builder::new().name("request-log".to_owned());
            match thread.spawn(move || work(&session, &receiver, &pending)) {
                Ok(_) => *jobs = Some(sender),
                Err(error) => self.failed(&error),
            }
        }
        if let Some(jobs) = jobs.as_ref() {
            // The thread ends after its senders only.
            let _ = jobs.send(job);
        }
    }

    /// Logs what came of a request. Waits for it to be in the file, and for no other one that is.
    pub fn answered(&self, number: u64, answered: &Answered) {
        let is_pending = self.0.pending.lock().contains(&number);
        if is_pending {
            self.flush();
        }
        if let Some(session) = self.0.session.upgrade() {
            session
                .lock()
                .note(&Record::Answer(AnswerEntry::of(number, answered)));
        }
    }

    /// Waits until every request so far is in the file.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        let asked = self.jobs().as_ref().map(|jobs| jobs.send(Job::Flush(done)));
        if let Some(Ok(())) = asked {
            let _ = wait.recv();
        }
    }

    /// Forgets what was logged: the file of the session was removed.
    pub(in crate::session) fn forget(&self) {
        self.0.next.store(1, Ordering::Relaxed);
        if let Some(jobs) = self.jobs().as_ref() {
            let _ = jobs.send(Job::Forget);
        }
    }

    fn failed(&self, error: &io::Error) {
        if let Some(session) = self.0.session.upgrade() {
            session.lock().log_failed(error);
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Option<Sender<Job>>> {
        self.0.jobs.lock()
    }
}

/// What the thread does until the session and everybody who logs in it are gone.
fn work(session: &Weak<Mutex<Inner>>, jobs: &Receiver<Job>, pending: &Mutex<HashSet<u64>>) {
    let mut follower = Follower::default();
    let mut watcher: Option<Watcher> = None;
    // Those in the file that the watcher was not told of. Somebody may wait for what is to be done, and for it nobody does.
    let mut untold: Vec<(u64, Option<String>)> = Vec::new();
    loop {
        let job = match jobs.try_recv() {
            Ok(job) => job,
            Err(_) => {
                if let Some(watcher) = &watcher {
                    for (number, subagent) in untold.drain(..) {
                        watcher(number, subagent.as_deref());
                    }
                }
                let Ok(job) = jobs.recv() else { return };
                job
            }
        };
        match job {
            Job::Log(outgoing) => {
                let told = (outgoing.entry.number, outgoing.entry.subagent.clone());
                let session = session.upgrade();
                let is_written =
                    session.is_some_and(|session| write(&session, &mut follower, *outgoing));
                pending.lock().remove(&told.0);
                if is_written && watcher.is_some() {
                    untold.push(told);
                }
            }
            Job::Watch(new) => watcher = Some(new),
            // Whoever asked may have gone.
            Job::Flush(done) => drop(done.send(())),
            Job::Forget => follower = Follower::default(),
        }
    }
}

/// Whether the request is in the file.
fn write(session: &Mutex<Inner>, follower: &mut Follower, outgoing: Outgoing) -> bool {
    // A session without a message has no file, and nobody will look for its requests.
    let Some(path) = session.lock().path() else {
        return false;
    };
    // Nothing is locked while this works: the turn goes on writing.
    let followed = follower.catch_up(&path);
    let record = Record::Request(Box::new(follower.encode(outgoing)));
    let mut session = session.lock();
    let is_written = match followed {
        Ok(()) => session.note(&record),
        Err(error) => {
            session.log_failed(&error);
            false
        }
    };
    if !is_written {
        // The next record must not build on this one.
        *follower = Follower::default();
    }
    is_written
}

/// Follows a session file and knows what the next body is likely to consist of.
#[derive(Debug, Default)]
pub(in crate::session) struct Follower {
    /// How much of the file was read, in bytes.
    read: u64,
    /// The lines since the last request of a turn, by their numbers.
    lines: Vec<(u64, Vec<u8>)>,
    /// The last requests, by what they are compared with.
    bases: HashMap<Series, Base>,
}

/// How many of them are kept. The subagents of a turn come and go.
const MAX_BASES: usize = 8;

/// A request that was logged.
#[derive(Debug)]
struct Base {
    number: u64,
    original: Bytes,
    sent: Bytes,
    edits: Vec<Edit>,
}

/// Lines that hold nothing that a body could hold.
const PASSED_OVER: [&str; 4] = ["request", "answer", "stream", "started"];

impl Follower {
    /// Reads what was added to the file.
    pub(in crate::session) fn catch_up(&mut self, path: &Path) -> io::Result<()> {
        let file = open_regular(path)?;
        let length = file.metadata()?.len();
        let bytes = read_from(&file, self.read, length)?;
        if self.read == 0 {
            let parsed = RequestFile::parse(bytes);
            self.begin(&parsed);
            self.read = parsed.end() as u64;
            return Ok(());
        }
        let (lines, end) = numbered_lines(&bytes);
        let lines = lines.into_iter();
        let lines = lines.filter(|line| !PASSED_OVER.contains(&line.kind.as_ref()));
        self.lines
            .extend(lines.map(|line| (line.n, line.text.to_vec())));
        self.read += end as u64;
        Ok(())
    }

    /// Finds the last requests of a file, and what it has gained since.
    fn begin(&mut self, file: &RequestFile) {
        let mut behind = 0;
        // Subagents end with their turns, and none goes on in another process.
        for series in [Series::Turn, Series::Sampling] {
            let is_its = |request: &&LoggedRequest| {
                request.entry.kind != Kind::Summary && request.entry.series() == series
            };
            let Some(last) = file.requests().iter().rfind(is_its) else {
                continue;
            };
            let number = last.entry.number;
            // Where it cannot be restored, the next body builds on nothing but lines.
            let (Ok(original), Ok(sent)) = (
                file.body(number, Side::Original),
                file.body(number, Side::Sent),
            ) else {
                continue;
            };
            if series == Series::Turn {
                behind = last.line + 1;
            }
            let base = Base {
                number,
                original: original.into(),
                sent: sent.into(),
                // They are written again: whether they are the same is not worth looking.
                edits: Vec::new(),
            };
            self.bases.insert(series, base);
        }
        let (lines, _) = numbered_lines(file.text());
        let lines = lines.into_iter().filter(|line| line.n >= behind);
        let lines = lines.filter(|line| !PASSED_OVER.contains(&line.kind.as_ref()));
        self.lines = lines.map(|line| (line.n, line.text.to_vec())).collect();
    }

    /// The record of a request.
    pub(in crate::session) fn encode(&mut self, outgoing: Outgoing) -> RequestEntry {
        let Outgoing {
            mut entry,
            original,
            sent,
        } = outgoing;
        let series = entry.series();
        let base = self.bases.get(&series);
        let escaped: Vec<(u64, Vec<u8>)> = self
            .lines
            .iter()
            .map(|(n, line)| (*n, escaped(line)))
            .collect();
        let mut lines: Vec<(Source, &[u8])> = Vec::new();
        for ((n, line), (_, escaped)) in self.lines.iter().zip(&escaped) {
            lines.push((Source::Line(*n), line));
            lines.push((Source::Escaped(*n), escaped));
        }
        let of_base = base.map(|base| (Source::Base, base.original.as_ref()));
        let of_sent = base.filter(|base| base.sent != base.original);
        let of_sent = of_sent.map(|base| (Source::BaseSent, base.sent.as_ref()));
        entry.base = base.map(|base| base.number);
        let known: Vec<(Source, &[u8])> = of_base.into_iter().chain(of_sent).collect();
        entry.original = body(&original, of_base, &lines, &known);
        if sent != original {
            let of_original = Some((Source::Original, original.as_ref()));
            let known: Vec<(Source, &[u8])> = of_original.into_iter().chain(of_sent).collect();
            entry.sent = Some(body(&sent, of_original, &lines, &known));
        }
        let edits = entry.edits.clone();
        if !edits.is_empty() && base.is_some_and(|base| base.edits == edits) {
            entry.edits.clear();
            entry.same_edits = true;
        }
        shorten_to_line(&mut entry);
        if entry.kind != Kind::Summary {
            let base = Base {
                number: entry.number,
                original,
                sent,
                edits,
            };
            // What is not stored cannot be built on.
            match entry.sent_body().parts.is_some() && entry.original.parts.is_some() {
                true => self.bases.insert(series, base),
                false => self.bases.remove(&series),
            };
            self.forget_the_oldest();
        }
        if entry.kind == Kind::Turn {
            self.lines.clear();
        }
        entry
    }
}

impl Follower {
    /// Forgets the subagent that has sent nothing for longest, where there are too many.
    fn forget_the_oldest(&mut self) {
        let of_subagents = |(series, base): (&Series, &Base)| match series {
            Series::Subagent(_) => Some((base.number, series.clone())),
            Series::Turn | Series::Sampling => None,
        };
        if self.bases.len() > MAX_BASES
            && let Some((_, oldest)) = self
                .bases
                .iter()
                .filter_map(of_subagents)
                .min_by_key(|it| it.0)
        {
            self.bases.remove(&oldest);
        }
    }
}

fn read_from(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let length = usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// A body as the log holds it.
fn body(
    bytes: &[u8],
    first: Option<(Source, &[u8])>,
    lines: &[(Source, &[u8])],
    more: &[(Source, &[u8])],
) -> Body {
    let parts = (bytes.len() <= MAX_BODY_BYTES).then(|| {
        let parts = encode(bytes, first, lines, more);
        let known = first.iter().chain(lines).chain(more).copied().collect();
        match is_same(bytes, &parts, &known) {
            true => parts,
            // The log is right whatever may be wrong with the search.
            false => encode(bytes, None, &[], &[]),
        }
    });
    Body {
        bytes: bytes.len() as u64,
        sha256: sha256_hex(bytes),
        parts,
    }
}

/// Whether parts give these bytes.
pub(super) fn is_same(bytes: &[u8], parts: &[Part], known: &HashMap<Source, &[u8]>) -> bool {
    let piece = |part: &Part| -> Option<Vec<u8>> {
        match part {
            Part::Text(text) => Some(text.as_bytes().to_vec()),
            Part::Bytes { hex } => from_hex(hex),
            Part::Copy(source, start, length) => {
                let (start, length) = (
                    usize::try_from(*start).ok()?,
                    usize::try_from(*length).ok()?,
                );
                let range = start..start.checked_add(length)?;
                Some(known.get(source)?.get(range)?.to_vec())
            }
        }
    };
    let mut rest = Some(bytes);
    for part in parts {
        let piece = piece(part);
        rest = rest.and_then(|rest| rest.strip_prefix(piece?.as_slice()));
    }
    rest.is_some_and(<[u8]>::is_empty)
}

/// Leaves the bodies out of a record that is longer than a line may be.
fn shorten_to_line(entry: &mut RequestEntry) {
    let bodies = [Some(&entry.original), entry.sent.as_ref()];
    let literal: usize = bodies
        .into_iter()
        .flatten()
        .filter_map(|body| body.parts.as_ref())
        .flatten()
        .map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Bytes { hex } => hex.len(),
            Part::Copy(..) => 0,
        })
        .sum();
    // A character takes at most twelve bytes in a line; most records are far from that and need not be written twice.
    if literal < MAX_LINE_BYTES / 16 {
        return;
    }
    let mut line = Vec::new();
    Record::Request(Box::new(entry.clone())).write(u64::MAX, &mut line);
    if line.len() >= MAX_LINE_BYTES {
        entry.original.parts = None;
        if let Some(sent) = &mut entry.sent {
            sent.parts = None;
        }
    }
}
