//! The models that were used before, each at its endpoint: nobody is asked again about one of these.
//!
//! Whether a server lists a model costs a request before the first message, so it is asked once for each.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use dunlin_chat::agent::Agent;
use dunlin_host::files::make_private;
use dunlin_host::json;
use tempfile::NamedTempFile;

/// How many are remembered, the newest.
const MAX_KEPT: usize = 200;

/// The largest file that is read, in bytes: what these come to with the longest names.
const MAX_BYTES: u64 = 256 * 1024;

/// Whether a model was used before.
pub fn contains(file: &Path, agent: &Agent, model: &str) -> bool {
    read(file).contains(&entry(agent, model))
}

/// Remembers a model. What cannot be written is asked about again.
pub fn add(file: &Path, agent: &Agent, model: &str) {
    let mut used = read(file);
    let entry = entry(agent, model);
    if used.contains(&entry) {
        return;
    }
    used.push(entry);
    let surplus = used.len().saturating_sub(MAX_KEPT);
    used.drain(..surplus);
    let _ = write(file, &used);
}

type Entry = (String, String);

fn entry(agent: &Agent, model: &str) -> Entry {
    (agent.base_url.to_string(), model.to_owned())
}

/// A file that cannot be read is an empty one.
fn read(file: &Path) -> Vec<Entry> {
    let is_file = |meta: fs::Metadata| meta.is_file() && meta.len() <= MAX_BYTES;
    if !file.metadata().is_ok_and(is_file) {
        return Vec::new();
    }
    let bytes = fs::read(file).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write(path: &Path, used: &[Entry]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
    make_private(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(json::to_string(used).map_err(io::Error::other)?.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
