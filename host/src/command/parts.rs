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
//!
//! Where one of the commands is in the way, the question names it.

use std::path::Path;
use std::sync::Arc;

use super::words::{SimpleCommand, chained_commands};
use super::{Names, is_git, may_change_repository, simple_target};
use crate::display;
use crate::target::{CommandKey, CommandTarget};

/// Commands of one line that a question can name so that somebody reads them.
pub(super) const MAX_PARTS: usize = 8;

/// Characters of a command that is in the way, in a sentence.
const MAX_NAME_CHARS: usize = 60;

/// A command of a line that is nothing but simple commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCommand {
    /// In words: `git push`. Not escaped.
    pub name: String,
    /// What has to be allowed. `None`: only a yes to the line as a whole covers it.
    pub target: Option<Arc<CommandTarget>>,
}

/// The commands of a chain; none if the line is anything else. Those of the shell that are harmless are left out.
pub(super) fn read(line: &str, names: &dyn Names) -> Vec<LineCommand> {
    let commands = chained_commands(line).unwrap_or_default();
    let commands = commands.iter().enumerate();
    let mut commands: Vec<LineCommand> = commands
        .filter(|(at, it)| !(it.is_of_shell && is_harmless(&it.words, *at == 0, names)))
        .map(|(_, command)| of_command(command, names))
        .collect();
    // Code of the project does not get the right to change the repository beside git.
    let is_contained = |it: &&LineCommand| it.target.as_deref().is_none_or(is_contained);
    if let Some(code) = commands.iter().find(|it| !is_contained(it)) {
        let beside = format!(" beside {}", code.name);
        for command in &mut commands {
            if command.target.as_deref().is_some_and(may_change_repository) {
                command.target = None;
                command.name.push_str(&beside);
            }
        }
    }
    commands
}

/// What has to be allowed so that the line is; none: it counts as a whole.
pub(super) fn of(commands: &[LineCommand]) -> Vec<Arc<CommandTarget>> {
    let parts: Option<Vec<_>> = commands.iter().map(|it| it.target.clone()).collect();
    let parts = parts.filter(|parts| parts.len() <= MAX_PARTS);
    parts.unwrap_or_default()
}

fn of_command(command: &SimpleCommand, names: &dyn Names) -> LineCommand {
    let in_the_way = |place: &str| {
        let words = CommandKey::Line(command.words.clone()).short();
        let words = display::shorten(&words, MAX_NAME_CHARS);
        LineCommand {
            name: format!("{words}{place}"),
            target: None,
        }
    };
    let target = match command.is_of_shell {
        true => None,
        false => simple_target(&command.words, names).ok(),
    };
    let Some(target) = target else {
        return in_the_way("");
    };
    let is_known = matches!(target.key, CommandKey::Program(_) | CommandKey::Words(_));
    if !is_known || !target.is_storable || target.is_unclear || target.only_once {
        return in_the_way("");
    }
    if matches!(target.key, CommandKey::Words(_)) && command.separator == "|" {
        return in_the_way(" behind a pipe");
    }
    LineCommand {
        name: target.key.short(),
        target: Some(Arc::new(target)),
    }
}

/// Whether it runs no code of the project, or is git itself.
fn is_contained(command: &CommandTarget) -> bool {
    matches!(command.key, CommandKey::Program(_))
        || command.programs.iter().any(|it| is_git(&it.called))
}

/// Whether a command of the shell itself changes nothing about the commands behind it.
fn is_harmless(words: &[String], is_first: bool, names: &dyn Names) -> bool {
    match words {
        [name, ..] if name == "echo" => true,
        [name, folder] if name == "cd" => is_first && Path::new(folder) == names.project(),
        _ => false,
    }
}
