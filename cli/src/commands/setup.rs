//! The first run: says what was found that could answer, and offers to write `config.toml`.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dunlin_host::display::escape;

use crate::app::App;
use crate::args::Global;
#[cfg(feature = "local-model")]
use crate::commands::built_in::BuiltIn;
use crate::config::edit::add_agent;
use crate::config::env::Environment;
use crate::config::paths::{Folders, PRIVATE_FILE_MODE};
use crate::discover::{self, Found, Server, Service, endpoint};
use crate::error::{CliError, Exit};
use crate::settings::Settings;
use dunlin_chat::agent::Api;
use dunlin_host::files::make_private;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{Typed, Ui, YesOrNo};

/// How many models of one server are listed; the rest is counted and can be typed.
const MAX_MODELS_SHOWN: usize = 12;

/// How an offer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    Written,
    /// The user does not want it.
    Declined,
    /// The user has ended the program.
    Interrupted,
}

impl From<Typed> for Offered {
    fn from(typed: Typed) -> Offered {
        match typed {
            Typed::Interrupted | Typed::Woken => Offered::Interrupted,
            Typed::Line(_) | Typed::End => Offered::Declined,
        }
    }
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
pub fn offer(app: &App) -> Result<Offered, CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    let found = app
        .runtime()?
        .block_on(discover::discover(&settings.environment))
        .map_err(CliError::usage)?;
    let path = settings.folders.config_file();
    let short = settings.folders.short(&path);
    let mut choices = choices(&found, &settings.folders);
    // What stands in it already, MCP servers perhaps, says nothing of who answers.
    let exists = path.exists();
    if !app.asks() {
        choices.retain(Choice::is_here);
        for line in advice(&choices, exists, &short) {
            ui.status(&line);
        }
        return Err(CliError::silent(Exit::Usage));
    }
    if choices.is_empty() {
        for line in advice(&choices, exists, &short) {
            ui.status(&line);
        }
        return Err(CliError::silent(Exit::Usage));
    }
    ui.data("Dunlin isn't configured yet. Available models:");
    for (number, choice) in (1..).zip(&choices) {
        let number = ui.styles().paint(Label::Key, &number.to_string());
        ui.data_rows(&format!("  {number}  {}", choice.describe()), 5);
    }
    let choice = match choose(ui, &choices) {
        Ok(choice) => choice,
        Err(offered) => return Ok(offered),
    };
    let model = match choose_model(ui, choice) {
        Ok(model) => model,
        Err(offered) => return Ok(offered),
    };
    let text = choice.file(&model);
    let would_be = match exists {
        true => format!("This will be added to {short}"),
        false => format!("This will be written to {short}"),
    };
    ui.data(&format!(
        "\n{would_be}:\n\n{}",
        indent(&escape_lines(&text))
    ));
    let said = ui.yes_or_no(&choice.question());
    if said != YesOrNo::Yes {
        ui.data("Nothing was written.");
        return Ok(match said {
            YesOrNo::Interrupted => Offered::Interrupted,
            YesOrNo::Yes | YesOrNo::No => {
                // Whatever else could answer stands above.
                ui.status("Run dunlin again to choose, or create the file yourself (`dunlin config path` prints its location).");
                Offered::Declined
            }
        });
    }
    choice.fetch(app)?;
    match exists {
        true => add_agent(&path, &text)?,
        false => {
            write(&path, &text).map_err(|source| CliError::failed(CannotWrite { path, source }))?
        }
    }
    ui.data("");
    Ok(Offered::Written)
}

/// Sees to it that somebody can answer: where no agent is configured one is offered, and the settings are read anew.
/// `Some`: nobody can, and the program is to end so.
pub fn see_to_agent(app: &mut App, global: &Global) -> Result<Option<Exit>, CliError> {
    if app.settings.has_agents() {
        return Ok(None);
    }
    let environment = app.settings.environment.clone();
    Ok(match offer(app)? {
        Offered::Written => {
            app.settings = Settings::load_here(global, environment)?;
            None
        }
        Offered::Declined => Some(Exit::Done),
        Offered::Interrupted => Some(Exit::Interrupted),
    })
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
            format!("{first} No model is available."),
            OTHER_WAYS[0].to_owned(),
            OTHER_WAYS[1].to_owned(),
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

/// What else makes that somebody answers; nothing is fetched where nobody is asked.
#[cfg(feature = "local-model")]
const OTHER_WAYS: [&str; 2] = [
    "Start Ollama, llama.cpp or LM Studio with a model, or set an API key",
    "(export OPENAI_API_KEY=…), or fetch a small model with dunlin model pull; then run dunlin again.",
];
#[cfg(not(feature = "local-model"))]
const OTHER_WAYS: [&str; 2] = [
    "Start Ollama, llama.cpp or LM Studio with a model, or set an API key",
    "(export OPENAI_API_KEY=…), and run dunlin again. dunlin doctor says more.",
];

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
            Choice::Server(_) | Choice::Service(_) => "Save this configuration?".to_owned(),
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => model.question(),
        }
    }

    /// Makes that it can answer.
    #[cfg_attr(
        not(feature = "local-model"),
        expect(unused_variables, reason = "servers and services need nothing")
    )]
    fn fetch(&self, app: &App) -> Result<(), CliError> {
        match self {
            Choice::Server(_) | Choice::Service(_) => Ok(()),
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => model.fetch(app),
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

fn choose<'a>(ui: &Ui, choices: &'a [Choice]) -> Result<&'a Choice, Offered> {
    if let [only] = choices {
        return Ok(only);
    }
    loop {
        let line = line(ui, &format!("Which one? 1-{} [1] ", choices.len()))?;
        match pick(&line, choices.len()).and_then(|index| choices.get(index)) {
            Some(choice) => return Ok(choice),
            None => ui.data("Enter a number from the list, or press Ctrl-D to quit."),
        }
    }
}

fn choose_model(ui: &Ui, choice: &Choice) -> Result<String, Offered> {
    match choice {
        Choice::Server(server) => choose_of(ui, &talking(&server.models)),
        Choice::Service(service) => {
            let line = line(
                ui,
                &format!("Which model of {}? [{}] ", service.name, service.model),
            )?;
            let typed = line.trim();
            Ok(match typed {
                "" => service.model.to_owned(),
                typed => typed.to_owned(),
            })
        }
        #[cfg(feature = "local-model")]
        Choice::BuiltIn(model) => Ok(model.name().to_owned()),
    }
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

fn line(ui: &Ui, prompt: &str) -> Result<String, Offered> {
    match ui.plain_line(prompt) {
        Typed::Line(line) => Ok(line),
        typed => Err(typed.into()),
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
///
/// # Errors
/// An address that the environment names is none.
pub async fn findings(environment: &Environment) -> Result<Vec<String>, discover::NoAddress> {
    let Ok(folders) = Folders::find(environment) else {
        return Ok(Vec::new());
    };
    let found = discover::discover(environment).await?;
    let here = choices(&found, &folders);
    let here = here.iter().filter(|choice| choice.is_here());
    Ok(here.map(Choice::describe).collect())
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
            run: home.path().to_owned(),
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
