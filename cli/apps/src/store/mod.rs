//! The folder of the apps of a user: a folder each, with the versions of its parts.
//!
//! ```text
//! tide-table/app.json              what is known of it
//! tide-table/lock                  locked while one of both is changed
//! tide-table/versions/3/main.js    a part of its third version
//! ```
//!
//! Each version has all parts that the app has, so that none depends on another. It is written aside and then renamed, and
//! `app.json` names it last: an interrupted program leaves the app as it was.
//!
//! A folder that somebody copied here holds what its author liked. Links in it are not followed, and it cannot be another app.

mod error;
mod name;

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

pub use self::error::StoreError;
use self::error::io;
pub use self::name::{is_name, title_of};
use self::name::{name_of, tidy};
use crate::blocks::MAX_PART_BYTES;
use crate::part::{Part, Parts};

/// How many versions of an app are kept; the oldest go first.
const MAX_VERSIONS: usize = 100;

/// The longest `app.json`. With all versions it has about 1 KB.
const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// How often a name that was free is tried again with another number.
const MAX_SAME_NAMES: u32 = 1000;

/// Files and folders of an app.
const RECORD: &str = "app.json";
const LOCK: &str = "lock";
const VERSIONS: &str = "versions";

/// The form of `app.json`. A program that finds another one says so.
const FORMAT: u32 = 1;

/// All apps.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// `app.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    format: u32,
    /// Tells it from every other app, also one that had its name before.
    id: String,
    title: String,
    /// The session in which it is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The versions that `undo` can go back to, the newest last.
    versions: Vec<u32>,
    /// The number of the next one. No number is used twice.
    next: u32,
}

/// One app, as it was when it was read.
#[derive(Debug, Clone)]
pub struct StoredApp {
    folder: PathBuf,
    name: String,
    record: Record,
}

impl Store {
    /// The apps in this folder. It need not exist.
    pub fn new(folder: PathBuf) -> Store {
        Store { folder }
    }

    /// The names of all apps, sorted.
    pub fn names(&self) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(io(&self.folder)(e)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(io(&self.folder))?;
            let name = entry.file_name().into_string();
            names.extend(name.ok().filter(|name| is_name(name)));
        }
        names.sort();
        Ok(names)
    }

    /// The app of this name.
    pub fn open(&self, name: &str) -> Result<StoredApp, StoreError> {
        let app = self.read(name)?;
        for other in self.names()? {
            // One that cannot be read cannot be used either.
            if other != name && self.read(&other).is_ok_and(|it| it.id() == app.id()) {
                return Err(self.same_id(name, &other));
            }
        }
        Ok(app)
    }

    /// All apps, by their names, and why others cannot be read.
    pub fn all(&self) -> Result<(Vec<StoredApp>, Vec<StoreError>), StoreError> {
        let (mut read, mut broken) = (Vec::new(), Vec::new());
        for name in self.names()? {
            match self.read(&name) {
                Ok(app) => read.push(app),
                Err(error) => broken.push(error),
            }
        }
        let mut apps = Vec::new();
        for app in &read {
            let is_same = |it: &&StoredApp| it.name != app.name && it.id() == app.id();
            match read.iter().find(is_same) {
                Some(other) => broken.push(self.same_id(&app.name, &other.name)),
                None => apps.push(app.clone()),
            }
        }
        Ok((apps, broken))
    }

    /// The app of this name, if it is one by itself.
    fn read(&self, name: &str) -> Result<StoredApp, StoreError> {
        if !is_name(name) {
            return Err(StoreError::Unknown(name.to_owned()));
        }
        let folder = self.folder.join(name);
        let record = match Record::read(&folder) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                Err(StoreError::Unknown(name.to_owned()))
            }
            record => record,
        };
        Ok(StoredApp {
            name: name.to_owned(),
            record: record?,
            folder,
        })
    }

    fn same_id(&self, name: &str, other: &str) -> StoreError {
        StoreError::SameId {
            name: name.to_owned(),
            other: other.to_owned(),
            folder: self.folder.clone(),
        }
    }

    /// Makes an app with a first version. Its name follows from the title.
    pub fn create(
        &self,
        title: &str,
        session: Option<&str>,
        parts: &Parts,
    ) -> Result<StoredApp, StoreError> {
        fs::create_dir_all(&self.folder).map_err(io(&self.folder))?;
        let title = tidy(title);
        let mut app = StoredApp {
            folder: PathBuf::new(),
            name: String::new(),
            record: Record {
                format: FORMAT,
                id: format!("{:032x}", rand::random::<u128>()),
                title: title.clone(),
                session: session.map(str::to_owned),
                versions: Vec::new(),
                next: 1,
            },
        };
        // Complete before anybody sees it.
        let aside = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&self.folder)
            .map_err(io(&self.folder))?;
        app.folder = aside.path().to_owned();
        app.save(parts)?;
        for number in 1..=MAX_SAME_NAMES {
            app.name = name_of(&title, number);
            app.folder = self.folder.join(&app.name);
            // Renaming replaces an empty folder, but an app has files.
            match fs::rename(aside.path(), &app.folder) {
                Ok(()) => return Ok(app),
                Err(_) if app.folder.symlink_metadata().is_ok() => {}
                Err(e) => return Err(io(&app.folder)(e)),
            }
        }
        Err(StoreError::TooMany(name_of(&title, 1)))
    }

    /// Removes an app with all its versions.
    pub fn delete(&self, name: &str) -> Result<(), StoreError> {
        let app = self.open(name)?;
        // In one step, so that nobody finds half of it.
        let aside = tempfile::Builder::new()
            .prefix(".deleted-")
            .tempdir_in(&self.folder)
            .map_err(io(&self.folder))?;
        fs::rename(&app.folder, aside.path().join(name)).map_err(io(&app.folder))?;
        aside.close().map_err(io(&self.folder))
    }
}

impl StoredApp {
    /// The name, by which the user calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it calls itself. Not escaped.
    pub fn title(&self) -> &str {
        &self.record.title
    }

    /// What tells it from all other apps, also from one that had its name before. Letters and digits.
    pub fn id(&self) -> &str {
        &self.record.id
    }

    /// The session in which it is worked on.
    pub fn session(&self) -> Option<&str> {
        self.record.session.as_deref()
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of the current version.
    pub fn version(&self) -> u32 {
        self.record.versions.last().copied().unwrap_or_default()
    }

    /// To how many versions it can go back.
    pub fn earlier(&self) -> usize {
        self.record.versions.len().saturating_sub(1)
    }

    /// Whether it was deleted since it was read; another may have its name by now.
    pub fn is_deleted(&self) -> bool {
        match Record::read(&self.folder) {
            Ok(record) => record.id != self.record.id,
            Err(StoreError::Io { source, .. }) => source.kind() == std::io::ErrorKind::NotFound,
            // It is there, whatever it says.
            Err(_) => false,
        }
    }

    /// The parts of the current version.
    pub fn parts(&self) -> Result<Parts, StoreError> {
        let folder = self.version_folder(self.version());
        for folder in [&self.folder.join(VERSIONS), &folder] {
            refuse_link(folder).map_err(io(folder))?;
        }
        let mut parts = Parts::default();
        for part in Part::ALL {
            let path = folder.join(part.file_name());
            if let Some(text) = read_text(&path, MAX_PART_BYTES as u64)? {
                parts.set(part, text);
            }
        }
        match parts.is_empty() {
            true => Err(StoreError::NoParts(folder)),
            false => Ok(parts),
        }
    }

    /// Saves a new version: these parts, and of the current version those that are missing here. Returns its number.
    pub fn save(&mut self, parts: &Parts) -> Result<u32, StoreError> {
        let _locked = self.lock()?;
        let parts = match self.version() {
            0 => parts.clone(),
            _ => parts.clone().over(&self.parts()?),
        };
        let versions = self.folder.join(VERSIONS);
        fs::create_dir_all(&versions).map_err(io(&versions))?;
        let number = self.record.next;
        let aside = tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&versions)
            .map_err(io(&versions))?;
        for (part, text) in parts.iter() {
            let path = aside.path().join(part.file_name());
            write_synced(&path, text).map_err(io(&path))?;
        }
        let folder = self.version_folder(number);
        // A Dunlin that was killed here has left one that nothing names.
        remove_if_there(&folder).map_err(io(&folder))?;
        fs::rename(aside.path(), &folder).map_err(io(&folder))?;
        self.record.versions.push(number);
        self.record.next = number.saturating_add(1);
        self.take_title(&parts);
        let versions = &mut self.record.versions;
        versions.drain(..versions.len().saturating_sub(MAX_VERSIONS));
        self.record.write(&self.folder)?;
        self.remove_unlisted();
        Ok(number)
    }

    /// Goes back to the version before. Returns its number, or `None` where there is none.
    pub fn undo(&mut self) -> Result<Option<u32>, StoreError> {
        let _locked = self.lock()?;
        if self.record.versions.len() < 2 {
            return Ok(None);
        }
        self.record.versions.pop();
        self.take_title(&self.parts()?);
        self.record.write(&self.folder)?;
        Ok(Some(self.version()))
    }

    /// Says in which session it is worked on from now on.
    pub fn set_session(&mut self, session: &str) -> Result<(), StoreError> {
        let _locked = self.lock()?;
        self.record.session = Some(session.to_owned());
        self.record.write(&self.folder)
    }

    /// No session works on it any more.
    pub fn leave_session(&mut self) -> Result<(), StoreError> {
        let _locked = self.lock()?;
        self.record.session = None;
        self.record.write(&self.folder)
    }

    /// Waits until nobody else changes the app, and reads what others have changed.
    fn lock(&mut self) -> Result<File, StoreError> {
        let path = self.folder.join(LOCK);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = open_own(&mut options, &path).map_err(io(&path))?;
        file.lock().map_err(io(&path))?;
        let versions = self.folder.join(VERSIONS);
        refuse_link(&versions).map_err(io(&versions))?;
        // A new app has none yet.
        if self.version() > 0 {
            self.record = Record::read(&self.folder)?;
        }
        Ok(file)
    }

    fn version_folder(&self, number: u32) -> PathBuf {
        self.folder.join(VERSIONS).join(number.to_string())
    }

    /// Calls it what its page says, if that says something.
    fn take_title(&mut self, parts: &Parts) {
        if let Some(title) = parts.get(Part::Html).and_then(title_of) {
            self.record.title = title;
        }
    }

    /// Removes versions that nothing leads to any more: the oldest, and those that were undone. What cannot be removed is
    /// tried again with the next version.
    fn remove_unlisted(&self) {
        let versions = self.folder.join(VERSIONS);
        for entry in fs::read_dir(versions).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse::<u32>().ok());
            if number.is_some_and(|number| !self.record.versions.contains(&number)) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

impl Record {
    fn read(folder: &Path) -> Result<Record, StoreError> {
        let path = folder.join(RECORD);
        let text = read_text(&path, MAX_RECORD_BYTES)?
            .ok_or_else(|| io(&path)(ErrorKind::NotFound.into()))?;
        let bad = |why: String| StoreError::Record {
            path: path.clone(),
            why,
        };
        let record: Record = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        if record.format != FORMAT {
            return Err(StoreError::Format {
                path,
                format: record.format,
            });
        }
        if record.versions.is_empty() {
            return Err(bad("it names no version".to_owned()));
        }
        if !is_id(&record.id) {
            return Err(bad(
                "its id has other characters than a to f and digits".to_owned()
            ));
        }
        Ok(record)
    }

    fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(RECORD);
        let text = serde_json::to_vec_pretty(self).map_err(|e| io(&path)(e.into()))?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io(folder))?;
        file.write_all(&text).map_err(io(&path))?;
        file.as_file().sync_all().map_err(io(&path))?;
        file.persist(&path).map_err(|e| io(&path)(e.error))?;
        Ok(())
    }
}

/// Others look for permissions and data under it.
fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes a folder; `Ok` also where there is none.
fn remove_if_there(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// Writes a new file, so that it is there before `app.json` names it, also after a power failure.
fn write_synced(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Opens a file of an app. Dunlin makes only regular ones: a link could lead to any file of the user, and a pipe would be
/// waited for.
fn open_own(options: &mut OpenOptions, path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(|error| match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::LOOP) => not_made_here(),
            _ => error,
        })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_made_here()),
    }
}

/// The same for a folder, which need not exist.
fn refuse_link(folder: &Path) -> std::io::Result<()> {
    match folder.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(not_made_here()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

fn not_made_here() -> std::io::Error {
    std::io::Error::other("it is a link or no regular file, and Dunlin has not made it")
}

/// Reads a file of at most so many bytes; `None`: there is none.
fn read_text(path: &Path, max_bytes: u64) -> Result<Option<String>, StoreError> {
    let file = match open_own(OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io(path)(e)),
    };
    let mut text = String::new();
    file.take(max_bytes + 1)
        .read_to_string(&mut text)
        .map_err(io(path))?;
    match text.len() as u64 > max_bytes {
        true => Err(StoreError::TooLarge {
            path: path.to_owned(),
            max_bytes,
        }),
        false => Ok(Some(text)),
    }
}

#[cfg(test)]
mod tests;
