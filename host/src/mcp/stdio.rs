//! A server that is a program: its messages are the lines of its standard streams.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;

use super::transport::{Connection, Receiver, SendError, Sender, ServerLog, TransportError};
use crate::command::Line;
use crate::display;
use crate::files::make_private;
use crate::limits::{MAX_LOG_MESSAGE_BYTES, MAX_LOG_MESSAGES, MAX_SERVER_MESSAGE_BYTES};
use crate::notices::Notices;
use crate::permission::Permissions;
use crate::process::{
    Access, CommandOptions, CommandSandbox, Running, ServerOrder, ServerProcess, Streams,
};

/// Bytes that one read takes.
const READ_BYTES: usize = 64 * 1024;

/// How long the end of standard error is waited for once the server has ended.
const LAST_LINE_TIME: Duration = Duration::from_millis(500);

/// The time limit of a program in the sandbox, which has one: a year.
const AS_LONG_AS_IT_IS_WANTED: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Characters of the last line on standard error that explain why a server ended.
const MAX_LAST_LINE_CHARS: usize = 200;

/// A program that serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// How Dunlin starts itself as a supervisor, as in [`crate::CommandOptions`].
    pub supervisor: Vec<OsString>,
    /// As configured: a path, or a name that is looked up.
    pub command: String,
    /// What it is called with.
    pub arguments: Vec<String>,
    /// The variables that it gets of the user's.
    pub environment: Vec<(OsString, OsString)>,
    /// Those of them that list folders, by name.
    pub folder_lists: Vec<OsString>,
    /// Those that were configured for it, which win.
    pub own_variables: Vec<(String, String)>,
    /// Where it runs.
    pub folder: PathBuf,
    /// Whether that folder is made if it is missing.
    pub makes_folder: bool,
    /// Where names are looked up.
    pub search_path: Vec<PathBuf>,
    /// Whether it runs in the command sandbox instead of with the user's own rights.
    pub sandbox: bool,
}

impl Program {
    /// The program as it is started at this moment: outside the sandbox, no folder is searched in which commands can put a
    /// program or a library.
    pub(crate) fn now(&self, permissions: &Permissions) -> Cow<'_, Program> {
        match self.sandbox {
            true => Cow::Borrowed(self),
            false => Cow::Owned(self.without(|folder| permissions.can_commands_change(folder))),
        }
    }

    fn without(&self, is_left_out: impl Fn(&Path) -> bool) -> Program {
        let mut program = self.clone();
        program.search_path.retain(|folder| !is_left_out(folder));
        program.environment.retain_mut(|(name, value)| {
            if !self.folder_lists.contains(name) {
                return true;
            }
            let kept: Vec<PathBuf> = std::env::split_paths(value)
                .filter(|folder| !is_left_out(folder))
                .collect();
            // None holds a separator: they were separated.
            *value = std::env::join_paths(&kept).unwrap_or_default();
            !kept.is_empty()
        });
        program
    }

    /// What is started, links unresolved: some programs look at the name they were called by.
    pub fn path(&self) -> Option<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        let is_program = |path: &PathBuf| {
            let meta = std::fs::metadata(path);
            meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
        };
        if self.command.contains('/') {
            return Some(self.folder.join(&self.command)).filter(is_program);
        }
        let folders = self.search_path.iter();
        folders
            .map(|folder| folder.join(&self.command))
            .find(is_program)
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let is_own = |name: &OsString| {
            self.own_variables
                .iter()
                .any(|(own, _)| name == own.as_str())
        };
        let inherited = self
            .environment
            .iter()
            .filter(|(name, _)| !is_own(name))
            .cloned();
        let own = self.own_variables.iter();
        let own = own.map(|(name, value)| (name.into(), value.into()));
        inherited.chain(own).collect()
    }

    /// All that decides what is started, with what its variables are set to: never shown.
    pub(crate) fn whole_line(&self) -> Line {
        let set = self.own_variables.iter();
        let set = set.map(|(name, value)| format!("{name}={value}"));
        let env = (!self.own_variables.is_empty()).then(|| "env".to_owned());
        let words: Vec<String> = env.into_iter().chain(set).collect();
        let words = words.iter().chain([&self.command]).chain(&self.arguments);
        Line::of_words(words.map(String::as_str), &self.folder)
    }

    /// The command line as a person would write it.
    pub(crate) fn line(&self) -> String {
        // What they are set to may be secret; that they are set can change what the program does.
        let names = self.own_variables.iter();
        let names = names.map(|(name, _)| format!("{name}=…"));
        let words = std::iter::once(&self.command).chain(&self.arguments);
        let words = words.map(|word| {
            let plain = |c: char| c.is_alphanumeric() || "-_./:=@%+,".contains(c);
            match !word.is_empty() && word.chars().all(plain) {
                true => word.clone(),
                false => quoted(word),
            }
        });
        names.chain(words).collect::<Vec<_>>().join(" ")
    }
}

impl Program {
    /// Starts it with the user's own rights. `program` is what [`Program::path`] found, and what was decided about.
    pub(crate) fn connect(
        &self,
        program: &Path,
        log: &dyn ServerLog,
    ) -> Result<Connection, TransportError> {
        if self.makes_folder {
            make_private(&self.folder).map_err(|source| TransportError::Folder {
                path: self.folder.clone(),
                source,
            })?;
        }
        let order = ServerOrder {
            program: program.to_owned(),
            arguments: self.arguments.iter().map(OsString::from).collect(),
            environment: self.variables(),
            folder: self.folder.clone(),
        };
        let (server, streams) = ServerProcess::start(&self.supervisor, &order)
            .map_err(|error| TransportError::Start(error.into()))?;
        Ok(connection(Kept::Free(server), streams, log))
    }

    /// The same in the command sandbox, with this access to files.
    pub(crate) async fn connect_sandboxed(
        &self,
        program: &Path,
        log: &dyn ServerLog,
        options: &CommandOptions,
        announced: &CommandSandbox,
        access: Access,
        notices: &Notices,
    ) -> Result<Connection, TransportError> {
        let words = self.arguments.iter().map(|word| quoted(word));
        let words: Vec<String> = words.collect();
        let line = format!(
            "cd {} && exec {} {}",
            quoted(&self.folder.to_string_lossy()),
            quoted(&program.to_string_lossy()),
            words.join(" ")
        );
        let options = CommandOptions {
            environment: self.variables(),
            time_limit: AS_LONG_AS_IT_IS_WANTED,
            ..options.clone()
        };
        let started = Running::start_server(&options, announced, line, access, notices).await;
        let (running, streams) = started.map_err(|error| TransportError::Start(error.into()))?;
        Ok(connection(Kept::Sandboxed(Box::new(running)), streams, log))
    }
}

fn connection(kept: Kept, streams: Streams, log: &dyn ServerLog) -> Connection {
    let Streams {
        input,
        output,
        errors,
    } = streams;
    let last_line = Arc::new(Mutex::new(String::new()));
    let reader = tokio::spawn(read_errors(errors, log.keep(), Arc::clone(&last_line)));
    Connection {
        sender: Box::new(Lines { input: Some(input) }),
        receiver: Box::new(Output {
            output,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            kept,
            last_line,
            reader: Reader(reader),
        }),
    }
}

/// A word as a shell takes it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A program that serves. Dropping it ends it, and everything it started.
#[derive(Debug)]
enum Kept {
    /// With the user's own rights.
    Free(ServerProcess),
    /// In the command sandbox.
    Sandboxed(Box<Running>),
}

impl Kept {
    /// Why it could not be started, once its output has ended; or nothing.
    async fn last_words(&mut self) -> String {
        match self {
            Kept::Free(server) => server.last_words().await,
            Kept::Sandboxed(running) => running.last_words().await,
        }
    }
}

/// Ends with whoever holds it.
#[derive(Debug)]
struct Reader(JoinHandle<()>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[derive(Debug)]
struct Lines {
    /// `None`: it was closed.
    input: Option<pipe::Sender>,
}

#[async_trait]
impl Sender for Lines {
    async fn send(&mut self, message: &str) -> Result<(), SendError> {
        let line = [message.as_bytes(), b"\n"].concat();
        let gone = || SendError {
            why: "does not listen any more".to_owned(),
            is_over: true,
        };
        let input = self.input.as_ref().ok_or_else(gone)?;
        let mut rest = line.as_slice();
        while !rest.is_empty() {
            input.writable().await.map_err(|_| gone())?;
            match input.try_write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return Err(gone()),
            }
        }
        Ok(())
    }

    /// A server over standard streams ends when its input does.
    async fn close(&mut self) {
        self.input = None;
    }
}

#[derive(Debug)]
struct Output {
    output: pipe::Receiver,
    buffer: Vec<u8>,
    /// Where in it the next line begins.
    start: usize,
    /// So much of it holds no line end behind that.
    searched: usize,
    kept: Kept,
    last_line: Arc<Mutex<String>>,
    reader: Reader,
}

#[async_trait]
impl Receiver for Output {
    async fn receive(&mut self) -> Result<String, TransportError> {
        loop {
            if let Some(line) = self.line() {
                return Ok(line);
            }
            if self.buffer.len() - self.start > MAX_SERVER_MESSAGE_BYTES {
                return Err(TransportError::LineTooLong);
            }
            if !self.read().await.unwrap_or_default() {
                return Err(self.why().await);
            }
        }
    }
}

impl Output {
    /// The next line that could be a message: programs print greetings, too.
    fn line(&mut self) -> Option<String> {
        loop {
            let rest = &self.buffer[self.searched..];
            let Some(at) = memchr::memchr(b'\n', rest) else {
                self.searched = self.buffer.len();
                return None;
            };
            let end = self.searched + at;
            let line = String::from_utf8_lossy(&self.buffer[self.start..end]);
            let line = line.trim();
            let message = line.starts_with(['{', '[']).then(|| line.to_owned());
            self.start = end + 1;
            self.searched = self.start;
            if let Some(message) = message {
                return Some(message);
            }
        }
    }

    /// Reads more. `false`: that was all.
    async fn read(&mut self) -> io::Result<bool> {
        loop {
            self.output.readable().await?;
            // Once for all lines that were taken, not for each of them.
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
            let had = self.buffer.len();
            self.buffer.resize(had + READ_BYTES, 0);
            let read = self.output.try_read(&mut self.buffer[had..]);
            self.buffer.truncate(had + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(read) => return Ok(read > 0),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Why nothing comes any more.
    async fn why(&mut self) -> TransportError {
        let failed = self.kept.last_words().await;
        if !failed.is_empty() {
            return TransportError::NotStarted(display::escape(&failed).into_owned());
        }
        // Its last words may still be on their way.
        let _ = tokio::time::timeout(LAST_LINE_TIME, &mut self.reader.0).await;
        let last = self.last_line.lock();
        match last.is_empty() {
            true => TransportError::Ended,
            false => TransportError::EndedSaying(last.clone()),
        }
    }
}

/// Passes on what a server writes to standard error, as much of it as the log takes.
async fn read_errors(
    errors: pipe::Receiver,
    mut keep: Box<dyn FnMut(&str) + Send>,
    last_line: Arc<Mutex<String>>,
) {
    let mut buffer = vec![0; READ_BYTES];
    let mut line: Vec<u8> = Vec::new();
    let mut kept = 0;
    let mut take = |line: &mut Vec<u8>| {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        line.clear();
        if text.trim().is_empty() {
            return;
        }
        if kept < MAX_LOG_MESSAGES {
            kept += 1;
            keep(&text);
        }
        let shown = display::escape(&text);
        *last_line.lock() = display::shorten(&shown, MAX_LAST_LINE_CHARS).into_owned();
    };
    loop {
        if errors.readable().await.is_err() {
            break;
        }
        match errors.try_read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => {
                for piece in buffer[..read].split_inclusive(|byte| *byte == b'\n') {
                    let room = MAX_LOG_MESSAGE_BYTES.saturating_sub(line.len());
                    line.extend(&piece[..piece.len().min(room)]);
                    if piece.ends_with(b"\n") {
                        take(&mut line);
                    }
                }
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    take(&mut line);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_left_out_of_lists() {
        let of = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let program = Program {
            supervisor: Vec::new(),
            command: "x".to_owned(),
            arguments: Vec::new(),
            environment: vec![
                of("PATH", "/p/.venv/bin:/usr/bin"),
                of("PYTHONPATH", "/p/src"),
                of("HOME", "/p"),
            ],
            folder_lists: vec!["PATH".into(), "PYTHONPATH".into()],
            own_variables: Vec::new(),
            folder: PathBuf::new(),
            makes_folder: false,
            search_path: vec![PathBuf::from("/p/bin"), PathBuf::from("/bin")],
            sandbox: false,
        };
        let program = program.without(|path| path.starts_with("/p"));
        assert_eq!(
            program.environment,
            [of("PATH", "/usr/bin"), of("HOME", "/p")]
        );
        assert_eq!(program.search_path, [PathBuf::from("/bin")]);
    }

    #[test]
    fn a_line_can_be_typed_again() {
        let program = |command: &str, arguments: &[&str]| {
            let program = Program {
                supervisor: Vec::new(),
                command: command.to_owned(),
                arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
                environment: Vec::new(),
                folder_lists: Vec::new(),
                own_variables: vec![("OWN".to_owned(), "s3cret".to_owned())],
                folder: PathBuf::new(),
                makes_folder: false,
                search_path: Vec::new(),
                sandbox: false,
            };
            program.line()
        };
        assert_eq!(program("npx", &["-y", "@a/b", "."]), "OWN=… npx -y @a/b .");
        assert_eq!(program("a b", &["it's", ""]), "OWN=… 'a b' 'it'\\''s' ''");
    }
}
