//! Commands that begin another context while a request is paused. They take the request with it, so whether they can be done
//! is looked at first.

use super::sessions;
use crate::app::App;
use crate::dialogue::choice;
use crate::error::CliError;
use crate::prompt::slash_table::Command;
use dunlin_chat::agent::Agent;
use dunlin_chat::message::Message;

/// Lists what a command would choose from. `agent` answers the paused request.
///
/// # Errors
/// The endpoint cannot be asked for its models.
pub async fn list(app: &App, agent: &Agent, command: &Command) -> Result<(), CliError> {
    match command.name {
        "/sessions" => {
            let current = app.store().entry(&app.session_id());
            let title = current.path.exists().then(|| current.summary().title);
            sessions::list(app, Some((&current, title.as_deref())));
        }
        "/model" => choice::list_models(app, agent).await?,
        "/agent" => choice::list_agents(app, &agent.name),
        _ => {}
    }
    Ok(())
}

/// Why a command would do nothing, in a sentence; `None`: it can be done. `messages` are those of the conversation with the
/// one that is paused.
///
/// # Errors
/// What it names does not exist, or cannot be used.
pub async fn refusal(
    app: &App,
    agent: &Agent,
    messages: &[Message],
    (command, rest): (&Command, &str),
) -> Result<Option<String>, CliError> {
    if let Some(surplus) = command.surplus(rest) {
        return Ok(Some(surplus));
    }
    match command.name {
        "/fork" if rest.is_empty() => {
            let is_first = messages.len() < 2;
            return Ok(is_first.then(|| sessions::NOTHING_TO_FORK.to_owned()));
        }
        "/fork" => {
            sessions::find(app, rest)?.load()?;
        }
        "/sessions" => {
            let current = app.store().entry(&app.session_id());
            let entry = sessions::named(app, Some(&current), rest)?;
            if entry == current {
                return Ok(Some(sessions::IS_OPEN.to_owned()));
            }
            sessions::check(app, &entry)?;
        }
        "/model" => return choice::refusal_of_model(app, agent, rest).await,
        "/agent" => choice::check_agent(app, rest).await?,
        _ => {}
    }
    Ok(None)
}
