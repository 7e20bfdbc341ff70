//! What is known of the agent's model: from its server, and from the table of models.

use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::provider::WindowSource;
use dunlin_host::display::grouped;
use dunlin_provider::http::Timeouts;

use super::report::{Report, Verdict};
use crate::money;
use crate::provider::provider;
use crate::settings::Settings;

/// Says how much the model takes, and what it costs.
pub(super) async fn abilities(report: &mut Report<'_>, settings: &Settings, agent: &Agent) {
    /// What tools and a few files take. Less serves for a talk.
    const ENOUGH: u64 = 16_384;
    let known = settings.known_of(agent);
    for warning in settings.warnings_of_table(agent, known.as_ref()) {
        report.line(Verdict::Note, "model table", &warning);
    }
    let name = known.as_ref().map(|entry| entry.name.clone());
    let provider = match provider(agent, known, Timeouts::default()) {
        Ok(provider) => provider,
        Err(error) => {
            report.line(Verdict::Bad, "model", &error.to_string());
            return;
        }
    };
    provider.look_up_window().await;
    if let Some(window) = provider.window() {
        let who = match window.source {
            WindowSource::Server => "the server says",
            WindowSource::Configured => "the agent's context_window says",
            WindowSource::Table => "the table of models says",
        };
        let tokens = grouped(window.tokens);
        report.line(Verdict::Good, "window", &format!("{tokens} tokens, {who}"));
        if window.tokens < ENOUGH && agent.api == Api::Ollama && agent.context_window.is_none() {
            report.way_out(&format!(
                "context_window = {ENOUGH} in [agents.{}] asks for more",
                agent.name
            ));
        }
    }
    if let (Some(price), Some(name)) = (provider.price(), name) {
        let price = money::price(price);
        let text = format!("{price}, for a million tokens; {name} in the table of models");
        report.line(Verdict::Good, "price", &text);
    }
    if provider.takes_tools() == Some(false) {
        report.line(
            Verdict::Note,
            "model",
            "it takes no tools, so they are described to it in words",
        );
    }
}
