//! Why there are no settings.

use std::io;
use std::path::PathBuf;

use dunlin_host::display::own_command;
use dunlin_host::nearest::nearest;

use super::Origin;
use crate::config::file::FileError;
use crate::config::paths::NoHome;
use crate::keyring::KeyringError;

/// Why there are no settings, or no agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// No folders.
    #[error("cannot tell where the configuration is")]
    NoHome(#[from] NoHome),
    /// A file is wrong.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot use the project folder {}", path.display())]
    Project { path: PathBuf, source: io::Error },
    #[error("no agent is configured")]
    NoAgents,
    #[error("there is no agent {name:?} ({origin})")]
    UnknownAgent {
        name: String,
        origin: Origin,
        known: Vec<String>,
    },
    /// There is no subagent of that name.
    #[error("there is no subagent {name:?}{}; there are: {}", near(name, known), known.join(", "))]
    UnknownSubagent {
        /// The name.
        name: String,
        /// The subagents there are.
        known: Vec<String>,
    },
    /// The agent of that name is not a subagent.
    #[error("the agent {name:?} is not a subagent; there are: {}", known.join(", "))]
    NoSubagent {
        /// The name.
        name: String,
        /// The subagents there are.
        known: Vec<String>,
    },
    /// The variable that should hold a key is not set.
    #[error("the key {key:?} needs the environment variable {variable}, which is not set")]
    KeyVariable {
        /// The key's name in the configuration.
        key: String,
        variable: String,
    },
    /// The keyring that should hold a key does not have it.
    #[error("cannot read the key {key:?} from the system's keyring")]
    Keyring {
        /// The key's name in the configuration.
        key: String,
        source: KeyringError,
    },
    #[error("cannot read the key {key:?} from {}", path.display())]
    KeyFile {
        /// The key's name in the configuration.
        key: String,
        path: PathBuf,
        source: io::Error,
    },
}

/// The nearest of the known names, as a part of a sentence.
fn near(name: &str, known: &[String]) -> String {
    let near = nearest(name, known.iter().map(String::as_str));
    near.map_or_else(String::new, |near| format!(", the nearest is {near:?}"))
}

impl SettingsError {
    /// The way out, if there is a good guess.
    pub fn hint(&self) -> Option<String> {
        match self {
            SettingsError::File(error) => error.hint(),
            SettingsError::NoHome(_) => Some("set HOME to your home folder".to_owned()),
            SettingsError::NoAgents => {
                Some("run `dunlin doctor`: it shows what was found and what to do".to_owned())
            }
            SettingsError::UnknownAgent { known, origin, .. } => {
                let known = known.join(", ");
                Some(match origin {
                    Origin::Default => {
                        format!("default_agent = \"NAME\" in config.toml chooses one of: {known}")
                    }
                    _ => format!("configured agents: {known}"),
                })
            }
            SettingsError::NoSubagent { name, .. } => Some(format!(
                "subagent = true and a description in [agents.{name}] make it one"
            )),
            SettingsError::KeyVariable { variable, .. } => {
                Some(format!("export {variable}=… and try again"))
            }
            SettingsError::Keyring { key, source } => Some(match source {
                KeyringError::NoEntry { .. } => {
                    format!(
                        "{} puts it there; env = or file = work, too",
                        own_command(&["config", "key", "set", key])
                    )
                }
                _ => "see that it is unlocked, or give the key by env = or file =".to_owned(),
            }),
            _ => None,
        }
    }
}
