//! Files and folders, each checked by the host at the moment of use.
//!
//! Every function may block: for the disk, and for the answer of the user. Outside of a component
//! they work with a [`mock`](crate::mock), and fail with [`Error::Unsupported`] without.

use crate::bindings::dunlin::tool::types as wire;
use crate::error::Error;
use crate::host::files as host;

/// What kind of thing stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Only in lists: everything else follows links.
    SymbolicLink,
    /// A device, a pipe or a socket. It cannot be opened.
    Other,
}

/// What happened to a file in this session, as the host saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct History {
    /// A tool read from it.
    pub read: bool,
    /// A tool changed it.
    pub edited: bool,
    /// The user attached it to a message.
    pub attached: bool,
}

/// The metadata of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: Kind,
    /// In bytes; 0 for anything but a file.
    pub size_bytes: u64,
    /// Milliseconds since 1970-01-01 UTC; 0 where the file system does not say.
    pub modified_ms: u64,
    /// What happened to it in this session.
    pub history: History,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The last part of the path.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// In bytes; 0 for anything but a file.
    pub size_bytes: u64,
    /// Milliseconds since 1970-01-01 UTC; 0 where the file system does not say.
    pub modified_ms: u64,
}

/// What is in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Sorted by name.
    pub entries: Vec<Entry>,
    /// Whether there are more than were asked for, or than a host gives.
    pub is_truncated: bool,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Without its ending.
    pub text: String,
    /// How many bytes of the line are left out at its end; 0 for nearly every line.
    pub omitted_bytes: u64,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// The lines in order.
    pub lines: Vec<Line>,
    /// Whether nothing follows.
    pub at_end: bool,
}

/// One change to the lines of a file: `first..end` is replaced.
///
/// Lines count from 1. `first == end` inserts before that line, one behind the last line appends, and
/// an empty replacement removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineEdit {
    /// The first line that goes.
    pub first: u64,
    /// The first line that stays.
    pub end: u64,
    /// Whole lines. The newline behind the last of them may be left out; LF and CRLF both become what
    /// the file uses.
    pub replacement: String,
}

/// A text of a file that is replaced by another. LF and CRLF in both become what the file uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextEdit {
    /// At least one character; exact, white space included.
    pub old: String,
    /// What takes its place.
    pub new: String,
    /// Whether each occurrence is replaced. Otherwise there has to be exactly one, overlapping ones included.
    pub every: bool,
}

/// What an edit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edited {
    /// Whether there was no such file before.
    pub created: bool,
    /// How many lines it had.
    pub lines_before: u64,
    /// How many it has now.
    pub lines_after: u64,
}

/// A regular file, open for reading. Dropping it closes it.
///
/// It stays bound to the file that was checked when it was opened, whatever happens to its name.
#[derive(Debug)]
pub struct File {
    handle: host::File,
}

impl File {
    /// Opens a regular file for reading. Symbolic links are followed, and what is checked is the
    /// file they lead to.
    ///
    /// Fails with `Denied` before it says anything about whether the file exists, with `NotFound`,
    /// with `WrongKind` for folders and devices, with `TooLarge` when too many files are open.
    pub fn open(path: &str) -> Result<Self, Error> {
        Ok(Self {
            handle: host::open_read(path)?,
        })
    }

    /// The metadata of the open file itself.
    pub fn metadata(&self) -> Result<Metadata, Error> {
        Ok(self.handle.metadata()?.into())
    }

    /// Reads up to `max_bytes` from `offset_bytes`, maybe less; an empty answer is the end of the file.
    pub fn read_at(&self, offset_bytes: u64, max_bytes: u32) -> Result<Vec<u8>, Error> {
        Ok(self.handle.read_at(offset_bytes, max_bytes)?)
    }

    /// Reads up to `count` lines from line `first`, which counts from 1. Takes no more memory far
    /// into a large file than at its start. No lines: `first` is behind the last line.
    ///
    /// A line is cut after `max_line_bytes`. Gives fewer lines than asked for when the next one would
    /// go over `max_bytes` (a host allows at most 1 MiB for either), but at least one if there is one.
    ///
    /// Fails with `WrongKind` when one of the lines is not UTF-8, with `Invalid` when `first` or a
    /// maximum is 0.
    pub fn read_lines(
        &self,
        first: u64,
        count: u32,
        max_bytes: u32,
        max_line_bytes: u32,
    ) -> Result<Lines, Error> {
        let lines = self
            .handle
            .read_lines(first, count, max_bytes, max_line_bytes)?;
        Ok(Lines {
            lines: lines
                .lines
                .into_iter()
                .map(|line| Line {
                    text: line.text,
                    omitted_bytes: line.omitted_bytes,
                })
                .collect(),
            at_end: lines.at_end,
        })
    }

    /// Counts the lines; a last line without an ending counts. Reads the whole file once; the host
    /// keeps the answer.
    pub fn count_lines(&self) -> Result<u64, Error> {
        Ok(self.handle.count_lines()?)
    }
}

/// Lists a folder, at most `max_entries` of it (a host gives at most 10,000).
pub fn list_folder(path: &str, max_entries: u32) -> Result<Listing, Error> {
    let host::Listing {
        entries,
        is_truncated,
    } = host::list_folder(path, max_entries)?;
    let entry = |entry: host::Entry| Entry {
        name: entry.name,
        kind: entry.kind.into(),
        size_bytes: entry.size_bytes,
        modified_ms: entry.modified_ms,
    };
    Ok(Listing {
        entries: entries.into_iter().map(entry).collect(),
        is_truncated,
    })
}

/// The metadata of a path. Needs reading to be granted.
pub fn stat(path: &str) -> Result<Metadata, Error> {
    Ok(host::stat(path)?.into())
}

/// Changes lines of a UTF-8 file, or creates it and the folders above it. The edits are in order and
/// do not overlap; all line numbers are those before the edit. The file is replaced as a whole or not
/// at all.
///
/// Declare the same with [`Plan::edits`](crate::Plan::edits): an edit that was not is asked about in
/// the host's own words, whatever was granted.
///
/// Fails with `Invalid` when the edits do not fit together or into the file, with `Conflict` when the
/// file was not read in this session or has changed since, with `WrongKind` when it is not UTF-8 or no
/// regular file, with `TooLarge` above 8 MiB.
pub fn edit(path: &str, edits: Vec<LineEdit>) -> Result<Edited, Error> {
    let edits: Vec<wire::LineEdit> = edits.into_iter().map(wire::LineEdit::from).collect();
    Ok(host::edit(path, &edits)?.into())
}

/// Adds text to the end of a UTF-8 file, or creates it with that text. A last line without an ending gets one first. The file
/// need not have been read.
///
/// Declare it with [`Plan::appends`](crate::Plan::appends) or [`Plan::changes`](crate::Plan::changes). Fails as [`edit`] does.
pub fn append(path: &str, text: &str) -> Result<Edited, Error> {
    Ok(host::append_text(path, text)?.into())
}

/// Replaces the only occurrence of a text in a UTF-8 file. The file need not have been read.
///
/// Declare it with [`Plan::replaces`](crate::Plan::replaces) or [`Plan::changes`](crate::Plan::changes). Fails with `Conflict`
/// where the text is not there, or several times; otherwise as [`edit`] does.
pub fn replace(path: &str, old: &str, new: &str) -> Result<Edited, Error> {
    Ok(host::replace_text(path, old, new)?.into())
}

/// Replaces texts of a UTF-8 file, each as the file holds it before the call; they do not overlap. The file need not have been
/// read.
///
/// Declare it with [`Plan::replaces_texts`](crate::Plan::replaces_texts) or [`Plan::changes`](crate::Plan::changes). Fails
/// with `Conflict` where a text is not there, or several times without `every`, and says on which lines; otherwise as [`edit`]
/// does.
pub fn replace_texts(path: &str, edits: Vec<TextEdit>) -> Result<Edited, Error> {
    let edits: Vec<wire::TextEdit> = edits.into_iter().map(wire::TextEdit::from).collect();
    Ok(host::replace_texts(path, &edits)?.into())
}

/// Replaces all lines of a UTF-8 file, or creates it: as [`edit`] does with one edit of all its lines, so a file that is there
/// has to have been read, and its line ends and byte order mark stay.
///
/// Declare it with [`Plan::replaces_lines`](crate::Plan::replaces_lines) or [`Plan::changes`](crate::Plan::changes). Fails as
/// [`edit`] does.
pub fn replace_lines(path: &str, text: &str) -> Result<Edited, Error> {
    Ok(host::replace_lines(path, text)?.into())
}

/// Replaces all of a UTF-8 file, or creates it. The file need not have been read.
///
/// Declare it with [`Plan::rewrites`](crate::Plan::rewrites) or [`Plan::changes`](crate::Plan::changes). Fails as [`edit`] does.
pub fn write(path: &str, text: &str) -> Result<Edited, Error> {
    Ok(host::write_text(path, text)?.into())
}

/// Replaces all of a file, or creates it, with bytes that need not be text. The file need not have been read.
///
/// Declare it with [`Plan::rewrites_bytes`](crate::Plan::rewrites_bytes) or [`Plan::changes`](crate::Plan::changes). Fails as
/// [`edit`] does, except that nothing has to be UTF-8.
pub fn write_bytes(path: &str, bytes: &[u8]) -> Result<(), Error> {
    Ok(host::write_bytes(path, bytes)?)
}

/// Removes a file, or a symbolic link itself and never what it leads to. The file need not have been read.
///
/// Declare it with [`Plan::removes`](crate::Plan::removes). Fails with `NotFound` where there is nothing, with `WrongKind` for
/// folders, with `TooLarge` above 8 MiB: `/undo` could not restore such a file.
pub fn remove(path: &str) -> Result<(), Error> {
    Ok(host::remove_file(path)?)
}

/// Gives a file another name, which may be in another folder; missing folders above it are made. Nothing is overwritten.
///
/// Declare it with [`Plan::renames`](crate::Plan::renames). Fails with `Conflict` where something has the new name, with
/// `WrongKind` for folders and symbolic links; otherwise as [`remove`] does.
pub fn rename(path: &str, to: &str) -> Result<(), Error> {
    Ok(host::rename_file(path, to)?)
}

/// Makes a folder, and those above it that are missing.
///
/// Declare it with [`Plan::creates_folder`](crate::Plan::creates_folder). Fails with `Conflict` where something has that name.
pub fn create_folder(path: &str) -> Result<(), Error> {
    Ok(host::create_folder(path)?)
}

/// Removes an empty folder.
///
/// Declare it with [`Plan::removes_folder`](crate::Plan::removes_folder). Fails with `Conflict` where something is in it.
pub fn remove_folder(path: &str) -> Result<(), Error> {
    Ok(host::remove_folder(path)?)
}

/// Makes all changes of files that the plan of this call declares, in the order of the plan: all of them, or none. Those that
/// [`Plan::changes`](crate::Plan::changes) announces are not among them.
///
/// Fails as the change does that is the reason, and names its file.
pub fn make_planned_changes() -> Result<(), Error> {
    Ok(host::make_planned_changes()?)
}

impl From<host::Kind> for Kind {
    fn from(kind: host::Kind) -> Self {
        match kind {
            host::Kind::File => Self::File,
            host::Kind::Folder => Self::Folder,
            host::Kind::SymbolicLink => Self::SymbolicLink,
            host::Kind::Other => Self::Other,
        }
    }
}

impl From<host::Edited> for Edited {
    fn from(edited: host::Edited) -> Self {
        Self {
            created: edited.created,
            lines_before: edited.lines_before,
            lines_after: edited.lines_after,
        }
    }
}

impl From<LineEdit> for wire::LineEdit {
    fn from(edit: LineEdit) -> Self {
        Self {
            first: edit.first,
            end: edit.end,
            replacement: edit.replacement,
        }
    }
}

impl From<TextEdit> for wire::TextEdit {
    fn from(edit: TextEdit) -> Self {
        Self {
            old: edit.old,
            new: edit.new,
            every: edit.every,
        }
    }
}

impl From<host::Metadata> for Metadata {
    fn from(metadata: host::Metadata) -> Self {
        let happened = metadata.history();
        let history = History {
            read: happened.contains(host::History::READ),
            edited: happened.contains(host::History::EDITED),
            attached: happened.contains(host::History::ATTACHED),
        };
        Self {
            kind: metadata.kind().into(),
            size_bytes: metadata.size_bytes(),
            modified_ms: metadata.modified_ms(),
            history,
        }
    }
}
