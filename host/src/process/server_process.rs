//! Dunlin's side of an MCP server that runs as a process with the user's own rights.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::child::leave;
use super::server_supervisor::{self, SERVER_FLAG, ServerOrder};

/// Bytes of what a supervisor says when its program cannot be started: one sentence.
const MAX_LAST_WORDS: usize = 4 * 1024;

/// How long the supervisor's own end is waited for once its program has closed its output.
const LAST_WORDS_TIME: Duration = Duration::from_millis(500);

/// The process of an MCP server. Dropping it closes its input, and ends it and everything it started soon afterwards.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    supervisor: Option<Child>,
    life_line: UnixStream,
}

/// Its three streams.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) input: Sender,
    pub(crate) output: Receiver,
    pub(crate) errors: Receiver,
}

impl ServerProcess {
    /// Starts a program. `supervisor` is how this program starts itself, as for commands.
    pub(crate) fn start(
        supervisor: &[OsString],
        order: &ServerOrder,
    ) -> io::Result<(ServerProcess, Streams)> {
        let Some((program, [flag, ..])) = supervisor.split_first() else {
            return Err(io::Error::other("this Dunlin starts no programs"));
        };
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let (their_input, input) = pipe_with(PipeFlags::CLOEXEC)?;
        let (output, their_output) = pipe_with(PipeFlags::CLOEXEC)?;
        let (errors, their_errors) = pipe_with(PipeFlags::CLOEXEC)?;
        let child = Command::new(program)
            .args([flag, &OsString::from(SERVER_FLAG)])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(their_output))
            .stderr(Stdio::from(their_errors))
            .spawn()?;
        let supervisor = KeptChild(Some(child));
        // A few kilobytes to somebody who does nothing but read them.
        server_supervisor::send(&ours, order, their_input.as_fd())?;
        ours.set_nonblocking(true)?;
        let server = ServerProcess {
            life_line: UnixStream::from_std(ours)?,
            supervisor: supervisor.take(),
        };
        let streams = Streams {
            input: Sender::from_owned_fd(input)?,
            output: Receiver::from_owned_fd(output)?,
            errors: Receiver::from_owned_fd(errors)?,
        };
        Ok((server, streams))
    }

    /// What the supervisor has to say once the output has ended: why the program could not be started, or nothing.
    pub(crate) async fn last_words(&self) -> String {
        let mut words = Vec::new();
        let listen = async {
            let mut buffer = [0; 512];
            loop {
                if self.life_line.readable().await.is_err() {
                    return;
                }
                match self.life_line.try_read(&mut buffer) {
                    Ok(0) => return,
                    Ok(read) if words.len() + read <= MAX_LAST_WORDS => {
                        words.extend(&buffer[..read]);
                    }
                    Ok(_) => {}
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        };
        // Somebody may hold the supervisor up; what was said until then is enough.
        let _ = tokio::time::timeout(LAST_WORDS_TIME, listen).await;
        String::from_utf8_lossy(&words).into_owned()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(supervisor) = self.supervisor.take() {
            leave(supervisor);
        }
    }
}

/// A supervisor that is not yet part of anything; dropping it takes it over once it has ended.
struct KeptChild(Option<Child>);

impl KeptChild {
    fn take(mut self) -> Option<Child> {
        self.0.take()
    }
}

impl Drop for KeptChild {
    fn drop(&mut self) {
        if let Some(child) = self.0.take() {
            leave(child);
        }
    }
}
