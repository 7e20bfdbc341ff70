//! Commands that begin another context while a request is paused. They take the request with it, so whether they can be done
//! is looked at first. The rows of the commands name these functions.

use futures::future::LocalBoxFuture;

use super::sessions as kept;
use crate::app::App;
use crate::dialogue::choice;
use crate::error::CliError;
use dunlin_chat::agent::Agent;
use dunlin_chat::message::Message;

/// What would be left.
#[derive(Clone, Copy)]
pub struct Paused<'a> {
    pub app: &'a App,
    /// Answers the paused request.
    pub agent: &'a Agent,
    /// Those of the conversation with the one that is paused; a list needs none.
    pub messages: &'a [Message],
}

type Waited<'a, T> = LocalBoxFuture<'a, Result<T, CliError>>;

/// Lists what a command would choose from.
pub type List = for<'a> fn(Paused<'a>) -> Waited<'a, ()>;

/// Why a command would do nothing with what is typed after it, in a sentence; `None`: it can be done.
pub type Refusal = for<'a> fn(Paused<'a>, &'a str) -> Waited<'a, Option<String>>;

/// Of a command that can always be done.
pub fn always<'a>(_: Paused<'a>, _: &'a str) -> Waited<'a, Option<String>> {
    Box::pin(async { Ok(None) })
}

pub fn fork<'a>(paused: Paused<'a>, rest: &'a str) -> Waited<'a, Option<String>> {
    Box::pin(async move {
        if rest.is_empty() {
            let is_first = paused.messages.len() < 2;
            return Ok(is_first.then(|| kept::NOTHING_TO_FORK.to_owned()));
        }
        kept::find(paused.app, rest)?.load()?;
        Ok(None)
    })
}

pub fn sessions(paused: Paused<'_>) -> Waited<'_, ()> {
    Box::pin(async move {
        let current = paused.app.store().entry(&paused.app.session_id());
        let title = current.path.exists().then(|| current.summary().title);
        kept::list(paused.app, Some((&current, title.as_deref())));
        Ok(())
    })
}

pub fn session<'a>(paused: Paused<'a>, rest: &'a str) -> Waited<'a, Option<String>> {
    Box::pin(async move {
        let app = paused.app;
        let current = app.store().entry(&app.session_id());
        let entry = kept::named(app, Some(&current), rest)?;
        if entry == current {
            return Ok(Some(kept::IS_OPEN.to_owned()));
        }
        kept::check(app, &entry)?;
        Ok(None)
    })
}

pub fn models(paused: Paused<'_>) -> Waited<'_, ()> {
    Box::pin(choice::list_models(paused.app, paused.agent))
}

pub fn model<'a>(paused: Paused<'a>, rest: &'a str) -> Waited<'a, Option<String>> {
    Box::pin(choice::refusal_of_model(paused.app, paused.agent, rest))
}

pub fn agents(paused: Paused<'_>) -> Waited<'_, ()> {
    Box::pin(async move {
        choice::list_agents(paused.app, &paused.agent.name);
        Ok(())
    })
}

pub fn agent<'a>(paused: Paused<'a>, rest: &'a str) -> Waited<'a, Option<String>> {
    Box::pin(async move {
        choice::check_agent(paused.app, rest).await?;
        Ok(None)
    })
}
