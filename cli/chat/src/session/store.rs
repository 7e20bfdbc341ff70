//! The folder of the sessions: which there are, which was the last one of a project, which one is meant.
//!
//! ```text
//! sessions/k7mq2x9d-8f3a61c0.jsonl     a session; behind its id stands a hash of the project's path
//! sessions/k7mq2x9d.subagents/         what its subagents said, a session each, numbered from 1
//! sessions/last/8f3a61c0...            the name of the project's last session
//! ```
//!
//! Names alone tell which sessions belong to a project, so that lists of a project open no other's, and the small
//! file in `last` makes a start as quick with ten thousand sessions as with one. It is a hint: where it is missing or
//! wrong, the names are looked through.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use super::reader::{self, Loaded, ReadError};
use super::summary::Summary;
use dunlin_host::display::own_command;
use dunlin_host::files::{make_private, open_regular};

const SUFFIX: &str = ".jsonl";

/// How the name of the folder ends that holds what the subagents of a session say.
const SUBAGENTS: &str = ".subagents";

/// The file that is locked while a title is given.
const TITLES_LOCK: &str = "titles.lock";

/// The folder of the hints.
const HINTS: &str = "last";

/// Characters of an id: no vowels, so that none is a word, and nothing that looks alike.
const ID_LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxz23456789";

/// How many of them are letters: an id begins with one, because lists are numbered.
const ID_FIRST: usize = 19;

/// Characters of an id. A thousand sessions have the same one with a chance of one in five hundred thousand; even then
/// another is taken.
const ID_LENGTH: usize = 8;

/// Characters of a project's hash in a name. Who needs to be sure compares the path in the first line.
const MARK_LENGTH: usize = 8;

/// How many ids an error names.
const MAX_NAMED: usize = 10;

/// The longest name in `last`, in bytes.
const MAX_NAME_BYTES: u64 = 255;

/// Why a session cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    #[error("there is no earlier session of this project")]
    None,
    /// Nothing was typed where an id or a title belongs, as by a script whose variable is empty.
    #[error("the id or title of the session is empty")]
    NoName,
    /// No id begins so, and no title of the project is that.
    #[error("there is no session {typed:?}")]
    Unknown { typed: String },
    #[error("several sessions begin with {typed:?}: {}", ids.join(", "))]
    Ambiguous { typed: String, ids: Vec<String> },
    #[error("several sessions are called {typed:?}: {}", ids.join(", "))]
    SameTitle {
        typed: String,
        /// The ids, the newest first.
        ids: Vec<String>,
    },
    #[error("cannot read the session {id}, {}", path.display())]
    Read {
        id: String,
        path: PathBuf,
        source: ReadError,
    },
    #[error("the session {id} is open in another Dunlin{}", process(*pid))]
    Locked {
        id: String,
        /// The process that has it, as far as known.
        pid: Option<u32>,
    },
    /// Another Dunlin was first.
    #[error("another Dunlin has begun the session {title:?} in the meantime; nothing was sent")]
    Begun { title: String },
    /// The file cannot be written or removed.
    #[error("cannot {action} the session {id}, {}", path.display())]
    Write {
        action: &'static str,
        id: String,
        path: PathBuf,
        source: io::Error,
    },
    #[error("the session {id} belongs to another project, {project}")]
    Elsewhere {
        id: String,
        /// The folder it was begun in.
        project: String,
    },
}

impl StoreError {
    /// The way out, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::None | StoreError::NoName | StoreError::Unknown { .. } => Some(
                "dunlin sessions list lists the sessions of this project, with --all those of every project"
                    .to_owned(),
            ),
            StoreError::Ambiguous { .. } => Some("type more of the id".to_owned()),
            StoreError::SameTitle { .. } => {
                Some("type the id; dunlin sessions list shows when each was used".to_owned())
            }
            StoreError::Locked { id, .. } => Some(format!(
                "{} makes a copy that can be resumed; in the chat /fork {id} does",
                own_command(&["sessions", "fork", id])
            )),
            StoreError::Elsewhere { id, project } => {
                Some(own_command(&["--project", project, "--resume", id]))
            }
            StoreError::Begun { .. } => {
                Some("the same command continues that session, once it is not in use".to_owned())
            }
            StoreError::Read { .. } | StoreError::Write { .. } => None,
        }
    }
}

fn process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// A session file by its name; nothing of it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub path: PathBuf,
    /// The hash of its project; `None` where the name has none, because somebody else gave it.
    mark: Option<String>,
}

impl Entry {
    fn of(path: PathBuf) -> Option<Entry> {
        let name = path.file_name()?.to_str()?;
        let stem = name.strip_suffix(SUFFIX).filter(|stem| !stem.is_empty())?;
        let is_mark = |mark: &str| {
            mark.len() == MARK_LENGTH && mark.bytes().all(|byte| byte.is_ascii_hexdigit())
        };
        let (id, mark) = match stem.rsplit_once('-').filter(|(_, mark)| is_mark(mark)) {
            Some((id, mark)) => (id.to_owned(), Some(mark.to_owned())),
            None => (stem.to_owned(), None),
        };
        // In a command it would be an option.
        let is_name = !id.starts_with('-');
        is_name.then_some(Entry { id, path, mark })
    }

    /// When the file was written last.
    fn changed(&self) -> SystemTime {
        let metadata = fs::symlink_metadata(&self.path);
        let changed = metadata.and_then(|metadata| metadata.modified());
        changed.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Both ends of the file. What cannot be read says so in the summary.
    pub fn summary(&self) -> Summary {
        let read = || -> io::Result<Summary> {
            let mut file = open_regular(&self.path)?;
            let metadata = file.metadata()?;
            if !metadata.is_file() {
                return Err(io::Error::other("it is not a regular file"));
            }
            let mut summary = Summary::read(&mut file, metadata.len())?;
            summary.changed = Timestamp::try_from(metadata.modified()?).ok();
            // Whoever has it open has locked it. This lock ends with the file, at once.
            summary.open = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
            Ok(summary)
        };
        let mut summary = read().unwrap_or_else(|error| Summary {
            problem: Some(error.to_string()),
            ..Summary::default()
        });
        // The name is what it is found by, whatever stands in it.
        summary.id.clone_from(&self.id);
        summary
    }

    /// All of it.
    ///
    /// # Errors
    /// Nothing of the file is a session, or it cannot be read.
    pub fn load(&self) -> Result<Loaded, StoreError> {
        let failed = |source| StoreError::Read {
            id: self.id.clone(),
            path: self.path.clone(),
            source,
        };
        let file = open_regular(&self.path).map_err(|error| failed(error.into()))?;
        let metadata = file.metadata().map_err(|error| failed(error.into()))?;
        if !metadata.is_file() {
            let error = io::Error::other("it is not a regular file");
            return Err(failed(error.into()));
        }
        reader::read(BufReader::with_capacity(64 * 1024, file)).map_err(failed)
    }
}

/// The sessions of all projects. Nothing is made before the first one is.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
    project: PathBuf,
    /// Whether the last session is remembered.
    has_hints: bool,
}

impl Store {
    /// The store in the data folder, as it is seen from a project.
    pub fn new(data: &Path, project: &Path) -> Store {
        Store {
            folder: data.join("sessions"),
            project: project.to_path_buf(),
            has_hints: true,
        }
    }

    /// The store of what the subagents of a session say. Their ids are numbers.
    #[must_use]
    pub fn of_subagents(&self, session: &str) -> Store {
        Store {
            folder: self.folder.join(format!("{session}{SUBAGENTS}")),
            project: self.project.clone(),
            has_hints: false,
        }
    }

    /// The folder of the sessions.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The project as a first line names it.
    pub fn project_name(&self) -> String {
        self.project.to_string_lossy().into_owned()
    }

    /// An id that nobody has, as far as chance can tell.
    pub fn new_id() -> String {
        use std::hash::{BuildHasher, Hasher, RandomState};
        let mut number = u128::from(RandomState::new().build_hasher().finish()) << 64;
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        number |= u128::from(hasher.finish());
        let mut letters = ID_FIRST as u128;
        let mut id = String::with_capacity(ID_LENGTH);
        for _ in 0..ID_LENGTH {
            let at = usize::try_from(number % letters).unwrap_or_default();
            id.extend(ID_LETTERS.get(at).map(|byte| char::from(*byte)));
            number /= letters;
            letters = ID_LETTERS.len() as u128;
        }
        id
    }

    /// Where a session of this project with this id is kept.
    pub fn entry(&self, id: &str) -> Entry {
        let mark = mark(&self.project);
        Entry {
            id: id.to_owned(),
            path: self.folder.join(format!("{id}-{mark}{SUFFIX}")),
            mark: Some(mark),
        }
    }

    pub fn make_folder(&self) -> io::Result<()> {
        make_private(&self.folder)
    }

    /// Has only one process at a time look for a title and begin the session that has it. Ends with the value, also when the
    /// process is killed.
    pub(super) fn lock_titles(&self) -> io::Result<File> {
        self.make_folder()?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.folder.join(TITLES_LOCK))?;
        lock.lock()?;
        Ok(lock)
    }

    /// All sessions, of this project or of every one, the newest first. Looks at names and times only.
    pub fn entries(&self, everywhere: bool) -> Vec<Entry> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mark = mark(&self.project);
        let here = |entry: &Entry| match &entry.mark {
            Some(found) => *found == mark,
            // Whoever named it so: its first line tells.
            None => entry.summary().project == self.project_name(),
        };
        let mut found: Vec<(SystemTime, Entry)> = entries
            .filter(|entry| {
                entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| name.ends_with(SUFFIX))
            })
            .filter_map(|entry| Entry::of(entry.path()))
            .filter(|entry| everywhere || here(entry))
            .map(|entry| (entry.changed(), entry))
            .collect();
        found.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.id.cmp(&other.id)));
        found.into_iter().map(|(_, entry)| entry).collect()
    }

    /// Summaries of the newest sessions, at most `most`: so many files are opened, and no more than their ends read.
    pub fn list(&self, everywhere: bool, most: usize) -> Vec<Summary> {
        let name = self.project_name();
        self.entries(everywhere)
            .iter()
            .map(Entry::summary)
            // Two projects may share a hash.
            .filter(|summary| everywhere || summary.project.is_empty() || summary.project == name)
            .take(most)
            .collect()
    }

    /// The last session of this project.
    pub fn last(&self) -> Option<Entry> {
        match self.remembered() {
            Ok(name) => {
                let entry = Entry::of(self.folder.join(name));
                let known = entry.filter(|entry| entry.path.is_file());
                known.or_else(|| self.look_for_last())
            }
            // Without a hint there was no session of this project, unless the hints are gone.
            Err(_) if self.folder.join(HINTS).is_dir() => None,
            Err(_) => self.look_for_last(),
        }
    }

    fn look_for_last(&self) -> Option<Entry> {
        let name = self.project_name();
        let mut entries = self.entries(false).into_iter();
        entries.find(|entry| entry.summary().project == name)
    }

    /// The name that the hint holds; nothing that could lead out of the folder.
    fn remembered(&self) -> io::Result<String> {
        let mut bytes = Vec::new();
        let file = open_regular(&self.last_file())?;
        file.take(MAX_NAME_BYTES).read_to_end(&mut bytes)?;
        let name = String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok(if name.contains('/') {
            String::new()
        } else {
            name
        })
    }

    /// Remembers a session as the last one of this project. Failing to do so, or being killed in the middle of it,
    /// only makes the next start look for it.
    pub fn remember(&self, entry: &Entry) {
        if !self.has_hints {
            return;
        }
        let write = || -> io::Result<()> {
            make_private(&self.folder.join(HINTS))?;
            let name = entry.path.file_name().unwrap_or_default();
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(self.last_file())?;
            file.write_all(name.as_encoded_bytes())
        };
        let _ = write();
    }

    fn last_file(&self) -> PathBuf {
        let hash = hash(&self.project);
        self.folder.join(HINTS).join(&hash[..hash.len().min(32)])
    }

    /// The session that is meant: the last one of the project, or the one whose id begins so, or that has this title.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn find(&self, typed: Option<&str>) -> Result<Entry, StoreError> {
        let Some(typed) = typed.map(str::trim) else {
            return self.last().ok_or(StoreError::None);
        };
        if typed.is_empty() {
            return Err(StoreError::NoName);
        }
        let lower = typed.to_lowercase();
        let all = self.entries(true);
        let begin: Vec<&Entry> = all.iter().filter(|it| it.id.starts_with(&lower)).collect();
        let exact = all.iter().find(|entry| entry.id == typed);
        match (exact, begin.as_slice()) {
            (Some(entry), _) => Ok(entry.clone()),
            (None, [entry]) => Ok((*entry).clone()),
            (None, []) => {
                let is_it = |entry: &&Entry| entry.summary().title.to_lowercase() == lower;
                let here = self.entries(false);
                let called: Vec<&Entry> = here.iter().filter(is_it).collect();
                match called.as_slice() {
                    [] => Err(StoreError::Unknown {
                        typed: typed.to_owned(),
                    }),
                    [entry] => Ok((*entry).clone()),
                    several => {
                        let ids = several.iter().take(MAX_NAMED);
                        Err(StoreError::SameTitle {
                            typed: typed.to_owned(),
                            ids: ids.map(|entry| entry.id.clone()).collect(),
                        })
                    }
                }
            }
            (None, several) => {
                let mut ids: Vec<String> = several.iter().map(|entry| entry.id.clone()).collect();
                ids.sort();
                ids.truncate(MAX_NAMED);
                Err(StoreError::Ambiguous {
                    typed: typed.to_owned(),
                    ids,
                })
            }
        }
    }

    /// Removes a session that nobody has open.
    ///
    /// # Errors
    /// Somebody has, or it cannot be removed.
    pub fn delete(&self, entry: &Entry) -> Result<(), StoreError> {
        let failed = |source| StoreError::Write {
            action: "delete",
            id: entry.id.clone(),
            path: entry.path.clone(),
            source,
        };
        // What is not a session can go, too: a folder cannot.
        if let Ok(file) = open_regular(&entry.path)
            && let Err(TryLockError::WouldBlock) = file.try_lock()
        {
            let pid = entry.load().ok().and_then(|loaded| loaded.pid);
            return Err(StoreError::Locked {
                id: entry.id.clone(),
                pid,
            });
        }
        // First: without the session nobody would look for it.
        match fs::remove_dir_all(self.of_subagents(&entry.id).folder()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::remove_file(&entry.path).map_err(failed)
    }
}

/// Syncs the names in a folder.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn mark(project: &Path) -> String {
    let mut hash = hash(project);
    hash.truncate(MARK_LENGTH);
    hash
}

fn hash(project: &Path) -> String {
    dunlin_host::sha256_hex(project.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
