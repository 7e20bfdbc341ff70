//! OAuth for servers at an address: the SDK does it, over the host's way out; here is the little that a person has to do.
//!
//! The user opens the printed address in a browser of theirs; the answer comes back to a port of this machine that
//! listens for as long as that takes. Tokens lie in the data folder.

mod browser;
mod client;
mod issuer;
mod tokens;
mod wire;

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_host::display::{escape, own_command, shorten};
use dunlin_host::egress::{EgressError, HeaderValue, Method, Request, header, read_url};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationSession};
use tokio::net::TcpListener;
use url::Url;

pub use self::client::OAuthClient;
use self::client::OwnTokens;
pub use self::tokens::TokenFile;
use self::wire::{Anywhere, OverEgress};
use super::address::Address;
use super::same_origin::SameOrigin;
use crate::settings::SettingsError;

/// How long a browser may take to say what it wants, once it has connected.
const CALLBACK_TIME: Duration = Duration::from_secs(5);

/// Connections that are heard at once.
const MAX_CALLBACKS: usize = 64;

/// Characters of a name or an address of the server's that a message repeats.
const MAX_SHOWN_CHARS: usize = 200;

/// Why nobody can log in, or a login is of no use.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server, or whoever it refers to, does not want it.
    #[error("the server cannot be logged in to")]
    Auth(#[from] AuthError),
    /// This machine does not let it.
    #[error("cannot wait for the browser's answer")]
    Io(#[from] io::Error),
    #[error("the secret of its client cannot be read")]
    Secret(#[from] SettingsError),
    /// Where the user would be sent is not a place for that.
    #[error("the server wants you to log in at an address {0}")]
    Page(String),
    /// Where the user would be sent is not an address.
    #[error("the server wants you to log in at an address that Dunlin does not open")]
    Address(#[from] EgressError),
    #[error(
        "the server names {found} as its login server, but issuer in [mcp.servers.{server}] is {expected}; \
         nothing was sent there. If the server is right, change issuer"
    )]
    OtherIssuer {
        /// The name of the server.
        server: String,
        expected: String,
        found: String,
    },
    /// The last login was with another login server.
    #[error(
        "the server names {found} as its login server, but you logged in with {before}; nothing was sent there. \
         To accept the change, run {}, then {}",
         own_command(&["mcp", "logout", server]), own_command(&["mcp", "login", server])
    )]
    IssuerChanged {
        /// The name of the server.
        server: String,
        /// Where the last login was.
        before: String,
        found: String,
    },
    #[error("a client logs in by itself with a secret: set client_secret")]
    NoSecret,
    /// Nobody has to.
    #[error("its client logs in by itself whenever that is needed")]
    LogsInByItself,
}

/// A manager that knows nothing yet.
async fn blank(address: &Address) -> Result<AuthorizationManager, AuthError> {
    let client = OverEgress::new(
        address.egress.clone(),
        address.url.clone(),
        address.sent.clone(),
    );
    AuthorizationManager::new_with_oauth_http_client(address.url.as_str(), Arc::new(client)).await
}

/// What knows the tokens of a server, and renews them. Asks the network only where there are some, or where the client
/// logs in by itself.
pub(super) async fn manager(address: &Address) -> Result<AuthorizationManager, LoginError> {
    let mut manager = blank(address).await?;
    if let Some(client) = address.client.as_ref().filter(|client| client.is_alone) {
        let challenge = challenge(address).await;
        let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref());
        let metadata = resolved.await?.metadata;
        issuer::check(address, &metadata)?;
        let secret = client.secret().await?.ok_or(LoginError::NoSecret)?;
        address.sent.note(secret.name(), secret.reveal());
        manager.set_metadata(metadata.clone());
        let scopes = manager.select_initial_scopes(&[]).await;
        let own = blank(address).await?;
        let own = OwnTokens::new(own, metadata, &client.id, &secret, scopes, &address.url)?;
        manager.set_credential_store(own);
        client::renew_as(&mut manager, &client.id, Some(&secret), &address.url)?;
        return Ok(manager);
    }
    let kept = address.tokens.read()?;
    let kept = kept.filter(|kept| kept.credentials.token_response.is_some());
    // A login with another login server than the configuration names by now is none.
    let Some(kept) = kept.filter(|kept| issuer::is_configured(address, &kept.metadata)) else {
        return Ok(manager);
    };
    // As what the server wants to be called. Where it says that it is logged in to by now is of no interest: the tokens
    // are renewed where they came from.
    let _ = manager.resolve_metadata().await;
    manager.set_metadata(kept.metadata.clone());
    manager.set_credential_store(address.tokens.store(kept.metadata));
    let secret = match &address.client {
        Some(client) => client.secret().await?,
        None => None,
    };
    if let Some(secret) = &secret {
        address.sent.note(secret.name(), secret.reveal());
    }
    client::renew_as(
        &mut manager,
        &kept.credentials.client_id,
        secret.as_ref(),
        &address.url,
    )?;
    Ok(manager)
}

/// What the server says to somebody whom it does not know: where to log in, and for what.
async fn challenge(address: &Address) -> Option<String> {
    let mut request = Request::new(Method::POST, address.url.clone());
    request.headers.extend(address.headers.iter().cloned());
    for (name, value) in [
        (header::ACCEPT, "application/json, text/event-stream"),
        (header::CONTENT_TYPE, "application/json"),
    ] {
        request
            .headers
            .insert(name, HeaderValue::from_static(value));
    }
    request.body = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    // Nobody has chosen yet to go where the server leads.
    let origin = address.url.origin();
    let mut gate = SameOrigin(&origin);
    // Without one there are places where such things stand as a rule.
    let answer = address.egress.send(request, &mut gate).await.ok()?;
    let challenge = answer.headers.get(header::WWW_AUTHENTICATE)?;
    Some(challenge.to_str().ok()?.to_owned())
}

/// Where the user has to go to log in, and who learns of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginPage {
    /// The address to open. It holds no user name, and no parameter twice.
    pub address: Url,
    /// Host and port at which the user logs in.
    pub host: String,
    /// Host and port that get the answer, and with it the tokens.
    pub answer_to: String,
}

/// Logs in, for certain rights or for what the server proposes. `show` gets what the user has to open; everything else
/// happens by itself. Waits until the browser brings the answer: dropping the future gives up.
pub async fn login(
    address: &Address,
    scope: Option<&str>,
    show: impl FnOnce(&LoginPage),
) -> Result<(), LoginError> {
    let client = address.client.as_ref();
    if client.is_some_and(|client| client.is_alone) {
        return Err(LoginError::LogsInByItself);
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let mut manager = blank(address).await?;
    let challenge = challenge(address).await;
    let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref());
    let metadata = resolved.await?.metadata;
    issuer::check(address, &metadata)?;
    address.tokens.forget_tokens()?;
    let secret = match client {
        Some(client) => client.secret().await?,
        None => None,
    };
    let answer_to = issuer::host_of(&metadata.token_endpoint);
    manager.set_credential_store(address.tokens.store(metadata.clone()));
    manager.set_metadata(metadata);
    let redirect = format!("http://127.0.0.1:{port}/callback");
    let mut request = client::request(client, secret.as_ref(), redirect);
    if let Some(scope) = scope {
        request = request.with_scopes(scope.split_whitespace());
    }
    let session = AuthorizationSession::new(manager, request)
        .await
        .map_err(|(_, error)| error)?;
    let page = login_page(address, session.get_authorization_url(), answer_to)?;
    let state = browser::state_of(page.address.as_str());
    show(&page);
    // Browsers ask for icons and hold connections open in advance, and any program of this machine may connect: each is
    // heard by itself, so none keeps the others waiting.
    let mut connected = FuturesUnordered::new();
    loop {
        let answer = tokio::select! {
            accepted = listener.accept(), if connected.len() < MAX_CALLBACKS => {
                let (stream, _) = accepted?;
                let heard = async move { browser::callback(&stream).await };
                connected.push(tokio::time::timeout(CALLBACK_TIME, heard));
                continue;
            }
            Some(heard) = connected.next() => heard.ok().flatten(),
        };
        // An answer to something else is somebody else's.
        let Some(answer) = answer.filter(|answer| browser::state_of(answer) == state) else {
            continue;
        };
        session
            .handle_callback_url(&format!("http://127.0.0.1:{port}{answer}"))
            .await?;
        return Ok(());
    }
}

/// Checks where the user is to be sent.
fn login_page(address: &Address, page: &str, answer_to: String) -> Result<LoginPage, LoginError> {
    // Refuses a user name, which looks like the name of a host.
    let page = read_url(page)?;
    let server = &address.url;
    if !(Anywhere { server }.lets(&page)) {
        return Err(LoginError::Page("that is not https".to_owned()));
    }
    // The server chooses the address, Dunlin adds its parameters. Of one that is there twice the login server may take the
    // server's, and send the answer elsewhere. No parameter may be repeated in any case (RFC 6749).
    let mut names = HashSet::new();
    for (name, _) in page.query_pairs() {
        if !names.insert(name.clone()) {
            let name = escape(&shorten(&name, MAX_SHOWN_CHARS)).into_owned();
            return Err(LoginError::Page(format!("that already has {name:?}")));
        }
    }
    Ok(LoginPage {
        host: issuer::host_of(page.as_str()),
        address: page,
        answer_to,
    })
}
