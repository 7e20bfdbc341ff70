//! A hook as it is configured.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::pinned::Pinned;
use crate::display::{one_line, shorten};

/// Characters of a command that name its hook.
pub(super) const MAX_NAME_CHARS: usize = 60;

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// Before a call, which it can deny.
    BeforeCall,
    /// After a call that changed files.
    AfterEdit,
    /// When a turn is over.
    TurnEnd,
}

impl HookEvent {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            HookEvent::BeforeCall => "before-call",
            HookEvent::AfterEdit => "after-edit",
            HookEvent::TurnEnd => "turn-end",
        }
    }
}

/// A hook as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    /// What the shell gets.
    pub command: String,
    /// The tools whose calls it is about: names, of which one may end with `*`; `None`: all.
    pub tools: Option<Vec<String>>,
    /// How long it may take.
    pub time_limit: Duration,
    /// Where it is configured: the file and the line.
    pub origin: String,
    /// The files of the project that its command names, as they were when it was configured or trusted.
    pub pinned: Vec<Pinned>,
}

impl Hook {
    /// What it is called where it is spoken of: its command, escaped and shortened.
    pub fn name(&self) -> String {
        shorten(&one_line(&self.command), MAX_NAME_CHARS).into_owned()
    }

    /// Where it is configured, for whoever has to look at it there. Escaped.
    pub(super) fn place(&self) -> String {
        one_line(&self.origin)
    }

    pub(super) fn is_about(&self, event: HookEvent, tool: &str) -> bool {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => tool.starts_with(start),
            None => tool == pattern,
        };
        self.event == event
            && self
                .tools
                .as_ref()
                .is_none_or(|tools| tools.iter().any(fits))
    }
}
