//! What a tool can do to a file, and what comes of its text.

use bytes::Bytes;

use super::apply::{
    Applied, ApplyError, LineEdit, MAX_FILE_BYTES, apply, apply_to_all, newline, text_of,
};
use super::texts::{TextEdit, replaced, with_newlines};

/// A change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// Some lines are replaced.
    Lines(Vec<LineEdit>),
    /// Text is added at the end, with the line ends that most of the file's lines have.
    Append(String),
    /// All lines are replaced, or the file is made.
    AllLines(String),
    /// Texts are replaced, each as the file holds it before.
    Texts(Vec<TextEdit>),
    /// All of it is replaced, by these bytes.
    Write(String),
    /// All of it is replaced by bytes that need not be text, whatever it held.
    WriteBytes(Bytes),
    /// It is removed, or the symbolic link is that has this name.
    Remove,
    /// It gets another name, which nothing has.
    Rename {
        /// As it was written.
        to: String,
    },
    /// A folder is made where nothing is.
    CreateFolder,
    /// An empty folder is removed.
    RemoveFolder,
}

/// A change of a file, in each form in which it is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phrase {
    /// In a question: `remove`.
    pub infinitive: &'static str,
    /// Above what is shown of it: `removes`.
    pub present: &'static str,
    /// What it is done to: `file`.
    pub object: &'static str,
    /// In the audit log, where it is more than writing: `removed`.
    pub logged: Option<&'static str>,
}

impl Phrase {
    /// With names, in words that follow "Allow TOOL to": `rename file 'a' to 'b'`. Escape before showing.
    pub(crate) fn of(self, path: &str, to: Option<&str>) -> String {
        let to = to.map(|to| format!(" to '{to}'")).unwrap_or_default();
        format!("{} {} '{path}'{to}", self.infinitive, self.object)
    }
}

impl FileChange {
    /// Whether it means something only to who has read the file: lines are named by their numbers, or all of them go.
    pub(crate) fn needs_to_be_seen(&self) -> bool {
        matches!(self, FileChange::Lines(_) | FileChange::AllLines(_))
    }

    /// Whether it is about a name: a symbolic link is what it is, and not where it leads.
    pub(crate) fn is_of_name(&self) -> bool {
        match self {
            FileChange::Lines(_)
            | FileChange::AllLines(_)
            | FileChange::Append(_)
            | FileChange::Texts(_)
            | FileChange::Write(_)
            | FileChange::WriteBytes(_) => false,
            FileChange::Remove
            | FileChange::Rename { .. }
            | FileChange::CreateFolder
            | FileChange::RemoveFolder => true,
        }
    }

    /// Whether it is about a folder: there is no content that has to be known for it.
    pub(crate) fn is_of_folder(&self) -> bool {
        matches!(self, FileChange::CreateFolder | FileChange::RemoveFolder)
    }

    /// How it is said.
    pub fn phrase(&self) -> Phrase {
        let (infinitive, present, object, logged) = match self {
            FileChange::Lines(_)
            | FileChange::AllLines(_)
            | FileChange::Append(_)
            | FileChange::Texts(_)
            | FileChange::Write(_)
            | FileChange::WriteBytes(_) => ("edit", "edits", "file", None),
            FileChange::Remove => ("remove", "removes", "file", Some("removed")),
            FileChange::Rename { .. } => ("rename", "renames", "file", Some("renamed")),
            FileChange::CreateFolder => ("make", "makes", "folder", Some("folder made")),
            FileChange::RemoveFolder => {
                ("remove", "removes", "empty folder", Some("folder removed"))
            }
        };
        Phrase {
            infinitive,
            present,
            object,
            logged,
        }
    }

    /// What it does, as the tool wrote the names: `remove file 'a'`.
    pub(crate) fn in_words(&self, path: &str) -> String {
        match self {
            FileChange::Rename { to } => self.phrase().of(path, Some(to)),
            _ => self.phrase().of(path, None),
        }
    }

    /// Applies it to the content of a file; `None`: there is no file yet.
    ///
    /// # Errors
    /// It does not fit, the file is not text or too large, or nothing would change.
    pub fn apply(&self, base: Option<&[u8]>) -> Result<Applied, ApplyError> {
        match self {
            FileChange::Lines(edits) => return apply(base, edits),
            FileChange::AllLines(text) => return apply_to_all(base, text),
            _ => {}
        }
        let bytes = base.unwrap_or_default();
        let has = |bytes: usize, after| match bytes > MAX_FILE_BYTES {
            true => Err(ApplyError::TooLarge { bytes, after }),
            false => Ok(()),
        };
        has(bytes.len(), false)?;
        if let FileChange::WriteBytes(new) = self {
            has(new.len(), true)?;
            if base.is_some_and(|base| base == new) {
                return Err(ApplyError::Unchanged);
            }
            let lines = |bytes: &[u8]| bytes.split_inclusive(|byte| *byte == b'\n').count() as u64;
            return Ok(Applied {
                lines_before: lines(bytes),
                lines_after: lines(new),
                bytes: new.to_vec(),
            });
        }
        let text = text_of(bytes)?;
        let new = match self {
            FileChange::Append(more) => {
                let newline = newline(text, [more.as_str()]);
                let is_open = !text.is_empty() && !text.ends_with('\n') && !more.is_empty();
                let close = if is_open { newline } else { "" };
                [text, close, &with_newlines(more, newline)].concat()
            }
            FileChange::Texts(edits) => replaced(text, edits)?,
            FileChange::Write(new) => new.clone(),
            // The others are about names, and lines were applied before.
            _ => String::new(),
        };
        has(new.len(), true)?;
        if base.is_some_and(|base| base == new.as_bytes()) {
            return Err(ApplyError::Unchanged);
        }
        let lines = |text: &str| text.split_inclusive('\n').count() as u64;
        Ok(Applied {
            lines_before: lines(text),
            lines_after: lines(&new),
            bytes: new.into_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_changed() {
        let append = |text: &str| FileChange::Append(text.to_owned());
        let write = |text: &str| FileChange::Write(text.to_owned());
        let all = |text: &str| FileChange::AllLines(text.to_owned());
        let check = |base: Option<&str>, change: FileChange, expected: Result<&str, ApplyError>| {
            let applied = change.apply(base.map(str::as_bytes));
            let text = applied.map(|applied| String::from_utf8(applied.bytes).unwrap());
            let expected = expected.map(str::to_owned);
            assert_eq!(text, expected, "{base:?} {change:?}");
        };
        check(None, append("a\n"), Ok("a\n"));
        check(Some("a\n"), append("b\n"), Ok("a\nb\n"));
        check(Some("a"), append("b"), Ok("a\nb"));
        check(Some("a\r\nb"), append("c"), Ok("a\r\nb\r\nc"));
        check(Some("a"), append(""), Err(ApplyError::Unchanged));
        check(Some(""), append("b"), Ok("b"));
        check(
            Some("a\r\nb\r\nc\n"),
            append("d\ne\r\n"),
            Ok("a\r\nb\r\nc\nd\r\ne\r\n"),
        );
        check(Some("a\r\n"), write("b\n"), Ok("b\n"));
        check(Some("a\r\nb\r\n"), all("c\nd"), Ok("c\r\nd\r\n"));
        check(Some("\u{feff}a\n"), all("b\n"), Ok("\u{feff}b\n"));
        check(Some("a\nb"), all("b"), Ok("b"));
        check(Some("a\n"), all(""), Ok(""));
        check(None, all("a"), Ok("a\n"));
        check(None, all(""), Ok(""));
        check(Some("a\n"), all("a\n"), Err(ApplyError::Unchanged));
        check(None, write(""), Ok(""));
        check(Some("a"), write("b"), Ok("b"));
        check(Some("a"), write("a"), Err(ApplyError::Unchanged));
        let bytes = FileChange::WriteBytes(Bytes::from_static(b"b\n\xff"));
        for base in [None, Some(&b"a"[..]), Some(b"\xfe")] {
            assert_eq!(bytes.apply(base).unwrap().bytes, b"b\n\xff");
        }
        let unchanged = bytes.apply(Some(b"b\n\xff"));
        assert_eq!(unchanged, Err(ApplyError::Unchanged));
        let large = FileChange::WriteBytes(vec![0; MAX_FILE_BYTES + 1].into());
        assert!(matches!(
            large.apply(None),
            Err(ApplyError::TooLarge { after: true, .. })
        ));
        let not_text = append("b").apply(Some(b"a\n\xff"));
        assert_eq!(not_text, Err(ApplyError::NotText { line: 2 }));
        let large = "x".repeat(MAX_FILE_BYTES);
        let too_large = append("y").apply(Some(large.as_bytes()));
        assert!(matches!(
            too_large,
            Err(ApplyError::TooLarge { after: true, .. })
        ));
        let applied = append("b\n").apply(Some(b"a\n")).unwrap();
        assert_eq!((applied.lines_before, applied.lines_after), (1, 2));
    }
}
