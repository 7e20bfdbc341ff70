//! Parses `@param` lines into JSON Schema.
//!
//! A tool writes its parameters as lines, because lines are what people read and write without
//! mistakes:
//!
//! ```text
//! @param file_path {string} The file to change
//! @param options {object} [optional] How to go about it
//! @param options.dry_run {boolean} [optional] Only say what would change
//! @param edits {array} What to change
//! @param edits[] {object}
//! @param edits[].line {integer} The line, counted from 1
//! ```
//!
//! and models get them as JSON Schema. Without `[required]` or `[optional]` a parameter is required.
//! A parent may be left out where its members say what it is: `options.dry_run` alone makes an object
//! `options`. Blank lines are skipped; anything else is an error that says what a line looks like.
//!
//! The lines come from plugins, which may be hostile: their number, their size and their nesting are
//! bounded, and nothing here panics.

mod line;
mod tree;

use serde_json::Value;

pub use line::{LineError, Type};

/// Bytes of all lines together. A schema is sent with every request to a model, so a tool of real
/// use stays far below.
pub const MAX_BYTES: usize = 64 * 1024;

/// Parameters of one tool, nested ones included. The largest tools in use have a few dozen.
pub const MAX_PARAMETERS: usize = 256;

/// Steps in a name: `a.b[].c` has four. Models lose their way far earlier, and the bound keeps
/// the recursion over the tree shallow.
pub const MAX_DEPTH: usize = 8;

/// What a line has to look like, as errors say it.
const FORM: &str = "@param name {type} [required|optional] Description";

/// Why lines are not parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    #[error("line {number}: {problem}, in `{text}`; expected `{FORM}`")]
    Line {
        /// Counted from 1.
        number: usize,
        /// The line, shortened.
        text: String,
        problem: LineError,
    },
    #[error("the parameters have {bytes} bytes, at most {MAX_BYTES} are allowed")]
    TooLong {
        /// Their size.
        bytes: usize,
    },
}

/// Parses lines into the JSON Schema of an object. Properties keep the order of the lines.
///
/// ```
/// let schema = dunlin_params::parse("@param path {string} [optional] A file")?;
/// assert_eq!(
///     schema,
///     serde_json::json!({
///         "type": "object",
///         "properties": { "path": { "type": "string", "description": "A file" } },
///         "required": [],
///         "additionalProperties": false,
///     })
/// );
/// # Ok::<(), dunlin_params::ParamsError>(())
/// ```
pub fn parse(text: &str) -> Result<Value, ParamsError> {
    if text.len() > MAX_BYTES {
        return Err(ParamsError::TooLong { bytes: text.len() });
    }
    let mut root = tree::Node::root();
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    for (count, (index, line)) in lines.enumerate() {
        let wrong = |problem| ParamsError::Line {
            number: index + 1,
            text: shorten(line.trim()),
            problem,
        };
        if count == MAX_PARAMETERS {
            return Err(wrong(LineError::TooMany));
        }
        let param = line::parse(line).map_err(wrong)?;
        root.insert(param).map_err(wrong)?;
    }
    Ok(root.into_schema())
}

/// As much of a line as an error can show.
fn shorten(line: &str) -> String {
    const MAX_CHARS: usize = 80;
    if line.chars().count() <= MAX_CHARS {
        return line.to_owned();
    }
    line.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests;
