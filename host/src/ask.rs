//! The asking of the user, behind a trait: the host never talks to a terminal.

use std::sync::Arc;

use async_trait::async_trait;

pub use crate::answer::{Answer, Scope};
use crate::call::{Action, WebRequest};
use crate::model::Model;
use crate::subagent::Subagents;
use crate::target::Need;

/// Why the user is asked although the tool could have said so before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The tool declared it in `prepare`.
    Declared,
    /// The tool uses it without having declared it. The question is the host's own.
    Undeclared,
    /// The program of an app uses it. It declares nothing, and the question is the host's own. What stands in place of a tool
    /// is `app 'NAME'`.
    App,
    /// What the tool asked for redirects it to another address. The question is the host's own.
    Redirect,
    /// The name in an address leads to a machine that is asked about. The question is the host's own.
    Address,
    /// The server of a tool wants it in the middle of a call. The question is the host's own.
    Server,
}

/// A question for the user. Its texts may hold anything a model or a plugin can write:
/// show them only through [`crate::display::escape`].
#[derive(Debug, Clone)]
pub struct Question {
    /// The id of the call it belongs to.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The call's arguments, as the model wrote them.
    pub arguments: serde_json::Value,
    /// One line: the tool's own words if declared, the host's otherwise.
    pub wording: String,
    /// What would be granted, resolved; only what is not decided yet.
    pub needs: Vec<Need>,
    /// What would happen: the answer holds for exactly that.
    pub actions: Vec<Action>,
    /// Things the user should know before answering, each one short sentence: outside the project,
    /// looks like a secret, the plugin changed since the grant.
    pub notices: Vec<String>,
    /// What a permanent yes stores: the needs, or in place of a compound line those of its commands that are not stored yet.
    pub lasting: Vec<Need>,
    /// The longest that a yes may hold; a longer one is shortened to it.
    pub longest: Scope,
    /// Whether the tool declared it.
    pub origin: Origin,
}

impl Question {
    /// What an answer is about: what it stores, or decides for now. The answer holds no longer than it may.
    pub fn answered(&self, answer: Answer) -> &[Need] {
        answer.about(self.longest, &self.needs, &self.lasting)
    }
}

/// A question that a tool has for the user, answered with a text. Its own texts may hold anything a model or a
/// plugin can write: show them only through [`crate::display`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextQuestion {
    /// The id of the call it belongs to.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What is asked; may have several lines.
    pub question: String,
    /// Answers to choose from; may be none.
    pub options: Vec<String>,
    /// The MCP server that asks and gets the answer, by its name in the configuration. `None`: the tool itself.
    pub server: Option<String>,
    /// Whether it looks as if a secret is asked for, which nobody should see being typed.
    pub secret: bool,
}

/// Something that a tool uses without having announced it.
#[derive(Debug)]
pub struct Unplanned<'a> {
    /// What it uses.
    pub need: &'a Need,
    /// The target as the tool wrote it.
    pub written: &'a str,
    /// The request that it sends, if it is one.
    pub request: Option<&'a WebRequest>,
}

/// Asks the user.
///
/// The returned future may wait for as long as the user thinks; the host stops the clock of the call
/// meanwhile. Dropping the future withdraws the question.
#[async_trait]
pub trait Ask: Send + Sync {
    /// Asks one question.
    async fn ask(&self, question: Question) -> Answer;

    /// Asks for a text. `None`: nobody is there, or they do not want to answer. An option that was chosen comes
    /// back exactly.
    async fn ask_text(&self, _question: TextQuestion) -> Option<String> {
        None
    }

    /// Whether anybody is there to answer. Where nobody is, a question is a denial that no user gave.
    fn is_attended(&self) -> bool {
        true
    }

    /// Whether anybody is there to be asked for a text. Somebody may be who decides about nothing.
    fn answers_texts(&self) -> bool {
        self.is_attended()
    }

    /// The model of the chat, where servers may ask it if the user agrees.
    fn model(&self) -> Option<Arc<dyn Model>> {
        None
    }

    /// What runs subagents, where they can run.
    fn subagents(&self) -> Option<Arc<dyn Subagents>> {
        None
    }

    /// Told of a question that was denied because nobody was there to be asked. Called from within the call: must not
    /// block.
    fn went_unasked(&self, _question: &Question) {}

    /// Told of each use that the plan of its call does not announce, whether it is allowed or not, before anybody is asked.
    /// Called from within the call: must not block.
    fn uses_unplanned(&self, _unplanned: &Unplanned<'_>) {}
}

/// Denies everything: for tests, and wherever nobody can be asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct DenyAll;

#[async_trait]
impl Ask for DenyAll {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::DENY
    }

    fn is_attended(&self) -> bool {
        false
    }
}
