//! What the tools of a plugin say of themselves, as bytes that stand in its module beside the code.
//!
//! A build that embeds a plugin reads them there, so that a list of tools can be shown before anything was compiled
//! or run. `describe` says the same, and is what counts for a plugin that comes from elsewhere.

use crate::plugin::{CONTRACT, Parameters};
use crate::tool::Tool;

/// The texts of one tool, in the order in which they are written: name, description, JSON Schema of the parameters, title,
/// JSON Schema of the structured result, hints. Of the last three, what is not said is empty.
pub type Texts = [&'static str; 6];

/// The texts of `T`.
pub const fn texts<T: Tool>() -> Texts {
    let parameters: &'static Parameters = const { &T::PARAMETERS };
    [
        T::NAME,
        T::DESCRIPTION,
        parameters.constant(),
        or_empty(T::TITLE),
        or_empty(T::OUTPUT_SCHEMA),
        hints(T::IS_DESTRUCTIVE, T::IS_IDEMPOTENT),
    ]
}

const fn or_empty(text: Option<&'static str>) -> &'static str {
    match text {
        Some(text) => text,
        None => "",
    }
}

/// A character for each hint: `y`, `n`, or `?` where the tool does not say.
const fn hints(is_destructive: Option<bool>, is_idempotent: Option<bool>) -> &'static str {
    match (is_destructive, is_idempotent) {
        (None, None) => "??",
        (None, Some(true)) => "?y",
        (None, Some(false)) => "?n",
        (Some(true), None) => "y?",
        (Some(true), Some(true)) => "yy",
        (Some(true), Some(false)) => "yn",
        (Some(false), None) => "n?",
        (Some(false), Some(true)) => "ny",
        (Some(false), Some(false)) => "nn",
    }
}

/// Bytes that [`write`] makes of these tools.
pub const fn size(tools: &[Texts]) -> usize {
    let mut size = LENGTH + CONTRACT.len();
    let mut tool = 0;
    while tool < tools.len() {
        let mut text = 0;
        while text < tools[tool].len() {
            size += LENGTH + tools[tool][text].len();
            text += 1;
        }
        tool += 1;
    }
    size
}

/// The contract, then the texts of each tool: each its length in four bytes, the lowest first, and its UTF-8.
pub const fn write<const SIZE: usize>(tools: &[Texts]) -> [u8; SIZE] {
    let mut bytes = [0; SIZE];
    let mut at = put(&mut bytes, 0, CONTRACT);
    let mut tool = 0;
    while tool < tools.len() {
        let mut text = 0;
        while text < tools[tool].len() {
            at = put(&mut bytes, at, tools[tool][text]);
            text += 1;
        }
        tool += 1;
    }
    bytes
}

/// Bytes of a length.
const LENGTH: usize = 4;

const fn put(bytes: &mut [u8], at: usize, text: &str) -> usize {
    let length = (text.len() as u32).to_le_bytes();
    let mut i = 0;
    while i < LENGTH {
        bytes[at + i] = length[i];
        i += 1;
    }
    let text = text.as_bytes();
    let at = at + LENGTH;
    let mut i = 0;
    while i < text.len() {
        bytes[at + i] = text[i];
        i += 1;
    }
    at + text.len()
}
