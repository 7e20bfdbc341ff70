//! OAuth for servers at an address: the SDK does it, over the host's way out; here are the tokens' file and the
//! little that a person has to do.
//!
//! The user opens the printed address in a browser of theirs; the answer comes back to a port of this machine that
//! listens for as long as that takes. Tokens lie in the data folder, one file for each server, 0600.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use dunlin_host::egress::{
    Egress, Gate, HeaderValue, Hop, Method, Place, Request, RequestLimits, header,
};
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationRequest, AuthorizationSession, CredentialStore,
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRedirectPolicy,
    OAuthHttpRequest, StoredCredentials,
};
use tokio::net::{TcpListener, TcpStream};
use url::Url;

use super::http::Address;
use crate::config::mcp::is_this_machine;
use crate::config::paths::make_private;

/// As what Dunlin registers with a server that has not heard of it.
const CLIENT_NAME: &str = "Dunlin";

/// Bytes of an answer in the course of a login: documents of a few kilobytes.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// How many redirects a look-up of a document follows.
const MAX_REDIRECTS: usize = 5;

/// Bytes of the request line in which a browser brings the answer.
const MAX_CALLBACK_BYTES: usize = 16 * 1024;

/// What a browser shows at the end.
const FAREWELL: &str = "You can close this page and go back to Dunlin.";

/// The SDK's requests, over the host's way out.
#[derive(Debug)]
pub struct OverEgress {
    egress: Egress,
    /// Whether the server is on this machine: then what it refers to may be, too.
    is_near: bool,
}

/// What a login may reach: anything that is encrypted, and this machine where the server itself is on it.
struct Anywhere {
    is_near: bool,
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

/// The tokens of one server.
#[derive(Debug, Clone)]
pub struct TokenFile(PathBuf);

impl TokenFile {
    /// The file of a server, in Dunlin's data folder.
    pub fn new(data: &Path, server: &str) -> TokenFile {
        TokenFile(data.join("mcp").join(format!("{server}.json")))
    }

    /// Whether there are any.
    pub fn exists(&self) -> bool {
        self.0.exists()
    }

    /// Forgets them. Whether there were any.
    pub fn remove(&self) -> io::Result<bool> {
        match std::fs::remove_file(&self.0) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read(&self) -> io::Result<Option<StoredCredentials>> {
        match std::fs::read(&self.0) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn write(&self, credentials: &StoredCredentials) -> io::Result<()> {
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        make_private(folder)?;
        // `tempfile` creates with 0600.
        let mut file = tempfile::Builder::new()
            .prefix(".token.")
            .tempfile_in(folder)?;
        serde_json::to_writer(&mut file, credentials)?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(&self.0).map_err(|error| error.error)?;
        Ok(())
    }
}

fn store_failed(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

#[async_trait]
impl CredentialStore for TokenFile {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        self.read().map_err(store_failed)
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.write(&credentials).map_err(store_failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.remove().map(drop).map_err(store_failed)
    }
}

/// What knows the tokens of a server, and renews them. Asks the network only where there are some.
pub async fn manager(address: &Address) -> Result<AuthorizationManager, AuthError> {
    let client = OverEgress {
        egress: address.egress.clone(),
        is_near: is_this_machine(&address.url),
    };
    let mut manager =
        AuthorizationManager::new_with_oauth_http_client(address.url.as_str(), Arc::new(client))
            .await?;
    manager.set_credential_store(address.tokens.clone());
    if address.tokens.exists() {
        manager.initialize_from_store().await?;
    }
    Ok(manager)
}

/// Why somebody could not log in.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The server, or whoever it refers to, does not want it.
    #[error("the server cannot be logged in to")]
    Auth(#[from] AuthError),
    /// This machine does not let it.
    #[error("cannot wait for the browser's answer")]
    Io(#[from] io::Error),
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
        is_near: is_this_machine(&address.url),
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
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let redirect = format!("http://127.0.0.1:{port}/callback");
    address.tokens.remove()?;
    let mut manager = manager(address).await?;
    let challenge = challenge(address).await;
    let resolved = manager.resolve_metadata_from_challenge(challenge.as_deref());
    let metadata = resolved.await?.metadata;
    manager.set_metadata(metadata);
    let mut request = AuthorizationRequest::new(redirect)
        .with_client_name(CLIENT_NAME)
        .with_initial_scope_selection();
    if let Some(scope) = scope {
        request = request.with_scopes(scope.split_whitespace());
    }
    let session = AuthorizationSession::new(manager, request)
        .await
        .map_err(|(_, error)| error)?;
    show(session.get_authorization_url());
    loop {
        let (stream, _) = listener.accept().await?;
        // Browsers ask for icons, too; whoever else knocks is sent away as well.
        let Some(answer) = callback(&stream).await else {
            continue;
        };
        session
            .handle_callback_url(&format!("http://127.0.0.1:{port}{answer}"))
            .await?;
        return Ok(());
    }
}

/// Reads one request of a browser and answers it: the path and query, if it brings the answer.
async fn callback(stream: &TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        stream.readable().await.ok()?;
        let mut buffer = [0; 4096];
        match stream.try_read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        if request.len() > MAX_CALLBACK_BYTES {
            return None;
        }
    }
    let line = String::from_utf8_lossy(&request);
    let mut words = line.lines().next()?.split(' ');
    let path = match (words.next(), words.next()) {
        (Some("GET"), Some(path)) if path.starts_with("/callback?") => Some(path.to_owned()),
        _ => None,
    };
    let (status, text) = match path {
        Some(_) => ("200 OK", FAREWELL),
        None => ("404 Not Found", "There is nothing here."),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        stream.writable().await.ok()?;
        match stream.try_write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn tokens_are_the_users_alone() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = TokenFile::new(folder.path(), "far");
        assert!(tokens.load().await.unwrap().is_none());
        let credentials = StoredCredentials::new("id".to_owned(), None, Vec::new(), None);
        tokens.save(credentials).await.unwrap();
        let found = tokens.load().await.unwrap().unwrap();
        assert_eq!(found.client_id, "id");
        let path = folder.path().join("mcp/far.json");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(tokens.remove().unwrap());
        assert!(!tokens.remove().unwrap());
    }

    #[tokio::test]
    async fn a_login_reaches_what_it_may() {
        let may = async |is_near: bool, url: &str| {
            let url: Url = url.parse().unwrap();
            let hop = Hop {
                method: &dunlin_host::egress::Method::GET,
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
}
