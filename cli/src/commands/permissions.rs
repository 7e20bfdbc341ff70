//! `dunlin permissions`: what is stored, and why something is allowed, denied or asked.

pub mod explain;

use std::path::Path;

use dunlin_host::command::{NotSimple, chained_commands, simple_words};
use dunlin_host::display::{escape, own_command, shell_word};
use dunlin_host::permission::key::Decided;
use dunlin_host::permission::{ExplainedCommand, Verdict};
use dunlin_host::target::{CommandKey, Operation};
use dunlin_host::{PermissionError, Permissions, Stored};
use serde::Serialize;

use crate::app::App;
use crate::args::{Allow, AskArgs, PermissionArgs, PermissionsCommand};
use crate::dialogue::look_at_tools;
use crate::error::{CliError, Exit};
use crate::tools::{STORED_LEGEND, print_stored, unknown_tool};
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::Ui;
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

/// Several words where one target is expected.
#[derive(Debug, thiserror::Error)]
#[error("these are several targets; a target with spaces needs quotes")]
struct SeveralTargets;

/// An address where a program is expected.
#[derive(Debug, thiserror::Error)]
#[error("an address cannot be run; it can be read")]
struct AddressRuns;

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

/// An option where a target is expected.
#[derive(Debug, thiserror::Error)]
#[error("a target is missing; {0:?} is an option, and options stand before the operation")]
struct NoOption(String);

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

/// Decides about one operation, and says what that covers.
///
/// # Errors
/// The target cannot be decided about, or the decision cannot be stored.
pub fn decide(
    app: &App,
    permissions: &Permissions,
    args: &PermissionArgs,
    decided: Decided,
) -> Result<(), CliError> {
    let ui = &app.ui;
    let operation = Operation::from(args.operation);
    let target = target_of(operation, decided, &args.target)?;
    if operation == Operation::Execute && target.contains("://") && !target.contains(' ') {
        let word = storing::verb(decided);
        return Err(CliError::usage(AddressRuns).with_hint(Some(own_command(&[
            "permissions",
            word,
            "read",
            &target,
        ]))));
    }
    let key = permissions
        .set_one(&target, operation, decided)
        .map_err(|error| in_parts(permissions, &target, error))?;
    ui.data(&format!(
        "{} {}  {}",
        storing::verb(decided),
        operation.verb(),
        escape(&key)
    ));
    say_taken(app, &target, &key);
    if decided == Decided::Open {
        return Ok(());
    }
    if operation == Operation::Execute {
        say_covered(ui, &key, decided == Decided::Allow);
    }
    if decided == Decided::Allow && CommandKey::is_command(&key) {
        say_denied(ui, permissions, &key);
    }
    say_folder(ui, &key);
    let covers_files = key.starts_with('/') && key.ends_with('/') && operation != Operation::Execute;
    if covers_files && decided == Decided::Allow {
        ui.status("Files in it that usually hold secrets, such as .env, are included.");
    }
    Ok(())
}

/// A yes cannot be stored for several commands: how each of them is allowed instead.
fn in_parts(permissions: &Permissions, line: &str, error: PermissionError) -> CliError {
    if !matches!(error, PermissionError::Compound { .. }) {
        return error.into();
    }
    let explained = permissions.explain_command(line).ok();
    let parts = explained.iter().flat_map(|it| &it.command.parts);
    let mut ways: Vec<String> = Vec::new();
    for part in parts {
        let words: Vec<String> = part.subject.iter().map(|word| shell_word(word)).collect();
        let part = permissions.explain_command(&words.join(" ")).ok();
        let part = part.filter(|part| part.execute.verdict == Verdict::Ask);
        let way = part.and_then(|part| Some(storing::command(&part.execute.way_out?)));
        ways.extend(way.filter(|way| !ways.contains(way)));
    }
    let hint = match ways.as_slice() {
        [] => format!(
            "s at the question allows this line until the session ends; {} looks at each of its commands",
            own_command(&["permissions", "explain", line])
        ),
        ways => format!("allow each of its commands: {}", ways.join("; ")),
    };
    CliError::from(error).with_hint(Some(hint))
}

/// The target that was typed. Several words are the words of a command, as the shell passed them on.
fn target_of(operation: Operation, decided: Decided, words: &[String]) -> Result<String, CliError> {
    let [first, others @ ..] = words else {
        return Err(CliError::usage(NoOption(String::new())));
    };
    if others.is_empty() {
        // Everything behind the operation is taken as it is, so that a command keeps its options.
        return match first.starts_with("--") {
            true => Err(CliError::usage(NoOption(first.clone()))),
            false => Ok(first.clone()),
        };
    }
    let command = format!(
        "dunlin permissions {} {}",
        storing::verb(decided),
        storing::word(operation)
    );
    // A key as it is listed, without its quotes.
    if matches!(first.as_str(), "$" | "=" | "mcp") {
        let key = shell_word(&words.join(" "));
        return Err(CliError::usage(SeveralTargets).with_hint(Some(format!("{command} {key}"))));
    }
    if operation == Operation::Execute {
        let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
        return Ok(words.join(" "));
    }
    let hint = match others.iter().find(|word| word.starts_with('-')) {
        Some(option) => format!(
            "{option} is an option: it stands before {:?}",
            storing::word(operation)
        ),
        None => format!("{command} {}", shell_word(&words.join(" "))),
    };
    Err(CliError::usage(SeveralTargets).with_hint(Some(hint)))
}

fn say_folder(ui: &Ui, key: &str) {
    if key == "/" {
        ui.status("This covers every file of this machine; /. covers the folder itself.");
    } else if key == "/." {
        ui.status("This covers the folder itself; / covers every file of this machine.");
    } else if !key.ends_with('/') && Path::new(key).is_dir() {
        let folder = escape(key);
        ui.status(&format!(
            "This covers the folder itself; {folder}/ covers all that lies in it."
        ));
    }
}

/// Says what a target was taken for where it could have meant something else, and how that is written.
pub fn say_taken(app: &App, typed: &str, key: &str) {
    if !key.starts_with('/') {
        return;
    }
    let ui = &app.ui;
    let short = app.settings.folders.short(Path::new(key));
    let short = escape(&short);
    if !Path::new(key).exists() {
        ui.status(&format!("There is no such file yet: {short}"));
        if typed.contains('*') {
            ui.status("A target is one file, folder/ or host: there is no * in it.");
        } else if looks_like_host(typed) {
            let typed = escape(typed);
            ui.status(&format!(
                "A web address begins with https://, as in https://{typed}"
            ));
        }
    } else if !typed.contains('/') && is_other_file(&app.settings.project.join(typed), key) {
        let typed = escape(typed);
        ui.status(&format!(
            "{typed} is the program {short}; ./{typed} is a file of the project"
        ));
    }
}

/// Whether this is a file, and another one than the key names.
fn is_other_file(path: &Path, key: &str) -> bool {
    let real = path.canonicalize();
    real.is_ok_and(|real| real.is_file() && Path::new(key) != real)
}

/// Whether a target that names no file may be meant as a web address.
fn looks_like_host(typed: &str) -> bool {
    let (host, _) = typed.split_once('/').unwrap_or((typed, ""));
    let (host, has_port) = match host.split_once(':') {
        Some((host, port)) => (host, port.parse::<u16>().is_ok()),
        None => (host, false),
    };
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(plain)
    };
    (labels.len() > 1 || has_port) && labels.iter().all(is_label)
}

/// Says that a yes has no effect, where a no to its program or to other words of it is the stronger one.
fn say_denied(ui: &Ui, permissions: &Permissions, key: &str) {
    // Of a program that is not there nothing can be said.
    let Ok(ExplainedCommand { execute, .. }) = permissions.explain_command(key) else {
        return;
    };
    if execute.verdict == Verdict::Deny {
        let undo = execute.rule.revert(execute.operation);
        let undo = undo.as_ref().and_then(storing::revert);
        let undo = undo.map_or_else(String::new, |undo| format!("; {undo} takes that back"));
        let rule = execute.rule.to_string();
        ui.warn(&format!("It stays denied: {}{undo}", escape(&rule)));
    }
}

/// Says what a stored key for a program or a command includes, where that is more than it looks like.
fn say_covered(ui: &Ui, key: &str, allows: bool) {
    if !allows || key.ends_with('/') {
        return;
    }
    match key.parse::<CommandKey>() {
        Ok(key @ CommandKey::Words(_)) => ui.status(&format!(
            "This covers {}, also options that make it run other programs.",
            escape(&key.describe())
        )),
        Ok(key @ CommandKey::Server(_)) => ui.status(&format!(
            "This covers {}, in all folders and whatever the server's files have become. Without it, Dunlin asks at each start.",
            escape(&key.describe())
        )),
        Ok(key) => ui.status(&format!("This covers {}.", escape(&key.describe()))),
        Err(_) if key.starts_with('/') => {
            ui.status(&format!(
                "This covers every use of {}, whatever its arguments are and whatever they make it run.",
                escape(key)
            ));
            let name = key.rsplit('/').next().unwrap_or(key);
            if let Err(NotSimple::Builtin(name)) = simple_words(name) {
                ui.status(&format!(
                    "The shell carries out {} itself, so a line that begins with this word is still asked about.",
                    escape(&name)
                ));
            }
        }
        Err(_) => {}
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_words_are_a_command() {
        let of = |operation, words: &[&str]| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            target_of(operation, Decided::Allow, &words)
                .map_err(|error| error.render(dunlin_terminal::ui::style::Styles::plain()))
        };
        let run = |words| of(Operation::Execute, words).unwrap();
        assert_eq!(run(&["cargo test"]), "cargo test");
        assert_eq!(
            run(&["cargo", "test", "--lib", "-q"]),
            "cargo test --lib -q"
        );
        assert_eq!(run(&["echo", "a b", "$HOME"]), "echo 'a b' '$HOME'");
        let problem = |operation, words: &[&str]| of(operation, words).unwrap_err().unwrap();
        assert_eq!(
            problem(Operation::Read, &["my", "file"]),
            "error: these are several targets; a target with spaces needs quotes\n\
             hint: dunlin permissions allow read 'my file'"
        );
        assert!(
            problem(Operation::Execute, &["$", "/usr/bin/cargo", "test"])
                .ends_with("hint: dunlin permissions allow run '$ /usr/bin/cargo test'")
        );
        assert!(
            problem(Operation::Read, &["a", "--project", "b"]).contains("--project is an option")
        );
        assert!(problem(Operation::Execute, &["--quiet"]).contains("a target is missing"));
    }
}
