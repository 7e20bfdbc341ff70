//! Looks for something that can answer: model servers on this machine and API keys in the environment.
//!
//! For the first run and for `dunlin doctor`. Only loopback addresses are asked, all at once and for a
//! moment; of a key nothing but the variable's name leaves this module.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::config::env::{self, Environment};
use crate::protocol::Spoken;
use dunlin_chat::agent::Api;
use dunlin_chat::secret::Secret;
use dunlin_host::ForeignError;
use dunlin_provider::http::{self, Timeouts};
use dunlin_provider::ollama;
use dunlin_provider::protocol::{BEARER, Headers, below};

/// How long a server on this machine may take to say which models it has. An idle one needs a few
/// milliseconds; somebody waits for the slowest.
const PROBE_TIMEOUT: Duration = Duration::from_millis(300);

/// The longest list of models that is read, in bytes. Ollama's takes about 150 bytes per model.
const MAX_LIST_BYTES: usize = 1024 * 1024;

/// How many models of one server are kept.
const MAX_MODELS: usize = 500;

/// The longest name of a model in characters: it ends up in a file and on the screen.
const MAX_MODEL_CHARS: usize = 200;

/// The servers that people run and where they listen unless told otherwise.
const USUAL_SERVERS: &[(&str, &str)] = &[
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("vLLM", "http://127.0.0.1:8000/v1"),
];

/// Services: the variable their key is usually in, the endpoint, and a model to begin with. The protocol is OpenAI's, which
/// all but one speak.
pub const SERVICES: &[Service] = &[
    service(
        "OPENAI_API_KEY",
        "OpenAI",
        "https://api.openai.com/v1",
        "gpt-4o-mini",
    ),
    Service {
        api: Api::Anthropic,
        ..service(
            "ANTHROPIC_API_KEY",
            "Anthropic",
            "https://api.anthropic.com",
            "claude-haiku-5-5",
        )
    },
    service(
        "OPENROUTER_API_KEY",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "openrouter/auto",
    ),
    service(
        "GEMINI_API_KEY",
        "Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "gemini-2.5-flash",
    ),
    service(
        "GROQ_API_KEY",
        "Groq",
        "https://api.groq.com/openai/v1",
        "llama-3.3-70b-versatile",
    ),
    service(
        "MISTRAL_API_KEY",
        "Mistral",
        "https://api.mistral.ai/v1",
        "mistral-small-latest",
    ),
    service(
        "DEEPSEEK_API_KEY",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "deepseek-chat",
    ),
    service("XAI_API_KEY", "xAI", "https://api.x.ai/v1", "grok-3-mini"),
    service(
        "TOGETHER_API_KEY",
        "Together",
        "https://api.together.xyz/v1",
        "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    ),
    service(
        "CEREBRAS_API_KEY",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        "llama-3.3-70b",
    ),
    service(
        "FIREWORKS_API_KEY",
        "Fireworks",
        "https://api.fireworks.ai/inference/v1",
        "accounts/fireworks/models/llama-v3p3-70b-instruct",
    ),
];

/// A service whose key is in the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Service {
    /// The variable that holds the key.
    pub variable: &'static str,
    pub name: &'static str,
    /// The protocol.
    pub api: Api,
    pub base_url: &'static str,
    /// A model to begin with.
    pub model: &'static str,
}

impl Service {
    /// Where it listens.
    pub fn address(&self) -> Url {
        // The test of the table parses each.
        self.base_url
            .parse()
            .expect("an address in the table of services")
    }

    /// What its key is called in a configuration.
    pub fn key_name(&self) -> String {
        self.name.to_ascii_lowercase()
    }
}

const fn service(
    variable: &'static str,
    name: &'static str,
    base_url: &'static str,
    model: &'static str,
) -> Service {
    Service {
        variable,
        name,
        api: Api::OpenAi,
        base_url,
        model,
    }
}

/// A server that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    /// The protocol that it is best spoken to in.
    pub api: Api,
    pub base_url: Url,
    /// The models it has, as it calls them; foreign text.
    pub models: Vec<String>,
}

/// Everything that could answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// Servers on this machine.
    pub servers: Vec<Server>,
    /// Services whose keys are in the environment.
    pub services: Vec<Service>,
}

/// Looks everywhere at once, for 300 ms at most.
///
/// # Errors
/// An address that the environment names is none.
pub async fn discover(environment: &Environment) -> Result<Found, NoAddress> {
    let servers = candidates(environment)?;
    let probes = servers
        .iter()
        .map(|(name, base_url)| server_at(name, base_url, None, PROBE_TIMEOUT));
    Ok(Found {
        servers: join_all(probes).await.into_iter().flatten().collect(),
        services: SERVICES
            .iter()
            .copied()
            .filter(|service| environment.get(service.variable).is_some())
            .collect(),
    })
}

/// The server that listens there, with its models.
///
/// # Errors
/// It does not say in time which models it has.
pub async fn server_at(
    name: &str,
    base_url: &Url,
    key: Option<&Secret>,
    timeout: Duration,
) -> Result<Server, ProbeError> {
    let root = ollama::root(base_url);
    let (models, is_ollama) = futures::join!(
        models_of(Api::OpenAi, base_url, key, timeout),
        is_ollama(&root, timeout)
    );
    let models = models?;
    Ok(match is_ollama {
        true => Server {
            name: "Ollama".to_owned(),
            api: Api::Ollama,
            base_url: root,
            models,
        },
        false => Server {
            name: name.to_owned(),
            api: Api::OpenAi,
            base_url: base_url.clone(),
            models,
        },
    })
}

/// An entry of `DUNLIN_DISCOVER` that is not an address of a server.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "DUNLIN_DISCOVER names {0:?}, which is not the address of a server: use 127.0.0.1:8080 or http://host:8080/v1"
)]
pub struct NoAddress(String);

/// Why a server did not say which models it has.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// Nobody listens, or not in time.
    #[error("{} does not answer", endpoint(url))]
    Silent {
        url: Url,
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// Something listens that is not a model server.
    #[error("{} answers, but not with a list of models", endpoint(url))]
    NoList { url: Url },
    /// It wants a key, or another one.
    #[error("{} answers with status {status}", endpoint(url))]
    Status {
        url: Url,
        /// The status of the answer.
        status: u16,
    },
}

/// Whether an Ollama server listens there: others that speak its protocol do not say their version this way.
async fn is_ollama(root: &Url, timeout: Duration) -> bool {
    let version = fetch(below(root, "api/version"), BEARER, None);
    let Ok(Ok((200, body))) = tokio::time::timeout(timeout, version).await else {
        return false;
    };
    let version = serde_json::from_slice::<Value>(&body).ok();
    version.is_some_and(|version| version.get("version").is_some_and(Value::is_string))
}

/// The models that an endpoint offers.
pub async fn models_of(
    api: Api,
    base_url: &Url,
    key: Option<&Secret>,
    timeout: Duration,
) -> Result<Vec<String>, ProbeError> {
    let url = base_url.clone();
    let (list, headers) = match Spoken::from(api) {
        Spoken::Streamed(protocol) => (protocol.models(base_url), protocol.headers()),
        Spoken::Ollama => (below(&ollama::root(base_url), "api/tags"), BEARER),
        // There is nobody to ask: who wants to know looks into the folder.
        Spoken::NoServer => return Err(ProbeError::NoList { url }),
    };
    let silent = |source| ProbeError::Silent {
        url: url.clone(),
        source,
    };
    match tokio::time::timeout(timeout, fetch(list, headers, key)).await {
        Err(_) => Err(silent(None)),
        Ok(Err(error)) => Err(silent(Some(error))),
        Ok(Ok((status, _))) if status != 200 => Err(ProbeError::Status { url, status }),
        Ok(Ok((_, body))) => parse_models(&body).ok_or(ProbeError::NoList { url }),
    }
}

async fn fetch(
    url: Url,
    headers: Headers,
    key: Option<&Secret>,
) -> Result<(u16, Vec<u8>), ForeignError> {
    let request = http::client(&url, Timeouts::default())?.get(url);
    let request = headers.add(request, key)?;
    let mut response = request.send().await.map_err(reqwest::Error::without_url)?;
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(reqwest::Error::without_url)?
    {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_LIST_BYTES {
            break;
        }
    }
    Ok((response.status().as_u16(), body))
}

fn parse_models(body: &[u8]) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct List {
        data: Option<Vec<Model>>,
        /// Ollama's word; some servers say both.
        models: Option<Vec<Model>>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: Option<String>,
        name: Option<String>,
    }
    let list: List = serde_json::from_slice(body).ok()?;
    let models = list.data.or(list.models)?;
    let names: Option<Vec<String>> = models
        .into_iter()
        .map(|model| model.id.or(model.name))
        .collect();
    let names = names?.into_iter();
    let usable = |name: &String| {
        let is_name = !name.is_empty() && !name.contains(char::is_control);
        is_name && name.chars().count() <= MAX_MODEL_CHARS
    };
    let mut seen = BTreeSet::new();
    Some(
        names
            .filter(usable)
            .filter(|name| seen.insert(name.clone()))
            .take(MAX_MODELS)
            .collect(),
    )
}

fn candidates(environment: &Environment) -> Result<Vec<(String, Url)>, NoAddress> {
    let usual = || -> Vec<(String, String)> {
        USUAL_SERVERS
            .iter()
            .map(|(name, url)| ((*name).to_owned(), (*url).to_owned()))
            .collect()
    };
    let named: Vec<(String, String)> = match environment.text(env::DUNLIN_DISCOVER) {
        None if environment.is_set(env::DUNLIN_DISCOVER) => Vec::new(),
        None => usual(),
        Some(list) => {
            let urls = list.split(',').map(str::trim).filter(|url| !url.is_empty());
            urls.map(|url| ("local server".to_owned(), url.to_owned()))
                .collect()
        }
    };
    named
        .into_iter()
        .map(|(name, typed)| Ok((name, address(&typed).ok_or(NoAddress(typed))?)))
        .collect()
}

/// The address of a server as people type it: the scheme and the path may be missing.
pub fn address(typed: &str) -> Option<Url> {
    let with_scheme = match typed.split_once(":/") {
        Some((_, rest)) if rest.starts_with('/') => typed.to_owned(),
        // A slash too few: its scheme would be taken for a host.
        Some(_) => return None,
        None => format!("http://{typed}"),
    };
    let mut url = Url::parse(&with_scheme).ok()?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return None;
    }
    if url.path() == "/" {
        url.set_path("/v1");
    }
    Some(url)
}

/// Where a model is that answers there, to stand behind its name.
pub fn place(url: &Url) -> String {
    match url.scheme() {
        "file" => "on this machine".to_owned(),
        _ => format!("at {}", endpoint(url)),
    }
}

/// An endpoint as people write it: host and port.
pub fn endpoint(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_models_are_understood() {
        let check = |body: &str, expected: Option<&[&str]>| {
            let found = parse_models(body.as_bytes());
            let expected = expected.map(|names| {
                names
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{body}");
        };
        check(
            r#"{"object":"list","data":[{"id":"a","x":1},{"id":"b"},{"id":"a"}]}"#,
            Some(&["a", "b"]),
        );
        check(r#"{"data":[]}"#, Some(&[]));
        check("<html>hello</html>", None);
        check(
            r#"{"models":[{"name":"a:latest","model":"a:latest"}]}"#,
            Some(&["a:latest"]),
        );
        check(r#"{"models":[{"title":"a"}]}"#, None);
        check(
            r#"{"models":[{"name":"x"}],"data":[{"id":"a","name":"A"}]}"#,
            Some(&["a"]),
        );
    }

    #[test]
    fn the_variable_replaces_the_usual_ports() {
        let check = |variables: &[(&str, &str)], expected: &[&str]| {
            let environment = variables.iter().copied().collect();
            let urls: Vec<String> = candidates(&environment)
                .unwrap()
                .into_iter()
                .map(|(_, url)| url.to_string())
                .collect();
            assert_eq!(urls, expected);
        };
        check(
            &[],
            &[
                "http://127.0.0.1:11434/v1",
                "http://127.0.0.1:8080/v1",
                "http://127.0.0.1:1234/v1",
                "http://127.0.0.1:8000/v1",
            ],
        );
        check(&[("DUNLIN_DISCOVER", "")], &[]);
        check(
            &[(
                "DUNLIN_DISCOVER",
                "http://127.0.0.1:1, 127.0.0.1:2/api,localhost:3,https://h",
            )],
            &[
                "http://127.0.0.1:1/v1",
                "http://127.0.0.1:2/api",
                "http://localhost:3/v1",
                "https://h/v1",
            ],
        );
        for wrong in ["ftp://127.0.0.1", "http://", "a b", "127.0.0.1:99999", "::"] {
            let list = format!("127.0.0.1:1,{wrong}");
            let environment = [("DUNLIN_DISCOVER", list.as_str())].into_iter().collect();
            assert_eq!(candidates(&environment), Err(NoAddress(wrong.to_owned())));
        }
    }

    #[test]
    fn services_are_found_by_their_variable() {
        let mut seen = BTreeSet::new();
        for service in SERVICES {
            assert!(seen.insert(service.variable), "{} twice", service.variable);
            let url = Url::parse(service.base_url).unwrap();
            assert_eq!(url.scheme(), "https");
        }
    }
}
