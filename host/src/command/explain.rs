//! What `dunlin permissions explain` says of a command line.

use std::path::PathBuf;

use super::{CommandError, CommandLine, Reading};
use crate::permission::{Explained, Permissions};
use crate::target::Operation;

/// How a line is read, and what holds for its programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedCommand {
    /// How it is read: simple, or compound and why.
    pub reading: Reading,
    /// What holds for each program of the reading, in its order. When all are allowed a simple line runs
    /// without a question, a compound one is asked; one that is denied refuses either.
    pub programs: Vec<ExplainedProgram>,
    /// Secrets, and files of Dunlin's own, that it names: with one of the former it is asked each time, with one
    /// of the latter refused.
    pub guarded: Vec<PathBuf>,
}

/// What holds for one program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedProgram {
    /// Its real path.
    pub path: PathBuf,
    /// Whether it may be executed, and which rule says so.
    pub execute: Explained,
}

impl Permissions {
    /// Says how a command line is read and what holds for its programs. Blocks for the file system.
    pub fn explain_command(&self, line: &str) -> Result<ExplainedCommand, CommandError> {
        let command = CommandLine::read(line.to_owned(), false, self)?;
        let mut explained = Vec::new();
        for path in command.programs() {
            let (_, rows) = self.explain(&path.to_string_lossy())?;
            let execute = rows
                .into_iter()
                .find(|row| row.operation == Operation::Execute);
            explained.extend(execute.map(|execute| ExplainedProgram {
                path: path.clone(),
                execute,
            }));
        }
        Ok(ExplainedCommand {
            reading: command.reading,
            programs: explained,
            guarded: command.guarded,
        })
    }
}
