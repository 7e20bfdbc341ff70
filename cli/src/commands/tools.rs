//! `dunlin tools`: the tools, and a call by hand under the same permissions as a model's.

use std::sync::Arc;

use dunlin_host::call::{Call, Failure, Standing};
use dunlin_host::display::{escape, escape_multiline};

use crate::args::ToolsCommand;
use crate::config::nearest;
use crate::dialogue::{Presenter, interrupted, look_at_tools};
use crate::error::{CliError, Exit};
use crate::turn::Frontend;
use crate::turn::{CallState, CallView};
use crate::ui::Ui;
use crate::ui::calls::fit;
use crate::ui::style::Label;
use crate::ui::terminal::{self, TurnMode};
use crate::workshop::Workshop;

/// How many columns a name takes in the list; longer ones move their line only.
const NAME_COLUMNS: usize = 16;

/// What was typed after `--args` is no JSON object.
#[derive(Debug, thiserror::Error)]
#[error("--args is no JSON object")]
struct BadArguments {
    source: Option<serde_json::Error>,
}

/// Runs one of the commands.
pub fn run(workshop: &Workshop, command: ToolsCommand) -> Result<Exit, CliError> {
    match command {
        ToolsCommand::List => list(workshop),
        ToolsCommand::Show { name } => show(workshop, &name),
        ToolsCommand::Call { name, args } => call(workshop, name, &args),
    }
}

/// Prints all tools, one a line, and warns of plugins that have none because they are broken.
pub fn list(workshop: &Workshop) -> Result<Exit, CliError> {
    let ui = &workshop.ui;
    for tool in look_at_tools(workshop)? {
        let name = ui.styles().paint(
            Label::Name,
            &format!("{:<NAME_COLUMNS$}", escape(&tool.name)),
        );
        let about = escape(first_sentence(&tool.description));
        let columns = terminal::size().0.saturating_sub(NAME_COLUMNS + 2);
        let about = if ui.streams().output {
            fit(&about, columns)
        } else {
            about.into_owned()
        };
        ui.data(&format!("{name} {about}"));
    }
    Ok(Exit::Done)
}

/// The description up to the end of its first sentence: enough for a list.
fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}

fn show(workshop: &Workshop, name: &str) -> Result<Exit, CliError> {
    let ui = &workshop.ui;
    let tools = look_at_tools(workshop)?;
    let Some(tool) = tools.iter().find(|tool| tool.name == name) else {
        let names = tools.iter().map(|tool| tool.name.as_str());
        let near = nearest(name, names)
            .map(str::to_owned)
            .into_iter()
            .collect();
        return Err(CliError::usage(Failure::UnknownTool {
            name: name.to_owned(),
            near,
        }));
    };
    let parameters = serde_json::to_string_pretty(&tool.parameters).map_err(CliError::failed)?;
    ui.data(&ui.styles().paint(Label::Name, &escape(&tool.name)));
    ui.data(&escape_multiline(&tool.description));
    ui.data(&format!("\nplugin     {}", escape(&tool.plugin)));
    ui.data(&format!("abilities  {}", escape(&tool.imports.join(", "))));
    ui.data(&format!("parameters {}", escape_multiline(&parameters)));
    Ok(Exit::Done)
}

fn call(workshop: &Workshop, tool: String, arguments: &str) -> Result<Exit, CliError> {
    let arguments: serde_json::Value = serde_json::from_str(arguments).map_err(|error| {
        CliError::usage(BadArguments {
            source: Some(error),
        })
    })?;
    if !arguments.is_object() {
        return Err(CliError::usage(BadArguments { source: None }));
    }
    let call = Call {
        id: "by-hand".to_owned(),
        tool,
        arguments,
    };
    let interrupt = interrupted(workshop)?;
    let host = workshop.host()?;
    let mode = workshop.asks().then(TurnMode::enter);
    let done = workshop.runtime()?.block_on(async {
        tokio::select! {
            result = perform(workshop, host, &call) => result,
            () = interrupt => {
                host.cancelled(&call);
                Err(Failure::Cancelled)
            }
        }
    });
    drop(mode);
    match done {
        Ok(text) => {
            workshop
                .ui
                .data(&crate::ui::stream::Filter::default().piece(&text));
            Ok(Exit::Done)
        }
        Err(Failure::Cancelled) => Err(CliError::silent(Exit::Interrupted)),
        Err(failure @ Failure::Denied { .. }) => Err(CliError::new(Exit::Denied, failure)),
        Err(failure @ (Failure::UnknownTool { .. } | Failure::Arguments { .. })) => {
            Err(CliError::usage(failure))
        }
        Err(failure) => Err(CliError::failed(failure)),
    }
}

/// Prepares, asks and runs. Dropping it stops the call.
async fn perform(
    workshop: &Workshop,
    host: &dunlin_host::Host,
    call: &Call,
) -> Result<String, Failure> {
    let plan = host.prepare(call).await?;
    let denied = || Failure::Denied {
        question: plan.question.clone(),
    };
    if let Standing::Denied { .. } = plan.standing {
        return Err(denied());
    }
    if let Some(question) = plan.question(call) {
        let answer = workshop.asker().ask(question).await;
        let kept = host.answer(call, &plan, answer).await;
        if !answer.allow {
            return Err(denied());
        }
        kept?;
    }
    let target = plan
        .needs
        .first()
        .map(|need| need.target.to_string())
        .unwrap_or_default();
    let mut view = CallView {
        index: 1,
        id: call.id.clone(),
        tool: call.tool.clone(),
        target,
        state: CallState::Running,
        note: None,
        duration: None,
    };
    let presenter = Arc::new(Presenter::new(Arc::clone(&workshop.ui)));
    presenter.call(&view);
    let outcome = host
        .run(call, &plan, workshop.asker(), presenter.clone())
        .await;
    view.duration = Some(outcome.duration);
    view.state = match &outcome.result {
        Ok(_) => CallState::Completed,
        Err(Failure::Denied { .. }) => CallState::Denied,
        Err(_) => CallState::Failed,
    };
    presenter.call(&view);
    outcome.result.map(|success| success.text)
}

/// Says which plugins could not be used.
pub fn warn_of(ui: &Ui, broken: &[dunlin_host::LoadError]) {
    for error in broken {
        ui.warn(&with_causes(error));
    }
}

/// An error and its causes in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
