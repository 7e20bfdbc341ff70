//! `dunlin permissions`: what is stored, and why something is allowed, denied or asked.

use std::path::Path;

use dunlin_host::command::{NotSimple, chained_commands};
use dunlin_host::display::{escape, own_command, shell_word};
use dunlin_host::permission::key::Decided;
use dunlin_host::target::CommandKey;
use dunlin_host::{PermissionError, Stored};
use serde::Serialize;

use crate::app::App;
use crate::args::{Allow, AskArgs, PermissionsCommand};
use crate::dialogue::look_at_tools;
use crate::error::{CliError, Exit};
use crate::permission_rules::{decide, explain, say_covered, say_folder, say_taken};
use crate::tools::{STORED_LEGEND, print_stored, unknown_tool};
use dunlin_terminal::ui::style::Label;

/// What is stored for a target, for `--json`.
#[derive(Serialize)]
struct Listed<'a> {
    target: &'a str,
    /// Three characters: `rw-`, `r??`.
    bits: &'a str,
    /// The plugins to which it was allowed, in words; without them, it holds for every tool.
    bound_to: Option<&'a str>,
    /// Why it does not hold any longer.
    lapsed: Option<String>,
}

impl<'a> From<&'a Stored> for Listed<'a> {
    fn from(stored: &'a Stored) -> Listed<'a> {
        Listed {
            target: &stored.key,
            bits: &stored.bits,
            bound_to: stored.bound_to.as_deref(),
            lapsed: stored.lapsed.as_ref().map(ToString::to_string),
        }
    }
}

/// Nothing is stored under this key.
#[derive(Debug, thiserror::Error)]
#[error("nothing is stored for {target:?}")]
struct NotStored {
    target: String,
}

/// A compound line where `--allow` takes a simple command.
#[derive(Debug, thiserror::Error)]
#[error("--allow takes one simple command, and {line:?} is not one ({why})")]
struct SeveralCommands {
    line: String,
    why: NotSimple,
}

impl SeveralCommands {
    /// What allows such a line: exactly this one, or its commands, each in any line.
    fn hint(&self) -> String {
        let option = |option: &str, text: &str| format!("{option} {}", shell_word(text));
        let exactly = option("--allow-line", &self.line);
        let commands = chained_commands(&self.line).filter(|it| it.len() > 1);
        let each: Vec<String> = commands
            .into_iter()
            .flatten()
            .filter(|command| !command.is_of_shell)
            .map(|command| {
                let words: Vec<String> = command.words.iter().map(|it| shell_word(it)).collect();
                option("--allow", &words.join(" "))
            })
            .collect();
        let hint = match each.as_slice() {
            [] => format!("{exactly} allows exactly this line"),
            each => format!(
                "{exactly} allows exactly this line, {} its commands",
                each.join(" ")
            ),
        };
        escape(&hint).into_owned()
    }
}

/// Runs one of the commands.
pub fn run(app: &App, command: PermissionsCommand) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let permissions = app.permissions()?;
    match command {
        PermissionsCommand::List(args) => {
            let stored = permissions.list()?;
            if args.json {
                app.print_json(&stored.iter().map(Listed::from).collect::<Vec<_>>())?;
                return Ok(Exit::Done);
            }
            if stored.is_empty() {
                ui.status(
                    "Nothing is stored; see dunlin permissions explain TARGET for what holds.",
                );
            }
            if !stored.is_empty() {
                ui.status(&ui.status_styles().paint(Label::Quiet, STORED_LEGEND));
            }
            print_stored(app, &stored);
            for key in permissions.stale_keys()? {
                ui.status(&format!(
                    "{} is not there; {} removes the line",
                    escape(&key),
                    own_command(&["permissions", "unset", &key])
                ));
            }
        }
        PermissionsCommand::Allow(args) => decide(app, &permissions, &args, Decided::Allow)?,
        PermissionsCommand::Deny(args) => decide(app, &permissions, &args, Decided::Deny)?,
        PermissionsCommand::Ask(args) => decide(app, &permissions, &args, Decided::Open)?,
        PermissionsCommand::Set { target, bits } => {
            let key = permissions.set(&target, &bits)?;
            ui.data(&format!("{bits}  {}", escape(&key)));
            say_taken(app, &target, &key);
            say_covered(ui, &key, bits.ends_with('x'));
            say_folder(ui, &key);
        }
        PermissionsCommand::Unset { target } => {
            if !permissions.unset(&target)? {
                let hint = "dunlin permissions list shows what is stored".to_owned();
                return Err(CliError::usage(NotStored { target }).with_hint(hint));
            }
            ui.status(&format!("Removed what was stored for {}", escape(&target)));
        }
        PermissionsCommand::Explain { target } => explain::target(app, &permissions, &target)?,
    }
    Ok(Exit::Done)
}

/// Allows what `--allow` names until the session ends, and says what was taken for what.
pub fn allow_for_session(app: &App, allowed: &[Allow]) -> Result<(), CliError> {
    let permissions = app.host()?.permissions();
    for allow in allowed {
        if allow.is_command {
            let explained = permissions
                .explain_command(&allow.target)
                .map_err(|error| {
                    CliError::usage(error).with_hint(Some(
                        "--allow takes a command, or a target with letters of rwx: src/=r"
                            .to_owned(),
                    ))
                })?;
            // What the shell carries out itself may be a program as well, and a key says what it is.
            let is_key = CommandKey::is_command(&allow.target);
            let is_compound = |why: &NotSimple| !is_key && !matches!(why, NotSimple::Builtin(_));
            if let Some(why) = explained.compound.filter(is_compound) {
                let error = SeveralCommands {
                    line: allow.target.clone(),
                    why,
                };
                let hint = error.hint();
                return Err(CliError::usage(error).with_hint(Some(hint)));
            }
        }
        let option = format!("--allow {}", shell_word(&allow.typed()));
        let key = permissions.allow_by_option(&allow.target, &allow.bits, &option)?;
        say_taken(app, &allow.target, &key);
    }
    Ok(())
}

/// Allows reading a file that the user has named to be attached.
pub fn allow_file(app: &App, path: &Path) -> Result<(), CliError> {
    let target = path.to_string_lossy();
    let option = format!("--file {}", shell_word(&target));
    let permissions = app.host()?.permissions();
    match permissions.allow_by_option(&target, "r??", &option) {
        Ok(_) => Ok(()),
        // What ordinary rules let be read in the project needs no yes, and a secret there keeps asking.
        Err(PermissionError::Link { real, .. }) if real.starts_with(&app.settings.project) => {
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Allows for this run what the options name, and says what was taken for what.
pub fn allow_for_run(app: &App, args: &AskArgs) -> Result<(), CliError> {
    allow_for_session(app, &args.allow)?;
    let permissions = app.host()?.permissions();
    for line in &args.allow_line {
        permissions
            .allow_line_by_option(line, &format!("--allow-line {}", shell_word(line)))
            .map_err(CliError::usage)?;
    }
    if !args.allow_tool.is_empty() {
        let tools = look_at_tools(app)?;
        for name in &args.allow_tool {
            if !tools.iter().any(|tool| tool.name == *name) {
                return Err(unknown_tool(&tools, name));
            }
            permissions.allow_tool_by_option(name, &format!("--allow-tool {name}"));
        }
    }
    Ok(())
}
