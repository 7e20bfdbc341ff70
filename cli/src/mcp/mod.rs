//! The MCP servers of the configuration, as the host wants them.

pub mod address;
pub mod configured;
pub mod http;
pub mod oauth;
mod same_origin;
pub mod sent;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dunlin_host::Plugin;
use dunlin_host::egress::{Egress, EgressOptions};
use dunlin_host::mcp::{McpOptions, McpServer, Program, ServerAt};

use self::address::Address;
use self::oauth::{OAuthClient, TokenFile};
use self::sent::Sent;
use reqwest::header::{HeaderName, HeaderValue};
use url::Url;

use crate::config::command_variables::lists_folders;
use crate::config::mcp::ServerEntry;
use crate::host_options::commands;
use crate::settings::Settings;
use dunlin_provider::http::USER_AGENT;

/// The servers that may be used. Reads no key and starts nothing.
pub fn options(settings: &Settings) -> McpOptions {
    let servers = settings.mcp_servers.iter();
    let enabled = servers.filter(|(_, server)| server.value.is_enabled());
    McpOptions {
        bridge: bridge(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        servers: enabled
            .filter_map(|(name, server)| option(settings, name, &server.value))
            .collect(),
    }
}

/// The component that speaks the protocol, embedded when the program was built.
pub fn bridge() -> Option<Plugin> {
    let embedded = dunlin_plugins::bridge::ALL.first()?;
    Some(Plugin {
        name: embedded.name.to_owned(),
        bytes: embedded.bytes.into(),
        digest: embedded.digest.to_owned(),
        built_in: true,
        origin: None,
        description: None,
        tools_digest: None,
    })
}

fn option(settings: &Settings, name: &str, entry: &ServerEntry) -> Option<McpServer> {
    let at = match (&entry.command, &entry.url) {
        (Some(command), _) => ServerAt::Program(program(settings, name, command, entry)),
        (None, Some(url)) => ServerAt::Web {
            url: url.to_string(),
            connect: Arc::new(address(settings, name, url, entry)),
        },
        // Checked when it was read: it has one of them.
        (None, None) => return None,
    };
    Some(McpServer {
        name: name.to_owned(),
        description: entry.description.clone(),
        at,
        ask: entry.ask == Some(true),
        ask_tools: entry.ask_tools.clone(),
        roots: roots(settings, entry),
        timeout: entry.timeout(),
    })
}

/// The folders that a server is told of. One that is elsewhere has no use for them, and no business knowing them.
fn roots(settings: &Settings, entry: &ServerEntry) -> Vec<PathBuf> {
    match (&entry.command, &entry.roots) {
        (None, _) => Vec::new(),
        (Some(_), None) => vec![settings.project.clone()],
        (Some(_), Some(folders)) => {
            let folders = folders.iter();
            let resolved =
                folders.map(|folder| settings.folders.resolve(folder, &settings.project));
            resolved.collect()
        }
    }
}

/// Where a server is, and what it wants to see.
pub fn address(settings: &Settings, name: &str, url: &Url, entry: &ServerEntry) -> Address {
    let headers = entry.headers.iter().filter_map(|(name, value)| {
        // Checked when they were read.
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_str(value).ok()?))
    });
    let client = entry.client_id.as_ref().map(|id| OAuthClient {
        id: id.clone(),
        secret: entry
            .client_secret
            .as_deref()
            .map(|key| settings.key_place(key)),
        issuer: entry.issuer.clone(),
        is_alone: entry.client_credentials == Some(true),
    });
    Address {
        name: name.to_owned(),
        url: url.clone(),
        headers: headers.collect(),
        tokens: TokenFile::new(
            &settings.folders.data,
            name,
            url,
            client.as_ref().and_then(OAuthClient::fixed_id),
        ),
        client,
        key: entry.api_key.as_deref().map(|key| settings.key_place(key)),
        egress: Egress::new(EgressOptions::system(USER_AGENT)),
        sent: Sent::default(),
    }
}

/// The program of a server does not exist.
#[derive(Debug, thiserror::Error)]
pub enum NoProgram {
    /// Perhaps the configuration names it wrongly.
    #[error("there is no program {0:?}")]
    Missing(String),
    /// It may be in the project.
    #[error("there is no program {command:?}; {}", way_to_project(folder))]
    Elsewhere {
        command: String,
        /// The folder in which the server starts, as it is shown.
        folder: String,
    },
    #[error(
        "there is no program {command:?}; command is {first:?} alone, and what follows it goes into args"
    )]
    Line { command: String, first: String },
}

/// The program that a server is, looked for but not started. `None`: it is elsewhere.
pub fn find_program(
    settings: &Settings,
    name: &str,
    entry: &ServerEntry,
) -> Option<Result<PathBuf, NoProgram>> {
    let command = entry.command.as_deref()?;
    let program = program(settings, name, command, entry);
    Some(program.path().ok_or_else(|| {
        let (command, trimmed) = (command.to_owned(), command.trim());
        match trimmed.split_once(char::is_whitespace) {
            None if program.makes_folder && command.contains('/') => NoProgram::Elsewhere {
                folder: settings.folders.short(&program.folder),
                command,
            },
            Some((first, _)) => NoProgram::Line {
                first: first.to_owned(),
                command,
            },
            None => NoProgram::Missing(command),
        }
    }))
}

/// What the user should know of a server before it starts: there is no such program, or a word seems to mean the project,
/// where it does not start.
pub fn warning(settings: &Settings, name: &str, entry: &ServerEntry) -> Option<String> {
    find_program(settings, name, entry)?
        .err()
        .map(|error| error.to_string())
        .or_else(|| astray(settings, name, entry))
}

/// A word of a server that names something in the project, though it does not start there, and the way to what was meant.
fn astray(settings: &Settings, name: &str, entry: &ServerEntry) -> Option<String> {
    let program = program(settings, name, entry.command.as_deref()?, entry);
    let is_in_project = |word: &&String| {
        let path = Path::new(word);
        path.is_relative() && settings.project.join(path).exists()
    };
    let word = program.arguments.iter().find(is_in_project)?;
    let folder = settings.folders.short(&program.folder);
    program.makes_folder.then(|| {
        format!(
            "{word:?} does not mean the project: {}",
            way_to_project(&folder)
        )
    })
}

fn way_to_project(folder: &str) -> String {
    format!("the server starts in {folder}; cwd = \".\" in its table starts it in the project")
}

fn program(settings: &Settings, name: &str, command: &str, entry: &ServerEntry) -> Program {
    let sandbox = entry.sandbox == Some(true);
    let environment = commands::environment(settings).passed;
    let folders = &settings.folders;
    let own = entry.env.iter();
    Program {
        supervisor: commands::supervisor(),
        command: match command.strip_prefix("~/") {
            Some(_) => folders
                .resolve(command, &settings.project)
                .display()
                .to_string(),
            None => command.to_owned(),
        },
        arguments: entry.args.clone(),
        folder_lists: environment
            .iter()
            .map(|(name, _)| name.clone())
            .filter(|name| lists_folders(name))
            .collect(),
        environment,
        own_variables: own
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
        folder: match &entry.cwd {
            Some(folder) => folders.resolve(folder, &settings.project),
            None if sandbox => settings.project.clone(),
            // Nothing that a project brings along decides what runs with the user's rights.
            None => folders.of_server(name),
        },
        makes_folder: entry.cwd.is_none() && !sandbox,
        search_path: settings.environment.search_path(),
        sandbox,
    }
}
