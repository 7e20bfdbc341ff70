//! One run of the program with pipes instead of a terminal.

use std::ffi::OsString;
use std::fmt;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::environment::{Environment, GUESTS_VARIABLE};
use crate::normalise::{for_snapshot, normalise};
use crate::terminal::Terminal;
use crate::watched::{DEADLINE, Watched};

/// A run that is about to start.
#[derive(Debug)]
#[must_use = "nothing runs before `run`, `spawn` or `terminal`"]
pub struct Invocation<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) folder: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    stdin: Vec<u8>,
}

/// A started run. Dropping it kills the program with everything that the program started.
#[derive(Debug)]
#[must_use = "dropping it kills the program"]
pub struct Running {
    child: Child,
    pipes: Arc<Watched<Pipes>>,
    threads: Vec<JoinHandle<()>>,
    root: PathBuf,
    /// What was run, as it would be typed.
    command: String,
    /// Of the environment: what was run before, and what came of it.
    transcript: Transcript,
}

/// How a run ended, and what it wrote: one readable value for assertions and snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "look at the status at least"]
pub struct Output {
    /// The exit status; `None` when a signal ended the program.
    pub status: Option<i32>,
    /// What it wrote to stdout, without what differs from run to run.
    pub stdout: String,
    /// What it wrote to stderr, without what differs from run to run.
    pub stderr: String,
}

/// What was run with pipes in an environment, each with what came of it.
pub(crate) type Transcript = Arc<Mutex<String>>;

#[derive(Debug, Default)]
struct Pipes {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    closed: usize,
}

/// Held while a process is started or a terminal is opened.
///
/// A terminal is opened in two steps, and a process started between them would inherit its other end
/// and keep it open.
pub(crate) fn spawn_lock() -> MutexGuard<'static, ()> {
    static SPAWN: Mutex<()> = Mutex::new(());
    SPAWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Invocation<'a> {
    pub(crate) fn new(environment: &'a Environment, arguments: Vec<OsString>) -> Self {
        Invocation {
            environment,
            program: environment.program().to_owned(),
            arguments,
            folder: environment.project(),
            variables: Vec::new(),
            stdin: Vec::new(),
        }
    }

    /// What the program finds on stdin. Without it: nothing, at its end.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets an environment variable, also one that every run has.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Lets these guests join the built-in plugins.
    pub fn guests(self, names: &[&str]) -> Self {
        self.variable(GUESTS_VARIABLE, &names.join(","))
    }

    /// Runs another program than the one under test, such as a shell.
    pub fn program(mut self, path: impl Into<PathBuf>) -> Self {
        self.program = path.into();
        self
    }

    /// Starts in this folder instead of the project.
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Runs the program to its end.
    pub fn run(self) -> Output {
        self.spawn().wait()
    }

    /// Runs the program to its end, which must be a success. The exact bytes of its stdout.
    ///
    /// # Panics
    ///
    /// When it fails.
    pub fn stdout_bytes(self) -> Vec<u8> {
        let running = self.spawn();
        let pipes = Arc::clone(&running.pipes);
        let output = running.wait();
        assert_eq!(output.status, Some(0), "{output}");
        pipes.read(|pipes| pipes.stdout.clone())
    }

    /// Runs the program in a pseudo-terminal; its stdin is the keyboard.
    pub fn terminal(self) -> Terminal {
        Terminal::open(&self)
    }

    /// Starts the program.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn spawn(mut self) -> Running {
        let bytes = std::mem::take(&mut self.stdin);
        let (mut running, mut stdin) = self.converse();
        // A program that ends without reading its input breaks the pipe; that is its right.
        let write = move || drop(stdin.write_all(&bytes));
        running.threads.push(std::thread::spawn(write));
        running
    }

    /// Starts the program and hands over its input, which stays open as long as that is kept.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn converse(self) -> (Running, ChildStdin) {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs(self.environment.variables())
            .envs(self.variables)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = {
            let _lock = spawn_lock();
            command
                .spawn()
                .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"))
        };
        let pipes = Arc::new(Watched::new(Pipes::default()));
        let mut threads = Vec::new();
        let stdin = child.stdin.take().expect("an input was asked for");
        if let Some(stdout) = child.stdout.take() {
            threads.push(collect(stdout, &pipes, |pipes| &mut pipes.stdout));
        }
        if let Some(stderr) = child.stderr.take() {
            threads.push(collect(stderr, &pipes, |pipes| &mut pipes.stderr));
        }
        let root = self.environment.root().to_owned();
        let running = Running {
            child,
            pipes,
            threads,
            command: normalise(&typed(&self.arguments), &root),
            transcript: self.environment.transcript_of_runs(),
            root,
        };
        (running, stdin)
    }
}

impl Running {
    /// Blocks until stdout contains `text`.
    ///
    /// # Panics
    ///
    /// When it does not before the deadline or the end of the program.
    pub fn wait_for_stdout(&self, text: &str) {
        let found = self.pipes.wait(DEADLINE, |pipes| {
            let found = String::from_utf8_lossy(&pipes.stdout).contains(text);
            (found || pipes.closed == 2).then_some(found)
        });
        assert_eq!(
            found,
            Ok(true),
            "stdout never had {text:?}:\n{}",
            self.so_far()
        );
    }

    /// Blocks until `find` answers; it is asked now and whenever stdout has grown. `None`: stdout has ended.
    ///
    /// # Panics
    ///
    /// When neither happens before the deadline.
    pub fn watch_stdout<T>(&self, mut find: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
        let found = self
            .pipes
            .wait(DEADLINE, |pipes| match find(&pipes.stdout) {
                Some(found) => Some(Some(found)),
                None => (pipes.closed == 2).then_some(None),
            });
        found.unwrap_or_else(|_| panic!("stdout never had what was waited for:\n{}", self.so_far()))
    }

    /// Sends a signal, such as the one of Ctrl-C.
    ///
    /// # Panics
    ///
    /// When the program is gone.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a running program");
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    ///
    /// When it does not end before the deadline.
    pub fn wait(mut self) -> Output {
        let closed = self
            .pipes
            .wait(DEADLINE, |pipes| (pipes.closed == 2).then_some(()));
        assert!(
            closed.is_ok(),
            "the program does not end; so far:\n{}",
            self.so_far()
        );
        let status = self
            .child
            .wait()
            .expect("the status of an own child")
            .code();
        let output = Output {
            status,
            ..self.so_far()
        };
        let text = for_snapshot(&format!("$ {}\n{output}\n", self.command), &self.root);
        let mut transcript = self
            .transcript
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        transcript.push_str(&text);
        drop(transcript);
        output
    }

    fn so_far(&self) -> Output {
        let text = |bytes: &[u8]| normalise(&String::from_utf8_lossy(bytes), &self.root);
        self.pipes.read(|pipes| Output {
            status: None,
            stdout: text(&pipes.stdout),
            stderr: text(&pipes.stderr),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // With everything it started, or the pipes would stay open and the threads with them.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => writeln!(f, "status: {status}")?,
            None => writeln!(f, "status: none")?,
        }
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "----- {name}")?;
                f.write_str(text)?;
                if !text.ends_with('\n') {
                    writeln!(f, "[no newline]")?;
                }
            }
        }
        Ok(())
    }
}

/// The program with these arguments as a person types them.
fn typed(arguments: &[OsString]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./:=+@,~".contains(c);
    let mut line = "dunlin".to_owned();
    for argument in arguments {
        let argument = argument.to_string_lossy();
        match !argument.is_empty() && argument.chars().all(plain) {
            true => line.extend([" ", &argument]),
            false => line.extend([" '", &argument.replace('\'', "'\\''"), "'"]),
        }
    }
    line
}

fn collect(
    mut from: impl Read + Send + 'static,
    pipes: &Arc<Watched<Pipes>>,
    into: fn(&mut Pipes) -> &mut Vec<u8>,
) -> JoinHandle<()> {
    let pipes = Arc::clone(pipes);
    std::thread::spawn(move || {
        let mut buffer = [0; 16 * 1024];
        // An error on an own pipe is its end.
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            pipes.update(|pipes| into(pipes).extend_from_slice(&buffer[..count]));
        }
        pipes.update(|pipes| pipes.closed += 1);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_one_readable_value() {
        let environment = Environment::new("/bin/sh");
        let script = "read line; echo \"$line in $PWD\"; printf 'took 12 ms' >&2; exit 3";
        let output = environment.command(["-c", script]).stdin("hello\n").run();
        assert_eq!(
            output.to_string(),
            "status: 3\n----- stdout\nhello in [PROJECT]\n----- stderr\ntook [TIME][no newline]\n"
        );
    }

    #[test]
    fn nothing_of_the_machine_is_seen() {
        let environment = Environment::new("/usr/bin/env");
        let output = environment.command::<&str>([]).variable("MORE", "1").run();
        let mut names: Vec<&str> = output
            .stdout
            .lines()
            .filter_map(|line| Some(line.split_once('=')?.0))
            .collect();
        names.sort_unstable();
        let mut expected: Vec<&str> = environment
            .variables()
            .into_iter()
            .map(|(name, _)| name)
            .chain(["MORE"])
            .collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_signal_reaches_the_program() {
        let environment = Environment::new("/bin/sh");
        let running = environment
            .command(["-c", "echo ready; exec tail -f /dev/null"])
            .spawn();
        running.wait_for_stdout("ready");
        running.signal(Signal::INT);
        assert_eq!(running.wait().status, None);
    }
}
