//! Keeps compiled components and tool lists on the disk.
//!
//! A compiled component is machine code that the engine trusts: whoever can write one runs code as the
//! user. So the folder is the user's own (0700), is never granted to a tool, and an entry in it that
//! others could have written is not used. An entry's name holds the engine's compatibility hash, the
//! component's digest and the digest of the entry itself: another version of the engine looks
//! elsewhere, and what was damaged or torn does not have the name it should have. Everything that is
//! not right is compiled again without a word.

use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::files::make_private;

/// The two kinds of entries, each in its folder.
#[derive(Debug, Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// What is kept of a described plugin; the version goes up when its form changes.
const TOOLS_FOLDER: &str = "tools-2";

/// Temporary files older than this were left by a killed writer, in seconds.
const STALE_TEMPORARY_SECS: u64 = 60 * 60;

const TEMPORARY_SUFFIX: &str = ".tmp";

impl Cache {
    pub(crate) fn new(root: &Path) -> Cache {
        Cache {
            root: root.to_owned(),
        }
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
        let folder = self
            .root
            .join(format!("components-{}", engine_hash(engine)));
        if let Some(component) = self.load(engine, &folder, digest) {
            return Ok(component);
        }
        let component = Component::new(engine, bytes)?;
        if let Ok(compiled) = component.serialize()
            && make_private(&folder).is_ok()
        {
            sweep(&folder, digest);
            let name = format!("{digest}-{}.cwasm", sha256_hex(&compiled));
            let _ = write(&folder, &name, &compiled);
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
        private
            .then(|| parse(&std::fs::read(entry).ok()?))
            .flatten()
    }

    /// Keeps a tool list. Failing to is not an error.
    pub(crate) fn keep_tools(&self, digest: &str, list: &[u8]) {
        let folder = self.root.join(TOOLS_FOLDER);
        if make_private(&folder).is_ok() {
            let _ = write(&folder, &format!("{digest}.json"), list);
        }
    }

    fn load(&self, engine: &Engine, folder: &Path, digest: &str) -> Option<Component> {
        if !is_private(&self.root) || !is_private(folder) {
            return None;
        }
        let entry = entries_of(folder, digest)
            .into_iter()
            .find(|path| is_private(path))?;
        let compiled = std::fs::read(&entry).ok()?;
        let name = entry.file_name()?.to_str()?;
        let expected = name
            .strip_suffix(".cwasm")?
            .strip_prefix(digest)?
            .strip_prefix('-')?;
        if sha256_hex(&compiled) != expected {
            let _ = std::fs::remove_file(&entry);
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
    let Ok(entries) = std::fs::read_dir(folder) else {
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
    std::fs::symlink_metadata(path).is_ok_and(|meta| {
        !meta.file_type().is_symlink()
            && meta.uid() == rustix::process::geteuid().as_raw()
            && meta.mode() & 0o022 == 0
    })
}

/// Removes other entries for the digest, which are damaged, and what killed writers left.
fn sweep(folder: &Path, digest: &str) {
    for path in entries_of(folder, digest) {
        let _ = std::fs::remove_file(path);
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let old = || {
            let age = entry.metadata().ok()?.modified().ok()?.elapsed().ok()?;
            Some(age.as_secs() > STALE_TEMPORARY_SECS)
        };
        if entry
            .file_name()
            .to_string_lossy()
            .ends_with(TEMPORARY_SUFFIX)
            && old().unwrap_or(false)
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
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
