//! The tool `run_terminal_command`: lets a model run a command line.
//!
//! The host does what is dangerous: it shows the line, asks, and runs it in its cage. Left for the tool is to make
//! the output fit a model's window: as much of its beginning and of its end as fits, as plain text, and how the
//! command ended in words.

pub mod excerpt;
pub mod plain;

use dunlin_sdk::process::{Command, CommandLine, End, Stream};
use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, parameters};
use serde::Deserialize;

use excerpt::Excerpt;

/// Bytes of output that the model gets, of both streams together: some 8,000 tokens. Half of it is for the
/// beginning, where the first error of a compiler stands, half for the end, where the sum of a test run does.
pub const MAX_OUTPUT_BYTES: usize = 32 * 1024;

/// The tool.
#[derive(Debug)]
pub struct RunTerminalCommand;

/// What the model says.
#[derive(Debug, Deserialize)]
pub struct Arguments {
    command: String,
    network: Option<bool>,
}

impl Arguments {
    fn command_line(&self) -> Result<CommandLine, Failure> {
        if self.command.trim().is_empty() {
            return Err(Failure::invalid_arguments(
                "command: it is empty; give a command line",
            ));
        }
        Ok(CommandLine::new(&self.command).with_network(self.network.unwrap_or(false)))
    }
}

impl Tool for RunTerminalCommand {
    const NAME: &'static str = "run_terminal_command";
    const TITLE: Option<&'static str> = Some("Run a command");
    const IS_DESTRUCTIVE: Option<bool> = Some(true);
    const IS_IDEMPOTENT: Option<bool> = Some(false);

    const DESCRIPTION: &'static str = "Runs a command line in a shell, in the project folder, and returns its output and \
        exit status. It runs in a sandbox: it changes only files of the project and of $TMPDIR (emptied afterwards). \
        Elsewhere it fails with \"Read-only file system\" or \"Permission denied\", unless the user grants an existing folder \
        with: dunlin permissions allow write FOLDER/. It has no input, and no network unless asked for. What it leaves in \
        the background ends with it. Long output is cut in the middle. Prefer plain commands, \
        alone or with |, && and ; between them, without variables and patterns: the user can allow them for good. Only a command line that runs git itself can change a git repository, and none can move a \
        folder that holds one (\"Device or resource busy\"). For files use read_file, list_files, search_text, edit_file and write_file instead of cat, find, grep and sed: they ask less.";

    const PARAMETERS: Parameters = parameters!(
        "@param command {string} [required] The command line\n\
         @param network {boolean} [optional] Whether it needs the internet; asked separately",
    );

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        Ok(Plan::of_actions().command(arguments.command_line()?))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let mut command = Command::start(arguments.command_line()?)?;
        let mut stdout = Excerpt::new(MAX_OUTPUT_BYTES);
        let mut stderr = Excerpt::new(MAX_OUTPUT_BYTES);
        while let Some(chunk) = command.read()? {
            match chunk.from {
                Stream::Stdout => stdout.push(&chunk.bytes),
                Stream::Stderr => stderr.push(&chunk.bytes),
            }
        }
        let end = command.wait()?;
        Ok(report(end, &stdout, &stderr).into())
    }
}

/// What the model is told.
pub fn report(end: End, stdout: &Excerpt, stderr: &Excerpt) -> String {
    let (for_stdout, for_stderr) = shares(stdout.bytes(), stderr.bytes());
    let stdout = stdout.text(for_stdout);
    let stderr = stderr.text(for_stderr);
    let ended = match end {
        End::Exited(status) => format!("exit status {status}"),
        End::Killed(signal) => format!("killed by {}", signal_name(signal)),
        End::TimedOut => "stopped at the time limit: it had not ended".to_owned(),
    };
    let mut text = String::new();
    for (name, output) in [("stdout", &stdout), ("stderr", &stderr)] {
        if output.is_empty() {
            continue;
        }
        text.push_str(&format!("<{name}>\n{output}"));
        if !output.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("</{name}>\n"));
    }
    if text.is_empty() {
        text.push_str("(no output)\n");
    }
    text + &ended
}

/// How much of each stream is given: what one leaves is the other's.
fn shares(stdout: u64, stderr: u64) -> (usize, usize) {
    let half = MAX_OUTPUT_BYTES / 2;
    let most = |bytes: u64| {
        usize::try_from(bytes)
            .unwrap_or(usize::MAX)
            .min(MAX_OUTPUT_BYTES)
    };
    let (stdout, stderr) = (most(stdout), most(stderr));
    let for_stderr = stderr.min(half.max(MAX_OUTPUT_BYTES - stdout));
    (MAX_OUTPUT_BYTES - for_stderr, for_stderr)
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        6 => "SIGABRT (it crashed)",
        9 => "SIGKILL",
        11 => "SIGSEGV (it crashed)",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        31 => "SIGSYS (a system call that the sandbox does not allow)",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

dunlin_sdk::export!(RunTerminalCommand);

#[cfg(test)]
mod tests;
