//! What a turn meets: the tools, whoever shows it, and everything that is decided beforehand.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Ask};
use dunlin_host::call::{Call, Failure, Outcome, Plan};
use dunlin_host::permission::ToolMode;
use dunlin_host::target::Need;
use dunlin_host::{Host, Progress, Tool};
use parking_lot::Mutex;

use super::approve::Approver;
use super::call::{CallView, TurnCall};
use super::event::TurnRules;
use super::journal::Journal;
use super::pause::Interceptor;
use crate::agent::Agent;
use crate::provider::Provider;
use crate::provider::retry::{RetryPolicy, Retrying};
use crate::request::{ContextBudget, HistoryLimits};

/// What runs tools. [`Host`] does; tests have their own.
#[async_trait]
pub trait Tools: Send + Sync {
    /// What is known about a call before it runs. Never asks.
    async fn prepare(&self, call: &Call) -> Result<Plan, Failure>;

    /// Keeps what the user answered to a call.
    ///
    /// # Errors
    /// The answer could not be kept; the call must not run then.
    async fn answer(&self, call: &Call, plan: &Plan, answer: Answer) -> Result<(), Failure>;

    /// Runs a call as it was planned; what it is about to touch is checked again by then, whatever was answered.
    /// Dropping the future stops it.
    async fn run(
        &self,
        call: &Call,
        plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome;

    /// Notes that a call was dropped while it ran, or that what was answered for it alone is void. How it ended, if it had.
    fn cancelled(&self, call: &Call) -> Option<Outcome>;

    /// Whether the user does not want a tool to be used: it is not offered then.
    fn is_off(&self, _tool: &str) -> bool {
        false
    }

    /// Tools that have come since the turn began, or before it in the same session.
    fn joined(&self) -> Vec<Tool> {
        Vec::new()
    }

    /// What the user should know of them, one line each; told once.
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }
}

#[async_trait]
impl Tools for Host {
    async fn prepare(&self, call: &Call) -> Result<Plan, Failure> {
        Host::prepare(self, call).await
    }

    async fn answer(&self, call: &Call, plan: &Plan, answer: Answer) -> Result<(), Failure> {
        Host::answer(self, call, plan, answer).await
    }

    async fn run(
        &self,
        call: &Call,
        plan: &Plan,
        ask: Arc<dyn Ask>,
        progress: Arc<dyn Progress>,
    ) -> Outcome {
        Host::run(self, call, plan, ask, progress).await
    }

    fn cancelled(&self, call: &Call) -> Option<Outcome> {
        Host::cancelled(self, call)
    }

    fn is_off(&self, tool: &str) -> bool {
        self.permissions().tool_mode(tool) == ToolMode::Never
    }

    fn joined(&self) -> Vec<Tool> {
        Host::joined(self)
    }

    fn take_notices(&self) -> Vec<String> {
        Host::take_notices(self)
    }
}

/// Shows a turn. All of it is called in place, so it must not block; texts of the model are as they
/// came: escape before showing.
pub trait Frontend: Progress {
    /// A request is being sent: the first of the turn is round 1.
    fn round(&self, _round: u32) {}
    /// A piece of the answer.
    fn text(&self, piece: &str);
    /// A piece of the reasoning.
    fn reasoning(&self, _piece: &str) {}
    /// All pieces of the answer so far belong to the reasoning.
    fn was_reasoning(&self) {}
    /// The model has begun to write a call of this tool.
    fn call_started(&self, _tool: &str) {}
    /// The reply of a round is over, whole or not; whether it has calls, so that what it said was said between them.
    fn reply_ended(&self, _has_calls: bool) {}
    /// A call is proposed, or has changed.
    fn call(&self, call: &CallView);
    /// The same with all there is to know of it; comes before it is shown.
    fn keep_call(&self, _call: &TurnCall) {}
    /// What the running call has printed so far, as plain text and not much of it: the newest.
    fn output_so_far(&self) -> Option<String> {
        None
    }
    /// Something the user should know, one line.
    fn notice(&self, text: &str);
    /// An answer was kept for as long as it says: what it covers, and what takes it back, is for the user to know.
    fn stored(&self, _tool: &str, _needs: &[Need], _answer: Answer) {}
    /// Something the user must know, one line.
    fn warning(&self, text: &str) {
        self.notice(text);
    }
    /// The request has failed and is sent again after a wait: told when it begins, every second while it lasts,
    /// and `None` when it is over.
    fn retrying(&self, _wait: Option<&Retrying>) {}
}

/// What calls need, whoever proposed them.
pub struct CallContext<'a> {
    /// What runs them.
    pub tools: &'a dyn Tools,
    /// What the turn may do.
    pub rules: TurnRules,
    /// Decides about calls before they run.
    pub approver: &'a dyn Approver,
    /// Asks the user what comes up while a call runs.
    pub ask: Arc<dyn Ask>,
    /// Shows the turn.
    pub frontend: Arc<dyn Frontend>,
}

/// What a turn needs beside the conversation.
pub struct TurnContext<'a> {
    /// Who answers.
    pub agent: &'a Agent,
    /// Where.
    pub provider: &'a dyn Provider,
    /// All tools there are from the beginning, before those that join; the agent's list picks from both.
    pub tool_list: &'a [Tool],
    /// How much history is sent.
    pub limits: HistoryLimits,
    /// What the conversation costs, and what of it is not sent.
    pub context_budget: &'a Mutex<ContextBudget>,
    /// When a request that failed is sent again.
    pub retries: RetryPolicy,
    /// Keeps what happens.
    pub journal: &'a dyn Journal,
    /// Lets the user look at requests before they are sent.
    pub interceptor: &'a dyn Interceptor,
    /// For the calls.
    pub calls: CallContext<'a>,
}

/// `None`: interrupted, and `work` dropped.
pub(super) async fn unless<T>(
    interrupt: Pin<&mut impl Future<Output = ()>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        biased;
        () = interrupt => None,
        done = work => Some(done),
    }
}
