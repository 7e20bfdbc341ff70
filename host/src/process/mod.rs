//! Commands of the machine: how they are run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How commands are run. Handed in: the host knows neither its own program nor the environment.
#[derive(Debug, Clone)]
pub struct CommandOptions {
    /// How this program starts itself as the keeper of a command: its path and arguments. Empty: this host runs no
    /// commands.
    pub keeper: Vec<OsString>,
    /// The shell that gets the line: `/bin/sh` or another that takes `-c`.
    pub shell: PathBuf,
    /// All variables of a command, already without secrets.
    pub environment: Vec<(OsString, OsString)>,
    /// How long a command may run.
    pub time_limit: Duration,
    /// Whether every command may reach the network.
    pub network: bool,
}

impl CommandOptions {
    /// A host that runs no commands.
    pub fn none() -> CommandOptions {
        CommandOptions {
            keeper: Vec::new(),
            shell: PathBuf::from("/bin/sh"),
            environment: Vec::new(),
            time_limit: Duration::from_secs(120),
            network: false,
        }
    }

    /// The shell's real path: what a permission is about.
    pub(crate) fn real_shell(&self) -> PathBuf {
        crate::resolve::real_path(&self.shell).unwrap_or_else(|_| self.shell.clone())
    }
}
