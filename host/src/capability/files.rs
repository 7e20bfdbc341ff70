//! `files`: files and folders.
//!
//! The order is always the same: resolve, authorise, open what was authorised without following
//! links, look at what was opened. System calls on open files are made in place: local files answer
//! in microseconds, and scans give way regularly.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;
use wasmtime::component::Resource;

use super::context::CallContext;
use super::lines::{Lines, Wanted, read_at};
use super::refusal::Refusal;
use super::resources::{OpenFile, UseId};
use crate::History;
use crate::bindings::declared::FoundMetadata;
use crate::bindings::dunlin::tool::files::{self, Entry, Kind, Line, Listing};
use crate::bindings::dunlin::tool::types::{Error, LineEdit, Target as Written, TextEdit};
use crate::display::shown;
use crate::edit::FileChange;
use crate::edit::prepare::hash_of;
use crate::limits::{MAX_FOLDER_ENTRIES, MAX_HANDLES, MAX_READ_BYTES, MAX_READ_LINES};
use crate::open;
use crate::target::{Need, Operation, Target};

/// Names of a folder that are looked at before it counts as too large to list.
const MAX_NAMES_LOOKED_AT: usize = 200_000;

type Answer<T> = Result<T, Refusal>;

impl files::Host for CallContext {
    async fn open_read(&mut self, path: String) -> Answer<Resource<OpenFile>> {
        let (path, under) = self.authorise_path(path, Operation::Read).await?;
        let file = open::for_reading(&path).map_err(|e| {
            if e.kind() == io::ErrorKind::NotFound {
                self.shared.history.mark_absent(&path);
            }
            open_error(&path, &e)
        })?;
        let meta = file.metadata().map_err(|e| open_error(&path, &e))?;
        if !meta.is_file() {
            return Err(wrong_kind(&path, &meta).into());
        }
        let content = hash_of(&file).map_err(|e| read_error(&path, &e))?;
        let entry = OpenFile {
            file,
            path,
            lines: Lines::default(),
            under,
        };
        let path = entry.path.clone();
        let handle = self
            .handles
            .table
            .push(entry)
            .map_err(|_| too_many_handles())?;
        self.shared.history.mark(&path, History::READ, content);
        Ok(handle)
    }

    async fn list_folder(&mut self, path: String, max_entries: u32) -> Answer<Listing> {
        let (path, under) = self.authorise_path(path, Operation::Read).await?;
        let folder = open::for_reading(&path).map_err(|e| open_error(&path, &e))?;
        let meta = folder.metadata().map_err(|e| open_error(&path, &e))?;
        if !meta.is_dir() {
            return Err(Error::WrongKind(format!("{} is not a folder", shown(&path))).into());
        }
        let entries = list(&folder).map_err(|e| open_error(&path, &e))?;
        let mut entries = entries.ok_or_else(|| {
            Error::TooLarge(format!(
                "{} holds more than {MAX_NAMES_LOOKED_AT} names",
                shown(&path)
            ))
        })?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let most = MAX_FOLDER_ENTRIES.min(max_entries as usize);
        let is_truncated = entries.len() > most;
        entries.truncate(most);
        self.count(under, entries.iter().map(|entry| entry.name.len()).sum());
        Ok(Listing {
            entries,
            is_truncated,
        })
    }

    async fn stat(&mut self, path: String) -> Answer<Resource<FoundMetadata>> {
        let path = self.authorise_metadata(path).await?;
        let fd = open::for_metadata(&path).map_err(|e| open_error(&path, &e))?;
        let meta = File::from(fd)
            .metadata()
            .map_err(|e| open_error(&path, &e))?;
        self.found(&path, &meta)
    }

    async fn edit(&mut self, path: String, edits: Vec<LineEdit>) -> Answer<files::Edited> {
        let edits = edits.into_iter().map(crate::edit::LineEdit::from).collect();
        self.change(path, FileChange::Lines(edits)).await
    }

    async fn append_text(&mut self, path: String, text: String) -> Answer<files::Edited> {
        self.change(path, FileChange::Append(text)).await
    }

    async fn replace_text(
        &mut self,
        path: String,
        old: String,
        new: String,
    ) -> Answer<files::Edited> {
        let every = false;
        self.replace_texts(path, vec![TextEdit { old, new, every }])
            .await
    }

    async fn replace_texts(&mut self, path: String, edits: Vec<TextEdit>) -> Answer<files::Edited> {
        let edits = edits.into_iter().map(crate::edit::TextEdit::from);
        self.change(path, FileChange::Texts(edits.collect())).await
    }

    async fn replace_lines(&mut self, path: String, text: String) -> Answer<files::Edited> {
        self.change(path, FileChange::AllLines(text)).await
    }

    async fn write_text(&mut self, path: String, text: String) -> Answer<files::Edited> {
        self.change(path, FileChange::Write(text)).await
    }

    async fn write_bytes(&mut self, path: String, bytes: Vec<u8>) -> Answer<()> {
        let change = FileChange::WriteBytes(bytes.into());
        self.change(path, change).await.map(drop)
    }

    async fn remove_file(&mut self, path: String) -> Answer<()> {
        self.change(path, FileChange::Remove).await.map(drop)
    }

    async fn rename_file(&mut self, path: String, to: String) -> Answer<()> {
        let change = FileChange::Rename { to };
        self.change(path, change).await.map(drop)
    }

    async fn create_folder(&mut self, path: String) -> Answer<()> {
        self.change(path, FileChange::CreateFolder).await.map(drop)
    }

    async fn remove_folder(&mut self, path: String) -> Answer<()> {
        self.change(path, FileChange::RemoveFolder).await.map(drop)
    }

    async fn make_planned_changes(&mut self) -> Answer<()> {
        self.only_in_run()?;
        self.make_planned().await
    }
}

impl CallContext {
    async fn change(&mut self, path: String, change: FileChange) -> Answer<files::Edited> {
        self.only_in_run()?;
        self.edit_file(path, change).await
    }
}

impl files::HostFile for CallContext {
    async fn metadata(&mut self, handle: Resource<OpenFile>) -> Answer<Resource<FoundMetadata>> {
        let entry = self.file(&handle)?;
        let meta = entry
            .file
            .metadata()
            .map_err(|e| read_error(&entry.path, &e))?;
        let path = entry.path.clone();
        self.found(&path, &meta)
    }

    async fn read_at(
        &mut self,
        handle: Resource<OpenFile>,
        offset: u64,
        max_bytes: u32,
    ) -> Answer<Vec<u8>> {
        let entry = self.file(&handle)?;
        let fail = |e| read_error(&entry.path, &e);
        let rest = entry
            .file
            .metadata()
            .map_err(fail)?
            .len()
            .saturating_sub(offset);
        // Files of `/proc` say that they are empty and are not.
        let rest = usize::try_from(rest).unwrap_or(MAX_READ_BYTES).max(4096);
        let mut bytes = vec![0; (max_bytes as usize).min(MAX_READ_BYTES).min(rest)];
        let read = read_at(&entry.file, &mut bytes, offset).map_err(fail)?;
        bytes.truncate(read);
        let under = entry.under;
        self.count(under, read);
        Ok(bytes)
    }

    async fn read_lines(
        &mut self,
        handle: Resource<OpenFile>,
        first: u64,
        count: u32,
        max_bytes: u32,
        max_line_bytes: u32,
    ) -> Answer<files::Lines> {
        if first == 0 || max_bytes == 0 || max_line_bytes == 0 {
            return Err(Error::Invalid(
                "lines count from 1, and a maximum of 0 gives nothing".into(),
            )
            .into());
        }
        let max_bytes = (max_bytes as usize).min(MAX_READ_BYTES);
        let wanted = Wanted {
            first: first - 1,
            count: count.min(MAX_READ_LINES),
            max_bytes,
            max_line_bytes: (max_line_bytes as usize).min(max_bytes),
        };
        let entry = self.file(&handle)?;
        let (found, at_end) = entry
            .lines
            .read(&entry.file, wanted)
            .await
            .map_err(|e| read_error(&entry.path, &e))?;
        let mut lines = Vec::with_capacity(found.len());
        let mut bytes = 0;
        for (line, after_first) in found.into_iter().zip(0_u64..) {
            bytes += line.bytes.len();
            let text = String::from_utf8(line.bytes).map_err(|_| {
                let number = first.saturating_add(after_first);
                Error::WrongKind(format!(
                    "line {number} of {} is not UTF-8 text",
                    shown(&entry.path)
                ))
            })?;
            lines.push(Line {
                text,
                omitted_bytes: line.omitted,
            });
        }
        let under = entry.under;
        self.count(under, bytes);
        Ok(files::Lines { lines, at_end })
    }

    async fn count_lines(&mut self, handle: Resource<OpenFile>) -> Answer<u64> {
        let entry = self.file(&handle)?;
        let count = entry.lines.count(&entry.file).await;
        Ok(count.map_err(|e| read_error(&entry.path, &e))?)
    }

    async fn drop(&mut self, handle: Resource<OpenFile>) -> wasmtime::Result<()> {
        self.handles.table.delete(handle)?;
        Ok(())
    }
}

impl CallContext {
    /// Resolves and authorises: the only way to a path in this module.
    async fn authorise_path(
        &mut self,
        written: String,
        operation: Operation,
    ) -> Answer<(PathBuf, UseId)> {
        let path = self.path(&written)?;
        let target = Target::Path(path.clone());
        let under = self
            .authorise(Need { target, operation }, Written::Path(written))
            .await?;
        Ok((path, under))
    }

    async fn authorise_metadata(&mut self, written: String) -> Answer<PathBuf> {
        let path = self.path(&written)?;
        let need = self.need_for_metadata(&path)?;
        self.authorise(need, Written::Path(written)).await?;
        Ok(path)
    }

    fn path(&self, written: &str) -> Answer<PathBuf> {
        self.only_in_run()?;
        match self.shared.permissions.resolve_path(written)? {
            Target::Path(path) => Ok(path),
            _ => Err(Error::Invalid(written.to_owned()).into()),
        }
    }

    fn file(&mut self, handle: &Resource<OpenFile>) -> wasmtime::Result<&mut OpenFile> {
        Ok(self.handles.table.get_mut(handle)?)
    }

    fn found(&mut self, path: &Path, meta: &Metadata) -> Answer<Resource<FoundMetadata>> {
        let history = self.shared.history.of(path);
        let mut flags = files::History::empty();
        for (happened, flag) in [
            (History::READ, files::History::READ),
            (History::EDITED, files::History::EDITED),
            (History::ATTACHED, files::History::ATTACHED),
        ] {
            if history.contains(happened) {
                flags |= flag;
            }
        }
        let found = FoundMetadata {
            kind: match () {
                () if meta.is_file() => Kind::File,
                () if meta.is_dir() => Kind::Folder,
                () => Kind::Other,
            },
            size_bytes: if meta.is_file() { meta.len() } else { 0 },
            modified_ms: milliseconds(meta.mtime(), meta.mtime_nsec()),
            history: flags,
        };
        self.declare(1, 0)?;
        let handle = self
            .handles
            .values
            .push(found)
            .map_err(wasmtime::Error::from)?;
        Ok(handle)
    }
}

impl files::HostMetadata for CallContext {
    async fn kind(&mut self, handle: Resource<FoundMetadata>) -> wasmtime::Result<Kind> {
        Ok(self.handles.values.get(&handle)?.kind)
    }

    async fn size_bytes(&mut self, handle: Resource<FoundMetadata>) -> wasmtime::Result<u64> {
        Ok(self.handles.values.get(&handle)?.size_bytes)
    }

    async fn modified_ms(&mut self, handle: Resource<FoundMetadata>) -> wasmtime::Result<u64> {
        Ok(self.handles.values.get(&handle)?.modified_ms)
    }

    async fn history(
        &mut self,
        handle: Resource<FoundMetadata>,
    ) -> wasmtime::Result<files::History> {
        Ok(self.handles.values.get(&handle)?.history)
    }

    async fn drop(&mut self, handle: Resource<FoundMetadata>) -> wasmtime::Result<()> {
        self.handles.values.delete(handle)?;
        self.release(1, 0);
        Ok(())
    }
}

fn too_many_handles() -> Error {
    Error::TooLarge(format!(
        "more than {MAX_HANDLES} files are open; close some"
    ))
}

/// Since 1970. What was before counts as 0.
fn milliseconds(seconds: i64, nanoseconds: i64) -> u64 {
    let all = seconds
        .saturating_mul(1000)
        .saturating_add(nanoseconds / 1_000_000);
    u64::try_from(all).unwrap_or(0)
}

/// The names in an open folder; `None` when there are too many to sort.
fn list(folder: &File) -> io::Result<Option<Vec<Entry>>> {
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        if entries.len() == MAX_NAMES_LOOKED_AT {
            return Ok(None);
        }
        // What a link leads to may lie outside of what was granted, so it is not looked at.
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let kind = match stat
            .as_ref()
            .map(|stat| FileType::from_raw_mode(stat.st_mode))
        {
            Some(FileType::RegularFile) => Kind::File,
            Some(FileType::Directory) => Kind::Folder,
            Some(FileType::Symlink) => Kind::SymbolicLink,
            _ => Kind::Other,
        };
        let modified_ms = stat.as_ref().map_or(0, |stat| {
            let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
            milliseconds(stat.st_mtime, nanoseconds)
        });
        let size_bytes = match stat {
            Some(stat) if kind == Kind::File => u64::try_from(stat.st_size).unwrap_or(0),
            _ => 0,
        };
        entries.push(Entry {
            name: name.to_string_lossy().into_owned(),
            kind,
            size_bytes,
            modified_ms,
        });
    }
    Ok(Some(entries))
}

fn wrong_kind(path: &Path, meta: &Metadata) -> Error {
    let path = shown(path);
    Error::WrongKind(if meta.is_dir() {
        format!("{path} is a folder, not a file")
    } else {
        format!("{path} is a device, a pipe or a socket, not a file")
    })
}

pub(super) fn open_error(path: &Path, error: &io::Error) -> Error {
    let path_shown = shown(path);
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Error::NotFound(format!("there is no {path_shown}"))
        }
        _ => match Errno::from_io_error(error) {
            // The path was free of links when it was authorised.
            Some(Errno::LOOP) => Error::Conflict(format!(
                "{path_shown} became a symbolic link while it was being opened"
            )),
            // A socket, or a device without a driver.
            Some(Errno::NXIO) => Error::WrongKind(format!(
                "{path_shown} is a device, a pipe or a socket, not a file"
            )),
            _ => Error::Failed(format!("cannot open {path_shown}: {error}")),
        },
    }
}

fn read_error(path: &Path, error: &io::Error) -> Error {
    Error::Failed(format!("cannot read {}: {error}", shown(path)))
}
