//! What the host calls when a tool wants a subagent. It hands the task to whoever runs them, and waits.

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ForeignError;
use dunlin_host::subagent::{SubagentReport, SubagentTask, Subagents};
use tokio::sync::{mpsc, oneshot};

use super::{MAX_OF_TURN, Roster};

/// A subagent that is to be started.
pub struct Start {
    /// The id of the call that it runs for.
    pub call: String,
    /// What it is to do.
    pub task: SubagentTask,
    /// Where the report goes. Closed when nobody wants it any more.
    pub report: oneshot::Sender<Result<SubagentReport, ForeignError>>,
}

/// Starts the subagents of one turn.
pub struct Launcher {
    starts: mpsc::UnboundedSender<Start>,
    roster: Arc<Roster>,
}

impl Launcher {
    /// And what it has started.
    pub fn new(roster: &Arc<Roster>) -> (Launcher, mpsc::UnboundedReceiver<Start>) {
        let (starts, started) = mpsc::unbounded_channel();
        let roster = Arc::clone(roster);
        (Launcher { starts, roster }, started)
    }
}

#[async_trait]
impl Subagents for Launcher {
    async fn run(&self, call: &str, task: SubagentTask) -> Result<SubagentReport, ForeignError> {
        if !self.roster.reserve() {
            return Err(format!(
                "this turn has started {MAX_OF_TURN} subagents already; do the rest without one"
            )
            .into());
        }
        let (report, reported) = oneshot::channel();
        let start = Start {
            call: call.to_owned(),
            task,
            report,
        };
        let ended = || ForeignError::from("the turn has ended");
        self.starts.send(start).map_err(|_| ended())?;
        reported.await.map_err(|_| ended())?
    }
}
