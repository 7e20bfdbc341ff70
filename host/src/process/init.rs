//! Waits with a command until it ends, and then ends what it left behind.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open, wait};

use super::order::End;
use super::{descendants, sys};
use crate::limits::{COMMAND_GRACE, MAX_PROCESSES};

/// How often orphans are looked after while nothing happens: each waits as a zombie until then, and the family is
/// counted where nothing else bounds it.
const PERIOD: Duration = Duration::from_millis(100);

/// How often it is looked whether everybody has gone, once they were asked to.
const GRACE_PERIOD: Duration = Duration::from_millis(2);

/// Which process waits for the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    /// Process 1 of the command's own namespaces: with it everything ends.
    First,
    /// The ancestor of everything.
    Ancestor,
}

/// Waits for the shell, for the time limit, or for the other end of the life line to go away; then ends everything
/// that is left.
pub(super) fn guard(
    rank: Rank,
    shell: Pid,
    life_line: BorrowedFd<'_>,
    limit: Duration,
) -> io::Result<End> {
    let end = wait_for(rank, shell, life_line, limit);
    match (&end, rank) {
        // It has said all it had to say; what it left behind was not asked for.
        (Ok(End::Exited(_) | End::Killed(_)), Rank::First) => {}
        (_, Rank::First) => {
            sys::kill_everybody(libc::SIGTERM);
            reap_for(COMMAND_GRACE);
        }
        (Ok(End::Exited(_) | End::Killed(_)), Rank::Ancestor) => sweep(),
        (_, Rank::Ancestor) => {
            descendants::ask_to_end();
            reap_for(COMMAND_GRACE);
            sweep();
        }
    }
    end
}

fn wait_for(rank: Rank, shell: Pid, life_line: BorrowedFd<'_>, limit: Duration) -> io::Result<End> {
    let deadline = Instant::now() + limit;
    let shell_fd = pidfd_open(shell, PidfdFlags::empty())?;
    loop {
        while let Some((pid, status)) = reap_one() {
            if pid == shell {
                return Ok(end_of(status));
            }
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(End::TimedOut);
        }
        if rank == Rank::Ancestor && descendants::count() > MAX_PROCESSES {
            return Ok(End::Killed(libc::SIGKILL));
        }
        let mut fds = [
            PollFd::from_borrowed_fd(life_line, PollFlags::IN),
            PollFd::from_borrowed_fd(shell_fd.as_fd(), PollFlags::IN),
        ];
        let time = Timespec::try_from(left.min(PERIOD)).ok();
        match poll(&mut fds, time.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        // Nothing is ever said there: readable means that the other end is gone.
        if !fds[0].revents().is_empty() {
            return Ok(End::Stopped);
        }
    }
}

/// Takes over one child that has ended.
fn reap_one() -> Option<(Pid, WaitStatus)> {
    wait(WaitOptions::NOHANG).ok().flatten()
}

/// Waits until nobody is left, but not longer than `most`.
pub(super) fn reap_for(most: Duration) {
    let begin = Instant::now();
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            // Nobody is left.
            Err(_) => return,
            Ok(None) if begin.elapsed() >= most => return,
            Ok(None) => std::thread::sleep(GRACE_PERIOD),
        }
    }
}

/// Ends the whole family and does not come back before it is gone.
pub(super) fn sweep() {
    loop {
        descendants::kill_all();
        // All that have ended by now, before anybody is looked for again.
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                // Nobody is left.
                Err(_) => return,
            }
        }
        std::thread::sleep(GRACE_PERIOD);
    }
}

fn end_of(status: WaitStatus) -> End {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => End::Exited(code),
        (None, Some(signal)) => End::Killed(signal),
        // A program that wants to be traced stops at a signal, and nobody traces it: it is ended.
        (None, None) => End::Killed(status.stopping_signal().unwrap_or_default()),
    }
}
