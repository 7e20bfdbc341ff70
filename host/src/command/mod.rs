//! Understands command lines, for decisions about permissions.
//!
//! A line that is plainly one program with plain words can be granted by the program's real path. Everything
//! else is *compound*: asked each time, shown whole, never stored. Not understanding something makes a line
//! compound, never simple.
//!
//! - `words` reads a simple command, by a grammar small enough to be seen through. No parser of others is used:
//!   those for whole shell scripts understand more than may be granted, and the ones there are end the program
//!   on lines that a model can write: tree-sitter's reads behind its memory on some of five bytes, brush's
//!   overflows the stack, or never comes back. What shells really do with the lines is the measure: `fuzz` runs
//!   them in `sh` and `bash`.
//! - `judge` and `table` know programs that run others. A plain wrapper (`nice`, `timeout 5`) is seen through:
//!   it and what it starts are both needed. `xargs`, `sh -c`, `find -exec` and their like are compound.
//! - `find` makes out, roughly and generously, which programs a compound line runs, so that a denied one refuses
//!   it.
//!
//! What is granted is a program, and a program may do whatever it can do: that is for the cage in which commands
//! run. This module keeps a yes to one program from becoming a yes to another.

mod builtins;
mod explain;
mod find;
#[cfg(test)]
mod fuzz;
mod judge;
mod named;
mod options;
mod table;
#[cfg(test)]
mod tests;
mod words;

use std::path::{Path, PathBuf};

pub use self::explain::{ExplainedCommand, ExplainedProgram};
use self::judge::Rough;
pub use self::words::{Why, simple_words};
use crate::ask::Scope;
use crate::limits;
use crate::permission::{PermissionError, Permissions};
use crate::resolve::ResolveError;
use crate::target::{Need, Operation, Target};

/// A command line, understood as far as that is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Exactly as it will be handed to the shell.
    pub line: String,
    /// Whether the command wants to reach the network.
    pub network: bool,
    /// What it is.
    pub reading: Reading,
    /// Files that it names, resolved, and that no tool reads without being asked for: what looks like a secret,
    /// what belongs to Dunlin.
    pub guarded: Vec<PathBuf>,
}

/// What a command line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// Plainly one program with plain words: it can be granted by the program's real path.
    Simple {
        /// The program, and what wrappers in front of it lead to; all must be granted. Never empty.
        programs: Vec<PathBuf>,
    },
    /// Anything else.
    Compound {
        /// Why, in few words: `a pipe`, `a redirection`.
        why: String,
        /// The programs that could be made out: a deny of one refuses the whole. May be empty.
        programs: Vec<PathBuf>,
    },
}

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

/// Looks up names: the machine, as far as a command line depends on it.
pub(crate) trait Names {
    /// The real path of a program that exists and may be run.
    fn executable(&self, written: &str) -> Result<PathBuf, CommandError>;

    /// The real path of a file that exists, relative to the project.
    fn script(&self, written: &str) -> Option<PathBuf>;

    /// The real path of a file that need not exist, if it is guarded.
    fn guarded(&self, written: &str) -> Option<PathBuf>;
}

impl Names for Permissions {
    fn executable(&self, written: &str) -> Result<PathBuf, CommandError> {
        let no_program = || CommandError::NoProgram {
            path: written.to_owned(),
        };
        match self.resolve_program(written)? {
            Target::Program(path) if is_executable(&path) => Ok(path),
            _ => Err(no_program()),
        }
    }

    fn script(&self, written: &str) -> Option<PathBuf> {
        // A home is what the shell makes of `~`, and here it has made nothing of it.
        let target = self
            .resolve_path(&format!(
                "{}{written}",
                if written.starts_with('~') { "./" } else { "" }
            ))
            .ok()?;
        target
            .path()
            .filter(|path| path.is_file())
            .map(Path::to_owned)
    }

    fn guarded(&self, written: &str) -> Option<PathBuf> {
        let target = self.resolve_path(written).ok()?;
        let is_guarded = self.is_protected(&target)
            || target
                .path()
                .is_some_and(|path| self.is_secret_place(path) || named::is_secret(written, path));
        target.path().filter(|_| is_guarded).map(Path::to_owned)
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

impl CommandLine {
    /// Reads a line. A program that does not exist, in a line that is simple otherwise, is an error.
    ///
    /// Blocks for the file system: some look-ups for each word.
    pub(crate) fn read(
        line: String,
        network: bool,
        names: &dyn Names,
    ) -> Result<CommandLine, CommandError> {
        if line.len() > limits::MAX_COMMAND_BYTES {
            return Err(CommandError::TooLong { bytes: line.len() });
        }
        if line.contains('\0') {
            return Err(CommandError::Nul);
        }
        if line.trim().is_empty() {
            return Err(CommandError::Empty);
        }
        let (reading, guarded) = match simple_words(&line) {
            Ok(words) => {
                let mut programs = Vec::new();
                let why = judge::strictly(&words, names, &mut programs)?;
                let guarded = named::guarded(words[1..].iter().map(String::as_str), names);
                let reading = match why {
                    None => Reading::Simple { programs },
                    Some(why) => compound(&line, why, programs, names),
                };
                (reading, guarded)
            }
            Err(why) => {
                let found = find::commands(&line);
                let words = found
                    .commands
                    .iter()
                    .flatten()
                    .flatten()
                    .chain(&found.files);
                let guarded = named::guarded(words.map(String::as_str), names);
                (compound(&line, why, Vec::new(), names), guarded)
            }
        };
        Ok(CommandLine {
            line,
            network,
            reading,
            guarded,
        })
    }

    /// The programs that could be made out.
    pub fn programs(&self) -> &[PathBuf] {
        let (Reading::Simple { programs } | Reading::Compound { programs, .. }) = &self.reading;
        programs
    }

    /// What running it needs: its programs, for a compound one also the shell, and to read what is guarded.
    pub fn needs(&self, shell: &Path) -> Vec<Need> {
        let execute = |path: &Path| Need {
            target: Target::Program(path.to_owned()),
            operation: Operation::Execute,
        };
        let programs = self.programs();
        let with_shell = matches!(self.reading, Reading::Compound { .. });
        let mut needs: Vec<Need> = programs.iter().map(|path| execute(path)).collect();
        if with_shell && !programs.iter().any(|path| path == shell) {
            needs.push(execute(shell));
        }
        needs.extend(self.guarded.iter().map(|path| Need {
            target: Target::Path(path.clone()),
            operation: Operation::Read,
        }));
        needs
    }

    /// The longest that a yes may hold. `has_network`: commands may reach the network anyway.
    pub fn longest(&self, has_network: bool) -> Scope {
        let is_simple = matches!(self.reading, Reading::Simple { .. });
        if is_simple && !self.is_sensitive(has_network) {
            Scope::Always
        } else {
            Scope::Once
        }
    }

    /// Whether the user wants to see it however far the tool is trusted: it names secrets, or wants to reach the
    /// network. `has_network` as above.
    pub fn is_sensitive(&self, has_network: bool) -> bool {
        !self.guarded.is_empty() || (self.network && !has_network)
    }

    /// What the user should know before answering, a short sentence each.
    pub fn notices(&self, has_network: bool) -> Vec<String> {
        let mut notices = Vec::new();
        if let Reading::Compound { why, .. } = &self.reading {
            notices.push(format!(
                "It is not one simple command ({why}), so it is asked each time."
            ));
        }
        if self.network && !has_network {
            notices.push("It wants to reach the network.".to_owned());
        }
        notices.extend(
            self.guarded
                .iter()
                .map(|path| format!("It names {}, which usually holds secrets.", path.display())),
        );
        notices
    }
}

fn compound(line: &str, why: Why, mut programs: Vec<PathBuf>, names: &dyn Names) -> Reading {
    Rough::new(names, &mut programs).line(line, 0);
    Reading::Compound {
        why: why.into_owned(),
        programs,
    }
}
