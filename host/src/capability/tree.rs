//! `tree`: all files of a folder at once.
//!
//! One decision opens the folder. What lies below is decided file by file, without anybody being asked: a question for
//! each of a thousand files would be answered by nobody. In the audit log the folder stands once, with how many files
//! were read and how many bytes.

use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::{DirEntry, WalkState};
use parking_lot::Mutex;
use wasmtime::component::Resource;

use super::context::CallContext;
use super::files::open_error;
use super::refusal::Refusal;
use super::resources::OpenFolder;
use crate::bindings::dunlin::tool::tree::{self, AlsoListed, Entry, Listing};
use crate::bindings::dunlin::tool::types::{Error, Target as Written};
use crate::display::{chain, shown};
use crate::limits::{MAX_READ_BYTES, MAX_TREE_FILES, MAX_TREE_PATH_BYTES};
use crate::open;
use crate::permission::Verdict;
use crate::target::{Need, Operation, Target};
use crate::walk::{self, Also};

/// Threads that look for files: the disk's answers are waited for, and more than a few only push each other.
const WALKERS: usize = 4;

/// Files that are decided about at one moment: some milliseconds.
const DECIDED_AT_ONCE: usize = 1024;

type Answer<T> = Result<T, Refusal>;

/// How this interface is called among the imports of a plugin.
pub(crate) const IMPORT: &str = "tree";

/// Why the files of a folder are not listed.
pub(crate) fn not_searched(root: &Path) -> String {
    format!(
        "{} is a home folder or lies above one, so Dunlin does not search it; name a folder in it, or start in the folder of \
         a project (--project DIR)",
        shown(root)
    )
}

impl tree::Host for CallContext {
    async fn open_project(&mut self) -> Answer<Resource<OpenFolder>> {
        self.only_in_run()?;
        let root = self.shared.permissions.project().to_owned();
        let target = Target::Path(root.clone());
        let written = Written::Path(".".into());
        self.open(root, target, written, Also::default()).await
    }

    async fn open_folder(
        &mut self,
        path: String,
        also: AlsoListed,
    ) -> Answer<Resource<OpenFolder>> {
        self.only_in_run()?;
        let target = self.shared.permissions.resolve_folder(&path)?;
        let Some(root) = target.path().map(Path::to_owned) else {
            return Err(Error::Invalid(path).into());
        };
        let also = Also {
            hidden: also.contains(AlsoListed::HIDDEN),
            ignored: also.contains(AlsoListed::IGNORED),
        };
        self.open(root, target, Written::Folder(path), also).await
    }
}

impl tree::HostFolder for CallContext {
    async fn list_files(&mut self, folder: Resource<OpenFolder>) -> Answer<Listing> {
        let &OpenFolder { ref root, also, .. } = self
            .handles
            .table
            .get(&folder)
            .map_err(wasmtime::Error::from)?;
        let root = root.clone();
        let stop = StopOnDrop::default();
        let flag = Arc::clone(&stop.0);
        let walked = {
            let root = root.clone();
            tokio::task::spawn_blocking(move || list(&root, also, &flag)).await
        };
        let (mut files, is_truncated) = walked
            .map_err(|_| Error::Failed("looking for the files of the folder broke off".into()))?;
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let before = files.len();
        let mut kept = Vec::with_capacity(before);
        let mut files = files.into_iter();
        loop {
            let batch: Vec<Entry> = files.by_ref().take(DECIDED_AT_ONCE).collect();
            if batch.is_empty() {
                break;
            }
            let needs: Vec<Need> = batch
                .iter()
                .map(|it| read_of(root.join(&it.path)))
                .collect();
            let verdicts = self.decide_all(&needs)?;
            let decided = batch.into_iter().zip(verdicts);
            let open = decided.filter(|(_, verdict)| *verdict == Verdict::Allow);
            kept.extend(open.map(|(entry, _)| entry));
            // A large tree must not hold up what else this thread has to do.
            tokio::task::yield_now().await;
        }
        Ok(Listing {
            withheld: (before - kept.len()) as u64,
            files: kept,
            is_truncated,
        })
    }

    async fn read_file(
        &mut self,
        folder: Resource<OpenFolder>,
        path: String,
    ) -> Answer<Option<Vec<u8>>> {
        let &OpenFolder {
            ref root, under, ..
        } = self
            .handles
            .table
            .get(&folder)
            .map_err(wasmtime::Error::from)?;
        let relative = Path::new(&path);
        let is_plain = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if path.is_empty() || !is_plain {
            let problem = format!("{} is not a path below the folder", shown(relative));
            return Err(Error::Invalid(problem).into());
        }
        let path = root.join(relative);
        if !self.is_open(path.clone())? {
            return Ok(None);
        }
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            // It went away, or a link stands in its place: as if it had not been listed.
            Err(e) if e.kind() == ErrorKind::NotFound || is_link(&e) => return Ok(None),
            Err(e) => {
                let problem = format!("cannot read {}: {}", shown(&path), chain(&e));
                return Err(Error::Failed(problem).into());
            }
        };
        self.count_again(under, bytes.as_ref().map_or(0, Vec::len));
        Ok(bytes)
    }

    async fn drop(&mut self, folder: Resource<OpenFolder>) -> wasmtime::Result<()> {
        self.handles.table.delete(folder)?;
        Ok(())
    }
}

impl CallContext {
    async fn open(
        &mut self,
        root: PathBuf,
        target: Target,
        written: Written,
        also: Also,
    ) -> Answer<Resource<OpenFolder>> {
        if !self.shared.permissions.is_searchable(&root) {
            return Err(Error::Unsupported(not_searched(&root)).into());
        }
        let need = Need {
            target,
            operation: Operation::Read,
        };
        let under = self.authorise(need, written).await?;
        let opened = open::for_reading(&root).map_err(|e| open_error(&root, &e))?;
        let meta = opened.metadata().map_err(|e| open_error(&root, &e))?;
        if !meta.is_dir() {
            let problem = format!("{} is not a folder", shown(&root));
            return Err(Error::WrongKind(problem).into());
        }
        let folder = self.handles.table.push(OpenFolder { root, also, under });
        Ok(folder.map_err(|_| Error::TooLarge("too many handles are open; close some".into()))?)
    }

    /// Whether a file may be read without a question.
    fn is_open(&self, path: PathBuf) -> Answer<bool> {
        Ok(self.decide(&read_of(path))?.verdict == Verdict::Allow)
    }
}

fn read_of(path: PathBuf) -> Need {
    Need {
        target: Target::Path(path),
        operation: Operation::Read,
    }
}

/// Stops looking for files when the call is dropped.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The files below a folder, in no order, and whether there are more.
fn list(root: &Path, also: Also, stop: &Arc<AtomicBool>) -> (Vec<Entry>, bool) {
    /// What was found, and how long its paths are together.
    type Found = (Vec<Entry>, usize);
    let found: Mutex<Found> = Mutex::default();
    let is_truncated = AtomicBool::new(false);
    let flag = Arc::clone(stop);
    let mut builder = walk::builder(root, also, move || flag.load(Ordering::Relaxed));
    builder.threads(WALKERS).build_parallel().run(|| {
        Box::new(|entry| {
            if stop.load(Ordering::Relaxed) {
                return WalkState::Quit;
            }
            // A folder that cannot be read has no files that could be.
            let Some(metadata) = entry.ok().and_then(|entry| metadata_of(root, &entry)) else {
                return WalkState::Continue;
            };
            // Pushing is all that is done under the lock.
            let mut found = found.lock();
            let (files, path_bytes) = &mut *found;
            *path_bytes += metadata.path.len();
            if files.len() == MAX_TREE_FILES || *path_bytes > MAX_TREE_PATH_BYTES {
                is_truncated.store(true, Ordering::Relaxed);
                return WalkState::Quit;
            }
            files.push(metadata);
            WalkState::Continue
        })
    });
    let (found, _) = found.into_inner();
    (found, is_truncated.into_inner())
}

fn metadata_of(root: &Path, entry: &DirEntry) -> Option<Entry> {
    if !entry.file_type()?.is_file() {
        return None;
    }
    let path = entry.path().strip_prefix(root).ok()?.to_str()?;
    let meta = entry.metadata().ok()?;
    // A file that was replaced by an older one has another time of change, or another number.
    let parts = [
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    ];
    let mut version = meta.ino();
    for part in parts {
        version =
            version.rotate_left(13) ^ part.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    Some(Entry {
        path: path.to_owned(),
        size_bytes: meta.len(),
        version,
    })
}

/// A regular file whole; nothing for anything else, and for what is larger than a read gives.
fn read(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut file = open::for_reading(path)?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_READ_BYTES as u64 {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.by_ref()
        .take(MAX_READ_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() <= MAX_READ_BYTES).then_some(bytes))
}

fn is_link(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}
