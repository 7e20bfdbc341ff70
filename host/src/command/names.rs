//! What understanding a command line takes of the machine, and why one cannot be understood.

use std::path::{Path, PathBuf};

use crate::limits;
use crate::permission::PermissionError;
use crate::resolve::ResolveError;
use crate::target::ProgramFile;

/// Why a command line cannot even be asked about. Said to the model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is nothing in it.
    #[error("the command line is empty")]
    Empty,
    /// A shell would not see what is behind it.
    #[error("the command line holds a NUL character")]
    Nul,
    /// Nobody reads that.
    #[error(
        "the command line is {bytes} bytes long, at most {most} are possible; write a script into a file and run that",
        most = limits::MAX_COMMAND_BYTES
    )]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The program cannot be resolved.
    #[error(transparent)]
    Program(#[from] ResolveError),
    /// It resolves to nothing that can be run.
    #[error("there is no program at {path:?}, or it may not be run")]
    NoProgram {
        /// As written.
        path: String,
    },
    /// The permission store cannot decide about one of its programs.
    #[error(transparent)]
    Permission(#[from] PermissionError),
}

/// What a path leads to that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Changeable {
    /// A file, resolved: a yes can be bound to its content.
    File(PathBuf),
    /// A folder in which commands can write.
    Folder,
    /// Something resolved whose content no yes can be bound to, perhaps a folder: commands can make the path lead elsewhere.
    Other {
        /// Where it is.
        path: PathBuf,
        /// Whether it is a folder.
        is_folder: bool,
    },
}

/// Looks up names: the machine, as far as a command line depends on it.
pub(crate) trait Names {
    /// A program that exists and may be run.
    fn program(&self, written: &str) -> Result<ProgramFile, CommandError>;

    /// The program that runs command lines, resolved.
    fn shell(&self) -> &Path;

    /// Whether commands could replace the program.
    fn is_writable(&self, program: &ProgramFile) -> bool;

    /// The folder in which commands run.
    fn project(&self) -> &Path;

    /// What a path leads to, if commands can change what is there or where it leads.
    fn changeable(&self, written: &str) -> Option<Changeable>;

    /// The names in a folder whose content commands can change, none elsewhere; empty is the project. `None`: there are more
    /// than `most`.
    fn names_in(&self, _folder: &str, _most: usize) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    /// Whether a relative path leads to a file or folder that exists in the project.
    fn is_inside(&self, written: &str) -> bool;

    /// The repository that the project is a worktree of, if that lies elsewhere.
    fn repository_elsewhere(&self) -> Option<PathBuf> {
        None
    }

    /// The real path of a file that need not exist, if it is guarded.
    fn guarded(&self, written: &str) -> Option<PathBuf>;
}
