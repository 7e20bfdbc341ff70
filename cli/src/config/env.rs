//! The one place that reads environment variables, and the list of all that Dunlin knows.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use dunlin_terminal::variables::{Replaced, Variables};

/// Where the user's files are, and what `~` means.
pub const HOME: &str = "HOME";
/// Where temporary files are made; `/tmp` without it.
pub const TMPDIR: &str = "TMPDIR";
/// Where programs are looked up by name.
pub const PATH: &str = "PATH";
/// The base of the configuration folder; `~/.config` without it.
pub const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// The base of the data folder; `~/.local/share` without it.
pub const XDG_DATA_HOME: &str = "XDG_DATA_HOME";
/// The base of the cache folder; `~/.cache` without it.
pub const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// The base of the folder of sockets; `run` in the data folder without it.
pub const XDG_RUNTIME_DIR: &str = "XDG_RUNTIME_DIR";
pub use dunlin_terminal::variables::{
    CLICOLOR, CLICOLOR_FORCE, EDITOR, LESS, NO_COLOR, PAGER, SHELL, TERM, VISUAL,
};

/// The agent, as `--agent` would say it.
pub const DUNLIN_AGENT: &str = "DUNLIN_AGENT";
/// The model, as `--model` would say it.
pub const DUNLIN_MODEL: &str = "DUNLIN_MODEL";
/// Base URLs that are asked for a local model server instead of the usual ports, separated by commas; set to nothing,
/// none is asked.
pub const DUNLIN_DISCOVER: &str = "DUNLIN_DISCOVER";
/// Where models are fetched from instead of the public hub, as the hub's own programs understand it.
pub const HF_ENDPOINT: &str = "HF_ENDPOINT";

/// The environment at the start of the program. Never changes afterwards, and tests make their own.
///
/// Its `Debug` shows names only: values may be keys.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
    /// Whether the terminal is one of those that are known to open links.
    shows_links: bool,
}

impl Variables for Environment {
    fn get(&self, name: &str) -> Option<&OsStr> {
        Environment::get(self, name)
    }

    fn shows_links(&self) -> bool {
        self.shows_links
    }
}

impl Environment {
    /// Copies the environment of this process.
    pub fn of_process() -> Environment {
        Environment {
            variables: std::env::vars_os().collect(),
            // The crate keeps the list of terminals and looks at their variables itself.
            shows_links: supports_hyperlinks::supports_hyperlinks(),
        }
    }

    /// The value of a variable; `None` also for an empty one.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// Whether a variable is there, also as an empty one.
    pub fn is_set(&self, name: &str) -> bool {
        self.variables.contains_key(OsStr::new(name))
    }

    /// The folders of `PATH`, in order; only absolute ones, since the others depend on where one stands.
    pub fn search_path(&self) -> Vec<PathBuf> {
        let folders = self
            .get(PATH)
            .map(std::env::split_paths)
            .into_iter()
            .flatten();
        folders.filter(|folder| folder.is_absolute()).collect()
    }

    /// All variables with their values, for programs that are started.
    pub fn all(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let all = self.variables.iter();
        all.map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// This environment as a program gets it.
    pub fn with(&self, replaced: &Replaced) -> Environment {
        let mut environment = self.clone();
        for (name, value) in replaced.iter() {
            match value {
                Some(value) => environment
                    .variables
                    .insert(name.to_owned(), value.to_owned()),
                None => environment.variables.remove(name),
            };
        }
        environment
    }

    /// The value as text; `None` also where it is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Environment {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Environment {
            variables,
            shows_links: false,
        }
    }
}
