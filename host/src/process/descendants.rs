//! Everything that descends from this process, where the command has no namespaces of its own.
//!
//! The supervisor is a *subreaper*: whoever loses its parent below becomes its child, so nobody gets out of the family
//! by forking twice or by a session of its own.
//!
//! Numbers of processes are given out again, and quickly where many come and go. So nobody is signalled by number: a
//! process is taken hold of first, then looked at once more, and what is signalled is what was looked at.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often everything is stopped before it is killed, at most. Each round leaves only what was started during
/// the one before by somebody not yet stopped; more than a few mean that the kernel does not let us.
const MAX_ROUNDS: usize = 100;

/// A process as it was seen: the number may be somebody else's by now, and then the start differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Seen {
    pid: i32,
    parent: i32,
    /// In ticks since the machine was started.
    start: u64,
}

impl Seen {
    /// Looks at a process that has not ended: a line like `42 (any) name) S 7 …`, in which the name may hold anything.
    fn look(pid: i32) -> Option<Seen> {
        const PARENT: usize = 1;
        const START: usize = 19;
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let behind_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        let rest = std::str::from_utf8(stat.get(behind_name..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // Ended, and with nothing below it: only its parent has anything to do with it.
        if matches!(fields.first(), Some(&("Z" | "X"))) {
            return None;
        }
        Some(Seen {
            pid,
            parent: fields.get(PARENT)?.parse().ok()?,
            start: fields.get(START)?.parse().ok()?,
        })
    }

    /// Takes hold of it, if it is still the same.
    fn hold(self) -> Option<OwnedFd> {
        let held = pidfd_open(Pid::from_raw(self.pid)?, PidfdFlags::empty()).ok()?;
        let now = Seen::look(self.pid)?;
        // Whoever lost its parent has another one; it is still the same.
        (now.start == self.start).then_some(held)
    }

    fn signal(self, signal: Signal) {
        if let Some(held) = self.hold() {
            // Already gone is as good.
            let _ = pidfd_send_signal(held, signal);
        }
    }
}

/// How many there are.
pub(super) fn count() -> usize {
    descendants().len()
}

/// All descendants of this process as they are now.
fn descendants() -> Vec<Seen> {
    let mut children: HashMap<i32, Vec<Seen>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        if let Some(seen) = number.and_then(Seen::look) {
            children.entry(seen.parent).or_default().push(seen);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![rustix::process::getpid().as_raw_nonzero().get()];
    while let Some(parent) = open.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            found.push(child);
            open.push(child.pid);
        }
    }
    found
}

/// Asks everything to end.
pub(super) fn ask_to_end() {
    for process in descendants() {
        process.signal(Signal::TERM);
    }
}

/// Ends everything. First all of it is stopped, so that nobody starts more while others are being killed.
pub(super) fn kill_all() {
    let mut stopped: HashSet<Seen> = HashSet::new();
    for _ in 0..MAX_ROUNDS {
        let mut is_new = false;
        for process in descendants() {
            if stopped.insert(process) {
                is_new = true;
                process.signal(Signal::STOP);
            }
        }
        if !is_new {
            break;
        }
    }
    for process in descendants() {
        process.signal(Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_found() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&child).as_raw_nonzero().get();
        let is_there = || descendants().iter().any(|process| process.pid == pid);
        assert!(is_there());
        let seen = Seen::look(pid).unwrap();
        assert!(seen.hold().is_some());
        // The same number with another beginning is somebody else.
        let other = Seen {
            start: seen.start + 1,
            ..seen
        };
        assert!(other.hold().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_there());
    }
}
