//! The few system calls that no safe crate offers. Everything here belongs to the supervisor, which has one thread.

use std::ffi::{CStr, c_int, c_uint};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::process::Pid;

/// Which side of a fork this is.
pub(super) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks; `flags` are namespaces for the child (`CLONE_NEW…`).
pub(super) fn fork(flags: c_int) -> io::Result<Forked> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    let zero: libc::c_long = 0;
    #[expect(
        unsafe_code,
        reason = "without a stack of its own and with one thread, the child goes on as after fork"
    )]
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, zero, zero, zero, zero) };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let pid = pid.ok_or_else(|| io::Error::other("a process without a number"))?;
            Ok(Forked::Parent(pid))
        }
    }
}

/// Ends this process at once, running nothing that belongs to the process it was forked from.
pub(super) fn exit_now(status: u8) -> ! {
    #[expect(unsafe_code, reason = "it takes a number and never returns")]
    unsafe {
        libc::_exit(c_int::from(status))
    }
}

/// Sends a signal to every process that this one may signal, except itself. Only for process 1 of a PID namespace.
pub(super) fn kill_everybody(signal: c_int) {
    #[expect(unsafe_code, reason = "it takes two numbers")]
    // Nobody there is no failure.
    let _ = unsafe { libc::kill(-1, signal) };
}

/// Switches the loopback interface on, in a network of its own.
pub(super) fn loopback_up() -> io::Result<()> {
    let socket: OwnedFd = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    #[expect(unsafe_code, reason = "all zeros is a valid request")]
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    #[expect(
        unsafe_code,
        reason = "the request is the structure that this call takes"
    )]
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &request) };
    if done == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Makes the mount at a path and all mounts below it read-only. Other attributes stay as they are, also those that a
/// user namespace may not change.
///
/// With an empty path it is the mount that `folder` stands for.
pub(super) fn mount_read_only(folder: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    set_attributes(folder, path, libc::MOUNT_ATTR_RDONLY)
}

/// The same, so that no device in them can be opened.
pub(super) fn mount_without_devices(folder: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    set_attributes(folder, path, libc::MOUNT_ATTR_NODEV)
}

fn set_attributes(folder: BorrowedFd<'_>, path: &CStr, attributes: u64) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_RECURSIVE | libc::AT_EMPTY_PATH;
    #[expect(
        unsafe_code,
        reason = "the path ends with a zero, and the size is that of the structure"
    )]
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            folder.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    result(done)
}

/// What happens to file descriptors that a process has not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inherited {
    /// They are closed now. For a process in which nothing else has opened a file yet.
    Closed,
    /// They are closed when this process starts a program.
    ClosedOnExec,
}

/// Keeps all file descriptors behind standard error from the programs that this process starts.
pub(super) fn give_no_files_on(how: Inherited) -> io::Result<()> {
    const FIRST: RawFd = 3;
    let flags = match how {
        Inherited::Closed => 0,
        Inherited::ClosedOnExec => libc::CLOSE_RANGE_CLOEXEC,
    };
    #[expect(
        unsafe_code,
        reason = "nothing in this process uses these files when they are closed: see `Inherited`"
    )]
    let done = unsafe { libc::syscall(libc::SYS_close_range, FIRST, c_uint::MAX, flags) };
    match result(done) {
        // Linux before 5.9, or 5.11 for the flag.
        Err(e) if matches!(e.raw_os_error(), Some(libc::ENOSYS | libc::EINVAL)) => {}
        done => return done,
    }
    let open = std::fs::read_dir("/proc/self/fd")?;
    let open: Vec<RawFd> = open
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|fd| *fd >= FIRST)
        .collect();
    for fd in open {
        // The one that listed them is closed already: that is not a failure.
        #[expect(unsafe_code, reason = "as above")]
        let _ = unsafe {
            match how {
                Inherited::Closed => libc::close(fd),
                Inherited::ClosedOnExec => libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC),
            }
        };
    }
    Ok(())
}

fn result(done: libc::c_long) -> io::Result<()> {
    if done == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
