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
    /// It wants what no command has in plan mode.
    #[error("plan mode is on, in which no command has the network; leave network out")]
    NetworkInPlanMode,
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

/// What a name leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// Nothing.
    Absent,
    /// Something that commands cannot change.
    Fixed {
        /// Whether it is a folder.
        is_folder: bool,
    },
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
    /// What the command finds there cannot be told: it is found through procfs, or a look-up failed.
    Unclear,
}

/// What can happen on the way to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Commands can change nothing on it.
    Fixed,
    /// Commands can change the program, or make the path lead to another: only its content says what it is.
    Changeable,
    /// What the command finds there cannot be told, see [`Named::Unclear`].
    Unclear,
}

/// A folder of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder {
    /// The path to it from the project.
    pub(crate) path: String,
    /// Whether git finds the same repository in it as in the project: there is no other one in it or on the way to it.
    pub(crate) is_of_repository: bool,
}

/// Whether a file is guarded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Guard {
    /// The real path of a guarded file, which need not exist.
    pub(crate) path: Option<PathBuf>,
    /// Whether the command may find another file there, see [`Named::Unclear`].
    pub(crate) is_unclear: bool,
}

/// Looks up names: the machine, as far as a command line depends on it. The words of a line are final: `~` is a name.
pub(crate) trait Names {
    /// A program that exists and may be run.
    fn program(&self, word: &str) -> Result<ProgramFile, CommandError>;

    /// What can happen on the way to a program.
    fn way(&self, word: &str) -> Way;

    /// Whether every program may load a library that commands can change.
    fn loads_changeable(&self) -> bool {
        false
    }

    /// Whether the file of a program is a script, or may be one.
    fn is_script(&self, program: &ProgramFile) -> bool;

    /// The program that runs command lines, resolved.
    fn shell(&self) -> &Path;

    /// The folder in which commands run.
    fn project(&self) -> &Path;

    /// Whether the mode of the session is the one in which nothing is changed.
    fn is_plan_mode(&self) -> bool;

    /// What a shell puts in the place of a word that begins with an unquoted `~`.
    fn at_home(&self, word: &str) -> Option<String>;

    /// What a path leads to.
    fn named(&self, word: &str) -> Named;

    /// Where a path leads, whether or not there is anything.
    fn real(&self, _word: &str) -> Option<PathBuf> {
        None
    }

    /// The names in a folder whose content commands can change, none elsewhere; empty is the project. `None`: there are more
    /// than `most`, or one of them is not text.
    fn names_in(&self, _folder: &str, _most: usize) -> Option<Vec<String>> {
        Some(Vec::new())
    }

    /// Whether a relative path leads to a file or folder that exists in the project.
    fn is_inside(&self, word: &str) -> bool;

    /// Whether a shell takes folders and patterns for what they are usually, and itself for what it is: no variable tells it
    /// otherwise.
    fn has_usual_shell(&self) -> bool {
        true
    }

    /// The folder of the project, below it, that a plain path leads to, without a link.
    fn folder(&self, _word: &str) -> Option<Folder> {
        None
    }

    /// The repository that the project is a worktree of, if that lies elsewhere.
    fn repository_elsewhere(&self) -> Option<PathBuf> {
        None
    }

    /// Whether a path leads to a file that is guarded.
    fn guarded(&self, word: &str) -> Guard;
}
