//! Which files a line runs that is started without a question: a hook, a server, and what a person allowed by hand.
//!
//! No answer is bound to what these files hold, so whoever changes one is asked instead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::contents;
use super::find::words_of;
use super::named::{self, Bound};
use super::names::Names;
use super::programs::Programs;
use crate::display::shell_word;
use crate::target::CommandKey;

/// A command line, and where it is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    text: String,
    /// `None`: in the project.
    folder: Option<PathBuf>,
}

impl Line {
    /// A line as a shell reads it, started in the project.
    pub(crate) fn in_project(text: String) -> Line {
        Line { text, folder: None }
    }

    /// These words, started in a folder.
    pub(crate) fn of_words<'a>(words: impl Iterator<Item = &'a str>, folder: &Path) -> Line {
        Line {
            text: joined(words),
            folder: Some(folder.to_owned()),
        }
    }

    /// What a key covers, as far as it says that. `None`: it covers a whole folder of programs, or servers, which are known from
    /// their configuration.
    pub(crate) fn of_key(key: &CommandKey) -> Option<Line> {
        let text = match key {
            CommandKey::Line(words) | CommandKey::Words(words) => {
                joined(words.iter().map(String::as_str))
            }
            CommandKey::Text(line) => line.clone(),
            CommandKey::Program(path) => shell_word(path.to_str()?),
            CommandKey::Below(_) | CommandKey::Server(_) | CommandKey::SandboxedServer(_) => {
                return None;
            }
        };
        Some(Line::in_project(text))
    }

    /// Whether a file may be among those that the line runs, also one that is not there yet.
    pub(crate) fn may_run(&self, path: &Path, names: &dyn Names) -> bool {
        let bound = self.bound((!path.exists()).then_some(path), names);
        let is_unknown = bound.is_full() || bound.missed.is_some() || !self.has_name();
        is_unknown || bound.files.iter().any(|file| file == path)
    }

    /// Whether more may be among what it runs than can be looked up.
    pub(crate) fn is_incomplete(&self, names: &dyn Names) -> bool {
        let bound = self.bound(None, names);
        bound.is_full() || bound.missed.is_some() || !self.has_name()
    }

    /// Whether the folder it starts in can be written as text.
    fn has_name(&self) -> bool {
        self.folder.as_ref().is_none_or(|it| it.to_str().is_some())
    }

    /// What the files that it names hold, of those that commands can change. What cannot be read is missing.
    pub(crate) fn contents(&self, names: &dyn Names) -> BTreeMap<PathBuf, String> {
        contents::of(&self.bound(None, names).files)
    }

    fn bound(&self, new: Option<&Path>, names: &dyn Names) -> Bound {
        let mut found = Programs::new(names);
        found.line(&self.text);
        let folder = self.folder.as_deref().and_then(Path::to_str);
        bound_by(&self.text, &found, folder, new, names)
    }
}

/// What a yes to a line in which these programs were found is bound to. `folder` and `new` as for [`named::bound`].
pub(super) fn bound_by(
    line: &str,
    found: &Programs<'_>,
    folder: Option<&str>,
    new: Option<&Path>,
    names: &dyn Names,
) -> Bound {
    // Where something is known of each command, none of them runs what stands among its words.
    let words = match found.has_unknown {
        true => words_of(line),
        false => Vec::new(),
    };
    named::bound(&found.all(), &words, folder, new, names)
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(shell_word).collect();
    words.join(" ")
}
