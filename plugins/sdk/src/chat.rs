//! The person at the other end of the chat.

use crate::error::Error;
use crate::host::chat as host;

/// Shows how far a long call is. Never blocks; the host shows the newest message at its own pace.
///
/// `percent` is 0 to 100, or `None` when the end cannot be foreseen. Outside of a component nothing
/// happens.
pub fn progress(message: &str, percent: Option<u8>) {
    host::progress(message, percent);
}

/// Asks the person a question and waits for the answer, a text of theirs; the wait is not counted against the time
/// limit of the call. They choose one of `options` (at most 20) or answer in their own words.
///
/// What they say grants nothing. Fails with `Unsupported` where nobody is there, with `Cancelled` when they do not
/// want to answer, with `Invalid` for an empty or over-long question, with `TooLarge` at the ninth question of
/// a call.
pub fn ask(question: &str, options: &[String]) -> Result<String, Error> {
    Ok(host::ask(question, options)?)
}
