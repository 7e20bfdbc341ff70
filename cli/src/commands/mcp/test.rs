//! `dunlin mcp test`: connects to one server as a chat does, and says what it offers.

use std::time::Instant;

use dunlin_host::display::escape;
use serde_json::json;

use crate::app::App;
use crate::commands::tools;
use crate::error::{CliError, Exit};
use crate::mcp::configured::configured;
use dunlin_chat::provider::ProposedCall;
use dunlin_host::mcp::LOADER;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::terminal;

/// How many columns what stands before a line takes.
const MARGIN: usize = 12;

/// Connects, lists, ends. What has to be allowed is asked about.
pub fn run(app: &App, name: &str) -> Result<Exit, CliError> {
    configured(app, name)?;
    let serde_json::Value::Object(arguments) = json!({ "server": name }) else {
        return Ok(Exit::Failed);
    };
    let call = ProposedCall::new("by-hand", LOADER.to_owned(), arguments);
    if tools::by_hand(app, call)?.is_none() {
        return Ok(Exit::Done);
    }
    show(app, name)?;
    Ok(Exit::Done)
}

fn show(app: &App, name: &str) -> Result<(), CliError> {
    let (ui, host) = (&app.ui, app.host()?);
    let reports = host.servers();
    let Some(report) = reports.into_iter().find(|report| report.name == name) else {
        return Ok(());
    };
    let line = |title: &str, text: &str| {
        let title = ui
            .styles()
            .paint(Label::Quiet, &format!("{title:<MARGIN$}"));
        ui.data(&format!("{title}{text}"));
    };
    let info = &report.server_info;
    line("server", &format!("{} {}", info.name, info.version));
    if let Some(took) = report.connected_in {
        line("connected", &format!("in {} ms", took.as_millis()));
    }
    line("protocol", &info.protocol);
    line("at", &escape(&report.place));
    for text in info.instructions.iter().flat_map(|text| text.lines()) {
        line("says", text);
    }
    let tools = host.joined();
    let room = terminal::size().0.saturating_sub(MARGIN);
    for (index, (tool, is_destructive)) in report.tools.iter().enumerate() {
        let about = tools.iter().find(|it| it.name == *tool);
        let about = about.map(|it| escape(it.description.lines().next().unwrap_or_default()));
        let mark = if *is_destructive {
            " (may destroy)"
        } else {
            ""
        };
        let text = format!("{tool}{mark}  {}", about.unwrap_or_default());
        let text = match ui.streams().output {
            true => fit(&text, room),
            false => text,
        };
        line(if index == 0 { "tools" } else { "" }, &text);
    }
    for left_out in &report.left_out {
        line("left out", left_out);
    }
    let begin = Instant::now();
    let (prompts, failed) = app.runtime()?.block_on(host.prompts());
    for prompt in &prompts {
        line(
            "prompt",
            &format!("{}  {}", escape(&prompt.name), prompt.description),
        );
    }
    for why in failed {
        ui.warn(&why);
    }
    if info.has_prompts {
        let took = begin.elapsed().as_millis();
        line("answers", &format!("in {took} ms"));
    }
    Ok(())
}
