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
//! 2. **The supervisor** (`supervisor`) has one thread and no secrets. It looks for git repositories (`git`), sets up
//!    namespaces for the command (`namespaces`, `mounts`, `placeholder`), and looks at the repositories again at the
//!    end. Where the kernel has no namespaces for this user, it stays the ancestor of all that the command starts
//!    (`descendants`).
//! 3. **Init** (`init`), process 1 of the namespaces (or the supervisor itself), waits for the shell, the time limit
//!    or the end of the socket, and then ends everything.
//!
//! The shell restricts itself last (`sandbox`): no capabilities, Landlock for files, seccomp for the rest. Each layer
//! stands alone; [`CommandSandbox`] says which are in force. What is in force is found out once, by a command that does nothing
//! and depends on no project ([`in_force`]); a command that would get anything else does not run.
//!
//! An MCP server that runs with the user's own rights has a supervisor, too (`server_process` on Dunlin's side,
//! `server_supervisor` on the other): it ends the server with Dunlin, and does nothing else.
//!
//! Everything outside of `runner` and `server_process` runs in the supervisor, single-threaded, and may use plain `fork`.

mod access;
mod child;
mod descendants;
mod git;
mod harden;
mod init;
mod mounts;
mod namespaces;
mod options;
mod order;
mod placeholder;
mod refused;
mod requests;
mod runner;
mod sandbox;
mod seccomp;
mod server_process;
mod server_supervisor;
mod shadows;
mod shared;
mod supervisor;
mod sys;

use std::sync::Arc;

pub(crate) use access::{Access, Held};
pub(crate) use git::{LinkedWorktree, is_git_name, linked_worktree, may_be_repository};
pub use harden::harden_this_process;
pub use options::CommandOptions;
pub use order::CommandSandbox;
pub(crate) use order::End;
pub(crate) use runner::{CommandError, Running, Stop, Stream};
pub(crate) use server_process::{ServerProcess, Streams};
pub(crate) use server_supervisor::ServerOrder;
pub use supervisor::{SUPERVISOR_FLAG, WITHOUT_NAMESPACES, supervisor_main};

/// What the sandbox of commands is made of on this machine, found out by running a command that does nothing.
///
/// Takes some milliseconds. It depends on no project and no permissions: only the kernel decides whether there are
/// namespaces.
pub async fn in_force(options: &CommandOptions) -> Result<CommandSandbox, SandboxError> {
    let probe = CommandOptions {
        environment: Vec::new(),
        network: false,
        write: Vec::new(),
        ..options.clone()
    };
    let mut running = Running::probe(&probe).await?;
    running.wait().await?;
    let silent = || CommandError::Supervisor("the supervisor of commands said nothing".to_owned());
    Ok(running.sandbox().cloned().ok_or_else(silent)?)
}

/// Why no command can run on this machine. Clones are the same error.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct SandboxError(Arc<CommandError>);

impl From<CommandError> for SandboxError {
    fn from(error: CommandError) -> SandboxError {
        SandboxError(Arc::new(error))
    }
}
