//! `/mcp` and `/prompt`: the MCP servers as the chat sees them, and the messages that they prepared.

use std::sync::Arc;

use dunlin_host::call::{Call, Failure, PlanStatus};
use dunlin_host::display::escape;
use dunlin_host::{NoProgress, ServerPrompt};
use serde_json::json;

use crate::app::App;
use crate::dialogue::{HandsOff, interrupted};
use crate::error::CliError;
use crate::mcp::configured::{how_it_runs, unknown_server};
use crate::prompt::slash_table::VERBS;
use crate::prompt::templates;
use crate::settings::Origin;
use crate::templates::Places;
use crate::templates::text::arguments;
use dunlin_chat::tokens::counted;
use dunlin_host::mcp::LOADER;
use dunlin_terminal::ui::style::Label;

/// How many columns a name takes in the list.
const NAME_COLUMNS: usize = 16;

/// How `/mcp` is used.
const USAGE: &str = "Usage: /mcp, or /mcp connect|disconnect|enable|disable NAME";

/// Lists the servers, or does something with one: `connect NAME`.
pub fn run(app: &App, typed: &str) -> Result<(), CliError> {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let (verb, name) = match words.as_slice() {
        [] => return list(app),
        [verb, name] if VERBS.contains(verb) => (*verb, *name),
        _ => {
            app.ui.status(USAGE);
            return Ok(());
        }
    };
    let servers = &app.settings.mcp_servers;
    let Some(server) = servers.get(name) else {
        return Err(unknown_server(app, name));
    };
    if !server.value.is_enabled() {
        app.ui.status(&format!(
            "{name} is disabled by enabled = false below [mcp.servers.{name}] in {}.",
            escape(&place(app, name))
        ));
        return Ok(());
    }
    match verb {
        "connect" => connect(app, name),
        "disconnect" => disconnect(app, name),
        "disable" => disable(app, name),
        _ => enable(app, name),
    }
}

fn connect(app: &App, name: &str) -> Result<(), CliError> {
    let (ui, host) = (&app.ui, app.host()?);
    let report = host.servers().into_iter().find(|it| it.name == name);
    if report.as_ref().is_some_and(|it| it.is_connected) {
        ui.status(&format!("{name} is already connected."));
        return Ok(());
    }
    if report.is_some_and(|it| it.is_disabled) {
        ui.status(&format!(
            "{name} is disabled for this session; /mcp enable {name} enables it."
        ));
        return Ok(());
    }
    let call = Call {
        id: "by-hand".to_owned(),
        tool: LOADER.to_owned(),
        arguments: json!({ "server": name }),
    };
    // Also one that was left alone because it ended too often.
    host.forgive_server(name);
    let ask = app.asker();
    let work = async {
        let plan = host.prepare(&call).await?;
        if let Some(question) = plan.question(&call) {
            let answer = ask.ask(question).await;
            host.answer(&call, &plan, answer).await?;
            if !answer.allow {
                return Ok(false);
            }
        }
        if let PlanStatus::Denied { rule, .. } = &plan.status {
            return Err(Failure::Denied {
                question: format!("{} (denied by: {rule})", plan.question),
                by_user: false,
            });
        }
        ui.status(&format!("Connecting to {name} …"));
        let outcome = host.run(&call, &plan, ask, Arc::new(NoProgress)).await;
        outcome.result.map(|_| true)
    };
    let connected = wait(app, work)?;
    if !matches!(connected, Some(Ok(true))) {
        // An answer holds for the call that it was given to.
        host.cancelled(&call);
    }
    match connected {
        None => ui.status("(interrupted)"),
        Some(Ok(false)) => ui.status(&format!("{name} was not connected.")),
        Some(Err(failure)) => return Err(CliError::failed(failure)),
        Some(Ok(true)) => {
            let report = host.servers().into_iter().find(|it| it.name == name);
            let tools = report.map_or(0, |it| it.tools.len());
            let tools = counted(tools, "tool", "tools");
            ui.status(&format!("{name} is connected and offers {tools}."));
        }
    }
    Ok(())
}

fn disconnect(app: &App, name: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let was_used = wait(app, app.host()?.disconnect_server(name))?;
    ui.status(&match was_used {
        Some(true) => format!(
            "Disconnected {name}. The model can ask to connect it again; /mcp disable {name} prevents that."
        ),
        Some(false) => format!("{name} is not connected."),
        None => "(interrupted)".to_owned(),
    });
    Ok(())
}

fn disable(app: &App, name: &str) -> Result<(), CliError> {
    let host = app.host()?;
    host.set_server_disabled(name, true);
    if wait(app, host.disconnect_server(name))?.is_none() {
        app.ui.status("(interrupted)");
    }
    app.ui.status(&format!(
        "Disabled {name} until this session ends; /mcp enable {name} takes that back. To disable it permanently, set \
         enabled = false below [mcp.servers.{name}] in {}.",
        escape(&place(app, name))
    ));
    Ok(())
}

fn enable(app: &App, name: &str) -> Result<(), CliError> {
    let host = app.host()?;
    let mut servers = host.servers().into_iter();
    let is_disabled = servers.any(|it| it.name == name && it.is_disabled);
    host.set_server_disabled(name, false);
    app.ui.status(&match is_disabled {
        true => format!("Enabled {name}; /mcp connect {name} connects it."),
        false => format!("{name} is not disabled."),
    });
    Ok(())
}

/// The file in which a server is configured.
fn place(app: &App, name: &str) -> String {
    let settings = &app.settings;
    let origin = settings.mcp_servers.get(name).map(|it| &it.origin);
    match origin {
        Some(Origin::File(path, _)) => settings.folders.short(path),
        _ => settings.folders.short(&settings.folders.config_file()),
    }
}

/// Lists the configured servers. Starts none.
fn list(app: &App) -> Result<(), CliError> {
    let ui = &app.ui;
    let configured = &app.settings.mcp_servers;
    if configured.is_empty() {
        ui.status("No MCP server is configured; dunlin mcp add NAME -- COMMAND adds one.");
    }
    for (name, server) in configured {
        if !server.value.is_enabled() {
            let name = format!("{name:<NAME_COLUMNS$}");
            let name = ui.styles().paint(Label::Name, &name);
            ui.data(&format!("{name} disabled in the configuration"));
        }
    }
    let servers = app.host()?.servers();
    for server in servers {
        let name = format!("{:<NAME_COLUMNS$}", server.name);
        let name = ui.styles().paint(Label::Name, &name);
        let state = match (server.is_connected, server.is_used) {
            _ if server.is_disabled => "disabled for this session".to_owned(),
            (true, _) => {
                let info = &server.server_info;
                format!("connected · {} {}", info.name, info.version)
            }
            (false, true) => "not connected; Dunlin connects it for the next call".to_owned(),
            (false, false) => "not connected".to_owned(),
        };
        let how = configured.get(&server.name);
        let how = how.map_or_else(String::new, |it| how_it_runs(&it.value));
        let place = match how.as_str() {
            "" => server.place.clone(),
            how => format!("{} ({how})", server.place),
        };
        let place = ui.styles().paint(Label::Quiet, &escape(&place));
        ui.data_rows(&format!("{name} {state} · {place}"), NAME_COLUMNS + 1);
        if server.is_disabled || !server.is_used {
            continue;
        }
        for (tool, is_destructive) in &server.tools {
            let mark = if *is_destructive {
                "  (may destroy)"
            } else {
                ""
            };
            ui.data(&format!("{:NAME_COLUMNS$} {}{mark}", "", escape(tool)));
        }
        for left_out in &server.left_out {
            let text = format!("{:NAME_COLUMNS$} left out: {left_out}", "");
            ui.data(&ui.styles().paint(Label::Quiet, &text));
        }
    }
    Ok(())
}

/// Lists the templates and the prompts of the connected servers, or gives the text of a server's:
/// `SERVER NAME [ARGUMENT=VALUE]...`.
pub fn prompt(app: &App, typed: &str) -> Result<Option<String>, CliError> {
    let ui = &app.ui;
    let mut words = typed.split_whitespace();
    let (server, name) = match (words.next(), words.next()) {
        (Some(server), Some(name)) => (server, name),
        _ => return list_prompts(app).map(|()| None),
    };
    let Some(arguments) = arguments(words) else {
        ui.status("Usage: /prompt SERVER NAME [ARGUMENT=VALUE]...");
        return Ok(None);
    };
    let host = app.host()?;
    let filled = wait(app, host.prompt(server, name, arguments))?;
    match filled {
        Some(Ok(text)) => return Ok(Some(text)),
        Some(Err(error)) => ui.warn(&error.to_string()),
        None => ui.status("(interrupted)"),
    }
    Ok(None)
}

fn list_prompts(app: &App) -> Result<(), CliError> {
    let ui = &app.ui;
    let templates = templates::rows(app);
    templates::print(ui, &templates);
    let prompts = match app.settings.mcp_servers.is_empty() {
        true => Vec::new(),
        false => {
            let Some((prompts, failed)) = wait(app, app.host()?.prompts())? else {
                ui.status("(interrupted)");
                return Ok(());
            };
            failed.iter().for_each(|line| ui.warn(line));
            prompts
        }
    };
    for prompt in &prompts {
        ui.data(&row(prompt));
    }
    if prompts.is_empty() && templates.is_empty() {
        let folder = Places::of(&app.settings);
        let folder = app.settings.folders.short(folder.user());
        ui.status(&format!(
            "There are no templates in {}, and no connected MCP server has prompts.",
            escape(&folder)
        ));
    }
    Ok(())
}

fn row(prompt: &ServerPrompt) -> String {
    let mut row = format!("/prompt {} {}", prompt.server, escape(&prompt.name));
    for (name, is_required) in &prompt.arguments {
        let name = escape(name);
        row += &match is_required {
            true => format!(" {name}=…"),
            false => format!(" [{name}=…]"),
        };
    }
    if !prompt.description.is_empty() {
        row += &format!("  {}", prompt.description);
    }
    row
}

/// Waits, until Ctrl-C. `None`: interrupted.
fn wait<T>(app: &App, work: impl Future<Output = T>) -> Result<Option<T>, CliError> {
    let interrupt = interrupted(app)?;
    let _hands_off = HandsOff::begin(app);
    Ok(app.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => None,
            done = work => Some(done),
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_may_have_several_words() {
        let of = |typed: &str| arguments(typed.split_whitespace());
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(of(""), Some(Vec::new()));
        assert_eq!(
            of("bird=little stint place=sea"),
            Some(vec![pair("bird", "little stint"), pair("place", "sea")])
        );
        assert_eq!(of("stint"), None);
    }
}
