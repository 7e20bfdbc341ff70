//! What a command may try that no shell can: each attempt is a word, and the status says whether it worked.
//!
//! `0`: it worked. `7`: the system refused, and the error is printed.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
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
        ["own-loopback"] => own_loopback(),
        ["type", terminal] => type_into(terminal),
        ["user-namespace"] => system_call(libc::SYS_unshare, libc::CLONE_NEWUSER.into()),
        ["clone3"] => system_call(libc::SYS_clone3, 0),
        ["io-uring"] => system_call(libc::SYS_io_uring_setup, 1),
        ["session-keys"] => system_call(libc::SYS_keyctl, 0),
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
