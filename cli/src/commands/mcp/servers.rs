//! `dunlin mcp list`, `add` and `remove`: the servers in the configuration.

use std::path::Path;

use dunlin_host::display::{escape, own_command, shell_word};
use serde::Serialize;
use url::Url;

use crate::app::App;
use crate::args::McpAddArgs;
use crate::config::edit::{EditError, add_server, remove_servers};
use crate::config::mcp::ServerEntry;
use crate::error::{CliError, Exit};
use crate::mcp::configured::how_it_runs;
use crate::mcp::oauth::TokenFile;
use crate::mcp::warning;
use crate::settings::{Origin, Sourced};
use dunlin_host::nearest::nearest;
use dunlin_terminal::ui::style::Label;

/// How many columns a name takes in the list; longer ones move their line only.
const NAME_COLUMNS: usize = 16;

/// There is no server of that name.
#[derive(Debug, thiserror::Error)]
#[error("there is no MCP server {0:?}")]
struct Unknown(String);

/// Nothing says what the server is.
#[derive(Debug, thiserror::Error)]
#[error("what is the MCP server {0:?}? Neither a command nor an address is given")]
struct NoServer(String);

/// It stands in a file that is not the user's own.
#[derive(Debug, thiserror::Error)]
#[error("the MCP server {name:?} is configured in {place}, which is not your own configuration")]
struct Elsewhere {
    name: String,
    place: String,
}

/// There is nobody to ask whether servers may be removed.
#[derive(Debug, thiserror::Error)]
#[error("nothing was removed: can't ask for confirmation here")]
struct NobodyToAsk;

impl From<EditError> for CliError {
    fn from(error: EditError) -> CliError {
        let hint = match &error {
            EditError::File(crate::config::file::FileError::Invalid { hint, .. }) => hint.clone(),
            EditError::Exists { name, .. } => Some(format!(
                "{} removes it, or choose another name",
                own_command(&["mcp", "remove", name])
            )),
            EditError::Changed { .. } => Some("try again".to_owned()),
            _ => None,
        };
        let error = match error {
            EditError::Changed { .. } | EditError::Write { .. } => CliError::failed(error),
            _ => CliError::usage(error),
        };
        error.with_hint(hint)
    }
}

/// A server, for `--json`. Values of variables are often keys and stay away.
#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a Url>,
    /// The program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    command: Vec<&'a str>,
    /// The names of the variables that it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    variables: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    enabled: bool,
    /// The file where it is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a Path>,
}

impl<'a> Listed<'a> {
    fn of((name, server): (&'a String, &'a Sourced<ServerEntry>)) -> Listed<'a> {
        let entry = &server.value;
        let words = entry.command.iter().chain(&entry.args);
        Listed {
            name,
            url: entry.url.as_ref(),
            command: words.map(String::as_str).collect(),
            variables: entry.env.keys().map(String::as_str).collect(),
            sandbox: entry.command.as_ref().map(|_| entry.sandbox == Some(true)),
            description: entry.description.as_deref(),
            enabled: entry.is_enabled(),
            file: match &server.origin {
                Origin::File(path, _) => Some(path),
                _ => None,
            },
        }
    }
}

/// Lists the servers, one a line.
pub fn list(app: &App, json: bool) -> Result<Exit, CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    if json {
        let listed: Vec<Listed<'_>> = settings.mcp_servers.iter().map(Listed::of).collect();
        app.print_json(&listed)?;
        return Ok(Exit::Done);
    }
    if settings.mcp_servers.is_empty() {
        ui.status("No MCP server is configured; dunlin mcp add NAME -- COMMAND adds one.");
    }
    for (name, server) in &settings.mcp_servers {
        ui.data(&line(app, name, server));
    }
    Ok(Exit::Done)
}

fn line(app: &App, name: &str, server: &Sourced<ServerEntry>) -> String {
    let styles = app.ui.styles();
    let name = styles.paint(Label::Name, &format!("{:<NAME_COLUMNS$}", escape(name)));
    let entry = &server.value;
    let mut line = format!("{name} {}", escape(&address(entry)));
    let how = how_it_runs(entry);
    let mut remark =
        |text: &str| line += &styles.paint(Label::Quiet, &format!("  {}", escape(text)));
    if !how.is_empty() {
        remark(&format!("({how})"));
    }
    if let Some(description) = &entry.description {
        remark(description);
    }
    if let Origin::File(path, _) = &server.origin
        && *path != app.settings.folders.config_file()
    {
        remark(&format!("({})", app.settings.folders.short(path)));
    }
    if !entry.is_enabled() {
        remark("(disabled)");
    }
    line
}

/// The address, or the command line as a shell takes it; values of variables are often keys and stay away.
fn address(entry: &ServerEntry) -> String {
    if let Some(url) = &entry.url {
        return url.to_string();
    }
    let names = entry.env.keys().map(|name| format!("{name}=…"));
    let words = entry.command.iter().chain(&entry.args);
    let words = names.chain(words.map(|word| shell_word(word)));
    words.collect::<Vec<_>>().join(" ")
}

/// Adds a server to the user's own file.
pub fn add(app: &App, args: McpAddArgs) -> Result<Exit, CliError> {
    let settings = &app.settings;
    if args.command.is_empty() && args.url.is_none() {
        return Err(
            CliError::usage(NoServer(args.name.clone())).with_hint(format!(
                "{0} -- COMMAND ARGS..., or {0} --url URL",
                own_command(&["mcp", "add", &args.name])
            )),
        );
    }
    let mut words = args.command.into_iter();
    let entry = ServerEntry {
        command: words.next(),
        args: words.collect(),
        env: args.env.into_iter().collect(),
        cwd: args.cwd,
        sandbox: args.sandbox.then_some(true),
        url: args.url,
        api_key: args.api_key,
        description: args.description,
        ..ServerEntry::default()
    };
    // Before it is looked for in the file: there the line would be one that nobody has written.
    if let Some(problem) = entry.problem() {
        return Err(CliError::usage(problem));
    }
    let path = settings.folders.config_file();
    add_server(&path, &args.name, &entry)?;
    let problem = warning(settings, &args.name, &entry);
    app.ui.status(&format!(
        "{} is added to {}.",
        escape(&args.name),
        escape(&settings.folders.short(&path))
    ));
    if let Some(problem) = problem {
        let command = own_command(&["mcp", "test", &args.name]);
        app.ui.warn(&problem);
        app.ui.status(&format!("hint: {command} tries it"));
    }
    Ok(Exit::Done)
}

/// Removes servers from the user's own file, after a question.
pub fn remove(app: &App, names: &[String], yes: bool) -> Result<Exit, CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    let path = settings.folders.config_file();
    // All are found before one is removed.
    for name in names {
        let Some(server) = settings.mcp_servers.get(name) else {
            let known = settings.mcp_servers.keys().map(String::as_str);
            let hint = nearest(name, known).map(|near| format!("the nearest is {near:?}"));
            return Err(CliError::usage(Unknown(name.clone())).with_hint(hint));
        };
        match &server.origin {
            Origin::File(file, line) if *file != path => {
                return Err(CliError::usage(Elsewhere {
                    name: name.clone(),
                    place: format!("{}:{line}", settings.folders.short(file)),
                }));
            }
            _ => {}
        }
    }
    if !yes {
        if !app.asks() {
            return Err(CliError::new(Exit::Denied, NobodyToAsk)
                .with_hint("--yes removes without asking".to_owned()));
        }
        for name in names {
            if let Some(server) = settings.mcp_servers.get(name) {
                ui.data(&line(app, name, server));
            }
        }
        if !ui.confirms("Remove from the configuration?") {
            ui.status("Nothing was removed.");
            return Ok(Exit::Done);
        }
    }
    remove_servers(&path, names)?;
    for name in names {
        // Another server of that name is somebody else.
        TokenFile::forget(&settings.folders.data, name).map_err(CliError::failed)?;
        ui.status(&format!("{} is removed.", escape(name)));
    }
    Ok(Exit::Done)
}
