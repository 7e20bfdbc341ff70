//! `dunlin plugin settings`: what a plugin lets the user set.

use dunlin_host::display::escape;
use dunlin_host::settings::{Setting, SettingsError};
use serde_json::Value;

use crate::app::App;
use crate::error::{CliError, Exit};

/// An argument is no setting.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not NAME=VALUE")]
struct NotASetting(String);

/// Sets what is given, then shows all settings.
pub fn settings(
    app: &App,
    plugin: &str,
    values: &[String],
    unset: &[String],
) -> Result<Exit, CliError> {
    let host = app.host()?;
    let runtime = app.runtime()?;
    let known = runtime.block_on(host.settings(plugin));
    let known = known.map_err(|error| failed(app, plugin, error))?.settings;
    let mut changes: Vec<(String, Option<Value>)> = Vec::new();
    for written in values {
        let Some((name, value)) = written.split_once('=') else {
            return Err(CliError::usage(NotASetting(written.clone())));
        };
        let setting = known.iter().find(|setting| setting.name == name);
        let value = read(setting, value);
        changes.push((name.to_owned(), Some(value)));
    }
    changes.extend(unset.iter().map(|name| (name.clone(), None)));
    if !changes.is_empty() {
        let done = runtime.block_on(host.set_settings(plugin, changes));
        done.map_err(|error| failed(app, plugin, error))?;
    }
    let shown = runtime.block_on(host.settings(plugin));
    let shown = shown.map_err(|error| failed(app, plugin, error))?.settings;
    for setting in &shown {
        app.ui.data(&row(setting));
    }
    Ok(Exit::Done)
}

/// A value as it was typed: JSON, where the plugin does not want a text.
fn read(setting: Option<&Setting>, written: &str) -> Value {
    let text = || Value::String(written.to_owned());
    match setting.and_then(|setting| setting.schema.get("type")) {
        Some(Value::String(kind)) if kind != "string" => {
            serde_json::from_str(written).unwrap_or_else(|_| text())
        }
        _ => text(),
    }
}

fn row(setting: &Setting) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => escape(text).into_owned(),
        other => escape(&other.to_string()).into_owned(),
    };
    let default = setting.schema.get("default");
    let value = match (&setting.value, default) {
        (Some(value), _) => plain(value),
        (None, Some(default)) => format!("{} (default)", plain(default)),
        (None, None) if setting.is_missing => "not set, and needed".to_owned(),
        (None, None) => "not set".to_owned(),
    };
    let name = escape(&setting.name);
    match setting.schema.get("description").and_then(Value::as_str) {
        Some(about) => format!("{name} = {value}    {}", escape(about)),
        None => format!("{name} = {value}"),
    }
}

fn failed(app: &App, plugin: &str, error: SettingsError) -> CliError {
    match error {
        SettingsError::NoPlugin(_) => {
            let (records, _) = app.installed_plugins().records();
            let known = records.iter().map(|record| record.name.as_str());
            let hint = dunlin_host::nearest::nearest(plugin, known);
            CliError::usage(error).with_hint(hint.map(|near| format!("the nearest is {near:?}")))
        }
        SettingsError::Misfit { .. } | SettingsError::Unknown { .. } | SettingsError::None(_) => {
            CliError::usage(error)
        }
        error => CliError::failed(error),
    }
}
