//! The session that is open: it is locked, and what happens is added to its file as it happens.
//!
//! What is in the conversation and not in the file yet is found by comparing the two, so nothing that failed once is
//! forgotten: it is written with what comes next.

mod file;

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use self::file::{add, lock, open_to_append};
use super::reader::{self, Loaded};
use super::record::{CallEntry, FORMAT, Head, Record, Speaker, SubagentEntry, write_message};
use super::requests::{Answered, RequestLog, Sent};
use super::store::{Entry, Store, StoreError, sync_folder};
use super::title_of;
use crate::message::Conversation;
use crate::price::Charge;
use crate::request::truncation::Compacted;
use crate::turn::{CallRecord, Journal};

/// How much of a line that is being streamed may wait, in bytes: less than a row of the narrowest window in which a
/// chat can be read, so that no whole row of the screen is missing in the file.
const MAX_WAITING_BYTES: usize = 32;

/// The session of a conversation. Its file is made with the first message, and closed when it is dropped.
#[derive(Debug)]
pub struct Session {
    inner: Arc<Mutex<Inner>>,
    log: RequestLog,
}

#[derive(Debug)]
pub(super) struct Inner {
    store: Store,
    entry: Entry,
    /// What the first line says; its title comes with the first message.
    head: Head,
    /// Whether there is a file of it, open or not.
    exists: bool,
    /// The file, open for appending and locked.
    file: Option<File>,
    /// The number of the next record.
    next: u64,
    /// How many messages of the conversation stand in the file.
    written: usize,
    /// The calls whose results stand in the file but not yet in the conversation.
    covered: HashSet<String>,
    /// What streamed in and is not written yet.
    waiting: String,
    /// Who answers, as the file has it.
    speaker: Speaker,
    /// The MCP servers that it uses, as the file has it.
    servers: Vec<String>,
    /// How much the model thinks, as the file has it.
    effort: String,
    /// Whether the file ends within a line.
    torn: bool,
    /// Whether this process has written to the file.
    begun: bool,
    /// Whether there is nothing in the file, or only a message that is not sent.
    is_empty: bool,
    /// Whether the folder knows the file for good.
    settled: bool,
    trouble: Trouble,
}

/// What is wrong with the disk.
#[derive(Debug, Default)]
struct Trouble {
    /// Whether the last record could not be written.
    failing: bool,
    /// What the user has not been told yet.
    untold: Option<String>,
    /// What went wrong with a sync.
    sync: Arc<Mutex<Option<io::Error>>>,
}

/// Makes sure that the disk has what was written so far. Takes some milliseconds: to be run beside the chat.
#[derive(Debug)]
pub struct Sync {
    file: File,
    folder: Option<PathBuf>,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl Sync {
    /// Waits for the disk. What goes wrong is said by [`Session::take_trouble`].
    pub fn run(self) {
        let folder = self.folder.as_deref();
        let synced = self
            .file
            .sync_data()
            .and_then(|()| folder.map_or(Ok(()), sync_folder));
        if let Err(error) = synced {
            *self.failed.lock() = Some(error);
        }
    }
}

impl Session {
    /// A session that begins with the next message. Touches nothing.
    pub fn fresh(store: &Store, id: &str, speaker: Speaker) -> Session {
        let head = Head {
            format: FORMAT,
            id: id.to_owned(),
            project: store.project_name(),
            agent: speaker.agent.clone(),
            model: speaker.model.clone(),
            title: String::new(),
            named: false,
            pid: std::process::id(),
            forked_from: None,
            call: None,
            notes_starts: true,
        };
        Session::of(Inner {
            entry: store.entry(id),
            store: store.clone(),
            head,
            exists: false,
            file: None,
            next: 0,
            written: 0,
            covered: HashSet::new(),
            waiting: String::new(),
            speaker,
            servers: Vec::new(),
            effort: String::new(),
            torn: false,
            begun: false,
            is_empty: false,
            settled: false,
            trouble: Trouble::default(),
        })
    }

    fn of(inner: Inner) -> Session {
        let inner = Arc::new(Mutex::new(inner));
        Session {
            log: RequestLog::new(Arc::downgrade(&inner), 0),
            inner,
        }
    }

    /// The same for a subagent that was begun for a call of another session.
    #[must_use]
    pub fn for_call(self, call: &str) -> Session {
        self.lock().head.call = Some(call.to_owned());
        self
    }

    /// The session, for as long as something is done with it. The log of requests uses it beside the turn.
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Opens a session to go on with it. Nothing is written before something happens in it. A file that can only be
    /// read is read; that it takes nothing is said once it should.
    ///
    /// # Errors
    /// Another Dunlin has it open, or it cannot be read.
    pub fn open(store: &Store, entry: &Entry) -> Result<(Session, Loaded), StoreError> {
        let failed = |source: io::Error| StoreError::Read {
            id: entry.id.clone(),
            path: entry.path.clone(),
            source: source.into(),
        };
        let file = open_to_append(entry);
        let (file, loaded) = match file {
            Ok(file) => {
                let metadata = file.metadata().map_err(failed)?;
                if !metadata.is_file() {
                    return Err(failed(io::Error::other("it is not a regular file")));
                }
                lock(&file, entry)?;
                // Somebody may have removed it before it was locked.
                if file.metadata().map_err(failed)?.nlink() == 0 {
                    return Err(failed(io::ErrorKind::NotFound.into()));
                }
                let reader = BufReader::with_capacity(64 * 1024, &file);
                let loaded = reader::read(reader).map_err(|source| StoreError::Read {
                    id: entry.id.clone(),
                    path: entry.path.clone(),
                    source,
                })?;
                (Some(file), loaded)
            }
            // Whatever is wrong with it, reading says so.
            Err(_) => (None, entry.load()?),
        };
        let mut session = Session::fresh(
            store,
            &entry.id,
            loaded.speaker.clone().unwrap_or(Speaker {
                agent: String::new(),
                model: String::new(),
            }),
        );
        {
            let mut inner = session.lock();
            inner.entry = entry.clone();
            inner.exists = true;
            inner.servers.clone_from(&loaded.servers);
            inner.effort.clone_from(&loaded.effort);
            inner.settled = true;
            inner.file = file;
            inner.next = loaded.next;
            inner.written = loaded.complete;
            inner.torn = !loaded.ends_with_line;
            inner.head.title.clone_from(&loaded.title);
            inner.head.named = loaded.named;
        }
        let inner = Arc::downgrade(&session.inner);
        session.log = RequestLog::new(inner, loaded.last_request);
        Ok((session, loaded))
    }

    /// Makes a copy of a conversation, on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn fork(
        store: &Store,
        id: &str,
        from: &Entry,
        loaded: &Loaded,
    ) -> Result<Session, StoreError> {
        let speaker = loaded.speaker.clone().unwrap_or(Speaker {
            agent: String::new(),
            model: String::new(),
        });
        let session = Session::fresh(store, id, speaker);
        let written = {
            let mut inner = session.lock();
            inner.head.forked_from = Some(from.id.clone());
            inner.head.title.clone_from(&loaded.title);
            inner.head.named = loaded.named;
            let mut out = Vec::new();
            let mut n = inner.next;
            inner.write_head(&mut n, &mut out);
            for message in &loaded.messages {
                write_message(message, n, &mut out);
                n += 1;
            }
            for call in &loaded.calls {
                let call = CallEntry {
                    // They stand with the message.
                    media: Vec::new(),
                    ..call.clone()
                };
                add(&Record::Call(call), &mut n, &mut out);
            }
            if !loaded.servers.is_empty() {
                add(&Record::Servers(loaded.servers.clone()), &mut n, &mut out);
                inner.servers.clone_from(&loaded.servers);
            }
            if !loaded.effort.is_empty() {
                add(&Record::Effort(loaded.effort.clone()), &mut n, &mut out);
                inner.effort.clone_from(&loaded.effort);
            }
            let turn = inner.turn(&loaded.messages, loaded.charge);
            add(&turn, &mut n, &mut out);
            inner.written = loaded.messages.len();
            inner.append(&out, n)
        };
        match written {
            Ok(()) => Ok(session),
            Err(source) => Err(StoreError::Write {
                action: "write",
                id: id.to_owned(),
                path: session.lock().entry.path.clone(),
                source,
            }),
        }
    }

    pub fn id(&self) -> String {
        self.lock().entry.id.clone()
    }

    /// What it is called; empty before the first message.
    pub fn title(&self) -> String {
        self.lock().head.title.clone()
    }

    /// Whether there is a file of it.
    pub fn exists(&self) -> bool {
        self.lock().exists
    }

    /// Whether the file lacks something that could not be written.
    pub fn is_failing(&self) -> bool {
        self.lock().trouble.failing
    }

    pub fn entry(&self) -> Entry {
        self.lock().entry.clone()
    }

    /// Gives it a title.
    pub fn rename(&self, title: &str) {
        let mut inner = self.lock();
        title.clone_into(&mut inner.head.title);
        inner.head.named = true;
        inner.note(&Record::Renamed(title.to_owned()));
    }

    /// Begins it under a title that no other session of the project has. Its file is there when this returns, so that whoever
    /// looks for the title from now on finds it.
    ///
    /// # Errors
    /// There is one of this title by now, or it cannot be written.
    pub fn begin_titled(&self, title: &str) -> Result<(), StoreError> {
        let mut inner = self.lock();
        let failed = |inner: &Inner, source| StoreError::Write {
            action: "begin",
            id: inner.entry.id.clone(),
            path: inner.entry.path.clone(),
            source,
        };
        let _titles = inner.store.lock_titles().map_err(|e| failed(&inner, e))?;
        match inner.store.find(Some(title)) {
            Err(StoreError::Unknown { .. }) => {}
            Ok(_) | Err(StoreError::SameTitle { .. }) => {
                let title = title.to_owned();
                return Err(StoreError::Begun { title });
            }
            Err(error) => return Err(error),
        }
        title.trim().clone_into(&mut inner.head.title);
        inner.head.named = true;
        let mut out = Vec::new();
        let mut n = inner.next;
        inner.write_head(&mut n, &mut out);
        inner.append(&out, n).map_err(|e| failed(&inner, e))?;
        inner.is_empty = true;
        Ok(())
    }

    /// Says who answers from now on; written with the next message if that is somebody else than before.
    pub fn speaks(&self, agent: &str, model: &str) {
        let mut inner = self.lock();
        inner.head.agent = agent.to_owned();
        inner.head.model = model.to_owned();
    }

    /// The conversation goes on behind its first `keep` messages.
    pub fn cut(&self, keep: usize) {
        let mut inner = self.lock();
        inner.written = inner.written.min(keep);
        inner.covered.clear();
        inner.note(&Record::Cut(keep));
    }

    /// A summary stands for messages from now on.
    pub fn compacted(&self, compacted: &Compacted) {
        let mut inner = self.lock();
        inner.note(&Record::Compacted(compacted.clone()));
    }

    /// These MCP servers are used from now on.
    pub fn uses(&self, servers: Vec<String>) {
        let mut inner = self.lock();
        if inner.servers != servers {
            inner.note(&Record::Servers(servers.clone()));
            inner.servers = servers;
        }
    }

    /// The model thinks so much from now on, because the user chose that; empty: as the agent says.
    pub fn thinks(&self, effort: &str) {
        let mut inner = self.lock();
        if inner.effort != effort {
            inner.note(&Record::Effort(effort.to_owned()));
            effort.clone_into(&mut inner.effort);
        }
    }

    /// Keeps what the user says in a message that is not sent yet; `None`: it will not be, or it is in the conversation.
    /// A file that was made for it goes with it.
    pub fn unsent(&self, text: Option<&str>) {
        let mut inner = self.lock();
        match text {
            Some(text) if !inner.exists => {
                let mut out = Vec::new();
                let mut n = inner.next;
                let head = Head {
                    title: title_of(text),
                    ..inner.head.clone()
                };
                add(&Record::Head(head), &mut n, &mut out);
                add(&Record::Unsent(text.to_owned()), &mut n, &mut out);
                match inner.append(&out, n) {
                    Ok(()) => inner.is_empty = true,
                    Err(error) => inner.failed(&error),
                }
            }
            None if inner.is_empty => {
                inner.take_file_away();
                self.log.forget();
            }
            text => {
                inner.note(&Record::Unsent(text.unwrap_or_default().to_owned()));
            }
        }
    }

    /// The conversation was forgotten.
    pub fn clear(&self) {
        let mut inner = self.lock();
        inner.written = 0;
        inner.covered.clear();
        if !inner.head.named {
            inner.head.title.clear();
        }
        inner.note(&Record::Cleared);
    }

    /// A turn is over. The answer makes sure that the disk has it.
    pub fn turn_ended(&self, conversation: &Conversation, charge: Charge) -> Option<Sync> {
        let mut inner = self.lock();
        let turn = inner.turn(conversation.messages(), charge);
        inner.note(&turn);
        let file = inner.file.as_ref()?.try_clone().ok()?;
        let folder = (!inner.settled).then(|| inner.store.folder().to_path_buf());
        inner.settled = true;
        Some(Sync {
            file,
            folder,
            failed: Arc::clone(&inner.trouble.sync),
        })
    }

    /// The subagent whose it is has ended.
    pub fn subagent_ended(&self, subagent: SubagentEntry) {
        self.lock().note(&Record::Subagent(subagent));
    }

    /// The log of its requests.
    pub fn requests(&self) -> &RequestLog {
        &self.log
    }

    /// The number that the next request gets in the log.
    pub fn next_request_number(&self) -> u64 {
        self.log.next_number()
    }

    /// What the user should know about the file, and has not been told.
    pub fn take_trouble(&self) -> Option<String> {
        let mut inner = self.lock();
        let failed = inner.trouble.sync.lock().take();
        if let Some(error) = failed {
            inner.failed(&error);
        }
        inner.trouble.untold.take()
    }
}

impl Journal for Session {
    fn text(&self, piece: &str) {
        let mut inner = self.lock();
        inner.waiting.push_str(piece);
        if inner.waiting.len() >= MAX_WAITING_BYTES || piece.contains('\n') {
            let text = std::mem::take(&mut inner.waiting);
            // What cannot be written now comes with the whole message.
            if !inner.trouble.failing {
                inner.note(&Record::Stream(text));
            }
        }
    }

    fn keep(&self, conversation: &Conversation, ended: &[CallRecord]) {
        self.lock().keep(conversation.messages(), ended);
    }

    fn started(&self, id: &str) {
        self.lock().note(&Record::Started(id.to_owned()));
    }

    fn compacted(&self, compacted: &Compacted) {
        Session::compacted(self, compacted);
    }

    fn next_request(&self) -> Option<u64> {
        Some(self.next_request_number())
    }

    fn sent(&self, sent: &Sent<'_>) -> u64 {
        self.log.sent(sent)
    }

    fn answered(&self, number: u64, answered: &Answered) {
        self.log.answered(number, answered);
    }
}

/// A journal of the requests alone.
impl Journal for RequestLog {
    fn text(&self, _piece: &str) {}

    fn keep(&self, _conversation: &Conversation, _ended: &[CallRecord]) {}

    fn sent(&self, sent: &Sent<'_>) -> u64 {
        RequestLog::sent(self, sent)
    }

    fn answered(&self, number: u64, answered: &Answered) {
        RequestLog::answered(self, number, answered);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The file is closed below, which is the last thing that is written to it.
        self.log.flush();
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
