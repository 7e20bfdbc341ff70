//! Has the host's embedding model order what the words have found.

use dunlin_code_index::{Passage, Rerank, Vectors};
use dunlin_sdk::{Error, embedding};

use crate::project::OwnStore;

/// The longest wait for a model, in milliseconds. One of this machine keeps itself to a tenth of it, a server may not.
const WITHIN_MS: u32 = 3_000;

/// Ranks passages by the host's embedding model.
#[derive(Debug)]
pub struct SemanticRanker {
    model: String,
    /// Why it could not be used.
    trouble: Option<Error>,
}

impl SemanticRanker {
    /// The model that the host has. `None`: it has none.
    pub fn of_host() -> Option<Self> {
        Some(Self {
            model: embedding::model()?,
            trouble: None,
        })
    }

    /// What kept it from being used, if anything did.
    pub fn trouble(self) -> Option<Error> {
        self.trouble
    }

    fn nearness(
        &mut self,
        question: &str,
        passages: &[Passage],
    ) -> Result<Vec<Option<f32>>, Error> {
        let mut store = OwnStore;
        // What cannot be kept is made again the next time.
        let mut vectors = Vectors::open(&store, &self.model).unwrap_or_default();
        let gists: Vec<String> = passages.iter().map(Passage::gist).collect();
        let digests: Vec<u64> = gists.iter().map(|gist| Vectors::digest(gist)).collect();
        let mut texts = vec![question];
        let mut fresh = Vec::new();
        for (gist, digest) in gists.iter().zip(&digests) {
            if !vectors.has(*digest) && !fresh.contains(digest) {
                texts.push(gist);
                fresh.push(*digest);
            }
        }
        let mut made = embedding::embed(&texts, WITHIN_MS)?.into_iter();
        let Some(question) = made.next() else {
            return Ok(Vec::new());
        };
        for (digest, vector) in fresh.into_iter().zip(made) {
            vectors.keep(digest, &vector);
        }
        let _ = vectors.save(&mut store);
        let near = digests
            .iter()
            .map(|digest| vectors.nearness(*digest, &question));
        Ok(near.collect())
    }
}

impl Rerank for SemanticRanker {
    fn scores(&mut self, question: &str, passages: &[Passage]) -> Option<Vec<Option<f32>>> {
        match self.nearness(question, passages) {
            Ok(scores) => Some(scores),
            Err(error) => {
                self.trouble = Some(error);
                None
            }
        }
    }
}
