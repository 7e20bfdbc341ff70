//! What goes wrong between here and a provider, sorted by who can do something about it.
//!
//! A message names the endpoint and what happened there. The way out is kept apart, in
//! [`ProviderError::hint`], so that whoever shows it can set it off. No message ever holds a key,
//! and an endpoint is named without the user, password and query that its URL may have.

use std::fmt;
use std::time::Duration;

use url::Url;

/// A request did not fit into the model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overflow {
    /// How many tokens the request came to, where the server says so; the reply that was asked for may be
    /// counted in.
    pub needed: Option<u64>,
    /// How many there is room for, where the server says so.
    pub window: Option<u64>,
}

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
    Setup { endpoint: Endpoint, source: Cause },
    #[error("the API key {key:?} holds characters that cannot be sent in a header")]
    Key {
        /// The key's name.
        key: String,
    },
    /// Nobody answers there.
    #[error("cannot connect to {endpoint}")]
    Connect {
        endpoint: Endpoint,
        /// Whether it is this machine.
        local: bool,
        source: Cause,
    },
    /// The two sides do not agree on encryption, or the certificate does not hold.
    #[error("cannot connect securely to {endpoint}")]
    Tls { endpoint: Endpoint, source: Cause },
    /// Nothing came in time.
    #[error("{endpoint} did not {what} within {} s", .after.as_secs_f32())]
    TimedOut {
        endpoint: Endpoint,
        what: Waiting,
        after: Duration,
    },
    #[error("{} answered {}: {}", .0.endpoint, .0.status, .0.message)]
    Status(Box<Refusal>),
    #[error("{endpoint} broke off its reply: {message}")]
    Reported {
        endpoint: Endpoint,
        /// What the endpoint says, in one line that is safe to show.
        message: String,
        /// Its code, where it gave one.
        code: Option<String>,
        /// Whether the request was too long for the model, and by how much.
        overflow: Option<Overflow>,
    },
    #[error("the reply of {endpoint} ended in the middle")]
    Incomplete {
        endpoint: Endpoint,
        /// Why, unless it ended in good order.
        source: Option<Cause>,
    },
    #[error("{model} cannot answer")]
    Model {
        model: String,
        /// The way out, where there is one to name.
        hint: Option<String>,
        /// Whether the request was too long for the model, and by how much.
        overflow: Option<Overflow>,
        /// Why; unlike a connection's, every level of it says something.
        source: ModelError,
    },
    #[error("{endpoint} did not answer with a reply")]
    NotAReply {
        endpoint: Endpoint,
        /// What came instead.
        source: Cause,
    },
}

/// What a model in this process fails with.
pub type ModelError = Box<dyn std::error::Error + Send + Sync>;

/// What an endpoint said instead of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub endpoint: Endpoint,
    pub status: u16,
    /// What this status usually means, in a few words, where it is a known one.
    pub reason: Option<String>,
    /// What the endpoint says, in one line that is safe to show.
    pub message: String,
    /// Its code, where it gave one.
    pub code: Option<String>,
    /// How long it asks to wait before another attempt.
    pub retry_after: Option<Duration>,
    /// The name of the key that was sent.
    pub key: Option<String>,
    /// The model that was asked for.
    pub model: String,
    /// Whether the request was too long for the model, and by how much.
    pub overflow: Option<Overflow>,
    /// The way out, where the protocol knows a better one than the status.
    pub way_out: Option<String>,
    /// How the next request is written otherwise, so that it may be accepted.
    pub profile_change: Option<ProfileChange>,
}

impl Refusal {
    /// Whether the account has no money or no quota left, which does not come back within minutes.
    pub fn is_out_of_funds(&self) -> bool {
        matches!(
            self.code.as_deref(),
            Some(
                "insufficient_quota"
                    | "billing_hard_limit_reached"
                    | "exceeded_current_quota_error"
            )
        )
    }
}

/// How the next request to the endpoint is written otherwise, after a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileChange {
    /// What the user should know of it, in one line that is safe to show; `None` where it changes nothing that
    /// anybody would miss.
    pub notice: Option<String>,
}

/// How an endpoint answers to what it may not be able to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentFault {
    /// It does not accept the request.
    Refused,
    /// It breaks, as it may for any other reason.
    Failed,
}

impl ProviderError {
    /// By how much the request was too long for the model's window, as far as the endpoint says so; `None`: it
    /// failed for another reason.
    pub fn context_overflow(&self) -> Option<Overflow> {
        match self {
            ProviderError::Status(refusal) => refusal.overflow,
            ProviderError::Reported { overflow, .. } | ProviderError::Model { overflow, .. } => {
                *overflow
            }
            _ => None,
        }
    }

    /// Whether what the messages hold may be the reason. Local servers answer a picture that they cannot read with a fault of
    /// their own, some of them after a good status.
    pub fn content_fault(&self) -> Option<ContentFault> {
        match self {
            ProviderError::Status(refusal) if refusal.overflow.is_none() => match refusal.status {
                400 | 413 | 415 | 422 => Some(ContentFault::Refused),
                500 | 501 => Some(ContentFault::Failed),
                _ => None,
            },
            ProviderError::Reported { overflow: None, .. } => Some(ContentFault::Failed),
            _ => None,
        }
    }

    /// What went wrong, in a few words that are safe to show.
    pub fn in_brief(&self) -> String {
        const MOST_CHARS: usize = 60;
        match self {
            ProviderError::Status(refusal) => {
                // The usual reason is shorter than the message, which comes if this goes on.
                let reason = refusal.reason.as_ref().unwrap_or(&refusal.message);
                let reason = dunlin_host::display::shorten(reason, MOST_CHARS);
                format!("{} {reason}", refusal.status)
            }
            ProviderError::TimedOut { .. } => "no answer in time".to_owned(),
            ProviderError::Connect { .. } => "no connection".to_owned(),
            _ => "the connection broke".to_owned(),
        }
    }

    /// Whether the protocol knows a way out of its own, which [`ProviderError::hint`] gives.
    pub fn names_way_out(&self) -> bool {
        matches!(self, ProviderError::Status(refusal) if refusal.way_out.is_some())
    }

    /// How the next request is written otherwise: `Some` says that a request composed anew is worth sending.
    pub fn profile_change(&self) -> Option<&ProfileChange> {
        match self {
            ProviderError::Status(refusal) => refusal.profile_change.as_ref(),
            _ => None,
        }
    }

    /// The way out where there is one message and no chat.
    pub fn hint_of_one(&self) -> Option<String> {
        if self.context_overflow().is_some() && !self.names_way_out() {
            return Some("send less, or use a model with a larger context window".to_owned());
        }
        match self {
            ProviderError::Reported { .. } | ProviderError::Incomplete { .. } => {
                Some("run it again".to_owned())
            }
            _ => self.hint(),
        }
    }

    /// The way out in the chat, in one sentence, where there is one to name.
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
            ProviderError::Status(refusal) => status_hint(refusal),
            ProviderError::Reported { overflow: Some(_), .. } | ProviderError::Model { overflow: Some(_), .. } => {
                Some(TOO_LONG.to_owned())
            }
            ProviderError::Reported { .. } | ProviderError::Incomplete { .. } => {
                Some("the partial reply is kept; ask again to continue".to_owned())
            }
            ProviderError::Model { hint, .. } => hint.clone(),
            ProviderError::NotAReply { .. } => {
                Some("check the agent's base_url: it usually ends with /v1".to_owned())
            }
        }
    }
}

/// The way out of a conversation that does not fit.
const TOO_LONG: &str = "your message is kept; /context shows what uses the context, /clear starts over, and a \
    smaller max_history_tokens under [limits] sends less";

/// What need not be said more exactly.
const A_MOMENT: Duration = Duration::from_secs(10);

fn status_hint(refusal: &Refusal) -> Option<String> {
    if refusal.way_out.is_some() {
        return refusal.way_out.clone();
    }
    if refusal.overflow.is_some() {
        return Some(TOO_LONG.to_owned());
    }
    let model = &refusal.model;
    let rest = refusal.retry_after.filter(|rest| *rest >= A_MOMENT);
    Some(match (refusal.status, refusal.key.as_deref()) {
        (300..=399, _) => {
            "put the address that it redirects to into the agent's base_url".to_owned()
        }
        (401 | 403, Some(key)) => {
            format!("check the API key {key:?}; dunlin config show prints where it comes from")
        }
        (401 | 403, None) => {
            "the agent has no api_key; name one of [keys] in config.toml".to_owned()
        }
        (402, _) => "check the balance of the account".to_owned(),
        (404 | 405, _) => {
            format!(
                "check that the model {model:?} exists there, and the agent's base_url: it usually ends with /v1"
            )
        }
        (429, _) if refusal.is_out_of_funds() => {
            "check the plan and the balance of the account: waiting does not help".to_owned()
        }
        (429 | 500..=599, _) if rest.is_some() => {
            let rest = in_words(rest.unwrap_or_default());
            format!("the server asks you to wait {rest}; ask again then")
        }
        (429, _) => "wait a moment and ask again".to_owned(),
        (500..=599, _) => "the fault is on the server's side; ask again later".to_owned(),
        _ => return None,
    })
}

/// A time to wait, rounded up.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(any(test, feature = "samples"))]
impl Refusal {
    /// A refusal for tests, with nothing set that need not be.
    pub fn sample() -> Refusal {
        Refusal {
            endpoint: Endpoint("http://127.0.0.1:8080/v1".to_owned()),
            status: 400,
            reason: None,
            message: "no".to_owned(),
            code: None,
            retry_after: None,
            key: None,
            model: "small".to_owned(),
            overflow: None,
            way_out: None,
            profile_change: None,
        }
    }
}
