//! Reads and writes the permission file and the digests beside it.
//!
//! `tool.permissions.json` is what people read and may edit: targets and three characters.
//! `tool.digests.json` says for which plugins a stored *allow* holds. The permission file itself says which of its
//! letters are for these plugins only ([`super::entries`]), so such a letter without an entry there allows nothing.
//!
//! Several Dunlins may run at once. Whoever changes something takes the lock, reads what is there now,
//! changes that, and renames a finished file into place, so that a reader never sees half a file and a
//! writer never loses another's answer. Both new files are complete on the disk before the first is renamed, so a full
//! disk changes neither. The two cannot be replaced in one step, so the order is chosen such that dying in between
//! leaves less allowed, never more: for an answer that allows, the digests go first, for all else the permissions.
//! Readers take no lock. They read the digests first: for a no, newer digests then come with the newer permissions.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::PermissionError;
use super::entries::{Entries, Written};
use super::key::{Bits, Decided};
use crate::files::{make_private, open_regular};
use crate::target::Operation;

/// Largest permission file that is read, in bytes: a hundred thousand entries. More is not a list of
/// answers that a person gave.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// What both files say, keys in the user's order and spelling.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Contents {
    pub(super) entries: Vec<(String, Bits)>,
    /// An allow that is not in here is for every tool. One with an empty list is for nobody.
    pub(super) digests: Digests,
}

impl Contents {
    fn of(entries: &Entries, digests: &Digests) -> Contents {
        let mut contents = Contents {
            entries: Vec::new(),
            digests: digests.clone(),
        };
        for (key, Written { bits, bound }) in &entries.0 {
            contents.entries.push((key.clone(), *bits));
            if bound.is_empty() {
                continue;
            }
            let grants = contents.digests.grants.entry(key.clone()).or_default();
            for operation in bound {
                grants.entry(*operation).or_default();
            }
        }
        contents
    }

    /// The two files that say this. Digests without an allow are left out: nothing may come to rely on them later.
    fn files(self) -> (Entries, Digests) {
        let mut grants = BTreeMap::new();
        let mut entries = Vec::new();
        for (key, bits) in self.entries {
            let mut named = self.digests.grants.get(&key).cloned().unwrap_or_default();
            let allowed = Operation::ALL
                .into_iter()
                .filter(|operation| bits.get(*operation) == Decided::Allow)
                .map(OperationName::from);
            let bound: Vec<OperationName> = allowed
                .filter(|operation| named.contains_key(operation))
                .collect();
            named.retain(|operation, plugins| bound.contains(operation) && !plugins.is_empty());
            if !named.is_empty() {
                grants.insert(key.clone(), named);
            }
            entries.push((key, Written { bits, bound }));
        }
        (Entries(entries), Digests { grants })
    }
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
    /// Its identity: the name, and where it comes from.
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
    /// The digest of all names that the line was looked up by, and of what each of them is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) looked_up: Option<String>,
    /// The folder in which the line ran, if the yes is to exactly this line: it holds there alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) folder: Option<PathBuf>,
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
    /// For an answer that allows: a digest without its letter allows nothing.
    DigestsFirst,
    /// For an answer that denies, and for what a person sets: a no holds whatever the digests say, and until they are
    /// gone a letter for every tool is one for the old grantees.
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
        let (entries, digests) = self.read()?;
        Ok(Contents::of(&entries, &digests))
    }

    fn read(&self) -> Result<(Entries, Digests), PermissionError> {
        let digests = parse(&self.digests)?;
        Ok((parse(&self.permissions)?, digests))
    }

    /// Changes both files under the lock: reads what is there now, lets `change` alter it, writes what
    /// differs. Blocks while another Dunlin holds the lock, which it does for milliseconds.
    pub(super) fn update<T>(
        &self,
        order: Order,
        change: impl FnOnce(&mut Contents) -> T,
    ) -> Result<T, PermissionError> {
        let folder = folder_of(&self.permissions);
        make_private(folder).map_err(|source| PermissionError::Write {
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

        let (old_entries, old_digests) = self.read()?;
        let mut contents = Contents::of(&old_entries, &old_digests);
        let value = change(&mut contents);
        let (entries, digests) = contents.files();
        let entries = (entries != old_entries)
            .then(|| prepare(&self.permissions, &entries))
            .transpose()?;
        let digests = (digests != old_digests)
            .then(|| prepare(&self.digests, &digests))
            .transpose()?;
        let mut steps = [(&self.digests, digests), (&self.permissions, entries)];
        if order == Order::PermissionsFirst {
            steps.reverse();
        }
        for (path, prepared) in steps {
            if let Some(prepared) = prepared {
                put(path, prepared)?;
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
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(fail(e)),
    };
    if !file.metadata().map_err(fail)?.is_file() {
        return Err(fail(io::Error::other("it is not a regular file")));
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

/// Reads a file; a missing one is empty.
fn parse<T: DeserializeOwned + Default>(path: &Path) -> Result<T, PermissionError> {
    let Some(text) = read(path)? else {
        return Ok(T::default());
    };
    serde_json::from_str(&text).map_err(|source| PermissionError::Parse {
        path: path.to_owned(),
        source,
    })
}

/// Writes what a file is to hold beside it, and waits until the disk has it.
fn prepare<T: Serialize>(path: &Path, value: &T) -> Result<NamedTempFile, PermissionError> {
    let fail = |source| PermissionError::Write {
        path: path.to_owned(),
        source,
    };
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY_PREFIX)
        .suffix(TEMPORARY_SUFFIX)
        // `tempfile` creates with 0600.
        .tempfile_in(folder_of(path))
        .map_err(fail)?;
    serde_json::to_writer_pretty(&mut file, value).map_err(|e| fail(e.into()))?;
    file.write_all(b"\n").map_err(fail)?;
    file.as_file().sync_all().map_err(fail)?;
    Ok(file)
}

/// Puts what was prepared into place.
fn put(path: &Path, prepared: NamedTempFile) -> Result<(), PermissionError> {
    let fail = |source| PermissionError::Write {
        path: path.to_owned(),
        source,
    };
    prepared.persist(path).map_err(|e| fail(e.error))?;
    // The rename itself must survive a power cut, before the next one.
    File::open(folder_of(path))
        .and_then(|folder| folder.sync_all())
        .map_err(fail)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}
