//! A world of its own for a command: its own processes, mounts, devices and, unless granted, network.
//!
//! Made of Linux namespaces, which a user namespace gives to everybody. In it the command sees only its own
//! processes, so there is nobody to signal, to trace or to read keys from; when its process 1 ends the kernel
//! ends the rest, whatever it did to be left alone. Mounts hide what Landlock, which can only allow, could not
//! take out of an allowed folder.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};

use super::access::kind_of;
use super::cage::DEVICES;
use super::order::Order;
use super::sys;
use crate::limits::{MAX_PROCESSES, MAX_TEMPORARY_BYTES, MAX_TEMPORARY_FILES};

/// The namespaces of a command. A cgroup namespace would hide nothing of worth.
pub(super) fn namespaces(network: bool) -> libc::c_int {
    let own = libc::CLONE_NEWUSER | libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC;
    if network {
        own
    } else {
        own | libc::CLONE_NEWNET
    }
}

/// Why there is no world: what was being done, and the system's answer.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {source}")]
pub(super) struct NoWorld {
    step: String,
    source: io::Error,
}

/// Names a step for its error.
fn step<T, E: Into<io::Error>>(what: impl Into<String>, done: Result<T, E>) -> Result<T, NoWorld> {
    done.map_err(|source| NoWorld {
        step: what.into(),
        source: source.into(),
    })
}

/// Furnishes the new world, as its process 1. `user` and `group` are those before it began.
pub(super) fn furnish(order: &Order, user: u32, group: u32) -> Result<(), NoWorld> {
    let below_dev = |path: &Path| path.starts_with("/dev") || path.starts_with("/proc");
    if order.access.written().any(below_dev) {
        let refused = io::Error::other("what is to be written lies below /dev or /proc");
        return step("devices", Err(refused));
    }
    // The command stays who it is: whatever it makes belongs to the user.
    step("setgroups", fs::write("/proc/self/setgroups", "deny"))?;
    step(
        "uid_map",
        fs::write("/proc/self/uid_map", format!("{user} {user} 1")),
    )?;
    step(
        "gid_map",
        fs::write("/proc/self/gid_map", format!("{group} {group} 1")),
    )?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("private mounts", mount_change("/", private))?;
    devices()?;
    let room = format!("mode=0700,size={MAX_TEMPORARY_BYTES},nr_inodes={MAX_TEMPORARY_FILES}");
    step(
        "temporary folder",
        tmpfs(&order.temporary, MountFlags::empty(), &room),
    )?;
    for folder in pins(order) {
        let pinned = match kind_of(folder) {
            Ok(Some(kind)) if kind.is_dir() => mount_bind(folder, folder).map_err(io::Error::from),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        };
        step(format!("{} in its place", folder.display()), pinned)?;
    }
    // Last writable, then hidden: of two rules about one path the stricter holds.
    for path in &order.access.read_only {
        step(format!("{} read-only", path.display()), freeze(path))?;
    }
    for path in &order.access.hidden {
        step(format!("{} hidden", path.display()), hide(path))?;
    }
    processes()?;
    if !order.network {
        step("loopback", sys::loopback_up())?;
    }
    Ok(())
}

/// The folders between what can be written and what in it cannot, outermost first. Each becomes a mount, which cannot be
/// renamed: else a command would move the folder away and make another in its place.
fn pins(order: &Order) -> BTreeSet<&Path> {
    let access = &order.access;
    let kept = access.read_only.iter().chain(&access.hidden);
    kept.flat_map(|path| path.ancestors().skip(1))
        .filter(|folder| {
            access
                .written()
                .any(|root| folder.starts_with(root) && *folder != root)
        })
        .collect()
}

fn tmpfs(at: &Path, flags: MountFlags, options: &str) -> io::Result<()> {
    let flags = flags | MountFlags::NOSUID | MountFlags::NODEV;
    let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
    Ok(mount("tmpfs", at, "tmpfs", flags, options.as_c_str())?)
}

/// A `/dev` with the harmless devices, terminals and shared memory of its own.
fn devices() -> Result<(), NoWorld> {
    let mut opened = Vec::new();
    for name in DEVICES {
        let device = rustix::fs::open(
            Path::new("/dev").join(name),
            rustix::fs::OFlags::PATH | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        );
        opened.push((name, step(format!("/dev/{name}"), device)?));
    }
    let dev = Path::new("/dev");
    step(
        "/dev",
        tmpfs(dev, MountFlags::empty(), "mode=0755,size=64k"),
    )?;
    for (name, device) in opened {
        let at = dev.join(name);
        step(name, File::create(&at))?;
        let from = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&device));
        step(name, mount_bind(from, &at))?;
    }
    for (name, leads_to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        step(name, std::os::unix::fs::symlink(leads_to, dev.join(name)))?;
    }
    let shared = dev.join("shm");
    step("/dev/shm", fs::create_dir(&shared))?;
    let room = format!("mode=1777,size={MAX_TEMPORARY_BYTES},nr_inodes={MAX_TEMPORARY_FILES}");
    step("/dev/shm", tmpfs(&shared, MountFlags::empty(), &room))?;
    // Pseudo-terminals are for programs that test terminals; without them the rest works.
    let terminals = dev.join("pts");
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let made = fs::create_dir(&terminals).and_then(|()| {
        let options = c"newinstance,ptmxmode=0666,mode=620";
        mount("devpts", &terminals, "devpts", flags, options).map_err(io::Error::from)
    });
    if made.is_ok() {
        step(
            "ptmx",
            std::os::unix::fs::symlink("pts/ptmx", dev.join("ptmx")),
        )?;
    }
    Ok(())
}

/// A `/proc` of its own processes, which cannot be written: it holds settings of the whole machine.
fn processes() -> Result<(), NoWorld> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    step("/proc", mount("proc", "/proc", "proc", flags, None))?;
    // Since Linux 6.14 each world counts for itself, and the superuser is counted, too.
    let _ = fs::write("/proc/sys/kernel/pid_max", MAX_PROCESSES.to_string());
    step(
        "/proc read-only",
        mount_remount("/proc", flags | MountFlags::RDONLY, c""),
    )
}

/// Keeps a file or folder from being changed.
fn freeze(path: &Path) -> io::Result<()> {
    if kind_of(path)?.is_none_or(|kind| kind.is_symlink()) {
        return Ok(());
    }
    mount_bind(path, path)?;
    read_only(path)
}

/// Puts something empty before a file or folder.
fn hide(path: &Path) -> io::Result<()> {
    match kind_of(path)? {
        Some(kind) if kind.is_dir() => {
            let options = "mode=0,size=4k,nr_inodes=2";
            tmpfs(path, MountFlags::RDONLY | MountFlags::NOEXEC, options)
        }
        Some(kind) if kind.is_file() => {
            let empty = empty_file()?;
            mount_bind(&empty, path)?;
            read_only(path)
        }
        // A link leads to where it is judged; nothing at all needs no curtain.
        _ => Ok(()),
    }
}

/// A file without content: what programs find instead of their credentials, and take for having none.
fn empty_file() -> io::Result<PathBuf> {
    let path = PathBuf::from("/dev/.empty");
    if kind_of(&path)?.is_none() {
        File::create(&path)?;
    }
    Ok(path)
}

/// Makes a mount read-only. What else holds for it has to be repeated: it cannot be taken away here.
fn read_only(path: &Path) -> io::Result<()> {
    let now = statvfs(path)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (has, flag) in [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if now.contains(has) {
            flags |= flag;
        }
    }
    Ok(mount_remount(path, flags, c"")?)
}
