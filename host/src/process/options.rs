//! How commands are run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::secrets::Surroundings;

/// How commands are run. Handed in: the host knows neither its own program nor the environment.
#[derive(Debug, Clone)]
pub struct CommandOptions {
    /// How this program starts itself as the supervisor of a command: its path, and arguments of which the first is
    /// [`SUPERVISOR_FLAG`](super::SUPERVISOR_FLAG). Empty: this host runs no commands.
    pub supervisor: Vec<OsString>,
    /// The shell that gets the line: `/bin/sh` or another that takes `-c`.
    pub shell: PathBuf,
    /// All variables of a command. `TMPDIR` is set by the host.
    pub environment: Vec<(OsString, OsString)>,
    /// `PATH` as the user's own shell has it. A command may have fewer folders in its own: what is relative is left out.
    pub shell_path: OsString,
    /// Where the private temporary folders of commands are made.
    pub temporary: PathBuf,
    /// Where commands that run write down what git repositories were like before them: a folder of the user's own that
    /// commands cannot reach. It is made when it is needed.
    pub baselines: PathBuf,
    /// Where git repositories are moved that appear in the project though no command was meant to make one. What is older
    /// than 30 days is removed when the next one is moved there.
    pub set_aside: PathBuf,
    /// How long a command may run.
    pub time_limit: Duration,
    /// Whether every command may reach the network.
    pub network: bool,
    /// Folders and files that commands may write besides the project.
    pub write: Vec<PathBuf>,
    /// What decides where secrets are on this machine. Each command does not see those that there are when it starts,
    /// unless reading them is granted, and file tools ask. `None`: nowhere.
    pub secrets: Option<Surroundings>,
}

impl CommandOptions {
    /// A host that runs no commands.
    pub fn none() -> CommandOptions {
        CommandOptions {
            supervisor: Vec::new(),
            shell: PathBuf::from("/bin/sh"),
            environment: Vec::new(),
            shell_path: OsString::new(),
            temporary: PathBuf::from("/tmp"),
            baselines: PathBuf::new(),
            set_aside: PathBuf::new(),
            time_limit: Duration::from_secs(120),
            network: false,
            write: Vec::new(),
            secrets: None,
        }
    }
}
