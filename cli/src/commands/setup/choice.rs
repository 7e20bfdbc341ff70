//! What could answer, and the configuration that has it answer.

use dunlin_host::display::escape;
use url::Url;

use crate::app::App;
#[cfg(feature = "local-model")]
use crate::commands::built_in::BuiltIn;
use crate::config::agent::is_exposed;
use crate::config::paths::Folders;
use crate::discover::{Found, Server, Service, endpoint};
use crate::error::CliError;
use dunlin_chat::agent::Api;

/// One thing that could answer, ready to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    Server(Server),
    /// A service whose key is in the environment.
    Service(Service),
    #[cfg(feature = "local-model")]
    BuiltIn(BuiltIn),
}

/// Where a key is that a configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyIn {
    /// In an environment variable.
    Variable(&'static str),
    /// In the system's keyring, under this name.
    Keyring(String),
    /// In a file below the configuration folder.
    File(String),
}

impl Choice {
    /// In one line.
    pub fn describe(&self) -> String {
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
    pub fn is_here(&self) -> bool {
        match self {
            Choice::Server(_) | Choice::Service(_) => true,
            #[cfg(feature = "local-model")]
            Choice::BuiltIn(model) => model.is_here(),
        }
    }
}

/// What could answer, the best first.
pub fn choices(found: &Found, folders: &Folders) -> Vec<Choice> {
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

/// An agent to be written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewAgent {
    /// At a server or a service.
    Remote {
        api: Api,
        base_url: Url,
        model: String,
        /// The name of its key, and where that is.
        key: Option<(String, KeyIn)>,
    },
    #[cfg(feature = "local-model")]
    BuiltIn(BuiltIn),
}

impl NewAgent {
    /// The file that makes it an agent of this name, and the one that answers if none is named.
    pub fn file(&self, name: &str, is_default: bool) -> String {
        let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let table = |kind: &str, name: &str| format!("\n[{kind}.{}]\n", in_heading(name));
        let mut text = match is_default {
            true => format!("default_agent = {}\n", quote(name)),
            false => String::new(),
        };
        match self {
            NewAgent::Remote {
                api,
                base_url,
                model,
                key,
            } => {
                if let Some((key, place)) = key {
                    let (field, value) = match place {
                        KeyIn::Variable(variable) => ("env", *variable),
                        KeyIn::Keyring(account) => ("keyring", account.as_str()),
                        KeyIn::File(file) => ("file", file.as_str()),
                    };
                    text += &table("keys", key);
                    text += &format!("{field} = {}\n", quote(value));
                }
                text += &table("agents", name);
                match api {
                    // What an agent speaks unless its table says otherwise.
                    Api::OpenAi | Api::Local => {}
                    Api::Responses => text += "api = \"openai-responses\"\n",
                    Api::Ollama => text += "api = \"ollama\"\n",
                    Api::Anthropic => text += "api = \"anthropic\"\n",
                }
                let url = base_url;
                text += &format!(
                    "base_url = {}\nmodel = {}\n",
                    quote(url.as_str()),
                    quote(model)
                );
                if let Some((key, _)) = key {
                    text += &format!("api_key = {}\n", quote(key));
                    if is_exposed(url) {
                        text += "key_over_http = true\n";
                    }
                }
            }
            #[cfg(feature = "local-model")]
            NewAgent::BuiltIn(model) => {
                text += &table("agents", name);
                text += &model.fields();
            }
        }
        text.trim_start().to_owned()
    }

    /// What is asked before it is written down.
    pub fn question(&self) -> String {
        match self {
            NewAgent::Remote { .. } => "Save this configuration?".to_owned(),
            #[cfg(feature = "local-model")]
            NewAgent::BuiltIn(model) => model.question(),
        }
    }

    /// Makes that it can answer.
    #[cfg_attr(
        not(feature = "local-model"),
        expect(unused_variables, reason = "servers and services need nothing")
    )]
    pub fn fetch(&self, app: &App) -> Result<(), CliError> {
        match self {
            NewAgent::Remote { .. } => Ok(()),
            #[cfg(feature = "local-model")]
            NewAgent::BuiltIn(model) => model.fetch(app),
        }
    }
}

/// A name as it stands in the heading of a table.
pub fn in_heading(name: &str) -> String {
    toml_edit::Key::new(name).display_repr().into_owned()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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

    #[test]
    fn what_is_written_is_valid() {
        let odd = "a\"b\\c\nd";
        for api in [Api::OpenAi, Api::Responses, Api::Ollama, Api::Anthropic] {
            for key in [
                None,
                Some(KeyIn::Variable("OPENAI_API_KEY")),
                Some(KeyIn::Keyring(odd.to_owned())),
                Some(KeyIn::File(format!("keys/{odd}"))),
            ] {
                for (name, host) in [
                    ("assistant", "127.0.0.1"),
                    (odd, "127.0.0.1"),
                    (odd, "h.lan"),
                ] {
                    let agent = NewAgent::Remote {
                        api,
                        base_url: format!("http://{host}:8080/v1").parse().unwrap(),
                        model: odd.to_owned(),
                        key: key.clone().map(|key| (name.to_owned(), key)),
                    };
                    for is_default in [true, false] {
                        let text = agent.file(name, is_default);
                        let loaded =
                            Loaded::parse(Path::new("config.toml"), &text, Author::User).unwrap();
                        let written = loaded.file.agents[name].get_ref();
                        assert_eq!(written.model.as_deref(), Some(odd), "{text}");
                        assert_eq!(loaded.file.keys.len(), usize::from(key.is_some()), "{text}");
                    }
                }
            }
        }
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
}
