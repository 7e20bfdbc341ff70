//! Answers a question: the chunks that most likely hold what it means.

mod features;
mod functions;
mod gather;
mod hits;
mod query;
mod rerank;
mod text;
mod weights;

use crate::index::Index;
use crate::store::Store;

pub use features::Candidate;
pub use hits::Hit;
pub use query::QueryError;
pub use rerank::{Passage, Rerank};
pub use weights::{FEATURES, Weights};

/// The passages that an embedding model is given: it can only choose among them, and each takes it time. Most often
/// what is meant is one of so many; the time of more is better spent on the functions of these files.
const RERANKED: usize = 10;

/// A question.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// What is asked, best as a whole sentence.
    pub text: String,
    /// Where to look: globs of paths; a folder stands for all below it. None means everywhere.
    pub globs: Vec<String>,
    /// How many hits are wanted; 0 means [`Query::DEFAULT_LIMIT`].
    pub limit: usize,
}

impl Query {
    /// Hits of an answer unless another number is asked for.
    pub const DEFAULT_LIMIT: usize = 10;

    /// The most hits of an answer.
    pub const MAX_LIMIT: usize = 100;

    /// How many hits are wanted.
    pub(crate) fn limit(&self) -> usize {
        match self.limit {
            0 => Self::DEFAULT_LIMIT,
            limit => limit.min(Self::MAX_LIMIT),
        }
    }
}

/// What a question found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Whether a part of the index turned out to be damaged and was dropped: the next update reads it again.
    pub damaged: bool,
    /// Whether the question had no word to look for.
    pub is_empty_question: bool,
}

impl Index {
    /// Answers a question from what is indexed.
    ///
    /// `read` gives the text of a file as it is now; hits are cut from that. A file that cannot be read is not a hit.
    /// With `rerank` the best candidates are ordered anew by what they mean.
    pub fn search(
        &mut self,
        store: &mut dyn Store,
        query: &Query,
        read: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
        rerank: Option<&mut dyn Rerank>,
    ) -> Result<Answer, QueryError> {
        self.search_with(store, query, read, rerank, &Weights::default())
    }

    /// Like [`Index::search`] with other weights, for measuring them.
    pub fn search_with(
        &mut self,
        store: &mut dyn Store,
        query: &Query,
        read: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
        rerank: Option<&mut dyn Rerank>,
        weights: &Weights,
    ) -> Result<Answer, QueryError> {
        let (mut ranked, question, damaged) = self.candidates(store, query, weights)?;
        let mut answer = Answer {
            damaged,
            is_empty_question: question.is_empty(),
            ..Answer::default()
        };
        let limit = query.limit();
        let mut finder = hits::Finder::new(self, &question, &ranked, read);
        let declared = finder.functions(&mut ranked.candidates, &question, weights);
        let candidates = ranked.candidates;
        answer.hits = match rerank {
            Some(rerank) => {
                let count = RERANKED.max(2 * limit);
                let passages = finder.passages(&candidates, count, weights);
                let passages =
                    rerank::apply(passages, RERANKED, declared, &query.text, rerank, weights);
                hits::Finder::hits(passages, limit)
            }
            None => finder.best(&candidates, limit, weights),
        };
        Ok(answer)
    }

    /// The files that have anything of a question, best first, with what speaks for each.
    pub fn explain(
        &mut self,
        store: &mut dyn Store,
        query: &Query,
        weights: &Weights,
    ) -> Result<Vec<Candidate>, QueryError> {
        Ok(self.candidates(store, query, weights)?.0.candidates)
    }

    fn candidates(
        &mut self,
        store: &mut dyn Store,
        query: &Query,
        weights: &Weights,
    ) -> Result<(features::Ranked, query::Question, bool), QueryError> {
        let question = query::Question::new(&query.text, weights);
        let filter = query::Filter::new(&query.globs)?;
        let gathered = gather::gather(self, store, &question, &filter)?;
        let damaged = gathered.damaged;
        let ranked = features::rank(self, &gathered, &question, weights);
        Ok((ranked, question, damaged))
    }
}
