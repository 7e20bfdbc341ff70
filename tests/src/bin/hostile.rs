//! What a command may try that no shell can: each attempt is a word, and the status says whether it worked.
//!
//! `0`: it worked. `7`: the system refused, and the error is printed.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let tried = match arguments.as_slice() {
        ["tcp", address] => TcpStream::connect(address).map(drop),
        ["udp", address] => UdpSocket::bind("0.0.0.0:0")
            .and_then(|socket| socket.send_to(b"out", address))
            .map(drop),
        ["unix", path] => UnixStream::connect(path).map(drop),
        ["unix-pair", path] => turn_a_pair(path),
        ["raw-pair", path] => turn_a_raw_pair(path),
        ["own-loopback"] => own_loopback(),
        ["open-files"] => open_files(),
        ["set-id", path] => set_id(path),
        ["create-set-id", path] => create_set_id(path),
        ["openat2"] => system_call(libc::SYS_openat2, 0),
        ["capability", path] => set_attribute(path, c"security.capability", &CAPABILITY),
        ["attribute", path] => set_attribute(path, c"user.dunlin", b"x"),
        ["times", path] => times(path),
        ["type", terminal] => type_into(terminal),
        ["own-terminal"] => own_terminal(),
        ["core-limit"] => core_limit(),
        ["request", path, request] => make_request(path, request),
        ["user-namespace"] => system_call(libc::SYS_unshare, libc::CLONE_NEWUSER.into()),
        ["clone3"] => system_call(libc::SYS_clone3, 0),
        ["io-uring"] => system_call(libc::SYS_io_uring_setup, 1),
        ["session-keys"] => system_call(libc::SYS_keyctl, 0),
        ["lease", path] => lease(path),
        // What the first process of the sandbox may use.
        ["limit-of-first"] => system_call(libc::SYS_prlimit64, 1),
        // All processes of the user; the third argument is the usual priority.
        ["priority-of-user"] => system_call(libc::SYS_setpriority, libc::PRIO_USER.into()),
        ["io-priority-of-user"] => system_call(libc::SYS_ioprio_set, IOPRIO_WHO_USER),
        ["vsock"] => socket(libc::AF_VSOCK, libc::SOCK_STREAM),
        ["packets"] => socket(libc::AF_PACKET, libc::SOCK_RAW),
        _ => Err(io::Error::other("no such attempt")),
    };
    match tried {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whether anybody reads it is theirs to know.
            let _ = writeln!(io::stderr(), "refused: {error}");
            ExitCode::from(7)
        }
    }
}

/// From `linux/ioprio.h`.
const IOPRIO_WHO_USER: libc::c_long = 3;

/// Makes everybody who opens a file wait for this process.
fn lease(path: &str) -> io::Result<()> {
    let file = std::fs::File::open(path)?;
    #[expect(unsafe_code, reason = "the call takes two numbers")]
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_WRLCK) };
    result(done.into())
}

/// A listener and a connection to it, both in here.
fn own_loopback() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut to = TcpStream::connect(listener.local_addr()?)?;
    to.write_all(b"hello")?;
    drop(to);
    let mut text = String::new();
    listener.accept()?.0.read_to_string(&mut text)?;
    (text == "hello")
        .then_some(())
        .ok_or(io::ErrorKind::InvalidData.into())
}

/// Makes a pair of sockets and turns one of them to somebody else.
fn turn_a_pair(path: &str) -> io::Result<()> {
    let (one, _other) = std::os::unix::net::UnixDatagram::pair()?;
    one.connect(path)
}

/// The same with raw sockets, which are datagram sockets, too.
fn turn_a_raw_pair(path: &str) -> io::Result<()> {
    let mut pair = [0; 2];
    #[expect(unsafe_code, reason = "the call writes two numbers")]
    let done = unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_RAW, 0, pair.as_mut_ptr()) };
    result(done.into())?;
    #[expect(unsafe_code, reason = "the socket was made just now")]
    let one = unsafe { <std::os::unix::net::UnixDatagram as FromRawFd>::from_raw_fd(pair[0]) };
    one.connect(path)
}

/// Whether there is an open file besides the standard streams and the folder that lists them.
fn open_files() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let target = std::fs::read_link(entry?.path())?;
        if !target.starts_with("/proc") && target.starts_with("/") && !target.starts_with("/dev") {
            let _ = writeln!(io::stdout(), "{}", target.display());
            return Ok(());
        }
    }
    Err(io::Error::other("no open files"))
}

/// A file capability of version 2: CAP_SETUID, effective.
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// Gives a file the set-user-ID bit in every way there is.
fn set_id(path: &str) -> io::Result<()> {
    let name = std::ffi::CString::new(path)?;
    let file = std::fs::File::open(path)?;
    let (name, fd) = (name.as_ptr(), libc::c_long::from(file.as_raw_fd()));
    let here = libc::c_long::from(libc::AT_FDCWD);
    let mut worked = Err(io::Error::from_raw_os_error(libc::EPERM));
    for mode in [0o4755, 0o2755, 0o6755] {
        let mode = libc::c_long::from(mode);
        #[expect(
            unsafe_code,
            reason = "the path ends with a zero and lives until the end"
        )]
        let done = unsafe {
            [
                libc::syscall(libc::SYS_fchmod, fd, mode),
                libc::syscall(libc::SYS_fchmodat, here, name, mode),
                libc::syscall(libc::SYS_fchmodat2, here, name, mode, 0),
            ]
        };
        for done in done {
            worked = worked.or(result(done));
        }
    }
    worked
}

/// Creates a file with the set-user-ID bit in every way there is.
fn create_set_id(path: &str) -> io::Result<()> {
    let name = std::ffi::CString::new(path)?;
    let here = libc::c_long::from(libc::AT_FDCWD);
    let flags = libc::c_long::from(libc::O_CREAT | libc::O_WRONLY);
    let mode = libc::c_long::from(0o4755);
    let file = mode | libc::c_long::from(libc::S_IFREG);
    #[expect(
        unsafe_code,
        reason = "the path ends with a zero and lives until the end"
    )]
    let done = unsafe {
        [
            libc::syscall(libc::SYS_openat, here, name.as_ptr(), flags, mode),
            libc::syscall(libc::SYS_mknodat, here, name.as_ptr(), file, 0),
            libc::syscall(libc::SYS_mkdirat, here, name.as_ptr(), mode),
        ]
    };
    let mut worked = Err(io::Error::from_raw_os_error(libc::EPERM));
    for done in done {
        worked = worked.or(result(done));
    }
    worked
}

fn set_attribute(path: &str, name: &std::ffi::CStr, value: &[u8]) -> io::Result<()> {
    let path = std::ffi::CString::new(path)?;
    #[expect(
        unsafe_code,
        reason = "both names end with a zero, and the length is the value's"
    )]
    let done = unsafe {
        libc::setxattr(
            path.as_ptr(),
            name.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    };
    result(done.into())
}

/// Sets the times of a file to now.
fn times(path: &str) -> io::Result<()> {
    let path = std::ffi::CString::new(path)?;
    #[expect(
        unsafe_code,
        reason = "the path ends with a zero, and no times mean now"
    )]
    let done = unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), std::ptr::null(), 0) };
    result(done.into())
}

/// Types a character into a terminal as if it were its keyboard.
fn type_into(terminal: &str) -> io::Result<()> {
    let terminal = std::fs::File::options()
        .read(true)
        .write(true)
        .open(terminal)?;
    #[expect(unsafe_code, reason = "the call reads one byte")]
    let done = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSTI, b"x".as_ptr()) };
    result(done.into())
}

/// A pair of pseudo-terminals of a certain size.
fn own_terminal() -> io::Result<()> {
    let (mut one, mut other) = (0, 0);
    let size = libc::winsize {
        ws_row: 24,
        ws_col: 80,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    #[expect(unsafe_code, reason = "the call writes two numbers and reads a size")]
    let done = unsafe {
        let none = std::ptr::null_mut();
        libc::openpty(&mut one, &mut other, none, std::ptr::null(), &size)
    };
    result(done.into())
}

/// Sets the limit of core files to 0, in every way there is.
fn core_limit() -> io::Result<()> {
    let limit = [0_u64; 2];
    let mut now = [0_u64; 2];
    let (core, new, old) = (libc::RLIMIT_CORE, limit.as_ptr(), now.as_mut_ptr());
    let here = libc::c_long::from(std::process::id());
    #[expect(unsafe_code, reason = "a limit is two numbers")]
    let done = unsafe {
        libc::syscall(libc::SYS_setrlimit, core, new);
        libc::syscall(libc::SYS_prlimit64, 0, core, new, 0);
        libc::syscall(libc::SYS_prlimit64, here, core, new, 0);
        libc::syscall(libc::SYS_prlimit64, 0, core, new, old);
        libc::syscall(libc::SYS_prlimit64, 0, core, 0, old)
    };
    result(done)?;
    match now {
        [1, 1] => Err(io::Error::other("it is still 1")),
        _ => Ok(()),
    }
}

/// Makes a request of a file, in all 64 bits. `ENOTTY` counts as refused, also where the file does not know it.
fn make_request(path: &str, request: &str) -> io::Result<()> {
    let file = std::fs::File::open(path)?;
    let request = u64::from_str_radix(request, 16).map_err(io::Error::other)?;
    let mut room = [0_u64; 1024];
    #[expect(
        unsafe_code,
        reason = "no request of the tests takes or gives more than that"
    )]
    let done = unsafe {
        let fd = libc::c_long::from(file.as_raw_fd());
        libc::syscall(libc::SYS_ioctl, fd, request, room.as_mut_ptr())
    };
    result(done)
}

fn socket(family: libc::c_int, kind: libc::c_int) -> io::Result<()> {
    #[expect(unsafe_code, reason = "it takes three numbers")]
    let done = unsafe { libc::socket(family, kind, 0) };
    result(done.into())
}

fn system_call(number: libc::c_long, argument: libc::c_long) -> io::Result<()> {
    #[expect(
        unsafe_code,
        reason = "with zeros for pointers none of these writes anything"
    )]
    let done = unsafe { libc::syscall(number, argument, 0, 0, 0, 0) };
    result(done)
}

fn result(done: libc::c_long) -> io::Result<()> {
    if done == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
