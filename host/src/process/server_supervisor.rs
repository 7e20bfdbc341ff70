//! The supervisor of an MCP server that runs as a process.
//!
//! Such a program was configured by the user and runs with the user's own rights, without a sandbox. What it needs of a supervisor is
//! that it ends, with everything it started, when nobody wants it any more, also where Dunlin was killed. Its
//! standard streams are its own: the supervisor hands them on and never looks at them.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{
    Pid, PidfdFlags, Signal, pidfd_open, set_child_subreaper, set_parent_process_death_signal,
    setsid,
};
use serde::{Deserialize, Serialize};

use super::sys::{self, Forked};
use super::{descendants, init, order};

/// The second argument of a supervisor that starts an MCP server instead of a command.
pub(crate) const SERVER_FLAG: &str = "--supervise-server";

/// How long a program may take to end by itself once its input was closed, as the protocol wants it, and then once it
/// was asked to. Nobody waits for this: Dunlin may be gone already.
const GRACE: Duration = Duration::from_millis(1_000);

/// How often orphans that have ended are taken over while nothing happens.
const PERIOD: Duration = Duration::from_secs(20);

/// What the supervisor is to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerOrder {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) folder: PathBuf,
}

/// Sends an order, and the input of the program with it.
pub(crate) fn send(
    life_line: &UnixStream,
    order: &ServerOrder,
    input: BorrowedFd<'_>,
) -> io::Result<()> {
    (&mut &*life_line).write_all(&order::framed(order)?)?;
    send_input(life_line, input)
}

/// Sends an input behind an order.
pub(super) fn send_input(life_line: impl AsFd, input: BorrowedFd<'_>) -> io::Result<()> {
    let handles = [input];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&handles)) {
        return Err(io::Error::other("no room for a handle"));
    }
    sendmsg(
        life_line,
        &[IoSlice::new(b"+")],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Takes the input that comes behind an order.
pub(super) fn receive_input(life_line: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let flags = RecvFlags::CMSG_CLOEXEC;
    recvmsg(
        life_line,
        &mut [IoSliceMut::new(&mut byte)],
        &mut control,
        flags,
    )?;
    let mut handles = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut handles) => handles.next(),
        _ => None,
    });
    handles
        .next()
        .ok_or_else(|| io::Error::other("the order came without an input"))
}

/// The whole life of such a supervisor.
pub(super) fn main() -> ExitCode {
    match keep() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep() -> io::Result<()> {
    let life_line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let order: ServerOrder = order::read_framed(&life_line)?;
    let input = receive_input(&life_line)?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    setsid()?;
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let (mut reports, mut says) = io::pipe()?;
    let program = match sys::fork(0)? {
        Forked::Child => {
            drop(reports);
            let failed = become_program(&order, &input);
            let _ = says.write_all(failed.to_string().as_bytes());
            sys::exit_now(127);
        }
        Forked::Parent(program) => program,
    };
    drop((says, input));
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(&nothing)?;
    // Closed by the program that starts, or by the process that could not become one.
    let mut failed = Vec::new();
    reports.read_to_end(&mut failed)?;
    let _ = (&life_line).write_all(&failed);
    serve(program, life_line.as_fd())
}

/// Becomes the program. Comes back only where that fails.
fn become_program(order: &ServerOrder, input: &OwnedFd) -> io::Error {
    let prepared = || -> io::Result<()> {
        // A session of its own: no terminal, and a group that `kill 0` stays in.
        setsid()?;
        // A supervisor that is killed takes its program with it.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        rustix::stdio::dup2_stdin(input)?;
        std::env::set_current_dir(&order.folder)
    };
    if let Err(error) = prepared() {
        return error;
    }
    Command::new(&order.program)
        .args(&order.arguments)
        .env_clear()
        .envs(order.environment.iter().map(|(name, value)| (name, value)))
        .exec()
}

/// Waits until the program has ended or nobody wants it any more, and ends what is left.
fn serve(program: Pid, life_line: BorrowedFd<'_>) -> io::Result<()> {
    let handle = pidfd_open(program, PidfdFlags::empty())?;
    let is_over = loop {
        let mut fds = [
            PollFd::from_borrowed_fd(life_line, PollFlags::IN),
            PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN),
        ];
        match poll(&mut fds, Timespec::try_from(PERIOD).ok().as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        if !fds[1].revents().is_empty() {
            break true;
        }
        // Nothing is ever said there: readable means that the other end is gone.
        if !fds[0].revents().is_empty() {
            break false;
        }
        init::reap_for(Duration::ZERO);
    };
    if !is_over {
        // Its input was closed together with the life line: most programs end by that alone.
        init::reap_for(GRACE);
        descendants::ask_to_end();
        init::reap_for(GRACE);
    }
    init::sweep();
    Ok(())
}
