//! The tokens of a login: one file for each server, 0600.
//!
//! They belong to the address and the client for which they were given, and are none for any other: the name of a server
//! says nothing about who answers there. They are renewed where they came from, whatever the server says later.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, AuthorizationMetadata, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use url::Url;

use dunlin_host::files::make_private;

/// The tokens of one server.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
    /// Whom they are for.
    url: String,
    /// Who got them, where that was configured.
    client: Option<String>,
}

/// What stands in the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    url: String,
    /// Who gave them.
    pub(super) metadata: AuthorizationMetadata,
    pub(super) credentials: StoredCredentials,
}

impl TokenFile {
    /// The file of a server, in Dunlin's data folder; for this address, and this client if there is a certain one.
    pub fn new(data: &Path, server: &str, url: &Url, client: Option<&str>) -> TokenFile {
        TokenFile {
            path: TokenFile::path(data, server),
            url: url.to_string(),
            client: client.map(str::to_owned),
        }
    }

    fn path(data: &Path, server: &str) -> PathBuf {
        data.join("mcp").join(format!("{server}.json"))
    }

    /// Forgets the tokens of a server, whatever it was. Whether there were any.
    pub fn forget(data: &Path, server: &str) -> io::Result<bool> {
        remove(&TokenFile::path(data, server))
    }

    /// Forgets them. Whether there were any.
    pub fn remove(&self) -> io::Result<bool> {
        remove(&self.path)
    }

    /// Forgets the tokens, but not who gave them: without [`TokenFile::remove`] the next login has to be there, too.
    pub(super) fn forget_tokens(&self) -> io::Result<()> {
        match self.read()? {
            Some(mut kept) => {
                kept.credentials.token_response = None;
                self.write(&kept)
            }
            None => self.remove().map(drop),
        }
    }

    /// Those that are for this address and this client. Perhaps there are none any more, and it is only known who gave
    /// them.
    pub(super) fn read(&self) -> io::Result<Option<Kept>> {
        let bytes = match std::fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        // One that cannot be read holds nothing that could be used: a login writes another.
        let Ok(kept) = serde_json::from_slice::<Kept>(&bytes) else {
            return Ok(None);
        };
        let is_theirs = kept.url == self.url;
        let is_ours = |client: &str| kept.credentials.client_id == client;
        let fits = is_theirs && self.client.as_deref().is_none_or(is_ours);
        Ok(fits.then_some(kept))
    }

    /// The file as the SDK wants it, for tokens of this login.
    pub(super) fn store(&self, metadata: AuthorizationMetadata) -> Store {
        Store {
            file: self.clone(),
            metadata,
        }
    }

    fn write(&self, kept: &Kept) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        make_private(folder)?;
        // `tempfile` creates with 0600.
        let mut file = tempfile::Builder::new()
            .prefix(".token.")
            .tempfile_in(folder)?;
        serde_json::to_writer(&mut file, kept)?;
        file.flush()?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

fn remove(path: &Path) -> io::Result<bool> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn store_failed(error: io::Error) -> AuthError {
    AuthError::CredentialStoreError(error.to_string())
}

/// The tokens of one login.
pub(super) struct Store {
    file: TokenFile,
    metadata: AuthorizationMetadata,
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let kept = self.file.read().map_err(store_failed)?;
        let credentials = kept.map(|kept| kept.credentials);
        Ok(credentials.filter(|credentials| credentials.token_response.is_some()))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let kept = Kept {
            url: self.file.url.clone(),
            metadata: self.metadata.clone(),
            credentials,
        };
        self.file.write(&kept).map_err(store_failed)
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.file.forget_tokens().map_err(store_failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    async fn tokens_are_the_users_alone() {
        let folder = tempfile::tempdir().unwrap();
        let url: Url = "https://host.example/mcp".parse().unwrap();
        let path = folder.path().join("mcp/far.json");
        let tokens = TokenFile::new(folder.path(), "far", &url, None);
        assert!(tokens.read().unwrap().is_none());
        let mut metadata = AuthorizationMetadata::default();
        metadata.token_endpoint = "https://login.example/token".to_owned();
        let store = tokens.store(metadata);
        let token = serde_json::json!({ "access_token": "t", "token_type": "bearer" });
        let token = serde_json::from_value(token).unwrap();
        let credentials = StoredCredentials::new("id".to_owned(), Some(token), Vec::new(), None);
        store.save(credentials).await.unwrap();
        let found = store.load().await.unwrap().unwrap();
        assert_eq!(found.client_id, "id");
        // Who gave them is known for longer than they are.
        store.clear().await.unwrap();
        assert!(store.load().await.unwrap().is_none());
        assert!(
            !std::fs::read_to_string(&path)
                .unwrap()
                .contains("access_token")
        );
        let found = tokens.read().unwrap().unwrap();
        assert_eq!(found.metadata.token_endpoint, "https://login.example/token");
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(tokens.remove().unwrap());
        assert!(!tokens.remove().unwrap());
    }

    #[tokio::test]
    async fn tokens_are_for_one_address_and_one_client() {
        let folder = tempfile::tempdir().unwrap();
        let of = |url: &str, client: Option<&str>| {
            TokenFile::new(folder.path(), "far", &url.parse().unwrap(), client)
        };
        let corp = "https://tracker.corp.example/mcp";
        let credentials = StoredCredentials::new("id".to_owned(), None, Vec::new(), None);
        let store = of(corp, None).store(AuthorizationMetadata::default());
        store.save(credentials).await.unwrap();
        for (url, client, is_there) in [
            (corp, None, true),
            (corp, Some("id"), true),
            (corp, Some("other"), false),
            ("https://evil.example/mcp", None, false),
            ("https://tracker.corp.example/other", None, false),
            ("https://tracker.corp.example:8443/mcp", Some("id"), false),
        ] {
            let found = of(url, client).read().unwrap();
            assert_eq!(found.is_some(), is_there, "{url} {client:?}");
        }
        assert!(TokenFile::forget(folder.path(), "far").unwrap());
        assert!(of(corp, None).read().unwrap().is_none());
    }
}
