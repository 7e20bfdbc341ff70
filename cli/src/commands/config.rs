//! `dunlin config`: where the configuration is, what it comes to, and whether it is valid.

use std::fs;
use std::sync::Arc;

use dunlin_host::Plugin;
use dunlin_host::display::escape;
use serde::Serialize;
use toml_edit::Value;

use crate::app::App;
use crate::args::{ConfigCommand, Global};
use crate::commands::{edit_config, keys, setup};
use crate::config::agent::{AgentEntry, ApiName};
use crate::config::env::Environment;
use crate::config::file::line_of_key;
use crate::config::paths::Folders;
use crate::config::value::{fields, written};
use crate::dialogue::hooks::{warn_of_commands, warn_of_hooks};
use crate::dialogue::{look_at_tools, warn_of_unknown};
use crate::error::{CliError, Exit};
use crate::mcp;
use crate::settings::project::HOOK;
use crate::settings::{Origin, Settings, SettingsError};
use crate::trust;
use dunlin_chat::agent::unknown_tools;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::wrap::visible;

/// Runs one of the commands.
pub fn run(
    ui: &Arc<Ui>,
    command: ConfigCommand,
    global: &Global,
    environment: Environment,
    plugins: Vec<Plugin>,
) -> Result<Exit, CliError> {
    if let ConfigCommand::Path = command {
        let folders = Folders::find(&environment).map_err(SettingsError::from)?;
        ui.data(&folders.config_file().display().to_string());
        return Ok(Exit::Done);
    }
    if let ConfigCommand::Edit = command {
        return edit_config::run(ui, global, environment, plugins);
    }
    let mut settings = Settings::load_here(global, environment)?;
    // Whoever works on the file wants to hear what is wrong with it, and nothing else of it counts.
    if matches!(
        command,
        ConfigCommand::Check | ConfigCommand::Trust { .. } | ConfigCommand::Untrust
    ) && let Some(problem) = settings.project_problem.take()
    {
        return Err(SettingsError::from(problem).into());
    }
    if !matches!(
        command,
        ConfigCommand::Trust { .. } | ConfigCommand::Untrust
    ) {
        let (_, of_instructions) = settings.instruction_places().read().usable();
        let notices = settings.notices.iter();
        let notices = notices.chain(&settings.agent_files().notices);
        for notice in notices.chain(&of_instructions) {
            ui.warn(notice);
        }
    }
    match command {
        ConfigCommand::Key(command) => return keys::run(ui, &settings, &command),
        ConfigCommand::Check => {
            check(ui, &settings)?;
            check_names(super::make_app::app_of(ui, settings, plugins))?;
        }
        ConfigCommand::Init => {
            return setup::init(&mut super::make_app::app_of(ui, settings, plugins), global);
        }
        ConfigCommand::Trust { yes } => return trust::give(ui, &settings, yes),
        ConfigCommand::Untrust => trust::take_back(ui, &settings)?,
        ConfigCommand::Show | ConfigCommand::Path | ConfigCommand::Edit => show(ui, &settings),
    }
    Ok(Exit::Done)
}

/// The files are valid by now; what is left is whether they come to an agent.
fn check(ui: &Ui, settings: &Settings) -> Result<(), CliError> {
    let path = settings.folders.config_file();
    if !path.exists() {
        ui.data(&format!(
            "{} does not exist; the defaults hold",
            settings.folders.short(&path)
        ));
        return Ok(());
    }
    settings.agent_entry()?;
    ui.data(&format!("{} is valid", settings.folders.short(&path)));
    if let Some(project) = &settings.project_file {
        let short = settings.folders.short(&project.path);
        ui.data(&format!("{short} is valid"));
        if project.wants_trust() {
            ui.data("  ignored until it is trusted, see dunlin config trust:");
            trust::show_needing_trust(ui, project);
        }
        trust::show_refused(ui, project);
    }
    Ok(())
}

/// Warns of what the files name and what is not there: tools, and programs of MCP servers and hooks. They are valid all the same,
/// since both may yet come.
fn check_names(app: App) -> Result<(), CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    for (name, server) in &settings.mcp_servers {
        let entry = &server.value;
        if let Some(problem) = mcp::warning(settings, name, entry).filter(|_| entry.is_enabled()) {
            ui.warn(&format!("[mcp.servers.{name}]: {problem}"));
        }
    }
    if !settings.hooks.is_empty() {
        warn_of_commands(ui, settings, app.host()?.permissions());
    }
    let configured = settings.agents.iter();
    let configured = configured.map(|(name, agent)| (name, &agent.value.options.tools));
    let in_files = settings.agent_files().agents.iter();
    let in_files = in_files.map(|agent| (&agent.name, &agent.text.tools));
    let agents = configured.chain(in_files);
    let named = agents.filter_map(|(name, tools)| Some((name, tools.as_deref()?)));
    let named: Vec<(&String, &[String])> = named.collect();
    let mut hooks = settings.hooks.iter().map(|hook| &hook.entry.value);
    // Looking at the tools may mean compiling them.
    if !named.is_empty() || hooks.any(|hook| hook.tools.is_some()) {
        let tools = look_at_tools(&app)?;
        warn_of_hooks(ui, settings, &tools);
        for (name, names) in named {
            warn_of_unknown(ui, name, &unknown_tools(names, &tools));
        }
    }
    Ok(())
}

/// The line of a key, where that of its table is known. A file that cannot be read any more keeps the line of the table.
fn at_key(table: &Origin, key: &str) -> Origin {
    match table {
        Origin::File(path, line) => {
            let text = fs::read_to_string(path).unwrap_or_default();
            Origin::File(path.clone(), line_of_key(&text, *line, key))
        }
        other => other.clone(),
    }
}

/// A line of `show`: name, value and origin.
type Line = (String, String, String);

/// The lines of a table: the fields of a table in it have lines of their own.
fn lines(table: &impl Serialize, name: &str, origin: impl Fn(&str) -> Origin) -> Vec<Line> {
    let mut lines = Vec::new();
    for (field, value) in fields(table) {
        let origin = origin(&field).to_string();
        let mut add = |field: &str, value: String| {
            lines.push((format!("{name}.{field}"), value, origin.clone()));
        };
        match value {
            Value::InlineTable(inner) => {
                for (inner, value) in inner.iter() {
                    add(
                        &format!("{field}.{inner}"),
                        value.to_string().trim().to_owned(),
                    );
                }
            }
            value => add(&field, value.to_string()),
        }
    }
    lines
}

fn show(ui: &Ui, settings: &Settings) {
    let (general, limits) = (settings.general.rows(), settings.limits.rows());
    let (editor, commands) = (settings.request_editor.rows(), settings.commands.rows());
    let rows = general
        .into_iter()
        .chain(editor)
        .chain(settings.notifications.rows())
        .chain(limits)
        .chain(commands);
    let rows = rows.map(|row| (row.name.to_owned(), row.value, row.origin.to_string()));
    let mut rows: Vec<Line> = rows.collect();
    if let Some(model) = &settings.model {
        let origin = model.origin.to_string();
        rows.insert(1, ("model".to_owned(), written(&model.value), origin));
    }
    for (name, key) in &settings.keys {
        let origin = |field: &str| at_key(&key.origin, field);
        rows.extend(lines(&key.value, &format!("keys.{name}"), origin));
    }
    for (name, agent) in &settings.agents {
        let AgentEntry {
            base_url, options, ..
        } = &agent.value;
        let mut options = options.clone();
        // One that runs in this process is nowhere else.
        if options.api != Some(ApiName::Local) {
            options.base_url = Some(base_url.clone());
        }
        let name = format!("agents.{name}");
        let origin = |field: &str| {
            let origin = settings.origin_of(agent, &format!("{name}.{field}"));
            at_key(&origin, field)
        };
        rows.extend(lines(&options, &name, origin));
    }
    for agent in &settings.agent_files().agents {
        let path = escape(&agent.path.display().to_string()).into_owned();
        let name = format!("agents.{}", agent.name);
        let values = fields(&agent.text.written());
        let values = values.into_iter();
        rows.extend(
            values
                .map(|(field, value)| (format!("{name}.{field}"), value.to_string(), path.clone())),
        );
    }
    if let Some(search) = &settings.web_search {
        let origin = |field: &str| at_key(&search.origin, field);
        rows.extend(lines(&search.value, "web_search", origin));
    }
    if let Some(search) = &settings.codebase_search {
        let origin = |field: &str| at_key(&search.origin, field);
        rows.extend(lines(&search.value, "codebase_search", origin));
    }
    for (name, server) in &settings.mcp_servers {
        let value = server.value.without_secrets().written();
        rows.push((
            format!("mcp.servers.{name}"),
            value,
            server.origin.to_string(),
        ));
    }
    for hook in &settings.hooks {
        let (value, origin) = (hook.entry.value.written(), hook.entry.origin.to_string());
        rows.push((HOOK.to_owned(), value, origin));
    }
    for (name, value, origin) in &mut rows {
        for text in [name, value, origin] {
            *text = escape(text).into_owned();
        }
    }
    let width = |part: fn(&Line) -> &str| {
        rows.iter()
            .map(|row| part(row).chars().count())
            .max()
            .unwrap_or_default()
    };
    let (names, values) = (width(|row| &row.0), width(|row| &row.1).min(48));
    let columns = match ui.streams().output {
        true => ui.window().columns,
        false => usize::MAX,
    };
    for (name, value, origin) in &rows {
        let row = format!("{name:<names$} = {value:<values$}");
        let fits = visible(&row) + 2 + visible(origin) < columns;
        let origin = ui.styles().paint(Label::Quiet, origin);
        match fits {
            true => ui.data(&format!("{row}  {origin}")),
            // A path is not broken.
            false => {
                ui.data(&format!("{name} = {value}"));
                ui.data(&format!("    {origin}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_a_line_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let text = "[keys.k]\n\nenv = \"A\"\n[agents.a]\nmodel = \"m\"\nenvy = 1\n";
        fs::write(&path, text).unwrap();
        let line = |table, key| match at_key(&Origin::File(path.clone(), table), key) {
            Origin::File(_, line) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(line(1, "env"), 3);
        assert_eq!(line(4, "model"), 5);
        assert_eq!(line(4, "env"), 4);
        assert_eq!(at_key(&Origin::Default, "env"), Origin::Default);
    }
}
