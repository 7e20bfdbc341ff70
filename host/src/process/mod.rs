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
mod child;
mod descent;
mod git;
mod harden;
mod keeper;
mod mounts;
mod namespaces;
mod options;
mod order;
mod placeholder;
mod refused;
mod runner;
mod servant;
mod serving;
mod sys;
mod system_calls;
mod warden;

pub(crate) use access::{Access, Held};
pub use harden::harden_this_process;
pub use keeper::{KEEPER, WITHOUT_WORLD, keeper_main};
pub use options::CommandOptions;
pub use order::Cage;
pub(crate) use order::End;
pub(crate) use runner::{CommandError, Running, Stream};
pub(crate) use servant::ServantOrder;
pub(crate) use serving::{Serving, Streams};

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
    let mut running = running.map_err(|e| crate::display::chain(&e))?;
    running
        .wait()
        .await
        .map_err(|e| crate::display::chain(&e))?;
    running
        .cage()
        .cloned()
        .ok_or_else(|| "the supervisor of commands said nothing".to_owned())
}
