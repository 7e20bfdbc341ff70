//! `dunlin plugin log`: what a plugin has logged and printed, and what it did before it crashed.

use dunlin_host::display::{escape, escape_multiline};
use dunlin_terminal::ui::style::{Label, Styles};
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::app::App;
use crate::error::{CliError, Exit};
use crate::log_file::{self, Extent, local};

/// How far in the further rows of a message stand, in columns.
const INDENT: usize = 4;

/// A line of the log.
#[derive(Debug, Deserialize)]
struct Entry {
    time: String,
    plugin: String,
    tool: String,
    level: String,
    message: String,
}

/// Prints the newest messages of a plugin, of a tool, or of all, and with `follow` those that come.
pub fn log(app: &App, plugin: Option<&str>, extent: Extent) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let zone = TimeZone::system();
    let shown = |line: &[u8]| {
        let entry: Entry = serde_json::from_slice(line).ok()?;
        // Each line begins with the name of the tool, so it may be what the user knows.
        let is_meant = plugin.is_none_or(|name| entry.plugin == name || entry.tool == name);
        is_meant.then(|| entry.render(ui.styles(), &zone))
    };
    let path = app.settings.folders.plugin_log_file();
    let print = |text: &str| ui.data_rows(text, INDENT);
    let unknown = plugin.filter(|name| app.installed_plugins().record(name).is_none());
    let nothing = match unknown {
        Some(name) => format!(
            "Nothing was logged, and no plugin is called {}; dunlin plugin list shows those that are installed.",
            escape(name)
        ),
        None => "Nothing was logged.".to_owned(),
    };
    log_file::show(ui, &path, extent, &nothing, shown, print).map_err(CliError::failed)?;
    Ok(Exit::Done)
}

impl Entry {
    fn render(&self, styles: Styles, zone: &TimeZone) -> String {
        let label = match self.level.as_str() {
            "error" => Label::Bad,
            _ => Label::Quiet,
        };
        let time = local(&self.time, zone);
        format!(
            "{}  {}  {}  {}",
            styles.paint(Label::Quiet, &escape_multiline(&time)),
            styles.paint(Label::Name, &escape_multiline(&self.tool)),
            styles.paint(label, &escape_multiline(&self.level)),
            // A further row begins with blank space, and no entry does.
            escape_multiline(self.message.trim_end()).replace('\n', "\n    ")
        )
    }
}
