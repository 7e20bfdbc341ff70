//! Lays an answer out within the room that a model has.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dunlin_sdk::{Error, Failure};

use crate::media::MediaType;

/// Bytes of text that are returned: some 25,000 tokens, a quarter of what a conversation may have.
pub const MAX_TEXT_BYTES: usize = 100 * 1024;

/// Bytes that are returned as base64. Half of an image is none.
pub const MAX_BASE64_BYTES: usize = 512 * 1024;

/// Characters of what a server says beside an error.
const MAX_MESSAGE_CHARS: usize = 600;

/// What was not read of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rest {
    /// Characters that were read and not kept.
    pub chars: usize,
    /// Bytes that were not read; `None`: there may be more, and nobody said how many.
    pub bytes: Option<usize>,
    /// What kept them from coming.
    pub trouble: Option<Error>,
}

/// A text, cut if it is too long; a note says what was left out.
pub fn text(mut text: String, rest: &Rest) -> String {
    let total = text.chars().count() + rest.chars;
    if text.len() > MAX_TEXT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        // At the end of a line, if there is one near.
        let line = text
            .rfind('\n')
            .filter(|end| *end > MAX_TEXT_BYTES * 9 / 10);
        text.truncate(line.unwrap_or(text.len()));
    }
    let omitted = total - text.chars().count();
    let mut notes = Vec::new();
    if omitted > 0 {
        notes.push(format!(
            "{} of {} characters are left out",
            grouped(omitted),
            grouped(total)
        ));
    }
    match (&rest.trouble, rest.bytes) {
        (Some(error), _) => notes.push(format!("the rest did not come: {error}")),
        (None, Some(0)) => {}
        (None, Some(bytes)) => notes.push(format!("{} more bytes were not read", grouped(bytes))),
        (None, None) => notes.push("what comes behind that was not read".to_owned()),
    }
    if text.trim().is_empty() && notes.is_empty() {
        return "(empty)".to_owned();
    }
    if !notes.is_empty() {
        text.push_str(&format!("\n\n[{}]", notes.join("; ")));
    }
    text
}

pub fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Whoever answered, if that is another address than the one that was asked for.
pub fn redirected(asked: &str, answered: &str) -> String {
    let plain = |url: &str| {
        let url = url.split('#').next().unwrap_or_default();
        url::Url::parse(url).map_or_else(|_| url.to_owned(), String::from)
    };
    match plain(asked) == plain(answered) {
        true => String::new(),
        false => format!("(redirected to {answered})\n\n"),
    }
}

/// A status that is not a success.
pub fn refused(status: u16, url: &str, message: &str) -> Failure {
    let words: Vec<&str> = message.split_whitespace().collect();
    let message = words.join(" ");
    let reason = reason(status).map_or_else(String::new, |reason| format!(" {reason}"));
    let mut text = format!("{url} answered with status {status}{reason}");
    if !message.is_empty() {
        text.push_str(": ");
        text.extend(message.chars().take(MAX_MESSAGE_CHARS));
        if message.chars().count() > MAX_MESSAGE_CHARS {
            text.push('…');
        }
    }
    match status {
        404 | 410 => Failure::not_found(text),
        _ => Failure::failed(text),
    }
}

/// Something that cannot be given whole.
pub fn too_large(media: &MediaType, bytes: usize, is_exact: bool) -> Failure {
    let what = match media.essence.as_str() {
        "" => "this",
        essence => essence,
    };
    let more = if is_exact { "" } else { "more than " };
    Failure::too_large(format!(
        "{what} of {more}{} bytes: at most {} can be given as base64",
        grouped(bytes),
        grouped(MAX_BASE64_BYTES)
    ))
}

/// What the common statuses mean.
fn reason(status: u16) -> Option<&'static str> {
    Some(match status {
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        415 => "Unsupported Media Type",
        418 => "I'm a teapot",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return None,
    })
}

/// `1,234,567`
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
