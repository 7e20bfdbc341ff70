//! The first run: says what was found that could answer, and offers to write `config.toml`.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dunlin_host::display::escape;

use crate::agent::Api;
#[cfg(feature = "local-model")]
use crate::commands::built_in::BuiltIn;
use crate::config::env::Environment;
use crate::config::paths::{Folders, make_private};
use crate::discover::{self, Found, Server, Service, endpoint};
use crate::error::{CliError, Exit};
use crate::ui::style::Label;
use crate::ui::{Typed, Ui};
use crate::workshop::Workshop;

/// Only the user may read the configuration: it says where the keys are.
const PRIVATE_FILE_MODE: u32 = 0o600;

/// How many models of one server are listed; the rest is counted and can be typed.
const MAX_MODELS_SHOWN: usize = 12;

/// How an offer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// The file was written.
    Written,
    /// The user does not want it.
    Declined,
}

/// The file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
struct CannotWrite {
    path: PathBuf,
    source: io::Error,
}

/// One thing that could answer, ready to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Choice {
    Server(Server),
    Service(Service),
    #[cfg(feature = "local-model")]
    BuiltIn(BuiltIn),
}

/// Looks for something that can answer and offers to write it down.
///
/// Fails with status 2 where nothing was found or nobody can be asked; what to do was said then.
pub fn offer(workshop: &Workshop) -> Result<Offered, CliError> {
    let (ui, settings) = (&workshop.ui, &workshop.settings);
    let found = workshop
        .runtime()?
        .block_on(discover::discover(&settings.environment));
    let path = settings.folders.config_file();
    let short = settings.folders.short(&path);
    let mut choices = choices(&found, &settings.folders);
    if path.exists() || !workshop.asks() {
        choices.retain(Choice::is_here);
        for line in advice(&choices, path.exists(), &short) {
            ui.status(&line);
        }
        return Err(CliError::silent(Exit::Usage));
    }
    if choices.is_empty() {
        for line in advice(&choices, false, &short) {
            ui.status(&line);
        }
        return Err(CliError::silent(Exit::Usage));
    }
    ui.data("Dunlin is not configured yet. This could answer:");
    for (number, choice) in (1..).zip(&choices) {
        ui.data(&format!(
            "  {}  {}",
            ui.styles().paint(Label::Key, &number.to_string()),
            choice.describe()
        ));
    }
    let Some(choice) = choose(ui, &choices) else {
        return Ok(Offered::Declined);
    };
    let Some(model) = choose_model(ui, choice) else {
        return Ok(Offered::Declined);
    };
    let text = choice.file(&model);
    ui.data(&format!(
        "\nThis would be {short}:\n\n{}",
        indent(&escape_lines(&text))
    ));
    if !confirm(ui, &choice.question()) {
        ui.data("Nothing was written.");
        return Ok(Offered::Declined);
    }
    choice.fetch(workshop)?;
    write(&path, &text).map_err(|source| CliError::failed(CannotWrite { path, source }))?;
    ui.data("");
    Ok(Offered::Written)
}

/// What to do where nothing can be offered: three lines.
fn advice(here: &[Choice], file_exists: bool, short: &str) -> Vec<String> {
    let first = if file_exists {
        format!("No agent is configured: {short} has no [agents.NAME].")
    } else {
        format!("No agent is configured: {short} does not exist.")
    };
    let names: Vec<String> = here.iter().map(Choice::describe).collect();
    if names.is_empty() {
        return vec![
            format!("{first} Nothing here could answer."),
            "Start Ollama, llama.cpp or LM Studio with a model, or set an API key".to_owned(),
            LAST_RESORT.to_owned(),
        ];
    }
    let way_out = if file_exists {
        "Add an agent with base_url and model; dunlin config check looks at it."
    } else {
        "Run dunlin in a terminal: it offers to write the file."
    };
    vec![
        first,
        format!("Found: {}", names.join("; ")),
        way_out.to_owned(),
    ]
}

/// The rest of the advice: without a terminal nothing is fetched.
#[cfg(feature = "local-model")]
const LAST_RESORT: &str = "(export OPENAI_API_KEY=…), or fetch a small model with dunlin model pull; then run dunlin again.";
#[cfg(not(feature = "local-model"))]
const LAST_RESORT: &str =
    "(export OPENAI_API_KEY=…), and run dunlin again. dunlin doctor says more.";

fn choices(found: &Found, folders: &Folders) -> Vec<Choice> {
    let servers = found
        .servers
        .iter()
        .filter(|server| !server.models.is_empty());
    let servers = servers.cloned().map(Choice::Server);
    let services = found.services.iter().copied().map(Choice::Service);
    servers.chain(services).chain(built_in(folders)).collect()
}

/// What answers where nothing else does. The last choice, since whatever else there is knows more.
#[cfg(feature = "local-model")]
fn built_in(folders: &Folders) -> Option<Choice> {
    Some(Choice::BuiltIn(BuiltIn::to_offer(folders)))
}

#[cfg(not(feature = "local-model"))]
fn built_in(_folders: &Folders) -> Option<Choice> {
    None
}

impl Choice {
    fn describe(&self) -> String {
        match self {
            Choice::Server(server) => {
                let models = match server.models.as_slice() {
                    [only] => escape(only).into_owned(),
                    models => format!("{} models", models.len()),
                };
                format!(
                    "{} at {} · {models}",
                    server.name,
                    endpoint(&server.base_url)
                )
            }
            Choice::Service(service) => format!("{} · key in {}", service.name, service.variable),
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => escape(&model.describe()).into_owned(),
        }
    }

    /// Whether it could answer at once.
    fn is_here(&self) -> bool {
        match self {
            Choice::Server(_) | Choice::Service(_) => true,
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => model.is_here(),
        }
    }

    /// What is asked before it is written down.
    fn question(&self) -> String {
        match self {
            Choice::Server(_) | Choice::Service(_) => "Write it? y/n ".to_owned(),
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => model.question(),
        }
    }

    /// Makes that it can answer.
    #[cfg_attr(
        not(feature = "local-model"),
        expect(unused_variables, reason = "servers and services need nothing")
    )]
    fn fetch(&self, workshop: &Workshop) -> Result<(), CliError> {
        match self {
            Choice::Server(_) | Choice::Service(_) => Ok(()),
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => model.fetch(workshop),
        }
    }

    /// The file that makes it the agent.
    fn file(&self, model: &str) -> String {
        let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let (base_url, key) = match self {
            Choice::Server(server) => (server.base_url.as_str(), None),
            Choice::Service(service) => (service.base_url, Some(service)),
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => return model.file(),
        };
        let mut text = "default_agent = \"assistant\"\n".to_owned();
        if let Some(service) = key {
            let name = key_name(service);
            text += &format!("\n[keys.{name}]\nenv = {}\n", quote(service.variable));
        }
        text += "\n[agents.assistant]\n";
        if let Choice::Server(Server {
            api: Api::Ollama, ..
        }) = self
        {
            text += "api = \"ollama\"\n";
        }
        text += &format!("base_url = {}\nmodel = {}\n", quote(base_url), quote(model));
        if let Some(service) = key {
            text += &format!("api_key = {}\n", quote(&key_name(service)));
        }
        text
    }
}

fn key_name(service: &Service) -> String {
    service.name.to_ascii_lowercase()
}

fn choose<'a>(ui: &Ui, choices: &'a [Choice]) -> Option<&'a Choice> {
    if let [only] = choices {
        return Some(only);
    }
    loop {
        let line = line(ui, &format!("Which one? 1-{} [1] ", choices.len()))?;
        match pick(&line, choices.len()) {
            Some(index) => return choices.get(index),
            None => ui.data("A number of the list, or Ctrl-D to leave."),
        }
    }
}

fn choose_model(ui: &Ui, choice: &Choice) -> Option<String> {
    match choice {
        Choice::Server(server) => {
            let [first, _, ..] = server.models.as_slice() else {
                return server.models.first().cloned();
            };
            for (number, model) in (1..).zip(server.models.iter().take(MAX_MODELS_SHOWN)) {
                ui.data(&format!("  {number:>2}  {}", escape(model)));
            }
            if let Some(more) = server
                .models
                .len()
                .checked_sub(MAX_MODELS_SHOWN)
                .filter(|more| *more > 0)
            {
                ui.data(&format!("      and {more} more: type a name"));
            }
            loop {
                let line = line(ui, &format!("Which model? [{}] ", escape(first)))?;
                let named = server.models.iter().position(|model| *model == line.trim());
                match named.or_else(|| pick(&line, server.models.len())) {
                    Some(index) => return server.models.get(index).cloned(),
                    None => ui.data("A number of the list or a model's name, or Ctrl-D to leave."),
                }
            }
        }
        Choice::Service(service) => {
            let line = line(
                ui,
                &format!("Which model of {}? [{}] ", service.name, service.model),
            )?;
            let typed = line.trim();
            Some(
                if typed.is_empty() {
                    service.model
                } else {
                    typed
                }
                .to_owned(),
            )
        }
        #[cfg(feature = "local-model")]
        Choice::BuiltIn(model) => Some(model.name().to_owned()),
    }
}

/// The index that a typed number stands for; nothing typed is the first.
fn pick(line: &str, count: usize) -> Option<usize> {
    match line.trim() {
        "" => Some(0),
        number => number
            .parse::<usize>()
            .ok()?
            .checked_sub(1)
            .filter(|index| *index < count),
    }
}

fn confirm(ui: &Ui, question: &str) -> bool {
    loop {
        match line(ui, question).as_deref().map(str::trim) {
            Some("y" | "yes") => return true,
            Some("n" | "no") | None => return false,
            Some(_) => ui.data("Type y or n, then Enter."),
        }
    }
}

fn line(ui: &Ui, prompt: &str) -> Option<String> {
    match ui.plain_line(prompt) {
        Typed::Line(line) => Some(line),
        Typed::Interrupted | Typed::End => None,
    }
}

/// Writes the file as a whole or not at all, and never over one that is there.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_private(folder)?;
    let mut file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(PRIVATE_FILE_MODE))
        .prefix(".config.")
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(())
}

fn escape_lines(text: &str) -> String {
    dunlin_host::display::escape_multiline(text).into_owned()
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("  {line}\n")
            }
        })
        .collect()
}

/// What was found, in lines for `dunlin doctor`.
pub async fn findings(environment: &Environment) -> Vec<String> {
    let Ok(folders) = Folders::find(environment) else {
        return Vec::new();
    };
    choices(&discover::discover(environment).await, &folders)
        .iter()
        .filter(|choice| choice.is_here())
        .map(Choice::describe)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::file::{Author, Loaded};

    fn server(models: &[&str]) -> Server {
        Server {
            name: "llama.cpp".to_owned(),
            api: Api::OpenAi,
            base_url: "http://127.0.0.1:8080/v1".parse().unwrap(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
        }
    }

    const SERVICE: Service = Service {
        variable: "OPENAI_API_KEY",
        name: "OpenAI",
        base_url: "https://api.openai.com/v1",
        model: "small",
    };

    #[test]
    fn what_is_written_is_valid() {
        let choices = [
            Choice::Server(server(&["a\"b\\c\nd"])),
            Choice::Service(SERVICE),
            Choice::Server(Server {
                api: Api::Ollama,
                ..server(&[])
            }),
        ];
        for choice in choices {
            let text = choice.file("a\"b\\c\nd");
            let loaded = Loaded::parse(Path::new("config.toml"), &text, Author::User).unwrap();
            assert_eq!(
                loaded.file.agents["assistant"].get_ref().model.as_deref(),
                Some("a\"b\\c\nd"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_file_is_private_and_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/config.toml");
        write(&path, "a = 1\n").unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert_eq!(
            write(&path, "b = 2\n").unwrap_err().kind(),
            io::ErrorKind::AlreadyExists
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a = 1\n");
        assert_eq!(
            std::fs::read_dir(path.parent().unwrap()).unwrap().count(),
            1
        );
    }

    #[test]
    fn advice_has_three_lines() {
        let something = [Choice::Server(server(&["a"])), Choice::Service(SERVICE)];
        for found in [&[][..], &something] {
            for exists in [true, false] {
                assert_eq!(advice(found, exists, "config.toml").len(), 3);
            }
        }
        assert_eq!(
            advice(&something, false, "config.toml")[1],
            "Found: llama.cpp at 127.0.0.1:8080 · a; OpenAI · key in OPENAI_API_KEY"
        );
    }

    #[test]
    fn a_server_without_a_model_is_no_choice() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders {
            home: None,
            config: home.path().to_owned(),
            data: home.path().to_owned(),
            cache: home.path().to_owned(),
        };
        let found = Found {
            servers: vec![server(&[])],
            services: Vec::new(),
        };
        assert!(!choices(&found, &folders).iter().any(Choice::is_here));
        let offered = choices(&Found::default(), &folders).len();
        assert_eq!(offered, usize::from(cfg!(feature = "local-model")));
    }

    #[test]
    fn numbers_pick() {
        let check = |line, expected| assert_eq!(pick(line, 3), expected, "{line:?}");
        check("", Some(0));
        check(" 3 ", Some(2));
        check("0", None);
        check("4", None);
        check("x", None);
    }
}
