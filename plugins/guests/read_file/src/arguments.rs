//! What the model asks for.

use dunlin_sdk::Failure;
use serde::Deserialize;

/// The arguments of one call.
#[derive(Debug, Clone, Deserialize)]
pub struct Arguments {
    file_path: String,
    start_line: Option<i64>,
    end_line: Option<i64>,
    read_entire_file: Option<bool>,
}

/// Which lines are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// No word about it: the beginning.
    Beginning,
    Entire,
    /// A range, not yet checked: only the file itself tells what would be right.
    Range {
        /// Counted from 1.
        first: i64,
        /// Inclusive; `None` is the end of the file.
        last: Option<i64>,
    },
}

impl Arguments {
    /// The path of the file, never empty.
    pub fn path(&self) -> Result<&str, Failure> {
        match self.file_path.as_str() {
            "" => Err(Failure::invalid_arguments(
                "file_path: it is empty; give the path of a file",
            )),
            path => Ok(path),
        }
    }

    /// Which lines are wanted. A range counts more than the wish for the entire file: it is the more
    /// precise of the two, and the smaller.
    pub fn selection(&self) -> Selection {
        match (self.start_line, self.end_line) {
            (None, None) if self.read_entire_file == Some(true) => Selection::Entire,
            (None, None) => Selection::Beginning,
            // Some models always name the first line and mean no more than the file.
            (Some(1), None) if self.read_entire_file != Some(false) => Selection::Beginning,
            (first, last) => Selection::Range {
                first: first.unwrap_or(1),
                last,
            },
        }
    }

    /// The question for the user.
    pub fn question(&self) -> String {
        let path = &self.file_path;
        match self.selection() {
            Selection::Beginning => format!("Read file '{path}'?"),
            Selection::Entire => format!("Read entire file '{path}'?"),
            Selection::Range {
                first,
                last: Some(last),
            } if first == last => {
                format!("Read file '{path}' (line {first})?")
            }
            Selection::Range {
                first,
                last: Some(last),
            } => format!("Read file '{path}' (lines {first}-{last})?"),
            Selection::Range { first, last: None } => {
                format!("Read file '{path}' (from line {first})?")
            }
        }
    }
}
