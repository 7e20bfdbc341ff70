//! What leaves, within which limits, and what comes back.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use url::Url;

use super::body::Body;
use super::sites::SiteHeaders;

/// How many redirects are followed; what browsers and curl stop at is more, and no site needs as many.
pub const MAX_REDIRECTS: usize = 10;

/// How long connecting may take, encryption included. Three attempts of TCP take 7 s; a server that needs longer
/// is not there.
pub const CONNECT_TIME: Duration = Duration::from_secs(10);

/// What leaves.
#[derive(Debug, Clone)]
pub struct Request {
    /// Any method; redirects may turn it into `GET`.
    pub method: Method,
    /// Where to; `http` or `https`. See [`read_url`](super::read_url).
    pub url: Url,
    /// What is said beside the body. Framing, `Host` and compression are the host's own and refused here. Of the
    /// rest only what says nothing about who asks goes along to another host.
    pub headers: HeaderMap,
    /// Empty: there is none.
    pub body: Bytes,
    /// The user's own headers for certain sites.
    pub sites: Option<Arc<SiteHeaders>>,
    /// How long things may take, and how much may come.
    pub limits: RequestLimits,
}

impl Request {
    /// A request without headers and body, within the standard limits.
    pub fn new(method: Method, url: Url) -> Request {
        Request {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            sites: None,
            limits: RequestLimits::standard(),
        }
    }
}

/// How long an exchange may take, and how much may come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// All waiting for the network together, to the last byte of the answer. `None`: no limit, for streams that
    /// stay open.
    pub whole: Option<Duration>,
    /// For a connection, at each hop.
    pub connect: Duration,
    /// Without a byte: for the head of the answer, and between two pieces of it. `None`: no limit.
    pub idle: Option<Duration>,
    /// Bytes of the answer's body, decompressed.
    pub body_bytes: u64,
    /// How many redirects are followed; with 0 a redirect is an answer like any other.
    pub redirects: usize,
}

impl RequestLimits {
    /// For a page that somebody waits for.
    pub const fn standard() -> RequestLimits {
        RequestLimits {
            whole: Some(crate::limits::WEB_TIME),
            connect: CONNECT_TIME,
            idle: None,
            body_bytes: crate::limits::MAX_WEB_RESPONSE_BYTES,
            redirects: MAX_REDIRECTS,
        }
    }
}

/// What comes back.
#[derive(Debug)]
pub struct Response {
    /// Any status; a 404 is an answer.
    pub status: StatusCode,
    /// Who answered, after all redirects.
    pub url: Url,
    /// As sent, without what belonged to the compression that is undone already.
    pub headers: HeaderMap,
    /// What is still to come.
    pub body: Body,
}
