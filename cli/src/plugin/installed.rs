//! The installed plugins: a record and a component for each, below the data folder.
//!
//! The record is what counts. It names the component by its digest, and is written last and in one step, so whoever
//! looks meanwhile sees the old version or the new one. A component is read again only when it has to be compiled.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dunlin_host::metadata::Metadata;
use dunlin_host::{Code, Plugin, forget_compiled, sha256_hex};
use serde::{Deserialize, Serialize};

use dunlin_host::files::make_private;

/// How many plugins there may be.
const MAX_PLUGINS: usize = 256;

/// Characters of a plugin's name.
const MAX_NAME_CHARS: usize = 64;

/// Digits of what tells installations apart: those of the largest number.
const MAX_INSTALLATION_DIGITS: usize = 39;

/// What is written down about an installed plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub name: String,
    /// Who it is, together with the name, in all of its versions: see [`super::origin`].
    pub origin: String,
    /// SHA-256 of the component.
    pub digest: String,
    /// Bytes of the component.
    pub bytes: u64,
    /// Where it came from, for people.
    pub source: String,
    /// When it was installed.
    pub installed: String,
    /// Tells this installation from those before: digits, the same for all versions until it is removed. Earlier builds
    /// had none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub installation: String,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// The digest of all that was shown of them; earlier builds did not keep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_digest: Option<String>,
    /// Its imports.
    pub abilities: Vec<String>,
    /// What it says of itself for people.
    #[serde(default)]
    pub metadata: Metadata,
    /// What it may ever ask for, if it says so.
    #[serde(default, rename = "may", skip_serializing_if = "Option::is_none")]
    pub declared_permissions: Option<BTreeMap<String, String>>,
    /// The fingerprint of the pinned key that had signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// The version before, whose component is kept for `plugin rollback`. That one has none before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Box<Record>>,
}

impl Record {
    /// It and the version before.
    fn versions(&self) -> impl Iterator<Item = &Record> {
        std::iter::once(self).chain(self.previous.as_deref())
    }
}

/// Why the folder of installed plugins cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstalledError {
    /// A file cannot be read or written.
    #[error("cannot {doing} {}", path.display())]
    Io {
        doing: &'static str,
        /// With which file.
        path: PathBuf,
        /// What came of it.
        source: io::Error,
    },
    /// A record makes no sense.
    #[error("{} is damaged; `dunlin plugin install` writes it again", path.display())]
    Damaged { path: PathBuf },
    /// There is no room.
    #[error("{MAX_PLUGINS} plugins are installed; no more are possible")]
    Full,
}

/// Where they stand.
#[derive(Debug, Clone)]
pub struct InstalledPlugins {
    folder: PathBuf,
    /// Where the host keeps what it compiles.
    cache: PathBuf,
}

impl InstalledPlugins {
    /// The plugins in this folder, which need not exist. Compiled ones are in the folder `cache`.
    pub fn new(folder: PathBuf, cache: PathBuf) -> InstalledPlugins {
        InstalledPlugins { folder, cache }
    }

    /// All records, sorted by name, and what could not be read of the others.
    pub fn records(&self) -> (Vec<Record>, Vec<InstalledError>) {
        let mut records = Vec::new();
        let mut broken = Vec::new();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return (records, broken),
            Err(source) => {
                broken.push(failed("read", &self.folder, source));
                return (records, broken);
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
        paths.sort();
        for path in paths.into_iter().take(MAX_PLUGINS) {
            match self.read(&path) {
                Ok(record) => records.push(record),
                Err(error) => broken.push(error),
            }
        }
        (records, broken)
    }

    /// What is written down about one.
    pub fn record(&self, name: &str) -> Option<Record> {
        let (records, _) = self.records();
        records.into_iter().find(|record| record.name == name)
    }

    /// All of them, as the host takes them. Reads no component.
    pub fn plugins(&self) -> (Vec<Plugin>, Vec<InstalledError>) {
        let (records, broken) = self.records();
        let plugin = |record: Record| Plugin {
            bytes: Code::File(self.component(&record)),
            name: record.name,
            origin: Some(record.origin),
            digest: record.digest,
            built_in: false,
            description: None,
            tools_digest: record.tools_digest,
        };
        (records.into_iter().map(plugin).collect(), broken)
    }

    /// Changes when a plugin comes or goes.
    pub fn stamp(&self) -> Option<SystemTime> {
        fs::metadata(&self.folder)
            .and_then(|meta| meta.modified())
            .ok()
    }

    /// Puts a plugin there, in place of one of the same name. That version is kept as the one before.
    ///
    /// # Errors
    /// It cannot be written; then the old one is as it was.
    pub fn put(&self, record: Record, component: &[u8]) -> Result<(), InstalledError> {
        make_private(&self.folder).map_err(|source| failed("make", &self.folder, source))?;
        let (records, _) = self.records();
        let old = records.iter().find(|old| old.name == record.name);
        if old.is_none() && records.len() >= MAX_PLUGINS {
            return Err(InstalledError::Full);
        }
        let previous = match old {
            Some(old) if old.digest == record.digest => old.previous.clone(),
            old => old.map(|old| {
                Box::new(Record {
                    previous: None,
                    ..old.clone()
                })
            }),
        };
        let installation = old.map_or(record.installation, |old| old.installation.clone());
        let record = Record {
            previous,
            installation,
            ..record
        };
        self.write(&self.component(&record), component)?;
        let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        self.write(&self.record_file(&record.name), &text)?;
        self.forget(old.into_iter().flat_map(Record::versions));
        Ok(())
    }

    /// Takes a plugin away.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self, record: &Record) -> Result<(), InstalledError> {
        let path = self.record_file(&record.name);
        fs::remove_file(&path).map_err(|source| failed("remove", &path, source))?;
        self.forget(record.versions());
        Ok(())
    }

    /// The component of a version.
    ///
    /// # Errors
    /// It cannot be read, or is another one by now.
    pub fn bytes(&self, record: &Record) -> Result<Vec<u8>, InstalledError> {
        let path = self.component(record);
        let bytes = fs::read(&path).map_err(|source| failed("read", &path, source))?;
        match sha256_hex(&bytes) == record.digest {
            true => Ok(bytes),
            false => Err(InstalledError::Damaged { path }),
        }
    }

    /// Removes the components of these versions, and what was compiled of them, where nothing uses them any more. One too
    /// many is in nobody's way.
    fn forget<'a>(&self, versions: impl Iterator<Item = &'a Record>) {
        let (records, _) = self.records();
        let used: Vec<&Record> = records.iter().flat_map(Record::versions).collect();
        for gone in versions {
            let path = self.component(gone);
            if used.iter().all(|record| self.component(record) != path) {
                let _ = fs::remove_file(path);
            }
            if used.iter().all(|record| record.digest != gone.digest) {
                forget_compiled(&self.cache, &gone.digest);
            }
        }
    }

    fn read(&self, path: &Path) -> Result<Record, InstalledError> {
        let text = fs::read(path).map_err(|source| failed("read", path, source))?;
        let record: Option<Record> = serde_json::from_slice(&text).ok();
        // Its fields become parts of paths.
        record
            .filter(|record| {
                let is_digest =
                    |it: &str| it.len() == 64 && it.bytes().all(|b| b.is_ascii_hexdigit());
                is_name(&record.name)
                    && self.record_file(&record.name) == path
                    && record.versions().all(|it| {
                        it.name == record.name
                            && is_digest(&it.digest)
                            && it.installation.len() <= MAX_INSTALLATION_DIGITS
                            && it.installation.bytes().all(|b| b.is_ascii_digit())
                    })
            })
            .ok_or_else(|| InstalledError::Damaged {
                path: path.to_owned(),
            })
    }

    fn record_file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    /// Another file for each installation: what runs on of a removed one must not take that for itself.
    fn component(&self, record: &Record) -> PathBuf {
        let short: String = record.digest.chars().take(16).collect();
        let installation = match record.installation.as_str() {
            "" => String::new(),
            digits => format!("-{digits}"),
        };
        let name = format!("{}-{short}{installation}.wasm", record.name);
        self.folder.join(name)
    }

    /// Under another name first: nobody sees half of it.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), InstalledError> {
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
            file.write_all(bytes)?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|source| failed("write", path, source))
    }
}

/// Whether a plugin can be called this.
pub fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> InstalledError {
    InstalledError::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, digest: char) -> Record {
        Record {
            name: name.to_owned(),
            origin: "ghcr.io/who/plugin".to_owned(),
            digest: String::from(digest).repeat(64),
            bytes: 4,
            source: "here".to_owned(),
            installed: "2026-01-01T00:00:00Z".to_owned(),
            installation: String::new(),
            tools: vec!["tool".to_owned()],
            tools_digest: None,
            abilities: vec!["log".to_owned()],
            metadata: Metadata::default(),
            signer: None,
            declared_permissions: None,
            previous: None,
        }
    }

    /// The record of a version that took the place of another one.
    fn after(name: &str, digest: char, before: char) -> Record {
        Record {
            previous: Some(Box::new(record(name, before))),
            ..record(name, digest)
        }
    }

    #[test]
    fn plugins_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let installed = InstalledPlugins::new(folder.path().join("plugins"), "/nowhere".into());
        let files = || fs::read_dir(&installed.folder).unwrap().count();
        assert!(installed.records().0.is_empty());
        installed.put(record("one", 'a'), b"wasm").unwrap();
        installed.put(record("two", 'b'), b"wasm").unwrap();
        installed.put(record("one", 'c'), b"wasm").unwrap();
        let (records, broken) = installed.records();
        assert_eq!(records, [after("one", 'c', 'a'), record("two", 'b')]);
        assert!(broken.is_empty());
        let (plugins, _) = installed.plugins();
        let Code::File(path) = &plugins[0].bytes else {
            panic!("{plugins:?}");
        };
        assert_eq!(fs::read(path).unwrap(), b"wasm");
        // Two versions are kept, and going back and forth keeps the same two.
        assert_eq!(files(), 5);
        installed.put(record("one", 'd'), b"wasm").unwrap();
        assert_eq!(installed.record("one"), Some(after("one", 'd', 'c')));
        assert_eq!(files(), 5);
        installed.put(record("one", 'c'), b"wasm").unwrap();
        assert_eq!(installed.record("one"), Some(after("one", 'c', 'd')));
        assert_eq!(files(), 5);
        installed.put(record("one", 'c'), b"wasm").unwrap();
        assert_eq!(installed.record("one"), Some(after("one", 'c', 'd')));
        installed.remove(&after("one", 'c', 'd')).unwrap();
        assert_eq!(installed.records().0, [record("two", 'b')]);
        assert_eq!(files(), 2);
        assert!(installed.remove(&record("one", 'c')).is_err());
    }

    /// A call of the removed plugin may still be running, and ends with the file of its component.
    #[test]
    fn each_installation_has_a_component_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let installed = InstalledPlugins::new(folder.path().join("plugins"), "/nowhere".into());
        let of = |installation: &str, digest| Record {
            installation: installation.to_owned(),
            ..record("one", digest)
        };
        let file = || match &installed.plugins().0[0].bytes {
            Code::File(path) => path.clone(),
            other => panic!("{other:?}"),
        };
        installed.put(of("1", 'a'), b"wasm").unwrap();
        let first = file();
        // An update is the same installation, and going back is one.
        installed.put(of("2", 'b'), b"wasm").unwrap();
        installed.put(of("3", 'a'), b"wasm").unwrap();
        assert_eq!(file(), first);
        installed.remove(&installed.record("one").unwrap()).unwrap();
        installed.put(of("4", 'a'), b"wasm").unwrap();
        assert!(!first.exists() && file() != first);
    }

    #[test]
    fn what_was_compiled_goes_with_the_last_that_uses_it() {
        let folder = tempfile::tempdir().unwrap();
        let cache = folder.path().join("cache/components-1");
        fs::create_dir_all(&cache).unwrap();
        let installed =
            InstalledPlugins::new(folder.path().join("plugins"), folder.path().join("cache"));
        let entry = |digest: char| cache.join(format!("{}-1.cwasm", record("", digest).digest));
        for digest in ['a', 'b', 'c'] {
            fs::write(entry(digest), "code").unwrap();
        }
        let left = || ['a', 'b', 'c'].map(|digest| entry(digest).exists());
        installed.put(record("one", 'a'), b"wasm").unwrap();
        installed.put(record("two", 'a'), b"wasm").unwrap();
        installed.put(record("one", 'b'), b"wasm").unwrap();
        installed.put(record("one", 'c'), b"wasm").unwrap();
        assert_eq!(left(), [true; 3]);
        installed.remove(&record("two", 'a')).unwrap();
        assert_eq!(left(), [false, true, true]);
        installed.remove(&after("one", 'c', 'b')).unwrap();
        assert_eq!(left(), [false; 3]);
    }

    #[test]
    fn a_record_leads_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let installed = InstalledPlugins::new(folder.path().to_owned(), "/nowhere".into());
        for (file, text) in [
            ("a.json", "{".to_owned()),
            (
                "b.json",
                serde_json::to_string(&record("other", 'a')).unwrap(),
            ),
            (
                "c.json",
                serde_json::to_string(&record("../c", 'a')).unwrap(),
            ),
            ("d.json", serde_json::to_string(&record("d", '/')).unwrap()),
            (
                "e.json",
                serde_json::to_string(&Record {
                    installation: "/../../e".to_owned(),
                    ..record("e", 'a')
                })
                .unwrap(),
            ),
        ] {
            fs::write(folder.path().join(file), text).unwrap();
        }
        let (records, broken) = installed.records();
        assert!(records.is_empty());
        assert_eq!(broken.len(), 5);
    }
}
