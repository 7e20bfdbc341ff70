//! What a dialogue's model is told at its beginning: read with the first message, or when it is asked for before.

use super::Dialogue;
use crate::app::App;
use crate::instructions::{FileStatus, SessionInstructions};

impl Dialogue {
    /// Reads what the session begins with, unless that was done.
    pub fn read_instructions(&mut self, app: &App) {
        if self.instructions.is_none() {
            self.reload_instructions(app);
        }
    }

    /// Has the model told nothing but what its agent says.
    #[must_use]
    pub fn without_instructions(mut self, app: &App) -> Dialogue {
        self.instructions = Some(SessionInstructions::none(app));
        self
    }

    /// Reads it again: what is sent from now on begins with what the files say now.
    pub fn reload_instructions(&mut self, app: &App) {
        let instructions = SessionInstructions::read(app, &self.agent.name);
        instructions.apply_to(&app.settings, &mut self.agent);
        self.instructions = Some(instructions);
    }

    /// What has changed in the files since the user was last told, in a sentence.
    pub(super) fn changed_instructions(&mut self, app: &App) -> Option<String> {
        let is_told = app.settings.takes_instructions(&self.agent.name);
        let instructions = self.instructions.as_mut().filter(|_| is_told)?;
        instructions.changes(&app.settings)
    }

    /// The user knows how the files are now.
    pub fn mark_instructions_reported(&mut self, app: &App) {
        if let Some(instructions) = &mut self.instructions {
            instructions.mark_reported(&app.settings);
        }
    }

    /// How each file stands to what is sent, by its name.
    pub fn instructions(&mut self, app: &App) -> Vec<(String, FileStatus)> {
        self.read_instructions(app);
        let instructions = self.instructions.as_ref();
        instructions.map_or_else(Vec::new, |it| it.status(&app.settings))
    }
}
