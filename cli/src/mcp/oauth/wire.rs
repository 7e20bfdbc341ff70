//! The SDK's requests in the course of a login, over the host's one way out.

use std::net::IpAddr;

use async_trait::async_trait;
use bytes::Bytes;
use dunlin_host::egress::{Egress, Gate, Hop, Method, Place, Request, RequestLimits};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy,
    OAuthHttpRequest,
};
use url::Url;

use crate::config::mcp::is_this_machine;

/// Bytes of an answer in the course of a login: documents of a few kilobytes.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// How many redirects a look-up of a document follows.
const MAX_REDIRECTS: usize = 5;

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
    pub(super) egress: Egress,
    /// Whether the server is on this machine: then what it refers to may be, too.
    pub(super) is_near: bool,
}

/// What a login may reach: anything that is encrypted, and this machine where the server itself is on it.
pub(super) struct Anywhere {
    pub(super) is_near: bool,
}

#[async_trait]
impl Gate for Anywhere {
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool {
        let is_here = is_this_machine(hop.url);
        (hop.url.scheme() == "https" && !is_here) || (self.is_near && is_here)
    }

    async fn may_reach(&mut self, _hop: &Hop<'_>, _address: IpAddr, _place: Place) -> bool {
        self.is_near
    }
}

impl OAuthHttpClient for OverEgress {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let (parts, body) = request.request.into_parts();
            let url: Url = parts.uri.to_string().parse()?;
            if parts.method == Method::GET && !is_known_document(url.path()) {
                return Err(format!("{url} is no place for what a login needs to know").into());
            }
            let mut wanted = Request::new(parts.method, url);
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
                is_near: self.is_near,
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
    use super::*;

    #[tokio::test]
    async fn a_login_reaches_what_it_may() {
        let may = async |is_near: bool, url: &str| {
            let url: Url = url.parse().unwrap();
            let hop = Hop {
                method: &Method::GET,
                url: &url,
                from: None,
            };
            Anywhere { is_near }.may_use(&hop).await
        };
        assert!(may(false, "https://login.example.com/").await);
        assert!(!may(false, "http://login.example.com/").await);
        assert!(!may(false, "https://127.0.0.1/").await);
        assert!(!may(false, "http://localhost:8080/").await);
        assert!(may(true, "http://localhost:8080/").await);
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
