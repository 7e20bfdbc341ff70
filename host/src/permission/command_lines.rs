//! Decides about command lines.
//!
//! A stored or session-long yes covers a line only if the line comes to the same key, and what it runs is still the same:
//! the file behind the program's path, and the content of the files that the line names and that commands can change. A key
//! that a person wrote covers what it says: `$ cargo test` everything that begins with these words. A no is read
//! generously: it also holds for the program by any of its paths, and for every line in which the program is found, whatever
//! a more specific key allows.

use std::path::{Path, PathBuf};

use super::file::{Grantee, OperationName, Runs};
use super::grantee::Caller;
use super::key::{Decided, Key};
use super::rule::Change;
use super::{Permissions, Rule, State};
use crate::command::{is_executable, may_mean, state_of};
use crate::resolve::{self, ResolveError};
use crate::target::{CommandKey, CommandTarget, Operation, ProgramFile, Target};

/// What one layer says of a command.
pub(super) enum Found {
    Allow(Rule),
    Deny(Rule),
    /// Nothing; perhaps there was a yes that no longer holds.
    Open(Option<Rule>),
}

impl Permissions {
    /// Looks a program up as it is called.
    pub(crate) fn program_file(&self, written: &str) -> Result<ProgramFile, ResolveError> {
        self.places.program(written, &self.search_path)
    }

    /// Whether a command or a tool could change this file without a question.
    pub(crate) fn is_writable_for_commands(&self, path: &Path) -> bool {
        if (self.is_project && path.starts_with(&self.places.project))
            || self.writable.iter().any(|root| path.starts_with(root))
        {
            return true;
        }
        let target = Target::Path(path.to_owned());
        let mut state = self.lock();
        // A file that cannot be read allows nothing.
        if self.refresh(&mut state).is_err() {
            return true;
        }
        Key::candidates(&target).iter().any(|key| {
            let stored = state.stored.get(key);
            let session = state.session.get(&(key.clone(), Operation::Write));
            stored.is_some_and(|entry| entry.bits.get(Operation::Write) == Decided::Allow)
                || session.is_some_and(|answers| answers.iter().any(|answer| answer.allow))
        })
    }

    /// Whether commands could change what a program finds under this path, a folder that it looks into included: anything on
    /// the way to it lies where they can write, or they can write to something in it. So it is with what cannot be
    /// resolved: a command may make what a link leads to.
    ///
    /// This depends on what is granted at this moment. Blocks for the file system.
    pub fn can_commands_change(&self, path: &Path) -> bool {
        let (is_changeable, real) = self.walk_for_commands(path);
        is_changeable || real.is_none_or(|real| self.can_write_in(&real))
    }

    /// Whether commands could put something else at this path: anything on the way to it lies where they can write. What
    /// they may write below it does not count.
    ///
    /// This depends on what is granted at this moment. Blocks for the file system.
    pub fn can_commands_replace(&self, path: &Path) -> bool {
        self.walk_for_commands(path).0
    }

    /// Whether anything on the way lies where commands can write, and what the path leads to if that exists.
    fn walk_for_commands(&self, path: &Path) -> (bool, Option<PathBuf>) {
        let mut passed = Vec::new();
        let path = self.places.project.join(path);
        let real = resolve::walk(&path, |part| passed.push(part.path.to_owned()));
        let real = real.ok().filter(|real| real.exists());
        passed.extend(real.clone());
        let mut passed = passed.iter();
        let is_changeable = passed.any(|part| self.is_writable_for_commands(part));
        (is_changeable, real)
    }

    /// Whether every program that a command starts may load a library that commands can change.
    pub(crate) fn loads_changeable(&self) -> bool {
        self.libraries.iter().any(|path| {
            let (is_changeable, real) = self.walk_for_commands(path);
            is_changeable || real.is_some_and(|real| self.can_write_in(&real))
        })
    }

    /// Whether no variable tells a shell to take folders and patterns for others, or that it is another shell.
    pub(crate) fn has_usual_shell(&self) -> bool {
        self.has_usual_shell
    }

    /// Whether commands may write to something in a folder, though not to the folder.
    fn can_write_in(&self, folder: &Path) -> bool {
        let mut state = self.lock();
        if self.refresh(&mut state).is_err() {
            return true;
        }
        let stored = state.stored.iter();
        let stored = stored
            .filter(|(_, entry)| entry.bits.get(Operation::Write) == Decided::Allow)
            .map(|(key, _)| key);
        let session = state.session.iter();
        let session = session
            .filter(|((_, operation), answers)| {
                *operation == Operation::Write && answers.iter().any(|answer| answer.allow)
            })
            .map(|((key, _), _)| key);
        let mut granted = stored.chain(session).filter_map(|key| match key {
            Key::Exact(path) | Key::Below(path) => Some(path),
            Key::Url(_) | Key::UrlBelow(_) | Key::Command(_) => None,
        });
        let mut configured = self.writable.iter();
        let is_in_it = |path: &PathBuf| path.parent() == Some(folder);
        granted.any(is_in_it) || configured.any(is_in_it)
    }

    /// A no that the command may get round, since not all that it runs was made out.
    pub(super) fn may_hide_denied(&self, state: &State, command: &CommandTarget) -> Option<Rule> {
        let hides_program = command.hides_program || command.is_incomplete;
        // Only a key for exactly this start allows a server.
        if command.is_server() {
            return None;
        }
        let stored = state.stored.iter().filter_map(|(key, entry)| {
            let bits = entry.bits;
            let is_denied = bits.get(Operation::Execute) == Decided::Deny;
            let says_more = [Operation::Read, Operation::Write]
                .into_iter()
                .any(|operation| bits.get(operation) != Decided::Open);
            is_denied.then_some((key, says_more))
        });
        let session = state
            .session
            .iter()
            .filter_map(|((key, operation), answers)| {
                let is_denied = answers.last().is_some_and(|answer| !answer.allow);
                (is_denied && *operation == Operation::Execute).then_some((key, false))
            });
        let mut denied = stored
            .chain(session)
            .filter_map(|(key, says_more)| match key {
                Key::Command(key) => Some((key, says_more)),
                Key::Exact(_) | Key::Below(_) | Key::Url(_) | Key::UrlBelow(_) => None,
            });
        let may_hide = |(key, says_more): &(&CommandKey, bool)| match key {
            CommandKey::Words(words) | CommandKey::Line(words) => {
                let is_unread = |program: &String| command.unread.contains(&PathBuf::from(program));
                let is_line = matches!(key, CommandKey::Line(_));
                hides_program
                    || words.len() > 1 && words.first().is_some_and(is_unread)
                    || !is_line && may_be_called(command, words)
            }
            // A file that nobody may touch is denied in the same way, and most are not programs.
            CommandKey::Program(path) => hides_program && (!says_more || is_executable(path)),
            CommandKey::Below(folder) => {
                let mut searched = self.search_path.iter();
                hides_program && (!says_more || searched.any(|path| path.starts_with(folder)))
            }
            CommandKey::Text(_) | CommandKey::Server(_) | CommandKey::SandboxedServer(_) => false,
        };
        denied
            .find(may_hide)
            .map(|(key, _)| Rule::MayHide(key.to_string()))
    }

    /// Whether one of Dunlin's own files would be run.
    pub(super) fn runs_protected(&self, command: &CommandTarget) -> bool {
        command.programs.iter().any(|program| {
            [&program.called, &program.real]
                .into_iter()
                .any(|path| self.is_protected(&Target::Program(path.clone())))
        })
    }
}

/// Whether one of the commands of a line may be this denied one, written in another way.
fn may_be_called(command: &CommandTarget, denied: &[String]) -> bool {
    let Some((program, denied)) = denied.split_first() else {
        return false;
    };
    let name = Path::new(program).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    // The words without the options between them, where all of them are known.
    let own = match &command.key {
        CommandKey::Words(words) => words,
        _ => &command.subject,
    };
    let is_program = |called: &String| {
        let mut programs = command.programs.iter();
        let path = Path::new(program);
        called == program || programs.any(|it| it.called == Path::new(called) && it.real == path)
    };
    let mut all = command.commands.iter().chain([own]);
    all.any(|words| {
        let Some((called, arguments)) = words.split_first() else {
            return false;
        };
        is_program(called) && may_mean(&name, arguments, denied)
    })
}

/// What was answered for this session.
pub(super) fn in_session(
    state: &State,
    caller: Option<&Caller<'_>>,
    command: &CommandTarget,
    now: Option<&Runs>,
    hidden: Option<&Rule>,
) -> Found {
    if state.session.is_empty() {
        return Found::Open(None);
    }
    Keys::of(command).decide(hidden, |key, covers| {
        let key = Key::Command(key.clone());
        let answers = state.session.get(&(key.clone(), Operation::Execute))?;
        let mut stale = None;
        for answer in answers.iter().rev() {
            let rule = answer.rule(&key);
            let (Some(plugin), true) = (&answer.plugin, answer.allow) else {
                return Some(Found::of(answer.allow, rule));
            };
            if covers != Covers::Exactly || caller.is_some_and(|caller| caller.plugin != plugin) {
                continue;
            }
            match changed(answer.runs.as_ref(), now) {
                None => return Some(Found::Allow(rule)),
                Some(change) => stale = Some(Rule::CommandChanged(key.to_string(), change)),
            }
        }
        stale.map(|rule| Found::Open(Some(rule)))
    })
}

/// What the permission file says.
pub(super) fn in_file(
    state: &State,
    caller: Option<&Caller<'_>>,
    command: &CommandTarget,
    now: Option<&Runs>,
    hidden: Option<&Rule>,
) -> Found {
    let found = Keys::of(command).decide(hidden, |key, covers| {
        let entry = state.stored.get(&Key::Command(key.clone()))?;
        let rule = |plugins| Rule::Stored {
            key: entry.key.clone(),
            plugins,
        };
        let grants = match entry.bits.get(Operation::Execute) {
            Decided::Open => return None,
            Decided::Deny => return Some(Found::Deny(rule(Vec::new()))),
            Decided::Allow => entry.grants.get(&OperationName::Execute),
        };
        let Some(grants) = grants else {
            return Some(Found::Allow(rule(Vec::new())));
        };
        if covers != Covers::Exactly {
            return None;
        }
        let mut stale = None;
        for grant in grants {
            let is_name = caller.is_none_or(|caller| caller.plugin.identity() == grant.plugin);
            if !is_name {
                continue;
            }
            if !caller.is_none_or(|caller| grant.is(caller.plugin)) {
                stale = Some(Change::Plugin);
                continue;
            }
            match changed(grant.runs.as_ref(), now) {
                None => return Some(Found::Allow(rule(vec![grant.plugin.clone()]))),
                // A grant in another project says less than one that lapsed here.
                Some(Change::Elsewhere) if stale.is_some() => {}
                Some(change) => stale = Some(change),
            }
        }
        let rule = |change| Rule::CommandChanged(entry.key.clone(), change);
        stale.map(|change| Found::Open(Some(rule(change))))
    });
    match found {
        Found::Open(None) => Found::Open(by_earlier_build(state, command)),
        found => found,
    }
}

/// A stored no that a yes for the session does not outrank: one to a program or a command in the line. The yes outranks
/// only a no under its own key.
pub(super) fn refused_by_file(state: &State, command: &CommandTarget) -> Option<Rule> {
    Keys::of(command).denied(&|key, _| {
        let stored = state.stored.get(&Key::Command(key.clone()))?;
        let answers = state
            .session
            .get(&(Key::Command(key.clone()), Operation::Execute));
        let allowed = answers.and_then(|answers| answers.iter().rev().find(|it| it.allow));
        let rule = Rule::Stored {
            key: stored.key.clone(),
            plugins: Vec::new(),
        };
        match (stored.bits.get(Operation::Execute), allowed) {
            (Decided::Open, _) => None,
            (Decided::Deny, None) => Some(Found::Deny(rule)),
            (Decided::Deny, Some(_)) | (Decided::Allow, _) => Some(Found::Allow(rule)),
        }
    })
}

/// A yes to the whole program that an earlier build stored, or one to the file that the program is a link to.
fn by_earlier_build(state: &State, command: &CommandTarget) -> Option<Rule> {
    let called = Path::new(command.subject.first()?);
    let program = command.programs.iter().find(|it| it.called == called)?;
    [&program.called, &program.real]
        .into_iter()
        .find_map(|path| {
            let key = Key::Command(CommandKey::Program(path.clone()));
            let entry = state.stored.get(&key)?;
            let is_allowed = entry.bits.get(Operation::Execute) == Decided::Allow;
            let grants = entry.grants.get(&OperationName::Execute);
            let is_old = match grants {
                Some(grants) => grants.iter().any(|grant| grant.runs.is_none()),
                None => *path != program.called,
            };
            let rule = || Rule::CommandChanged(entry.key.clone(), Change::Wider);
            (is_allowed && is_old).then(rule)
        })
}

/// How far a key covers the command that it is looked up for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Covers {
    /// The command comes to just this key.
    Exactly,
    /// The command begins like the key: what a person wrote covers it.
    Widely,
    /// Only a no counts.
    No,
}

/// The keys that speak about a command.
struct Keys {
    /// Those about the command itself, the most specific first.
    own: Vec<(CommandKey, Covers)>,
    /// Those about each other program that it may run, the most specific first.
    others: Vec<Vec<CommandKey>>,
}

impl Keys {
    fn of(command: &CommandTarget) -> Keys {
        let mut own = Vec::new();
        let covered = |key: CommandKey| match key == command.key {
            true => (key, Covers::Exactly),
            false => (key, Covers::Widely),
        };
        let mut subject = None;
        match &command.key {
            key @ (CommandKey::Text(_) | CommandKey::Server(_)) => own.push(covered(key.clone())),
            _ => {
                let line = CommandKey::Line(command.subject.clone());
                let line = match &command.key {
                    // It sets variables, many of which decide what runs: a yes to the line alone was given without them.
                    key @ CommandKey::SandboxedServer(_) => {
                        own.push(covered(key.clone()));
                        (line, Covers::No)
                    }
                    _ => covered(line),
                };
                own.push(line);
                for count in (1..=command.subject.len()).rev() {
                    own.push(covered(CommandKey::Words(
                        command.subject[..count].to_vec(),
                    )));
                }
                // Options stand before its words: `git --no-pager log`.
                let is_words = matches!(command.key, CommandKey::Words(_));
                if is_words && !own.iter().any(|(key, _)| *key == command.key) {
                    own.push(covered(command.key.clone()));
                }
                subject = command.subject.first().map(Path::new);
            }
        }
        let mut others = Vec::new();
        for program in command.programs.iter().chain(&command.mentioned) {
            if Some(program.called.as_path()) == subject {
                own.extend(of_subject(program, &command.key));
            } else {
                others.push(of_program(&program.called));
                others.push(of_program(&program.real));
            }
        }
        // A no to a command holds wherever the command is found, also where its program is called by a link.
        let mut programs = command.programs.iter();
        let linked =
            programs.find(|it| Some(it.called.as_path()) == subject && it.real != it.called);
        let by_file = linked.map(|program| {
            let real = program.real.to_string_lossy().into_owned();
            let arguments = command.subject.iter().skip(1).cloned();
            std::iter::once(real)
                .chain(arguments)
                .collect::<Vec<String>>()
        });
        for words in command.commands.iter().chain(&by_file) {
            let line = CommandKey::Line(words.clone());
            let leading = (1..=words.len()).rev();
            let leading = leading.map(|count| CommandKey::Words(words[..count].to_vec()));
            others.push(std::iter::once(line).chain(leading).collect());
        }
        Keys { own, others }
    }

    /// A no to one of the programs or commands that are found in the line: it refuses the line, also where a more specific
    /// key allows it. Only of the folders that its own program lies in the most specific key counts.
    fn denied(&self, says: &impl Fn(&CommandKey, Covers) -> Option<Found>) -> Option<Rule> {
        let mut others = self.others.iter();
        let refused = others.find_map(|keys| {
            let decided = keys.iter().find_map(|key| says(key, Covers::No));
            decided.and_then(Found::denial)
        });
        let mut own = self.own.iter();
        refused.or_else(|| {
            own.find_map(|(key, covers)| match key {
                CommandKey::Below(_) => None,
                key => says(key, *covers).and_then(Found::denial),
            })
        })
    }

    /// Goes through the keys: a no refuses the command, then the first key that decides gives the answer. `hidden`: what
    /// the command may run in spite of a no, so that a yes to more than just this command does not cover it.
    fn decide(
        self,
        hidden: Option<&Rule>,
        says: impl Fn(&CommandKey, Covers) -> Option<Found>,
    ) -> Found {
        if let Some(rule) = self.denied(&says) {
            return Found::Deny(rule);
        }
        let mut stale = None;
        for (key, covers) in &self.own {
            match (says(key, *covers), covers) {
                (Some(Found::Allow(_)), Covers::Widely) if hidden.is_some() => {
                    stale = stale.or(hidden.cloned());
                }
                (Some(Found::Deny(rule)), _) => return Found::Deny(rule),
                (Some(Found::Allow(rule)), Covers::Exactly | Covers::Widely) => {
                    return Found::Allow(rule);
                }
                (Some(Found::Open(rule)), _) => stale = stale.or(rule),
                (Some(Found::Allow(_)), Covers::No) | (None, _) => {}
            }
        }
        Found::Open(stale)
    }
}

/// The keys that name the program of the command: by the path that is called, and by the file that the path leads to, by
/// which it can only be refused.
fn of_subject(program: &ProgramFile, key: &CommandKey) -> Vec<(CommandKey, Covers)> {
    let mut real = of_program(&program.real).into_iter();
    let mut called = of_program(&program.called).into_iter();
    let covers = |it: CommandKey| {
        let covers = match it == *key {
            true => Covers::Exactly,
            false => Covers::Widely,
        };
        (it, covers)
    };
    let mut keys = Vec::new();
    if program.real != program.called {
        keys.extend(real.next().map(|key| (key, Covers::No)));
        keys.extend(called.next().map(covers));
        keys.extend(real.map(|key| (key, Covers::No)));
    }
    keys.extend(called.map(covers));
    keys
}

/// The keys that name a program by its path, and the folders that it lies in.
fn of_program(path: &Path) -> Vec<CommandKey> {
    let folders = path.ancestors().skip(1);
    let folders = folders.map(|folder| CommandKey::Below(folder.to_owned()));
    std::iter::once(CommandKey::Program(path.to_owned()))
        .chain(folders)
        .collect()
}

impl Found {
    fn denial(self) -> Option<Rule> {
        match self {
            Found::Deny(rule) => Some(rule),
            Found::Allow(_) | Found::Open(_) => None,
        }
    }

    fn of(allow: bool, rule: Rule) -> Found {
        match allow {
            true => Found::Allow(rule),
            false => Found::Deny(rule),
        }
    }
}

impl Runs {
    /// What a command runs, as it was when the line was read; `None`: not all of that could be read.
    pub(super) fn of(command: &CommandTarget) -> Option<Runs> {
        let is_whole = command.covers.len() == command.contents.len();
        is_whole.then(|| Runs {
            program: program_of(command),
            files: command.contents.clone(),
            looked_up: command.looked_up.clone(),
            folder: command.folder.clone(),
        })
    }
}

/// Why none of these grants of a command holds any more; `None`: one does, or nothing is known of what they run.
/// `is_line`: they are for exactly one line.
pub(super) fn lapsed<'a>(
    grants: impl Iterator<Item = &'a Grantee>,
    is_line: bool,
) -> Option<Change> {
    let mut change = None;
    for grant in grants {
        let runs = grant.runs.as_ref()?;
        if is_line && runs.folder.is_none() {
            change = Some(Change::Everywhere);
            continue;
        }
        let is_different =
            |(path, before): &(&PathBuf, &String)| state_of(path).ok().as_ref() != Some(*before);
        let (path, _) = runs.files.iter().find(is_different)?;
        change = Some(Change::Content(path.clone()));
    }
    change
}

fn program_of(command: &CommandTarget) -> PathBuf {
    let subject = command.subject.first().map(Path::new);
    let mut programs = command.programs.iter();
    let program = programs.find(|program| Some(program.called.as_path()) == subject);
    program.map_or_else(PathBuf::new, |program| program.real.clone())
}

/// What is different from what was granted; `None`: nothing. `now`: what the command runs as things are, if that can be
/// read.
fn changed(granted: Option<&Runs>, now: Option<&Runs>) -> Option<Change> {
    let (Some(granted), Some(now)) = (granted, now) else {
        let is_unreadable = granted.is_some();
        return Some(if is_unreadable {
            Change::Files
        } else {
            Change::Wider
        });
    };
    if granted.folder != now.folder {
        let is_older = granted.folder.is_none();
        return Some(match is_older {
            true => Change::Everywhere,
            false => Change::Elsewhere,
        });
    }
    if granted.program != now.program {
        return Some(Change::Program);
    }
    if !granted.files.keys().eq(now.files.keys()) {
        return Some(Change::Files);
    }
    let mut files = granted.files.iter().zip(&now.files);
    let different = files.find(|((_, before), (_, after))| before != after);
    match different {
        Some(((path, _), _)) => Some(Change::Content(path.clone())),
        None => (granted.looked_up != now.looked_up).then_some(Change::Names),
    }
}
