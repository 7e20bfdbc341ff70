//! `dunlin plugin check`, `install`, `remove`, `list` and `info`.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use dunlin_host::display::{escape, own_command, size};
use dunlin_host::permission::identity;
use dunlin_host::settings::SettingsFile;
use dunlin_host::{Tool, store_folder};

use super::{changes, report};
use crate::app::App;
use crate::args::PluginInstallArgs;
use crate::dialogue::look_at_tools_of;
use crate::error::{CliError, Exit};
use crate::plugin::examine::{Examined, examine};
use crate::plugin::installed::Record;
use crate::plugin::signing::PinnedKeys;
use dunlin_host::nearest::nearest;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::review::Review;
use dunlin_terminal::ui::style::Label;

/// How many columns a name takes in the list; longer ones move their line only.
const NAME_COLUMNS: usize = 16;

/// There is nobody to ask.
#[derive(Debug, thiserror::Error)]
#[error("nothing was {0}: can't ask for confirmation here")]
struct NobodyToAsk(&'static str);

/// There is no plugin of that name.
#[derive(Debug, thiserror::Error)]
#[error("no plugin {0:?} is installed")]
struct Unknown(String);

/// The name belongs to a plugin from elsewhere.
#[derive(Debug, thiserror::Error)]
#[error(
    "a different plugin named {name} is installed, from {installed}; this one is from {origin}"
)]
struct OtherOrigin {
    name: String,
    installed: String,
    origin: String,
}

/// It does not do what it says.
#[derive(Debug, thiserror::Error)]
#[error("its tool {tool:?} broke in `prepare`: it {problem}")]
struct Broke {
    tool: String,
    problem: String,
}

/// Says all there is to say about a plugin.
pub fn check(app: &App, from: &Path) -> Result<Exit, CliError> {
    let examined = examine(app, from, None)?;
    let installed = app.installed_plugins().record(&examined.name);
    let rows = about(&examined, installed.as_ref(), app.ui.data_window());
    app.ui.data_all(&rows);
    match examined.broke() {
        Some((tool, problem)) => Err(CliError::failed(Broke { tool, problem })),
        None => Ok(Exit::Done),
    }
}

/// Installs a plugin, after a question.
pub fn install(app: &App, args: &PluginInstallArgs) -> Result<Exit, CliError> {
    let examined = examine(app, &args.plugin.from, args.name.as_deref())?;
    let installed = app.installed_plugins().record(&examined.name);
    let question = match installed {
        Some(_) => "Replace the installed version?",
        None => "Install it?",
    };
    offer(app, &examined, question, args.yes)?;
    Ok(Exit::Done)
}

/// Shows a plugin and what is different from the installed version, asks, and installs it. Whether it did.
pub fn offer(app: &App, examined: &Examined, question: &str, yes: bool) -> Result<bool, CliError> {
    let ui = &app.ui;
    let installed = app.installed_plugins().record(&examined.name);
    let name = escape(&examined.name).into_owned();
    same_origin(examined, installed.as_ref())?;
    let keys = PinnedKeys::read(&app.settings.folders.plugin_keys_file())?;
    keys.admit(&examined.origin, examined.signer.as_deref())?;
    if installed
        .as_ref()
        .is_some_and(|record| record.digest == examined.digest)
    {
        ui.status(&format!(
            "{name} is installed already, in this very version."
        ));
        return Ok(false);
    }
    let report = |window| about(examined, installed.as_ref(), window);
    let broke = examined.broke();
    if yes || !app.asks() || broke.is_some() {
        ui.data_all(&report(ui.data_window()));
    }
    if let Some((tool, problem)) = broke {
        return Err(CliError::failed(Broke { tool, problem }));
    }
    if !yes {
        if !app.asks() {
            return Err(CliError::new(Exit::Denied, NobodyToAsk("installed"))
                .with_hint("--yes installs without asking".to_owned()));
        }
        let agreed = ui.review(&Review {
            rows: &report,
            whole: None,
            question,
        });
        if agreed != Some(true) {
            ui.status("Nothing was installed.");
            return Ok(false);
        }
    }
    put(app, examined)?;
    let version = examined.metadata.version.as_deref().unwrap_or_default();
    let version = format!(" {}", escape(version));
    ui.status(&format!("{name}{} is installed.", version.trim_end()));
    Ok(true)
}

/// A plugin takes the place of its own earlier versions only. Replacing somebody else's in passing would hand that one's
/// tools to whoever chose the name, and it would remove what the first had kept: that takes a command of its own.
pub fn same_origin(examined: &Examined, installed: Option<&Record>) -> Result<(), CliError> {
    let Some(old) = installed.filter(|old| old.origin != examined.origin) else {
        return Ok(());
    };
    let hint = format!(
        "{} removes the installed one, with its store and its permissions",
        own_command(&["plugin", "remove", &old.name])
    );
    let other = OtherOrigin {
        name: escape(&old.name).into_owned(),
        installed: escape(&old.origin).into_owned(),
        origin: escape(&examined.origin).into_owned(),
    };
    Err(CliError::failed(other).with_hint(hint))
}

/// All there is to say about a plugin, and about the version of it that is installed.
fn about(examined: &Examined, installed: Option<&Record>, window: Window) -> Vec<String> {
    let mut rows = report::rows(examined, window);
    rows.extend(
        installed
            .iter()
            .flat_map(|old| changes::rows(old, examined, window)),
    );
    rows
}

/// Puts a plugin where the host finds it.
pub fn put(app: &App, examined: &Examined) -> Result<(), CliError> {
    let now = jiff::Timestamp::now();
    let now = now.round(jiff::Unit::Second).unwrap_or(now).to_string();
    let record = examined.record(now);
    app.installed_plugins()
        .put(record, &examined.bytes)
        .map_err(CliError::failed)
}

/// Removes plugins, after a question.
pub fn remove(app: &App, names: &[String], yes: bool) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let installed = app.installed_plugins();
    let (records, _) = installed.records();
    // All are found before one is removed.
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        found.push(find(&records, name)?);
    }
    if !yes {
        if !app.asks() {
            return Err(CliError::new(Exit::Denied, NobodyToAsk("removed"))
                .with_hint("--yes removes without asking".to_owned()));
        }
        for record in &found {
            ui.data(&line(app, record));
        }
        if !ui.confirms("Remove?") {
            ui.status("Nothing was removed.");
            return Ok(Exit::Done);
        }
    }
    for record in found {
        // The record goes last: what is interrupted can be done again.
        let origin = Some(record.origin.as_str());
        let stored = app
            .permissions()?
            .forget_plugin(&identity(&record.name, origin));
        stored.map_err(CliError::failed)?;
        SettingsFile::beside(&app.settings.folders.permissions_file())
            .forget(&identity(&record.name, origin))
            .map_err(CliError::failed)?;
        let store = store_folder(&app.settings.folders.stores(), &record.name, origin);
        remove_store(ui, &store);
        installed.remove(record).map_err(CliError::failed)?;
        // What ran in a chat until now may have kept something once more.
        remove_store(ui, &store);
        ui.status(&format!("{} is removed.", escape(&record.name)));
    }
    Ok(Exit::Done)
}

fn remove_store(ui: &Ui, store: &Path) {
    if let Err(error) = fs::remove_dir_all(store)
        && error.kind() != ErrorKind::NotFound
    {
        let store = escape(&store.to_string_lossy()).into_owned();
        ui.warn(&format!(
            "what it kept in {store} cannot be removed: {error}"
        ));
    }
}

/// The record of this name.
pub fn find<'a>(records: &'a [Record], name: &str) -> Result<&'a Record, CliError> {
    records
        .iter()
        .find(|record| record.name == name)
        .ok_or_else(|| {
            let known = records.iter().map(|record| record.name.as_str());
            let hint = nearest(name, known).map(|near| format!("the nearest is {near:?}"));
            CliError::usage(Unknown(name.to_owned())).with_hint(hint)
        })
}

/// Prints what is known of an installed plugin.
pub fn info(app: &App, name: &str) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let (records, _) = app.installed_plugins().records();
    let record = find(&records, name)?;
    let (tools, broken) = look_at_tools_of(app, app.host()?)?;
    ui.warn_of(&broken);
    let tools: Vec<Tool> = tools
        .into_iter()
        .filter(|tool| tool.plugin == record.name)
        .collect();
    ui.data_all(&report::installed(record, &tools, ui.data_window()));
    Ok(Exit::Done)
}

/// Lists the plugins, one a line.
pub fn list(app: &App, json: bool) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let (records, broken) = app.installed_plugins().records();
    for error in &broken {
        ui.warn(&error.to_string());
    }
    if json {
        app.print_json(&records)?;
        return Ok(Exit::Done);
    }
    if records.is_empty() && broken.is_empty() {
        ui.status(
            "No plugin is installed; dunlin plugin install FILE|FOLDER|REFERENCE installs one.",
        );
    }
    for record in &records {
        ui.data(&line(app, record));
    }
    Ok(Exit::Done)
}

fn line(app: &App, record: &Record) -> String {
    let styles = app.ui.styles();
    let name = format!("{:<NAME_COLUMNS$}", escape(&record.name));
    let about = format!(
        "  {} · {} · {} · {}",
        changes::version(record),
        size(record.bytes),
        escape(&record.abilities.join(", ")),
        escape(&record.source)
    );
    format!(
        "{} {}{}",
        styles.paint(Label::Name, &name),
        escape(&record.tools.join(", ")),
        styles.paint(Label::Quiet, &about)
    )
}
