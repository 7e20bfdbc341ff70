//! The search engine of the user's choice, asked by the host.
//!
//! ```no_run
//! # fn run() -> Result<(), dunlin_sdk::Error> {
//! let answer = dunlin_sdk::search::query("sandpiper nests")?;
//! dunlin_sdk::log::debug(&format!("{} answered {}", answer.engine, answer.status));
//! # Ok(())
//! # }
//! ```

use crate::bindings::dunlin::tool::search as host;
use crate::error::Error;

/// What an engine answered, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Which engine, and so what the body is: `duckduckgo` (HTML), `google` or `searxng` (JSON of their own).
    pub engine: String,
    /// The status of HTTP.
    pub status: u16,
    /// The body, decompressed.
    pub body: Vec<u8>,
}

/// The address that searches go to: what they need reading on, [`Plan::reads_url`](crate::Plan::reads_url). Works in
/// `prepare` as well.
///
/// Fails with `Unsupported` where none is configured.
pub fn address() -> Result<String, Error> {
    crate::host::in_component()?;
    Ok(host::address()?)
}

/// Searches for 1 to 1,000 characters and waits for the whole answer.
///
/// Fails with `Denied`, with `Invalid` for words that cannot be searched for, with `TooLarge` when too many searches were
/// made or the answer has more than 2 MiB, with `TimedOut` after 30 s, with `Unsupported` where no engine or no key
/// is configured, with `Failed` for all other trouble on the way.
pub fn query(words: &str) -> Result<Answer, Error> {
    crate::host::in_component()?;
    let host::Answer {
        engine,
        status,
        body,
    } = host::query(words)?;
    Ok(Answer {
        engine,
        status,
        body,
    })
}
