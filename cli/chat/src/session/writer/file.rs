//! The file of the open session: how it is made, locked and added to.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use super::Inner;
use crate::message::{Message, Role};
use crate::price::Charge;
use crate::session::record::{CallEntry, Record, Speaker, TurnEntry, write_message};
use crate::session::store::{Entry, Store, StoreError};
use crate::session::title_of;
use crate::turn::CallRecord;

/// Ids that are tried for a new file. One is taken with next to no chance; a hundred are taken where something is wrong.
const ID_TRIES: usize = 100;

impl Inner {
    pub(super) fn keep(&mut self, messages: &[Message], ended: &[CallRecord]) {
        let mut out = Vec::new();
        let mut n = self.next;
        if messages.len() < self.written {
            add(&Record::Cut(messages.len()), &mut n, &mut out);
            self.written = messages.len();
        }
        let new = messages.get(self.written..).unwrap_or_default();
        if new.is_empty() && ended.is_empty() && out.is_empty() {
            return;
        }
        if self.head.title.is_empty() {
            let said = messages.iter().find(|message| message.role == Role::User);
            self.head.title = said.map_or_else(String::new, |said| title_of(&said.content));
        }
        if self.exists {
            let speaker = Speaker {
                agent: self.head.agent.clone(),
                model: self.head.model.clone(),
            };
            if speaker != self.speaker && !speaker.agent.is_empty() {
                add(&Record::Speaker(speaker.clone()), &mut n, &mut out);
                self.speaker = speaker;
            }
        } else {
            self.write_head(&mut n, &mut out);
        }
        let mut covered = self.covered.clone();
        covered.extend(ended.iter().map(|call| call.id.clone()));
        for message in new {
            let call = message.tool_call_id.as_ref();
            if message.role == Role::Tool && call.is_some_and(|id| covered.remove(id)) {
                continue;
            }
            if message.role == Role::Assistant {
                // The message is what the stream became.
                self.waiting.clear();
            }
            write_message(message, n, &mut out);
            n += 1;
        }
        for call in ended {
            add(&Record::Call(CallEntry::of(call)), &mut n, &mut out);
        }
        match self.append(&out, n) {
            Ok(()) => {
                self.is_empty = false;
                self.written = messages.len();
                self.covered = covered;
                if std::mem::take(&mut self.trouble.failing) {
                    let told = "the session is saved again, with all that was missing";
                    self.trouble.untold = Some(told.to_owned());
                }
            }
            Err(error) => self.failed(&error),
        }
    }

    /// Adds one record to a session that has a file. Whether it is in the file.
    pub(in crate::session) fn note(&mut self, record: &Record) -> bool {
        if !self.exists {
            return false;
        }
        let mut out = Vec::new();
        let mut n = self.next;
        add(record, &mut n, &mut out);
        match self.append(&out, n) {
            Ok(()) => true,
            Err(error) => {
                self.failed(&error);
                false
            }
        }
    }

    /// Makes it a session that begins with the next message.
    pub(super) fn take_file_away(&mut self) {
        let removed = fs::remove_file(&self.entry.path);
        (self.file, self.next) = (None, 0);
        (self.exists, self.begun, self.is_empty) = (false, false, false);
        if let Err(error) = removed {
            self.failed(&error);
        }
    }

    /// The file, if there is one.
    pub(in crate::session) fn path(&self) -> Option<PathBuf> {
        self.exists.then(|| self.entry.path.clone())
    }

    /// A request could not be logged.
    pub(in crate::session) fn log_failed(&mut self, error: &io::Error) {
        let path = self.entry.path.display();
        self.trouble.untold = Some(format!("cannot log a request in {path}: {error}"));
    }

    pub(super) fn write_head(&self, n: &mut u64, out: &mut Vec<u8>) {
        add(&Record::Head(self.head.clone()), n, out);
    }

    pub(super) fn turn(&self, messages: &[Message], charge: Charge) -> Record {
        let said = messages.iter().filter(|message| message.role == Role::User);
        Record::Turn(TurnEntry {
            messages: messages.len(),
            said: said.count(),
            title: self.head.title.clone(),
            named: self.head.named,
            usage: charge.usage,
            money: charge.money,
        })
    }

    /// Writes lines with one call; `next` is the number behind them.
    pub(super) fn append(&mut self, lines: &[u8], next: u64) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(lines.len() + 64);
        let mut n = next;
        if self.torn {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lines);
        if self.exists && !self.begun {
            // Behind the rest: numbers stay in order.
            add(&Record::Opened(std::process::id()), &mut n, &mut bytes);
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None if self.exists => {
                let file = open_to_append(&self.entry)?;
                lock(&file, &self.entry).map_err(io::Error::other)?;
                file
            }
            None => self.create()?,
        };
        let written = file.write_all(&bytes);
        self.file = Some(file);
        // A part of it may be there.
        self.torn = written.is_err();
        written?;
        self.next = n;
        self.begun = true;
        if !std::mem::replace(&mut self.exists, true) {
            self.store.remember(&self.entry);
        }
        Ok(())
    }

    /// Makes the file. An id that is taken is replaced by another one.
    fn create(&mut self) -> io::Result<File> {
        self.store.make_folder()?;
        let mut tries = 0;
        loop {
            let made = OpenOptions::new()
                .create_new(true)
                .append(true)
                .mode(0o600)
                .open(&self.entry.path);
            match made {
                Ok(file) => {
                    // Nobody else knows it yet; where locks do not work, nothing is lost by going on.
                    let _ = file.try_lock();
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < ID_TRIES => {
                    tries += 1;
                    self.entry = self.store.entry(&Store::new_id());
                    self.head.id.clone_from(&self.entry.id);
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn failed(&mut self, error: &io::Error) {
        if !std::mem::replace(&mut self.trouble.failing, true) {
            self.trouble.untold = Some(format!(
                "the session cannot be saved in {}: {error}; the chat continues, and Dunlin tries again with each message",
                self.entry.path.display()
            ));
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.begun {
            self.note(&Record::Closed);
        }
        if let Some(file) = &self.file {
            // To close it is not enough: a program that is being started at this moment has a copy of it until it runs, and with
            // that the lock. There is nobody left to tell.
            let _ = file.unlock();
            let _ = file.sync_data();
        }
    }
}

pub(super) fn add(record: &Record, n: &mut u64, out: &mut Vec<u8>) {
    record.write(*n, out);
    *n += 1;
}

/// Opens without waiting for whoever is at the other end, should it be a pipe.
pub(super) fn open_to_append(entry: &Entry) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(&entry.path)
}

/// How often a session that is locked is tried again, and how long after.
const LOCK_RETRIES: u32 = 3;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// Takes the lock, which ends with the process, however that ends. A file system that has no locks is no obstacle.
pub(super) fn lock(file: &File, entry: &Entry) -> Result<(), StoreError> {
    let mut locked = file.try_lock();
    // Whoever lists the sessions at this moment looks whether it is locked, which takes no time.
    for _ in 0..LOCK_RETRIES {
        if !matches!(locked, Err(TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(LOCK_PAUSE);
        locked = file.try_lock();
    }
    match locked {
        Err(TryLockError::WouldBlock) => {
            let pid = entry.load().ok().and_then(|loaded| loaded.pid);
            Err(StoreError::Locked {
                id: entry.id.clone(),
                pid,
            })
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}
