//! `dunlin requests replay`: sends a request again, and shows both answers and what differs. No tool runs.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_host::display::{escape, one_line, shorten};
use dunlin_host::json;
use futures::StreamExt;
use serde_json::Value;

use super::about::{cost, spent};
use super::fork::history;
use super::log::Log;
use crate::app::App;
use crate::dialogue::{HandsOff, interrupted, with_key};
use crate::error::{CliError, Exit};
use crate::models;
use crate::provider::connect;
use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::provider::error::{Endpoint, ProviderError};
use dunlin_chat::provider::{Finish, Provider, StreamEvent, Usage};
use dunlin_chat::request::{Request, compose};
use dunlin_chat::session::requests::history::History;
use dunlin_chat::session::requests::{LoggedRequest, Side};
use dunlin_terminal::editor::{self, Draft};
use dunlin_terminal::request::difference;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::calls::elapsed;
use dunlin_terminal::ui::style::Label;

/// How often a request is composed anew because the endpoint has said what it wants otherwise.
const MAX_FALLBACKS: usize = 8;

/// How much of a call's arguments is shown, in characters.
const MAX_ARGUMENTS_CHARS: usize = 300;

/// The file in which a request is edited.
const REQUEST: Draft = Draft {
    prefix: "request-",
    suffix: ".json",
    what: "the request",
};

/// The agent that sent the request is not configured any more.
#[derive(Debug, thiserror::Error)]
#[error("request {number} was sent by the agent {agent:?}, which the configuration no longer has")]
struct AgentGone {
    number: u64,
    agent: String,
}

/// The request names a file, and not a model by its name.
#[derive(Debug, thiserror::Error)]
#[error(
    "request {number} names the model file {model:?}: a session cannot choose the file that is opened"
)]
struct NamesFile {
    number: u64,
    model: String,
}

/// There is no terminal for an editor.
#[derive(Debug, thiserror::Error)]
#[error("--edited needs a terminal for the editor")]
struct NoTerminal;

/// What the editor left is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("nothing was sent: the edited request is not valid JSON")]
struct NotJson(#[source] serde_json::Error);

/// What a model has answered.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    /// The calls that it asks for, a line each.
    calls: Vec<String>,
    usage: Usage,
    first_event: Option<Duration>,
    total: Duration,
    is_cut: bool,
}

/// Sends a request again: its bytes, or composed anew for the agent `other`.
///
/// # Errors
/// The request cannot be restored, or the provider failed.
pub fn run(
    app: &App,
    log: &Log,
    number: u64,
    other: Option<&str>,
    is_edited: bool,
) -> Result<Exit, CliError> {
    let logged = log.file.request(number)?;
    let bytes = log.file.body(number, Side::Sent)?;
    let said = history(number, &bytes)?;
    let mut agent = agent(app, logged, other)?;
    let provider = connect(app, &agent)?;
    let provider = provider.as_ref();
    let is_composed = other.is_some();
    let mut request = match is_composed {
        true => composed(&said, &agent, provider),
        false => Request::of_bytes(bytes.into()).map_err(CliError::failed)?,
    };
    if is_edited {
        let Some(edited) = edited(app, &request)? else {
            let note = "You left the editor without saving, so nothing is sent.";
            app.ui.status(note);
            return Ok(Exit::Done);
        };
        request = edited;
    }
    if !is_composed || is_edited {
        request = request.with_tools(said.tools.clone());
    }

    // What is sent names the model, whatever the session says of it.
    let sent: Value = serde_json::from_slice(request.bytes()).unwrap_or_default();
    if let Some(model) = sent["model"].as_str().filter(|_| agent.api != Api::Local) {
        model.clone_into(&mut agent.model);
    }

    let ui = &app.ui;
    let then = show_logged(app, log, logged);
    heading(ui, &now(&agent));
    ui.wait_for(&format!("waiting for {}", agent.model));
    let interrupt = interrupted(app)?;
    let hands_off = HandsOff::begin(app);
    let again = || (is_composed && !is_edited).then(|| composed(&said, &agent, provider));
    let answer = app.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => None,
            answer = ask(ui, provider, request, again) => Some(answer),
            never = ui.animate() => match never {},
        }
    });
    drop(hands_off);
    ui.end_reply();
    let answer = match answer {
        None => {
            ui.status("(interrupted)");
            return Ok(Exit::Interrupted);
        }
        Some(Err(error)) => {
            let hint = error.hint_of_one();
            return Err(CliError::new(Exit::Provider, error).with_hint(hint));
        }
        Some(Ok(answer)) => answer,
    };
    for call in &answer.calls {
        ui.data_rows(call, 4);
    }
    if answer.is_cut {
        ui.status("(cut off at max_tokens)");
    }
    quiet(ui, &cost_of(&answer));

    heading(ui, "difference");
    let now = with_calls(&answer.text, &answer.calls);
    match then {
        None => quiet(ui, "there is no earlier answer to compare with"),
        Some(then) => {
            let difference = difference::of_texts(then.trim_end(), now.trim_end());
            match difference.is_empty() {
                true => quiet(ui, "none: both answers are the same"),
                false => ui.data_all(&difference.rows(ui.styles())),
            }
        }
    }
    Ok(Exit::Done)
}

/// Who is asked, and where: the session names the agent, and may be somebody else's.
fn now(agent: &Agent) -> String {
    let at = match agent.base_url.to_file_path() {
        Ok(file) => file.to_string_lossy().into_owned(),
        Err(()) => Endpoint::of(&agent.base_url).to_string(),
    };
    let [model, name, at] = [&agent.model, &agent.name, &at].map(|text| one_line(text));
    format!("now · {model} · agent {name} at {at}")
}

/// Who is asked: the agent that was, with its model of then, or another one.
fn agent(app: &App, logged: &LoggedRequest, other: Option<&str>) -> Result<Agent, CliError> {
    let entry = &logged.entry;
    let settings = &app.settings;
    let (agent, warning) = match other {
        Some(name) => with_key(app, settings.agent_named_without_key(name)?)?,
        None if !settings.agents.contains_key(&entry.agent) => {
            let gone = AgentGone {
                number: entry.number,
                agent: entry.agent.clone(),
            };
            let hint = "--agent NAME composes the request for another agent";
            return Err(CliError::usage(gone).with_hint(hint.to_owned()));
        }
        None => with_key(app, settings.agent_named_without_key(&entry.agent)?)?,
    };
    if let Some(warning) = warning {
        app.ui.warn(&warning);
    }
    if other.is_some() || agent.model == entry.model {
        return Ok(agent);
    }
    // The session may be somebody else's. A name leads to a file that the user has put into the folder of models.
    if agent.api == Api::Local && !models::is_name(&entry.model) {
        let names = NamesFile {
            number: entry.number,
            model: entry.model.clone(),
        };
        let hint = "--agent NAME composes the request for the model of an agent";
        return Err(CliError::usage(names).with_hint(hint.to_owned()));
    }
    Ok(Agent {
        base_url: settings.address_of(agent.api, &agent.base_url, &entry.model),
        model: entry.model.clone(),
        ..agent
    })
}

fn composed(said: &History, agent: &Agent, provider: &dyn Provider) -> Request {
    let messages = said.messages.iter().map(Cow::Borrowed);
    compose(messages, agent, provider.dialect().as_ref(), &said.tools)
}

/// The request as the user's editor leaves it. One that says the same keeps its bytes. `None`: it was not saved.
fn edited(app: &App, request: &Request) -> Result<Option<Request>, CliError> {
    if !app.asks() {
        return Err(CliError::usage(NoTerminal));
    }
    // What is left as it was shown is sent as it was shown: keys that are there twice, and every digit.
    let bytes = String::from_utf8_lossy(request.bytes());
    let text = json::indented(&bytes).unwrap_or_else(|| bytes.into_owned());
    // Within the editor Ctrl-C is a key like others.
    let _interrupt = interrupted(app)?;
    let settings = &app.settings;
    let program = app.editor();
    let variables = app.replaced();
    let folder = &settings.folders.data;
    let edit = || editor::edit(&program?, &variables, folder, REQUEST, &text);
    let left = app.ui.lend(edit).map_err(CliError::failed)?;
    if !left.is_saved {
        return Ok(None);
    }
    let read = serde_json::from_str::<Value>(&left.text);
    read.map_err(|error| CliError::usage(NotJson(error)))?;
    let bytes = match left.text.trim_end() == text {
        true => request.bytes().clone(),
        false => Bytes::from(json::compact(&left.text)),
    };
    Request::of_bytes(bytes).map(Some).map_err(CliError::failed)
}

/// Sends the request and shows what comes. `again` composes it anew, if that is allowed.
async fn ask(
    ui: &Ui,
    provider: &dyn Provider,
    mut request: Request,
    again: impl Fn() -> Option<Request>,
) -> Result<Answer, ProviderError> {
    let mut fallbacks = 0;
    let (start, mut events) = loop {
        let start = Instant::now();
        let error = match provider.send(&request).await {
            Ok(events) => break (start, events),
            Err(error) => error,
        };
        let other = error.profile_change().and_then(|_| again());
        match other.filter(|other| other.bytes() != request.bytes()) {
            Some(other) if fallbacks < MAX_FALLBACKS => request = other,
            _ => return Err(error),
        }
        fallbacks += 1;
    };
    let mut answer = Answer::default();
    while let Some(event) = events.next().await {
        let event = event?;
        answer.first_event.get_or_insert_with(|| start.elapsed());
        match event {
            StreamEvent::Text(text) => {
                ui.reply_piece(&text);
                answer.text.push_str(&text);
            }
            StreamEvent::Reasoning { text, .. } => ui.reasoning_piece(&text),
            StreamEvent::WasReasoning { .. } => answer.text.clear(),
            StreamEvent::Usage(usage) => answer.usage = usage,
            StreamEvent::End(end) => {
                answer.is_cut = end.finish == Finish::Cut;
                let calls = end.calls.iter();
                let calls = calls.map(|call| match &call.arguments {
                    Ok(arguments) => {
                        call_line(&call.tool, &Value::Object(arguments.clone()).to_string())
                    }
                    Err(bad) => call_line(&call.tool, &bad.raw),
                });
                answer.calls = calls.collect();
            }
            _ => {}
        }
    }
    answer.total = start.elapsed();
    Ok(answer)
}

/// Shows the answer of then, and returns it.
fn show_logged(app: &App, log: &Log, logged: &LoggedRequest) -> Option<String> {
    let ui = &app.ui;
    let time = logged
        .time
        .map_or_else(String::new, |time| format!(" · {time}"));
    heading(
        ui,
        &format!("then · {}{time}", one_line(&log.file.model(logged))),
    );
    let Some(reply) = log.file.reply(logged) else {
        quiet(
            ui,
            &format!("no answer is stored: {}", super::about::ending(logged)),
        );
        return None;
    };
    if !reply.content.trim().is_empty() {
        ui.reply_piece(&reply.content);
        ui.end_reply();
    }
    let calls = reply.tool_calls.iter();
    let calls: Vec<String> = calls
        .map(|call| {
            call_line(
                &call.name,
                &Value::Object(call.arguments.clone()).to_string(),
            )
        })
        .collect();
    for call in &calls {
        ui.data_rows(call, 4);
    }
    if let Some(answer) = &logged.answer {
        quiet(ui, &cost(answer));
    }
    Some(with_calls(&reply.content, &calls))
}

/// A call that is asked for and does not run.
fn call_line(tool: &str, arguments: &str) -> String {
    let arguments = shorten(arguments, MAX_ARGUMENTS_CHARS);
    format!("  → {} {}", escape(tool), escape(&arguments))
}

fn with_calls(text: &str, calls: &[String]) -> String {
    let mut all = text.trim().to_owned();
    for call in calls {
        all.push('\n');
        all.push_str(call);
    }
    all.trim_start_matches('\n').to_owned()
}

fn cost_of(answer: &Answer) -> String {
    let first = answer.first_event.map(elapsed);
    let first = first.map_or_else(String::new, |first| format!("first piece after {first}, "));
    let usage = match answer.usage == Usage::default() {
        true => String::new(),
        false => format!("; {}", spent(answer.usage)),
    };
    format!("{first}all after {}{usage}", elapsed(answer.total))
}

fn heading(ui: &Ui, text: &str) {
    ui.data(&ui.styles().paint(Label::Name, &format!("── {text}")));
}

fn quiet(ui: &Ui, text: &str) {
    let text = ui.styles().paint(Label::Quiet, text);
    ui.data_rows(&text, 2);
}
