//! Files of a mocked host, in memory. A folder is there while a file is in it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::{Result, State, in_run};
pub use crate::bindings::dunlin::tool::files::{
    Edited, Entry, History, Kind, Line, Lines, Listing,
};
use crate::bindings::dunlin::tool::types::{Error, LineEdit, Operation, Target, TextEdit};

/// The size of a file and what was done with it; `None`: a folder.
#[derive(Debug)]
pub struct Metadata(Option<(usize, History)>);

impl Metadata {
    pub fn kind(&self) -> Kind {
        self.0.map_or(Kind::Folder, |_| Kind::File)
    }

    pub fn size_bytes(&self) -> u64 {
        self.0.map_or(0, |(size, _)| size as u64)
    }

    pub fn modified_ms(&self) -> u64 {
        0
    }

    pub fn history(&self) -> History {
        self.0.map_or_else(History::empty, |(_, history)| history)
    }
}

/// The file as it was when it was opened.
#[derive(Debug)]
pub struct File(Vec<u8>, History);

impl File {
    pub fn metadata(&self) -> Result<Metadata> {
        Ok(Metadata(Some((self.0.len(), self.1))))
    }

    pub fn read_at(&self, offset_bytes: u64, max_bytes: u32) -> Result<Vec<u8>> {
        let from = usize::try_from(offset_bytes).unwrap_or(usize::MAX);
        let bytes = self.0.iter().skip(from).take(max_bytes as usize);
        Ok(bytes.copied().collect())
    }

    pub fn read_lines(&self, first: u64, count: u32, max: u32, max_line: u32) -> Result<Lines> {
        let before = usize::try_from(first.saturating_sub(1)).unwrap_or(usize::MAX);
        let all = self.0.split_inclusive(|byte| *byte == b'\n');
        let mut rest = all.skip(before).peekable();
        let mut bytes = 0;
        let mut lines = Vec::new();
        while lines.len() < count as usize
            && let Some(line) = rest.peek()
        {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let number = first + lines.len() as u64;
            let line = std::str::from_utf8(line)
                .map_err(|_| Error::WrongKind(format!("line {number} is not UTF-8")))?;
            let kept = &line[..line.floor_char_boundary(max_line as usize)];
            bytes += kept.len();
            if bytes > max as usize && !lines.is_empty() {
                break;
            }
            lines.push(Line {
                text: kept.to_owned(),
                omitted_bytes: (line.len() - kept.len()) as u64,
            });
            rest.next();
        }
        let at_end = rest.peek().is_none();
        Ok(Lines { lines, at_end })
    }

    pub fn count_lines(&self) -> Result<u64> {
        Ok(count(&self.0))
    }
}

pub fn open_read(path: &str) -> Result<File> {
    in_run(|state| {
        let bytes = state.file(path, Operation::Read)?.clone();
        Ok(File(bytes, state.history(path)))
    })
}

pub fn list_folder(path: &str, max_entries: u32) -> Result<Listing> {
    in_run(|state| {
        match state.file(path, Operation::Read) {
            Err(Error::WrongKind(_)) => {}
            Err(error) => return Err(error),
            Ok(_) => return Err(Error::WrongKind(format!("'{path}' is not a folder"))),
        }
        let folder = normal(path);
        let mut entries = BTreeMap::new();
        for (path, bytes) in &state.files {
            let mut parts = path.strip_prefix(&folder).into_iter().flatten();
            let Some(name) = parts.next().and_then(|name| name.to_str()) else {
                continue;
            };
            let (kind, size_bytes) = match parts.next() {
                Some(_) => (Kind::Folder, 0),
                None => (Kind::File, bytes.len() as u64),
            };
            let entry = Entry {
                name: name.to_owned(),
                kind,
                size_bytes,
                modified_ms: 0,
            };
            entries.insert(name, entry);
        }
        let is_truncated = entries.len() > max_entries as usize;
        let entries = entries.into_values().take(max_entries as usize).collect();
        Ok(Listing {
            entries,
            is_truncated,
        })
    })
}

pub fn stat(path: &str) -> Result<Metadata> {
    in_run(|state| match state.file(path, Operation::Read) {
        Ok(bytes) => Ok(Metadata(Some((bytes.len(), state.history(path))))),
        Err(Error::WrongKind(_)) => Ok(Metadata(None)),
        Err(error) => Err(error),
    })
}

pub fn append_text(path: &str, text: &str) -> Result<Edited> {
    put(path, |old| {
        let is_open = old.last().is_some_and(|byte| *byte != b'\n');
        let end: &[u8] = if is_open { b"\n" } else { b"" };
        [old, end, text.as_bytes()].concat()
    })
}

pub fn write_text(path: &str, text: &str) -> Result<Edited> {
    put(path, |_| text.as_bytes().to_vec())
}

pub fn write_bytes(path: &str, bytes: &[u8]) -> Result<()> {
    put(path, |_| bytes.to_vec()).map(drop)
}

fn put(path: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<Edited> {
    in_run(|state| {
        let nothing = Vec::new();
        let (created, old) = match state.file(path, Operation::Write) {
            Err(Error::NotFound(_)) => (true, &nothing),
            old => (false, old?),
        };
        let new = change(old);
        let edited = Edited {
            created,
            lines_before: count(old),
            lines_after: count(&new),
        };
        state.files.insert(normal(path), new);
        Ok(edited)
    })
}

pub fn remove_file(path: &str) -> Result<()> {
    in_run(|state| {
        state.file(path, Operation::Write)?;
        state.files.remove(&normal(path));
        Ok(())
    })
}

pub fn rename_file(path: &str, to: &str) -> Result<()> {
    in_run(|state| {
        let bytes = state.file(path, Operation::Write)?.clone();
        match state.file(to, Operation::Write) {
            Err(Error::NotFound(_)) => {}
            Err(denied @ Error::Denied(_)) => return Err(denied),
            _ => return Err(Error::Conflict(format!("there is '{to}' already"))),
        }
        state.files.remove(&normal(path));
        state.files.insert(normal(to), bytes);
        Ok(())
    })
}

pub fn edit(_path: &str, _edits: &[LineEdit]) -> Result<Edited> {
    unsupported()
}

pub fn replace_text(_path: &str, _old: &str, _new: &str) -> Result<Edited> {
    unsupported()
}

pub fn replace_texts(_path: &str, _edits: &[TextEdit]) -> Result<Edited> {
    unsupported()
}

pub fn replace_lines(_path: &str, _text: &str) -> Result<Edited> {
    unsupported()
}

pub fn create_folder(_path: &str) -> Result<()> {
    unsupported()
}

pub fn remove_folder(_path: &str) -> Result<()> {
    unsupported()
}

pub fn make_planned_changes() -> Result<()> {
    unsupported()
}

/// The real host has rules for these: what fits together, how lines end, what was read before.
fn unsupported<T>() -> Result<T> {
    in_run(|_| {
        super::unsupported(
            "a mocked host has whole files only: `dunlin plugin test` runs this with the real host",
        )
    })
}

impl State {
    fn history(&self, path: &str) -> History {
        match self.attached.contains(&normal(path)) {
            true => History::ATTACHED,
            false => History::empty(),
        }
    }

    /// What is in a file. `WrongKind`: it is a folder.
    fn file(&self, path: &str, operation: Operation) -> Result<&Vec<u8>> {
        self.check(Target::Path(path.to_owned()), operation)?;
        let name = normal(path);
        let mut files = self.files.keys();
        match self.files.get(&name) {
            Some(bytes) => Ok(bytes),
            None if name.parent().is_none() || files.any(|file| file.starts_with(&name)) => {
                Err(Error::WrongKind(format!("'{path}' is a folder")))
            }
            None => Err(Error::NotFound(format!("there is no '{path}'"))),
        }
    }
}

/// `./a/../b` → `b`; the project's folder is empty.
pub fn normal(path: &str) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => drop(normal.pop()),
            part => normal.push(part),
        }
    }
    normal
}

/// A last line without an ending counts.
fn count(bytes: &[u8]) -> u64 {
    bytes.split_inclusive(|byte| *byte == b'\n').count() as u64
}
