//! An embedding model in this process. It is loaded when somebody wants vectors for the first time, never before.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use dunlin_host::ForeignError;
use dunlin_host::egress::Url;
use dunlin_host::embedding::Embedder;
use dunlin_local::{Encoder, LoadError, ReplyError};
use parking_lot::Mutex;
use tokio::task::JoinError;

use super::StopWhenDropped;
use crate::config::paths::Folders;
use crate::models::{EMBEDDING_MODEL, embedding_model_file};

/// How long one question may take, loading included: somebody is waiting for an answer that the words alone could give.
const BUDGET: Duration = Duration::from_millis(380);

/// Tokens of a text that are read. More cost as much as they bring.
const TOKENS: usize = 64;

/// What is kept of a text also depends on what the model was taught: a change of that is another model.
const TAUGHT: &str = "code, 1";

/// Why there are no vectors.
#[derive(Debug, thiserror::Error)]
enum EmbeddingError {
    #[error("cannot load the embedding model (`dunlin model pull {}` downloads it again)", EMBEDDING_MODEL.name)]
    Load(#[from] LoadError),
    #[error("cannot compute embeddings")]
    Compute(#[from] ReplyError),
    #[error("the embedding model was stopped")]
    Stopped(#[source] JoinError),
}

/// The model of the catalogue, if its file is there.
#[derive(Debug)]
pub struct LocalEmbedding {
    path: PathBuf,
    encoder: Arc<Mutex<Option<Encoder>>>,
}

impl LocalEmbedding {
    /// Touches nothing.
    pub fn new(folders: &Folders) -> LocalEmbedding {
        LocalEmbedding {
            path: embedding_model_file(&folders.models()),
            encoder: Arc::default(),
        }
    }
}

#[async_trait]
impl Embedder for LocalEmbedding {
    fn name(&self) -> Option<String> {
        // What is kept of a text depends on how much of it was read.
        self.path
            .is_file()
            .then(|| format!("{} for {TAUGHT}, of {TOKENS} tokens", EMBEDDING_MODEL.name))
    }

    fn address(&self) -> Option<Url> {
        None
    }

    async fn embed(
        &self,
        texts: Vec<String>,
        within: Duration,
    ) -> Result<Vec<Vec<f32>>, ForeignError> {
        let deadline = Instant::now() + within.min(BUDGET);
        let stop = StopWhenDropped(Arc::default());
        let (path, encoder) = (self.path.clone(), Arc::clone(&self.encoder));
        let stopped = Arc::clone(&stop.0);
        let computed = tokio::task::spawn_blocking(move || {
            compute(&path, &encoder, &texts, deadline, &stopped)
        });
        let computed = computed.await.map_err(EmbeddingError::Stopped)?;
        Ok(computed?)
    }
}

fn compute(
    path: &std::path::Path,
    encoder: &Mutex<Option<Encoder>>,
    texts: &[String],
    deadline: Instant,
    stopped: &AtomicBool,
) -> Result<Vec<Vec<f32>>, EmbeddingError> {
    let mut encoder = encoder.lock();
    let encoder = match &mut *encoder {
        Some(encoder) => encoder,
        empty => empty.insert(Encoder::load_for_code(path)?),
    };
    let vectors = encoder.encode(texts, TOKENS, &|| {
        stopped.load(Ordering::Relaxed) || Instant::now() >= deadline
    })?;
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_model_that_is_not_there_is_none_and_a_damaged_one_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = embedding_model_file(folder.path());
        let embedding = LocalEmbedding {
            path: path.clone(),
            encoder: Arc::default(),
        };
        assert_eq!(embedding.name(), None);
        std::fs::write(&path, "no weights at all").unwrap();
        assert!(embedding.name().unwrap().starts_with("minilm"));
        let texts = vec!["a bird".to_owned()];
        let error = embedding.embed(texts, BUDGET).await.unwrap_err();
        let error = dunlin_host::display::chain(&*error);
        assert!(error.contains("minilm"), "{error}");
        assert!(error.contains("dunlin model pull minilm"), "{error}");
    }
}
