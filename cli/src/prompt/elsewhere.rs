//! Decides about calls by asking somebody who is not at the terminal.

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Ask, Question, TextQuestion};

use super::question_handler::QuestionHandler;
use crate::app::App;
use dunlin_chat::turn::log::CallLog;
use dunlin_chat::turn::{Approver, Choice, Resolution, Waiting};
use dunlin_terminal::approval::entry::Entry;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::Ui;

/// Decides about the calls of a turn before they run.
pub struct ElsewhereApprover<'a> {
    pub app: &'a App,
    /// Who is asked.
    pub question_handler: Arc<dyn QuestionHandler>,
    /// Whose turn it is, if it is a subagent's.
    pub subagent: Option<String>,
}

#[async_trait(?Send)]
impl Approver for ElsewhereApprover<'_> {
    /// One call at a time, as a lasting answer may settle the others.
    async fn decide(&self, waiting: Waiting<'_>) -> Resolution {
        let Some(call) = waiting.asking().next() else {
            return Resolution::Reconsider;
        };
        let mut entry = Entry::of(call);
        entry.mode = self.app.tool_mode(&call.call.tool);
        entry.subagent.clone_from(&self.subagent);
        match self.question_handler.decide(&entry).await {
            Some(answer) => {
                let choice = Choice::Answer(possible(&entry, answer));
                Resolution::Decided(vec![entry.decide(choice, None)])
            }
            None => Resolution::Stop,
        }
    }
}

/// Asks what comes up while a call runs.
pub struct ElsewhereAsk {
    /// Who is asked.
    pub question_handler: Arc<dyn QuestionHandler>,
    /// Says what was stored.
    pub ui: Arc<Ui>,
    /// Has the numbers of the calls.
    pub calls: Arc<CallLog>,
    /// Whose call it is, if it is a subagent's.
    pub subagent: Option<String>,
}

#[async_trait]
impl Ask for ElsewhereAsk {
    async fn ask(&self, question: Question) -> Answer {
        let index = self.calls.number_of(&question.call).unwrap_or_default();
        let entry = Entry {
            runs: true,
            subagent: self.subagent.clone(),
            ..Entry::asked(index, question)
        };
        let Some(answer) = self.question_handler.decide(&entry).await else {
            return Answer::DENY;
        };
        let answer = possible(&entry, answer);
        for text in storing::after(&entry.question, answer) {
            self.ui.say_stored(&text);
        }
        answer
    }

    async fn ask_text(&self, mut text: TextQuestion) -> Option<String> {
        if let Some(subagent) = &self.subagent {
            text.tool = format!("[{subagent}] {}", text.tool);
        }
        self.question_handler.text(&text).await
    }

    fn answers_texts(&self) -> bool {
        self.question_handler.takes_texts()
    }
}

/// The answer, or a no in place of one that this call cannot have.
fn possible(entry: &Entry, answer: Answer) -> Answer {
    match entry.refuses(answer) {
        None => answer,
        Some(_) => Answer::DENY,
    }
}
