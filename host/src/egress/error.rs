//! What goes wrong on the way to a server and back, each kind in words of its own.

use std::io;
use std::net::IpAddr;
use std::time::Duration;

use super::address::Place;

/// Characters of a library's words that a message repeats.
const MAX_PROBLEM_CHARS: usize = 200;

/// Why a redirect is not followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedirectError {
    /// Where it leads is not text.
    #[error("its location is not text")]
    NotText,
    /// Where it leads is not a URL.
    #[error("its location is not an address: {0}")]
    NotUrl(url::ParseError),
    /// Where it leads is nothing that can be fetched.
    #[error(transparent)]
    Url(Box<EgressError>),
    /// It leaves encryption.
    #[error("it leads from https to {0}, where anybody can listen")]
    Downgrade(String),
}

/// Why there is no answer, or no more of it. `Display` says it all in one line, without control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EgressError {
    /// Not an address at all, or one without a host.
    #[error("{0}")]
    Url(String),
    /// Neither `http` nor `https`.
    #[error("only http and https can be fetched, not {0}")]
    Scheme(String),
    /// The address carries a name or a password.
    #[error("the address carries a user name or a password; leave that out")]
    Credentials,
    /// A header that the host sets itself, or none that HTTP allows.
    #[error("the header {name:?} cannot be set: {problem}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong.
        problem: &'static str,
    },
    /// Whoever was asked about this address said no.
    #[error("{0} may not be used")]
    Refused(String),
    /// Such addresses are never used.
    #[error("{host} resolves to {address}, which {place}; that is never allowed")]
    Forbidden {
        /// Host and port as in the address.
        host: String,
        /// What it leads to.
        address: IpAddr,
        /// Where that is.
        place: Place,
    },
    /// There is no such name.
    #[error("there is no server named {host}: check the spelling")]
    NameNotFound {
        /// The name.
        host: String,
    },
    /// The name server did not answer, or not usefully.
    #[error("the name {host} could not be looked up: {problem}; check the network connection")]
    Lookup {
        /// The name.
        host: String,
        /// What the system says.
        problem: String,
    },
    /// Nothing listens there.
    #[error("{host} refused the connection: nothing listens there")]
    ConnectionRefused {
        /// Host and port.
        host: String,
    },
    /// No way leads there.
    #[error("{host} cannot be reached: {problem}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// What the system says.
        problem: String,
    },
    /// The certificate belongs to another name.
    #[error("{host} shows a certificate of another server")]
    TlsName {
        /// Host and port.
        host: String,
    },
    /// The certificate has expired, or does not hold yet.
    #[error("the certificate of {host} has expired or is not valid yet")]
    TlsExpired {
        /// Host and port.
        host: String,
    },
    /// The certificate was issued by somebody unknown.
    #[error("the certificate of {host} is not issued by anybody that this machine trusts")]
    TlsIssuer {
        /// Host and port.
        host: String,
    },
    /// Anything else about TLS.
    #[error("no secure connection to {host}: {problem}")]
    Tls {
        /// Host and port.
        host: String,
        /// What the library says.
        problem: String,
    },
    /// Time ran out.
    #[error("{host} took too long: {waiting} took more than {}", seconds(.after))]
    TimedOut {
        /// Host and port.
        host: String,
        /// Meanwhile.
        waiting: Waiting,
        /// The limit that passed.
        after: Duration,
    },
    /// A circle, or a chain that is too long.
    #[error("more than {most} redirects, the last one to {last}")]
    TooManyRedirects {
        /// How many are followed.
        most: usize,
        /// Where the next one would have led.
        last: String,
    },
    /// A redirect that leads nowhere, or where it may not lead.
    #[error("{from} redirects badly: {problem}")]
    BadRedirect {
        /// Host and port.
        from: String,
        /// What is wrong with it.
        problem: RedirectError,
    },
    /// The answer has more bytes than whoever asked wants to have.
    #[error("the answer of {host} has more than {most} bytes")]
    TooLarge {
        /// Host and port.
        host: String,
        /// The limit.
        most: u64,
    },
    /// The connection ended in the middle of the answer, or before it.
    #[error("{host} broke off {}", if *.before { "before it answered" } else { "in the middle of its answer" })]
    CutOff {
        /// Host and port.
        host: String,
        /// Whether nothing had come yet.
        before: bool,
    },
    /// What came is not HTTP, or is compressed in a way that cannot be undone.
    #[error("the answer of {host} cannot be understood: {problem}")]
    BadAnswer {
        /// Host and port.
        host: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The network part of this program does not work here.
    #[error("cannot use the network: {0}")]
    Setup(String),
}

/// What was being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Waiting {
    /// The name server.
    Lookup,
    /// The connection, with its encryption.
    Connection,
    /// The beginning of the answer.
    Answer,
    /// The rest of the answer.
    Body,
}

impl std::fmt::Display for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Waiting::Lookup => "looking up its name",
            Waiting::Connection => "connecting",
            Waiting::Answer => "waiting for the answer",
            Waiting::Body => "reading the answer",
        })
    }
}

fn seconds(duration: &Duration) -> String {
    match duration.subsec_millis() {
        0 => format!("{} s", duration.as_secs()),
        _ => format!("{} ms", duration.as_millis()),
    }
}

/// Words for what the HTTP client says before the head of an answer is there. `connect` is its time limit for
/// connecting, the only one it has.
pub(super) fn before_answer(error: &reqwest::Error, host: &str, connect: Duration) -> EgressError {
    let host = host.to_owned();
    if let Some(tls) = find::<rustls::Error>(error) {
        return tls_error(tls, host);
    }
    if error.is_timeout() {
        return EgressError::TimedOut {
            host,
            waiting: Waiting::Connection,
            after: connect,
        };
    }
    if let Some(http) = find::<hyper::Error>(error) {
        if http.is_parse() {
            let problem = "it is not HTTP".to_owned();
            return EgressError::BadAnswer { host, problem };
        }
        if http.is_incomplete_message() || http.is_closed() || http.is_canceled() {
            return EgressError::CutOff { host, before: true };
        }
    }
    match find::<io::Error>(error) {
        Some(io) if io.kind() == io::ErrorKind::ConnectionRefused => {
            EgressError::ConnectionRefused { host }
        }
        Some(io) if is_broken_off(io) && !error.is_connect() => {
            EgressError::CutOff { host, before: true }
        }
        // Connections themselves do not end so, only the handshake behind them.
        Some(io) if io.kind() == io::ErrorKind::UnexpectedEof => EgressError::Tls {
            host,
            problem: "it broke off while the connection was being made secure".to_owned(),
        },
        Some(io) => EgressError::Unreachable {
            host,
            problem: io.to_string(),
        },
        None => EgressError::Unreachable {
            host,
            problem: innermost(error),
        },
    }
}

/// Words for what the HTTP client says in the middle of an answer.
pub(super) fn in_answer(error: &reqwest::Error, host: &str) -> EgressError {
    let host = host.to_owned();
    let cut = EgressError::CutOff {
        host: host.clone(),
        before: false,
    };
    if let Some(tls) = find::<rustls::Error>(error) {
        return tls_error(tls, host);
    }
    let io = find::<io::Error>(error);
    if let Some(http) = find::<hyper::Error>(error) {
        let is_nonsense = |io: &io::Error| {
            matches!(
                io.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
            )
        };
        if http.is_parse() || io.is_some_and(is_nonsense) {
            let problem = "its parts are not as HTTP has them".to_owned();
            return EgressError::BadAnswer { host, problem };
        }
        return cut;
    }
    match io {
        Some(io) if is_broken_off(io) => cut,
        Some(_) if error.is_decode() => EgressError::BadAnswer {
            host,
            problem: "it is damaged: it cannot be decompressed".to_owned(),
        },
        _ => cut,
    }
}

fn tls_error(error: &rustls::Error, host: String) -> EgressError {
    use rustls::CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(bad) => match bad {
            Bad::Expired
            | Bad::ExpiredContext { .. }
            | Bad::NotValidYet
            | Bad::NotValidYetContext { .. } => EgressError::TlsExpired { host },
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                EgressError::TlsName { host }
            }
            Bad::UnknownIssuer => EgressError::TlsIssuer { host },
            bad => EgressError::Tls {
                host,
                problem: harmless(&format!("its certificate is not valid: {bad}")),
            },
        },
        other => EgressError::Tls {
            host,
            problem: harmless(&other.to_string()),
        },
    }
}

/// A certificate may say anything.
fn harmless(text: &str) -> String {
    let text = crate::display::escape(text);
    crate::display::shorten(&text, MAX_PROBLEM_CHARS).into_owned()
}

fn is_broken_off(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
    )
}

/// The innermost error of this type.
fn find<'a, E: std::error::Error + 'static>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a E> {
    chain(error).filter_map(|error| error.downcast_ref()).last()
}

fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    chain(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}

fn chain<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // An I/O error keeps what it wraps out of its chain of sources.
        let wrapped = error.downcast_ref::<io::Error>().and_then(|io| {
            let inner: Option<&(dyn std::error::Error + Send + Sync + 'static)> = io.get_ref();
            inner.map(|inner| inner as &(dyn std::error::Error + 'static))
        });
        wrapped.or_else(|| error.source())
    })
}
