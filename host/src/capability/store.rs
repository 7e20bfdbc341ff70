//! `store`: what a plugin keeps for itself.
//!
//! A folder for each plugin and project, below one that no tool and no command may touch. It needs no permission: what
//! is there came from the plugin and goes to the plugin.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::context::{CallContext, CallerKind};
use super::refusal::Refusal;
use crate::bindings::dunlin::tool::store::{self, Entry};
use crate::bindings::dunlin::tool::types::Error;
use crate::display::chain;
use crate::files::make_private;
use crate::limits::{MAX_APP_STORE_BYTES, MAX_BLOB_BYTES, MAX_STORE_BYTES, MAX_STORE_ENTRIES};
use crate::permission::PluginId;

/// Characters of a name.
const MAX_NAME_CHARS: usize = 64;

/// Begins what is being written. No name does.
const TEMPORARY: &str = ".tmp-";

/// Files of killed writers are older than this, in seconds.
const STALE_SECS: u64 = 60 * 60;

/// Characters of the project's digest in the name of its folder.
const PROJECT_DIGITS: usize = 16;

/// Characters of the origin's digest in the name of a plugin's folder.
const ORIGIN_DIGITS: usize = 16;

type Answer<T> = Result<T, Refusal>;

impl store::Host for CallContext {
    async fn get(&mut self, name: String) -> Answer<Option<Vec<u8>>> {
        let path = self.kept_as(&name)?;
        match fs::read(path) {
            // Whoever else wrote there: a guest gets no more than it could have put.
            Ok(bytes) if bytes.len() > MAX_BLOB_BYTES => Ok(None),
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failed("read", &e)),
        }
    }

    async fn put(&mut self, name: String, bytes: Vec<u8>) -> Answer<()> {
        let path = self.kept_as(&name)?;
        if bytes.len() > MAX_BLOB_BYTES {
            let problem = format!(
                "{} bytes for {name}; at most {MAX_BLOB_BYTES} are kept under one name",
                bytes.len()
            );
            return Err(Error::TooLarge(problem).into());
        }
        let put = self.keep(&path, &name, &bytes);
        // Whoever removes a plugin takes its component away first, and then the store, so this is seen here or there.
        self.only_while_installed()
            .inspect_err(|_| withdraw(&path))?;
        put
    }

    async fn remove(&mut self, name: String) -> Answer<()> {
        match fs::remove_file(self.kept_as(&name)?) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(failed("remove from", &e)),
            _ => Ok(()),
        }
    }

    async fn entries(&mut self) -> Answer<Vec<Entry>> {
        self.only_in_run()?;
        self.only_while_installed()?;
        match entries(&self.own_folder()) {
            Ok(entries) => Ok(entries),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(failed("list", &e)),
        }
    }
}

impl CallContext {
    fn keep(&self, path: &Path, name: &str, bytes: &[u8]) -> Answer<()> {
        let folder = self.own_folder();
        // What tools remember of a project is as private as the project.
        make_private(&folder).map_err(|e| failed("make", &e))?;
        let others = entries(&folder).map_err(|e| failed("list", &e))?;
        let others = others.iter().filter(|entry| entry.name != name);
        let (count, sum) = others.fold((1, bytes.len() as u64), |(count, sum), entry| {
            (count + 1, sum + entry.size_bytes)
        });
        let (who, most) = match self.caller.kind {
            CallerKind::Tool => ("a plugin", MAX_STORE_BYTES),
            CallerKind::App => ("an app", MAX_APP_STORE_BYTES),
        };
        if count > MAX_STORE_ENTRIES || sum > most {
            let problem = format!(
                "{who} may keep {MAX_STORE_ENTRIES} names and {} MiB in a project; remove some",
                most >> 20
            );
            return Err(Error::TooLarge(problem).into());
        }
        sweep(&folder);
        write(&folder, path, bytes).map_err(|e| failed("write", &e))
    }

    /// A call that runs on after its plugin was removed keeps nothing, and reads nothing of what the plugin keeps once it is
    /// installed again.
    fn only_while_installed(&self) -> Answer<()> {
        match &self.caller.component {
            Some(component) if !component.exists() => {
                Err(Error::Failed("the plugin was removed".to_owned()).into())
            }
            _ => Ok(()),
        }
    }

    /// Where something of this name is kept.
    fn kept_as(&self, name: &str) -> Answer<PathBuf> {
        self.only_in_run()?;
        if !is_name(name) {
            let problem = format!(
                "\"{}\" is not a name: 1 to {MAX_NAME_CHARS} of a-z 0-9 - . that do not begin with a dot",
                crate::display::shorten(&crate::display::escape(name), MAX_NAME_CHARS)
            );
            return Err(Error::Invalid(problem).into());
        }
        self.only_while_installed()?;
        Ok(self.own_folder().join(name))
    }

    fn own_folder(&self) -> PathBuf {
        let PluginId { name, origin, .. } = &*self.caller.plugin;
        let project = self.shared.permissions.project();
        let project = crate::sha256_hex(project.as_os_str().as_encoded_bytes());
        let project = project.get(..PROJECT_DIGITS).unwrap_or_default();
        store_folder(&self.shared.stores, name, origin.as_deref()).join(project)
    }
}

/// The folder below `stores` in which a plugin keeps what it does, of all projects. Plugins of one name from two origins
/// have two.
pub fn store_folder(stores: &Path, name: &str, origin: Option<&str>) -> PathBuf {
    let Some(origin) = origin else {
        return stores.join(name);
    };
    let digest = crate::sha256_hex(origin.as_bytes());
    stores.join(format!("{name}@{}", &digest[..ORIGIN_DIGITS]))
}

/// How many bytes are kept in such a folder, of all projects.
pub fn stored_bytes(folder: &Path) -> u64 {
    let projects = fs::read_dir(folder).into_iter().flatten().flatten();
    let kept = projects.flat_map(|project| entries(&project.path()).unwrap_or_default());
    kept.map(|entry| entry.size_bytes).sum()
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME_CHARS).contains(&name.len())
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'.'))
}

fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        // It may be gone by now: another session has the same store.
        if is_name(&name)
            && let Ok(meta) = entry.metadata()
            && meta.is_file()
        {
            entries.push(Entry {
                name,
                size_bytes: meta.len(),
            });
        }
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Removes what killed writers left. What cannot be removed is left for the next time.
fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_temporary = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(TEMPORARY.as_bytes());
        let modified = || entry.metadata().ok()?.modified().ok();
        let is_stale = |modified: std::time::SystemTime| {
            modified
                .elapsed()
                .is_ok_and(|age| age.as_secs() > STALE_SECS)
        };
        if is_temporary && modified().is_some_and(is_stale) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Writes aside and renames. Not flushed to the disk: what a power failure takes, a plugin has to make again.
fn write(folder: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

/// Takes back what was written, and the folders that were made for it.
fn withdraw(path: &Path) {
    // What is not there is gone already, and a folder with something in it is whoever's removes the plugin.
    let _ = fs::remove_file(path);
    for folder in path.ancestors().skip(1).take(2) {
        let _ = fs::remove_dir(folder);
    }
}

fn failed(what: &str, error: &io::Error) -> Refusal {
    Error::Failed(format!(
        "cannot {what} the plugin's own store: {}",
        chain(error)
    ))
    .into()
}
