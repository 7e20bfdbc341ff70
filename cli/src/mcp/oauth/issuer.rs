//! With whom Dunlin logs in: the login server (the issuer) that a server names has to be the right one.
//!
//! A server says itself where to log in to it. One that turns bad could name a login server of its own, and get the
//! client's secret, or the code of an honest login server. So a secret goes only to the issuer that the configuration
//! names, and a login without a secret only to the issuer that the first login was with.

use dunlin_host::display::{escape, shorten};
use rmcp::transport::auth::AuthorizationMetadata;
use url::Url;

use super::super::address::Address;
use super::{LoginError, MAX_SHOWN_CHARS};

/// Checks the login server that a server names, before anything is sent there.
pub(super) fn check(address: &Address, metadata: &AuthorizationMetadata) -> Result<(), LoginError> {
    let found = of(metadata);
    let server = address.name.clone();
    if let Some(expected) = configured(address) {
        return match found == expected {
            true => Ok(()),
            false => Err(LoginError::OtherIssuer {
                server,
                expected: shown(&expected),
                found: shown(&found),
            }),
        };
    }
    match address.tokens.read()?.map(|kept| of(&kept.metadata)) {
        Some(before) if before != found => Err(LoginError::IssuerChanged {
            server,
            before: shown(&before),
            found: shown(&found),
        }),
        _ => Ok(()),
    }
}

/// Whether this is the login server that the configuration names, if it names one.
pub(super) fn is_configured(address: &Address, metadata: &AuthorizationMetadata) -> bool {
    configured(address).is_none_or(|expected| expected == of(metadata))
}

/// Host and port of an address of the server's, fit to be shown.
pub(super) fn host_of(address: &str) -> String {
    let url: Option<Url> = address.parse().ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("nowhere");
    let port = url.as_ref().and_then(Url::port);
    let host = shown(host);
    port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

fn configured(address: &Address) -> Option<String> {
    let issuer = address.client.as_ref()?.issuer.as_ref()?;
    Some(plain(issuer))
}

/// What a login server calls itself. The oldest ones say nothing; these are where they give out tokens.
fn of(metadata: &AuthorizationMetadata) -> String {
    let said = metadata.issuer.as_deref();
    match said.unwrap_or(&metadata.token_endpoint).parse::<Url>() {
        Ok(url) if said.is_some() => plain(&url),
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => said.unwrap_or_default().to_owned(),
    }
}

/// With or without a slash at its end it is the same one.
fn plain(url: &Url) -> String {
    url.as_str().trim_end_matches('/').to_owned()
}

fn shown(text: &str) -> String {
    escape(&shorten(text, MAX_SHOWN_CHARS)).into_owned()
}
