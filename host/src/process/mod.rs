//! Commands of the machine, and the sandbox they run in.
//!
//! A tool is a component and has no authority; a command is a program of the machine and has all of the user's.
//! So it is not enough to ask before it starts: what it may do is bounded while it runs, and it ends with its
//! call, whatever it does to outlive it.
//!
//! Three processes take part:
//!
//! 1. **Dunlin** (`runner`) starts this program again as a *supervisor*, hands it an `order` through a socket
//!    and reads what the command prints. When the socket closes, because the call was dropped or because Dunlin was
//!    killed, everything ends.
//! 2. **The supervisor** (`keeper`) has one thread and no secrets. It looks for git repositories (`git`), sets up
//!    namespaces for the command (`namespaces`, `mounts`, `placeholder`), and looks at the repositories again at the
//!    end. Where the kernel has no namespaces for this user, it stays the ancestor of all that the command starts
//!    (`descent`).
//! 3. **Init** (`warden`), process 1 of the namespaces (or the supervisor itself), waits for the shell, the time limit
//!    or the end of the socket, and then ends everything.
//!
//! The shell restricts itself last (`cage`): no capabilities, Landlock for files, seccomp for the rest. Each layer
//! stands alone; [`Cage`] says which are in force. What is in force is found out once, by a command that does nothing
//! and depends on no project ([`in_force`]); a command that would get anything else does not run.
//!
//! Programs that serve as long as Dunlin wants them, with the user's own rights, have a supervisor, too (`serving` on
//! Dunlin's side, `servant` on the other): it sees to their end, and to nothing else.
//!
//! Everything outside of `runner` and `serving` runs in the supervisor, single-threaded, and may use plain `fork`.

mod access;
mod cage;
mod descent;
mod git;
mod harden;
mod keeper;
mod mounts;
mod namespaces;
mod order;
mod placeholder;
mod refused;
mod runner;
mod servant;
mod serving;
mod sys;
mod system_calls;
mod warden;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use access::{Access, Held};
pub use harden::harden_this_process;
pub use keeper::{KEEPER, WITHOUT_WORLD, keeper_main};
pub use order::Cage;
pub(crate) use order::End;
pub(crate) use runner::{CommandError, Running, Stream};
pub(crate) use servant::ServantOrder;
pub(crate) use serving::{Serving, Streams};

/// How commands are run. Handed in: the host knows neither its own program nor the environment.
#[derive(Debug, Clone)]
pub struct CommandOptions {
    /// How this program starts itself as the keeper of a command: its path, and arguments of which the first is
    /// [`KEEPER`]. Empty: this host runs no commands.
    pub keeper: Vec<OsString>,
    /// The shell that gets the line: `/bin/sh` or another that takes `-c`.
    pub shell: PathBuf,
    /// All variables of a command. `TMPDIR` is set by the host.
    pub environment: Vec<(OsString, OsString)>,
    /// Where the private temporary folders of commands are made.
    pub temporary: PathBuf,
    /// Where commands that run write down what git repositories were like before them: a folder of the user's own that
    /// commands cannot reach. It is made when it is needed.
    pub baselines: PathBuf,
    /// How long a command may run.
    pub time_limit: Duration,
    /// Whether every command may reach the network.
    pub network: bool,
    /// Folders and files that commands may write besides the project.
    pub write: Vec<PathBuf>,
    /// Folders and files of this machine that usually hold secrets, see [`crate::secrets::locations`]: commands do not
    /// see them unless reading them is granted, and file tools ask.
    pub secrets: Vec<PathBuf>,
}

impl CommandOptions {
    /// A host that runs no commands.
    pub fn none() -> CommandOptions {
        CommandOptions {
            keeper: Vec::new(),
            shell: PathBuf::from("/bin/sh"),
            environment: Vec::new(),
            temporary: PathBuf::from("/tmp"),
            baselines: PathBuf::new(),
            time_limit: Duration::from_secs(120),
            network: false,
            write: Vec::new(),
            secrets: Vec::new(),
        }
    }
}

/// What the sandbox of commands is made of on this machine, found out by running a command that does nothing.
///
/// Takes some milliseconds. It depends on no project and no permissions: only the kernel decides whether there are
/// namespaces.
pub async fn in_force(options: &CommandOptions) -> Result<Cage, String> {
    let probe = CommandOptions {
        environment: Vec::new(),
        network: false,
        write: Vec::new(),
        ..options.clone()
    };
    let running = Running::probe(&probe).await;
    let mut running = running.map_err(|e| crate::capability::chain(&e))?;
    running
        .wait()
        .await
        .map_err(|e| crate::capability::chain(&e))?;
    running
        .cage()
        .cloned()
        .ok_or_else(|| "the supervisor of commands said nothing".to_owned())
}
