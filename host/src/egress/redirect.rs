//! Where a redirect leads, and what goes along.

use bytes::Bytes;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use url::Url;

use super::error::RedirectError;
use super::{Hop, Place, headers, named_place, read_url, shown_url};

/// The next hop.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) url: Url,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) from: Option<Url>,
}

impl Next {
    /// As the gate sees it.
    pub(super) fn hop(&self) -> Hop<'_> {
        Hop {
            method: &self.method,
            url: &self.url,
            from: self.from.as_ref(),
            headers: &self.headers,
            body: &self.body,
        }
    }

    /// Goes on to where a redirect leads, as browsers do.
    pub(super) fn follow(&mut self, status: StatusCode, url: Url) {
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = Bytes::new();
            self.headers.remove(header::CONTENT_TYPE);
        }
        if url.origin() != self.url.origin() {
            self.headers = headers::for_another_host(&self.headers);
        }
        self.from = Some(std::mem::replace(&mut self.url, url));
    }
}

/// Where an answer wants to lead, if it does.
pub(super) fn location(response: &reqwest::Response) -> Option<HeaderValue> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(header::LOCATION);
    location.filter(|_| is_redirect).cloned()
}

/// What a redirect comes to.
pub(super) fn redirected(from: &Url, location: &HeaderValue) -> Result<Url, RedirectError> {
    // Some servers send UTF-8 where only ASCII is allowed, and all clients take it.
    let text = std::str::from_utf8(location.as_bytes()).map_err(|_| RedirectError::NotText)?;
    let joined = from.join(text).map_err(RedirectError::NotUrl)?;
    let url = read_url(joined.as_str()).map_err(|error| RedirectError::Url(Box::new(error)))?;
    if from.scheme() == "https"
        && url.scheme() == "http"
        && named_place(&url) != Some(Place::ThisMachine)
    {
        return Err(RedirectError::Downgrade(shown_url(&url)));
    }
    Ok(url)
}
