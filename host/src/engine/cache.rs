//! Keeps compiled components and tool lists on the disk.
//!
//! A compiled component is machine code that the engine trusts: whoever can write one runs code as the
//! user. So the folder is the user's own (0700), is never granted to a tool, and an entry in it that
//! others could have written is not used. An entry's name holds the engine's compatibility hash, the
//! component's digest and the digest of the entry itself: another version of the engine looks
//! elsewhere, and what was damaged or torn does not have the name it should have. Everything that is
//! not right is compiled again without a word.
//!
//! The entries of all engines together have a limit, [`MAX_CACHE_BYTES`]: whoever adds one removes those that were used
//! least recently. The time of an entry's last use is the time of its file. Removing one that another Dunlin runs is
//! harmless: it has the file mapped, and the file system keeps the bytes until it ends.

use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::files::make_private;
use crate::limits::MAX_CACHE_BYTES;

/// The two kinds of entries, each in its folder.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// What is kept of a described plugin; the version goes up when its form changes.
const TOOLS_FOLDER: &str = "tools-2";

/// How the folders of entries begin, whichever version of Dunlin made them.
const FOLDERS: [&str; 2] = ["components-", "tools-"];

/// Temporary files older than this were left by a killed writer.
const STALE_TEMPORARY: Duration = Duration::from_secs(60 * 60);

/// How exactly the last use of an entry is known: a start that uses an entry again within this time writes nothing.
const USE_PERIOD: Duration = Duration::from_secs(60 * 60);

const TEMPORARY_SUFFIX: &str = ".tmp";

/// A file in a folder of entries.
struct CacheFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl CacheFile {
    fn is_of(&self, digest: &str) -> bool {
        let name = self.path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(digest.as_bytes())
    }

    fn is_temporary(&self) -> bool {
        let name = self.path.as_os_str().as_encoded_bytes();
        name.ends_with(TEMPORARY_SUFFIX.as_bytes())
    }
}

/// Removes what is kept in a cache folder of the component with this digest: its machine code and its list of tools.
/// A host that runs it meanwhile is not disturbed.
pub fn forget_compiled(cache_dir: &Path, digest: &str) {
    Cache::new(cache_dir).forget(digest);
}

impl Cache {
    pub(crate) fn new(root: &Path) -> Cache {
        Cache {
            root: root.to_owned(),
        }
    }

    /// Whether a component is compiled for this engine, so that nobody waits for it.
    pub(crate) fn is_compiled(&self, engine: &Engine, digest: &str) -> bool {
        !entries_of(&self.components(engine), digest).is_empty()
    }

    fn components(&self, engine: &Engine) -> PathBuf {
        let hash = engine_hash(engine);
        self.root.join(format!("components-{hash}"))
    }

    /// The compiled component with this digest: from the cache, or compiled from `bytes` and kept.
    /// Blocks: 0.2 ms when cached, tens of milliseconds and more to compile.
    ///
    /// Failing to keep it is not an error; the next start compiles again.
    pub(crate) fn component(
        &self,
        engine: &Engine,
        digest: &str,
        bytes: &[u8],
    ) -> wasmtime::Result<Component> {
        let folder = self.components(engine);
        if let Some(component) = self.load(engine, &folder, digest) {
            return Ok(component);
        }
        let component = Component::new(engine, bytes)?;
        if let Ok(compiled) = component.serialize()
            && make_private(&folder).is_ok()
        {
            // Others for the digest are damaged.
            for path in entries_of(&folder, digest) {
                let _ = fs::remove_file(path);
            }
            let name = format!("{digest}-{}.cwasm", sha256_hex(&compiled));
            self.add(&folder, &name, &compiled);
        }
        Ok(component)
    }

    /// The tool list kept for a digest, if there is one that `parse` understands. What it says goes to
    /// the model, so it is believed no more than code where others could have written it.
    pub(crate) fn tools<T>(
        &self,
        digest: &str,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<T> {
        let folder = self.root.join(TOOLS_FOLDER);
        let entry = folder.join(format!("{digest}.json"));
        let private = [&self.root, &folder, &entry]
            .into_iter()
            .all(|path| is_private(path));
        private.then(|| parse(&read(&entry).ok()?)).flatten()
    }

    /// Keeps a tool list. Failing to is not an error.
    pub(crate) fn keep_tools(&self, digest: &str, list: &[u8]) {
        let folder = self.root.join(TOOLS_FOLDER);
        if make_private(&folder).is_ok() {
            self.add(&folder, &format!("{digest}.json"), list);
        }
    }

    /// Removes what is kept of a component, for every engine. What cannot be removed is swept some day.
    pub(crate) fn forget(&self, digest: &str) {
        for entry in self.files() {
            if entry.is_of(digest) {
                let _ = fs::remove_file(entry.path);
            }
        }
    }

    fn add(&self, folder: &Path, name: &str, bytes: &[u8]) {
        if write(folder, name, bytes).is_ok() {
            self.sweep(&folder.join(name), MAX_CACHE_BYTES);
        }
    }

    /// Removes what killed writers left, and of the entries those that were used least recently, until what is left has
    /// no more than so many bytes. The one that was just added is left.
    fn sweep(&self, added: &Path, max_bytes: u64) {
        let now = SystemTime::now();
        let mut files = self.files();
        files.sort_by_key(|file| std::cmp::Reverse((file.path == added, file.used)));
        let mut sum = 0_u64;
        for file in files {
            let is_stale = match file.is_temporary() {
                true => now
                    .duration_since(file.used)
                    .is_ok_and(|age| age > STALE_TEMPORARY),
                false => {
                    sum = sum.saturating_add(file.bytes);
                    sum > max_bytes && file.path != added
                }
            };
            if is_stale {
                let _ = fs::remove_file(file.path);
            }
        }
    }

    /// All files in the folders of entries.
    fn files(&self) -> Vec<CacheFile> {
        let is_ours = |name: &str| FOLDERS.iter().any(|start| name.starts_with(start));
        let folders = fs::read_dir(&self.root).into_iter().flatten().flatten();
        folders
            .filter(|folder| folder.file_name().to_str().is_some_and(is_ours))
            .filter(|folder| folder.file_type().is_ok_and(|kind| kind.is_dir()))
            .flat_map(|folder| fs::read_dir(folder.path()).into_iter().flatten().flatten())
            .filter_map(|entry| {
                let meta = entry.metadata().ok()?;
                meta.is_file().then(|| CacheFile {
                    path: entry.path(),
                    bytes: meta.len(),
                    used: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                })
            })
            .collect()
    }

    fn load(&self, engine: &Engine, folder: &Path, digest: &str) -> Option<Component> {
        if !is_private(&self.root) || !is_private(folder) {
            return None;
        }
        let entry = entries_of(folder, digest)
            .into_iter()
            .find(|path| is_private(path))?;
        let compiled = read(&entry).ok()?;
        let name = entry.file_name()?.to_str()?;
        let expected = name
            .strip_suffix(".cwasm")?
            .strip_prefix(digest)?
            .strip_prefix('-')?;
        if sha256_hex(&compiled) != expected {
            let _ = fs::remove_file(&entry);
            return None;
        }
        drop(compiled);
        #[expect(
            unsafe_code,
            reason = "the entry was written by this user's Dunlin into a folder that only this user can write, \
                      it is whole (its digest is its name), and the engine itself checks that it was made by \
                      the same engine with the same settings"
        )]
        // SAFETY: see the reason above.
        unsafe {
            Component::deserialize_file(engine, &entry).ok()
        }
    }
}

/// SHA-256 in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| {
            [
                DIGITS[usize::from(byte >> 4)] as char,
                DIGITS[usize::from(byte & 15)] as char,
            ]
        })
        .collect()
}

/// What decides whether a compiled component fits this engine: its version and settings.
fn engine_hash(engine: &Engine) -> String {
    struct Sha(Sha256);
    impl Hasher for Sha {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            // Only the whole digest is used.
            0
        }
    }
    let mut hasher = Sha(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hex(&hasher.0.finalize()[..8])
}

fn entries_of(folder: &Path, digest: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            name.to_str()
                .is_some_and(|name| name.starts_with(digest) && name.ends_with(".cwasm"))
        })
        .map(|entry| entry.path())
        .collect()
}

/// Whether only this user can have written it.
fn is_private(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| {
        !meta.file_type().is_symlink()
            && meta.uid() == rustix::process::geteuid().as_raw()
            && meta.mode() & 0o022 == 0
    })
}

/// Reads an entry, and notes that it is used.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let now = SystemTime::now();
    let used = file.metadata()?.modified()?;
    // A time in the future would never be the least recent one.
    if now
        .duration_since(used)
        .map_or(true, |age| age > USE_PERIOD)
    {
        let _ = file.set_modified(now);
    }
    Ok(bytes)
}

/// Writes under a temporary name and renames: another process may have the old file mapped.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new()
        .suffix(TEMPORARY_SUFFIX)
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(folder.join(name)).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of two engines and a list of tools, from the least to the most recently used, each of 10 bytes.
    const ENTRIES: [&str; 4] = [
        "components-old/aa-1.cwasm",
        "components-new/bb-1.cwasm",
        "tools-2/aa.json",
        "components-new/aa-2.cwasm",
    ];

    fn filled() -> (tempfile::TempDir, Cache) {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str, hours: u64| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, [0; 10]).unwrap();
            let file = File::options().write(true).open(&path).unwrap();
            let age = Duration::from_secs(hours * 60 * 60);
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        for (name, hours) in ENTRIES.into_iter().zip([40, 30, 20, 10]) {
            at(name, hours);
        }
        at("components-new/left.tmp", 2);
        at("components-new/written.tmp", 0);
        at("models/large.bin", 90);
        let cache = Cache::new(root.path());
        (root, cache)
    }

    fn left(cache: &Cache) -> Vec<&'static str> {
        let is_there = |name: &&str| cache.root.join(name).exists();
        ENTRIES.into_iter().filter(is_there).collect()
    }

    #[test]
    fn what_was_used_least_recently_goes() {
        let newest = "components-new/aa-2.cwasm";
        let oldest = "components-old/aa-1.cwasm";
        for (added, max_bytes, expected) in [
            (newest, 40, &ENTRIES[..]),
            (newest, 39, &ENTRIES[1..]),
            (newest, 20, &ENTRIES[2..]),
            (newest, 0, &ENTRIES[3..]),
            // The one that was just added is kept, whatever the clock says.
            (oldest, 20, &[oldest, newest][..]),
        ] {
            let (_root, cache) = filled();
            cache.sweep(&cache.root.join(added), max_bytes);
            assert_eq!(left(&cache), expected, "{added} {max_bytes}");
            // Of the temporary files only the stale one goes, and nothing in other folders.
            assert!(!cache.root.join("components-new/left.tmp").exists());
            assert!(cache.root.join("components-new/written.tmp").exists());
            assert!(cache.root.join("models/large.bin").exists());
        }
    }

    #[test]
    fn using_an_entry_keeps_it() {
        let (_root, cache) = filled();
        read(&cache.root.join(ENTRIES[0])).unwrap();
        cache.sweep(&cache.root.join(ENTRIES[3]), 20);
        assert_eq!(left(&cache), [ENTRIES[0], ENTRIES[3]]);
    }

    #[test]
    fn a_component_is_forgotten_for_every_engine() {
        let (root, cache) = filled();
        forget_compiled(root.path(), "aa");
        assert_eq!(left(&cache), ["components-new/bb-1.cwasm"]);
    }
}
