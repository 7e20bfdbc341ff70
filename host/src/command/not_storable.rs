//! Why a yes to a line cannot be stored, or holds only once, where none of its commands and none of its signs is the reason.

use std::borrow::Cow;
use std::fmt;

use crate::display::shorten;

/// Characters of a name that are shown in the sentence which says why a yes cannot be stored.
pub(super) const MAX_NAME_CHARS: usize = 60;

/// `Display` is what stands behind "as": `it names more than 16 files`. Names are as they are written, not escaped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NotStorable {
    /// A word in it may be code.
    Code,
    /// This folder lies behind a link that commands can change.
    Folder(String),
    /// This is neither a file nor a folder.
    NoFile(String),
    /// There are more than so many files, which are not watched.
    ManyFiles(usize),
    /// This file cannot be read to its end.
    Unreadable(String),
    /// What commands find under a name in it cannot be told.
    Unclear,
    /// The first line of this script does not say plainly what runs it.
    Script(String),
    /// It goes up, and what it finds there depends on where it was before.
    WayUp,
    /// There are more names in it than are looked up.
    ManyNames,
    /// A key of the permission file cannot express it.
    Key,
    /// It runs no program that a key could name.
    NoProgram,
    /// Not all that it runs and reads is known before it runs.
    Unknown,
}

impl fmt::Display for NotStorable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotStorable::Code => f.write_str("a word in it may be code"),
            NotStorable::Folder(name) => {
                write!(f, "it names the folder {} by way of a link", short(name))
            }
            NotStorable::NoFile(name) => {
                write!(f, "{} is neither a file nor a folder", short(name))
            }
            NotStorable::ManyFiles(most) => write!(f, "it names more than {most} files"),
            NotStorable::Unreadable(name) => {
                write!(f, "{} is too large or cannot be read", short(name))
            }
            NotStorable::Unclear => {
                f.write_str("something that it names is in /proc or cannot be looked at")
            }
            NotStorable::Script(name) => {
                let name = short(name);
                write!(
                    f,
                    "the first line of the script {name} holds more than plain names"
                )
            }
            NotStorable::WayUp => f.write_str("it goes up (..)"),
            NotStorable::ManyNames => f.write_str("there are too many names in it to look up"),
            NotStorable::Key => f.write_str("it is too long or too unusual"),
            NotStorable::NoProgram => f.write_str("the shell carries out all of it itself"),
            NotStorable::Unknown => {
                f.write_str("not all that it runs and reads is known beforehand")
            }
        }
    }
}

fn short(name: &str) -> Cow<'_, str> {
    shorten(name, MAX_NAME_CHARS)
}
