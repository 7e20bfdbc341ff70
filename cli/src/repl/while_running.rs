//! What can be typed while a turn runs and acts at once: `/agents`, `/mode`, and Shift+Tab.

use std::sync::Arc;

use dunlin_host::permission::ModeSwitch;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::keys::EarlyLines;
use dunlin_terminal::ui::running_commands::RunningCommands;

use super::agents::AgentsWhileRunning;
use super::{mode, slash};
use crate::modes;
use crate::prompt::line::MessageLines;
use crate::prompt::slash_table::{Input, MODE};

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
    match slash::table().parse(line) {
        Input::Slash(command, rest) if command.name == MODE => Some(rest),
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
        MessageLines(slash::table()).is_alone(line)
    }

    fn is_complete(&self, lines: &str) -> bool {
        MessageLines(slash::table()).is_complete(lines)
    }

    fn next_mode(&self) {
        modes::choose(&self.ui, &self.mode, self.mode.get().next());
    }
}
