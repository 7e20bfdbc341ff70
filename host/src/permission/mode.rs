//! What the user chose for a whole tool, until the session ends.
//!
//! A mode stands between what is stored and the defaults. `Always` answers the questions that a default would
//! ask, and no others: a deny stays a deny, whoever gave it, and what the user would want to see whatever
//! the tool is trusted with (a file that usually holds secrets, a use that the tool did not declare) is asked.
//! `Never` refuses every use, also what is granted.

use std::fmt;

use super::Permissions;

/// What holds for the calls of one tool in this session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ToolMode {
    /// Rules and answers decide, use by use.
    #[default]
    Prompt,
    /// What would be asked is allowed.
    Always,
    /// Nothing is allowed.
    Never,
}

impl ToolMode {
    /// All of them, in the order in which they are offered.
    pub const ALL: [ToolMode; 3] = [ToolMode::Prompt, ToolMode::Always, ToolMode::Never];

    /// The word that a person types for it.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolMode::Prompt => "prompt",
            ToolMode::Always => "always",
            ToolMode::Never => "never",
        }
    }
}

impl fmt::Display for ToolMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The word is none of the three.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a mode; use prompt, always or never")]
pub struct ToolModeError(pub String);

impl std::str::FromStr for ToolMode {
    type Err = ToolModeError;

    fn from_str(text: &str) -> Result<ToolMode, ToolModeError> {
        let mode = ToolMode::ALL.into_iter().find(|mode| mode.as_str() == text);
        mode.ok_or_else(|| ToolModeError(text.to_owned()))
    }
}

impl Permissions {
    /// Chooses what holds for a tool until the session ends. It counts from the next use on, also in calls
    /// that are running.
    pub fn set_tool_mode(&self, tool: &str, mode: ToolMode) {
        let mut state = self.lock();
        state.mode_options.remove(tool);
        // Whoever sets a mode means no less than what was answered at a call.
        state.calls.remove(tool);
        match mode {
            ToolMode::Prompt => drop(state.modes.remove(tool)),
            ToolMode::Always | ToolMode::Never => {
                state.modes.insert(tool.to_owned(), mode);
            }
        }
        drop(state);
        self.mode.wake();
    }

    /// Sets a tool to `always` until the session ends, because of this option of the command line, as it was typed.
    pub fn allow_tool_by_option(&self, tool: &str, option: &str) {
        let mut state = self.lock();
        state.modes.insert(tool.to_owned(), ToolMode::Always);
        state
            .mode_options
            .insert(tool.to_owned(), option.to_owned());
    }

    /// Allows the calls of a tool of an MCP server until the session ends, as long as the tool has this digest.
    pub(crate) fn allow_calls(&self, tool: &str, digest: &str) {
        let mut state = self.lock();
        state.calls.insert(tool.to_owned(), digest.to_owned());
    }

    /// Whether the calls of such a tool were allowed until the session ends.
    pub(crate) fn allows_calls(&self, tool: &str, digest: &str) -> bool {
        let state = self.lock();
        state.calls.get(tool).is_some_and(|known| known == digest)
    }

    /// Takes back that a tool is always allowed: it belongs to another plugin by now, or to another version.
    pub(crate) fn forget_always(&self, tool: &str) {
        let mut state = self.lock();
        if state.modes.get(tool) == Some(&ToolMode::Always) {
            state.modes.remove(tool);
            state.mode_options.remove(tool);
        }
    }

    /// What was chosen for a tool.
    pub fn tool_mode(&self, tool: &str) -> ToolMode {
        self.lock().modes.get(tool).copied().unwrap_or_default()
    }
}
