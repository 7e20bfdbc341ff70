//! The SDK's requests in the course of a login, over the host's one way out.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use dunlin_host::egress::header::AUTHORIZATION;
use dunlin_host::egress::{Egress, Gate, Hop, Method, Place, Request, RequestLimits, named_place};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy,
    OAuthHttpRequest,
};
use url::Url;

use crate::mcp::sent::Sent;

/// Bytes of an answer in the course of a login: documents of a few kilobytes.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// How many redirects a look-up of a document follows.
const MAX_REDIRECTS: usize = 5;

/// How many documents are looked up for one connection or login. A server may name thousands of others in whose
/// documents the SDK would look one after the other; a real login takes about five.
const MAX_LOOKUPS: usize = 64;

/// The documents that a login looks up, below `/.well-known/`. The issuer of one follows from its place, which is what
/// keeps a server from passing itself off as somebody else's.
const DOCUMENTS: [&str; 3] = [
    "oauth-protected-resource",
    "oauth-authorization-server",
    "openid-configuration",
];

/// Whether the place of a document says whose it is, or claims nothing of the kind.
fn is_known_document(path: &str) -> bool {
    let Some((before, behind)) = path.split_once("/.well-known/") else {
        return true;
    };
    let is = |name: &str| {
        let rest = behind.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let has_no_other = !behind.contains("/.well-known/");
    match before.is_empty() {
        true => has_no_other && DOCUMENTS.iter().any(|name| is(name)),
        // Some put it behind the path of the issuer.
        false => DOCUMENTS.contains(&behind),
    }
}

/// The SDK's requests, over the host's way out.
#[derive(Debug)]
pub struct OverEgress {
    egress: Egress,
    /// The server that is logged in to.
    server: Url,
    sent: Sent,
    /// How many documents were looked up.
    lookups: AtomicUsize,
}

impl OverEgress {
    /// For a login to this server.
    pub(super) fn new(egress: Egress, server: Url, sent: Sent) -> OverEgress {
        OverEgress {
            egress,
            server,
            sent,
            lookups: AtomicUsize::new(0),
        }
    }
}

/// What a login may reach: the server itself, whatever of the internet is encrypted, and this machine where the server
/// is on it. The server says where to, so it must not lead anywhere else.
pub(super) struct Anywhere<'a> {
    pub(super) server: &'a Url,
}

impl Anywhere<'_> {
    fn is_server(&self, url: &Url) -> bool {
        url.origin() == self.server.origin()
    }

    fn is_near(&self) -> bool {
        named_place(self.server) == Some(Place::ThisMachine)
    }

    /// Whether an address may be used, or shown to the user to be opened.
    pub(super) fn lets(&self, url: &Url) -> bool {
        let is_safe = url.scheme() == "https";
        match named_place(url) {
            Some(Place::ThisMachine) => self.is_near() && matches!(url.scheme(), "http" | "https"),
            _ if self.is_server(url) => is_safe,
            None | Some(Place::Public) => is_safe,
            Some(Place::PrivateNetwork | Place::Never(_)) => false,
        }
    }
}

#[async_trait]
impl Gate for Anywhere<'_> {
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool {
        self.lets(hop.url)
    }

    async fn may_reach(&mut self, hop: &Hop<'_>, _address: IpAddr, place: Place) -> bool {
        self.is_server(hop.url) || (self.is_near() && place == Place::ThisMachine)
    }
}

impl OAuthHttpClient for OverEgress {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let (parts, body) = request.request.into_parts();
            let url: Url = parts.uri.to_string().parse()?;
            if parts.method == Method::GET && !is_known_document(url.path()) {
                return Err(format!("{url} is not an allowed address for login metadata").into());
            }
            let is_lookup = parts.method == Method::GET;
            if is_lookup && self.lookups.fetch_add(1, Ordering::Relaxed) >= MAX_LOOKUPS {
                let problem = format!("the server names more than {MAX_LOOKUPS} places to look at");
                return Err(problem.into());
            }
            let mut wanted = Request::new(parts.method, url);
            if let Some(value) = parts.headers.get(AUTHORIZATION) {
                self.sent.note_header("authorization", value);
            }
            self.sent.note_form(&body);
            wanted.headers = parts.headers;
            // The way out sets its own.
            for own in ["host", "content-length", "accept-encoding", "connection"] {
                wanted.headers.remove(own);
            }
            wanted.body = Bytes::from(body);
            wanted.limits = RequestLimits {
                body_bytes: MAX_ANSWER_BYTES,
                redirects: match request.redirect_policy {
                    OAuthHttpRedirectPolicy::Follow => MAX_REDIRECTS,
                    _ => 0,
                },
                ..RequestLimits::standard()
            };
            let mut gate = Anywhere {
                server: &self.server,
            };
            let answer = self.egress.send(wanted, &mut gate).await?;
            let mut response = http::Response::new(Vec::new());
            *response.status_mut() = answer.status;
            *response.headers_mut() = answer.headers;
            *response.body_mut() = answer.body.all().await?;
            Ok::<_, OAuthHttpClientError>(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use dunlin_host::egress::HeaderMap;

    use super::*;

    #[tokio::test]
    async fn a_login_reaches_what_it_may() {
        let is_permitted = async |server: &str, url: &str| {
            let (server, url): (Url, Url) = (server.parse().unwrap(), url.parse().unwrap());
            let hop = Hop {
                method: &Method::GET,
                url: &url,
                from: None,
                headers: &HeaderMap::new(),
                body: &Bytes::new(),
            };
            Anywhere { server: &server }.may_use(&hop).await
        };
        let far = "https://mcp.example.com/mcp";
        let home = "https://192.168.1.5/mcp";
        for (server, url, lets) in [
            (far, "https://login.example.com/", true),
            (far, "https://93.184.216.34/", true),
            (far, "http://login.example.com/", false),
            (far, "https://127.0.0.1/", false),
            (far, "http://localhost:8080/", false),
            (far, "https://192.168.1.1/", false),
            (far, "https://10.0.0.5:8443/", false),
            (far, "https://[::ffff:127.0.0.1]/", false),
            (far, "https://169.254.169.254/", false),
            (far, "javascript:alert(1)", false),
            (far, "file:///etc/passwd", false),
            (home, "https://192.168.1.5/token", true),
            (home, "http://192.168.1.5/token", false),
            (home, "https://192.168.1.6/token", false),
            ("http://localhost:1/mcp", "http://localhost:8080/", true),
            ("http://localhost:1/mcp", "https://login.example.com/", true),
        ] {
            assert_eq!(is_permitted(server, url).await, lets, "{server} {url}");
        }
    }

    #[test]
    fn documents_stand_where_they_belong() {
        for (path, is_known) in [
            ("/.well-known/oauth-protected-resource", true),
            ("/.well-known/oauth-protected-resource/mcp", true),
            ("/.well-known/oauth-authorization-server/tenant/1", true),
            ("/.well-known/openid-configuration", true),
            ("/tenant/.well-known/openid-configuration", true),
            ("/tenant/.well-known/oauth-authorization-server", true),
            ("/custom/metadata.json", true),
            ("/x/.well-known/y", false),
            ("/.well-known/y", false),
            ("/.well-known/openid-configuration-of-mine", false),
            ("/x/.well-known/openid-configuration/y", false),
            ("/.well-known/openid-configuration/.well-known/y", false),
        ] {
            assert_eq!(is_known_document(path), is_known, "{path}");
        }
    }
}
