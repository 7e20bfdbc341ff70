//! The first run: says what was found that could answer, offers to write `config.toml`, and tries it.

mod ask;
mod choice;
mod trial;

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ask::{Chosen, choose};
use choice::{Choice, KeyIn, NewAgent, choices};

use crate::app::App;
use crate::args::Global;
use crate::config::edit::add_agent;
use crate::config::env::Environment;
use crate::config::paths::{Folders, PRIVATE_FILE_MODE};
use crate::discover;
use crate::error::{CliError, Exit};
use crate::keyring;
use crate::settings::Settings;
use dunlin_chat::secret::Secret;
use dunlin_host::files::make_private;
use tempfile::NamedTempFile;

use dunlin_terminal::ui::{Typed, YesOrNo};

pub use choice::in_heading;

/// The agent that the first run writes down.
const FIRST_AGENT: &str = "assistant";

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

impl From<Offered> for Exit {
    fn from(offered: Offered) -> Exit {
        match offered {
            Offered::Written | Offered::Declined => Exit::Done,
            Offered::Interrupted => Exit::Interrupted,
        }
    }
}

/// A file cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
struct CannotWrite {
    path: PathBuf,
    source: io::Error,
}

/// Whether what was chosen is tried with a request of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Try {
    Yes,
    /// What comes next is a request anyway.
    No,
}

/// Looks for something that can answer and offers to write it down as an agent of this name.
///
/// Fails with status 2 where nobody can be asked; what to do was said then.
fn offer(app: &App, heading: &str, name: &str) -> Result<Offered, CliError> {
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
    ui.data(heading);
    let Chosen { agent, key } = match choose(app, &choices)? {
        Ok(chosen) => chosen,
        Err(offered) => return Ok(offered),
    };
    // Whoever has other agents has chosen one of them.
    let is_default = settings.agents.keys().all(|other| other == name);
    let text = agent.file(name, is_default);
    let would_be = match exists {
        true => format!("This will be added to {short}"),
        false => format!("This will be written to {short}"),
    };
    ui.data(&format!(
        "\n{would_be}:\n\n{}",
        indent(&escape_lines(&text))
    ));
    let said = ui.yes_or_no(&agent.question());
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
    agent.fetch(app)?;
    if let (
        Some(key),
        NewAgent::Remote {
            key: Some((_, place)),
            ..
        },
    ) = (&key, &agent)
    {
        keep(&settings.folders, key, place)?;
    }
    match exists {
        true => add_agent(&path, &text)?,
        false => {
            write(&path, &text).map_err(|source| CliError::failed(CannotWrite { path, source }))?
        }
    }
    ui.data("");
    Ok(Offered::Written)
}

/// Keeps a key that was typed.
fn keep(folders: &Folders, key: &Secret, place: &KeyIn) -> Result<(), CliError> {
    match place {
        KeyIn::Variable(_) => Ok(()),
        KeyIn::Keyring(account) => keyring::set(account, key.reveal())
            .map(|_| ())
            .map_err(CliError::failed),
        KeyIn::File(file) => {
            let path = folders.config.join(file);
            replace(&path, key.reveal())
                .map_err(|source| CliError::failed(CannotWrite { path, source }))
        }
    }
}

/// Sees to it that somebody can answer: where no agent is configured one is offered, and the settings are read anew.
/// `Some`: nobody can, and the program is to end so.
pub fn see_to_agent(app: &mut App, global: &Global, tries: Try) -> Result<Option<Exit>, CliError> {
    if app.settings.has_agents() {
        return Ok(None);
    }
    let mut heading = "Dunlin isn't configured yet. Choose who answers:";
    loop {
        match offer(app, heading, FIRST_AGENT)? {
            Offered::Written => {}
            offered => return Ok(Some(offered.into())),
        }
        app.settings = Settings::load_here(global, app.settings.environment.clone())?;
        if tries == Try::No || trial::answers(app, FIRST_AGENT)? {
            return Ok(None);
        }
        match app.ui.yes_or_no("Choose something else?") {
            YesOrNo::Yes => heading = "Choose who answers:",
            YesOrNo::No => return Ok(None),
            YesOrNo::Interrupted => return Ok(Some(Exit::Interrupted)),
        }
    }
}

/// `dunlin config init`: the first run, or one more agent.
pub fn init(app: &mut App, global: &Global) -> Result<Exit, CliError> {
    if !app.settings.has_agents() {
        let ended = see_to_agent(app, global, Try::Yes)?;
        return Ok(ended.unwrap_or(Exit::Done));
    }
    if !app.asks() {
        return Err(CliError::usage(NobodyToAsk));
    }
    let free = |name: &str| !app.settings.agents.contains_key(name);
    let mut names = (2..).map(|number| format!("{FIRST_AGENT}-{number}"));
    let proposed = names.find(|name| free(name)).unwrap_or_default();
    let name = loop {
        let question = format!("What is the new agent called? [{proposed}] ");
        let name = match app.ui.plain_line(&question) {
            Typed::Line(line) if line.trim().is_empty() => proposed.clone(),
            Typed::Line(line) => line.trim().to_owned(),
            typed => return Ok(Offered::from(typed).into()),
        };
        if !free(&name) {
            app.ui.data("There is an agent of this name already.");
        } else if name
            .chars()
            .any(|c| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '.' | ' '))
        {
            app.ui
                .data("A name is made of letters, digits, - and _; who answers is asked next.");
        } else {
            break name;
        }
    };
    match offer(app, "Choose who answers:", &name)? {
        Offered::Written => {}
        offered => return Ok(offered.into()),
    }
    app.settings = Settings::load_here(global, app.settings.environment.clone())?;
    let answers = trial::answers(app, &name)?;
    app.ui.status(&format!(
        "dunlin --agent {} opens a chat with it.",
        dunlin_host::display::shell_word(&name)
    ));
    Ok(match answers {
        true => Exit::Done,
        false => Exit::Failed,
    })
}

/// There is no terminal to choose at.
#[derive(Debug, thiserror::Error)]
#[error("dunlin config init asks who answers, and there is no terminal to ask at")]
struct NobodyToAsk;

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

/// Other ways to get a model; nothing is fetched where nobody is asked.
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

/// Writes the file as a whole or not at all, and never over one that is there.
fn write(path: &Path, text: &str) -> io::Result<()> {
    drafted(path, text)?.persist_noclobber(path)?;
    Ok(())
}

/// A private file with this text beside the place that it is for.
fn drafted(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_private(folder)?;
    let mut file = tempfile::Builder::new()
        .permissions(std::fs::Permissions::from_mode(PRIVATE_FILE_MODE))
        .prefix(".config.")
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The same in the place of one that is there.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    drafted(path, text)?.persist(path)?;
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
    use crate::discover::{Server, Service};
    use dunlin_chat::agent::Api;

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
    fn the_folder_of_keys_is_private() {
        let root = tempfile::tempdir().unwrap();
        let [config, data, cache, run] = ["c", "d", "k", "r"].map(|name| root.path().join(name));
        let folders = Folders {
            home: None,
            config,
            data,
            cache,
            run,
        };
        let key = Secret::new("k", "sk-1");
        keep(&folders, &key, &KeyIn::File("keys/k".to_owned())).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        let path = folders.config.join("keys/k");
        let folder = path.parent().unwrap();
        assert_eq!((mode(&path), mode(folder)), (0o600, 0o700));
        assert_eq!(mode(&folders.config), 0o700);
    }

    #[test]
    fn advice_has_three_lines() {
        let server = Server {
            name: "llama.cpp".to_owned(),
            api: Api::OpenAi,
            base_url: "http://127.0.0.1:8080/v1".parse().unwrap(),
            models: vec!["a".to_owned()],
        };
        let service = Service {
            variable: "OPENAI_API_KEY",
            name: "OpenAI",
            api: Api::OpenAi,
            base_url: "https://api.openai.com/v1",
            model: "small",
        };
        let something = [Choice::Server(server), Choice::Service(service)];
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
}
