//! `dunlin tools`: the tools, and a call by hand under the same permissions as a model's.

use std::sync::Arc;

use dunlin_host::call::Failure;
use dunlin_host::display::{escape, escape_multiline, own_command};
use dunlin_host::mcp::SEPARATOR;
use serde_json::Value;

use crate::app::App;
use crate::args::ToolsCommand;
use crate::dialogue::presenter::Presenter;
use crate::dialogue::way_out::way_to_allow_always;
use crate::dialogue::{HandsOff, interrupted, look_at_tools};
use crate::error::{CliError, Exit};
use crate::prompt::decider::Decider;
use crate::tools::{print, unknown_tool};
use dunlin_chat::provider::ProposedCall;
use dunlin_chat::turn::{CallContext, CallState, TurnRules, run_calls};
use dunlin_terminal::ui::stream::Filter;
use dunlin_terminal::ui::style::Label;

/// What was typed after `--args` is not a JSON object.
#[derive(Debug, thiserror::Error)]
#[error("--args is not a JSON object")]
struct BadArguments {
    source: Option<serde_json::Error>,
}

/// Runs one of the commands.
pub fn run(app: &App, command: ToolsCommand) -> Result<Exit, CliError> {
    match command {
        ToolsCommand::List(args) => list(app, args.json),
        ToolsCommand::Show { name } => show(app, &name),
        ToolsCommand::Call { name, args } => call(app, name, &args),
    }
}

fn list(app: &App, json: bool) -> Result<Exit, CliError> {
    let tools = look_at_tools(app)?;
    match json {
        true => app.print_json(&tools)?,
        false => print(app, &tools)?,
    }
    Ok(Exit::Done)
}

/// Says where the tools of a server are, if a name is that of one: no command connects servers for them.
fn of_server(app: &App, tool: &str) -> Option<String> {
    let (server, _) = tool.split_once(SEPARATOR)?;
    let is_known = app.settings.mcp_servers.contains_key(server);
    is_known.then(|| {
        format!(
            "the tools of an MCP server are called in a chat; {} lists them",
            own_command(&["mcp", "test", server])
        )
    })
}

fn show(app: &App, name: &str) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let tools = look_at_tools(app)?;
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        return Err(unknown_tool(&tools, name).with_hint(of_server(app, name)));
    };
    let parameters = serde_json::to_string_pretty(&tool.parameters).map_err(CliError::failed)?;
    ui.data(&ui.styles().paint(Label::Name, &escape(&tool.name)));
    ui.data(&escape_multiline(&tool.description));
    ui.data(&format!("\nplugin     {}", escape(&tool.plugin)));
    ui.data(&format!("abilities  {}", escape(&tool.imports.join(", "))));
    ui.data(&format!("parameters {}", escape_multiline(&parameters)));
    Ok(Exit::Done)
}

fn call(app: &App, tool: String, arguments: &str) -> Result<Exit, CliError> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).map_err(|error| {
        CliError::usage(BadArguments {
            source: Some(error),
        })
    })?;
    let Value::Object(arguments) = arguments else {
        return Err(CliError::usage(BadArguments { source: None }));
    };
    let result = by_hand(app, ProposedCall::new("by-hand", tool, arguments))?;
    let Some((text, has_failed)) = result else {
        return Ok(Exit::Done);
    };
    app.ui.data(&Filter::default().piece(&text));
    Ok(match has_failed {
        true => Exit::Failed,
        false => Exit::Done,
    })
}

/// Leads a call through the steps of a model's and gives its result, and whether what it did has failed all the same, as a
/// command does that ends with an exit status; `None`: the user skipped it.
///
/// # Errors
/// It was denied, it failed, or it was interrupted.
pub fn by_hand(app: &App, call: ProposedCall) -> Result<Option<(String, bool)>, CliError> {
    let interrupt = interrupted(app)?;
    let host = app.host()?;
    let tool = call.tool.clone();
    let decider = Decider::new(app, &[], Arc::default());
    let context = CallContext {
        tools: host,
        rules: TurnRules::default(),
        approver: decider.approver(),
        ask: decider.ask(None),
        frontend: Arc::new(Presenter::new(Arc::clone(&app.ui)).without_reasons()),
    };
    let report = {
        let _hands_off = HandsOff::begin(app);
        host.begin_turn();
        app.runtime()?.block_on(async {
            tokio::select! {
                biased;
                report = run_calls(vec![call], 0, &context, interrupt) => report,
                never = decider.serve() => match never {},
                never = app.ui.animate() => match never {},
            }
        })
    };
    let Some(record) = report.calls.into_iter().next() else {
        return Err(CliError::silent(Exit::Interrupted));
    };
    let text = record.result.unwrap_or_default();
    match (record.state, record.failure) {
        (CallState::Completed, _) => Ok(Some((text, false))),
        // A command that failed has a result all the same.
        (CallState::Failed, None) => Ok(Some((text, true))),
        (CallState::Skipped, _) => Ok(None),
        (_, Some(failure @ Failure::Denied { .. })) => {
            let denial = report.denials.first().filter(|_| !app.asks());
            let hint = denial.and_then(|denial| way_to_allow_always(app, denial));
            Err(CliError::new(Exit::Denied, failure).with_hint(hint))
        }
        (_, Some(failure @ Failure::UnknownTool { .. })) => {
            let hint = of_server(app, &tool);
            Err(CliError::usage(failure).with_hint(hint))
        }
        (_, Some(failure @ Failure::Arguments { .. })) => Err(CliError::usage(failure)),
        (_, Some(failure)) => Err(CliError::failed(failure)),
        (_, None) => Err(CliError::silent(Exit::Interrupted)),
    }
}
