//! `/model` and `/agent`: who answers from the next message on.

use std::time::Duration;

use dunlin_host::display::{escape, grouped};

use crate::app::App;
use crate::dialogue::{Dialogue, HandsOff, interrupted, key, with_key};
use crate::discover::{ProbeError, models_of, place};
use crate::error::CliError;
use crate::money;
use crate::used_models;
use dunlin_chat::agent::{Agent, Api};
use dunlin_host::nearest::nearest;
use dunlin_provider::ollama;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;

/// How long an endpoint may take to list its models. It may be on another continent.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it may take where the user waits for something else: for the answer to a message.
const CHECK_TIMEOUT: Duration = Duration::from_secs(3);

/// How many models are listed. Some services offer several hundred.
const MAX_LISTED: usize = 100;

/// `/model [NAME]`: lists the models of the endpoint, or takes one of them until the session ends.
pub fn model(app: &App, dialogue: &mut Option<Dialogue>, name: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let dialogue = begun(app, dialogue)?;
    if name.is_empty() {
        if let Some(models) = list(app, dialogue.agent())? {
            dialogue.know_models(models);
        }
        return Ok(());
    }
    if !may_use(app, dialogue, name, LIST_TIMEOUT)? {
        say_who(ui, dialogue.agent());
        return Ok(());
    }
    dialogue.set_model(app, name)?;
    dialogue.is_model_checked = true;
    say_who(ui, dialogue.agent());
    Ok(())
}

/// Whether the model of a conversation may be used. Its server is asked for a list at most once, and not at all about a model
/// that was used before.
pub fn may_use_its_own(app: &App, dialogue: &mut Dialogue) -> Result<bool, CliError> {
    let file = app.settings.folders.used_models_file();
    let model = dialogue.model().to_owned();
    if !dialogue.is_model_checked {
        dialogue.is_model_checked = used_models::contains(&file, dialogue.agent(), &model)
            || may_use(app, dialogue, &model, CHECK_TIMEOUT)?;
    }
    Ok(dialogue.is_model_checked)
}

/// Whether a model may be used: its server lists it, or lists nothing, or the user wants it all the same. Where nobody can
/// be asked the user is warned. Remembers that it may be.
fn may_use(
    app: &App,
    dialogue: &mut Dialogue,
    name: &str,
    timeout: Duration,
) -> Result<bool, CliError> {
    let ui = &app.ui;
    let agent = dialogue.agent();
    let api = agent.api;
    if api == Api::Local {
        return Ok(true);
    }
    let file = app.settings.folders.used_models_file();
    if dialogue.models().is_empty() {
        match fetch(app, agent, timeout)? {
            Fetched::Listed(models) => dialogue.know_models(models),
            Fetched::NoList => {}
            // A server that cannot be asked says so when it is sent a message.
            Fetched::Failed(_) => return Ok(true),
            Fetched::Interrupted => {
                quiet(ui, "(interrupted)");
                return Ok(false);
            }
        }
    }
    let known = dialogue.models();
    if known.is_empty() || has(known, (api, name)) {
        used_models::add(&file, dialogue.agent(), name);
        return Ok(true);
    }
    let problem = not_listed(name, known);
    if !app.asks() {
        ui.warn(&problem);
        return Ok(true);
    }
    ui.warn(&problem);
    let is_confirmed = ui.confirms("Use it anyway?");
    if is_confirmed {
        used_models::add(&file, dialogue.agent(), name);
    }
    Ok(is_confirmed)
}

/// Whether a model is among those that a server of this kind lists.
fn has(listed: &[String], (api, name): (Api, &str)) -> bool {
    let is_it = |listed: &String| {
        listed == name || (api == Api::Ollama && ollama::is_same_model(listed, name))
    };
    listed.iter().any(is_it)
}

fn not_listed(name: &str, listed: &[String]) -> String {
    let near = nearest(name, listed.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; the nearest is {near:?}"));
    format!("the server does not list the model {name:?}{near}")
}

/// Why `/model NAME` would ask first, or fail, for whoever cannot be asked now; `None`: it switches to the model.
///
/// # Errors
/// None yet: a server that cannot be asked says so when it is sent a message.
pub async fn refusal_of_model(
    app: &App,
    agent: &Agent,
    name: &str,
) -> Result<Option<String>, CliError> {
    if agent.api == Api::Local {
        return Ok(None);
    }
    let Fetched::Listed(listed) = ask_for_models(app, agent, CHECK_TIMEOUT).await else {
        return Ok(None);
    };
    if listed.is_empty() || has(&listed, (agent.api, name)) {
        return Ok(None);
    }
    let problem = escape(&not_listed(name, &listed)).into_owned();
    Ok(Some(format!(
        "Nothing is changed: {problem}. To use it anyway, send or cancel the request first."
    )))
}

/// Lists the models while a request is paused.
///
/// # Errors
/// The endpoint cannot be asked.
pub async fn list_models(app: &App, agent: &Agent) -> Result<(), CliError> {
    say_who(&app.ui, agent);
    let fetched = ask_for_models(app, agent, LIST_TIMEOUT).await;
    show_models(app, agent, fetched).map(drop)
}

/// Looks whether an agent can be used.
///
/// # Errors
/// There is none of that name, or its key cannot be read.
pub async fn check_agent(app: &App, name: &str) -> Result<(), CliError> {
    let (_, key) = app.settings.agent_named_without_key(name)?;
    if let Some(key) = key {
        key::read(app, key).await?;
    }
    Ok(())
}

/// Lists the agents; the one in use is marked.
pub fn list_agents(app: &App, current: &str) {
    let (ui, settings) = (&app.ui, &app.settings);
    let names = settings
        .agents
        .keys()
        .map(|name| escape(name).chars().count());
    let wide = names.max().unwrap_or_default();
    for (name, entry) in &settings.agents {
        let entry = &entry.value;
        let in_use = if name == current { "✓" } else { " " };
        let name = format!("{:<wide$}", escape(name));
        let about = format!("{} {}", escape(&entry.model), place(&entry.base_url));
        let room = ui.window().columns.saturating_sub(wide + 6);
        ui.data(&format!(
            "{} {}  {}",
            ui.styles().paint(Label::Good, in_use),
            ui.styles().paint(Label::Name, &name),
            fit(&about, room)
        ));
    }
    quiet(ui, "  /agent NAME switches agents");
}

/// `/agent [NAME]`: lists the agents, or goes on with one of them.
pub fn agent(app: &App, dialogue: &mut Option<Dialogue>, name: &str) -> Result<(), CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    if name.is_empty() {
        let current = match dialogue {
            Some(dialogue) => dialogue.agent().name.clone(),
            None => settings.agent_entry()?.0.to_owned(),
        };
        list_agents(app, &current);
        return Ok(());
    }
    let (agent, warning) = with_key(app, settings.agent_named_without_key(name)?)?;
    match dialogue {
        Some(dialogue) => {
            if let Some(warning) = warning {
                ui.warn(&warning);
            }
            dialogue.set_agent(app, agent)?;
            say_who(ui, dialogue.agent());
        }
        none => {
            let begun = Dialogue::begin_with(app, (agent, warning))?;
            let dialogue = none.insert(kept(app, begun));
            say_who(ui, dialogue.agent());
        }
    }
    Ok(())
}

/// The conversation, which begins now if there is none yet.
///
/// # Errors
/// There is no agent, or its key cannot be read.
pub fn begun<'a>(
    app: &App,
    dialogue: &'a mut Option<Dialogue>,
) -> Result<&'a mut Dialogue, CliError> {
    Ok(match dialogue {
        Some(dialogue) => dialogue,
        none => none.insert(kept(app, Dialogue::begin(app)?)),
    })
}

/// In the chat a conversation is kept in a session, and elsewhere not.
fn kept(app: &App, dialogue: Dialogue) -> Dialogue {
    match app.asks() {
        true => dialogue.saved(app),
        false => dialogue,
    }
}

/// Lists what an endpoint offers. `None`: it was interrupted, or there is no list.
fn list(app: &App, agent: &Agent) -> Result<Option<Vec<String>>, CliError> {
    say_who(&app.ui, agent);
    let fetched = fetch(app, agent, LIST_TIMEOUT)?;
    show_models(app, agent, fetched)
}

fn show_models(
    app: &App,
    agent: &Agent,
    fetched: Fetched,
) -> Result<Option<Vec<String>>, CliError> {
    let ui = &app.ui;
    let models = match fetched {
        Fetched::Interrupted => {
            quiet(ui, "(interrupted)");
            return Ok(None);
        }
        // Many services list their models elsewhere or not at all; any name can still be chosen.
        Fetched::NoList => {
            quiet(
                ui,
                "  its endpoint does not list models; /model NAME takes one by its name",
            );
            return Ok(None);
        }
        Fetched::Failed(error) => return Err(CliError::failed(error)),
        Fetched::Listed(models) => models,
    };
    for name in models.iter().take(MAX_LISTED) {
        let in_use = if *name == agent.model { "✓" } else { " " };
        ui.data(&format!(
            "{} {}{}",
            ui.styles().paint(Label::Good, in_use),
            escape(name),
            ui.styles().paint(Label::Quiet, &known(app, agent, name))
        ));
    }
    match models
        .len()
        .checked_sub(MAX_LISTED)
        .filter(|more| *more > 0)
    {
        Some(more) => quiet(ui, &format!("  and {more} more; /model NAME takes one")),
        None => quiet(ui, "  /model NAME takes one"),
    }
    Ok(Some(models))
}

/// What the table of models has of a model of an agent's endpoint: `  128,000 tokens · $2.50 in · $10.00 out`.
fn known(app: &App, agent: &Agent, model: &str) -> String {
    let Some(entry) = app.settings.known_at(&agent.base_url, model) else {
        return String::new();
    };
    let metadata = entry.metadata;
    let window = metadata
        .window
        .map(|tokens| format!("{} tokens", grouped(tokens)));
    let price = metadata.price.as_ref().map(money::price);
    let known: Vec<String> = window.into_iter().chain(price).collect();
    format!("  {}", known.join(" · "))
}

/// What came of asking an endpoint for its models.
enum Fetched {
    Listed(Vec<String>),
    /// It lists none, or does not know the question.
    NoList,
    Failed(ProbeError),
    Interrupted,
}

fn fetch(app: &App, agent: &Agent, timeout: Duration) -> Result<Fetched, CliError> {
    let interrupt = interrupted(app)?;
    let _hands_off = HandsOff::begin(app);
    Ok(app.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => Fetched::Interrupted,
            fetched = ask_for_models(app, agent, timeout) => fetched,
        }
    }))
}

/// Asks an endpoint for its models. Never [`Fetched::Interrupted`].
async fn ask_for_models(app: &App, agent: &Agent, timeout: Duration) -> Fetched {
    let listed = match agent.api {
        Api::Local => here(app),
        api => models_of(api, &agent.base_url, agent.api_key.as_ref(), timeout).await,
    };
    match listed {
        Ok(models) => Fetched::Listed(models),
        Err(ProbeError::NoList { .. } | ProbeError::Status { status: 404, .. }) => Fetched::NoList,
        Err(error) => Fetched::Failed(error),
    }
}

/// The models that run in this process.
fn here(app: &App) -> Result<Vec<String>, ProbeError> {
    let folder = app.settings.folders.models();
    // A folder that cannot be read is met again when a model is loaded, with its error.
    let here = crate::models::installed(&folder).unwrap_or_default();
    Ok(here.into_iter().map(|model| model.name).collect())
}

/// Says who answers.
fn say_who(ui: &Ui, agent: &Agent) {
    ui.status(&format!(
        "  {} · {} {}",
        ui.status_styles().paint(Label::Name, &escape(&agent.name)),
        escape(&agent.model),
        place(&agent.base_url)
    ));
}

fn quiet(ui: &Ui, text: &str) {
    ui.status(&ui.status_styles().paint(Label::Quiet, text));
}
