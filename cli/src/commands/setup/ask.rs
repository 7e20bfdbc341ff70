//! What the user is asked at the first run: who answers, with which model and which key.

use std::time::Duration;

use dunlin_host::display::{chain, escape};
use url::Url;

use super::Offered;
use super::choice::{Choice, KeyIn, NewAgent};
use crate::app::App;
use crate::config::agent::is_exposed;
use crate::discover::{self, ProbeError, SERVICES, Service};
use crate::error::CliError;
use crate::keyring::{self, KeyringError};
use dunlin_chat::agent::Api;
use dunlin_chat::secret::Secret;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{Typed, Ui};

/// How many models of one server are listed; the rest is counted and can be typed.
const MAX_MODELS_SHOWN: usize = 12;

/// How long a server that the user names may take to say which models it has.
const SERVER_TIMEOUT: Duration = Duration::from_secs(10);

/// Words that leave the program, as they leave the chat.
const LEAVING: &[&str] = &["q", "quit", "exit", "/quit", "/exit"];

/// Words that take what stands in brackets, as Enter alone does.
const DEFAULT: &[&str] = &["", "y", "yes"];

/// How the keys of services begin, for a key that is typed where it would be seen.
const KEY_PREFIXES: &[&str] = &["sk-", "gsk_", "xai-", "AIza", "csk-", "fw_"];

/// An agent, and the key that is to be kept for it.
pub struct Chosen {
    pub agent: NewAgent,
    pub key: Option<Secret>,
}

/// What was typed where somebody is chosen.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// This line of the list, from 0.
    Listed(usize),
    /// A server at this address.
    Server(Url),
    Service(Service),
    /// A key, which belongs to no list.
    Key,
    Nothing,
}

/// Lists what could answer, and asks until somebody is chosen.
///
/// # Errors
/// The runtime does not start; within it, the user does not want to.
pub fn choose(app: &App, choices: &[Choice]) -> Result<Result<Chosen, Offered>, CliError> {
    let ui = &app.ui;
    let services = SERVICES.iter().filter(|service| {
        let is_listed = |it: &Choice| matches!(it, Choice::Service(listed) if listed == *service);
        !choices.iter().any(is_listed)
    });
    let services: Vec<&str> = services.map(|service| service.name).collect();
    let lines = choices.iter().map(Choice::describe).chain([
        "another server: type its URL".to_owned(),
        format!("a service and its key: {}", services.join(", ")),
    ]);
    let lines: Vec<String> = lines.collect();
    for (number, line) in (1..).zip(&lines) {
        let number = ui.styles().paint(Label::Key, &number.to_string());
        ui.data_rows(&format!("  {number}  {line}"), 5);
    }
    let question = match choices {
        [] => format!("Which one? 1-{}, a URL or a name: ", lines.len()),
        _ => format!("Which one? 1-{} [1] ", lines.len()),
    };
    loop {
        let line = match line(ui, &question) {
            Ok(line) => line,
            Err(offered) => return Ok(Err(offered)),
        };
        let chosen = match understood(&line, lines.len()) {
            Answer::Listed(index) => match choices.get(index) {
                Some(choice) => of_choice(app, choice).map(Some),
                None if index == choices.len() => ask_url(app)?,
                None => ask_service(app),
            },
            Answer::Server(url) => of_url(app, &url)?,
            Answer::Service(service) => of_service(app, service).map(Some),
            Answer::Key => {
                ui.data("That looks like a key. Type the name of its service; the key is asked for then, unseen.");
                Ok(None)
            }
            Answer::Nothing => {
                ui.data("Enter a number from the list, a URL or the name of a service, or press Ctrl-D to quit.");
                Ok(None)
            }
        };
        match chosen {
            Ok(Some(chosen)) => return Ok(Ok(chosen)),
            Ok(None) => {}
            Err(offered) => return Ok(Err(offered)),
        }
    }
}

fn understood(line: &str, count: usize) -> Answer {
    let line = line.trim();
    if let Some(index) = pick(line, count) {
        return Answer::Listed(index);
    }
    if let Some(service) = service_named(line) {
        return Answer::Service(service);
    }
    if KEY_PREFIXES.iter().any(|prefix| line.starts_with(prefix)) {
        return Answer::Key;
    }
    // A command of the chat is none.
    let is_address =
        line == "localhost" || (line.contains(['.', ':', '/']) && !line.starts_with('/'));
    match discover::address(line).filter(|_| is_address) {
        Some(url) => Answer::Server(url),
        None => Answer::Nothing,
    }
}

fn service_named(name: &str) -> Option<Service> {
    let mut services = SERVICES.iter().copied();
    services.find(|service| service.name.eq_ignore_ascii_case(name.trim()))
}

fn of_choice(app: &App, choice: &Choice) -> Result<Chosen, Offered> {
    let ui = &app.ui;
    let agent = match choice {
        Choice::Server(server) => NewAgent::Remote {
            api: server.api,
            base_url: server.base_url.clone(),
            model: choose_of(ui, &talking(&server.models))?,
            key: None,
        },
        Choice::Service(service) => {
            let place = KeyIn::Variable(service.variable);
            let name = key_in_variable(app, service);
            at_service(*service, model_of(ui, *service)?, (name, place))
        }
        #[cfg(feature = "local-model")]
        Choice::BuiltIn(model) => NewAgent::BuiltIn(model.clone()),
    };
    Ok(Chosen { agent, key: None })
}

/// The name for a key in a variable: that of one which is there already, or one that is free.
fn key_in_variable(app: &App, service: &Service) -> String {
    let name = service.key_name();
    let known = app.settings.keys.get(&name);
    match known.and_then(|key| key.value.env.as_deref()) {
        Some(variable) if variable == service.variable => name,
        _ => free_key(app, &name),
    }
}

/// A name that no key has: another agent may use that one.
fn free_key(app: &App, name: &str) -> String {
    let keys = &app.settings.keys;
    let more = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(more);
    names
        .find(|name| !keys.contains_key(name))
        .unwrap_or_else(|| name.to_owned())
}

fn at_service(service: Service, model: String, key: (String, KeyIn)) -> NewAgent {
    NewAgent::Remote {
        api: service.api,
        base_url: service.address(),
        model,
        key: Some(key),
    }
}

fn model_of(ui: &Ui, service: Service) -> Result<String, Offered> {
    let question = format!("Which model of {}? [{}] ", service.name, service.model);
    let line = line(ui, &question)?;
    Ok(match line.trim() {
        typed if is_default(typed) => service.model.to_owned(),
        typed => typed.to_owned(),
    })
}

fn ask_service(app: &App) -> Result<Option<Chosen>, Offered> {
    let ui = &app.ui;
    loop {
        let line = line(ui, "Which service? ")?;
        match service_named(&line) {
            Some(service) => return of_service(app, service).map(Some),
            None if line.trim().is_empty() => return Ok(None),
            None => ui.data("Enter one of the names above, or nothing to go back to the list."),
        }
    }
}

/// Asks for the key of a service, unseen.
fn of_service(app: &App, service: Service) -> Result<Chosen, Offered> {
    let ui = &app.ui;
    let name = free_key(app, &service.key_name());
    let key = loop {
        if let Some(key) = hidden_key(ui, service.name)? {
            break Secret::new(&name, key);
        }
        ui.data("A key is one line of printable characters without spaces. Ctrl-D quits.");
    };
    let model = model_of(ui, service)?;
    let place = place_of_key(ui, &name);
    let agent = at_service(service, model, (name, place));
    let key = Some(key);
    Ok(Chosen { agent, key })
}

/// A key as it is typed or pasted, not shown. `None`: it is none.
fn hidden_key(ui: &Ui, of: &str) -> Result<Option<String>, Offered> {
    let typed = match ui.hidden_line(&format!("Key of {of}, not shown: ")) {
        Typed::Line(line) => line,
        typed => return Err(typed.into()),
    };
    let key = typed.trim();
    let is_key = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic());
    Ok(is_key.then(|| key.to_owned()))
}

/// Where a key is kept: in the desktop's keyring, or where none answers in a file. The kernel's keyring forgets it at the next
/// start of the machine.
fn place_of_key(ui: &Ui, name: &str) -> KeyIn {
    match keyring::get(name) {
        Ok(_) | Err(KeyringError::NoEntry { service: None, .. }) => KeyIn::Keyring(name.to_owned()),
        Err(_) => {
            ui.data("No desktop keyring is available, so the key is saved in a file that only you can read.");
            KeyIn::File(format!("keys/{name}"))
        }
    }
}

fn ask_url(app: &App) -> Result<Result<Option<Chosen>, Offered>, CliError> {
    loop {
        let line = match line(&app.ui, "Its URL? (127.0.0.1:8080, https://host/v1) ") {
            Ok(line) => line,
            Err(offered) => return Ok(Err(offered)),
        };
        match discover::address(line.trim()) {
            _ if line.trim().is_empty() => return Ok(Ok(None)),
            Some(url) => return of_url(app, &url),
            None => app.ui.data(
                "That is not the address of a server. Enter one such as 127.0.0.1:8080, or nothing to go back to the list.",
            ),
        }
    }
}

/// Asks a server for its models, and the user for a key where it wants one. `None`: nobody answers there, which was said.
fn of_url(app: &App, url: &Url) -> Result<Result<Option<Chosen>, Offered>, CliError> {
    const NAME: &str = "server";
    let ui = &app.ui;
    let mut services = SERVICES.iter().copied();
    if let Some(service) = services.find(|it| it.address().host() == url.host()) {
        return Ok(of_service(app, service).map(Some));
    }
    let mut key: Option<Secret> = None;
    loop {
        let asked = discover::server_at(NAME, url, key.as_ref(), SERVER_TIMEOUT);
        let wants_key = match app.runtime()?.block_on(asked) {
            Ok(server) if !server.models.is_empty() => {
                let model = match choose_of(ui, &talking(&server.models)) {
                    Ok(model) => model,
                    Err(offered) => return Ok(Err(offered)),
                };
                return Ok(Ok(Some(at_server(
                    app,
                    (server.api, server.base_url),
                    model,
                    key,
                ))));
            }
            Ok(_) | Err(ProbeError::NoList { .. }) => false,
            Err(ProbeError::Status {
                status: 401 | 403, ..
            }) => true,
            Err(ProbeError::Status { status: 404, .. }) => false,
            Err(error) => {
                ui.data(&escape(&chain(&error)));
                return Ok(Ok(None));
            }
        };
        if !wants_key {
            return Ok(named_model(ui, url).map(|model| {
                model.map(|model| at_server(app, (Api::OpenAi, url.clone()), model, key))
            }));
        }
        ui.data(match key {
            None => "The server requires a key.",
            Some(_) => "The server refuses this key.",
        });
        if is_exposed(url) {
            ui.data(
                "The key is sent unencrypted: whoever is between you and the server can read it.",
            );
        }
        match hidden_key(ui, &discover::endpoint(url)) {
            Ok(Some(typed)) => key = Some(Secret::new(NAME, typed)),
            Ok(None) => return Ok(Ok(None)),
            Err(offered) => return Ok(Err(offered)),
        }
    }
}

fn at_server(app: &App, (api, base_url): (Api, Url), model: String, key: Option<Secret>) -> Chosen {
    let ui = &app.ui;
    // A colon would be no good in the name of a file.
    let name = free_key(app, &discover::endpoint(&base_url).replace(':', "-"));
    let place = key
        .as_ref()
        .map(|_| (name.clone(), place_of_key(ui, &name)));
    let agent = NewAgent::Remote {
        api,
        base_url,
        model,
        key: place,
    };
    Chosen { agent, key }
}

/// The model of a server that lists none.
fn named_model(ui: &Ui, url: &Url) -> Result<Option<String>, Offered> {
    ui.data(&format!(
        "{} answers, but lists no models.",
        discover::endpoint(url)
    ));
    let line = line(ui, "Which model? (nothing goes back to the list) ")?;
    let model = line.trim();
    Ok((!model.is_empty()).then(|| model.to_owned()))
}

/// Without those that make numbers of texts and cannot talk, as far as their names tell; all, if none is left.
fn talking(models: &[String]) -> Vec<&String> {
    let talks = |model: &&String| !model.to_ascii_lowercase().contains("embed");
    let talking: Vec<&String> = models.iter().filter(talks).collect();
    match talking.is_empty() {
        true => models.iter().collect(),
        false => talking,
    }
}

fn choose_of(ui: &Ui, models: &[&String]) -> Result<String, Offered> {
    let first = match models {
        [first, _, ..] => first,
        // A server without a model is not a choice.
        models => {
            return models
                .first()
                .map(|only| (*only).clone())
                .ok_or(Offered::Declined);
        }
    };
    for (number, model) in (1..).zip(models.iter().take(MAX_MODELS_SHOWN)) {
        ui.data(&format!("  {number:>2}  {}", escape(model)));
    }
    let more = models.len().saturating_sub(MAX_MODELS_SHOWN);
    if more > 0 {
        ui.data(&format!("      and {more} more: type a name"));
    }
    let question = format!("Which model? 1-{} [{}] ", models.len(), escape(first));
    loop {
        let line = line(ui, &question)?;
        let named = models.iter().position(|model| *model == line.trim());
        let index = named.or_else(|| pick(&line, models.len()));
        match index.and_then(|index| models.get(index)) {
            Some(model) => return Ok((*model).clone()),
            None => {
                ui.data("Enter a number from the list or a model's name, or press Ctrl-D to quit.")
            }
        }
    }
}

fn is_default(typed: &str) -> bool {
    DEFAULT.iter().any(|word| typed.eq_ignore_ascii_case(word))
}

/// The index that a typed number stands for; nothing typed is the first, and so is a yes.
fn pick(line: &str, count: usize) -> Option<usize> {
    match line.trim() {
        typed if is_default(typed) => Some(0),
        number => number
            .parse::<usize>()
            .ok()?
            .checked_sub(1)
            .filter(|index| *index < count),
    }
}

fn line(ui: &Ui, prompt: &str) -> Result<String, Offered> {
    match ui.plain_line(prompt) {
        Typed::Line(line) if is_leaving(&line) => Err(Offered::Declined),
        Typed::Line(line) => Ok(line),
        typed => Err(typed.into()),
    }
}

fn is_leaving(line: &str) -> bool {
    let line = line.trim();
    LEAVING.iter().any(|word| line.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_cannot_talk_are_left_out() {
        let check = |models: &[&str], expected: &[&str]| {
            let models: Vec<String> = models.iter().map(|&model| model.to_owned()).collect();
            assert_eq!(talking(&models), expected.to_vec());
        };
        check(&["nomic-embed-text", "qwen3"], &["qwen3"]);
        check(&["text-Embedding-3"], &["text-Embedding-3"]);
        check(&[], &[]);
    }

    #[test]
    fn numbers_addresses_and_names_are_understood() {
        let check =
            |line: &str, expected: Answer| assert_eq!(understood(line, 3), expected, "{line:?}");
        check("", Answer::Listed(0));
        check(" 3 ", Answer::Listed(2));
        check("Yes", Answer::Listed(0));
        for wrong in ["0", "4", "x", "-1", "what now", "/model", "/modle x"] {
            check(wrong, Answer::Nothing);
        }
        let server = |url: &str| Answer::Server(url.parse().unwrap());
        check("127.0.0.1:8080", server("http://127.0.0.1:8080/v1"));
        check("localhost", server("http://localhost/v1"));
        check("https://h.example/api", server("https://h.example/api"));
        for wrong in ["ftp://h", "htp://h", "http:/h", "htp:/h:8080"] {
            check(wrong, Answer::Nothing);
        }
        let openai = service_named("OpenAI").unwrap();
        check("openai", Answer::Service(openai));
        for key in ["sk-ant-api03-x", "sk-proj-1", "gsk_1", "AIzaSy"] {
            check(key, Answer::Key);
        }
    }
}
