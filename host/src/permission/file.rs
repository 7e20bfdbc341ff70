//! Reads and writes the permission file and the digests beside it.
//!
//! `tool.permissions.json` is what people read and may edit: targets and three characters.
//! `tool.digests.json` says for which plugins a stored *allow* holds. A bit without an entry there was
//! set by hand and holds for every tool.
//!
//! Several Dunlins may run at once. Whoever changes something takes the lock, reads what is there now,
//! changes that, and renames a finished file into place, so that a reader never sees half a file and a
//! writer never loses another's answer. The two files cannot be replaced in one step, so the order is
//! chosen such that dying in between leaves less allowed, never more: restrictions (digests of an
//! answer) go first, widenings (dropping digests after `permissions set`) go last.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::PermissionError;
use super::key::Bits;
use crate::target::{CommandKey, Operation};

/// Largest permission file that is read, in bytes: a hundred thousand entries. More is no list of
/// answers that a person gave.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Both files as they are on disk, keys in the user's order and spelling.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Contents {
    pub(super) entries: Vec<(String, Bits)>,
    pub(super) digests: Digests,
}

/// For which plugins stored allows hold: key → operation → plugins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Digests {
    #[serde(default)]
    pub(super) grants: BTreeMap<String, BTreeMap<OperationName, Vec<Grantee>>>,
}

/// A plugin that a grant was given to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Grantee {
    pub(super) plugin: String,
    /// The component's SHA-256, or [`BUILT_IN`].
    pub(super) digest: String,
    /// What the command that was granted runs. Builds that granted whole programs did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) runs: Option<Runs>,
}

/// What a command ran when it was granted. The grant holds as long as this is the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Runs {
    /// The file that the program's path led to.
    pub(super) program: PathBuf,
    /// The files that commands can change and that the line names, with their SHA-256.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) files: BTreeMap<PathBuf, String>,
}

/// Stands in for the digest of a built-in plugin: those change with the program.
pub(super) const BUILT_IN: &str = "built-in";

/// The operation's name in `tool.digests.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OperationName {
    Read,
    Write,
    Execute,
}

impl From<Operation> for OperationName {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => OperationName::Read,
            Operation::Write => OperationName::Write,
            Operation::Execute => OperationName::Execute,
        }
    }
}

/// What tells one state of a file from another without reading it. A replaced file has a new inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stamp(Option<(u64, u64, i64, i64, u64)>);

/// The two files.
#[derive(Debug, Clone)]
pub(super) struct Files {
    permissions: PathBuf,
    digests: PathBuf,
    lock: PathBuf,
}

/// Order in which the two files are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// For answers: a digest without its bit allows nothing.
    DigestsFirst,
    /// For what a person sets: until the digests are gone, only the old grantees profit.
    PermissionsFirst,
}

impl Files {
    pub(super) fn new(permissions: &Path) -> Files {
        Files {
            permissions: permissions.to_owned(),
            digests: permissions.with_file_name("tool.digests.json"),
            lock: permissions.with_extension("lock"),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.permissions
    }

    /// The state of both files. Cheap: two look-ups.
    pub(super) fn stamp(&self) -> (Stamp, Stamp) {
        (stamp(&self.permissions), stamp(&self.digests))
    }

    /// Reads both files; a missing one is empty.
    pub(super) fn load(&self) -> Result<Contents, PermissionError> {
        let entries = match read(&self.permissions)? {
            Some(text) => {
                serde_json::from_str::<Entries>(&text)
                    .map_err(|source| PermissionError::Parse {
                        path: self.permissions.clone(),
                        source,
                    })?
                    .0
            }
            None => Vec::new(),
        };
        let digests = match read(&self.digests)? {
            Some(text) => serde_json::from_str(&text).map_err(|source| PermissionError::Parse {
                path: self.digests.clone(),
                source,
            })?,
            None => Digests::default(),
        };
        Ok(Contents { entries, digests })
    }

    /// Changes both files under the lock: reads what is there now, lets `change` alter it, writes what
    /// differs. Blocks while another Dunlin holds the lock, which it does for milliseconds.
    pub(super) fn update<T>(
        &self,
        order: Order,
        change: impl FnOnce(&mut Contents) -> T,
    ) -> Result<T, PermissionError> {
        let folder = self.permissions.parent().unwrap_or(Path::new("/"));
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|source| PermissionError::Write {
                path: folder.to_owned(),
                source,
            })?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&self.lock)
            .map_err(|source| PermissionError::Write {
                path: self.lock.clone(),
                source,
            })?;
        // Released when `lock` is closed, also when this process is killed.
        lock.lock().map_err(|source| PermissionError::Write {
            path: self.lock.clone(),
            source,
        })?;
        self.sweep(folder);

        let mut contents = self.load()?;
        let before = contents.clone();
        let value = change(&mut contents);
        let write_entries = || -> Result<(), PermissionError> {
            if contents.entries == before.entries {
                return Ok(());
            }
            write(&self.permissions, &Entries(contents.entries.clone()))
        };
        let write_digests = || -> Result<(), PermissionError> {
            if contents.digests == before.digests {
                return Ok(());
            }
            write(&self.digests, &contents.digests)
        };
        match order {
            Order::DigestsFirst => {
                write_digests()?;
                write_entries()?;
            }
            Order::PermissionsFirst => {
                write_entries()?;
                write_digests()?;
            }
        }
        Ok(value)
    }

    /// Removes what a killed writer left. Only called under the lock, so nobody is writing.
    fn sweep(&self, folder: &Path) {
        let Ok(entries) = std::fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(TEMPORARY_PREFIX) && name.ends_with(TEMPORARY_SUFFIX) {
                // If it cannot be removed it only takes room; the next writer tries again.
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

const TEMPORARY_PREFIX: &str = ".tool.";
const TEMPORARY_SUFFIX: &str = ".tmp";

fn stamp(path: &Path) -> Stamp {
    Stamp(std::fs::metadata(path).ok().map(|meta| {
        (
            meta.ino(),
            meta.len(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.dev(),
        )
    }))
}

fn read(path: &Path) -> Result<Option<String>, PermissionError> {
    let fail = |source| PermissionError::Read {
        path: path.to_owned(),
        source,
    };
    // A pipe in its place must not hold everything up.
    let nonblock = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(nonblock)
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(fail(e)),
    };
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(fail(io::Error::other("it is no regular file")));
    }
    let mut text = String::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(fail)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(io::Error::other(format!(
            "it is larger than {MAX_FILE_BYTES} bytes"
        ))));
    }
    Ok(Some(text))
}

fn write<T: Serialize>(path: &Path, value: &T) -> Result<(), PermissionError> {
    let fail = |source| PermissionError::Write {
        path: path.to_owned(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        // `tempfile` creates with 0600.
        .tempfile_in(folder)
        .map_err(fail)?;
    serde_json::to_writer_pretty(&mut file, value).map_err(|e| fail(e.into()))?;
    file.write_all(b"\n").map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    file.persist(path).map_err(|e| fail(e.error))?;
    // The rename itself must survive a power cut.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(fail)
}

/// The entries of the permission file. A JSON object whose keys must be distinct: with two equal keys
/// one of them would silently not count.
struct Entries(Vec<(String, Bits)>);

impl Serialize for Entries {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, bits)| (key, bits.to_string())))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of targets and three characters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                let mut seen = std::collections::HashSet::new();
                while let Some((key, bits)) = map.next_entry::<String, String>()? {
                    if !seen.insert(key.clone()) {
                        return Err(serde::de::Error::custom(format!(
                            "the key {key:?} stands twice"
                        )));
                    }
                    if CommandKey::is_command(&key) {
                        key.parse::<CommandKey>()
                            .map_err(serde::de::Error::custom)?;
                    } else if !(key.starts_with('/') || super::key::is_url(&key)) {
                        return Err(serde::de::Error::custom(format!(
                            "the key {key:?} is neither an absolute path nor a URL nor a command"
                        )));
                    }
                    // A rule that silently never matches could be a deny.
                    if super::key::is_url(&key) {
                        crate::resolve::url_key(&key).map_err(serde::de::Error::custom)?;
                    }
                    let bits = bits.parse().map_err(|e| {
                        serde::de::Error::custom(format!("for the key {key:?}, {e}"))
                    })?;
                    entries.push((key, bits));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
