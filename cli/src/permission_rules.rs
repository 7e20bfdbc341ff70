//! Rules that the user makes, and why something is allowed, denied or asked: `dunlin permissions` in a shell and `/permissions`
//! in the chat do the same with the same words.

pub mod explain;

use std::path::Path;

use dunlin_host::command::{NotSimple, simple_words};
use dunlin_host::display::{escape, own_command, shell_word};
use dunlin_host::permission::key::Decided;
use dunlin_host::permission::{ExplainedCommand, Verdict};
use dunlin_host::target::{CommandKey, Operation};
use dunlin_host::{PermissionError, Permissions};

use crate::app::App;
use crate::args::PermissionArgs;
use crate::error::CliError;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::Ui;

/// Several words where one target is expected.
#[derive(Debug, thiserror::Error)]
#[error("these are several targets; a target with spaces needs quotes")]
struct SeveralTargets;

/// An address where a program is expected.
#[derive(Debug, thiserror::Error)]
#[error("an address cannot be run; it can be read")]
struct AddressRuns;

/// An option where a target is expected.
#[derive(Debug, thiserror::Error)]
#[error("a target is missing; {0:?} is an option, and options stand before the operation")]
struct NoOption(String);

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
    let covers_files =
        key.starts_with('/') && key.ends_with('/') && operation != Operation::Execute;
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

pub fn say_folder(ui: &Ui, key: &str) {
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
pub fn say_covered(ui: &Ui, key: &str, allows: bool) {
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
