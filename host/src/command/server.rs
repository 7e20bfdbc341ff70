//! The start of an MCP server as a target of permissions.

use std::path::Path;

use super::{CommandError, Names, contents, named};
use crate::target::{CommandKey, CommandTarget};

/// The program that sets variables for another one.
const ENV: &str = "/usr/bin/env";

impl CommandTarget {
    /// The start of an MCP server with these words in this folder, its program first as it is configured.
    ///
    /// `is_sandboxed`: it runs in the sandbox of commands, where starting it is a command like any other. Outside of it a
    /// server has all of the user's rights, and what its words come to run depends on files, folders and variables that no
    /// list names completely: modules, packages, interpreters, settings of a package manager. So an answer to such a start
    /// holds for this start alone, however far a tool is trusted.
    ///
    /// `variables` are those that the configuration sets for it. Many decide what a program runs (`BASH_ENV`, `NODE_OPTIONS`),
    /// so the key begins with them, as `env` takes them. What they are set to may be secret: the key
    /// has its digest.
    pub(crate) fn of_server(
        words: &[String],
        variables: &[(String, String)],
        folder: &Path,
        is_sandboxed: bool,
        names: &dyn Names,
    ) -> Result<CommandTarget, CommandError> {
        let (name, arguments) = words.split_first().ok_or(CommandError::Empty)?;
        // The configuration is no shell's, and its `~` is the home folder.
        let home = names.at_home(name);
        let name = home.as_deref().unwrap_or(name);
        let program = names.program(name)?;
        let called = program.called.to_string_lossy().into_owned();
        let subject: Vec<String> = std::iter::once(called)
            .chain(arguments.iter().cloned())
            .collect();
        let words: Vec<String> = with_variables(variables)
            .chain(subject.iter().cloned())
            .collect();
        let (key, bound) = match is_sandboxed {
            true => {
                // Relative names mean files of its folder, which need not be the project.
                let programs = [(program.clone(), names.way(name))];
                let bound = named::bound(&programs, arguments, folder.to_str(), None, names);
                let key = match variables {
                    [] => CommandKey::Line(words),
                    _ => CommandKey::SandboxedServer(words),
                };
                (key, Some(bound))
            }
            false => (CommandKey::Server(words), None),
        };
        let covers = bound
            .as_ref()
            .map(|bound| bound.files.clone())
            .unwrap_or_default();
        let not_storable = bound
            .as_ref()
            .and_then(|bound| bound.not_storable().cloned());
        let can_be_stored = bound.is_some() && not_storable.is_none();
        Ok(CommandTarget {
            is_storable: key.is_storable() && can_be_stored,
            is_incomplete: !is_sandboxed,
            hides_program: false,
            unread: Vec::new(),
            key,
            subject,
            programs: vec![program],
            mentioned: Vec::new(),
            commands: Vec::new(),
            looked_up: bound.as_ref().and_then(|bound| bound.looked_up.clone()),
            parts: Vec::new(),
            contents: contents::of(&covers),
            covers,
            only_once: false,
            not_storable,
            is_unclear: false,
            folder: is_sandboxed.then(|| folder.to_owned()),
        })
    }

    /// The program that is started, links unresolved.
    pub(crate) fn started(&self) -> Option<&Path> {
        let program = self.programs.first()?;
        Some(&program.called)
    }

    /// Whether this starts a server outside of the sandbox.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.key, CommandKey::Server(_))
    }
}

/// The words that set variables, in front of a command line: none for none.
fn with_variables(variables: &[(String, String)]) -> impl Iterator<Item = String> {
    let env = (!variables.is_empty()).then(|| ENV.to_owned());
    let set = variables.iter();
    let set = set.map(|(name, value)| {
        let digest = crate::sha256_hex(value.as_bytes());
        format!("{name}=sha256:{digest}")
    });
    env.into_iter().chain(set)
}
