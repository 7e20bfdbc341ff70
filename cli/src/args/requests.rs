//! What may be typed after `dunlin requests`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueHint};

/// What can be done with requests.
#[derive(Debug, Subcommand)]
pub enum RequestsCommand {
    /// List the requests of a session, oldest first
    List {
        /// The session: the beginning of its id, or its title [default: the latest of the project]
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
        /// Maximum number to list, the newest; 0 for all
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
        lines: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a request: what it was, its exact bytes, what was edited, or the curl command that sends it
    Show(RequestsShowArgs),
    /// Write all requests of a session with their exact bodies: as JSON lines, or with --har as an HTTP Archive
    Export {
        /// The session: the beginning of its id, or its title [default: the latest of the project]
        #[arg(long, value_name = "SESSION")]
        session: Option<String>,
        /// Write an HTTP Archive (HAR 1.2), as browsers and proxies read it
        #[arg(long)]
        har: bool,
        /// Write to this file [default: standard output]
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
        /// Replace an existing file
        #[arg(long, requires = "output")]
        force: bool,
    },
    /// Send a request again and compare the answers; no tool runs. --agent composes it for another agent
    Replay {
        /// The request
        #[command(flatten)]
        request: RequestArgs,
        /// Edit the request in $VISUAL or $EDITOR before it is sent
        #[arg(long)]
        edited: bool,
    },
    /// Start a session whose history is what a request sent, and print its id
    Fork {
        /// The request
        #[command(flatten)]
        request: RequestArgs,
    },
}

/// Which request.
#[derive(Debug, Args)]
pub struct RequestArgs {
    /// The number of the request, as `requests list` prints it, or SESSION/NUMBER
    #[arg(value_name = "ID")]
    pub id: RequestId,
    /// The session: the beginning of its id, or its title [default: the latest of the project]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
}

/// Arguments of `requests show`.
#[derive(Debug, Args)]
pub struct RequestsShowArgs {
    /// The request
    #[command(flatten)]
    pub request: RequestArgs,
    /// Print the body as composed, before any edit
    #[arg(long, group = "part")]
    pub original: bool,
    /// Print the body as sent
    #[arg(long, group = "part")]
    pub sent: bool,
    /// Print what was edited, word by word
    #[arg(long, group = "part")]
    pub diff: bool,
    /// Print a curl command that sends the request, with the key as a variable
    #[arg(long, group = "part")]
    pub curl: bool,
    /// Print JSON
    #[arg(long, group = "part")]
    pub json: bool,
}

/// A request as it is typed: `3`, or `k7mq2x9d/3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    /// The session, where it is named.
    pub session: Option<String>,
    /// The number.
    pub number: u64,
}

/// A text that is not the id of a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a number such as 3, or SESSION/NUMBER such as k7mq2x9d/3")]
pub struct InvalidRequestId;

impl FromStr for RequestId {
    type Err = InvalidRequestId;

    fn from_str(text: &str) -> Result<RequestId, InvalidRequestId> {
        let (session, number) = match text.rsplit_once('/') {
            Some(("", _)) => return Err(InvalidRequestId),
            Some((session, number)) => (Some(session.to_owned()), number),
            None => (None, text),
        };
        let number = number.parse().map_err(|_| InvalidRequestId)?;
        Ok(RequestId { session, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_number_with_or_without_its_session() {
        let check = |text: &str, expected: Option<(Option<&str>, u64)>| {
            let expected = expected.map(|(session, number)| RequestId {
                session: session.map(str::to_owned),
                number,
            });
            assert_eq!(text.parse().ok(), expected, "{text}");
        };
        check("3", Some((None, 3)));
        check("k7mq/12", Some((Some("k7mq"), 12)));
        check("a/b/12", Some((Some("a/b"), 12)));
        check("/3", None);
        check("k7mq", None);
        check("k7mq/", None);
        check("-1", None);
        check("", None);
    }
}
