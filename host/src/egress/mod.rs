//! The way out: everything that leaves this machine for a tool or an MCP server goes through [`Egress::send`],
//! or in two steps through [`Egress::admit`] and [`Egress::make`].
//!
//! A request goes in hops, one for the address it was made for and one for each redirect, and each hop passes the
//! same checks in the same order:
//!
//! 1. the address is one of the web, without credentials in it;
//! 2. the [`Gate`], whoever decides for this request, says that it may be used in this way;
//! 3. the name is looked up, once, and every address it comes to is placed ([`Place`]): a public one is used;
//!    one of this machine (also where its number is one of the internet) or of a private network only if the gate
//!    says so, unless the URL itself named it and the gate was asked about that already; some are never used at all;
//! 4. the connection is made to exactly the addresses that were placed, past any proxy and any second look-up.
//!
//! A host's own headers ([`SiteHeaders`]) are added behind all that, for the host they belong to. A redirect to
//! another host takes along nothing that says who asks, and none leads from `https` to `http`.
//!
//! Dropping a future or a [`Body`] closes its connection.

mod address;
mod admit;
mod attached;
mod body;
mod client;
mod error;
mod headers;
mod network;
mod redirect;
mod request;
mod sites;
mod steps;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
pub use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
pub use reqwest::{Method, StatusCode};
pub use url::Url;

pub use self::address::{Place, named_place, place_of};
pub use self::body::Body;
use self::body::Budget;
pub use self::client::Roots;
use self::client::Tls;
pub use self::error::{EgressError, RedirectError, Waiting};
pub use self::network::{Network, Played, SystemNetwork};
use self::redirect::{Next, location, redirected};
pub use self::request::{CONNECT_TIME, MAX_REDIRECTS, Request, RequestLimits, Response};
pub use self::sites::{SiteError, SiteHeaders};
pub use self::steps::Admitted;
use crate::display::shorten;

/// What is compression; servers write other words into that header, too, and mean nothing by them.
const COMPRESSIONS: [&str; 5] = ["gzip", "deflate", "br", "zstd", "compress"];

/// Characters of an address that a message repeats.
const MAX_SHOWN_CHARS: usize = 200;

/// One step of a request, as the gate sees it.
#[derive(Debug, Clone, Copy)]
pub struct Hop<'a> {
    /// What would be done: a redirect may have made it a `GET`.
    pub method: &'a Method,
    /// Where.
    pub url: &'a Url,
    /// Who redirected here; `None` at the first hop.
    pub from: Option<&'a Url>,
    /// What the sender says beside the body; the user's own headers are not among it.
    pub headers: &'a HeaderMap,
    /// What would be sent there; a redirect may have dropped it.
    pub body: &'a Bytes,
}

/// Decides for one request. Nothing is sent that it did not agree to; it may take its time.
#[async_trait]
pub trait Gate: Send {
    /// Whether this address may be used in this way. Asked at each hop, before anything is looked up.
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool;

    /// Whether a name may be followed to this machine or into a private network. Asked only where the URL itself
    /// does not say that it leads there, after [`Gate::may_use`]. Where the place is [`Place::Never`] the answer
    /// makes no difference: the gate is told, so that it can write it down.
    async fn may_reach(&mut self, _hop: &Hop<'_>, _address: IpAddr, _place: Place) -> bool {
        false
    }

    /// Told of a hop that is about to be made, behind everything else. Where it says no, nothing is sent.
    fn may_send(&mut self, _hop: &Hop<'_>) -> bool {
        true
    }
}

/// Sends requests. Clones are the same.
#[derive(Debug, Clone)]
pub struct Egress(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    user_agent: String,
    network: Arc<dyn Network>,
    tls: Tls,
}

/// What [`Egress`] works with.
#[derive(Debug, Clone)]
pub struct EgressOptions {
    /// What requests say of the program, unless their own headers say something else.
    pub user_agent: String,
    /// How names become addresses.
    pub network: Arc<dyn Network>,
    /// Who is trusted to issue certificates.
    pub roots: Roots,
}

impl EgressOptions {
    /// The network and the certificates of the system.
    pub fn system(user_agent: impl Into<String>) -> EgressOptions {
        EgressOptions {
            user_agent: user_agent.into(),
            network: Arc::new(SystemNetwork),
            roots: Roots::System,
        }
    }
}

/// Reads an address as people and tools write it: absolute, of the web, without credentials. The fragment, which is
/// never sent, and the dot behind a host's name are left out; an IPv4 address is written as one.
///
/// # Errors
/// It is something else; the error says what.
pub fn read_url(written: &str) -> Result<Url, EgressError> {
    let shown = || shorten(&crate::display::escape(written), MAX_SHOWN_CHARS).into_owned();
    // One place decides what an address is: what passes here has a target that can be asked about.
    let parsed = match Url::parse(written) {
        Ok(parsed) => parsed,
        Err(error) => {
            return Err(EgressError::Url(format!(
                "'{}' is not an address: {error}; write it whole, https://example.com/page",
                shown()
            )));
        }
    };
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(EgressError::Scheme(parsed.scheme().to_owned()));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(EgressError::Credentials);
    }
    if let Err(error) = crate::resolve::url(written) {
        return Err(EgressError::Url(crate::display::chain(&error)));
    }
    let mut url = parsed;
    url.set_fragment(None);
    if let Some(bare) = url.host_str().and_then(|host| host.strip_suffix('.')) {
        let bare = bare.to_owned();
        url.set_host(Some(&bare))
            .map_err(|error| EgressError::Url(format!("'{}': {error}", shown())))?;
    }
    crate::resolve::plain_ip(&mut url)
        .map_err(|()| EgressError::Url(format!("'{}' is not an address", shown())))?;
    Ok(url)
}

impl Egress {
    /// Touches nothing yet.
    pub fn new(options: EgressOptions) -> Egress {
        Egress(Arc::new(Inner {
            user_agent: options.user_agent,
            network: options.network,
            tls: Tls::new(options.roots),
        }))
    }

    /// Sends a request, follows its redirects, and returns when the head of the answer is there.
    ///
    /// Waits for the network and for the gate; only the network counts against the limits.
    ///
    /// # Errors
    /// Everything that keeps an answer from coming. Whatever a server answers is none.
    pub async fn send(
        &self,
        request: Request,
        gate: &mut dyn Gate,
    ) -> Result<Response, EgressError> {
        let limits = request.limits;
        let mut budget = Budget::new(limits.whole);
        let mut next = Next {
            url: read_url(request.url.as_str())?,
            method: request.method,
            headers: headers::checked(request.headers)?,
            body: request.body,
            from: None,
        };
        let mut redirects = 0;
        loop {
            let response = self
                .hop(&next, request.sites.as_deref(), limits, &mut budget, gate)
                .await?;
            let led_to = match location(&response) {
                Some(location) if limits.redirects > 0 => location,
                _ => return answer(next.url, response, limits, budget),
            };
            let host = host_of(&next.url);
            let url = redirected(&next.url, &led_to).map_err(|problem| {
                let from = host.clone();
                EgressError::BadRedirect { from, problem }
            })?;
            if redirects == limits.redirects {
                return Err(EgressError::TooManyRedirects {
                    most: limits.redirects,
                    last: shown_url(&url),
                });
            }
            next.follow(response.status(), url);
            redirects += 1;
        }
    }

    async fn hop(
        &self,
        next: &Next,
        sites: Option<&SiteHeaders>,
        limits: RequestLimits,
        budget: &mut Budget,
        gate: &mut dyn Gate,
    ) -> Result<reqwest::Response, EgressError> {
        let addresses = self.admitted(&next.hop(), limits, budget, gate).await?;
        self.exchange(next, addresses, sites, limits, budget).await
    }

    async fn exchange(
        &self,
        next: &Next,
        addresses: Vec<SocketAddr>,
        sites: Option<&SiteHeaders>,
        limits: RequestLimits,
        budget: &mut Budget,
    ) -> Result<reqwest::Response, EgressError> {
        let url = &next.url;
        let played = self.0.network.play(&Played {
            method: &next.method,
            url,
            body: &next.body,
        });
        if let Some(played) = played {
            return Ok(played?.map(reqwest::Body::from).into());
        }
        let host = host_of(url);
        let agent = &self.0.user_agent;
        let tls = &self.0.tls;
        let client = tls.client(url, addresses, agent, limits.connect).await?;
        let mut request = client
            .request(next.method.clone(), url.clone())
            .headers(next.headers.clone());
        if let Some(own) = sites.and_then(|sites| sites.of(url)) {
            request = request.headers(own.clone());
        }
        if !next.body.is_empty() || next.method == Method::POST {
            request = request.body(next.body.clone());
        }
        // Connecting has a limit of its own, which does not say when it was done.
        let idle = limits.idle.map(|idle| idle + limits.connect);
        let sent = budget.wait(idle, request.send()).await;
        let response = sent
            .map_err(|after| EgressError::TimedOut {
                host: host.clone(),
                waiting: Waiting::Answer,
                after,
            })?
            .map_err(|error| error::before_answer(&error, &host, limits.connect))?;
        Ok(response)
    }
}

fn answer(
    url: Url,
    response: reqwest::Response,
    limits: RequestLimits,
    budget: Budget,
) -> Result<Response, EgressError> {
    let host = host_of(&url);
    // What the client can undo it has undone, and taken the header away.
    if let Some(encoding) = response.headers().get(header::CONTENT_ENCODING)
        && let encoding = String::from_utf8_lossy(encoding.as_bytes()).to_lowercase()
        && COMPRESSIONS.iter().any(|known| encoding.contains(known))
    {
        let encoding = crate::display::escape(&shorten(&encoding, MAX_SHOWN_CHARS)).into_owned();
        return Err(EgressError::BadAnswer {
            host,
            problem: format!("it is compressed with {encoding}, which nobody asked for"),
        });
    }
    Ok(Response {
        status: response.status(),
        url,
        headers: response.headers().clone(),
        body: Body::new(response, host, limits.body_bytes, budget, limits.idle),
    })
}

/// Host and port as they stand in the address.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn shown_url(url: &Url) -> String {
    shorten(url.as_str(), MAX_SHOWN_CHARS).into_owned()
}

#[cfg(test)]
mod tests;
