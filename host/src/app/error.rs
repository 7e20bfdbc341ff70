//! Why nothing came of an app.

use std::fmt;
use std::time::Duration;

use crate::bindings::app::exports::dunlin::tool::app_program as wire;
use crate::display::{escape, escape_multiline, shorten};
use crate::limits::{APP_START_PERIOD, MAX_APP_ERROR_CHARS, MAX_APP_STARTS};
use crate::trap::seconds;

/// Why an app was not started, or a call of it has no value. `Display` is one line, can be shown, and says all of it: it may
/// follow "NAME: ".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// The program threw it, or is not valid. The program runs on, unless it was being started.
    #[error("{0}")]
    Program(ProgramError),
    /// A handler only waited for longer than a call may take. The program runs on.
    #[error("it did not answer within {}", seconds(*.0))]
    Timeout(Duration),
    /// It computed for longer than a call may take, and was ended.
    #[error("it did not finish within {}", seconds(*.0))]
    Deadline(Duration),
    /// It needed more memory than it may have, and was ended.
    #[error("it needed more than {mebibytes} MiB of memory")]
    Memory {
        /// What it may have.
        mebibytes: usize,
    },
    /// It was ended for another reason, which is said as the end of a sentence that starts with "it".
    #[error("it {0}")]
    Crash(String),
    /// A part of it is larger than it may be.
    #[error("{what} has {bytes} bytes; at most {most} are possible")]
    TooLarge {
        /// Which.
        what: &'static str,
        /// How large it is.
        bytes: usize,
        /// How large it may be.
        most: usize,
    },
    /// More calls wait than may.
    #[error("{0} calls are waiting already")]
    TooManyCalls(usize),
    /// More apps are open than may be.
    #[error("{0} apps are running already; close one")]
    TooManyApps(u32),
    /// It was started too often, each time in vain.
    #[error(
        "it was started {MAX_APP_STARTS} times within {} and ended each time; the last time: {last}",
        seconds(APP_START_PERIOD)
    )]
    Resting {
        /// Why it ended the last time.
        last: Box<AppError>,
    },
    /// It was closed.
    #[error("it was closed")]
    Closed,
    /// No app can run: the engine cannot be loaded, the audit log cannot be written.
    #[error("it cannot run: {0}")]
    Unavailable(String),
}

impl AppError {
    /// The name under which a program knows this kind of error: what it threw itself, or one of `TimeoutError`,
    /// `ProgramEndedError` (its state is lost; the next call starts it again), `TooLargeError`, `BusyError` (once others have
    /// ended it works), `UnavailableError` and `ClosedError`.
    pub fn kind(&self) -> &str {
        match self {
            AppError::Program(thrown) => thrown.kind.as_deref().unwrap_or("Error"),
            AppError::Timeout(_) => "TimeoutError",
            AppError::Deadline(_) | AppError::Memory { .. } | AppError::Crash(_) => {
                "ProgramEndedError"
            }
            AppError::TooLarge { .. } => "TooLargeError",
            AppError::TooManyCalls(_) | AppError::TooManyApps(_) => "BusyError",
            AppError::Resting { .. } | AppError::Unavailable(_) => "UnavailableError",
            AppError::Closed => "ClosedError",
        }
    }

    pub(super) fn check_size(
        what: &'static str,
        bytes: usize,
        most: usize,
    ) -> Result<(), AppError> {
        match bytes > most {
            true => Err(AppError::TooLarge { what, bytes, most }),
            false => Ok(()),
        }
    }
}

/// What a program threw. All texts are escaped, and short enough to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgramError {
    /// One line.
    pub message: String,
    /// The name of the error, for example `TypeError`. `None`: what was thrown is not an error.
    pub kind: Option<String>,
    /// The calls that led to it, one a line, the innermost first.
    pub stack: String,
    /// Where in the program it happened, counted from 1.
    pub line: Option<u32>,
    /// The same in that line.
    pub column: Option<u32>,
    /// It says that something was denied, and that was the user's own answer to a question a moment ago: no news to them. Not
    /// set where a rule denied it, or nobody was there to be asked.
    pub is_refused_by_user: bool,
}

impl ProgramError {
    /// What an ability throws that was denied. Source: `wit/app.wit`.
    pub(super) const DENIED: &str = "PermissionDeniedError";
}

impl From<wire::Error> for ProgramError {
    fn from(error: wire::Error) -> ProgramError {
        // Shortened before and after: the text may have megabytes, and an escape has ten times the characters.
        let short = |text: &str| shorten(text, MAX_APP_ERROR_CHARS).into_owned();
        ProgramError {
            message: short(&escape(&short(&error.message))),
            kind: error.kind.map(|kind| short(&escape(&short(&kind)))),
            stack: short(&escape_multiline(&short(&error.stack))),
            line: error.line,
            column: error.column,
            is_refused_by_user: false,
        }
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Some(kind) => write!(f, "{kind}: {}", self.message)?,
            None => f.write_str(&self.message)?,
        }
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, " (line {line}, column {column})"),
            (Some(line), None) => write!(f, " (line {line})"),
            (None, _) => Ok(()),
        }
    }
}
