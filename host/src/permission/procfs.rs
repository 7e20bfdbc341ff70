//! What the kernel says of processes: a procfs shows their environment, their memory and what they have open, under numbers
//! that only one of them is known to mean here.

use std::path::Path;

use rustix::fs::{PROC_SUPER_MAGIC, statfs};

/// Where the procfs of this process's own numbers is.
const OWN: &str = "/proc";

/// Files directly in a procfs that tell of the machine, and neither of a process nor of the memory of the kernel, see
/// [`proc(5)`](https://man7.org/linux/man-pages/man5/proc.5.html).
const OF_THE_MACHINE: [&str; 9] = [
    "cpuinfo",
    "devices",
    "filesystems",
    "loadavg",
    "meminfo",
    "stat",
    "swaps",
    "uptime",
    "version",
];

/// What a file in a procfs makes visible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Visibility {
    /// The machine.
    Machine,
    /// A process, or what is not known.
    Process,
    /// This process; or one of which nobody can say which it is, as the procfs is another one.
    Own,
}

/// What a path, free of links, makes visible, if it lies in a procfs, wherever that is mounted.
pub(super) fn visibility(path: &Path) -> Option<Visibility> {
    if !is_in_procfs(path) && !path.starts_with(OWN) {
        return None;
    }
    let inside = path.ancestors().take_while(|path| is_in_procfs(path));
    let root = inside.last().unwrap_or(Path::new(OWN));
    let below = path.strip_prefix(root).ok()?;
    let mut parts = below.components();
    let first = parts.next().map(|part| part.as_os_str());
    let is_of_machine = OF_THE_MACHINE.iter().any(|name| below == Path::new(name));
    let is_own = || {
        let thread = first.map(|number| Path::new("/proc/self/task").join(number));
        thread.is_some_and(|thread| thread.exists())
    };
    Some(match root == Path::new(OWN) {
        _ if is_of_machine => Visibility::Machine,
        // Each thread has a folder beside the process's own, which no listing shows and which holds the same.
        true if is_own() => Visibility::Own,
        true => Visibility::Process,
        false => Visibility::Own,
    })
}

/// What is not there is in none: nobody can make a file in one.
fn is_in_procfs(path: &Path) -> bool {
    statfs(path).is_ok_and(|system| system.f_type == PROC_SUPER_MAGIC)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_no_process() {
        let own = std::process::id();
        for (path, expected) in [
            ("/proc/meminfo".to_owned(), Some(Visibility::Machine)),
            ("/proc/1/environ".to_owned(), Some(Visibility::Process)),
            ("/proc/1/mem".to_owned(), Some(Visibility::Process)),
            ("/proc/1/stat".to_owned(), Some(Visibility::Process)),
            ("/proc/kcore".to_owned(), Some(Visibility::Process)),
            ("/proc".to_owned(), Some(Visibility::Process)),
            (
                "/proc/4194305/environ".to_owned(),
                Some(Visibility::Process),
            ),
            (format!("/proc/{own}/status"), Some(Visibility::Own)),
            (format!("/proc/{own}"), Some(Visibility::Own)),
            ("/etc/hostname".to_owned(), None),
            ("/processes".to_owned(), None),
            ("/nowhere/proc/1/mem".to_owned(), None),
        ] {
            assert_eq!(visibility(Path::new(&path)), expected, "{path}");
        }
        // A thread has a number of its own.
        let this = std::fs::read_link("/proc/thread-self").unwrap();
        let environment = Path::new(OWN).join(this.file_name().unwrap());
        assert_eq!(
            visibility(&environment.join("environ")),
            Some(Visibility::Own)
        );
    }
}
