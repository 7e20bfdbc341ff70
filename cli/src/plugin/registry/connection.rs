//! Requests to one registry, for one repository.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dunlin_host::egress::{Place, named_place};
use oci_spec::distribution::Reference;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use tokio::sync::OnceCell;
use url::Url;

use super::error::FetchError;
use super::login::{self, Challenge, Login, LoginError};
use dunlin_provider::http::{self, Timeouts, is_this_machine};

/// Bytes of an answer that holds a token.
const MAX_TOKEN_BYTES: u64 = 64 * 1024;

/// How often a registry may lead on: they do once, to where the bytes are.
const MAX_REDIRECTS: usize = 5;

/// Somebody waits. A registry that says nothing for so long has gone.
const IDLE_TIME: Duration = Duration::from_secs(30);

/// What is sent takes as long as the line is slow: 64 MiB in this time need 1 Mbit/s.
const UPLOAD_TIME: Duration = Duration::from_secs(600);

/// What is wanted of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Pull,
    Push,
}

impl Access {
    /// As registries call it.
    fn scope(self) -> &'static str {
        match self {
            Access::Pull => "pull",
            Access::Push => "pull,push",
        }
    }
}

/// A request that changes something.
#[derive(Debug, Clone)]
pub(super) struct Upload {
    pub(super) method: Method,
    /// The kind of what is sent.
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// A request, whatever it is for.
#[derive(Clone, Copy)]
enum Ask<'a> {
    Get { accept: &'a str },
    Head,
    Upload(&'a Upload),
}

/// Somebody to ask for parts of a repository.
pub(super) struct Connection {
    access: Access,
    registry: String,
    repository: String,
    /// `https://ghcr.io/v2/who/tool/`
    base: Url,
    home: Option<PathBuf>,
    /// The header with which the registry answered the last time.
    authorization: Option<String>,
    /// Whether the registry itself is on this machine or in a private network. PlannedActions up when it first leads elsewhere.
    is_near: OnceCell<bool>,
}

/// A token, under either of the names it has.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Connection {
    /// Connects to nobody yet. The logins of the user are below `home`.
    pub(super) fn new(
        reference: &Reference,
        home: Option<&Path>,
        access: Access,
    ) -> Result<Connection, FetchError> {
        let registry = reference.resolve_registry().to_owned();
        let repository = reference.repository().to_owned();
        let parse = |scheme: &str| Url::parse(&format!("{scheme}://{registry}/v2/{repository}/"));
        let is_local = parse("http").is_ok_and(|url| is_this_machine(&url));
        let base = parse(match is_local {
            true => "http",
            false => "https",
        });
        let base = base.map_err(|error| FetchError::Odd {
            registry: registry.clone(),
            problem: error.to_string(),
        })?;
        Ok(Connection {
            access,
            registry,
            repository,
            base,
            home: home.map(Path::to_owned),
            authorization: None,
            is_near: OnceCell::new(),
        })
    }

    /// To fetch a page of the web and nothing else: the place of the registry takes whoever the address names.
    pub(super) fn of_page(url: &Url) -> Connection {
        Connection {
            access: Access::Pull,
            registry: host_of(url),
            repository: url.path().trim_start_matches('/').to_owned(),
            base: url.clone(),
            home: None,
            authorization: None,
            is_near: OnceCell::new(),
        }
    }

    /// The page, if it is not longer than that.
    pub(super) async fn page(&self, url: &Url, most: u64) -> Result<Vec<u8>, FetchError> {
        let accept = "application/json, */*;q=0.5";
        let response = self.send(url, Ask::Get { accept }, None).await?;
        match response.status() {
            StatusCode::OK => body(response, url.path(), most).await,
            StatusCode::NOT_FOUND => Err(FetchError::NotFound {
                registry: self.registry.clone(),
                what: self.repository.clone(),
            }),
            status => Err(FetchError::Status {
                host: host_of(response.url()),
                status: status.as_u16(),
            }),
        }
    }

    /// The whole of one part, if it is not longer than that.
    pub(super) async fn get(
        &mut self,
        part: &str,
        accept: &str,
        most: u64,
    ) -> Result<Vec<u8>, FetchError> {
        let url = self.url(part)?;
        let response = self.ask(&url, Ask::Get { accept }).await?;
        let what = match part.split_once('/') {
            Some(("manifests", what)) => format!("{}:{what}", self.repository),
            _ => format!("the component of {}", self.repository),
        };
        match response.status() {
            StatusCode::OK => body(response, &what, most).await,
            StatusCode::NOT_FOUND => Err(FetchError::NotFound {
                registry: self.registry.clone(),
                what: what.replace(":sha256:", "@sha256:"),
            }),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.needs_login()),
            status => Err(FetchError::Status {
                host: host_of(response.url()),
                status: status.as_u16(),
            }),
        }
    }

    /// Whether the repository has a part.
    pub(super) async fn has(&mut self, part: &str) -> Result<bool, FetchError> {
        let url = self.url(part)?;
        let response = self.ask(&url, Ask::Head).await?;
        Ok(response.status() == StatusCode::OK)
    }

    /// Sends something there. Returns where the registry wants the next, if it says so.
    pub(super) async fn upload(
        &mut self,
        url: &Url,
        upload: Upload,
    ) -> Result<Option<Url>, FetchError> {
        let response = self.ask(url, Ask::Upload(&upload)).await?;
        match response.status() {
            status if status.is_success() => {
                let to = response.headers().get(LOCATION);
                Ok(to.and_then(|to| url.join(to.to_str().ok()?).ok()))
            }
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.needs_login()),
            status => Err(FetchError::Status {
                host: host_of(response.url()),
                status: status.as_u16(),
            }),
        }
    }

    /// The address of a part.
    pub(super) fn url(&self, part: &str) -> Result<Url, FetchError> {
        self.base.join(part).map_err(|_| self.odd("its name"))
    }

    /// Asks, and introduces the user if the registry wants to know who asks.
    async fn ask(&mut self, url: &Url, ask: Ask<'_>) -> Result<Response, FetchError> {
        let response = self.send(url, ask, self.authorization.clone()).await?;
        // Only the registry itself is told who asks. A redirect may lead to somebody else's server, and its refusal
        // would name where a login of the user for this registry is to be sent.
        let is_of_registry = response.url().origin() == self.base.origin();
        match response.status() {
            StatusCode::UNAUTHORIZED if is_of_registry => {
                self.introduce(url, ask, response.headers()).await
            }
            _ => Ok(response),
        }
    }

    /// Asks again as the registry wants to be asked: as anybody, and if that is not enough, with the login of the user.
    async fn introduce(
        &mut self,
        url: &Url,
        ask: Ask<'_>,
        refusal: &HeaderMap,
    ) -> Result<Response, FetchError> {
        let challenge =
            login::challenge(refusal).ok_or_else(|| self.odd("how it wants to be asked"))?;
        if let Some(authorization) = self.authorization(&challenge, None).await? {
            let answer = self.send(url, ask, Some(authorization.clone())).await?;
            if !is_refusal(answer.status()) {
                self.authorization = Some(authorization);
                return Ok(answer);
            }
        }
        let (login, file) = self.login().await?;
        let refused = FetchError::LoginRefused {
            registry: self.registry.clone(),
            repository: self.repository.clone(),
            file,
        };
        let Some(authorization) = self.authorization(&challenge, Some(&login)).await? else {
            return Err(refused);
        };
        let answer = self.send(url, ask, Some(authorization.clone())).await?;
        if is_refusal(answer.status()) {
            return Err(refused);
        }
        self.authorization = Some(authorization);
        Ok(answer)
    }

    /// The header for somebody, or for anybody. `None`: nobody gets in like this.
    async fn authorization(
        &self,
        challenge: &Challenge,
        login: Option<&Login>,
    ) -> Result<Option<String>, FetchError> {
        let (realm, service) = match challenge {
            Challenge::Password => return Ok(login.map(Login::header)),
            Challenge::Token { realm, service } => (realm, service),
        };
        let mut realm = Url::parse(realm).map_err(|_| self.odd("where tokens are had"))?;
        let scope = format!("repository:{}:{}", self.repository, self.access.scope());
        let service = service
            .as_ref()
            .map(|service| ("service", service.as_str()));
        realm
            .query_pairs_mut()
            .extend_pairs(service)
            .append_pair("scope", &scope);
        let header = login.map(Login::header);
        let header = header.as_deref();
        let accept = "application/json";
        let response = self.request(&realm, Ask::Get { accept }, header).await?;
        if is_refusal(response.status()) {
            return Ok(None);
        }
        if response.status() != StatusCode::OK {
            return Err(FetchError::Status {
                host: host_of(&realm),
                status: response.status().as_u16(),
            });
        }
        let bytes = body(response, "the token", MAX_TOKEN_BYTES).await?;
        let token: Option<Token> = serde_json::from_slice(&bytes).ok();
        let token = token.and_then(|token| token.token.or(token.access_token));
        match token {
            Some(token) => Ok(Some(format!("Bearer {token}"))),
            None => Err(self.odd("a token")),
        }
    }

    /// The login that the user has for this registry, and where it is kept.
    async fn login(&self) -> Result<(Login, String), FetchError> {
        let Some(home) = self.home.clone() else {
            return Err(self.needs_login());
        };
        let file = login::file(&home).display().to_string();
        let registry = self.registry.clone();
        // A helper may ask the keyring of the system, which takes its time.
        let found = tokio::task::spawn_blocking(move || login::of(&registry, &home)).await;
        let found = found.unwrap_or_else(|error| Err(LoginError::Stopped(error)));
        match found {
            Ok(Some(login)) => Ok((login, file)),
            Ok(None) => Err(self.needs_login()),
            Err(source) => Err(FetchError::Login {
                registry: self.registry.clone(),
                file,
                source,
            }),
        }
    }

    /// Sends a request, and follows where it leads. What was given for the registry goes nowhere else.
    async fn send(
        &self,
        url: &Url,
        ask: Ask<'_>,
        authorization: Option<String>,
    ) -> Result<Response, FetchError> {
        let mut url = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let header = authorization
                .as_deref()
                .filter(|_| url.origin() == self.base.origin());
            let response = self.request(&url, ask, header).await?;
            // What is sent goes to the registry, or where it said beforehand.
            if !response.status().is_redirection() || matches!(ask, Ask::Upload(_)) {
                return Ok(response);
            }
            let to = response.headers().get(LOCATION);
            let to = to.and_then(|to| url.join(to.to_str().ok()?).ok());
            url = to.ok_or_else(|| self.odd("where it leads"))?;
        }
        Err(self.odd("too many redirects"))
    }

    /// Sends one request, if the address is one that the registry may lead to.
    async fn request(
        &self,
        url: &Url,
        ask: Ask<'_>,
        authorization: Option<&str>,
    ) -> Result<Response, FetchError> {
        let is_local = is_this_machine(url) && is_this_machine(&self.base);
        let is_encrypted = url.scheme() == "https" || (url.scheme() == "http" && is_local);
        let is_registry = url.origin() == self.base.origin();
        // The user named the registry; where it leads was named by a stranger.
        let is_open = is_registry || self.is_near().await;
        let is_reachable = match named_place(url) {
            Some(Place::Never(_)) => is_registry,
            Some(Place::ThisMachine | Place::PrivateNetwork) => is_open,
            Some(Place::Public) | None => true,
        };
        if !is_encrypted || !is_reachable {
            return Err(FetchError::Unsafe {
                registry: self.registry.clone(),
                to: host_of(url),
            });
        }
        let client = match is_open {
            true => http::client(url, Timeouts::default()),
            false => http::public_client(url, Timeouts::default()),
        };
        let client = client.map_err(|error| unreachable(url, error))?;
        let (mut request, time) = match ask {
            Ask::Get { accept } => (client.get(url.clone()).header(ACCEPT, accept), IDLE_TIME),
            Ask::Head => (client.head(url.clone()), IDLE_TIME),
            Ask::Upload(upload) => {
                let request = client.request(upload.method.clone(), url.clone());
                let request = request.header(CONTENT_TYPE, upload.kind);
                // An empty body has a length, too: some registries insist.
                let request = request.header(CONTENT_LENGTH, upload.bytes.len());
                (request.body(upload.bytes.clone()), UPLOAD_TIME)
            }
        };
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        match tokio::time::timeout(time, request.send()).await {
            Ok(sent) => sent.map_err(|error| unreachable(url, error)),
            Err(_) => Err(silent(url, time)),
        }
    }

    /// Whether the registry is on this machine or in a private network: then so may be what it leads to.
    async fn is_near(&self) -> bool {
        let look = async || match named_place(&self.base) {
            None => http::is_private_name(&self.base).await,
            Some(place) => place != Place::Public,
        };
        *self.is_near.get_or_init(look).await
    }

    pub(super) fn odd(&self, problem: &str) -> FetchError {
        FetchError::Odd {
            registry: self.registry.clone(),
            problem: problem.to_owned(),
        }
    }

    fn needs_login(&self) -> FetchError {
        FetchError::NeedsLogin {
            registry: self.registry.clone(),
            repository: self.repository.clone(),
        }
    }
}

fn is_refusal(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN
}

/// All of an answer, or that it is too long. No more than that is held.
async fn body(mut response: Response, what: &str, most: u64) -> Result<Vec<u8>, FetchError> {
    let too_large = || FetchError::TooLarge {
        what: what.to_owned(),
        most,
    };
    if response
        .content_length()
        .is_some_and(|length| length > most)
    {
        return Err(too_large());
    }
    let url = response.url().clone();
    let mut bytes = Vec::new();
    loop {
        let chunk = tokio::time::timeout(IDLE_TIME, response.chunk()).await;
        let chunk = chunk.map_err(|_| silent(&url, IDLE_TIME))?;
        let chunk = chunk.map_err(|error| unreachable(&url, error))?;
        let Some(chunk) = chunk else {
            return Ok(bytes);
        };
        if (bytes.len() + chunk.len()) as u64 > most {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
}

fn unreachable(url: &Url, error: reqwest::Error) -> FetchError {
    // Addresses may carry a signature.
    let error = error.without_url();
    let mut innermost: &dyn std::error::Error = &error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    FetchError::Network {
        host: host_of(url),
        problem: innermost.to_string(),
    }
}

fn silent(url: &Url, time: Duration) -> FetchError {
    FetchError::Silent {
        host: host_of(url),
        seconds: time.as_secs(),
    }
}

/// The host and the port of an address: the rest may be long, and not for everybody.
fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A registry is asked for by name; none of these requests gets as far as the network.
    #[tokio::test]
    async fn a_registry_leads_nowhere_near() {
        let from = |registry: &str| {
            let reference: Reference = format!("{registry}/who/tool:1").parse().unwrap();
            Connection::new(&reference, None, Access::Pull).unwrap()
        };
        for (registry, to) in [
            ("93.184.216.34", "https://127.0.0.1:1/"),
            ("93.184.216.34", "https://localhost:1/"),
            ("93.184.216.34", "https://192.168.1.1/"),
            ("93.184.216.34", "https://[fd00::1]/"),
            ("93.184.216.34", "https://169.254.169.254/"),
            ("93.184.216.34", "http://93.184.216.35/"),
            ("93.184.216.34", "file:///etc/passwd"),
            ("127.0.0.1:1", "http://169.254.169.254/"),
            ("127.0.0.1:1", "https://169.254.169.254/"),
            ("127.0.0.1:1", "http://192.168.1.1/"),
        ] {
            let sent = from(registry)
                .request(&to.parse().unwrap(), Ask::Head, None)
                .await;
            let error = sent.map(drop).unwrap_err();
            assert!(
                matches!(error, FetchError::Unsafe { .. }),
                "{registry} {to}: {error}"
            );
        }
        // At home it may lead to its neighbour: there is nobody, which is another failure.
        let near = from("127.0.0.1:1");
        let sent = near
            .request(&"http://127.0.0.1:2/".parse().unwrap(), Ask::Head, None)
            .await;
        assert!(matches!(sent, Err(FetchError::Network { .. })));
    }
}
