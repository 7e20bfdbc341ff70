//! The body of an answer, piece by piece as it comes.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::time::timeout;

use super::error::{EgressError, Waiting, in_answer};

/// Time that is left for waiting. Only what is waited for through it counts: not the time in which somebody thinks
/// about a question, nor that in which nobody reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    whole: Option<Duration>,
    left: Option<Duration>,
}

impl Budget {
    pub(super) fn new(whole: Option<Duration>) -> Budget {
        Budget { whole, left: whole }
    }

    /// Waits, at most as long as `limit` and what is left. The error is the limit that passed.
    pub(super) async fn wait<T>(
        &mut self,
        limit: Option<Duration>,
        what: impl Future<Output = T>,
    ) -> Result<T, Duration> {
        let Some(shortest) = limit.into_iter().chain(self.left).min() else {
            return Ok(what.await);
        };
        let began = Instant::now();
        let outcome = timeout(shortest, what).await;
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(began.elapsed());
        }
        outcome.map_err(|_| match (limit, self.whole) {
            (Some(limit), _) if limit == shortest => limit,
            (_, whole) => whole.unwrap_or(shortest),
        })
    }
}

/// What is still to come of an answer. Dropping it closes the connection.
#[derive(Debug)]
pub struct Body {
    response: Option<reqwest::Response>,
    host: String,
    /// What may come at most, decompressed, and how much of that did not come yet.
    most: u64,
    left: u64,
    budget: Budget,
    idle: Option<Duration>,
}

impl Body {
    pub(super) fn new(
        response: reqwest::Response,
        host: String,
        most: u64,
        budget: Budget,
        idle: Option<Duration>,
    ) -> Body {
        Body {
            response: Some(response),
            host,
            most,
            left: most,
            budget,
            idle,
        }
    }

    /// Waits for the next piece, decompressed and never empty. `None`: that was all, or the last piece failed.
    ///
    /// # Errors
    /// The connection breaks off, time runs out, more comes than was allowed for, or it cannot be decompressed.
    /// Dropping the future loses nothing: the piece comes with the next call.
    pub async fn next(&mut self) -> Result<Option<Bytes>, EgressError> {
        loop {
            let Some(response) = &mut self.response else {
                return Ok(None);
            };
            let waited = self.budget.wait(self.idle, response.chunk()).await;
            let outcome = match waited {
                Err(after) => Err(EgressError::TimedOut {
                    host: self.host.clone(),
                    waiting: Waiting::Body,
                    after,
                }),
                Ok(Err(error)) => Err(in_answer(&error, &self.host)),
                Ok(Ok(Some(piece))) if piece.is_empty() => continue,
                Ok(Ok(Some(piece))) => match self.left.checked_sub(piece.len() as u64) {
                    Some(left) => {
                        self.left = left;
                        Ok(Some(piece))
                    }
                    None => Err(EgressError::TooLarge {
                        host: self.host.clone(),
                        most: self.most,
                    }),
                },
                Ok(Ok(None)) => Ok(None),
            };
            if !matches!(outcome, Ok(Some(_))) {
                self.response = None;
            }
            return outcome;
        }
    }

    /// Everything that is still to come, at once.
    ///
    /// # Errors
    /// Those of [`Body::next`].
    pub async fn all(mut self) -> Result<Vec<u8>, EgressError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(&piece);
        }
        Ok(all)
    }

    /// The pieces as a stream, which ends after an error.
    pub fn into_stream(self) -> BoxStream<'static, Result<Bytes, EgressError>> {
        let next = |mut body: Body| async move {
            let piece = body.next().await?;
            Ok(piece.map(|piece| (piece, body)))
        };
        stream::try_unfold(self, next).boxed()
    }
}
