//! How a command fails: the only place that knows headings and exit statuses.
//!
//! Everything below has precise errors of its own. Here they are sorted by who must act: the user at
//! the command line or in the configuration (2), the user by granting something (3), the provider (4).
//! A reader that went away, as in `dunlin tools list | head -1`, is not a failure at all.

use std::error::Error;
use std::fmt::Write;
use std::io;
use std::process::ExitCode;

use dunlin_host::{HostError, PermissionError};

use crate::settings::SettingsError;
use dunlin_terminal::ui::Render;
use dunlin_terminal::ui::style::{Label, Styles};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or whoever read the output has gone.
    Done = 0,
    /// It failed.
    Failed = 1,
    /// Wrong usage or configuration.
    Usage = 2,
    /// A permission was denied with nobody to ask.
    Denied = 3,
    /// The provider failed.
    Provider = 4,
    /// Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why a command ended before it was done.
#[derive(Debug)]
pub struct CliError {
    exit: Exit,
    /// `None`: everything was said already.
    cause: Option<Box<dyn Error + Send + Sync>>,
    hints: Vec<String>,
}

impl CliError {
    /// An error with its exit status.
    pub fn new(exit: Exit, cause: impl Into<Box<dyn Error + Send + Sync>>) -> CliError {
        CliError {
            exit,
            cause: Some(cause.into()),
            hints: Vec::new(),
        }
    }

    pub fn failed(cause: impl Into<Box<dyn Error + Send + Sync>>) -> CliError {
        CliError::new(Exit::Failed, cause)
    }

    /// Wrong usage or configuration.
    pub fn usage(cause: impl Into<Box<dyn Error + Send + Sync>>) -> CliError {
        CliError::new(Exit::Usage, cause)
    }

    /// Ends with this status; whatever there was to say was said.
    pub fn silent(exit: Exit) -> CliError {
        CliError {
            exit,
            cause: None,
            hints: Vec::new(),
        }
    }

    /// Adds a way out, on a line of its own.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Option<String>>) -> CliError {
        self.hints.extend(hint.into());
        self
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The text for the user: a heading, one line per level of the cause, the hints. `None`: nothing to
    /// say.
    pub fn render(&self, styles: Styles) -> Option<String> {
        let cause = self.cause.as_ref()?;
        let mut text = format!(
            "{} {}",
            styles.paint(Label::Error, "error:"),
            one_line(&cause.to_string())
        );
        let mut said = cause.to_string();
        let mut next = cause.source();
        while let Some(level) = next {
            let message = level.to_string();
            // Some libraries repeat their cause in their own message.
            if !said.contains(&message) {
                let _ = write!(
                    text,
                    "\n  {} {}",
                    styles.paint(Label::Quiet, "because:"),
                    one_line(&message)
                );
                said = message;
            }
            next = level.source();
        }
        for hint in &self.hints {
            let _ = write!(
                text,
                "\n{} {}",
                styles.paint(Label::Hint, "hint:"),
                one_line(hint)
            );
        }
        Some(text)
    }
}

impl CliError {
    /// The error with its causes in one line, not escaped, without its hints.
    pub fn in_one_line(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut next = self.cause.as_deref().map(|cause| cause as &dyn Error);
        while let Some(level) = next {
            let message = level.to_string();
            // Some libraries repeat their cause in their own message.
            if parts.last().is_none_or(|said| !said.contains(&message)) {
                parts.push(message);
            }
            next = level.source();
        }
        parts.join(": ")
    }
}

impl CliError {
    /// The same with its hints, for whoever gets one text.
    pub fn with_hints_in_one_line(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!(" (hint: {hint})"));
        let text = match self.in_one_line() {
            text if text.is_empty() => "it failed".to_owned(),
            text => text,
        };
        std::iter::once(text).chain(hints).collect()
    }
}

/// Messages may quote a server or a file: nothing of them acts on the terminal.
/// Characters of one line: servers answer with whole pages.
const MAX_LINE_CHARS: usize = 4_000;

fn one_line(message: &str) -> String {
    let escaped = dunlin_host::display::escape(message);
    dunlin_host::display::shorten(&escaped, MAX_LINE_CHARS).into_owned()
}

impl Render for CliError {
    fn render(&self, styles: Styles) -> Option<String> {
        CliError::render(self, styles)
    }
}

impl From<SettingsError> for CliError {
    fn from(error: SettingsError) -> CliError {
        let hint = error.hint();
        CliError::usage(error).with_hint(hint)
    }
}

impl From<HostError> for CliError {
    fn from(error: HostError) -> CliError {
        CliError::failed(error)
    }
}

impl From<PermissionError> for CliError {
    fn from(error: PermissionError) -> CliError {
        CliError::usage(error)
    }
}

/// From printing; what else can fail has an error of its own, which names it.
impl From<io::Error> for CliError {
    fn from(error: io::Error) -> CliError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::silent(Exit::Done),
            _ => CliError::failed(CannotPrint { source: error }),
        }
    }
}

/// The output takes no more: a full disk, a terminal that went away.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the output")]
struct CannotPrint {
    source: io::Error,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{message}")]
    struct Level {
        message: &'static str,
        source: Option<Box<Level>>,
    }

    #[test]
    fn each_level_is_said_once() {
        let bottom = Level {
            message: "file not found",
            source: None,
        };
        let middle = Level {
            message: "no key: file not found",
            source: Some(Box::new(bottom)),
        };
        let top = Level {
            message: "cannot send\x1b[2J",
            source: Some(Box::new(middle)),
        };
        let error = CliError::usage(top).with_hint("say where".to_owned());
        assert_eq!(
            error.render(Styles::plain()).unwrap(),
            "error: cannot send\\u{1b}[2J\n  because: no key: file not found\nhint: say where"
        );
        assert_eq!(error.exit(), Exit::Usage);
        assert_eq!(
            error.with_hints_in_one_line(),
            "cannot send\x1b[2J: no key: file not found (hint: say where)"
        );
        let silent = CliError::silent(Exit::Failed);
        assert_eq!(silent.with_hints_in_one_line(), "it failed");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let error = CliError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(
            (error.exit(), error.render(Styles::plain())),
            (Exit::Done, None)
        );
        let error = CliError::from(io::Error::other("disk on fire"));
        assert_eq!(error.exit(), Exit::Failed);
    }
}
