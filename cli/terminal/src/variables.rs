//! The environment variables that say how a terminal is to be used.

use std::ffi::OsStr;

/// Not empty: no colours (<https://no-color.org>).
pub const NO_COLOR: &str = "NO_COLOR";
/// `0`: no colours (<https://bixense.com/clicolors>).
pub const CLICOLOR: &str = "CLICOLOR";
/// Neither empty nor `0`: colours even where the output is not a terminal.
pub const CLICOLOR_FORCE: &str = "CLICOLOR_FORCE";
/// The terminal's kind; `dumb` cannot move the cursor.
pub const TERM: &str = "TERM";
/// What edits messages and the arguments of calls; comes before `EDITOR`.
pub const VISUAL: &str = "VISUAL";
/// What edits messages and the arguments of calls; `vi` without either.
pub const EDITOR: &str = "EDITOR";
/// What shows long texts; `less -R` without it.
pub const PAGER: &str = "PAGER";
/// Where programs are looked up.
pub const PATH: &str = "PATH";
/// The options of `less`; colours are let through where nothing is set.
pub const LESS: &str = "LESS";

/// The environment, read elsewhere.
pub trait Variables {
    /// The value of a variable; `None` also for an empty one.
    fn get(&self, name: &str) -> Option<&OsStr>;

    /// Whether the terminal is one of those that are known to open links.
    fn shows_links(&self) -> bool;
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
