//! Somebody who answers elsewhere than at the terminal, such as the user of an editor.

use async_trait::async_trait;
use dunlin_host::ask::{Answer, TextQuestion};
use dunlin_terminal::approval::entry::Entry;

/// Answers the questions of the turns of one session.
#[async_trait]
pub trait QuestionHandler: Send + Sync {
    /// Asks about a call before it runs, or about what comes up while it runs. `None`: the turn is to end. Dropping the
    /// future withdraws the question.
    async fn decide(&self, entry: &Entry) -> Option<Answer>;

    /// Asks for a text. `None`: there will be none.
    async fn text(&self, question: &TextQuestion) -> Option<String>;

    /// Whether a text can be asked for.
    fn takes_texts(&self) -> bool;

    /// Waits until the turn is to end. Ready at once where that was said before.
    async fn cancelled(&self);
}
