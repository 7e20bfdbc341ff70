//! Where a server is that is reached over HTTP.

use dunlin_host::egress::{Egress, HeaderName, HeaderValue};
use url::Url;

use super::oauth::{OAuthClient, TokenFile};
use super::sent::Sent;
use crate::settings::KeyPlace;

/// Where a server is, and what it wants to see.
#[derive(Debug, Clone)]
pub struct Address {
    /// Its name in the configuration.
    pub name: String,
    pub url: Url,
    /// Headers of the user's.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Where the bearer token is found.
    pub key: Option<KeyPlace>,
    /// As whom Dunlin logs in; `None`: it registers.
    pub client: Option<OAuthClient>,
    /// The tokens of a login, used where there is neither a key nor an `Authorization` header.
    pub tokens: TokenFile,
    /// The way out.
    pub egress: Egress,
    /// What must not be repeated of what is sent there.
    pub sent: Sent,
}
