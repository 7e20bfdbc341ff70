//! Why the store cannot decide or remember.

use std::io;
use std::path::PathBuf;

use super::key::BitsError;
use crate::resolve::ResolveError;

/// Why the store cannot decide or remember.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionError {
    /// One of its files cannot be read.
    #[error("cannot read the permission file {path}, so nothing can be allowed", path = .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// One of its files is not what it should be.
    #[error("the permission file {path} is damaged, so nothing can be allowed; mend it or move it away", path = .path.display())]
    Parse {
        /// Which.
        path: PathBuf,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// An answer cannot be stored.
    #[error("cannot write {path}", path = .path.display())]
    Write {
        /// Which file or folder.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The target is none.
    #[error(transparent)]
    Target(#[from] ResolveError),
    /// The three characters are none.
    #[error(transparent)]
    Bits(#[from] BitsError),
    /// Dunlin's own folders are never granted.
    #[error("{target} belongs to Dunlin itself and is never granted to a tool")]
    Protected {
        /// What was to be granted.
        target: String,
    },
}
