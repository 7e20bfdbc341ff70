//! Dunlin's side of a command: starts the supervisor, reads what the command prints, hears how it ended.

use std::fs::File;
use std::future::pending;
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use tempfile::TempDir;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::child::leave;
use super::order::{End, Input, Order, Report};
use super::{Access, CommandOptions, CommandSandbox, Streams, server_supervisor};
use crate::limits::{COMMAND_GRACE, MAX_CHUNK_BYTES, MAX_COMMAND_BYTES};
use crate::notices::Notices;

/// Bytes that wait in a pipe between command and Dunlin. The usual 64 KiB make a command that prints much wait for
/// every read.
const PIPE_BYTES: usize = 256 * 1024;

/// Bytes of all reports of a supervisor: some short lines.
const MAX_REPORT_BYTES: usize = 64 * 1024;

/// How long after its supervisor's end a command's output may still be held open by somebody. Only where it has no namespaces
/// of its own can that be, and then never for good.
const DRAIN_TIME: Duration = Duration::from_millis(500);

/// How much longer than its command a supervisor may take to end before it is killed itself.
const SUPERVISOR_TIME: Duration = Duration::from_secs(60);

/// Why a command does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CommandError {
    /// Nobody said how.
    #[error("this Dunlin runs no commands")]
    Off,
    /// The kernel takes no longer one.
    #[error(
        "the command line has {0} bytes; at most {MAX_COMMAND_BYTES} are possible; put it into a script"
    )]
    TooLong(usize),
    /// A NUL byte ends it for the kernel and not for us.
    #[error("the command line holds a NUL character")]
    Nul,
    /// It would have to run where it may not look.
    #[error("commands cannot run in {0}: it is hidden from them")]
    Hidden(String),
    /// It is to change nothing, and here it could.
    #[error(
        "no command runs in plan mode here, as it could change or send something: {0}; dunlin doctor says what is missing, /mode ask ends plan mode"
    )]
    NotReadOnly(String),
    /// The system refused.
    #[error("cannot {what}")]
    Io {
        what: &'static str,
        source: io::Error,
    },
    /// The supervisor could not do it.
    #[error("{0}")]
    Supervisor(String),
}

/// What the user is told if a supervisor ended before it had looked at the repositories.
const NOT_REVIEWED: &str = "The git settings of this project were not checked after this command: look for new .git folders and settings before you run git there.";

fn io_error(what: &'static str) -> impl Fn(io::Error) -> CommandError {
    move |source| CommandError::Io { what, source }
}

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// A command on its way. Dropping it ends the command and everything it started, some milliseconds later.
#[derive(Debug)]
pub(crate) struct Running {
    /// Why it was ended from here, if it was.
    why_stopped: Arc<OnceLock<&'static str>>,
    /// Until it has ended.
    supervisor: Option<Supervisor>,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    /// When the supervisor was gone.
    over: Option<Instant>,
    /// When the supervisor must be gone.
    latest: Instant,
    sandbox: Option<CommandSandbox>,
    end: Option<End>,
    failed: Option<String>,
    notices: Vec<String>,
    is_read_only: bool,
    /// Takes notices that nobody has taken when this is dropped. `None`: git repositories are not looked at when the
    /// command has ended.
    untaken: Option<Notices>,
    /// The supervisor removes it, too: then it goes even if Dunlin is killed.
    _temporary: TempDir,
}

/// The way to end a command.
#[derive(Debug)]
pub(crate) struct Stop {
    life_line: Option<OwnedFd>,
    why: Arc<OnceLock<&'static str>>,
}

impl Stop {
    /// Ends it. Who waits for it is told why: a supervisor that is ended cannot say so.
    pub(crate) fn now(self, why: &'static str) {
        if let Some(life_line) = self.life_line {
            let _ = self.why.set(why);
            // It fails where the command has ended. What the supervisor reports is still heard.
            let _ = shutdown(life_line, Shutdown::Write);
        }
    }
}

/// The supervisor of a command, and what it has reported.
#[derive(Debug)]
struct Supervisor {
    process: Child,
    life_line: UnixStream,
    reports: Vec<u8>,
    /// Whether the command can change nothing, so that nothing is looked at after it.
    is_read_only: bool,
}

impl Running {
    /// Starts a command line in the sandbox that was announced. `network`: whether it may reach it. Dropping the future leaves
    /// nothing behind.
    pub(crate) async fn start(
        options: &CommandOptions,
        announced: &CommandSandbox,
        line: String,
        network: bool,
        access: Access,
        notices: &Notices,
    ) -> Result<Running, CommandError> {
        let watched = Some((announced.clone(), notices.clone()));
        Running::start_with(options, watched, line, network, access, None).await
    }

    /// The same for a command that reads this text.
    pub(crate) async fn start_reading(
        options: &CommandOptions,
        announced: &CommandSandbox,
        line: String,
        network: bool,
        access: Access,
        notices: &Notices,
        text: &[u8],
    ) -> Result<Running, CommandError> {
        let watched = Some((announced.clone(), notices.clone()));
        let input = in_memory(text).map_err(io_error("keep the input of the command"))?;
        let input = Some((Input::Text, input));
        Running::start_with(options, watched, line, network, access, input).await
    }

    /// Starts a command that does nothing, to find out what its sandbox is made of.
    pub(super) async fn probe(options: &CommandOptions) -> Result<Running, CommandError> {
        // Nothing can be written but its own temporary folder, where it starts.
        Running::start_with(
            options,
            None,
            ":".to_owned(),
            options.network,
            Access::default(),
            None,
        )
        .await
    }

    /// Starts a program that serves in the command sandbox: it has an input, and no time limit.
    pub(crate) async fn start_server(
        options: &CommandOptions,
        announced: &CommandSandbox,
        line: String,
        access: Access,
        notices: &Notices,
    ) -> Result<(Running, Streams), CommandError> {
        let fail = io_error("make a pipe");
        let (their_input, input) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| fail(e.into()))?;
        let watched = Some((announced.clone(), notices.clone()));
        let theirs = Some((Input::Stream, their_input));
        let network = options.network;
        let started = Running::start_with(options, watched, line, network, access, theirs);
        let mut running = started.await?;
        let (Some(output), Some(errors)) = (running.stdout.take(), running.stderr.take()) else {
            return Err(CommandError::Supervisor("its output is gone".to_owned()));
        };
        let streams = Streams {
            input: Sender::from_owned_fd(input).map_err(fail)?,
            output,
            errors,
        };
        Ok((running, streams))
    }

    /// Why a program that serves could not be started, once its output has ended; or nothing.
    pub(crate) async fn last_words(&mut self) -> String {
        // Somebody may hold the supervisor up; what was said until then is enough.
        let finished = tokio::time::timeout(DRAIN_TIME, self.finish()).await;
        match (&self.failed, finished) {
            (Some(failed), _) => failed.clone(),
            (None, Ok(Err(error))) => crate::display::chain(&error),
            (None, _) => String::new(),
        }
    }

    async fn start_with(
        options: &CommandOptions,
        watched: Option<(CommandSandbox, Notices)>,
        line: String,
        network: bool,
        mut access: Access,
        input: Option<(Input, OwnedFd)>,
    ) -> Result<Running, CommandError> {
        let Some((program, arguments)) = options.supervisor.split_first() else {
            return Err(CommandError::Off);
        };
        if line.len() > MAX_COMMAND_BYTES {
            return Err(CommandError::TooLong(line.len()));
        }
        if line.contains('\0') {
            return Err(CommandError::Nul);
        }
        if let Some(hidden) = access.hides_project() {
            return Err(CommandError::Hidden(hidden.display().to_string()));
        }
        let (announced, untaken) = watched.unzip();
        let is_read_only = access.is_read_only;
        if let (true, Some(sandbox)) = (is_read_only, &announced)
            && let Some(why) = sandbox.can_change_something()
        {
            return Err(CommandError::NotReadOnly(why));
        }
        let temporary = temporary_folder(&options.temporary)?;
        if announced.is_none() {
            access.project = temporary.path().to_owned();
        }
        let (ours, theirs) =
            std::os::unix::net::UnixStream::pair().map_err(io_error("make a socket"))?;
        ours.set_nonblocking(true)
            .map_err(io_error("make a socket"))?;
        let life_line = UnixStream::from_std(ours).map_err(io_error("make a socket"))?;
        let (stdout, their_stdout) = pipe()?;
        let (stderr, their_stderr) = pipe()?;
        let order = Order {
            line,
            shell: options.shell.clone(),
            environment: options.environment.clone(),
            shell_path: options.shell_path.clone(),
            access,
            baselines: options.baselines.clone(),
            set_aside: options.set_aside.clone(),
            temporary: temporary.path().to_owned(),
            time_limit_ms: u64::try_from(options.time_limit.as_millis()).unwrap_or(u64::MAX),
            network,
            input: input.as_ref().map_or(Input::Nothing, |(kind, _)| *kind),
            announced,
        };
        let order = order.to_bytes().map_err(io_error("write the order"))?;
        let process = Command::new(program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(their_stdout))
            .stderr(Stdio::from(their_stderr))
            .spawn()
            .map_err(io_error("start the supervisor of the command"))?;
        let running = Running {
            why_stopped: Arc::default(),
            supervisor: Some(Supervisor {
                process,
                life_line,
                reports: Vec::new(),
                is_read_only,
            }),
            stdout: Some(stdout),
            stderr: Some(stderr),
            over: None,
            latest: Instant::now() + options.time_limit + COMMAND_GRACE + SUPERVISOR_TIME,
            sandbox: None,
            end: None,
            failed: None,
            notices: Vec::new(),
            is_read_only,
            untaken,
            _temporary: temporary,
        };
        if let Some(supervisor) = &running.supervisor {
            supervisor.send(&order).await?;
            if let Some((_, input)) = input {
                supervisor.send_input(input.as_fd()).await?;
            }
        }
        Ok(running)
    }

    /// Ends the command and everything it started when it is used, some milliseconds later, while somebody else may be
    /// waiting for its end.
    ///
    /// # Errors
    /// There are too many open files.
    pub(crate) fn stop(&self) -> Result<Stop, CommandError> {
        let life_line = self.supervisor.as_ref().map(|it| it.life_line.as_fd());
        let life_line = life_line.map(|it| it.try_clone_to_owned()).transpose();
        Ok(Stop {
            life_line: life_line.map_err(io_error("watch over the command"))?,
            why: Arc::clone(&self.why_stopped),
        })
    }

    /// Whether it could change nothing.
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// What held the command; known once it has ended.
    pub(crate) fn sandbox(&self) -> Option<&CommandSandbox> {
        self.sandbox.as_ref()
    }

    /// What the user is to know of what the command left behind, a sentence each; known once it has ended. What nobody
    /// takes is shown as a notice of its own when this is dropped.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// The next output, at most [`MAX_CHUNK_BYTES`]. `None`: the command has ended and this was all. Dropping the
    /// future loses nothing.
    pub(crate) async fn read(&mut self) -> Result<Option<(Stream, Vec<u8>)>, CommandError> {
        while self.stdout.is_some() || self.stderr.is_some() {
            let drained = self.over.map(|over| over + DRAIN_TIME);
            let (stream, read) = tokio::select! {
                read = next_of(self.stdout.as_ref()) => (Stream::Stdout, read),
                read = next_of(self.stderr.as_ref()) => (Stream::Stderr, read),
                () = collect_reports_of(self.supervisor.as_mut()), if self.over.is_none() => {
                    self.over = Some(Instant::now());
                    continue;
                }
                () = until(drained) => {
                    (self.stdout, self.stderr) = (None, None);
                    continue;
                }
                () = tokio::time::sleep_until(self.latest), if self.over.is_none() => {
                    self.give_up();
                    continue;
                }
            };
            match read {
                Ok(bytes) if !bytes.is_empty() => return Ok(Some((stream, bytes))),
                Ok(_) => match stream {
                    Stream::Stdout => self.stdout = None,
                    Stream::Stderr => self.stderr = None,
                },
                Err(e) => return Err(io_error("read the output of the command")(e)),
            }
        }
        self.finish().await?;
        Ok(None)
    }

    /// Waits for the end; output that was not read until then is dropped. Dropping the future loses nothing.
    pub(crate) async fn wait(&mut self) -> Result<End, CommandError> {
        while self.read().await?.is_some() {}
        match (self.end, &self.failed) {
            (Some(end), _) => Ok(end),
            (None, failed) => {
                let killed = "the supervisor of the command was killed, and the command with it";
                let why = self.why_stopped.get().copied().unwrap_or(killed);
                let failed = failed.as_deref().unwrap_or(why);
                let said = std::iter::once(failed).chain(self.notices.iter().map(String::as_str));
                let said: Vec<&str> = said.collect();
                Err(CommandError::Supervisor(said.join(". ")))
            }
        }
    }

    /// Hears the last reports and waits for the supervisor's end.
    async fn finish(&mut self) -> Result<(), CommandError> {
        if self.over.is_none()
            && let Some(supervisor) = &mut self.supervisor
        {
            let heard = tokio::select! {
                () = supervisor.collect_reports() => true,
                () = tokio::time::sleep_until(self.latest) => false,
            };
            if !heard {
                self.give_up();
            }
            self.over = Some(Instant::now());
        }
        if let Some(supervisor) = self.supervisor.take() {
            let reported = supervisor.end();
            self.sandbox = reported.sandbox;
            self.end = reported.end;
            self.failed = reported.failed.or(self.failed.take());
            if self.untaken.is_some() {
                self.notices = reported.notices;
            }
            // A shell that never came to be ends with a status of its own.
            if self.failed.is_some() {
                self.end = None;
            }
        }
        Ok(())
    }

    /// A supervisor that does not end: with it goes process 1, and with that the rest.
    fn give_up(&mut self) {
        if let Some(supervisor) = &mut self.supervisor {
            let _ = supervisor.process.kill();
        }
        self.failed =
            Some("the supervisor of the command did not end in time and was killed".to_owned());
        self.over = Some(Instant::now());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(notices) = &self.untaken else {
            if let Some(supervisor) = self.supervisor.take() {
                leave(supervisor.process);
            }
            return;
        };
        for notice in self.notices.drain(..) {
            notices.push(notice);
        }
        let Some(mut supervisor) = self.supervisor.take() else {
            return;
        };
        let Ok(runtime) = Handle::try_current() else {
            // Dunlin itself is ending.
            return leave(supervisor.process);
        };
        // The command ends now, and the supervisor still looks at the repositories.
        let _ = shutdown(&supervisor.life_line, Shutdown::Write);
        let expected = notices.expect();
        runtime.spawn(async move {
            let heard = tokio::time::timeout(SUPERVISOR_TIME, supervisor.collect_reports()).await;
            if heard.is_err() {
                let _ = supervisor.process.kill();
            }
            for notice in supervisor.end().notices {
                expected.push(notice);
            }
        });
    }
}

impl Supervisor {
    async fn send_input(&self, input: BorrowedFd<'_>) -> Result<(), CommandError> {
        let fail = io_error("reach the supervisor of the command");
        loop {
            self.life_line.writable().await.map_err(&fail)?;
            let sent = self.life_line.try_io(Interest::WRITABLE, || {
                server_supervisor::send_input(&self.life_line, input)
            });
            match sent {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                sent => return sent.map_err(&fail),
            }
        }
    }

    async fn send(&self, mut bytes: &[u8]) -> Result<(), CommandError> {
        let fail = io_error("reach the supervisor of the command");
        while !bytes.is_empty() {
            self.life_line.writable().await.map_err(&fail)?;
            match self.life_line.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(fail(e)),
            }
        }
        Ok(())
    }

    /// Collects reports until the supervisor has closed its end. Dropping the future loses nothing.
    async fn collect_reports(&mut self) {
        collect_reports(&self.life_line, &mut self.reports).await;
    }

    /// Waits for the end of the process, which has closed its end of the life line, and reads its reports.
    fn end(mut self) -> Reported {
        let _ = self.process.wait();
        let mut reported = Reported::default();
        let mut is_reviewed = false;
        for report in Report::of_lines(&self.reports) {
            match report {
                Report::Sandboxed(sandbox) => reported.sandbox = Some(sandbox),
                Report::Failed(failed) => reported.failed = Some(failed),
                Report::Ended(end) => reported.end = Some(end),
                Report::Notice(notice) => reported.notices.push(notice),
                Report::Reviewed => is_reviewed = true,
            }
        }
        if !is_reviewed && !self.is_read_only {
            reported.notices.insert(0, NOT_REVIEWED.to_owned());
        }
        reported
    }
}

/// What a supervisor has reported.
#[derive(Default)]
struct Reported {
    sandbox: Option<CommandSandbox>,
    end: Option<End>,
    failed: Option<String>,
    notices: Vec<String>,
}

/// Reads what is there, and waits if there is nothing. Empty: that was all.
async fn next_of(pipe: Option<&Receiver>) -> io::Result<Vec<u8>> {
    let Some(pipe) = pipe else {
        return pending().await;
    };
    let mut bytes = vec![0; MAX_CHUNK_BYTES];
    loop {
        pipe.readable().await?;
        match pipe.try_read(&mut bytes) {
            Ok(read) => {
                bytes.truncate(read);
                return Ok(bytes);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
    }
}

async fn collect_reports_of(supervisor: Option<&mut Supervisor>) {
    match supervisor {
        Some(supervisor) => supervisor.collect_reports().await,
        None => pending().await,
    }
}

/// Collects reports until the other end is gone.
async fn collect_reports(life_line: &UnixStream, reports: &mut Vec<u8>) {
    let mut buffer = [0; 4096];
    loop {
        if life_line.readable().await.is_err() {
            return;
        }
        match life_line.try_read(&mut buffer) {
            Ok(0) => return,
            Ok(read) if reports.len() + read <= MAX_REPORT_BYTES => {
                reports.extend(&buffer[..read]);
            }
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => pending().await,
    }
}

/// A file that no folder has, with this text: a command that does not read it keeps nobody waiting.
fn in_memory(text: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    file.rewind()?;
    Ok(file.into())
}

fn pipe() -> Result<(Receiver, OwnedFd), CommandError> {
    let fail = io_error("make a pipe");
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| fail(e.into()))?;
    // A user may have used up what pipes may hold; then it stays at the usual size.
    let _ = fcntl_setpipe_size(&reader, PIPE_BYTES);
    Ok((Receiver::from_owned_fd(reader).map_err(fail)?, writer))
}

fn temporary_folder(inside: &Path) -> Result<TempDir, CommandError> {
    let inside = inside
        .canonicalize()
        .map_err(io_error("find the folder for temporary files"))?;
    tempfile::Builder::new()
        .prefix("dunlin-command-")
        .tempdir_in(inside)
        .map_err(io_error("make a temporary folder"))
}
