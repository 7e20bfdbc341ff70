//! Why something cannot be resolved to a target.

use std::io;
use std::path::PathBuf;

/// Longest path that is looked at, in bytes. Linux takes no longer one either (`PATH_MAX`).
pub(super) const MAX_PATH_BYTES: usize = 4096;

/// Most symbolic links followed for one path, so that a circle ends. The kernel's own number.
pub(super) const MAX_LINKS: usize = 40;

/// Characters of a wrong address that its message repeats.
pub(super) const MAX_SHOWN_CHARS: usize = 200;

/// Why something cannot be resolved to a target.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// An empty string names nothing.
    #[error("the path is empty")]
    Empty,
    /// A NUL byte ends a path for the kernel and not for us.
    #[error("the path {path:?} holds a NUL character")]
    Nul {
        /// As written.
        path: String,
    },
    /// Longer than any file can be named.
    #[error("the path is {bytes} bytes long; at most {MAX_PATH_BYTES} are possible")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// `~` without a home folder, or somebody else's.
    #[error("the path {path:?} starts with ~, which means nothing here; write the whole path")]
    Home {
        /// As written.
        path: String,
    },
    /// A circle of symbolic links.
    #[error("the path {path:?} goes through more than {MAX_LINKS} symbolic links")]
    Links {
        /// As written.
        path: String,
    },
    /// The file system would not say.
    #[error("cannot look at {path:?}")]
    Io {
        /// The component that failed.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
    /// Not an address, or not one of the web.
    #[error("{url:?} is not an http or https address: {problem}")]
    Url {
        /// As written.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// No such program in the search path.
    #[error("there is no program named {name:?} in the search path; give its whole path")]
    Program {
        /// As written.
        name: String,
    },
}
