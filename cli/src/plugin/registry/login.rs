//! How a registry wants to be asked: what it says with its refusal, and the login that the user has given docker.

use std::fs::File;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use docker_credential::{CredentialRetrievalError, DockerCredential};
use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use tokio::task::JoinError;

/// Where docker keeps logins, below the home folder. Its own and those of most other tools for registries.
const LOGINS: &str = ".docker/config.json";

/// The name under which docker keeps the login for its own registry.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// How a registry wants to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Challenge {
    /// With a token from an address, for a service.
    Token {
        /// Where tokens are had.
        realm: String,
        /// For whom.
        service: Option<String>,
    },
    /// With a name and a password.
    Password,
}

/// A name and a password.
pub(super) struct Login {
    name: String,
    password: String,
}

impl Login {
    pub(super) fn header(&self) -> String {
        let both = format!("{}:{}", self.name, self.password);
        format!("Basic {}", STANDARD.encode(both))
    }
}

/// What the refusal of a registry says. `None`: nothing that is known here.
pub(super) fn challenge(headers: &HeaderMap) -> Option<Challenge> {
    let all = headers.get_all(WWW_AUTHENTICATE).iter();
    let mut found = None;
    for header in all.filter_map(|value| value.to_str().ok()) {
        for challenge in http_auth::parse_challenges(header).unwrap_or_default() {
            let of = |name: &str| {
                let mut all = challenge.params.iter();
                let value = all.find(|(key, _)| key.eq_ignore_ascii_case(name));
                value.map(|(_, value)| value.to_unescaped())
            };
            if challenge.scheme.eq_ignore_ascii_case("bearer") {
                if let Some(realm) = of("realm") {
                    let service = of("service");
                    return Some(Challenge::Token { realm, service });
                }
            } else if challenge.scheme.eq_ignore_ascii_case("basic") {
                found = Some(Challenge::Password);
            }
        }
    }
    found
}

/// Where logins are kept.
pub(super) fn file(home: &Path) -> PathBuf {
    home.join(LOGINS)
}

/// Why a login of docker's cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// It is not a name and a password.
    #[error("the login is an identity token, which Dunlin does not support")]
    IdentityToken,
    /// A helper of docker's failed. What it printed may be the secret.
    #[error("{0} failed")]
    Helper(String),
    /// Docker's file says something else.
    #[error(transparent)]
    Docker(CredentialRetrievalError),
    /// Nobody waited for it.
    #[error("reading the login was stopped")]
    Stopped(#[source] JoinError),
}

/// The login that the user has for a registry. Blocks while a helper of docker's is asked.
pub(super) fn of(registry: &str, home: &Path) -> Result<Option<Login>, LoginError> {
    let Ok(file) = File::open(file(home)) else {
        return Ok(None);
    };
    let server = match registry {
        "index.docker.io" => DOCKER_HUB,
        other => other,
    };
    match docker_credential::get_credential_from_reader(file, server) {
        Ok(DockerCredential::UsernamePassword(name, password)) => {
            Ok(Some(Login { name, password }))
        }
        Ok(DockerCredential::IdentityToken(_)) => Err(LoginError::IdentityToken),
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
        // What a helper printed may be the secret.
        Err(CredentialRetrievalError::HelperFailure { helper, .. }) => {
            Err(LoginError::Helper(helper))
        }
        Err(error) => Err(LoginError::Docker(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn refusals_are_understood() {
        let token = |realm: &str, service: Option<&str>| {
            Some(Challenge::Token {
                realm: realm.to_owned(),
                service: service.map(str::to_owned),
            })
        };
        for (values, expected) in [
            (
                vec![
                    r#"Bearer realm="https://ghcr.io/token",service="ghcr.io",scope="repository:a/b:pull""#,
                ],
                token("https://ghcr.io/token", Some("ghcr.io")),
            ),
            (
                vec![r#"bearer realm="https://a/t""#],
                token("https://a/t", None),
            ),
            (vec![r#"Basic realm="all""#], Some(Challenge::Password)),
            (
                vec![r#"Basic realm="all""#, r#"Bearer realm="https://a/t""#],
                token("https://a/t", None),
            ),
            (vec!["Bearer"], None),
            (vec![r#"Negotiate"#], None),
            (vec!["\"\"\"=,="], None),
            (vec![], None),
        ] {
            assert_eq!(challenge(&headers(&values)), expected, "{values:?}");
        }
    }

    #[test]
    fn logins_are_those_of_docker() {
        let home = tempfile::tempdir().unwrap();
        assert!(of("ghcr.io", home.path()).unwrap().is_none());
        std::fs::create_dir(home.path().join(".docker")).unwrap();
        let text = r#"{"auths":{"ghcr.io":{"auth":"YWRhOnMzY3JldA=="},"odd.io":{"auth":"%"},
            "token.io":{"identitytoken":"x"}}}"#;
        std::fs::write(file(home.path()), text).unwrap();
        let login = of("ghcr.io", home.path()).unwrap().unwrap();
        assert_eq!(login.header(), "Basic YWRhOnMzY3JldA==");
        assert!(of("other.io", home.path()).unwrap().is_none());
        assert!(of("odd.io", home.path()).is_err());
        assert!(of("token.io", home.path()).is_err());
        std::fs::write(file(home.path()), "{").unwrap();
        assert!(of("ghcr.io", home.path()).is_err());
    }
}
