//! Understands command lines, for decisions about permissions.
//!
//! A line that is plainly one program with plain words is *simple*. Everything else is *compound*: it can be allowed once
//! or until the session ends, exactly as it stands, and is never stored. Not understanding something makes a line compound,
//! never simple. A compound line that is nothing but simple commands of which something is known is covered by a yes to
//! each of them (`parts`).
//!
//! - `words` reads a simple command, by a grammar small enough to be seen through. No parser of others is used:
//!   those for whole shell scripts understand more than may be granted, and the ones there are end the program
//!   on lines that a model can write: tree-sitter's reads behind its memory on some of five bytes, brush's
//!   overflows the stack, or never comes back. What shells really do with the lines is the measure: `fuzz` runs
//!   them in `sh` and `bash`.
//! - `known` lists the programs and subcommands of which a lasting yes may cover more than the exact line.
//! - `programs` and `find` make out, roughly and generously, which programs a line runs, so that a denied one
//!   refuses it.
//!
//! What a lasting yes covers is a [`CommandKey`], worked out for each line in the same way: a stored yes covers a line only
//! if this line would be stored under the same key. So a yes never covers more than the words that were shown with it.
//! What a program may do at all is for the sandbox in which commands run.

mod builtins;
mod contents;
mod danger;
mod find;
mod folder;
#[cfg(test)]
mod fuzz;
mod known;
mod missing;
mod named;
mod names;
mod not_storable;
mod parts;
mod patterns;
mod pieces;
mod programs;
mod reason;
mod runs;
mod script;
mod server;
mod started;
#[cfg(test)]
mod tests;
mod variables;
mod words;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::contents::{MAX_BOUND_BYTES, state_of};
pub(crate) use self::find::words_of;
use self::folder::InFolder;
use self::known::Known;
pub(crate) use self::known::may_mean;
use self::named::{Bound, Guarded};
pub use self::names::CommandError;
pub(crate) use self::names::{Folder, Guard, Named, Names, Way};
pub use self::not_storable::NotStorable;
pub use self::parts::LineCommand;
use self::parts::Parts;
pub(crate) use self::pieces::{modules, pieces_of};
use self::programs::Programs;
pub(crate) use self::runs::Line;
pub use self::started::StartError;
pub use self::words::{NotSimple, SimpleCommand, chained_commands, simple_words};
use crate::ask::Scope;
use crate::limits;
use crate::permission::{Permissions, SessionMode};
use crate::process::linked_worktree;
use crate::target::{CommandKey, CommandTarget, Need, Operation, ProgramFile, Target};

/// A command line, understood as far as that is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Exactly as it will be handed to the shell.
    pub line: String,
    /// Whether the command wants to reach the network.
    pub network: bool,
    /// Whether it runs in a sandbox in which it can write nothing but its temporary folder, and has no network: plan mode was
    /// on when the line was read.
    pub is_read_only: bool,
    /// Why it is more than one simple command. `None`: it is one.
    pub compound: Option<NotSimple>,
    /// What is decided about.
    pub target: Arc<CommandTarget>,
    /// Its commands, where it is a chain of simple ones.
    pub commands: Vec<LineCommand>,
    /// Files that it names, resolved, and that no tool reads without being asked for: what looks like a secret,
    /// what belongs to Dunlin.
    pub guarded: Vec<PathBuf>,
    /// Whether it names so many files that not all of them were looked at.
    pub is_overlong: bool,
    /// Whether it runs git to do more than look: only such a command may change the project's repository. So what the
    /// user reads tells it, and a script or a test cannot do it unseen. What a yes is bound to covers whatever else this
    /// depends on, so that it never comes to mean more.
    pub may_change_repository: bool,
    /// Then also the repository elsewhere that the project is a worktree of, unless changing it is denied.
    pub repository_elsewhere: Option<PathBuf>,
}

impl Names for Permissions {
    fn program(&self, word: &str) -> Result<ProgramFile, CommandError> {
        let program = self.word_program(word)?;
        match is_executable(&program.real) {
            true => Ok(program),
            false => Err(CommandError::NoProgram {
                path: word.to_owned(),
            }),
        }
    }

    fn way(&self, word: &str) -> Way {
        Permissions::way(self, word)
    }

    fn loads_changeable(&self) -> bool {
        Permissions::loads_changeable(self)
    }

    fn is_script(&self, program: &ProgramFile) -> bool {
        !matches!(script::head(&program.real), Ok(head) if !script::is_script(&head))
    }

    fn shell(&self) -> &Path {
        Permissions::shell(self)
    }

    fn project(&self) -> &Path {
        Permissions::project(self)
    }

    fn is_plan_mode(&self) -> bool {
        self.session_mode() == SessionMode::Plan
    }

    fn at_home(&self, word: &str) -> Option<String> {
        Permissions::at_home(self, word)
    }

    fn named(&self, word: &str) -> Named {
        Permissions::named(self, word)
    }

    fn real(&self, word: &str) -> Option<PathBuf> {
        self.passed(word).real.ok().flatten()
    }

    fn names_in(&self, folder: &str, most: usize) -> Option<Vec<String>> {
        let folder = if folder.is_empty() { "." } else { folder };
        let path = match Permissions::named(self, folder) {
            Named::Folder => self.passed(folder).real.ok().flatten(),
            Named::Other { path, is_folder } if is_folder => Some(path),
            _ => None,
        };
        let Some(path) = path else {
            return Some(Vec::new());
        };
        let entries = std::fs::read_dir(path).ok()?;
        // What cannot be read whole, or written as text, may be any name.
        let name =
            |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
        let names: Vec<String> = entries.take(most + 1).map(name).collect::<Option<_>>()?;
        (names.len() <= most).then_some(names)
    }

    fn is_inside(&self, word: &str) -> bool {
        let is_relative = Path::new(word)
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        let passed = self.passed(word);
        let is_there = |path: PathBuf| path.starts_with(self.project()) && path.exists();
        self.is_project()
            && is_relative
            && !word.starts_with('~')
            && !passed.is_in_procfs
            && passed.real.ok().flatten().is_some_and(is_there)
    }

    fn has_usual_shell(&self) -> bool {
        Permissions::has_usual_shell(self)
    }

    fn folder(&self, word: &str) -> Option<Folder> {
        self.folder_of_project(word)
    }

    fn repository_elsewhere(&self) -> Option<PathBuf> {
        let repository = linked_worktree(self.project())?.repository;
        let need = writing(repository.clone());
        // Where that is denied, the line runs without it.
        let is_denied = self.denies(&need);
        (!is_denied).then_some(repository)
    }

    fn guarded(&self, word: &str) -> Guard {
        let passed = self.passed(word);
        let is_guarded = |path: &PathBuf| {
            self.is_protected(&Target::Path(path.clone()))
                || self.is_secret_place(path)
                || named::is_secret(word, path)
        };
        Guard {
            is_unclear: passed.is_in_procfs || passed.real.is_err(),
            path: passed.real.ok().flatten().filter(is_guarded),
        }
    }
}

pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// Whether a file begins like a script.
pub(crate) fn is_script_file(path: &Path) -> bool {
    script::head(path).is_ok_and(|head| script::is_script(&head))
}

impl CommandLine {
    /// Reads a line. A program that does not exist, in a line that is simple otherwise, is an error.
    ///
    /// Blocks for the file system: some look-ups for each word, and the files that a yes would be bound to are read.
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
        let is_read_only = names.is_plan_mode();
        if is_read_only && network {
            return Err(CommandError::NetworkInPlanMode);
        }
        let (compound, target, commands, guarded, may_change_repository) = match simple_words(&line)
        {
            Ok(words) => {
                let target = simple_target(&words, names)?;
                let runs_git = may_change_repository(&target);
                let mut guarded = named::guarded(words[1..].iter().map(String::as_str), names);
                if let Some(folder) = known::folder(&words) {
                    guarded.add(guarded_in(folder, &words[1..], names));
                }
                (None, target, Vec::new(), guarded, runs_git)
            }
            Err(first) => {
                let found = find::commands(&line);
                let chain = words::chain(&line);
                let in_chain = chain.as_deref().unwrap_or_default();
                let parts = parts::read(in_chain, names);
                let target = compound_target(&line, &parts, names);
                let why = why_compound(first, chain, target.only_once);
                let mut called = found
                    .commands
                    .iter()
                    .filter_map(|words| words.first()?.as_ref());
                let runs_git = match target.parts.is_empty() {
                    true => called.any(|name| is_git(Path::new(name))),
                    false => target.parts.iter().any(|it| may_change_repository(it)),
                };
                let words = found
                    .commands
                    .iter()
                    .flatten()
                    .flatten()
                    .chain(&found.files);
                let mut guarded = named::guarded(words.map(String::as_str), names);
                for (folder, words) in &parts.words {
                    guarded.add(guarded_in(folder, words, names));
                }
                (Some(why), target, parts.commands, guarded, runs_git)
            }
        };
        let may_change_repository = may_change_repository && !is_read_only;
        let is_unclear = target.is_unclear || guarded.is_unclear;
        let target = CommandTarget {
            is_unclear,
            is_storable: target.is_storable && !is_unclear,
            not_storable: match is_unclear {
                true => Some(NotStorable::Unclear),
                false => target.not_storable,
            },
            ..target
        };
        Ok(CommandLine {
            line,
            network,
            is_read_only,
            compound,
            target: Arc::new(target),
            commands,
            is_overlong: guarded.is_overlong,
            guarded: guarded.files,
            may_change_repository,
            repository_elsewhere: may_change_repository
                .then(|| names.repository_elsewhere())
                .flatten(),
        })
    }

    /// What running it needs: the command itself, to read what is guarded, and to change the repository elsewhere.
    pub fn needs(&self) -> Vec<Need> {
        let command = Need {
            target: Target::Command(Arc::clone(&self.target)),
            operation: Operation::Execute,
        };
        let guarded = self.guarded.iter().map(|path| Need {
            target: Target::Path(path.clone()),
            operation: Operation::Read,
        });
        let repository = self.repository_elsewhere.clone().map(writing);
        std::iter::once(command)
            .chain(guarded)
            .chain(repository)
            .collect()
    }

    /// The longest that a yes may hold. `has_network`: commands may reach the network anyway.
    pub fn longest(&self, has_network: bool) -> Scope {
        if self.is_read_only || self.is_sensitive(has_network) || self.target.only_once {
            Scope::Once
        } else if self.target.is_storable || !self.target.parts.is_empty() {
            Scope::Always
        } else {
            Scope::Session
        }
    }

    /// Whether the user wants to see it however far the tool is trusted: it names secrets or what cannot be told, or wants
    /// to reach the network. `has_network` as above.
    pub fn is_sensitive(&self, has_network: bool) -> bool {
        !self.guarded.is_empty()
            || self.is_overlong
            || self.target.is_unclear
            || (self.network && !has_network)
    }

    /// How long a yes to it may hold and why, and what changes that; `None`: there is nothing to say. `longest`: the longest
    /// that it may hold here.
    pub fn explanation(&self, longest: Scope) -> Option<String> {
        reason::long(self, longest)
    }

    /// Why a yes to it cannot be stored, as the end of a sentence: `because of git push`. `None`: it can.
    pub fn not_storable_because(&self) -> Option<String> {
        reason::because(self)
    }

    /// What the user should know before answering, a short sentence each. `is_allowed`: whether a lasting yes covers a
    /// command of it.
    pub fn notices(
        &self,
        has_network: bool,
        is_allowed: &dyn Fn(&CommandTarget) -> bool,
    ) -> Vec<String> {
        let mut notices = Vec::new();
        if self.is_read_only {
            notices.push(
                "Plan mode: it can change nothing and has no network. A yes counts once."
                    .to_owned(),
            );
        }
        match &self.compound {
            _ if !self.is_read_only && !self.is_sensitive(has_network) => {
                notices.extend(reason::short(self, is_allowed));
            }
            Some(NotSimple::Unseen(what)) => notices.push(format!("This line has {what}.")),
            _ => {}
        }
        notices.extend(danger::dangers(&self.line));
        if self.network && !has_network {
            notices.push("Needs network access, so this is asked about each time.".to_owned());
        }
        if self.may_change_repository {
            notices.push(match &self.repository_elsewhere {
                None => "It may change the git repository.".to_owned(),
                Some(path) => format!(
                    "It may change the git repository {}, which this worktree belongs to.",
                    path.display()
                ),
            });
        }
        if self.target.is_unclear {
            notices.push(
                "It names something in /proc, or something that cannot be looked at: the command may find another file \
                 there than Dunlin."
                    .to_owned(),
            );
        }
        if self.is_overlong {
            notices.push("It names too many files to look for secrets among them.".to_owned());
        }
        notices.extend(
            self.guarded
                .iter()
                .map(|path| format!("It names {}, which usually holds secrets.", path.display())),
        );
        notices
    }
}

/// To change what is at a path.
fn writing(path: PathBuf) -> Need {
    Need {
        target: Target::Path(path),
        operation: Operation::Write,
    }
}

fn is_git(program: &Path) -> bool {
    program.file_name() == Some("git".as_ref())
}

/// Whether a simple command runs git to do more than look.
fn may_change_repository(command: &CommandTarget) -> bool {
    let only_looks = matches!(&command.key, CommandKey::Words(words)
        if words.get(1).is_none_or(|word| known::only_looks(word)));
    command.programs.iter().any(|it| is_git(&it.called)) && !only_looks
}

/// Why a line is not simple. `first`: the first reason. What separates the commands of a chain is in nobody's way, so of a line
/// that is none, or of which not all is known, the reason behind the separators is said.
fn why_compound(
    first: NotSimple,
    chain: Result<Vec<SimpleCommand>, NotSimple>,
    only_once: bool,
) -> NotSimple {
    match chain {
        Err(why) => why,
        Ok(chain) if only_once => {
            // What is hidden from `echo` is nothing that runs.
            let programs = chain.iter().filter(|it| !it.is_of_shell);
            let hidden = programs.chain(&chain).find_map(SimpleCommand::expansion);
            hidden.unwrap_or(first)
        }
        Ok(_) => first,
    }
}

/// Works out what a lasting yes to a simple line would cover.
fn simple_target(words: &[String], names: &dyn Names) -> Result<CommandTarget, CommandError> {
    let simple = programs::of_simple(words, names)?;
    let mut others = Programs::new(names);
    let arguments = &words[simple.start + 1..];
    // A wrapper is the first of several.
    let Some(program) = simple.programs.last() else {
        return Err(CommandError::Empty);
    };
    others.arguments_of(program, simple.way, arguments);
    let subject: Vec<String> = std::iter::once(program.called.to_string_lossy().into_owned())
        .chain(arguments.iter().cloned())
        .collect();
    let name = known::name_of(program);
    let takes_data = simple.way == Way::Fixed
        && !names.is_script(program)
        && known::takes_data(&name, arguments);
    let key = match known::of_program(program, simple.way, arguments, names) {
        Known::Inert => CommandKey::Program(program.called.clone()),
        Known::Words(words) => {
            CommandKey::Words(subject[..1].iter().cloned().chain(words).collect())
        }
        Known::Nothing => CommandKey::Line(subject.clone()),
    };
    let bound = match key {
        CommandKey::Line(_) if takes_data => Bound::nothing(),
        CommandKey::Line(_) => {
            let own = std::iter::once((program.clone(), simple.way));
            let programs: Vec<(ProgramFile, Way)> = own.chain(others.all()).collect();
            named::bound(&programs, arguments, None, None, names)
        }
        _ => Bound::nothing(),
    };
    let is_line = matches!(key, CommandKey::Line(_));
    let may_be_code = is_line && !takes_data && pieces::may_be_code(arguments);
    let is_key = program.called.to_str().is_some() && key.is_storable();
    let not_storable = bound.not_storable().cloned();
    let not_storable = not_storable.or(may_be_code.then_some(NotStorable::Code));
    let not_storable = not_storable.or((!is_key).then_some(NotStorable::Key));
    let is_unknown = others.is_incomplete || others.hides_program || others.hides_words;
    Ok(CommandTarget {
        folder: is_line.then(|| names.project().to_owned()),
        is_storable: not_storable.is_none(),
        only_once: bound.missed.is_some() || is_unknown,
        not_storable: match is_unknown && bound.missed.is_none() {
            true => Some(NotStorable::Unknown),
            false => not_storable,
        },
        is_unclear: simple.way == Way::Unclear,
        looked_up: bound.looked_up,
        key,
        subject,
        programs: simple.programs,
        mentioned: others.run.into_iter().chain(others.mentioned).collect(),
        is_incomplete: others.is_incomplete,
        hides_program: others.hides_program,
        unread: others.unread,
        commands: others.commands,
        contents: contents::of(&bound.files),
        covers: bound.files,
        parts: Vec::new(),
    })
}

/// What of the words is guarded in a folder of the project; empty is the project.
fn guarded_in(folder: &str, words: &[String], names: &dyn Names) -> Guarded {
    let words = words.iter().map(String::as_str);
    match folder {
        "" => named::guarded(words, names),
        folder => named::guarded(words, &InFolder { names, folder }),
    }
}

fn compound_target(line: &str, parts: &Parts, names: &dyn Names) -> CommandTarget {
    let mut found = Programs::new(names);
    found.line(line);
    let shell = ProgramFile {
        called: names.shell().to_owned(),
        real: names.shell().to_owned(),
    };
    let mut bound = Bound::nothing();
    match line.len() <= words::MAX_BYTES && !found.is_incomplete {
        true => bound = runs::bound_by(line, &found, None, None, names),
        false => bound.miss(NotStorable::Unknown),
    }
    let mut programs = found.run;
    if !programs.iter().any(|program| program.real == shell.real) {
        programs.push(shell);
    }
    let is_of_shell = parts.is_of_shell;
    let parts = match bound.missed.is_some() {
        true => Vec::new(),
        false => parts.targets(),
    };
    // What is hidden there decides nothing about what runs.
    let hides = (found.hides_program || found.hides_words) && parts.is_empty();
    let missed = bound.missed.or(hides.then_some(NotStorable::Unknown));
    CommandTarget {
        key: CommandKey::Text(line.to_owned()),
        is_storable: false,
        parts,
        only_once: missed.is_some(),
        not_storable: missed.or(is_of_shell.then_some(NotStorable::NoProgram)),
        is_unclear: false,
        looked_up: bound.looked_up,
        subject: Vec::new(),
        programs,
        mentioned: found.mentioned,
        is_incomplete: found.is_incomplete,
        hides_program: found.hides_program,
        unread: found.unread,
        commands: found.commands,
        contents: contents::of(&bound.files),
        covers: bound.files,
        folder: None,
    }
}
