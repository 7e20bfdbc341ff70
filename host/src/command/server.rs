//! The start of an MCP server as a target of permissions.
//!
//! Outside of the sandbox a server has all of the user's rights. So a lasting yes must not depend on anything that a
//! command, an edit or a cloned project can change: programs such as `npx` and `python3 -m` look into the folder that they
//! start in first.

use std::path::{Path, PathBuf};

use super::{CommandError, Names, named};
use crate::target::{CommandKey, CommandTarget};

impl CommandTarget {
    /// The start of an MCP server with these words in this folder, its program first as it is configured.
    /// `is_sandboxed`: it runs in the sandbox of commands, where starting it is a command like any other.
    ///
    /// Without the sandbox, a lasting yes is possible only where neither the folder nor what the words name can be changed
    /// by commands, and where all words can be understood. It holds for the content of the files of other projects that they
    /// name.
    pub(crate) fn of_server(
        words: &[String],
        folder: &Path,
        is_sandboxed: bool,
        names: &dyn Names,
    ) -> Result<CommandTarget, CommandError> {
        let (name, arguments) = words.split_first().ok_or(CommandError::Empty)?;
        let program = names.program(name)?;
        let called = program.called.to_string_lossy().into_owned();
        let subject: Vec<String> = std::iter::once(called.clone())
            .chain(arguments.iter().cloned())
            .collect();
        let (key, covers) = match is_sandboxed {
            true => {
                let words = in_folder(arguments, folder);
                let covers = named::writable(&program, &words, names);
                (CommandKey::Line(subject.clone()), covers)
            }
            false => {
                let is_fixed = !names.is_writable(&program)
                    && !names.is_changeable(&real(folder))
                    && arguments.iter().all(|word| is_understood(word));
                let words = arguments.iter().map(String::as_str);
                let named = named::named(words.chain([called.as_str()]), |part| {
                    let path = real(&folder.join(part));
                    (names.is_changeable(&path) || is_in_a_project(&path)).then_some(path)
                });
                // The content of a folder cannot be remembered, nor that of what another project has yet to make.
                let can_be_bound = |path: &PathBuf| path.is_file() && !names.is_changeable(path);
                let covers = named.filter(|paths| is_fixed && paths.iter().all(can_be_bound));
                (CommandKey::Server(subject.clone()), covers)
            }
        };
        Ok(CommandTarget {
            is_storable: key.is_storable() && covers.is_some(),
            // However far a tool is trusted.
            is_incomplete: !is_sandboxed && covers.is_none(),
            key,
            subject,
            programs: vec![program],
            mentioned: Vec::new(),
            commands: Vec::new(),
            covers: covers.unwrap_or_default(),
        })
    }

    /// Whether this starts a server outside of the sandbox that commands, edits or the project can make run something else.
    pub(crate) fn is_changeable_server(&self) -> bool {
        matches!(self.key, CommandKey::Server(_)) && !self.is_storable
    }
}

/// The words, and what they name relative to a folder that need not be the project.
fn in_folder(arguments: &[String], folder: &Path) -> Vec<String> {
    let relative = arguments
        .iter()
        .flat_map(|word| named::parts(word))
        .filter_map(|part| Some(folder.join(part).to_str()?.to_owned()));
    arguments.iter().cloned().chain(relative).collect()
}

/// Whether a word says plainly what it names. A script for a shell can name anything.
fn is_understood(word: &str) -> bool {
    !word.contains(|c: char| c.is_whitespace() || "$`;|&<>(){}*?[]~\\\"'".contains(c))
}

/// Whether a path lies in a project, which Dunlin may work in at another time.
fn is_in_a_project(path: &Path) -> bool {
    let mut above = path.ancestors();
    above.any(|folder| {
        [".git", ".dunlin"]
            .iter()
            .any(|it| folder.join(it).exists())
    })
}

/// Where a path leads; of one that does not exist, where it would be.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut existing = path;
    let mut missing = Vec::new();
    loop {
        if let Ok(real) = existing.canonicalize() {
            missing.reverse();
            return missing.iter().fold(real, |real, name| match name {
                std::path::Component::ParentDir => {
                    real.parent().map(Path::to_owned).unwrap_or(real)
                }
                name => real.join(name),
            });
        }
        let (Some(parent), Some(name)) = (existing.parent(), existing.components().next_back())
        else {
            return path.to_owned();
        };
        missing.push(name);
        existing = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_does_not_exist_is_where_it_would_be() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        for (written, expected) in [
            ("a", "a"),
            ("link/new/x", "a/new/x"),
            ("new/../a", "a"),
            ("a/../b", "b"),
        ] {
            assert_eq!(real(&root.join(written)), root.join(expected), "{written}");
        }
    }

    #[test]
    fn a_script_for_a_shell_is_not_understood() {
        for word in [
            "-y",
            "@scope/server@1.2",
            "--port=80",
            "/usr/lib/x.js",
            "-m",
        ] {
            assert!(is_understood(word), "{word}");
        }
        for word in ["exec x", "$HOME/x", "`x`", "x;y", "~/x", "a*"] {
            assert!(!is_understood(word), "{word}");
        }
    }
}
