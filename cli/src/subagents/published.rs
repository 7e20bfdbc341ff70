//! What inspectors in other terminals are told of subagents.

use super::{Roster, Subagent};
use crate::inspect::protocol::{self, Subagents};

impl Roster {
    /// All that are listed, as inspectors are told of them.
    pub fn published(&self) -> Subagents {
        let all = self.all();
        Subagents::shortened(all.iter().map(|it| published(it)).collect())
    }
}

fn published(subagent: &Subagent) -> protocol::Subagent {
    let live = subagent.live();
    protocol::Subagent {
        number: subagent.number,
        name: subagent.name.clone(),
        model: subagent.speaker.model.clone(),
        task: subagent.task.clone(),
        state: subagent.row().state,
        end: live.end.as_ref().map(|end| end.word().to_owned()),
        calls: live.calls,
        rounds: live.rounds,
        usage: live.charge.usage,
        begun: live.begun_at,
        duration_ms: live
            .duration
            .map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
        request: live.logged,
    }
}
