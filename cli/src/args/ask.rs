//! Arguments of `ask`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use dunlin_host::permission::SessionMode;
use dunlin_host::target::CommandKey;

use crate::config::request_editor::PauseMode;

/// Arguments of `ask`.
#[derive(Debug, Args)]
pub struct AskArgs {
    /// Print what the model writes (text), one JSON document with reply, calls, denials and usage (json), or JSON lines as things
    /// happen, with that document as the last line (stream-json)
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub output: OutputFormat,
    /// Short for --output json
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    pub json: bool,
    /// Have the reply be JSON that fits this JSON Schema; Dunlin checks it, and lets the model correct itself twice
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub output_schema: Option<PathBuf>,
    /// Attach this file, wherever it is, as `@FILE` in the question attaches one of the project; repeat it for several
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Conversation")]
    pub file: Vec<PathBuf>,
    /// Continue the latest session of the project
    #[arg(
        short,
        long = "continue",
        conflicts_with = "session",
        help_heading = "Conversation"
    )]
    pub continues: bool,
    /// Continue the session with this title or id prefix; where there is none, begin and keep one with this title
    #[arg(long, value_name = "SESSION", help_heading = "Conversation")]
    pub session: Option<String>,
    /// Make at most this many requests; the calls of the last reply are not run [default: max_tool_rounds]
    #[arg(long, value_name = "N", value_parser = rounds, help_heading = "Conversation")]
    pub max_rounds: Option<NonZeroU32>,
    /// Pause requests before they are sent, to read and edit them: next, turn or every; or auto, to apply saved edits
    #[arg(
        long,
        value_name = "MODE",
        hide_possible_values = true,
        help_heading = "Conversation"
    )]
    pub intercept: Option<PauseMode>,
    /// Answer in this mode: ask, accept-edits (of ordinary files in the project) or plan (nothing is changed)
    #[arg(
        long,
        value_name = "MODE",
        hide_possible_values = true,
        help_heading = "Permissions",
        value_parser = super::modes()
    )]
    pub mode: Option<SessionMode>,
    /// Allow a target for this run: a file, `folder/` or `https://host/` with letters of rwx (src/=r), or a command
    /// ('cargo test')
    #[arg(long, value_name = "TARGET=rwx|COMMAND", help_heading = "Permissions")]
    pub allow: Vec<Allow>,
    /// Allow everything that this tool declares, for this run, as its mode `always` does in the chat
    #[arg(long, value_name = "NAME", help_heading = "Permissions")]
    pub allow_tool: Vec<String>,
    /// Allow exactly this command line for this run, also a compound one such as 'ls | wc'
    #[arg(long, value_name = "LINE", help_heading = "Permissions")]
    pub allow_line: Vec<String>,
    /// The question; Dunlin appends what you pipe in
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
}

impl AskArgs {
    /// What is printed on standard output.
    pub fn format(&self) -> OutputFormat {
        match self.json {
            true => OutputFormat::Json,
            false => self.output,
        }
    }
}

/// What `ask` prints on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The reply, as it comes
    Text,
    /// One document at the end
    Json,
    /// A line for each thing that happens, and the document as the last one
    StreamJson,
}

/// What `--allow TARGET=rwx` says: a target as typed and what may be done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allow {
    /// The target as typed.
    pub target: String,
    /// Three characters: `r`, `w`, `x`, or `?` where nothing was said.
    pub bits: String,
    /// Whether it was typed without letters: a command, to be run.
    pub is_command: bool,
}

impl Allow {
    /// How it is typed.
    pub fn typed(&self) -> String {
        match self.is_command {
            true => self.target.clone(),
            false => format!("{}={}", self.target, self.bits.replace('?', "")),
        }
    }
}

/// Why `--allow` cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowError {
    /// There is no `=`, or nothing before it.
    #[error("expected TARGET=BITS, for example src/=r, or a command, for example 'cargo test'")]
    Form,
    /// Something else than `r`, `w`, `x` after the `=`, or one of them twice, or none.
    #[error("expected some of r, w, x after the last '=', not {0:?}")]
    Bits(String),
}

/// A number of rounds.
fn rounds(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| "it takes a whole number from 1".to_owned())
}

impl std::str::FromStr for Allow {
    type Err = AllowError;

    fn from_str(text: &str) -> Result<Allow, AllowError> {
        let command = || Allow {
            target: text.to_owned(),
            bits: "??x".to_owned(),
            is_command: true,
        };
        // The last `=`: a path or a URL may hold one itself.
        let (target, letters) = match text.rsplit_once('=') {
            Some(parts) => parts,
            None if text.trim().is_empty() => return Err(AllowError::Form),
            None => return Ok(command()),
        };
        let is_bits = !letters.is_empty() && letters.chars().all(|letter| "rwx".contains(letter));
        if CommandKey::is_command(text) && (!is_bits || target.is_empty()) {
            return Ok(command());
        }
        if target.is_empty() {
            return Err(AllowError::Form);
        }
        let mut bits = ['?'; 3];
        for letter in letters.chars() {
            let place = "rwx".find(letter).filter(|&place| bits[place] == '?');
            let place = place.ok_or_else(|| AllowError::Bits(letters.to_owned()))?;
            bits[place] = letter;
        }
        if letters.is_empty() {
            return Err(AllowError::Bits(String::new()));
        }
        Ok(Allow {
            target: target.to_owned(),
            bits: bits.iter().collect(),
            is_command: false,
        })
    }
}
