//! `!COMMAND`: the user's shell runs a command beside the chat, as if it had been typed there. `!!COMMAND` adds what it prints
//! to the next message.
//!
//! Nothing is asked and no sandbox holds it: whoever types it could type it in a shell as well. No text that the user did not
//! type becomes such a command.

use std::io::{self, PipeReader, Read};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use dunlin_host::display::grouped;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::stream::Filter;
use dunlin_terminal::ui::style::Label;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::tags;
use crate::app::App;
use crate::dialogue::{Dialogue, interrupted};
use crate::error::CliError;
use crate::prompt::own_command::OwnCommand;

/// The shell that starts the user's.
const SHELL: &str = "/bin/sh";

/// How much of the beginning and of the end of what a command prints is added to a message, in bytes: together as much as of
/// an attached file.
const MAX_PART_BYTES: usize = 50 * 1024;

/// How much is read from a command at once, in bytes: as much as a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// How often it is looked whether a command that prints nothing has ended.
const LOOK_EVERY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// How long what a command has left running may go on printing.
const REST_TIME: Duration = Duration::from_secs(1);

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
#[error("cannot run the command")]
struct NotRun(#[source] io::Error);

/// What is said of the marks.
const USAGE: &str =
    "!COMMAND runs a command in your shell; !!COMMAND adds what it prints to your next message.";

/// Runs a command. `adds_files`: whether the agent takes what is attached. `is_told`: whether it was said before what a second
/// mark does.
pub fn run(
    app: &App,
    dialogue: &mut Option<Dialogue>,
    own: &OwnCommand,
    (adds_files, is_told): (bool, &mut bool),
) -> Result<(), CliError> {
    let ui = &app.ui;
    let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    if own.command.is_empty() {
        ui.status(USAGE);
        return Ok(());
    }
    if own.adds && !adds_files {
        ui.status("This agent cannot read attachments; !COMMAND runs the command without adding its output.");
        return Ok(());
    }
    let shell = app.shell().map_err(CliError::failed)?;
    let mut script = std::ffi::OsString::from("exec ");
    script.push(shell);
    script.push(" -c \"$1\"");
    let mut command = Command::new(SHELL);
    command.arg("-c").arg(script).args(["sh", &own.command]);
    command.current_dir(&app.settings.project);
    app.replaced().apply(&mut command);
    // From now on Ctrl-C ends the command, and not this program.
    let _interrupt = interrupted(app)?;
    let mut printed = Printed::default();
    let status = ui.lend(|| match own.adds {
        true => run_and_read(ui, command, &mut printed),
        false => command.status(),
    });
    let status = status.map_err(|error| CliError::failed(NotRun(error)))?;
    ui.begin_row();
    let ended = ended(status);
    if !own.adds {
        let hint = "!!COMMAND adds what it prints to your next message".to_owned();
        let is_new = !std::mem::replace(is_told, true);
        let hint = Some(hint).filter(|_| is_new && adds_files);
        let parts: Vec<String> = ended.into_iter().chain(hint).collect();
        if !parts.is_empty() {
            quiet(&format!("  {}", parts.join(" · ")));
        }
        return Ok(());
    }
    let dialogue = match dialogue {
        Some(dialogue) => dialogue,
        none => none.insert(Dialogue::begin(app)?.saved(app)),
    };
    let ended = ended.map_or_else(String::new, |ended| format!("({ended})\n"));
    let text = printed.text();
    let content = format!("$ {}\n{ended}{text}", own.command);
    let tag = dialogue.tags_mut().add_output(&own.command, content);
    let line = tags::line(ui, &tag);
    quiet(&format!("  + {line}"));
    quiet("  attached to your next message; /untag removes it");
    Ok(())
}

/// How a command ended; `None`: well.
fn ended(status: ExitStatus) -> Option<String> {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exit status {code}")),
        (None, Some(signal)) => Some(format!("ended by signal {signal}")),
        (None, None) => Some("ended".to_owned()),
    }
}

/// Runs a command, shows what it prints as it comes, and keeps it.
fn run_and_read(ui: &Ui, mut command: Command, printed: &mut Printed) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // It holds the other end of the pipe, which would never close.
    drop(command);
    let read = read_all(ui, (reader, &mut child), printed);
    let status = child.wait()?;
    read.map(|()| status)
}

/// Reads until the command has ended and nothing more comes. What it left running may keep the pipe open, and is not waited
/// for.
fn read_all(
    ui: &Ui,
    (mut reader, child): (PipeReader, &mut Child),
    printed: &mut Printed,
) -> io::Result<()> {
    let mut ended: Option<Instant> = None;
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut filter = Filter::default();
    // The end of a chunk may be the beginning of a character.
    let mut rest = Vec::new();
    loop {
        if ended.is_none() && child.try_wait()?.is_some() {
            ended = Some(Instant::now());
        }
        let has_more = match poll(
            &mut [PollFd::new(&reader, PollFlags::IN)],
            Some(&LOOK_EVERY),
        ) {
            Ok(count) => count > 0,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let is_over = ended.is_some_and(|ended| !has_more || ended.elapsed() > REST_TIME);
        if is_over {
            return Ok(());
        }
        if !has_more {
            continue;
        }
        let count = match reader.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        rest.extend(chunk.get(..count).unwrap_or_default());
        let whole = match std::str::from_utf8(&rest) {
            Err(error) if error.error_len().is_none() && count > 0 => error.valid_up_to(),
            _ => rest.len(),
        };
        let bytes: Vec<u8> = rest.drain(..whole).collect();
        let text = filter.piece(&String::from_utf8_lossy(&bytes));
        ui.data_bytes(text.as_bytes());
        printed.push(&text);
        if count == 0 {
            return Ok(());
        }
    }
}

/// What a command has printed: its beginning and its end.
#[derive(Debug, Default)]
struct Printed {
    begin: String,
    end: String,
    /// How many bytes between them are left out.
    left_out: u64,
}

impl Printed {
    fn push(&mut self, text: &str) {
        let room = MAX_PART_BYTES.saturating_sub(self.begin.len());
        let at = match self.end.is_empty() && self.left_out == 0 {
            true => text.floor_char_boundary(room),
            false => 0,
        };
        let (begin, end) = text.split_at_checked(at).unwrap_or(("", text));
        self.begin.push_str(begin);
        self.end.push_str(end);
        let surplus = self.end.len().saturating_sub(MAX_PART_BYTES);
        let surplus = self.end.ceil_char_boundary(surplus);
        self.end.drain(..surplus);
        self.left_out += surplus as u64;
    }

    /// All of it that is kept; it ends with a line end.
    fn text(&self) -> String {
        let left_out = match self.left_out {
            0 => String::new(),
            bytes => format!("\n[{} bytes left out]\n", grouped(bytes)),
        };
        let text = format!("{}{left_out}{}", self.begin, self.end);
        match text.trim().is_empty() {
            true => "(it printed nothing)\n".to_owned(),
            false => format!("{}\n", text.trim_end_matches('\n')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let printed = |pieces: &[&str]| {
            let mut printed = Printed::default();
            pieces.iter().for_each(|piece| printed.push(piece));
            printed.text()
        };
        assert_eq!(printed(&[]), "(it printed nothing)\n");
        assert_eq!(printed(&["one\n", "two"]), "one\ntwo\n");
        let part = "ß".repeat(MAX_PART_BYTES / 2);
        assert_eq!(printed(&[&part, &part]), format!("{part}{part}\n"));
        let text = printed(&["a", &part, "b", &part, "c\n"]);
        let begin = &part[..MAX_PART_BYTES - 2];
        let end = &part[..MAX_PART_BYTES - 2];
        assert_eq!(text, format!("a{begin}\n[5 bytes left out]\n{end}c\n"));
    }
}
