//! What a person types: keys and three characters, set and taken away by hand.

use std::path::{Path, PathBuf};

use super::file::{OperationName, Order};
use super::key::{Bits, Decided, Key};
use super::stored::{command_key, resolved_key};
use super::{PermissionError, Permissions, SessionAnswer};
use crate::command::{CommandError, CommandLine, Names, simple_words};
use crate::resolve::{self, follow};
use crate::target::{CommandKey, Operation, Target};

impl Permissions {
    /// Allows a target to every tool until the session ends. Returns the key.
    pub fn allow_for_session(&self, target: &str, bits: &str) -> Result<String, PermissionError> {
        self.allow_typed(target, bits, None)
    }

    /// The same because of this option of the command line, as it was typed: rules name it.
    pub fn allow_by_option(
        &self,
        target: &str,
        bits: &str,
        option: &str,
    ) -> Result<String, PermissionError> {
        self.allow_typed(target, bits, Some(option))
    }

    fn allow_typed(
        &self,
        target: &str,
        bits: &str,
        option: Option<&str>,
    ) -> Result<String, PermissionError> {
        let bits: Bits = bits.parse()?;
        let typed = self.typed(target, bits)?;
        let mut state = self.lock();
        for (key, bits) in &typed {
            for operation in Operation::ALL {
                let allow = match bits.get(operation) {
                    Decided::Allow => true,
                    Decided::Deny => false,
                    Decided::Open => continue,
                };
                // Commands are looked up by keys of their own.
                let key = match (operation, key) {
                    (Operation::Execute, Key::Exact(_) | Key::Below(_)) => {
                        command_key(&key.to_string()).map(Key::Command)
                    }
                    _ => None,
                }
                .unwrap_or_else(|| key.clone());
                let answers = state.session.entry((key, operation)).or_default();
                answers.push(SessionAnswer {
                    allow,
                    plugin: None,
                    runs: None,
                    option: option.map(str::to_owned),
                });
            }
        }
        Ok(said(&typed))
    }

    /// Allows exactly this command line to every tool until the session ends, also a compound one, because of this option
    /// of the command line, as it was typed. Returns the key.
    pub fn allow_line_by_option(&self, line: &str, option: &str) -> Result<String, CommandError> {
        let target = self.command_line(line)?.target;
        if let Ok(words) = simple_words(line) {
            self.check_program(&words[0])?;
        }
        let key = match &target.key {
            key @ CommandKey::Text(_) => key.clone(),
            _ => CommandKey::Line(target.subject.clone()),
        };
        let said = key.to_string();
        let mut state = self.lock();
        let key = (Key::Command(key), Operation::Execute);
        state.session.entry(key).or_default().push(SessionAnswer {
            allow: true,
            plugin: None,
            runs: None,
            option: Some(option.to_owned()),
        });
        Ok(said)
    }

    /// Stores three characters for a target, for every tool. `???` removes the key. Returns the key.
    ///
    /// A target that ends with `/` means all below it, and a bare word what it means in [`Permissions::explain`]. Several
    /// words are a command, with any arguments behind them: `cargo test` is stored as `$ /usr/bin/cargo test`.
    pub fn set(&self, target: &str, bits: &str) -> Result<String, PermissionError> {
        let bits: Bits = bits.parse()?;
        let typed = self.typed(target, bits)?;
        self.files.update(Order::PermissionsFirst, |contents| {
            for (key, bits) in &typed {
                let stored = key.to_string();
                contents
                    .entries
                    .retain(|(other, _)| *other != stored && !means(other, key));
                if !bits.is_open() {
                    contents.entries.push((stored.clone(), *bits));
                }
                contents.digests.grants.remove(&stored);
            }
        })?;
        Ok(said(&typed))
    }

    /// Decides about one operation on a target, for every tool, and leaves the other operations as they are. Returns the
    /// key.
    ///
    /// The target is typed as for [`Permissions::set`], or is a key as it is stored.
    pub fn set_one(
        &self,
        target: &str,
        operation: Operation,
        decided: Decided,
    ) -> Result<String, PermissionError> {
        let any = Bits::default().with(operation, decided);
        let key = match operation {
            Operation::Execute => {
                // A mistyped name would be a file of the project, which somebody may make later.
                if decided == Decided::Allow
                    && !target.contains(|c: char| c == '/' || c.is_whitespace())
                {
                    self.program_file(target)?;
                }
                // Removing a decision finds the same key as a deny.
                let like = match decided {
                    Decided::Open => Decided::Deny,
                    decided => decided,
                };
                let any = Bits::default().with(operation, like);
                let keys = self.typed(target, any)?;
                let first = keys.into_iter().next();
                first.map_or_else(|| self.typed_key(target, any), |(key, _)| Ok(key))?
            }
            // Only what is run is looked for among the programs.
            _ if !is_address(target) && self.typed_command(target, any)?.is_none() => {
                let path = self.typed_path(target, any)?;
                match target.ends_with('/') {
                    true => Key::Below(path),
                    false => Key::Exact(path),
                }
            }
            _ => self.typed_key(target, any)?,
        };
        if operation != Operation::Execute && matches!(key, Key::Command(_)) {
            return Err(PermissionError::OnlyExecute {
                key: key.to_string(),
            });
        }
        self.refuse_protected(&key, Bits::default().with(operation, decided))?;
        let stored = key.to_string();
        self.files.update(Order::PermissionsFirst, |contents| {
            let is_it = |other: &str| other == target || other == stored || means(other, &key);
            if decided != Decided::Open && !contents.entries.iter().any(|(other, _)| is_it(other)) {
                let bits = match CommandKey::is_command(&stored) {
                    // Reading and writing mean nothing for a command.
                    true => Bits::default()
                        .with(Operation::Read, Decided::Deny)
                        .with(Operation::Write, Decided::Deny),
                    false => Bits::default(),
                };
                contents.entries.push((stored.clone(), bits));
            }
            for (other, bits) in &mut contents.entries {
                if !is_it(other) {
                    continue;
                }
                *bits = match decided {
                    Decided::Open if CommandKey::is_command(other) => Bits::default(),
                    decided => bits.with(operation, decided),
                };
                if let Some(grants) = contents.digests.grants.get_mut(other) {
                    grants.remove(&OperationName::from(operation));
                    if grants.is_empty() {
                        contents.digests.grants.remove(other);
                    }
                }
            }
            contents.entries.retain(|(_, bits)| !bits.is_open());
        })?;
        Ok(stored)
    }

    /// Removes a key. `false` when there was none.
    pub fn unset(&self, target: &str) -> Result<bool, PermissionError> {
        // What stands in the file must be removable even if it resolves to something else by now.
        let executes = Bits::default().with(Operation::Execute, Decided::Deny);
        let keys = [Bits::default(), executes].map(|bits| self.typed_key(target, bits).ok());
        self.files.update(Order::PermissionsFirst, |contents| {
            let before = contents.entries.len();
            contents.entries.retain(|(other, _)| {
                let same = other == target || keys.iter().flatten().any(|key| means(other, key));
                if same {
                    contents.digests.grants.remove(other);
                }
                !same
            });
            contents.entries.len() < before
        })
    }

    fn refuse_protected(&self, key: &Key, bits: Bits) -> Result<(), PermissionError> {
        let allows = Operation::ALL
            .iter()
            .any(|operation| bits.get(*operation) == Decided::Allow);
        match key {
            Key::Exact(path) | Key::Below(path)
                if allows && self.is_protected(&Target::Path(path.clone())) =>
            {
                Err(PermissionError::Protected {
                    target: path.display().to_string(),
                })
            }
            Key::Command(_)
                if Decided::Allow == bits.get(Operation::Read)
                    || Decided::Allow == bits.get(Operation::Write) =>
            {
                Err(PermissionError::OnlyExecute {
                    key: key.to_string(),
                })
            }
            Key::Command(CommandKey::Text(line)) if allows => Err(PermissionError::Compound {
                line: line.clone(),
                why: simple_words(line).err(),
            }),
            _ => Ok(()),
        }
    }

    /// What a person means: keys with their three characters. A link to a program is two targets: the file that it leads
    /// to, and the program as it is called.
    fn typed(&self, typed: &str, bits: Bits) -> Result<Vec<(Key, Bits)>, PermissionError> {
        let key = self.typed_key(typed, bits)?;
        self.refuse_protected(&key, bits)?;
        let execute = bits.get(Operation::Execute);
        let Key::Exact(path) = &key else {
            return Ok(vec![(key, bits)]);
        };
        if execute == Decided::Open {
            return Ok(vec![(key, bits)]);
        }
        let program = self.places.program(typed, &self.search_path).ok();
        let called = program.filter(|program| program.real == *path);
        let called = called.map(|program| program.called);
        let Some(called) = called.filter(|called| called != path) else {
            return Ok(vec![(key, bits)]);
        };
        let program = Key::Command(CommandKey::Program(called));
        let allows_files = [Operation::Read, Operation::Write]
            .iter()
            .any(|operation| bits.get(*operation) == Decided::Allow);
        Ok(match allows_files {
            false => vec![(program, bits)],
            true => vec![
                (program, Bits::default().with(Operation::Execute, execute)),
                (key, bits.with(Operation::Execute, Decided::Open)),
            ],
        })
    }

    /// The command that a person typed: as it is stored, or as it is written in a shell.
    fn typed_command(&self, typed: &str, bits: Bits) -> Result<Option<Key>, PermissionError> {
        let (prefix, rest) = match CommandKey::split(typed) {
            Some(parts) => parts,
            // Several words are a command, unless they look like a path, or it is not about running and there is such a
            // file: whoever makes files in the project must not decide which command is meant.
            None if typed.trim().contains(char::is_whitespace)
                && (!typed.starts_with(['/', '.', '~'])
                    || executes(bits) && self.begins_with_program(typed))
                && (executes(bits) || !self.places.path(typed).is_ok_and(|path| path.exists())) =>
            {
                match simple_words(typed) {
                    Ok(words) => {
                        self.program_file(&words[0])?;
                        ("$ ", typed)
                    }
                    // More than one simple command: it can be denied as it stands.
                    Err(_) => {
                        let text = CommandKey::Text(typed.to_owned());
                        return Ok(Some(Key::Command(text)));
                    }
                }
            }
            None => return Ok(None),
        };
        let Ok(mut words) = simple_words(rest) else {
            return Ok(Some(Key::Command(typed.parse()?)));
        };
        if bits.get(Operation::Execute) == Decided::Allow {
            self.check_program(&words[0])?;
        }
        if let Ok(program) = Names::program(self, &words[0]) {
            words[0] = program.called.to_string_lossy().into_owned();
        }
        // Reads it back, so that what cannot be stored is refused here.
        let key = CommandKey::of_words(prefix, words);
        Ok(Some(Key::Command(key.to_string().parse()?)))
    }

    /// Whether something that begins like a path is the path of a program with words behind it, and no file of this name is
    /// there.
    fn begins_with_program(&self, typed: &str) -> bool {
        let words = simple_words(typed).unwrap_or_default();
        let program = words.first().map(|word| Names::program(self, word));
        let is_file = self.places.path(typed).is_ok_and(|path| path.exists());
        program.is_some_and(|program| program.is_ok()) && !is_file
    }

    /// Reads a command line as a tool would run it.
    pub(super) fn command_line(&self, line: &str) -> Result<CommandLine, CommandError> {
        CommandLine::read(line.to_owned(), false, self)
    }

    /// The target that a person asks about: what a tool would have to name to use it. A bare word that is no
    /// file of the project is looked for among the programs.
    pub(super) fn typed_target(&self, typed: &str) -> Result<Target, PermissionError> {
        if is_address(typed) {
            return Ok(resolve::url(typed)?);
        }
        let path = self.places.path(typed)?;
        Ok(match self.typed_program(typed).filter(|_| !path.exists()) {
            Some(program) => Target::Program(program),
            None => Target::Path(path),
        })
    }

    /// The program that a bare word means.
    fn typed_program(&self, typed: &str) -> Option<PathBuf> {
        if typed.contains('/') {
            return None;
        }
        let program = self.places.program(typed, &self.search_path).ok()?;
        Some(program.real)
    }

    /// The real path of what a person typed. Where something is allowed, no link is followed that commands can change: a file
    /// of the project would decide what the yes is for.
    fn typed_path(&self, typed: &str, bits: Bits) -> Result<PathBuf, PermissionError> {
        let files = [Operation::Read, Operation::Write];
        let allows = |operation: &Operation| bits.get(*operation) == Decided::Allow;
        if files.iter().any(allows) || (typed.ends_with('/') && allows(&Operation::Execute)) {
            return self.fixed_path(&self.places.absolute(typed)?);
        }
        if allows(&Operation::Execute) {
            self.check_program(typed)?;
        }
        Ok(self.places.path(typed)?)
    }

    /// Refuses a program in a folder that is reached by a link which commands can change. The program itself may be a link:
    /// it is allowed under the name by which it is called.
    fn check_program(&self, written: &str) -> Result<(), PermissionError> {
        if written.contains('/')
            && let Some(folder) = self.places.absolute(written)?.parent()
        {
            self.fixed_path(folder)?;
        }
        Ok(())
    }

    /// The real path, if none of the links on the way can be changed by commands.
    fn fixed_path(&self, path: &Path) -> Result<PathBuf, PermissionError> {
        let mut changeable = None;
        let real = follow(path, |link| {
            if changeable.is_none() && self.is_writable_for_commands(link) {
                changeable = Some(link.to_owned());
            }
        })?;
        match changeable {
            Some(link) => Err(PermissionError::Link { link, real }),
            None => Ok(real),
        }
    }

    /// The key for what a person typed, to decide about what `bits` decide. A bare word that is to be run is a program that
    /// is installed, if there is one: a file of the project with its name is written `./NAME`.
    pub(super) fn typed_key(&self, typed: &str, bits: Bits) -> Result<Key, PermissionError> {
        if is_address(typed) {
            return Ok(resolve::url_key(typed)?.into());
        }
        if let Some(key) = self.typed_command(typed, bits)? {
            return Ok(key);
        }
        let program = self.typed_program(typed);
        if let Some(program) = program.clone().filter(|_| executes(bits)) {
            return Ok(Key::Exact(program));
        }
        let path = self.typed_path(typed, bits)?;
        let opens = |operation| bits.get(operation) == Decided::Open;
        let is_for_program = bits.get(Operation::Execute) == Decided::Deny
            && opens(Operation::Read)
            && opens(Operation::Write);
        if is_for_program && program.is_none() && !typed.contains('/') && !path.exists() {
            // A no to a file of the project that is not there would deny nothing that anybody means.
            self.places.program(typed, &self.search_path)?;
        }
        Ok(match program.filter(|_| !path.exists()) {
            _ if typed.ends_with('/') => Key::Below(path),
            Some(program) => Key::Exact(program),
            None => Key::Exact(path),
        })
    }
}

/// Whether it is about running something: a no to that beside a yes to read or write is about a file.
fn executes(bits: Bits) -> bool {
    let files = [Operation::Read, Operation::Write];
    let allows_file = files.iter().any(|it| bits.get(*it) == Decided::Allow);
    match bits.get(Operation::Execute) {
        Decided::Allow => true,
        Decided::Deny => !allows_file,
        Decided::Open => false,
    }
}

/// Whether a stored key means this one.
fn means(stored: &str, key: &Key) -> bool {
    match key {
        Key::Command(key) => command_key(stored).as_ref() == Some(key),
        key => resolved_key(stored) == *key,
    }
}

/// The key that is shown for what was typed.
fn said(typed: &[(Key, Bits)]) -> String {
    typed
        .first()
        .map(|(key, _)| key.to_string())
        .unwrap_or_default()
}

/// Whether a person means an address, of whichever scheme: that of another than the web's is said to be none, and is
/// not taken for a file.
fn is_address(typed: &str) -> bool {
    let scheme = typed.split_once("://").map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
