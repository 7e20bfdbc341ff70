//! As whom Dunlin logs in: somebody whom the server has never heard of, or a client that was registered beforehand.

use async_trait::async_trait;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, AuthorizationRequest,
    ClientCredentialsConfig, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use tokio::sync::Mutex;
use url::Url;

use crate::settings::{KeyPlace, SettingsError};
use dunlin_chat::secret::Secret;

/// As what Dunlin registers with a server that has not heard of it.
const CLIENT_NAME: &str = "Dunlin";

/// A client that is known to the server, or that has a page that says who it is.
#[derive(Debug, Clone)]
pub struct OAuthClient {
    /// Its id. An address of such a page is an id, too.
    pub id: String,
    /// Where its secret is found.
    pub secret: Option<KeyPlace>,
    /// The login server that may see the secret; `None`: whichever the first login was with.
    pub issuer: Option<Url>,
    /// Whether it logs in by itself, with its secret and without a user.
    pub is_alone: bool,
}

impl OAuthClient {
    /// Whether the id is the address of a page that says who it is. Servers that do not know such ids are registered with.
    fn is_document(&self) -> bool {
        let url: Option<Url> = self.id.parse().ok();
        url.is_some_and(|url| url.scheme() == "https" && url.path() != "/")
    }

    /// The id that tokens have to be for; `None`: whichever the server gave.
    pub fn fixed_id(&self) -> Option<&str> {
        (!self.is_document()).then_some(self.id.as_str())
    }

    /// Its secret. May wait for the user to unlock a keyring.
    pub(super) async fn secret(&self) -> Result<Option<Secret>, SettingsError> {
        let Some(place) = self.secret.clone() else {
            return Ok(None);
        };
        let read = tokio::task::spawn_blocking(move || place.read()).await;
        match read {
            Ok(read) => read.map(|(secret, _)| Some(secret)),
            // It panicked: as good as not there, and the server will say so.
            Err(_) => Ok(None),
        }
    }
}

/// What is asked of the server on behalf of a user, who will come back to `redirect`.
pub(super) fn request(
    client: Option<&OAuthClient>,
    secret: Option<&Secret>,
    redirect: String,
) -> AuthorizationRequest {
    let request = AuthorizationRequest::new(redirect)
        .with_client_name(CLIENT_NAME)
        .with_initial_scope_selection();
    match (client, secret) {
        (None, _) => request,
        (Some(client), _) if client.is_document() => request.with_client_metadata_url(&client.id),
        (Some(client), None) => request.with_preregistered_client(&client.id),
        (Some(client), Some(secret)) => request
            .with_preregistered_client(&client.id)
            .with_client_secret(secret.reveal()),
    }
}

/// Makes the manager renew tokens as this client, whose secret it needs for that.
pub(super) fn renew_as(
    manager: &mut AuthorizationManager,
    id: &str,
    secret: Option<&Secret>,
    url: &Url,
) -> Result<(), AuthError> {
    // Nobody is led there: it is part of the form.
    let config = OAuthClientConfig::new(id, url.as_str());
    manager.configure_client(match secret {
        Some(secret) => config.with_client_secret(secret.reveal()),
        None => config,
    })
}

/// Tokens of a client that logs in by itself: got when they are wanted, in memory only.
pub(super) struct OwnTokens {
    /// Asks for them, one at a time.
    manager: Mutex<AuthorizationManager>,
    config: ClientCredentialsConfig,
    kept: InMemoryCredentialStore,
}

impl OwnTokens {
    /// `manager` is one of their own, that knows nothing yet; `scopes` what the server proposes.
    pub(super) fn new(
        mut manager: AuthorizationManager,
        metadata: AuthorizationMetadata,
        id: &str,
        secret: &Secret,
        scopes: Vec<String>,
        url: &Url,
    ) -> Result<OwnTokens, AuthError> {
        let config = ClientCredentialsConfig::ClientSecret {
            client_id: id.to_owned(),
            client_secret: secret.reveal().to_owned(),
            scopes,
            resource: Some(url.to_string()),
        };
        let kept = InMemoryCredentialStore::new();
        manager.set_credential_store(kept.clone());
        manager.set_metadata(metadata);
        manager.validate_client_credentials_metadata(&config)?;
        manager.configure_client_credentials(&config)?;
        Ok(OwnTokens {
            manager: Mutex::new(manager),
            config,
            kept,
        })
    }
}

#[async_trait]
impl CredentialStore for OwnTokens {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let manager = self.manager.lock().await;
        // There are none yet, or they are about to expire.
        if manager.get_access_token().await.is_err() {
            manager.exchange_client_credentials(&self.config).await?;
        }
        self.kept.load().await
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        self.kept.save(credentials).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.kept.clear().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(id: &str) -> OAuthClient {
        OAuthClient {
            id: id.to_owned(),
            secret: None,
            issuer: None,
            is_alone: false,
        }
    }

    #[test]
    fn an_address_is_an_id_of_its_own_kind() {
        let page = client("https://ada.example/dunlin.json");
        assert_eq!(page.fixed_id(), None);
        let asked = request(Some(&page), None, "http://127.0.0.1:1/".to_owned());
        assert_eq!(asked.client_metadata_url.as_deref(), Some(page.id.as_str()));
        assert_eq!(asked.client_id, None);
        for id in ["abc-1", "https://ada.example/", "http://ada.example/x"] {
            let client = client(id);
            assert_eq!(client.fixed_id(), Some(id));
            let secret = Secret::new("k", "s3cret");
            let asked = request(Some(&client), Some(&secret), String::new());
            assert_eq!(asked.client_id.as_deref(), Some(id));
            assert_eq!(asked.client_secret.as_deref(), Some("s3cret"));
            assert_eq!(asked.client_metadata_url, None);
        }
    }
}
