//! The few system calls that no safe crate offers. Everything here belongs to the keeper, which has one thread.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

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

/// Sends a signal to every process that this one may signal, except itself. Only for process 1 of a world.
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
