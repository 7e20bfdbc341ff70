//! Another model, another agent, another try: what changes about a conversation between its turns.

use super::Dialogue;
use crate::app::App;
use crate::error::CliError;
use crate::provider::connect;
use dunlin_chat::agent::{Agent, Effort};
use dunlin_chat::message::UserMessage;
use dunlin_chat::request::verdicts::Verdicts;

impl Dialogue {
    /// Who answers.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Goes on with another agent. The conversation stays; where its messages go to another endpoint they are
    /// made fit for it.
    pub fn set_agent(&mut self, app: &App, agent: Agent) -> Result<(), CliError> {
        self.provider = connect(app, &agent)?;
        if (agent.api, &agent.base_url) != (self.agent.api, &self.agent.base_url) {
            self.conversation.move_elsewhere();
            self.context_budget().moved();
            self.models.clear();
        }
        self.context_budget().verdicts = Verdicts::default();
        self.agent = agent;
        if let Some(instructions) = &self.instructions {
            instructions.apply_to(&app.settings, &mut self.agent);
        }
        self.is_model_checked = false;
        Ok(())
    }

    /// Goes on with another model of the same endpoint.
    pub fn set_model(&mut self, app: &App, model: &str) -> Result<(), CliError> {
        let settings = &app.settings;
        let agent = Agent {
            base_url: settings.address_of(self.agent.api, &self.agent.base_url, model),
            model: model.to_owned(),
            known_as: self
                .agent
                .known_as
                .clone()
                .filter(|_| model == self.agent.model),
            ..self.agent.clone()
        };
        self.set_agent(app, agent)
    }

    /// Goes on with another effort.
    pub fn set_effort(&mut self, app: &App, effort: Option<Effort>) -> Result<(), CliError> {
        let is_model_checked = self.is_model_checked;
        // Connects anew: what the endpoint refused of another effort says nothing of this one.
        let agent = Agent {
            reasoning_effort: effort,
            ..self.agent.clone()
        };
        self.set_agent(app, agent)?;
        self.is_model_checked = is_model_checked;
        Ok(())
    }

    /// The models that the endpoint listed when it was asked; none before.
    pub fn models(&self) -> &[String] {
        &self.models
    }

    /// Notes what the endpoint listed.
    pub fn know_models(&mut self, models: Vec<String>) {
        self.models = models;
    }

    /// Takes back the last turn, and gives back what the user said in it, as it was sent. `None`: nothing was said.
    pub fn take_back_turn(&mut self) -> Option<UserMessage> {
        let said = self.conversation.cut_last_turn()?;
        self.was_cut();
        Some(said)
    }

    /// Takes back the turn that begins with the message at this place, and all after it: the file of the session keeps them.
    /// Gives back what the user said in it.
    pub fn rewind(&mut self, start: usize) -> Option<UserMessage> {
        let said = self.conversation.cut_at(start)?;
        self.was_cut();
        self.tags.forget_sent();
        Some(said)
    }

    fn was_cut(&self) {
        let left = self.conversation.messages().len();
        self.context_budget().truncate(left);
        if let Some(session) = &self.session {
            session.cut(left);
        }
    }
}
