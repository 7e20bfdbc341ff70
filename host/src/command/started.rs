//! Programs that Dunlin starts with the user's own rights, as `$EDITOR` and `$PAGER` name them.
//!
//! The folders that are searched are those in which commands cannot write. A link in one of them may still lead to a file
//! that they can change, so the file counts, and everything on the way to it.

use std::path::PathBuf;

use super::{find, simple_words};
use crate::permission::Permissions;

/// Why a program is not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// It would run what a command left there.
    #[error(
        "cannot start {name:?}: commands can change the file that {path:?} leads to; use a program outside of the project"
    )]
    Changeable {
        /// As written.
        name: String,
        /// Where it was found.
        path: PathBuf,
    },
    /// There is no file that can be run at this path.
    #[error("cannot start {name:?}: there is no program at that path")]
    NoFile {
        /// As written.
        name: String,
    },
    /// There is none, or none where commands cannot write.
    #[error("cannot start {name:?}: no folder of PATH that commands cannot change holds it")]
    Missing {
        /// As written.
        name: String,
    },
}

impl Permissions {
    /// The command line with the path of its program, which commands cannot change. A line that is more than one simple
    /// command stays as it is, as far as the programs in it can be told.
    ///
    /// `search_path`: folders in which commands cannot write. Blocks for the file system.
    ///
    /// # Errors
    /// There is no such program, or commands can change it.
    pub fn started_line(&self, line: &str, search_path: &[PathBuf]) -> Result<String, StartError> {
        let find = |name: &str| {
            let found = self.program_in(name, search_path);
            match found.filter(|path| super::is_executable(path)) {
                Some(path) if self.can_commands_change(&path) => Err(StartError::Changeable {
                    name: name.to_owned(),
                    path,
                }),
                found => Ok(found),
            }
        };
        let Ok(words) = simple_words(line) else {
            let commands = find::commands(line).commands;
            for name in commands.into_iter().flatten().flatten() {
                find(&name)?;
                if let Some(name) = self.at_home(&name) {
                    find(&name)?;
                }
            }
            return Ok(line.to_owned());
        };
        let Some((name, arguments)) = words.split_first() else {
            return Ok(line.to_owned());
        };
        let path = find(name)?.ok_or_else(|| {
            let name = name.clone();
            match name.contains('/') {
                true => StartError::NoFile { name },
                false => StartError::Missing { name },
            }
        })?;
        // `env editor`
        for word in arguments.iter().filter(|word| !word.contains('/')) {
            find(word)?;
        }
        let path = path.to_str().filter(|path| !path.contains('\''));
        let rest = line.trim_start().strip_prefix(name.as_str());
        Ok(match (path, rest) {
            (Some(path), Some(rest)) => format!("'{path}'{rest}"),
            // A quoted path is its own.
            _ => line.to_owned(),
        })
    }
}
