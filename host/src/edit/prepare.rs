//! From edits as a tool names them to a [`FileEdit`]: what the user decides about.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType};
use sha2::{Digest as _, Sha256};

use super::found::Found;
use super::{
    ApplyError, ContentHash, Diff, EditKind, FileChange, FileEdit, MAX_FILE_BYTES, Syntax,
};
use crate::display::shown;
use crate::file_history::Seen;
use crate::open;

/// Bytes that are hashed at once: most files whole.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a change is about, resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) path: PathBuf,
    /// Where it goes.
    pub(crate) to: Option<PathBuf>,
}

/// An edit that can be made as things are.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) edit: FileEdit,
    /// What the file holds before; `None`: there is none.
    pub(crate) base: Option<Vec<u8>>,
    /// What it will hold; nothing where it is removed.
    pub(crate) new: Vec<u8>,
    pub(crate) lines_before: u64,
    pub(crate) lines_after: u64,
}

/// Why an edit cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum PrepareError {
    /// The edits do not fit.
    #[error("cannot edit {path}", path = shown(.path))]
    Apply { path: PathBuf, source: ApplyError },
    /// What a model does not know it must not change.
    #[error("{path} was not read in this session; read it first, then edit it", path = shown(.path))]
    NotRead { path: PathBuf },
    /// The line numbers may mean something else by now.
    #[error("{path} changed since it was read; read it again, then edit it", path = shown(.path))]
    Changed { path: PathBuf },
    /// Its content cannot be kept for `/undo`.
    #[error("{path} is larger than {most} MiB: /undo could not restore the file", path = shown(.path), most = MAX_FILE_BYTES >> 20)]
    Unkept { path: PathBuf },
    /// Something has the name already.
    #[error("{path} exists already", path = shown(.path))]
    Exists { path: PathBuf },
    /// There is nothing to remove.
    #[error("there is no {path}", path = shown(.path))]
    NotFound { path: PathBuf },
    /// A folder, a device, or a path through a file.
    #[error("{path} {problem}", path = shown(.path))]
    WrongKind {
        path: PathBuf,
        problem: &'static str,
    },
    /// The file system would not say.
    #[error("cannot read {path}", path = shown(.path))]
    Io { path: PathBuf, source: io::Error },
}

impl Prepared {
    /// How many it is about, before and after together.
    pub(crate) fn bytes(&self) -> usize {
        self.new.len() + self.base.as_deref().map_or(0, <[u8]>::len)
    }

    /// Of a change that leaves a content as it is.
    fn of_name(edit: FileEdit, base: Vec<u8>) -> Prepared {
        Prepared {
            edit,
            base: Some(base),
            new: Vec::new(),
            lines_before: 0,
            lines_after: 0,
        }
    }
}

impl PrepareError {
    /// What is too large for its text to be edited is too large to be kept.
    fn of_kept(self) -> PrepareError {
        match self {
            PrepareError::Apply {
                path,
                source: ApplyError::TooLarge { .. },
            } => PrepareError::Unkept { path },
            other => other,
        }
    }
}

/// Looks at a file and works out what a change would make of it.
///
/// `seen` is what was read of it in this session. Where it may not be read and was not looked at, nothing is read of it, and
/// a new file is made only if it `may_create` one: if the user was shown that it would.
pub(crate) fn prepare(
    Names { path, to }: &Names,
    change: &FileChange,
    seen: Option<Seen>,
    may_read: bool,
    may_create: bool,
) -> Result<Prepared, PrepareError> {
    let path = path.to_owned();
    if change.is_of_folder() {
        return of_folder(path, change, may_read);
    }
    let is_there = || match std::fs::symlink_metadata(&path) {
        Err(error) => error.kind() != io::ErrorKind::NotFound,
        Ok(_) => true,
    };
    if seen.is_none() && !may_read && (!may_create || is_there()) {
        return Err(PrepareError::NotRead { path });
    }
    match (change, to) {
        (FileChange::Remove, _) => return removal(path),
        (FileChange::Rename { .. }, Some(to)) => return renaming(path, to, change),
        _ => {}
    }
    let base = content(&path)?;
    let hash = base.as_deref().map(ContentHash::of);
    match (seen, hash) {
        (None | Some(Seen::Nothing), None) => {}
        // It says itself what it changes, and the user sees what comes of it.
        _ if !change.needs_to_be_seen() => {}
        // It is gone since: nothing is overwritten that nobody has read.
        (Some(Seen::Content(_)), None) if matches!(change, FileChange::AllLines(_)) => {}
        (None, Some(_)) => return Err(PrepareError::NotRead { path }),
        (Some(Seen::Content(seen)), Some(now)) if seen == now => {}
        (Some(_), _) => return Err(PrepareError::Changed { path }),
    }
    let applied = match change.apply(base.as_deref()) {
        Ok(applied) => applied,
        Err(source) => return Err(PrepareError::Apply { path, source }),
    };
    let old = base.as_deref().unwrap_or_default();
    let kind = EditKind::of(old, &applied.bytes);
    let diff = match kind {
        EditKind::Text => Diff::between(
            &String::from_utf8_lossy(old),
            &String::from_utf8_lossy(&applied.bytes),
        ),
        _ => Diff::default(),
    };
    let edit = FileEdit {
        base: hash,
        new: Some(ContentHash::of(&applied.bytes)),
        new_folder: new_folder(&path)?,
        path,
        diff,
        kind,
        syntax: Syntax::default(),
        change: Arc::new(change.clone()),
        hook: None,
    };
    Ok(Prepared {
        edit,
        base,
        new: applied.bytes,
        lines_before: applied.lines_before,
        lines_after: applied.lines_after,
    })
}

/// The removal of a file, or of a symbolic link itself.
fn removal(path: PathBuf) -> Result<Prepared, PrepareError> {
    let found = look(&path).map_err(PrepareError::of_kept)?;
    let Some(found) = found else {
        return Err(PrepareError::NotFound { path });
    };
    let (diff, kind) = match &found {
        Found::File(content) => match EditKind::of(content, &[]) {
            EditKind::Text => (
                Diff::between(&String::from_utf8_lossy(content), ""),
                EditKind::Text,
            ),
            kind => (Diff::default(), kind),
        },
        Found::Link(to) => (Diff::default(), EditKind::Link(to.clone())),
        Found::Folder => return Err(is_folder(path)),
    };
    let lines_before = diff.removed as u64;
    Ok(Prepared {
        edit: FileEdit {
            path,
            base: Some(found.hash()),
            new: None,
            new_folder: None,
            diff,
            kind,
            syntax: Syntax::Unremarkable,
            change: Arc::new(FileChange::Remove),
            hook: None,
        },
        base: Some(found.into_content()),
        new: Vec::new(),
        lines_before,
        lines_after: 0,
    })
}

/// Another name for a file.
fn renaming(path: PathBuf, to: &Path, change: &FileChange) -> Result<Prepared, PrepareError> {
    let content = match look(&path).map_err(PrepareError::of_kept)? {
        Some(Found::File(content)) => content,
        Some(Found::Folder) => return Err(is_folder(path)),
        Some(Found::Link(_)) => {
            let problem = "is a symbolic link, not a file";
            return Err(PrepareError::WrongKind { path, problem });
        }
        None => return Err(PrepareError::NotFound { path }),
    };
    let edit = FileEdit {
        path,
        base: Some(ContentHash::of(&content)),
        new: None,
        // Where that cannot be told, the attempt says why.
        new_folder: new_folder(to).unwrap_or_default(),
        diff: Diff::default(),
        kind: EditKind::Renamed(to.to_owned()),
        syntax: Syntax::Unremarkable,
        change: Arc::new(change.clone()),
        hook: None,
    };
    Ok(Prepared::of_name(edit, content))
}

/// A folder that is made or removed. Whether it is there is looked at only where that may be read; whether it is empty turns
/// out when it is removed: what is in it may be removed before.
fn of_folder(path: PathBuf, change: &FileChange, may_read: bool) -> Result<Prepared, PrepareError> {
    let is_new = *change == FileChange::CreateFolder;
    if may_read && !is_new {
        match look(&path) {
            Ok(Some(Found::Folder)) => {}
            Ok(None) => return Err(PrepareError::NotFound { path }),
            Ok(Some(_)) | Err(PrepareError::WrongKind { .. } | PrepareError::Apply { .. }) => {
                let problem = "is not a folder";
                return Err(PrepareError::WrongKind { path, problem });
            }
            Err(error) => return Err(error),
        }
    }
    let hash = |there: bool| there.then(|| Found::Folder.hash());
    let edit = FileEdit {
        base: hash(!is_new),
        new: hash(is_new),
        new_folder: match is_new {
            true => new_folder(&path).unwrap_or_default(),
            false => None,
        },
        path,
        diff: Diff::default(),
        kind: EditKind::Folder,
        syntax: Syntax::Unremarkable,
        change: Arc::new(change.clone()),
        hook: None,
    };
    Ok(Prepared::of_name(edit, Vec::new()))
}

fn is_folder(path: PathBuf) -> PrepareError {
    PrepareError::WrongKind {
        path,
        problem: "is a folder, not a file",
    }
}

/// The hash of an open file; `None` when it is too large to be edited. Reads it from its start, in
/// constant memory, without moving its position.
pub(crate) fn hash_of(file: &File) -> io::Result<Option<ContentHash>> {
    if file.metadata()?.len() > MAX_FILE_BYTES as u64 {
        return Ok(None);
    }
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut from = FromStart { file, at: 0 };
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(Some(ContentHash(hasher.finalize().into()))),
            read => hasher.update(&buffer[..read]),
        }
        // It grew meanwhile, or is one of the files of `/proc` that say they are empty.
        if from.at > MAX_FILE_BYTES as u64 {
            return Ok(None);
        }
    }
}

/// What there is under a name whose folder is resolved; `None`: nothing. Blocks for the disk.
pub(crate) fn look(path: &Path) -> Result<Option<Found>, PrepareError> {
    if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
        && let Ok(folder) = open::folder(parent)
        && let Ok(stat) = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)
    {
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind.is_dir() {
            return Ok(Some(Found::Folder));
        }
        if let Ok(to) = rustix::fs::readlinkat(folder, name, Vec::new()) {
            let to = OsString::from_vec(to.into_bytes());
            return Ok(Some(Found::Link(to.into())));
        }
    }
    Ok(content(path)?.map(Found::File))
}

/// What stands at a resolved path; `None`: nothing.
pub(crate) fn content(path: &Path) -> Result<Option<Vec<u8>>, PrepareError> {
    let wrong_kind = |problem| PrepareError::WrongKind {
        path: path.to_owned(),
        problem,
    };
    let file = match open::for_reading(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => {
            return Err(wrong_kind("leads through a file that is not a folder"));
        }
        Err(source) => {
            return Err(PrepareError::Io {
                path: path.to_owned(),
                source,
            });
        }
    };
    let io = |source| PrepareError::Io {
        path: path.to_owned(),
        source,
    };
    let meta = file.metadata().map_err(io)?;
    if meta.is_dir() {
        return Err(wrong_kind("is a folder, not a file"));
    }
    if !meta.is_file() {
        return Err(wrong_kind("is a device, a pipe or a socket, not a file"));
    }
    match limited(&file).map_err(io)? {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(PrepareError::Apply {
            path: path.to_owned(),
            source: ApplyError::TooLarge {
                bytes: usize::try_from(meta.len()).unwrap_or(usize::MAX),
                after: false,
            },
        }),
    }
}

/// The content of a file, unless it is too large.
fn limited(file: &File) -> io::Result<Option<Vec<u8>>> {
    let expected = file.metadata()?.len();
    if expected > MAX_FILE_BYTES as u64 {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0) + 1);
    // Files that grow, and those of `/proc`, which say that they are empty.
    let limit = MAX_FILE_BYTES as u64 + 1;
    FromStart { file, at: 0 }
        .take(limit)
        .read_to_end(&mut bytes)?;
    Ok((bytes.len() <= MAX_FILE_BYTES).then_some(bytes))
}

/// Reads a file without moving its position.
struct FromStart<'a> {
    file: &'a File,
    at: u64,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// The first of the folders above a path that do not exist.
fn new_folder(path: &Path) -> Result<Option<PathBuf>, PrepareError> {
    let mut missing = None;
    for folder in path.ancestors().skip(1) {
        match std::fs::symlink_metadata(folder) {
            Ok(_) => break,
            Err(e) if e.kind() == io::ErrorKind::NotFound => missing = Some(folder.to_owned()),
            Err(source) => {
                return Err(PrepareError::Io {
                    path: folder.to_owned(),
                    source,
                });
            }
        }
    }
    Ok(missing)
}
