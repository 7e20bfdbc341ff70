//! What may have a name in a folder, as far as it can be changed and brought back.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::hash::ContentHash;

/// What has a name in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EntryKind {
    #[default]
    File,
    /// A symbolic link itself. Its content is the path that it holds.
    Link,
    /// A folder without what is in it.
    Folder,
}

/// What there is under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    File(Vec<u8>),
    /// A symbolic link, and where it leads.
    Link(PathBuf),
    Folder,
}

impl Found {
    pub(crate) fn kind(&self) -> EntryKind {
        match self {
            Found::File(_) => EntryKind::File,
            Found::Link(_) => EntryKind::Link,
            Found::Folder => EntryKind::Folder,
        }
    }

    pub(crate) fn of(kind: EntryKind, content: Vec<u8>) -> Found {
        match kind {
            EntryKind::File => Found::File(content),
            EntryKind::Link => Found::Link(OsString::from_vec(content).into()),
            EntryKind::Folder => Found::Folder,
        }
    }

    pub(crate) fn into_content(self) -> Vec<u8> {
        match self {
            Found::File(content) => content,
            Found::Link(to) => to.into_os_string().into_vec(),
            Found::Folder => Vec::new(),
        }
    }

    pub(crate) fn hash(&self) -> ContentHash {
        match self {
            Found::File(content) => ContentHash::of(content),
            Found::Link(to) => ContentHash::of(to.as_os_str().as_encoded_bytes()),
            Found::Folder => ContentHash::of(&[]),
        }
    }
}
