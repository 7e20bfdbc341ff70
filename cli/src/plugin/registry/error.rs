//! Why nothing came from a registry. Each says what to do where something can be done.

use super::login::LoginError;
use dunlin_host::display::size;
use oci_spec::distribution::ParseError;

use crate::error::{CliError, Exit};

/// Why nothing came from a registry.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// It cannot be one.
    #[error("{given:?} names nothing in a registry")]
    Reference { given: String, source: ParseError },
    /// A publisher has to choose a version.
    #[error("{reference} has no tag to publish under")]
    NoTag { reference: String },
    #[error("{reference} already names another component")]
    TagTaken { reference: String },
    /// There is no such thing, or it is not shown to everybody.
    #[error("{registry} has no {what}")]
    NotFound { registry: String, what: String },
    /// It is not shown to everybody.
    #[error("{registry} shows {repository} only to those who have logged in")]
    NeedsLogin {
        registry: String,
        repository: String,
    },
    /// The login of the user is not enough.
    #[error("{registry} does not show {repository} to the login that is kept in {file}")]
    LoginRefused {
        registry: String,
        repository: String,
        /// Where the login is kept.
        file: String,
    },
    #[error("the login for {registry} in {file} cannot be used")]
    Login {
        registry: String,
        file: String,
        source: LoginError,
    },
    /// The registry said something that makes no sense.
    #[error("{registry} answers what no registry does: {problem}")]
    Odd { registry: String, problem: String },
    /// It answered that something is wrong.
    #[error("{host} answers with status {status}")]
    Status { host: String, status: u16 },
    #[error(
        "{registry} leads to {to}, and nothing is fetched from there: a registry may lead only to encrypted servers on the internet, or in its own network"
    )]
    Unsafe {
        registry: String,
        /// Where it leads.
        to: String,
    },
    /// More than is read.
    #[error("{what} is larger than {}", size(*.most))]
    TooLarge {
        what: String,
        /// How many bytes are read at most.
        most: u64,
    },
    /// It is something else.
    #[error("{reference} is not {wanted}: {problem}")]
    Other {
        reference: String,
        /// What was looked for.
        wanted: &'static str,
        problem: String,
    },
    /// Something else came than what was named.
    #[error("what came is not {what}: its digest is {found}, and should be {expected}")]
    Digest {
        /// What should have come.
        what: String,
        /// Of what came.
        found: String,
        /// Of what should have come.
        expected: String,
    },
    /// Nobody answers, or no longer.
    #[error("{host} cannot be reached: {problem}")]
    Network {
        host: String,
        /// Why: the innermost cause, since those around it say nothing more.
        problem: String,
    },
    #[error("{host} said nothing for {seconds} s")]
    Silent {
        host: String,
        /// For how long.
        seconds: u64,
    },
}

impl From<FetchError> for CliError {
    fn from(error: FetchError) -> CliError {
        let hint = match &error {
            FetchError::Reference { .. } => {
                Some("such as ghcr.io/who/tool:1.0, or ghcr.io/who/tool@sha256:…".to_owned())
            }
            FetchError::NoTag { .. } => {
                Some("such as ghcr.io/who/tool:1.0, without a digest".to_owned())
            }
            FetchError::TagTaken { .. } => Some(
                "publish under another tag, or move this one with --replace: whoever has installed it will be told"
                    .to_owned(),
            ),
            FetchError::NeedsLogin { registry, .. } | FetchError::LoginRefused { registry, .. } => {
                Some(format!("docker login {registry} keeps a login"))
            }
            FetchError::NotFound { .. } => {
                Some("a file or a folder of that name is not there, either".to_owned())
            }
            _ => None,
        };
        let exit = match &error {
            FetchError::Reference { .. } | FetchError::NoTag { .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        CliError::new(exit, error).with_hint(hint)
    }
}
