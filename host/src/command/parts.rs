//! The commands of a compound line, where the line does no more than run them.
//!
//! Models like to write `cd sub && cargo test 2>&1 | tail -20`. Such a line adds nothing to its commands: so a yes to each of
//! them covers it, and a permanent yes to it is one to each of them. That holds only if
//!
//! - the line is a chain of simple commands, whose words are final before it runs,
//! - each of them is one of which a promise is known, so that what an earlier one writes or prints decides nothing about
//!   what a later one is: no file that a yes would be bound to, no name that becomes another,
//! - behind a pipe stand only programs that run nothing else, as no promise about `cargo test` says what it reads, and
//! - a line that may change the repository gives this right to no code of the project.
//!
//! What may stand beside such commands:
//!
//! - Commands of the shell itself that decide nothing about the ones behind them: `echo`, `test -f x`.
//! - `cd` into the project, or into a folder of it, at the beginning of the line, with `&&` behind it. A command of which
//!   more is known than that it runs nothing else counts only if it runs in this folder and nowhere else: not behind a `;` or
//!   `||`, where it runs in the project if there is no such folder any more.
//! - [Variables](super::variables) that decide nothing about what runs.
//! - `time` in front of a program, alone or with `-p`. To bash it is syntax that changes nothing about what runs, to dash a
//!   program that starts the other one with the same words. So it counts where that program cannot be changed by commands; where
//!   there is none, only to bash.
//! - Patterns (`wc -l src/*.rs`), for a program that runs nothing else and writes nothing. Whoever can write in the project
//!   chooses the names of files, and one may look like an option: `*.py` stands for `--output=x.py`. So a pattern either
//!   begins with a character that no option begins with, or the program keeps its promise with any words.
//!
//! Where a yes to one of the commands cannot be stored, the question names that command.

use std::path::Path;
use std::sync::Arc;

use super::folder::InFolder;
use super::not_storable::MAX_NAME_CHARS;
use super::words::SimpleCommand;
use super::{Names, Way, is_git, known, may_change_repository, patterns, programs, simple_target};
use crate::display;
use crate::target::{CommandKey, CommandTarget};

/// Commands of one line that a question can name so that somebody reads them.
pub(super) const MAX_PARTS: usize = 8;

/// A command of a line that is nothing but simple commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineCommand {
    /// In words: `git push`. Not escaped.
    pub name: String,
    /// What has to be allowed. `None`: only a yes to the line as a whole covers it.
    pub target: Option<Arc<CommandTarget>>,
}

/// What a chain is made of; nothing if the line is anything else.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// The commands, without those of the shell that are harmless.
    pub(super) commands: Vec<LineCommand>,
    /// Whether the shell carries out all of it itself.
    pub(super) is_of_shell: bool,
    /// If a yes to each of them covers the line: words that name files, and the folder of the project in which they do. Empty:
    /// the project.
    pub(super) words: Vec<(String, Vec<String>)>,
}

impl Parts {
    /// What has to be allowed so that the line is; none: it counts as a whole.
    pub(super) fn targets(&self) -> Vec<Arc<CommandTarget>> {
        let targets: Option<Vec<_>> = self.commands.iter().map(|it| it.target.clone()).collect();
        let targets = targets.filter(|targets| targets.len() <= MAX_PARTS);
        targets.unwrap_or_default()
    }
}

/// What is known of the commands of a chain.
pub(super) fn read(commands: &[SimpleCommand], names: &dyn Names) -> Parts {
    let mut parts = Parts {
        is_of_shell: !commands.is_empty() && commands.iter().all(|it| it.is_of_shell),
        ..Parts::default()
    };
    let mut reader = Reader {
        names,
        is_usual: names.has_usual_shell(),
        folder: None,
        is_elsewhere: false,
    };
    for (at, command) in commands.iter().enumerate() {
        let read = reader.command(command, at, commands.get(at + 1));
        let words = words_of(command, &reader.folder, names).ok_or(InTheWay(""));
        match read.and_then(|target| Ok((target, words?))) {
            Ok((target, words)) => {
                parts.words.extend(words);
                parts.commands.extend(target.map(|target| LineCommand {
                    name: target.key.short(),
                    target: Some(Arc::new(target)),
                }));
            }
            Err(InTheWay(place)) => {
                let words = CommandKey::Line(command.words.clone()).short();
                let words = display::shorten(&words, MAX_NAME_CHARS);
                parts.commands.push(LineCommand {
                    name: format!("{words}{place}"),
                    target: None,
                });
            }
        }
    }
    // Code of the project does not get the right to change the repository beside git.
    let is_contained = |it: &&LineCommand| it.target.as_deref().is_none_or(is_contained);
    if let Some(code) = parts.commands.iter().find(|it| !is_contained(it)) {
        let beside = format!(" beside {}", code.name);
        for command in &mut parts.commands {
            if command.target.as_deref().is_some_and(may_change_repository) {
                command.target = None;
                command.name.push_str(&beside);
            }
        }
    }
    if parts.targets().is_empty() {
        parts.words.clear();
    }
    parts
}

/// Why a yes to its commands does not cover a line: one of them is, in this place of the line.
struct InTheWay(&'static str);

/// What is known of a line in front of the command that is read.
struct Reader<'a> {
    names: &'a dyn Names,
    /// Whether nothing in the environment changes what `cd` and patterns mean.
    is_usual: bool,
    /// The folder of the project that commands run in, if it is another than the project.
    folder: Option<String>,
    /// Whether commands may run in the project as well.
    is_elsewhere: bool,
}

impl Reader<'_> {
    /// What has to be allowed for a command; `None`: nothing.
    fn command(
        &mut self,
        command: &SimpleCommand,
        at: usize,
        next: Option<&SimpleCommand>,
    ) -> Result<Option<CommandTarget>, InTheWay> {
        if !self.is_usual && (command.words[0] == "cd" || !command.patterns.is_empty()) {
            return Err(InTheWay(""));
        }
        self.is_elsewhere |= self.folder.is_some() && matches!(command.separator, ";" | "||");
        if command.is_of_shell {
            match command.words.as_slice() {
                [name, word] if name == "cd" && at == 0 && is_plain(command) => {
                    self.folder = folder_of(word, next, self.names).ok_or(InTheWay(""))?;
                }
                _ if is_harmless(command) => {}
                _ => return Err(InTheWay("")),
            }
            return Ok(None);
        }
        let part = match &self.folder {
            Some(folder) => {
                let names = self.names;
                part(command, &InFolder { names, folder })?
            }
            None => part(command, self.names)?,
        };
        if !self.takes_time_alone(command.timer) {
            return Err(InTheWay(" behind time"));
        }
        let is_bound_to_folder = !matches!(part.key, CommandKey::Program(_));
        if self.is_elsewhere && (is_bound_to_folder || !command.patterns.is_empty())
            || self.folder.is_some() && may_change_repository(&part)
            || self.folder.is_some()
                && runs_git(&part)
                && !is_of_repository(&self.folder, self.names)
        {
            return Err(InTheWay(" in another folder"));
        }
        Ok(Some(part))
    }

    /// Whether what stands in front of a command only takes its time, whether the shell does that or a program.
    fn takes_time_alone(&self, timer: &[&str]) -> bool {
        let Some(name) = timer.first() else {
            return true;
        };
        match self.names.program(name) {
            Ok(program) => {
                self.names.way(name) == Way::Fixed
                    && known::name_of(&program) == *name
                    && !self.names.is_script(&program)
            }
            // With `-p` behind it, bash takes it for a program, too, if it was started as `sh`.
            Err(_) => timer.len() == 1 && self.names.shell().ends_with("bash"),
        }
    }
}

/// Whether it runs no code of the project, or is git itself.
fn is_contained(part: &CommandTarget) -> bool {
    matches!(part.key, CommandKey::Program(_)) || runs_git(part)
}

fn runs_git(part: &CommandTarget) -> bool {
    part.programs.iter().any(|it| is_git(&it.called))
}

fn is_of_repository(folder: &Option<String>, names: &dyn Names) -> bool {
    let folder = folder.as_deref().and_then(|folder| names.folder(folder));
    folder.is_some_and(|it| it.is_of_repository)
}

/// Whether the words are final, and no variable is set.
fn is_plain(command: &SimpleCommand) -> bool {
    command.variables.is_empty() && command.patterns.is_empty() && !command.shows_status
}

/// Where the commands behind a `cd` run. `Some(None)`: in the project, as without it.
fn folder_of(
    word: &str,
    next: Option<&SimpleCommand>,
    names: &dyn Names,
) -> Option<Option<String>> {
    if Path::new(word) == names.project() {
        return Some(None);
    }
    // If it fails, none of them runs.
    next.filter(|next| next.separator == "&&")?;
    names.folder(word).map(|folder| Some(folder.path))
}

/// A command of which a promise is known.
fn part(command: &SimpleCommand, names: &dyn Names) -> Result<CommandTarget, InTheWay> {
    let part = simple_target(&command.words, names).map_err(|_| InTheWay(""))?;
    let is_known = match part.key {
        CommandKey::Program(_) => true,
        CommandKey::Words(_) if command.separator == "|" => {
            return Err(InTheWay(" behind a pipe"));
        }
        CommandKey::Words(_) => command.patterns.is_empty(),
        _ => false,
    };
    let is_known = is_known
        && part.is_storable
        && !part.is_unclear
        && !part.only_once
        && !command.shows_status
        && is_known_with_files(command, &part, names);
    match is_known {
        true => Ok(part),
        false => Err(InTheWay("")),
    }
}

/// Whether the same is known of a command whatever files its patterns stand for.
fn is_known_with_files(command: &SimpleCommand, part: &CommandTarget, names: &dyn Names) -> bool {
    let words = &command.words;
    // Wrappers and their options stand before it.
    let start = words.len().saturating_sub(part.subject.len());
    command.patterns.iter().all(|at| {
        let is_fixed = !words[*at].starts_with(['*', '?', '-', '+']);
        // What one pattern stands for can be several words.
        let twice: Vec<String> = words[..=*at].iter().chain(&words[*at..]).cloned().collect();
        let twice = simple_target(&twice, names).ok();
        *at > start
            && (is_fixed || programs::takes_any_word(&words[start..], names))
            && twice.is_some_and(|twice| twice.key == part.key)
    })
}

/// The words of a command that may name files, where they do so.
fn words_of(
    command: &SimpleCommand,
    folder: &Option<String>,
    names: &dyn Names,
) -> Option<Vec<(String, Vec<String>)>> {
    let folder = folder.clone().unwrap_or_default();
    let is_pattern = |at: &usize| command.patterns.contains(at);
    let plain = (0..command.words.len()).filter(|at| !is_pattern(at));
    let mut words: Vec<String> = plain.map(|at| command.words[at].clone()).collect();
    let mut all = Vec::new();
    for at in &command.patterns {
        let pattern = &command.words[*at];
        words.extend(match folder.as_str() {
            "" => patterns::files(pattern, names)?,
            folder => patterns::files(pattern, &InFolder { names, folder })?,
        });
    }
    if let Some(below) = known::folder(&command.words) {
        let path = match folder.as_str() {
            "" => below.to_owned(),
            folder => format!("{folder}/{below}"),
        };
        all.push((path, words.clone()));
    }
    all.push((folder, words));
    Some(all)
}

/// Whether a command of the shell itself changes nothing about the commands behind it, but for skipping them.
///
/// An allow-list of forms: many of these commands do more with other words. `test -v` and `printf -v` of bash run what stands
/// in a word as an index.
fn is_harmless(command: &SimpleCommand) -> bool {
    let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
    if !command.variables.is_empty() {
        return false;
    }
    if let ["echo", ..] = words.as_slice() {
        return true;
    }
    if !command.patterns.is_empty() {
        return false;
    }
    match words.as_slice() {
        ["exit"] => true,
        ["exit", status] => *status == "$?" || status.chars().all(|c| c.is_ascii_digit()),
        _ if command.shows_status => false,
        [":" | "true" | "false" | "pwd"] => true,
        ["command", "-v", name @ ..] | ["type", name @ ..] => {
            name.iter().all(|name| !name.starts_with('-'))
        }
        ["printf", format, ..] => !format.starts_with('-') && prints_text(format),
        // They end the line earlier, if anything.
        ["set", "-e" | "-u" | "-eu"] => true,
        ["set", "-o" | "-eo" | "-euo", "pipefail"] => true,
        ["test", operator, _] | ["[", operator, _, "]"] => matches!(
            *operator,
            "-d" | "-e" | "-f" | "-h" | "-L" | "-n" | "-r" | "-s" | "-w" | "-x" | "-z"
        ),
        _ => false,
    }
}

/// Whether a format of `printf` puts words in as they are. Some shells evaluate those that stand for numbers.
fn prints_text(format: &str) -> bool {
    let mut characters = format.chars();
    while let Some(c) = characters.next() {
        if c == '%' && !matches!(characters.next(), Some('s' | '%')) {
            return false;
        }
    }
    true
}
