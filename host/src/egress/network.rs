//! The network as egress sees it: names become addresses. A trait, so that tests can play name servers, and servers.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::Method;
use url::Url;

use super::attached;
use super::error::EgressError;
use super::{Place, place_of};

/// A request that [`Network::play`] may answer.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    /// What is done.
    pub method: &'a Method,
    /// Where.
    pub url: &'a Url,
    /// The body; empty where there is none.
    pub body: &'a Bytes,
}

/// Looks names up.
#[async_trait]
pub trait Network: fmt::Debug + Send + Sync {
    /// The addresses of a name, in the order in which they should be tried; none: there is no such name.
    ///
    /// # Errors
    /// The name server cannot be asked, or does not know.
    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, EgressError>;

    /// Where an address leads. What is on the internet by its number may be an address of this machine's own.
    fn place_of(&self, ip: IpAddr) -> Place {
        place_of(ip)
    }

    /// Where an address that was checked is really reached. Itself, but in a test whose public servers run on this
    /// machine.
    fn reached_at(&self, address: SocketAddr) -> SocketAddr {
        address
    }

    /// What is answered in place of a server, once the request was allowed: nothing leaves the machine then. `None`: the
    /// request is made.
    fn play(&self, _request: &Played<'_>) -> Option<Result<http::Response<Bytes>, EgressError>> {
        None
    }
}

/// The resolver of the system, with its hosts file.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemNetwork;

#[async_trait]
impl Network for SystemNetwork {
    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, EgressError> {
        match tokio::net::lookup_host((name, 0)).await {
            Ok(found) => Ok(found.map(|address| address.ip()).collect()),
            // Without a network every name is unknown.
            Err(error) if is_unknown_name(&error) && attached::has_network() => Ok(Vec::new()),
            Err(error) if is_unknown_name(&error) => Err(EgressError::Lookup {
                host: name.to_owned(),
                problem: "this machine has no network connection".to_owned(),
            }),
            Err(error) => Err(EgressError::Lookup {
                host: name.to_owned(),
                problem: problem(&error),
            }),
        }
    }

    fn place_of(&self, ip: IpAddr) -> Place {
        match place_of(ip) {
            Place::Public => attached::place_of_public(ip),
            place => place,
        }
    }
}

/// The system's resolver has its own numbers for its errors, and the standard library keeps their words only.
fn is_unknown_name(error: &io::Error) -> bool {
    let text = error.to_string();
    [
        "not known",
        "No address associated",
        "nodename nor servname",
    ]
    .iter()
    .any(|words| text.contains(words))
}

fn problem(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit(": ").next().unwrap_or(&text);
    crate::display::escape(text).to_lowercase()
}
