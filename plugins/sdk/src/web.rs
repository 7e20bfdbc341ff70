//! The web, each address checked by the host at the moment it is used.
//!
//! ```no_run
//! use dunlin_sdk::web::Request;
//!
//! # fn run() -> Result<(), dunlin_sdk::Error> {
//! let mut response = Request::get("https://example.com/").send()?;
//! while let Some(piece) = response.read()? {
//!     dunlin_sdk::log::debug(&format!("{} bytes", piece.len()));
//! }
//! # Ok(())
//! # }
//! ```

use crate::error::Error;
use crate::host::web as host;

/// How much is read at once, in bytes: as much as a host gives.
const PIECE_BYTES: u32 = 64 * 1024;

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Request {
    url: String,
    headers: Vec<(String, String)>,
    /// `None`: a `GET`.
    body: Option<Vec<u8>>,
}

impl Request {
    /// A `GET`, which needs reading the address: [`Plan::sends`](crate::Plan::sends).
    pub fn get(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            body: None,
        }
    }

    /// A `POST` of at most 1 MiB, which needs writing to the address: [`Plan::writes_url`](crate::Plan::writes_url).
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: Some(body.into()),
            ..Self::get(url)
        }
    }

    /// Adds a header: `accept`, `accept-language`, `content-type` or `user-agent`, each once.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Where to.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn is_get(&self) -> bool {
        self.body.is_none()
    }

    pub(crate) fn wire_headers(&self) -> Vec<host::Header> {
        let headers = self.headers.iter().cloned();
        headers
            .map(|(name, value)| host::Header { name, value })
            .collect()
    }

    /// Sends it, follows up to 10 redirects, and returns when the head of the answer is there.
    ///
    /// Fails with `Denied`, with `Invalid` for an address or a header that cannot be used, with `NotFound` when there
    /// is not a server of that name, with `TimedOut` after 30 s of waiting for the network, with `TooLarge` for a body
    /// above 1 MiB or at the 33rd request of a call, with `Failed` for all other trouble on the way.
    pub fn send(self) -> Result<Response, Error> {
        let method = match self.body {
            None => "GET",
            Some(_) => "POST",
        };
        let request = host::Request::new(method, &self.url);
        for header in &self.wire_headers() {
            request.add_header(header);
        }
        if let Some(body) = &self.body {
            request.set_body(body);
        }
        Ok(Response {
            handle: host::fetch(request)?,
        })
    }
}

/// An answer, whatever its status. Dropping it closes the connection.
#[derive(Debug)]
pub struct Response {
    handle: host::Response,
}

impl Response {
    /// The status of HTTP: 200, 404.
    pub fn status(&self) -> u16 {
        self.handle.status()
    }

    /// The address that answered, after all redirects.
    pub fn url(&self) -> String {
        self.handle.url()
    }

    /// The headers in the order in which they came, names in lower case, cookies left out.
    pub fn headers(&self) -> Vec<(String, String)> {
        let headers = self.handle.headers().into_iter();
        headers.map(|header| (header.name, header.value)).collect()
    }

    /// Waits for the next piece of the body, decompressed and never empty; `None`: that was all of it.
    ///
    /// Fails with `TimedOut` when the exchange as a whole takes more than 30 s of waiting for the network, with
    /// `TooLarge` behind 32 MiB, with `Failed` when the connection breaks off or the body is damaged.
    pub fn read(&mut self) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.handle.read(PIECE_BYTES)?)
    }
}
