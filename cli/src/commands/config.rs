//! `dunlin config`: where the configuration is, what it comes to, and whether it is valid.

use std::fs;
use std::sync::Arc;

use dunlin_host::Plugin;
use dunlin_host::display::escape;

use crate::app::App;
use crate::args::{ConfigCommand, Global};
use crate::commands::{keys, trust};
use crate::config::env::Environment;
use crate::config::file::{ApiName, line_of_key};
use crate::config::paths::Folders;
use crate::dialogue::{look_at_tools, warn_of_unknown};
use crate::error::{CliError, Exit};
use crate::mcp;
use crate::repl::slash::while_waiting;
use crate::settings::{Origin, Settings, SettingsError};
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
    let settings = super::load(global, environment)?;
    if !matches!(
        command,
        ConfigCommand::Trust { .. } | ConfigCommand::Untrust
    ) {
        for notice in &settings.notices {
            ui.warn(notice);
        }
    }
    match command {
        ConfigCommand::Key(command) => return keys::run(ui, &settings, &command),
        ConfigCommand::Check => {
            check(ui, &settings)?;
            check_names(App::new(Arc::clone(ui), settings, plugins, while_waiting))?;
        }
        ConfigCommand::Trust { yes } => return trust::give(ui, &settings, yes),
        ConfigCommand::Untrust => trust::take_back(ui, &settings)?,
        ConfigCommand::Show | ConfigCommand::Path => show(ui, &settings),
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
            trust::show_wishes(ui, project);
        }
        trust::show_refused(ui, project);
    }
    Ok(())
}

/// Warns of what the files name and what is not there: tools, and programs of MCP servers. They are valid all the same,
/// since both may yet come.
fn check_names(app: App) -> Result<(), CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    for (name, server) in &settings.mcp_servers {
        let entry = &server.value;
        if let Some(problem) = mcp::warning(settings, name, entry).filter(|_| entry.is_enabled()) {
            ui.warn(&format!("[mcp.servers.{name}]: {problem}"));
        }
    }
    let mut chosen = settings.agents.iter();
    // Looking at the tools may mean compiling them.
    if chosen.any(|(_, agent)| agent.value.tools.is_some()) {
        let tools = look_at_tools(&app)?;
        for (name, agent) in &settings.agents {
            let names = agent.value.tools.as_deref().unwrap_or_default();
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

fn show(ui: &Ui, settings: &Settings) {
    let mut rows: Vec<(String, String, String)> = Vec::new();
    let mut row = |name: &str, value: String, origin: &dyn ToString| {
        let origin = origin.to_string();
        let shown = |text: &str| escape(text).into_owned();
        rows.push((shown(name), shown(&value), shown(&origin)));
    };
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let agent = &settings.default_agent;
    row("default_agent", quoted(&agent.value), &agent.origin);
    if let Some(model) = &settings.model {
        row("model", quoted(&model.value), &model.origin);
    }
    let denial = &settings.on_denial;
    row("on_denial", quoted(denial.value.as_str()), &denial.origin);
    let steps = &settings.show_intermediate_steps;
    row(
        "show_intermediate_steps",
        steps.value.to_string(),
        &steps.origin,
    );
    for (name, text) in [
        ("placeholder", &settings.placeholder),
        ("empty_state", &settings.empty_state),
    ] {
        row(name, quoted(&text.value), &text.origin);
    }
    let mode = &settings.pause_mode;
    row(
        "request_editor.mode",
        quoted(mode.value.as_str()),
        &mode.origin,
    );
    let limit = &settings.preview_limit;
    row(
        "request_editor.preview_limit",
        limit.value.to_string(),
        &limit.origin,
    );
    let fields = &settings.metadata;
    let names: Vec<&str> = fields.value.iter().map(|field| field.as_str()).collect();
    row(
        "request_editor.metadata",
        format!("{names:?}"),
        &fields.origin,
    );
    let rounds = &settings.max_tool_rounds;
    row(
        "limits.max_tool_rounds",
        rounds.value.to_string(),
        &rounds.origin,
    );
    for (name, most) in [
        ("limits.max_history_tokens", &settings.max_history_tokens),
        ("limits.max_history_lines", &settings.max_history_lines),
    ] {
        row(name, most.value.to_string(), &most.origin);
    }
    let share = &settings.compact_at;
    row("limits.compact_at", share.value.to_string(), &share.origin);
    let timeout = &settings.request_timeout;
    row(
        "limits.request_timeout_secs",
        timeout.value.as_secs().to_string(),
        &timeout.origin,
    );
    let retries = &settings.max_retries;
    row(
        "limits.max_retries",
        retries.value.to_string(),
        &retries.origin,
    );
    let timeout = &settings.command_timeout;
    row(
        "limits.command_timeout_secs",
        timeout.value.as_secs().to_string(),
        &timeout.origin,
    );
    let network = &settings.command_network;
    row(
        "commands.network",
        network.value.to_string(),
        &network.origin,
    );
    let write = &settings.command_write;
    row(
        "commands.write",
        format!("{:?}", write.value),
        &write.origin,
    );
    let environment = &settings.command_environment;
    row(
        "commands.environment",
        format!("{:?}", environment.value),
        &environment.origin,
    );
    for (name, key) in &settings.keys {
        let key_entry = &key.value;
        let (what, value) = match (&key_entry.env, &key_entry.file, &key_entry.keyring) {
            (Some(variable), ..) => ("env", variable),
            (None, Some(file), _) => ("file", file),
            (None, None, Some(account)) => ("keyring", account),
            (None, None, None) => continue,
        };
        let origin = at_key(&key.origin, what);
        row(&format!("keys.{name}.{what}"), quoted(value), &origin);
    }
    for (name, agent) in &settings.agents {
        let entry = &agent.value;
        let mut field = |field: &str, value: Option<String>| {
            if let Some(value) = value {
                let name = format!("agents.{name}.{field}");
                let origin = at_key(&settings.origin_of(agent, &name), field);
                row(&name, value, &origin);
            }
        };
        field(
            "api",
            (entry.api != ApiName::OpenAi).then(|| quoted(entry.api.as_str())),
        );
        // One that runs in this process is nowhere else.
        field(
            "base_url",
            (entry.api != ApiName::Local).then(|| quoted(entry.base_url.as_str())),
        );
        field("model", Some(quoted(&entry.model)));
        field("api_key", entry.api_key.as_deref().map(quoted));
        field("temperature", entry.temperature.map(|it| it.to_string()));
        field("max_tokens", entry.max_tokens.map(|it| it.to_string()));
        field(
            "context_window",
            entry.context_window.map(|it| it.to_string()),
        );
        field("top_p", entry.top_p.map(|it| it.to_string()));
        field("system_prompt", entry.system_prompt.as_deref().map(quoted));
        for (name, value) in entry.endpoint.unwrap_or_default().values() {
            field(&format!("endpoint.{name}"), Some(value));
        }
        field("tools", entry.tools.as_ref().map(|it| format!("{it:?}")));
        field("files", entry.files.map(|it| it.to_string()));
    }
    if let Some(search) = &settings.web_search {
        let entry = &search.value;
        let url = entry.base_url.as_ref().map(url::Url::as_str);
        for (field, value) in [
            ("engine", Some(entry.engine.as_str())),
            ("base_url", url),
            ("api_key", entry.api_key.as_deref()),
            ("engine_id", entry.engine_id.as_deref()),
        ] {
            if let Some(value) = value {
                row(
                    &format!("web_search.{field}"),
                    quoted(value),
                    &at_key(&search.origin, field),
                );
            }
        }
    }
    if let Some(search) = &settings.codebase_search {
        for (field, value) in search.value.values() {
            let origin = at_key(&search.origin, field);
            row(&format!("codebase_search.{field}"), value, &origin);
        }
    }
    for (name, server) in &settings.mcp_servers {
        let value = server.value.without_secrets().values();
        row(&format!("mcp.servers.{name}"), value, &server.origin);
    }
    let width = |part: fn(&(String, String, String)) -> &str| {
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
