//! `dunlin plugin search` and `source`: plugins that somebody lists.

use std::io;
use std::path::PathBuf;

use dunlin_host::display::{escape, own_command, shorten};
use dunlin_host::nearest::nearest;
use serde::Serialize;

use crate::app::App;
use crate::args::PluginSourceCommand;
use crate::config::json_file;
use crate::dialogue::unless_interrupted;
use crate::error::{CliError, Exit};
use crate::plugin::index::{Entry, Source, SourceError, parse};
use dunlin_terminal::ui::style::Label;

/// Characters of a description: each plugin has a few rows.
const MAX_DESCRIPTION_CHARS: usize = 200;

/// A source cannot be used.
#[derive(Debug, thiserror::Error)]
enum SourceFailed {
    #[error("cannot use the source {source_name}")]
    Fetch {
        source_name: String,
        source: SourceError,
    },
    #[error("{0} {1}")]
    Index(String, String),
    #[error("{0:?} is not one of the sources")]
    Unknown(String),
    #[error("there are no sources to search")]
    None,
    #[error("{0} of {1} sources could not be searched")]
    NotSearched(usize, usize),
    #[error("cannot read or write {}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// A plugin of a source, for `--json`.
#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    entry: Entry,
    source: &'a str,
}

/// Prints the plugins whose name or description has all of these words.
pub fn search(app: &App, words: &[String], json: bool) -> Result<Exit, CliError> {
    let sources = stored(app)?;
    if sources.is_empty() {
        let hint = "dunlin plugin source add SOURCE adds one: https://…/plugins.json, a git repository, or a reference in a registry";
        return Err(CliError::usage(SourceFailed::None).with_hint(hint.to_owned()));
    }
    let ui = &app.ui;
    let (mut found, mut failed) = (Vec::new(), 0);
    for source in &sources {
        match entries(app, source) {
            Ok(entries) => {
                for entry in entries.into_iter().filter(|entry| entry.has(words)) {
                    if !json {
                        show(app, &entry, source);
                    }
                    found.push(Found { entry, source });
                }
            }
            Err(error) if error.exit() == Exit::Interrupted => return Err(error),
            Err(error) => {
                ui.error(&error);
                failed += 1;
            }
        }
    }
    if json {
        app.print_json(&found)?;
    }
    if failed > 0 {
        let failed = SourceFailed::NotSearched(failed, sources.len());
        return Err(CliError::failed(failed));
    }
    if found.is_empty() && !json {
        ui.status("No plugin of the sources has these words.");
    }
    Ok(Exit::Done)
}

/// Adds, removes or lists the sources.
pub fn source(app: &App, command: PluginSourceCommand) -> Result<Exit, CliError> {
    let ui = &app.ui;
    match command {
        PluginSourceCommand::List(args) => {
            let sources = stored(app)?;
            if args.json {
                app.print_json(&sources)?;
                return Ok(Exit::Done);
            }
            if sources.is_empty() {
                ui.status("There are no sources; dunlin plugin source add SOURCE adds one.");
            }
            for source in &sources {
                ui.data(&escape(source));
            }
        }
        PluginSourceCommand::Add { source } => {
            let parsed = parse_source(&source)?.to_string();
            // One that is no index is of no use later, either.
            let entries = entries(app, &parsed)?;
            change(app, |sources| {
                if !sources.contains(&parsed) {
                    sources.push(parsed.clone());
                }
            })?;
            ui.status(&format!(
                "{} is a source of plugins. It lists {}.",
                escape(&parsed),
                entries.len()
            ));
        }
        PluginSourceCommand::Remove { source } => {
            let parsed = parse_source(&source)?.to_string();
            let known = change(app, |sources| {
                let known = sources.clone();
                sources.retain(|other| *other != parsed);
                known
            })?;
            if !known.contains(&parsed) {
                let near = nearest(&parsed, known.iter().map(String::as_str));
                let hint = near.map(|near| format!("the nearest is {near:?}"));
                let unknown = SourceFailed::Unknown(source);
                return Err(CliError::usage(unknown).with_hint(hint));
            }
            ui.status(&format!("{} is not a source any more.", escape(&parsed)));
        }
    }
    Ok(Exit::Done)
}

fn parse_source(text: &str) -> Result<Source, CliError> {
    text.parse().map_err(|error: SourceError| {
        let hint = "such as https://example.com/plugins.json, git+https://example.com/plugins, or ghcr.io/who/plugins";
        CliError::usage(error).with_hint(hint.to_owned())
    })
}

/// What a source lists.
fn entries(app: &App, name: &str) -> Result<Vec<Entry>, CliError> {
    let source = parse_source(name)?;
    let home = app.settings.folders.home.as_deref();
    let fetched = unless_interrupted(app, source.fetch(home))?;
    let bytes = fetched.map_err(|source| {
        CliError::failed(SourceFailed::Fetch {
            source_name: escape(name).into_owned(),
            source,
        })
    })?;
    parse(&bytes).map_err(|error| {
        let name = escape(name).into_owned();
        let problem = escape(&error.to_string()).into_owned();
        CliError::failed(SourceFailed::Index(name, problem))
    })
}

fn show(app: &App, entry: &Entry, source: &str) {
    let ui = &app.ui;
    let styles = ui.styles();
    let name = styles.paint(Label::Name, &escape(&entry.name));
    let version = entry.version.as_deref().unwrap_or_default();
    let description = shorten(&entry.description, MAX_DESCRIPTION_CHARS);
    let first = [
        name,
        escape(version).into_owned(),
        escape(&description).into_owned(),
    ];
    let first: Vec<&str> = first
        .iter()
        .map(String::as_str)
        .filter(|it| !it.is_empty())
        .collect();
    ui.data(&first.join(" "));
    let about = [
        entry.license.as_deref(),
        entry.homepage.as_deref(),
        Some(source),
    ];
    let about: Vec<_> = about.into_iter().flatten().map(escape).collect();
    let about = format!("  {}", about.join(" · "));
    ui.data(&styles.paint(Label::Quiet, &about));
    let install = own_command(&["plugin", "install", &entry.reference]);
    ui.data(&format!("  {}", escape(&install)));
}

fn file(app: &App) -> PathBuf {
    app.settings.folders.plugin_sources_file()
}

fn stored(app: &App) -> Result<Vec<String>, CliError> {
    let path = file(app);
    json_file::read(&path).map_err(|source| CliError::failed(SourceFailed::File { path, source }))
}

fn change<T>(app: &App, change: impl FnOnce(&mut Vec<String>) -> T) -> Result<T, CliError> {
    let path = file(app);
    json_file::update(&path, change)
        .map_err(|source| CliError::failed(SourceFailed::File { path, source }))
}
