//! What can go wrong with a model, sorted by who can do something about it.

use std::io;
use std::path::PathBuf;

use crate::rendering::TemplateError;

/// Why a model cannot be used. No text of the file is quoted unescaped by whoever shows these: it is
/// foreign.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    #[error("cannot read the model {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The file is something else.
    #[error("{} is not a GGUF model", path.display())]
    NotAModel { path: PathBuf },
    /// The file contradicts itself, or ends early.
    #[error("the model {} is damaged: {problem}", path.display())]
    Damaged { path: PathBuf, problem: String },
    /// The file may well be whole, but this engine does not know what to do with it.
    #[error("the model {} cannot be run here: {problem}", path.display())]
    Unsupported {
        path: PathBuf,
        /// What is not known.
        problem: String,
    },
    /// The machine is too small, or too busy.
    #[error(
        "the model {} needs about {} MB of memory, and {} MB are free",
        path.display(),
        needed / 1_000_000,
        available / 1_000_000
    )]
    Memory {
        path: PathBuf,
        /// Bytes.
        needed: u64,
        /// Bytes.
        available: u64,
    },
    /// The caller wanted no more of it.
    #[error("loading was stopped")]
    Stopped,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    #[error("the model's chat template cannot be used")]
    Template(#[from] TemplateError),
    /// The conversation does not fit.
    #[error("the conversation has {tokens} tokens, and the model's window is {window}")]
    TooLong {
        /// What the conversation takes.
        tokens: usize,
        /// What there is for it and the reply together.
        window: usize,
    },
    /// Computing failed.
    #[error("the model cannot compute: {0}")]
    Engine(String),
}

/// Errors of the engine may carry a backtrace behind their first line.
pub(crate) fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}
