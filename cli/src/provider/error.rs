//! What goes wrong between here and a provider, sorted by who can do something about it.
//!
//! A message names the endpoint and what happened there. The way out is kept apart, in
//! [`ProviderError::hint`], so that whoever shows it can set it off. No message ever holds a key,
//! and an endpoint is named without the user, password and query that its URL may have.

use std::fmt;
use std::time::Duration;

use url::Url;

/// The address of an endpoint as it may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint(String);

impl Endpoint {
    /// The address without user, password, query and fragment.
    pub fn of(url: &Url) -> Endpoint {
        let mut url = url.clone();
        // These fail for URLs that cannot have a user at all.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        Endpoint(url.into())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// The connection.
    Connection,
    /// The first byte of the answer.
    Answer,
    /// More of a reply that had begun.
    Continuation,
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Waiting::Connection => "accept the connection",
            Waiting::Answer => "answer",
            Waiting::Continuation => "continue its reply",
        })
    }
}

/// A failure of the connection. `Display` is that of the innermost cause: the layers between only
/// repeat that a request has failed.
#[derive(Debug)]
pub struct Cause(Box<dyn std::error::Error + Send + Sync>);

impl Cause {
    /// Wraps an error with all that lies below it.
    pub fn new(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Cause {
        Cause(error.into())
    }

    /// The first error of this type, from the outermost inwards.
    pub fn find<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.chain().find_map(|error| {
            let mut error = error;
            loop {
                if let Some(found) = error.downcast_ref() {
                    return Some(found);
                }
                // An I/O error keeps what it wraps out of its chain of sources.
                error = error.downcast_ref::<std::io::Error>()?.get_ref()?;
            }
        })
    }

    fn chain(&self) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
        let outermost: &(dyn std::error::Error + 'static) = &*self.0;
        std::iter::successors(Some(outermost), |error| error.source())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.chain()
            .last()
            .map_or(Ok(()), |error| fmt::Display::fmt(error, f))
    }
}

impl std::error::Error for Cause {}

/// Why there is no whole reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// The HTTP client cannot be set up: no certificates can be loaded, a proxy is misspelt.
    #[error("cannot set up the connection to {endpoint}")]
    Setup {
        /// Where to.
        endpoint: Endpoint,
        /// Why.
        source: Cause,
    },
    /// The key cannot be sent.
    #[error("the API key {key:?} holds characters that cannot be sent in a header")]
    Key {
        /// The key's name.
        key: String,
    },
    /// Nobody answers there.
    #[error("cannot connect to {endpoint}")]
    Connect {
        /// Where to.
        endpoint: Endpoint,
        /// Whether it is this machine.
        local: bool,
        /// Why.
        source: Cause,
    },
    /// The two sides do not agree on encryption, or the certificate does not hold.
    #[error("cannot connect securely to {endpoint}")]
    Tls {
        /// Where to.
        endpoint: Endpoint,
        /// Why.
        source: Cause,
    },
    /// Nothing came in time.
    #[error("{endpoint} did not {what} within {} s", .after.as_secs_f32())]
    TimedOut {
        /// Where.
        endpoint: Endpoint,
        /// What was waited for.
        what: Waiting,
        /// How long.
        after: Duration,
    },
    /// The endpoint refused.
    #[error("{endpoint} answered {status}: {message}")]
    Status {
        /// Where.
        endpoint: Endpoint,
        /// The HTTP status.
        status: u16,
        /// What the endpoint says, in one line that is safe to show.
        message: String,
        /// How long it asks to wait before another attempt.
        retry_after: Option<Duration>,
        /// The name of the key that was sent.
        key: Option<String>,
        /// The model that was asked for.
        model: String,
    },
    /// The endpoint reported a failure in the middle of its reply.
    #[error("{endpoint} broke off its reply: {message}")]
    Reported {
        /// Where.
        endpoint: Endpoint,
        /// What the endpoint says, in one line that is safe to show.
        message: String,
        /// Its code, where it gave one.
        code: Option<String>,
    },
    /// The connection ended in the middle of the reply.
    #[error("the reply of {endpoint} ended in the middle")]
    Incomplete {
        /// Where.
        endpoint: Endpoint,
        /// Why, unless it ended in good order.
        source: Option<Cause>,
    },
    /// What came is no reply.
    #[error("{endpoint} did not answer with a reply")]
    NotAReply {
        /// Where.
        endpoint: Endpoint,
        /// What came instead.
        source: Cause,
    },
}

impl ProviderError {
    /// The way out, in one sentence, where there is one to name.
    pub fn hint(&self) -> Option<String> {
        match self {
            ProviderError::Setup { .. } => {
                Some("check the certificates of this machine and the proxy variables (HTTPS_PROXY, ALL_PROXY)".to_owned())
            }
            ProviderError::Key { key } => Some(format!("look for a line break or a quotation mark in the key {key:?}")),
            ProviderError::Connect { local: true, .. } => {
                Some("is the server running? `dunlin doctor` looks for one".to_owned())
            }
            ProviderError::Connect { .. } => Some("check the network and the agent's base_url".to_owned()),
            ProviderError::Tls { .. } => {
                Some("check the agent's base_url: a server without a certificate is reached with http://".to_owned())
            }
            ProviderError::TimedOut { what: Waiting::Connection, .. } => {
                Some("check the network and the agent's base_url".to_owned())
            }
            ProviderError::TimedOut { .. } => {
                Some("a slow model may need a larger request_timeout_secs under [limits]".to_owned())
            }
            ProviderError::Status { status, key, model, .. } => status_hint(*status, key.as_deref(), model),
            ProviderError::Reported { .. } | ProviderError::Incomplete { .. } => {
                Some("what came so far is kept; ask again to go on".to_owned())
            }
            ProviderError::NotAReply { .. } => {
                Some("check the agent's base_url: it usually ends with /v1".to_owned())
            }
        }
    }
}

fn status_hint(status: u16, key: Option<&str>, model: &str) -> Option<String> {
    Some(match (status, key) {
        (300..=399, _) => {
            "put the address that it redirects to into the agent's base_url".to_owned()
        }
        (401 | 403, Some(key)) => format!("check the API key {key:?}"),
        (401 | 403, None) => {
            "the agent has no api_key; name one of [keys] in config.toml".to_owned()
        }
        (402, _) => "check the balance of the account".to_owned(),
        (404 | 405, _) => {
            format!(
                "check that the model {model:?} exists there, and the agent's base_url: it usually ends with /v1"
            )
        }
        (413, _) => "the request is too large; start afresh with /clear".to_owned(),
        (429, _) => "wait a moment and ask again".to_owned(),
        (500..=599, _) => "the fault is on the server's side; ask again later".to_owned(),
        _ => return None,
    })
}
