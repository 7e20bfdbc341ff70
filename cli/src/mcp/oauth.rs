//! OAuth for servers at an address: the SDK does it, over the host's way out; here is the little that a person has to do.
//!
//! The user opens the printed address in a browser of theirs; the answer comes back to a port of this machine that
//! listens for as long as that takes. Tokens lie in the data folder.

mod browser;
mod client;
mod tokens;
mod wire;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_host::egress::{HeaderValue, Method, Request, header};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationSession};
use tokio::net::TcpListener;
use url::Url;

pub use self::client::OAuthClient;
use self::client::OwnTokens;
pub use self::tokens::TokenFile;
use self::wire::{Anywhere, OverEgress};
use super::http::Address;
use crate::settings::SettingsError;

/// How long a browser may take to say what it wants, once it has connected.
const CALLBACK_TIME: Duration = Duration::from_secs(5);

/// Connections that are heard at once.
const MAX_CALLBACKS: usize = 64;

/// Why nobody can log in, or a login is of no use.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server, or whoever it refers to, does not want it.
    #[error("the server cannot be logged in to")]
    Auth(#[from] AuthError),
    /// This machine does not let it.
    #[error("cannot wait for the browser's answer")]
    Io(#[from] io::Error),
    /// The client's secret is not there.
    #[error("the secret of its client cannot be read")]
    Secret(#[from] SettingsError),
    /// Where the user would be sent is no place for that.
    #[error("the server wants you to log in at an address that is not https")]
    Page,
    /// A client without a secret cannot log in by itself.
    #[error("a client logs in by itself with a secret: set client_secret")]
    NoSecret,
    /// Nobody has to.
    #[error("its client logs in by itself whenever that is needed")]
    LogsInByItself,
}

/// A manager that knows nothing yet.
async fn blank(address: &Address) -> Result<AuthorizationManager, AuthError> {
    let client = OverEgress::new(address.egress.clone(), address.url.clone());
    AuthorizationManager::new_with_oauth_http_client(address.url.as_str(), Arc::new(client)).await
}

/// What knows the tokens of a server, and renews them. Asks the network only where there are some, or where the client
/// logs in by itself.
pub(super) async fn manager(address: &Address) -> Result<AuthorizationManager, LoginError> {
    let mut manager = blank(address).await?;
    if let Some(client) = address.client.as_ref().filter(|client| client.is_alone) {
        let secret = client.secret().await?.ok_or(LoginError::NoSecret)?;
        let challenge = challenge(address).await;
        let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref());
        let metadata = resolved.await?.metadata;
        manager.set_metadata(metadata.clone());
        let scopes = manager.select_initial_scopes(&[]).await;
        let own = blank(address).await?;
        let own = OwnTokens::new(own, metadata, &client.id, &secret, scopes, &address.url)?;
        manager.set_credential_store(own);
        client::renew_as(&mut manager, &client.id, Some(&secret), &address.url)?;
        return Ok(manager);
    }
    let kept = address.tokens.read()?;
    let Some(kept) = kept.filter(|kept| kept.credentials.token_response.is_some()) else {
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
    let mut gate = Anywhere {
        server: &address.url,
    };
    // Without one there are places where such things stand as a rule.
    let answer = address.egress.send(request, &mut gate).await.ok()?;
    let challenge = answer.headers.get(header::WWW_AUTHENTICATE)?;
    Some(challenge.to_str().ok()?.to_owned())
}

/// Logs in, for certain rights or for what the server proposes. `show` gets the address that the user has to open;
/// everything else happens by itself. Waits until the browser brings the answer: dropping the future gives up.
pub async fn login(
    address: &Address,
    scope: Option<&str>,
    show: impl FnOnce(&str),
) -> Result<(), LoginError> {
    let client = address.client.as_ref();
    if client.is_some_and(|client| client.is_alone) {
        return Err(LoginError::LogsInByItself);
    }
    let secret = match client {
        Some(client) => client.secret().await?,
        None => None,
    };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    address.tokens.remove()?;
    let mut manager = blank(address).await?;
    let challenge = challenge(address).await;
    let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref());
    let metadata = resolved.await?.metadata;
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
    let page: Option<Url> = session.get_authorization_url().parse().ok();
    let server = &address.url;
    let page = page.filter(|page| Anywhere { server }.lets(page));
    let page = page.ok_or(LoginError::Page)?;
    show(page.as_str());
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
        let Some(answer) =
            answer.filter(|answer| browser::state_of(answer) == browser::state_of(page.as_str()))
        else {
            continue;
        };
        session
            .handle_callback_url(&format!("http://127.0.0.1:{port}{answer}"))
            .await?;
        return Ok(());
    }
}
