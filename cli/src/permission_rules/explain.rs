//! What holds for a target and why: `dunlin permissions explain` in the shell, `/permissions explain` in the chat.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dunlin_host::command::chained_commands;
use dunlin_host::display::{chain, escape, shell_word};
use dunlin_host::permission::{ExplainedCommand, Verdict};
use dunlin_host::target::{CommandKey, Operation, Target};
use dunlin_host::{Explained, Permissions};

use crate::app::App;
use crate::error::CliError;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::wrap;

/// Where the rule stands in a row of what holds, in columns.
const RULE_COLUMN: usize = 19;

/// Prints what holds for a target, and which rule decides. An operation may stand before it, as behind `allow`.
///
/// # Errors
/// The target cannot be read, or the permissions cannot.
pub fn target(app: &App, permissions: &Permissions, typed: &[String]) -> Result<(), CliError> {
    let ui = &app.ui;
    // As behind allow, the operation may stand before the target.
    let is_operation = |word: &String| {
        let mut operations = Operation::ALL.into_iter();
        operations.any(|operation| storing::word(operation) == word)
    };
    let (operation, words) = match typed {
        [first, words @ ..] if !words.is_empty() && is_operation(first) => (Some(first), words),
        words => (None, words),
    };
    let is_run = operation.is_some_and(|it| it == storing::word(Operation::Execute));
    let target = match words {
        [target] => target.clone(),
        words => {
            let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
            words.join(" ")
        }
    };
    // What has a gap in it and is not a file is a command line.
    if target.contains(char::is_whitespace)
        && (is_run || !app.settings.project.join(&target).exists())
    {
        let command = permissions
            .explain_command(&target)
            .map_err(CliError::failed)?;
        explain_command(ui, &command);
        if command.compound.is_some() {
            explain_parts(ui, permissions, &target, &command);
        }
        return Ok(());
    }
    let (target, explained) = permissions.explain(&target)?;
    ui.data(
        &ui.styles()
            .paint(Label::Target, &escape(&target.to_string())),
    );
    // There is no program at an address, nor in a file that is not there or cannot be executed.
    let runs = match &target {
        Target::Url(_) => false,
        Target::Path(path) if matches!(path.try_exists(), Ok(false)) => {
            let no_program = match words {
                [word] if !word.contains(['/', '.']) => ", and no program has this name",
                _ => "",
            };
            ui.data_rows(
                &format!("  There is no such file{no_program}: reading it fails, and writing creates it where that is allowed."),
                2,
            );
            false
        }
        Target::Path(path) => may_run(path),
        _ => true,
    };
    let means = |line: &&Explained| {
        runs || line.operation != Operation::Execute || line.verdict != Verdict::Ask
    };
    for line in explained.iter().filter(means) {
        explain(ui, line);
    }
    Ok(())
}

/// Whether running this can mean something: an ordinary file that nobody may execute is not a program.
fn may_run(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.map_or(true, |it| {
        !it.is_file() || it.permissions().mode() & 0o111 != 0
    })
}

/// Says what holds for one operation on a target, and what would change it.
fn explain(ui: &Ui, line: &Explained) {
    let (label, verdict) = match line.verdict {
        Verdict::Allow => (Label::Good, "allow"),
        Verdict::Deny => (Label::Bad, "deny"),
        Verdict::Ask => (Label::Warning, "ask"),
    };
    let verdict = ui.styles().paint(label, &format!("{verdict:<5}"));
    let rule = line.rule.to_string();
    let text = format!(
        "  {:<7}  {verdict}  {}",
        line.operation.verb(),
        escape(&rule)
    );
    ui.data_rows(&text, RULE_COLUMN);
    if let Some(way_out) = &line.way_out {
        let other = if line.verdict == Verdict::Allow {
            "deny"
        } else {
            "allow"
        };
        say_way(ui, &format!("to {other} it:"), &storing::command(way_out));
    }
    if line.verdict == Verdict::Deny
        && let Some(undo) = line
            .rule
            .revert(line.operation)
            .as_ref()
            .and_then(storing::revert)
    {
        say_way(ui, "to take the rule back:", &undo);
    }
}

/// Prints a command below the rule that it changes, unbroken if it fits on a row.
fn say_way(ui: &Ui, label: &str, command: &str) {
    let columns = match ui.streams().output {
        true => ui.window().columns.saturating_sub(1),
        false => usize::MAX,
    };
    for row in wrap::command(RULE_COLUMN, label, command, columns) {
        ui.data(&ui.styles().paint(Label::Quiet, &row));
    }
}

/// Says how a command line is read, and what holds for it.
fn explain_command(ui: &Ui, explained: &ExplainedCommand) {
    let command = &explained.command;
    let label = match &explained.compound {
        Some(why) => why.label(),
        None => "one simple command".to_owned(),
    };
    let said = match &explained.obstacle {
        _ if matches!(command.key, CommandKey::Server(_)) => {
            "the start of an MCP server without a sandbox; an answer holds for this start alone"
                .to_owned()
        }
        None if command.parts.is_empty() => {
            format!("{label}; always would allow {}", command.describe())
        }
        None => format!(
            "{label}: allowed if each of its commands is; always would allow {}",
            command.describe()
        ),
        Some(obstacle) => {
            let allowed = match command.only_once || command.is_unclear {
                true => format!("allowed only once {obstacle}"),
                false => format!("can't be stored {obstacle}; allowed once or for a session"),
            };
            format!("{label}: {allowed}, and refused when one of its programs is denied")
        }
    };
    ui.data_rows(&escape(&said), 2);
    if explained.compound.is_none() {
        let key = command.key.to_string();
        ui.data(&ui.styles().paint(Label::Target, &escape(&key)));
    }
    explain(ui, &explained.execute);
    for program in &command.programs {
        let called = program.called.to_string_lossy();
        let leads = match program.called == program.real {
            true => String::new(),
            false => format!(" (a link to {})", program.real.display()),
        };
        ui.data(&format!("  runs     {}{}", escape(&called), escape(&leads)));
    }
    for path in &explained.guarded {
        let path = path.to_string_lossy();
        ui.data_rows(
            &format!(
                "names {}, so it is asked each time, or refused if that is Dunlin's own",
                escape(&path)
            ),
            2,
        );
    }
}

/// Says what holds for each command of a line.
fn explain_parts(ui: &Ui, permissions: &Permissions, line: &str, whole: &ExplainedCommand) {
    // A key is about the line as it is.
    let commands = chained_commands(line).filter(|_| !CommandKey::is_command(line));
    let Some(commands) = commands else {
        return;
    };
    ui.data(match whole.command.parts.is_empty() {
        true => "  each of its commands, where it is the only one of a line:",
        false => "  each of its commands:",
    });
    for command in commands.iter().filter(|command| !command.is_of_shell) {
        let words: Vec<String> = command.words.iter().map(|word| shell_word(word)).collect();
        let command = words.join(" ");
        ui.data(&ui.styles().paint(Label::Target, &escape(&command)));
        match permissions.explain_command(&command) {
            Ok(explained) => explain(ui, &explained.execute),
            Err(error) => ui.data_rows(&format!("  {}", escape(&chain(&error))), 2),
        }
    }
}
