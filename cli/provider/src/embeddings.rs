//! Vectors of texts from a server that speaks OpenAI's `/embeddings`.
//!
//! It is asked only where the user has named it for this. What it answers is counted here, and checked by the host.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dunlin_host::ForeignError;
use dunlin_host::embedding::Embedder;
use futures::StreamExt;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OnceCell;
use tokio::task::JoinError;
use tokio::time::timeout;
use url::Url;

use super::error_body;
use super::http::{self, Timeouts};
use dunlin_chat::provider::error::{Cause, Endpoint};
use dunlin_chat::secret::Secret;

/// The largest answer, in bytes: 128 of the widest vectors, each number written in full, take some 10 MB.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// How much of a refusal is read, in bytes.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// Reads a key when it is needed.
pub type Key = Arc<dyn Fn() -> Result<Secret, ForeignError> + Send + Sync>;

/// Why a server gave no vectors.
#[derive(Debug, thiserror::Error)]
enum EmbeddingsError {
    #[error("cannot read the API key")]
    Key(#[source] ForeignError),
    #[error("cannot read the API key")]
    Stopped(#[source] JoinError),
    #[error("cannot send the API key {0:?} in a header")]
    KeyInHeader(String),
    #[error("cannot reach {endpoint}")]
    Unreachable { endpoint: Endpoint, source: Cause },
    #[error("{endpoint} did not answer within {seconds} s")]
    TimedOut { endpoint: Endpoint, seconds: f32 },
    #[error("{endpoint} answered more than {MAX_ANSWER_BYTES} bytes")]
    TooLong { endpoint: Endpoint },
    #[error("{endpoint} answered {problem}")]
    NoEmbeddings { endpoint: Endpoint, problem: String },
    #[error("{endpoint} answered {status}{message}")]
    Refused {
        endpoint: Endpoint,
        status: u16,
        /// Behind a colon, if there is one.
        message: String,
    },
}

/// A server that makes vectors.
pub struct Embeddings {
    url: Url,
    endpoint: Endpoint,
    model: String,
    key: Option<Key>,
    client: OnceCell<reqwest::Client>,
}

impl std::fmt::Debug for Embeddings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Embeddings")
            .field("endpoint", &self.endpoint)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// What a server answers.
#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Embeddings {
    /// The server below this address. Touches nothing.
    pub fn new(base_url: &Url, model: &str, key: Option<Key>) -> Embeddings {
        let mut url = base_url.clone();
        url.set_path(&format!(
            "{}/embeddings",
            base_url.path().trim_end_matches('/')
        ));
        Embeddings {
            endpoint: Endpoint::of(&url),
            url,
            model: model.to_owned(),
            key,
            client: OnceCell::new(),
        }
    }

    async fn ask(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbeddingsError> {
        let endpoint = || self.endpoint.clone();
        let key = match self.key.clone() {
            // A keyring may be locked.
            Some(key) => {
                let read = tokio::task::spawn_blocking(move || key()).await;
                let read = read.map_err(EmbeddingsError::Stopped)?;
                Some(read.map_err(EmbeddingsError::Key)?)
            }
            None => None,
        };
        let unreachable = |error: reqwest::Error| EmbeddingsError::Unreachable {
            endpoint: endpoint(),
            source: Cause::new(error.without_url()),
        };
        let client = self
            .client
            .get_or_try_init(|| async { http::client(&self.url, Timeouts::default()) })
            .await
            .map_err(unreachable)?;
        let body = json!({"model": self.model, "input": texts, "encoding_format": "float"});
        let mut request = client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        if let Some(key) = &key {
            let bearer = HeaderValue::try_from(format!("Bearer {}", key.reveal()));
            let mut bearer =
                bearer.map_err(|_| EmbeddingsError::KeyInHeader(key.name().to_owned()))?;
            bearer.set_sensitive(true);
            request = request.header(AUTHORIZATION, bearer);
        }
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let most = match status.is_success() {
            true => MAX_ANSWER_BYTES,
            false => MAX_REFUSAL_BYTES,
        };
        let mut answer = Vec::new();
        let mut chunks = pin!(response.bytes_stream());
        while let Some(chunk) = chunks.next().await {
            answer.extend_from_slice(&chunk.map_err(unreachable)?);
            if answer.len() > most {
                if status.is_success() {
                    let endpoint = endpoint();
                    return Err(EmbeddingsError::TooLong { endpoint });
                }
                break;
            }
        }
        if status.is_success() {
            return in_order(&answer, texts.len()).map_err(|problem| {
                let endpoint = endpoint();
                EmbeddingsError::NoEmbeddings { endpoint, problem }
            });
        }
        let text = String::from_utf8_lossy(&answer);
        // Servers like to quote the key that they refuse.
        let text = match &key {
            Some(key) => key.mask_in(&text),
            None => text.into_owned(),
        };
        let message = error_body::readable(&text);
        let message = message.map(|message| format!(": {message}"));
        Err(EmbeddingsError::Refused {
            endpoint: endpoint(),
            status: status.as_u16(),
            message: message.unwrap_or_default(),
        })
    }
}

#[async_trait]
impl Embedder for Embeddings {
    fn name(&self) -> Option<String> {
        Some(format!("{} at {}", self.model, self.endpoint))
    }

    fn address(&self) -> Option<Url> {
        Some(self.url.clone())
    }

    async fn embed(
        &self,
        texts: Vec<String>,
        within: Duration,
    ) -> Result<Vec<Vec<f32>>, ForeignError> {
        let answered = timeout(within, self.ask(&texts)).await;
        let answered = answered.map_err(|_| EmbeddingsError::TimedOut {
            endpoint: self.endpoint.clone(),
            seconds: within.as_secs_f32(),
        })?;
        Ok(answered?)
    }
}

/// The vectors of an answer in the order of their texts. All or nothing: a server has no half of an answer.
fn in_order(answer: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, String> {
    let answer: Answer =
        serde_json::from_slice(answer).map_err(|_| "something else than embeddings".to_owned())?;
    let count = answer.data.len();
    if count != texts {
        return Err(format!("{count} embeddings for {texts} texts"));
    }
    let mut vectors = vec![Vec::new(); texts];
    for (place, item) in answer.data.into_iter().enumerate() {
        // Some leave it out.
        let index = item.index.unwrap_or(place);
        match vectors.get_mut(index) {
            Some(vector) if vector.is_empty() => *vector = item.embedding,
            _ => {
                return Err(format!(
                    "embeddings with the number {index} twice or too many"
                ));
            }
        }
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_stand_in_the_order_of_their_texts() {
        let answer =
            br#"{"data":[{"index":1,"embedding":[2.0]},{"index":0,"embedding":[1]}],"usage":{}}"#;
        assert_eq!(in_order(answer, 2).unwrap(), [[1.0], [2.0]]);
        let bare = br#"{"data":[{"embedding":[1.0]},{"embedding":[2.0]}]}"#;
        assert_eq!(in_order(bare, 2).unwrap(), [[1.0], [2.0]]);
        for (answer, said) in [
            (&b"<html>"[..], "something else"),
            (br#"{"error":"no"}"#, "something else"),
            (br#"{"data":[{"embedding":["x"]}]}"#, "something else"),
            (bare, "2 embeddings for 3 texts"),
            (
                br#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]},{"index":9,"embedding":[1]}]}"#,
                "the number 0 twice",
            ),
        ] {
            let error = in_order(answer, 3).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn an_address_is_that_of_the_embeddings() {
        for url in ["https://h/v1", "https://h/v1/"] {
            let made = Embeddings::new(&url.parse().unwrap(), "m", None);
            assert_eq!(made.name().unwrap(), "m at https://h/v1/embeddings");
        }
    }
}
