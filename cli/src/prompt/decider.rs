//! Who decides about calls: the user at the terminal, somebody elsewhere, or nobody.

use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;

use dunlin_chat::turn::Approver;
use dunlin_chat::turn::approve::DenyAll;
use dunlin_host::Tool;
use dunlin_host::ask::Ask;

use super::approval_queue::QueueAsk;
use super::approver::{QueueApprover, TerminalApprover};
use super::elsewhere::{ElsewhereApprover, ElsewhereAsk};
use super::line::Recall;
use crate::app::App;

/// The number of the chat's own turn among the turns that wait together.
const TURN: u64 = 0;

/// Decides about the calls of one turn and of its subagents.
pub struct Decider<'a> {
    app: &'a App,
    terminal: Option<TerminalApprover<'a>>,
    own: Box<dyn Approver + 'a>,
}

impl<'a> Decider<'a> {
    /// `tools` is what `/tools` lists, `recall` what the line editor knows.
    pub fn new(app: &'a App, tools: &'a [Tool], recall: Arc<Recall>) -> Decider<'a> {
        let terminal = app
            .asks()
            .then(|| TerminalApprover::new(app, tools, recall));
        // Without a host there is nothing to be noted.
        if let (None, None, Ok(host)) = (&terminal, app.question_handler(), app.host()) {
            host.nobody_answers();
        }
        let own = approver(app, terminal.as_ref(), TURN, None);
        Decider { app, terminal, own }
    }

    /// Decides about the calls of the turn before they run.
    pub fn approver(&self) -> &dyn Approver {
        self.own.as_ref()
    }

    /// Decides about the calls of a subagent before they run. `number` is no other subagent's.
    pub fn approver_of(&self, number: u64, name: &str) -> Box<dyn Approver + 'a> {
        approver(
            self.app,
            self.terminal.as_ref(),
            TURN + number,
            Some(name.to_owned()),
        )
    }

    /// Decides about what comes up while a call of the turn, or of the subagent with this name, runs.
    pub fn ask(&self, subagent: Option<&str>) -> Arc<dyn Ask> {
        let ui = Arc::clone(&self.app.ui);
        let calls = Arc::clone(&self.app.calls);
        let subagent = subagent.map(str::to_owned);
        match (&self.terminal, self.app.question_handler()) {
            (Some(terminal), _) => Arc::new(QueueAsk {
                queue: Arc::clone(terminal.queue()),
                ui,
                calls,
                subagent,
            }),
            (None, Some(question_handler)) => Arc::new(ElsewhereAsk {
                question_handler: Arc::clone(question_handler),
                ui,
                calls,
                subagent,
            }),
            (None, None) => Arc::new(dunlin_host::ask::DenyAll),
        }
    }

    /// Has the user asked. Never ends; to be polled beside the turn.
    pub async fn serve(&self) -> Infallible {
        match &self.terminal {
            Some(terminal) => terminal.serve().await,
            None => pending().await,
        }
    }
}

fn approver<'a>(
    app: &'a App,
    terminal: Option<&TerminalApprover<'a>>,
    turn: u64,
    subagent: Option<String>,
) -> Box<dyn Approver + 'a> {
    match (terminal, app.question_handler()) {
        (Some(terminal), _) => Box::new(QueueApprover::new(app, terminal.queue(), turn, subagent)),
        (None, Some(question_handler)) => Box::new(ElsewhereApprover {
            app,
            question_handler: Arc::clone(question_handler),
            subagent,
        }),
        (None, None) => Box::new(DenyAll),
    }
}
