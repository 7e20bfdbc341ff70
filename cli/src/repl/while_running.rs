//! What can be typed while a turn runs and acts at once: `/agents`, `/mode`, and Shift+Tab.

use std::sync::Arc;

use dunlin_host::permission::ModeSwitch;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::keys::EarlyLines;
use dunlin_terminal::ui::running_commands::RunningCommands;

use super::agents::AgentsWhileRunning;
use super::mode;
use crate::modes;
use crate::prompt::line::MessageLines;
use crate::prompt::slash_table::{self, Input, Slash};

/// Does all of it.
pub struct WhileRunning {
    /// Does what is typed about subagents.
    pub agents: AgentsWhileRunning,
    /// Holds the mode of the session.
    pub mode: ModeSwitch,
    /// Says what was done.
    pub ui: Arc<Ui>,
}

/// What is typed behind `/mode`, if a line is that.
fn of_mode(line: &str) -> Option<String> {
    match slash_table::parse(line) {
        Input::Slash(Slash::Mode, rest) => Some(rest),
        _ => None,
    }
}

impl RunningCommands for WhileRunning {
    fn takes(&self, line: &str) -> bool {
        of_mode(line).is_some() || self.agents.takes(line)
    }

    fn run(&self, line: &str) {
        match of_mode(line) {
            Some(rest) => {
                mode::run((&self.ui, &self.mode), &rest);
            }
            None => self.agents.run(line),
        }
    }

    fn waits(&self, line: &str) -> bool {
        MessageLines.is_alone(line)
    }

    fn next_mode(&self) {
        modes::choose(&self.ui, &self.mode, self.mode.get().next());
    }
}
