//! How long the user thought about the questions of a call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use parking_lot::Mutex;

use crate::ask::{Answer, Ask, Question, TextQuestion};
use crate::call::{Failure, Outcome, Success};
use crate::model::Model;

/// Asks as somebody else does, and knows how long the user thought.
pub(in crate::host) struct Timed {
    ask: Arc<dyn Ask>,
    begun: Instant,
    waited: Mutex<Duration>,
}

impl Timed {
    pub(in crate::host) fn new(ask: Arc<dyn Ask>) -> Arc<Timed> {
        Arc::new(Timed {
            ask,
            begun: Instant::now(),
            waited: Mutex::default(),
        })
    }

    /// What a call that asks through this came to, and how long it took without the user.
    pub(in crate::host) async fn outcome(
        &self,
        run: impl Future<Output = Result<Success, Failure>>,
    ) -> Outcome {
        let result = run.await;
        let waited = *self.waited.lock();
        Outcome {
            result,
            duration: self.begun.elapsed().saturating_sub(waited),
            edits: Vec::new(),
            said: String::new(),
        }
    }

    async fn time<T>(&self, asked: impl Future<Output = T>) -> T {
        let begin = Instant::now();
        let answer = asked.await;
        *self.waited.lock() += begin.elapsed();
        answer
    }
}

#[async_trait]
impl Ask for Timed {
    async fn ask(&self, question: Question) -> Answer {
        self.time(self.ask.ask(question)).await
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        self.time(self.ask.ask_text(question)).await
    }

    fn is_attended(&self) -> bool {
        self.ask.is_attended()
    }

    fn answers_texts(&self) -> bool {
        self.ask.answers_texts()
    }

    fn model(&self) -> Option<Arc<dyn Model>> {
        self.ask.model()
    }

    fn went_unasked(&self, question: &Question) {
        self.ask.went_unasked(question);
    }
}
