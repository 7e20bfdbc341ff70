//! The chat without a terminal: one message per line, only replies on standard output, nobody to ask.
//!
//! It keeps no session, unless `--resume` says with which one it goes on: scripts would fill the list with
//! conversations that nobody had.

use std::io::{self, BufRead, Read};

use super::send_template;
use super::slash::{self, Next};
use crate::app::App;
use crate::apps;
use crate::args::ChatArgs;
use crate::dialogue::resume::resume_named;
use crate::dialogue::way_out::say_unasked;
use crate::dialogue::{Dialogue, choice, conclude, interrupted};
use crate::error::{CliError, Exit};
use crate::prompt::line::Recall;
use crate::prompt::slash_table::Input;
use dunlin_chat::turn::TurnEnd;

/// The longest line in bytes; a longer one is an error rather than a full memory.
const MAX_LINE_BYTES: u64 = 16 * 1024 * 1024;

/// A line that is not a message.
#[derive(Debug, thiserror::Error)]
enum InputError {
    #[error("cannot read standard input")]
    Read(#[source] io::Error),
    #[error("a line has more than {} MiB", MAX_LINE_BYTES / 1024 / 1024)]
    TooLong,
}

/// Answers line by line until standard input ends. Status 4 where the provider failed for any of
/// them, else 3 where anything was denied.
pub fn run(app: &mut App, args: &ChatArgs) -> Result<Exit, CliError> {
    app.never_ask();
    let mut dialogue = match &args.resume {
        Some(session) => Some(resume_named(app, session.as_deref())?),
        None => None,
    };
    let mut exit = Exit::Done;
    let mut said_not_made = false;
    while let Some(line) = next_line(app)? {
        let next = match slash::table().parse(&line) {
            Input::Empty => continue,
            Input::UnknownSlash { word, rest } => send_template::run(app, &word, &rest)?,
            Input::Slash(command, rest) => slash::run(app, &mut dialogue, command, &rest)?,
            Input::Message(text) => Next::Say(text),
        };
        let said = match next {
            Next::Prompt => continue,
            Next::Leave => break,
            Next::Say(text) => text.into(),
            Next::AsItIs(said) | Next::Shown(said) => said,
        };
        let dialogue = match &mut dialogue {
            Some(dialogue) => dialogue,
            none => none.insert(Dialogue::begin(app)?),
        };
        // Nobody can be asked, so this only warns.
        choice::may_use_its_own(app, dialogue)?;
        let report = dialogue.turn(app, said, Recall::default())?;
        said_not_made = said_not_made
            || apps::say_not_made(
                &app.ui,
                &app.settings,
                &dialogue.agent().name,
                &report.reply,
            );
        say_unasked(app, &report.denials, app.ui.shows_denials());
        if exit == Exit::Done && !report.denials.is_empty() {
            exit = Exit::Denied;
        }
        match conclude(app, report) {
            Ok(report) if matches!(report.end, TurnEnd::Interrupted) => {
                return Err(CliError::silent(Exit::Interrupted));
            }
            Ok(_) => {}
            Err(error) => {
                exit = error.exit();
                app.ui.error(&error);
            }
        }
    }
    Ok(exit)
}

/// The next line, without blocking Ctrl-C: once a turn has taken over the signal, it no longer ends the
/// program by itself.
fn next_line(app: &App) -> Result<Option<String>, CliError> {
    let interrupt = interrupted(app)?;
    app.runtime()?.block_on(async {
        tokio::select! {
            read = tokio::task::spawn_blocking(read_line) => {
                read.map_err(CliError::failed)?.map_err(CliError::failed)
            }
            () = interrupt => Err(CliError::silent(Exit::Interrupted)),
        }
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "messages of a chat without a terminal, where nobody is asked"
)]
fn read_line() -> Result<Option<String>, InputError> {
    let mut bytes = Vec::new();
    let mut input = io::stdin().lock();
    let read = input
        .by_ref()
        .take(MAX_LINE_BYTES)
        .read_until(b'\n', &mut bytes);
    match read.map_err(InputError::Read)? {
        0 => Ok(None),
        read if read as u64 == MAX_LINE_BYTES => Err(InputError::TooLong),
        _ => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
    }
}
