//! Tools and what is stored for them, as lists.

use dunlin_host::call::Failure;
use dunlin_host::display::{escape, width};
use dunlin_host::nearest::nearest;
use dunlin_host::permission::ToolMode;
use dunlin_host::{Stored, Tool};

use crate::app::App;
use crate::apps::with_names;
use crate::error::CliError;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::terminal;
use dunlin_terminal::ui::wrap::hanging;

/// How many columns names take in the list at most; longer ones move their line only.
const MOST_NAME_COLUMNS: usize = 32;

/// How far in a description stands that is below its name, in columns.
const BELOW: usize = 4;

/// What is to be left for a description beside the name and the mode, in columns.
const LEAST_BESIDE: usize = 20;

/// How many columns a mode takes in the list.
const MODE_COLUMNS: usize = 6;

/// Prints tools, one a line, with what was set for them.
pub fn print(app: &App, tools: &[Tool]) -> Result<(), CliError> {
    let ui = &app.ui;
    let widths = tools.iter().map(|tool| width(&escape(&tool.name)));
    let widest = widths.filter(|width| *width <= MOST_NAME_COLUMNS).max();
    let wide = widest.unwrap_or_default();
    for tool in tools {
        let name = ui
            .styles()
            .paint(Label::Name, &format!("{:<wide$}", escape(&tool.name)));
        let mode = if ui.is_chat() {
            let mode = app.host()?.permissions().tool_mode(&tool.name);
            let mode = format!("{:<MODE_COLUMNS$}", mode.as_str());
            format!("{} ", ui.styles().paint(Label::Quiet, &mode))
        } else {
            String::new()
        };
        let about = escape(first_sentence(&tool.description));
        let used = wide + 1 + if ui.is_chat() { MODE_COLUMNS + 1 } else { 0 };
        // The last column stays free. What reads a pipe wants one line of each.
        let columns = match ui.streams().output {
            true => terminal::size().0.saturating_sub(1),
            false => usize::MAX,
        };
        let first = format!("{name} {mode}");
        let rows = match columns < used + LEAST_BESIDE {
            // Beside the name there is too little room.
            true => {
                let below = " ".repeat(BELOW);
                ui.data(first.trim_end());
                hanging(&below, BELOW, &about, columns)
            }
            false => hanging(&first, used, &about, columns),
        };
        ui.data_all(&rows);
    }
    Ok(())
}

/// Sets what holds for a tool until the session ends: `NAME MODE`. The result says whether permissions changed.
pub fn set_mode(app: &App, tools: &[Tool], typed: &str) -> Result<bool, CliError> {
    let ui = &app.ui;
    let mut words = typed.split_whitespace();
    let (Some(name), Some(mode), None) = (words.next(), words.next(), words.next()) else {
        ui.status("Usage: /tools NAME prompt|always|never");
        return Ok(false);
    };
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        return Err(unknown_tool(tools, name));
    };
    let mode: ToolMode = mode.parse().map_err(CliError::usage)?;
    app.host()?.permissions().set_tool_mode(&tool.name, mode);
    let name = ui.status_styles().paint(Label::Name, &escape(name));
    ui.status(&format!("  {name} · {mode}, until the session ends"));
    Ok(true)
}

/// Says that there is no such tool, and which come near.
pub fn unknown_tool(tools: &[Tool], name: &str) -> CliError {
    let names = tools.iter().map(|tool| tool.name.as_str());
    let near = nearest(name, names)
        .map(str::to_owned)
        .into_iter()
        .collect();
    CliError::usage(Failure::UnknownTool {
        name: name.to_owned(),
        near,
    })
}

/// The description up to the end of its first sentence: enough for a list.
fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}

/// What the marks before a stored permission say, and what stands behind it.
pub const STORED_LEGEND: &str = "r read · w write · x run · - denied · ? not decided; of a command only x counts; last: the tool allowed";

/// Prints stored permissions, one a line.
pub fn print_stored(app: &App, stored: &[Stored]) {
    let (ui, apps) = (&app.ui, app.app_store());
    for line in stored {
        let bound = match &line.bound_to {
            Some(plugins) => ui.styles().paint(
                Label::Quiet,
                &format!("  {}", escape(&with_names(&apps, &with_tools(plugins)))),
            ),
            None => String::new(),
        };
        let lapsed = match &line.lapsed {
            Some(change) => {
                let text = format!("  lapsed: {}", escape(&change.to_string()));
                ui.styles().paint(Label::Warning, &text)
            }
            None => String::new(),
        };
        ui.data(&format!(
            "{}  {}{bound}{lapsed}",
            escape(&line.bits),
            escape(&line.key)
        ));
    }
}

/// A list of plugins in which a built-in one is named with its other tools: the user was asked by a tool.
fn with_tools(plugins: &str) -> String {
    let named = |plugin: &str| {
        let mut built_in = dunlin_plugins::ALL.iter();
        let description = built_in.find(|it| it.name == plugin)?.description?;
        let names = description.tools.iter().map(|tool| tool.name);
        let others: Vec<&str> = names.filter(|name| *name != plugin).collect();
        (!others.is_empty()).then(|| format!("{plugin} (also {})", others.join(", ")))
    };
    let plugins = plugins.split(", ");
    let plugins: Vec<String> = plugins
        .map(|plugin| named(plugin).unwrap_or_else(|| plugin.to_owned()))
        .collect();
    plugins.join(", ")
}

/// Which tools came, went, or say something else of themselves, in one line; `None`: none did.
pub fn changes(before: &[Tool], after: &[Tool]) -> Option<String> {
    let named = |tools: &[Tool], name: &str| tools.iter().find(|tool| tool.name == name).cloned();
    let new = after
        .iter()
        .filter(|tool| named(before, &tool.name).is_none());
    let gone = before
        .iter()
        .filter(|tool| named(after, &tool.name).is_none());
    let changed = after
        .iter()
        .filter(|tool| named(before, &tool.name).is_some_and(|old| old != **tool));
    let names = |tools: Vec<&Tool>| {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        names.join(", ")
    };
    let kinds = [
        ("New tools", new.collect::<Vec<_>>()),
        ("Removed", gone.collect()),
        ("Changed", changed.collect()),
    ];
    let kinds = kinds.into_iter().filter(|(_, tools)| !tools.is_empty());
    let sentences: Vec<String> = kinds
        .map(|(kind, tools)| format!("{kind}: {}.", names(tools)))
        .collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_named_with_its_other_tools() {
        let named = with_tools("edit_file, read_file, far (0123abcd)");
        assert_eq!(
            named,
            "edit_file (also apply_patch), read_file, far (0123abcd)"
        );
    }

    #[test]
    fn what_comes_and_goes_is_said() {
        let tool = |name: &str, description: &str| -> Tool {
            serde_json::from_value(serde_json::json!({
                "name": name, "plugin": "p", "description": description, "parameters": {}, "imports": [],
            }))
            .unwrap()
        };
        let (a, b, c) = (tool("a", "A."), tool("b", "B."), tool("c", "C."));
        for (before, after, expected) in [
            (vec![a.clone()], vec![a.clone()], None),
            (
                vec![a.clone()],
                vec![a.clone(), b.clone(), c.clone()],
                Some("New tools: b, c."),
            ),
            (
                vec![a.clone(), b.clone()],
                vec![a.clone()],
                Some("Removed: b."),
            ),
            (
                vec![a.clone(), b.clone()],
                vec![tool("a", "Another."), c.clone()],
                Some("New tools: c. Removed: b. Changed: a."),
            ),
        ] {
            assert_eq!(changes(&before, &after).as_deref(), expected);
        }
    }
}
