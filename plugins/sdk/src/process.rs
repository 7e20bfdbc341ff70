//! Commands of the machine, caged by the host and checked at the moment they are started.
//!
//! ```no_run
//! use dunlin_sdk::process::{Command, CommandLine};
//!
//! # fn run() -> Result<(), dunlin_sdk::Error> {
//! let mut command = Command::start(CommandLine::new("cargo test"))?;
//! while let Some(chunk) = command.read()? {
//!     dunlin_sdk::log::debug(&format!("{:?}: {} bytes", chunk.from, chunk.bytes.len()));
//! }
//! let end = command.wait()?;
//! # Ok(())
//! # }
//! ```

use crate::bindings::dunlin::tool::process as host;
use crate::bindings::dunlin::tool::tool_types as own;
use crate::error::Error;

/// A command line for a shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandLine {
    /// As it is handed to the shell.
    pub line: String,
    /// Whether it wants to reach the network. Without it a command reaches its own loopback at most.
    pub network: bool,
}

impl CommandLine {
    /// A command that needs no network.
    pub fn new(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            network: false,
        }
    }

    /// The same with the network, or without.
    #[must_use]
    pub fn with_network(mut self, network: bool) -> Self {
        self.network = network;
        self
    }
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// By itself, with this status; 0 means success by custom.
    Exited(i32),
    /// The shell itself was ended by this signal.
    Killed(i32),
    /// The host ended it at its time limit.
    TimedOut,
}

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of output, as the command wrote it: any bytes, cut anywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Where it came from.
    pub from: Stream,
    /// Never empty.
    pub bytes: Vec<u8>,
}

/// A command on its way. Dropping it ends the command and everything it started.
#[derive(Debug)]
pub struct Command {
    handle: host::Command,
}

impl Command {
    /// Runs a command line in a shell, in the project folder, without input and without a terminal.
    ///
    /// Declare the same with [`Plan::command`](crate::Plan::command): a line that was not, or not with the
    /// network, is asked about in the host's own words, whatever was granted. Waits for the user's answer, never
    /// for the command.
    ///
    /// Fails with `Denied`, with `Invalid` when the line holds a NUL character, with `TooLarge` above 120 KiB or
    /// when the call has started 16 commands, with `Unsupported` where the host runs none.
    pub fn start(command: CommandLine) -> Result<Self, Error> {
        crate::host::in_component()?;
        Ok(Self {
            handle: host::start(command.into())?,
        })
    }

    /// Waits for the next output and gives at most 64 KiB of it; `None`: the command has ended, and this was all.
    ///
    /// The wait is not counted against the time limit of the call: the command has its own.
    pub fn read(&mut self) -> Result<Option<Chunk>, Error> {
        let chunk = self.handle.read()?;
        Ok(chunk.map(|chunk| Chunk {
            from: match chunk.source {
                host::Source::Stdout => Stream::Stdout,
                host::Source::Stderr => Stream::Stderr,
            },
            bytes: chunk.bytes,
        }))
    }

    /// Waits for the end; output that was not read until then is dropped. May be called again.
    ///
    /// Fails with `Failed` when the command could not be run at all.
    pub fn wait(&mut self) -> Result<End, Error> {
        Ok(match self.handle.wait()? {
            host::End::Exited(status) => End::Exited(status),
            host::End::Killed(signal) => End::Killed(signal),
            host::End::TimedOut => End::TimedOut,
        })
    }
}

impl From<CommandLine> for own::CommandLine {
    fn from(command: CommandLine) -> Self {
        let own = Self::new(&command.line);
        own.set_network(command.network);
        own
    }
}
