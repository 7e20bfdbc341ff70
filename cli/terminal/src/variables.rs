//! The environment variables that say how a terminal is to be used.

use std::ffi::{OsStr, OsString};
use std::process::Command;

/// Not empty: no colours (<https://no-color.org>).
pub const NO_COLOR: &str = "NO_COLOR";
/// `0`: no colours (<https://bixense.com/clicolors>).
pub const CLICOLOR: &str = "CLICOLOR";
/// Neither empty nor `0`: colours even where the output is not a terminal.
pub const CLICOLOR_FORCE: &str = "CLICOLOR_FORCE";
/// The terminal's kind; `dumb` cannot move the cursor.
pub const TERM: &str = "TERM";
/// Set where tmux runs the program.
pub const TMUX: &str = "TMUX";
/// What edits messages and the arguments of calls; comes before `EDITOR`.
pub const VISUAL: &str = "VISUAL";
/// What edits messages and the arguments of calls; `vi` without either.
pub const EDITOR: &str = "EDITOR";
/// What runs the commands that the user types behind `!`; `/bin/sh` without it.
pub const SHELL: &str = "SHELL";
/// What shows long texts; `less -R` without it.
pub const PAGER: &str = "PAGER";
/// The options of `less`; colours are let through where nothing is set.
pub const LESS: &str = "LESS";

/// The environment, read elsewhere.
pub trait Variables {
    /// The value of a variable; `None` also for an empty one.
    fn get(&self, name: &str) -> Option<&OsStr>;

    /// Whether the terminal is one of those that are known to open links.
    fn shows_links(&self) -> bool;
}

/// Variables that a program of the user's gets otherwise than Dunlin itself: they led to what commands can change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Replaced(Vec<(OsString, Option<OsString>)>);

impl Replaced {
    /// Names and values; without a value the program does not get the variable.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, Option<&OsStr>)> {
        let all = self.0.iter();
        all.map(|(name, value)| (name.as_os_str(), value.as_deref()))
    }

    /// Gives them to a program.
    pub fn apply(&self, command: &mut Command) {
        for (name, value) in self.iter() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}

impl FromIterator<(OsString, Option<OsString>)> for Replaced {
    fn from_iter<I: IntoIterator<Item = (OsString, Option<OsString>)>>(variables: I) -> Replaced {
        Replaced(variables.into_iter().collect())
    }
}

#[cfg(test)]
impl Variables for std::collections::BTreeMap<&str, &str> {
    fn get(&self, name: &str) -> Option<&OsStr> {
        let value = std::collections::BTreeMap::get(self, name)?;
        (!value.is_empty()).then(|| OsStr::new(*value))
    }

    fn shows_links(&self) -> bool {
        false
    }
}
