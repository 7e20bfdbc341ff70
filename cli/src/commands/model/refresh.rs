//! `dunlin model refresh`: fetches the table of models.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use dunlin_chat::provider::error::{Cause, Endpoint};
use dunlin_chat::tokens::counted;
use dunlin_host::display::{escape, grouped};
use dunlin_provider::http::{self, Timeouts, is_this_machine};
use jiff::Zoned;
use reqwest::StatusCode;
use tokio::time::timeout;
use url::Url;

use crate::app::App;
use crate::dialogue::hands_off;
use crate::error::CliError;
use crate::model_table::in_use;
use crate::model_table::site::{Reduced, SITE, SiteError, reduce};

/// The longest file that is read, in bytes: eight times what there is.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// How long all of it may take: a server that sends a byte now and then is never silent.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(300);

/// How many entries are named that were left out.
const NAMED: usize = 3;

/// Why there is no newer table.
#[derive(Debug, thiserror::Error)]
enum RefreshError {
    #[error("{0:?} is not an address that the table can be fetched from")]
    Address(String),
    #[error("cannot reach {endpoint}")]
    Unreachable { endpoint: Endpoint, source: Cause },
    #[error("{endpoint} answered {status}")]
    Refused { endpoint: Endpoint, status: u16 },
    #[error("{endpoint} sends more than {} MiB", MAX_BYTES / 1024 / 1024)]
    TooLong { endpoint: Endpoint },
    #[error("what {endpoint} sends is not the file of models.dev")]
    Another {
        endpoint: Endpoint,
        source: SiteError,
    },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl RefreshError {
    fn hint(&self) -> &'static str {
        match self {
            RefreshError::Address(_) => {
                "--url takes an address with https://, or one of this machine"
            }
            RefreshError::Unreachable { .. } => {
                "check the network and the proxy variables; --url names another place that has the file"
            }
            RefreshError::Refused { .. }
            | RefreshError::TooLong { .. }
            | RefreshError::Another { .. } => "--url names another place that has the file",
            RefreshError::Write { .. } => "check the folder and its disk",
        }
    }
}

/// Fetches the file of models.dev and stores the table that it makes. Whatever fails, the table that was there stays.
pub fn run(app: &App, url: Option<String>) -> Result<(), CliError> {
    let url = url.as_deref().unwrap_or(SITE);
    let (reduced, file) = refreshed(app, url)?.map_err(|error| {
        let hint = error.hint().to_owned();
        CliError::failed(error).with_hint(hint)
    })?;
    let folders = &app.settings.folders;
    app.ui.status(&format!(
        "{}: {} of {}",
        escape(&folders.short(&file)),
        counted(reduced.models, "model", "models"),
        counted(reduced.services, "service", "services"),
    ));
    if !reduced.left_out.is_empty() {
        app.ui.warn(&left_out(&reduced.left_out));
    }
    Ok(())
}

fn left_out(names: &[String]) -> String {
    let named: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {} more", grouped(more as u64)),
    };
    format!(
        "left out, because they cannot be read: {}{more}",
        named.join(", ")
    )
}

/// The outer error: it was interrupted.
fn refreshed(app: &App, url: &str) -> Result<Result<(Reduced, PathBuf), RefreshError>, CliError> {
    let Some(url) = address(url) else {
        return Ok(Err(RefreshError::Address(url.to_owned())));
    };
    let endpoint = Endpoint::of(&url);
    app.ui
        .status(&format!("fetching {}", escape(&endpoint.to_string())));
    let fetched = hands_off(app, fetch(&url))?;
    Ok(fetched.and_then(|bytes| {
        let today = Zoned::now().date();
        let reduced =
            reduce(&bytes, today).map_err(|source| RefreshError::Another { endpoint, source })?;
        let stored = in_use::store(&app.settings.folders, &reduced.table);
        let file = stored.map_err(|(path, source)| RefreshError::Write { path, source })?;
        Ok((reduced, file))
    }))
}

/// An address that nobody on the way can put another file behind.
fn address(typed: &str) -> Option<Url> {
    let url = Url::parse(typed).ok()?;
    let is_plain = url.scheme() == "http" && is_this_machine(&url);
    let is_safe = url.has_host() && (url.scheme() == "https" || is_plain);
    is_safe.then_some(url)
}

async fn fetch(url: &Url) -> Result<Vec<u8>, RefreshError> {
    let unreachable = |source: Cause| RefreshError::Unreachable {
        endpoint: Endpoint::of(url),
        source,
    };
    let failed = |error: reqwest::Error| unreachable(Cause::new(error.without_url()));
    let silent = |after: Duration| {
        unreachable(Cause::new(format!(
            "nothing came for {} s",
            after.as_secs()
        )))
    };
    let receive = async {
        let client = http::client(url, Timeouts::default()).map_err(failed)?;
        let sent = timeout(http::IDLE_TIMEOUT, client.get(url.clone()).send()).await;
        let mut response = sent
            .map_err(|_| silent(http::IDLE_TIMEOUT))?
            .map_err(failed)?;
        if response.status() != StatusCode::OK {
            return Err(RefreshError::Refused {
                endpoint: Endpoint::of(url),
                status: response.status().as_u16(),
            });
        }
        let mut bytes = Vec::new();
        loop {
            let chunk = timeout(http::IDLE_TIMEOUT, response.chunk()).await;
            let chunk = chunk
                .map_err(|_| silent(http::IDLE_TIMEOUT))?
                .map_err(failed)?;
            let Some(chunk) = chunk else {
                return Ok(bytes);
            };
            if bytes.len() + chunk.len() > MAX_BYTES {
                return Err(RefreshError::TooLong {
                    endpoint: Endpoint::of(url),
                });
            }
            bytes.extend_from_slice(&chunk);
        }
    };
    let received = timeout(WHOLE_TIMEOUT, receive).await;
    received.unwrap_or_else(|_| {
        let seconds = WHOLE_TIMEOUT.as_secs();
        Err(unreachable(Cause::new(format!(
            "the file did not come within {seconds} s"
        ))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_comes_encrypted_or_from_this_machine() {
        for (typed, expected) in [
            (SITE, true),
            ("https://mirror.example/api.json", true),
            ("http://127.0.0.1:8080/api.json", true),
            ("http://models.dev/api.json", false),
            ("file:///etc/passwd", false),
            ("models.dev", false),
            ("", false),
        ] {
            assert_eq!(address(typed).is_some(), expected, "{typed}");
        }
    }

    #[test]
    fn a_few_of_those_left_out_are_named() {
        let names: Vec<String> = ["a", "b/c", "d", "e", "f"].map(str::to_owned).to_vec();
        let expected = "left out, because they cannot be read: a, b/c, d and 2 more";
        assert_eq!(left_out(&names), expected);
        let expected = "left out, because they cannot be read: a";
        assert_eq!(left_out(&names[..1]), expected);
    }
}
