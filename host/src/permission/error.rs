//! Why the store cannot decide or remember.

use std::io;
use std::path::PathBuf;

use super::key::BitsError;
use crate::command::NotSimple;
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
    #[error("the permission file {path} is damaged, so nothing can be allowed; fix it or move it aside", path = .path.display())]
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
    /// What a command runs cannot be read, so no lasting yes can be bound to it.
    #[error("cannot remember a yes to {command}: cannot read {path}; answer y instead", path = .path.display())]
    Runs {
        /// The key of the command.
        command: String,
        /// A file that it names.
        path: PathBuf,
    },
    /// The command line that a person typed cannot be read.
    #[error(transparent)]
    Command(#[from] crate::target::CommandKeyError),
    /// Reading and writing mean nothing for a command.
    #[error("{key:?} is a command: it can only be allowed or denied to run, for example --x")]
    OnlyExecute {
        /// The key.
        key: String,
    },
    /// A line is not one simple command.
    #[error("{}: no allow can be stored for {line:?}", label(.why))]
    Compound {
        /// The command line.
        line: String,
        /// Why it is not.
        why: Option<NotSimple>,
    },
    /// The target is reached by a link that commands can change.
    #[error("commands can change the symbolic link {link}, so nothing is allowed through it; allow its target instead: {real}", link = .link.display(), real = .real.display())]
    Link {
        /// The link.
        link: PathBuf,
        /// Where the target is now.
        real: PathBuf,
    },
    /// Dunlin's own folders are never granted.
    #[error("{target} belongs to Dunlin itself and is never granted to a tool")]
    Protected {
        /// What was to be granted.
        target: String,
    },
}

fn label(why: &Option<NotSimple>) -> String {
    why.as_ref()
        .map_or_else(|| "Not one simple command".to_owned(), NotSimple::label)
}
