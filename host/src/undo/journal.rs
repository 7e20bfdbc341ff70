//! The folder in which the content of edited files is kept: one file for each edit, in the order of time.
//!
//! The name says when, in which session and in which turn; the first line is a JSON object with the rest,
//! and behind it stands what the file held. The folder is bounded in number and in size: the oldest turns go.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use super::UndoError;
use crate::edit::{ContentHash, EntryKind, MAX_FILE_BYTES};
use crate::files::make_private;
use crate::resolve::{key_to_path, path_to_key};

/// Edits that are kept, of all projects together: some weeks of work.
pub(super) const MAX_ENTRIES: usize = 1000;

/// Bytes that are kept, of all projects together.
pub(super) const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Bytes of the first line of a kept file. Paths are at most 4 KiB, and each of their bytes three
/// characters, and the folders above one are not many.
const MAX_HEADER_BYTES: u64 = 1024 * 1024;

/// The layout of the files. Another number is somebody else's.
const VERSION: u32 = 1;

const SUFFIX: &str = ".undo";
const LOCK: &str = "lock";
const TEMPORARY_PREFIX: &str = ".kept.";

/// The turns that had to make room, the latest last.
const DROPPED: &str = "dropped";

/// The journal. Its folder is made with the first edit.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    /// Tells apart edits of the same microsecond.
    number: AtomicU32,
}

/// An edit that is about to happen.
#[derive(Debug)]
pub(crate) struct Kept<'a> {
    pub(crate) session: &'a str,
    pub(crate) turn: u64,
    pub(crate) project: &'a Path,
    pub(crate) path: &'a Path,
    pub(crate) base: Option<ContentHash>,
    /// What it will hold; `None`: it is removed.
    pub(crate) new: Option<ContentHash>,
    /// What has the name, before or afterwards.
    pub(crate) kind: EntryKind,
    /// The permission bits of a file that is removed.
    pub(crate) mode: Option<u32>,
    pub(crate) new_folders: &'a [PathBuf],
    pub(crate) content: &'a [u8],
}

/// An edit that was kept.
#[derive(Debug)]
pub(super) struct Entry {
    /// The kept file.
    pub(super) file: PathBuf,
    pub(super) path: PathBuf,
    pub(super) base: Option<ContentHash>,
    pub(super) new: Option<ContentHash>,
    pub(super) kind: EntryKind,
    pub(super) mode: Option<u32>,
    pub(super) new_folders: Vec<PathBuf>,
    pub(super) turn: u64,
    project: PathBuf,
}

/// The first line of a kept file.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    session: String,
    turn: u64,
    project: String,
    path: String,
    base: Option<ContentHash>,
    new: Option<ContentHash>,
    #[serde(default)]
    kind: EntryKind,
    #[serde(default)]
    mode: Option<u32>,
    new_folders: Vec<String>,
}

/// What the name of a kept file says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    file: String,
    bytes: u64,
}

impl Name {
    /// Which session and turn: the same for all edits of a turn.
    fn turn(&self) -> &str {
        let start = self.file.find('-').map_or(0, |at| at + 1);
        let end = self.file.rfind('-').unwrap_or(self.file.len());
        self.file.get(start..end).unwrap_or_default()
    }

    /// Which session, as [`session_in_name`] has it.
    fn session(&self) -> &str {
        self.turn().split('-').next().unwrap_or_default()
    }
}

impl Journal {
    pub(crate) fn new(folder: &Path) -> Journal {
        Journal {
            folder: folder.to_owned(),
            number: AtomicU32::new(0),
        }
    }

    /// Keeps what a file holds, on the disk when this returns. The answer names it for [`Journal::forget`].
    pub(crate) fn keep(&self, kept: &Kept<'_>) -> Result<PathBuf, UndoError> {
        self.make_folder()?;
        let _lock = self.lock()?;
        self.free_space(&turn_of(kept.session, kept.turn), kept.content.len())?;
        let file = self.folder.join(self.name(kept));
        let header = Header {
            version: VERSION,
            session: kept.session.to_owned(),
            turn: kept.turn,
            project: path_to_key(kept.project),
            path: path_to_key(kept.path),
            base: kept.base,
            new: kept.new,
            kind: kept.kind,
            mode: kept.mode,
            new_folders: kept.new_folders.iter().map(|p| path_to_key(p)).collect(),
        };
        write(&self.folder, &file, &header, kept.content).map_err(|source| UndoError::Io {
            path: file.clone(),
            source,
        })?;
        Ok(file)
    }

    /// Removes a kept edit.
    pub(crate) fn forget(&self, file: &Path) {
        // What cannot be removed is seen not to have happened, or to be taken back already.
        let _ = std::fs::remove_file(file);
    }

    /// Nobody else keeps or takes back while the lock is held.
    pub(super) fn lock(&self) -> Result<Option<File>, UndoError> {
        let path = self.folder.join(LOCK);
        let open = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path);
        let locked = open.and_then(|file| {
            // Released when the file is closed, also when this process is killed.
            file.lock()?;
            Ok(file)
        });
        match locked {
            Ok(file) => Ok(Some(file)),
            // Nothing was ever kept.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(UndoError::Io { path, source }),
        }
    }

    /// The edits of the last turn of a session in a project, oldest first. Another Dunlin may edit there, too.
    pub(super) fn last_turn(&self, session: &str, project: &Path) -> Result<Vec<Entry>, UndoError> {
        let mut names = self.names()?;
        let session = session_in_name(session);
        names.retain(|name| name.session() == session);
        let mut last: Option<&str> = None;
        let mut entries = Vec::new();
        for name in names.iter().rev() {
            if last.is_some_and(|turn| turn != name.turn()) {
                continue;
            }
            let entry = Entry::read(&self.folder.join(&name.file))?;
            if entry.project == project {
                last = Some(name.turn());
                entries.push(entry);
            }
        }
        entries.reverse();
        Ok(entries)
    }

    /// The edits of a session in a project since a turn began, oldest first.
    ///
    /// Fails where some of them are not kept any more: what is left is not what came since.
    pub(super) fn since(
        &self,
        session: &str,
        project: &Path,
        turn: u64,
    ) -> Result<Vec<Entry>, UndoError> {
        let is_since = |name: &str| {
            let of_session = name.strip_prefix(&session_in_name(session));
            of_session.is_some_and(|rest| rest.starts_with('-')) && number_of(name) >= turn
        };
        if self.dropped()?.iter().any(|name| is_since(name)) {
            return Err(UndoError::Dropped);
        }
        let names = self.names()?;
        let names = names.iter().filter(|name| is_since(name.turn()));
        let entries = names.map(|name| Entry::read(&self.folder.join(&name.file)));
        let entries = entries.collect::<Result<Vec<Entry>, UndoError>>()?;
        let here = entries.into_iter().filter(|entry| entry.project == project);
        Ok(here.collect())
    }

    /// The turns that are not kept any more, as far as that is known.
    fn dropped(&self) -> Result<Vec<String>, UndoError> {
        let path = self.folder.join(DROPPED);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(UndoError::Io { path, source }),
        }
    }

    /// Notes that a turn makes room.
    fn note_dropped(&self, turn: &str) -> Result<(), UndoError> {
        let mut turns = self.dropped()?;
        turns.push(turn.to_owned());
        let text: String = turns[turns.len().saturating_sub(MAX_ENTRIES)..]
            .iter()
            .map(|turn| format!("{turn}\n"))
            .collect();
        let path = self.folder.join(DROPPED);
        write_whole(&self.folder, &path, |file| file.write_all(text.as_bytes()))
            .map_err(|source| UndoError::Io { path, source })
    }

    /// Removes the oldest turns until one more edit has room.
    fn free_space(&self, turn: &str, more: usize) -> Result<(), UndoError> {
        let mut names = self.names()?;
        let mut bytes: u64 = more as u64 + names.iter().map(|name| name.bytes).sum::<u64>();
        while names.len() >= MAX_ENTRIES || bytes > MAX_BYTES {
            let oldest = match names.first() {
                Some(name) if name.turn() != turn => name.turn().to_owned(),
                // What is left is this turn: without its first edits the others were worth nothing.
                _ => return Err(UndoError::Full),
            };
            self.note_dropped(&oldest)?;
            names.retain(|name| {
                let goes = name.turn() == oldest;
                if goes {
                    bytes -= name.bytes;
                    self.forget(&self.folder.join(&name.file));
                }
                !goes
            });
        }
        Ok(())
    }

    /// All kept files, oldest first. What a killed Dunlin did not finish is removed: only called under the
    /// lock.
    fn names(&self) -> Result<Vec<Name>, UndoError> {
        let fail = |source| UndoError::Io {
            path: self.folder.clone(),
            source,
        };
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(fail(e)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fail)?;
            let Ok(file) = entry.file_name().into_string() else {
                continue;
            };
            if file.starts_with(TEMPORARY_PREFIX) {
                self.forget(&entry.path());
            } else if file.ends_with(SUFFIX) {
                let bytes = entry.metadata().map_err(fail)?.len();
                names.push(Name { file, bytes });
            }
        }
        names.sort();
        Ok(names)
    }

    /// Sorts by time.
    fn name(&self, kept: &Kept<'_>) -> String {
        let micros = jiff::Timestamp::now().as_microsecond();
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let turn = turn_of(kept.session, kept.turn);
        format!("{micros:020}-{turn}-{number:010}{SUFFIX}")
    }

    fn make_folder(&self) -> Result<(), UndoError> {
        make_private(&self.folder).map_err(|source| UndoError::Io {
            path: self.folder.clone(),
            source,
        })
    }
}

impl Entry {
    pub(super) fn read(file: &Path) -> Result<Entry, UndoError> {
        let (header, _) = open(file)?;
        Ok(Entry {
            file: file.to_owned(),
            path: key_to_path(&header.path),
            base: header.base,
            new: header.new,
            kind: header.kind,
            mode: header.mode,
            new_folders: header.new_folders.iter().map(|p| key_to_path(p)).collect(),
            turn: header.turn,
            project: key_to_path(&header.project),
        })
    }

    /// What had the name before, and what has it afterwards: its kind and the hash of its content.
    pub(super) fn states(&self) -> [Option<(EntryKind, ContentHash)>; 2] {
        [self.base, self.new].map(|hash| Some((self.kind, hash?)))
    }

    /// What the edited file held.
    pub(super) fn content(&self) -> Result<Vec<u8>, UndoError> {
        let (header, rest) = open(&self.file)?;
        let mut bytes = Vec::new();
        rest.take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| UndoError::Io {
                path: self.file.clone(),
                source,
            })?;
        if header.base == Some(ContentHash::of(&bytes)) {
            Ok(bytes)
        } else {
            Err(self::damaged(&self.file))
        }
    }
}

/// Reads the first line of a kept file; the content comes behind it.
fn open(path: &Path) -> Result<(Header, BufReader<File>), UndoError> {
    let fail = |source| UndoError::Io {
        path: path.to_owned(),
        source,
    };
    let mut file = BufReader::new(File::open(path).map_err(fail)?);
    let mut line = Vec::new();
    file.by_ref()
        .take(MAX_HEADER_BYTES)
        .read_until(b'\n', &mut line)
        .map_err(fail)?;
    match serde_json::from_slice::<Header>(&line) {
        Ok(header) if header.version == VERSION => Ok((header, file)),
        _ => Err(damaged(path)),
    }
}

fn damaged(path: &Path) -> UndoError {
    UndoError::Damaged {
        path: path.to_owned(),
    }
}

/// A session and a turn in a name.
fn turn_of(session: &str, turn: u64) -> String {
    format!("{}-{turn:010}", session_in_name(session))
}

/// A session in a name. The hash keeps its id from being a path.
fn session_in_name(session: &str) -> String {
    let mut hash = ContentHash::of(session.as_bytes()).to_hex();
    hash.truncate(16);
    hash
}

/// The turn in a name that [`turn_of`] has made.
fn number_of(name: &str) -> u64 {
    let number = name.rsplit('-').next().map(str::parse);
    number.and_then(Result::ok).unwrap_or_default()
}

fn write(folder: &Path, path: &Path, header: &Header, content: &[u8]) -> io::Result<()> {
    write_whole(folder, path, |file| {
        serde_json::to_writer(&mut *file, header)?;
        file.write_all(b"\n")?;
        file.write_all(content)
    })
}

/// Writes a file that is there whole or not at all.
fn write_whole(
    folder: &Path,
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        // `tempfile` creates with 0600.
        .tempfile_in(folder)?;
    fill(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    // The rename itself must survive a power cut.
    File::open(folder)?.sync_all()
}
