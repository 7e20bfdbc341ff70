//! The commands of a compound line, where the line does no more than run them.
//!
//! Models like to write `cargo test 2>&1 | tail -20`. Such a line adds nothing to its commands: so a yes to each of them
//! covers it, and a permanent yes to it is one to each of them. That holds only if
//!
//! - the line is a chain of simple commands, whose words are final before it runs,
//! - each of them is one of which a promise is known, so that what an earlier one writes or prints decides nothing about
//!   what a later one is: no file that a yes would be bound to, no name that becomes another,
//! - behind a pipe stand only programs that run nothing else, as no promise about `cargo test` says what it reads, and
//! - a line that may change the repository gives this right to no code of the project.
//!
//! Of the commands of the shell itself, `echo` is harmless, and so is `cd` into the folder that the line begins in.

use std::path::Path;
use std::sync::Arc;

use super::words::{SimpleCommand, chained_commands};
use super::{Names, is_git, may_change_repository, simple_target};
use crate::target::{CommandKey, CommandTarget};

/// Commands of one line that a question can name so that somebody reads them.
const MAX_PARTS: usize = 8;

/// The commands of the line if a yes to each of them covers it; none otherwise. Those of the shell itself are left out.
pub(super) fn known(line: &str, names: &dyn Names) -> Vec<Arc<CommandTarget>> {
    let parts = chained_commands(line).and_then(|commands| read(&commands, names));
    parts.unwrap_or_default()
}

fn read(commands: &[SimpleCommand], names: &dyn Names) -> Option<Vec<Arc<CommandTarget>>> {
    let mut parts = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        if command.is_of_shell {
            if !is_harmless(&command.words, at == 0, names) {
                return None;
            }
            continue;
        }
        let part = simple_target(&command.words, names).ok()?;
        let is_known = match part.key {
            CommandKey::Program(_) => true,
            CommandKey::Words(_) => command.separator != "|",
            _ => false,
        };
        if !is_known || !part.is_storable || part.is_unclear || part.only_once {
            return None;
        }
        parts.push(Arc::new(part));
    }
    let changes_repository = parts.iter().any(|part| may_change_repository(part));
    let is_contained = parts.iter().all(|part| {
        matches!(part.key, CommandKey::Program(_))
            || part.programs.iter().any(|it| is_git(&it.called))
    });
    (parts.len() <= MAX_PARTS && (is_contained || !changes_repository)).then_some(parts)
}

/// Whether a command of the shell itself changes nothing about the commands behind it.
fn is_harmless(words: &[String], is_first: bool, names: &dyn Names) -> bool {
    match words {
        [name, ..] if name == "echo" => true,
        [name, folder] if name == "cd" => is_first && Path::new(folder) == names.project(),
        _ => false,
    }
}
