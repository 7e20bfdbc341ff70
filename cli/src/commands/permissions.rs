//! `dunlin permissions`: what is stored, and why something is allowed, denied or asked.

use std::path::Path;

use dunlin_host::display::escape;
use dunlin_host::permission::Verdict;

use crate::args::PermissionsCommand;
use crate::error::{CliError, Exit};
use crate::ui::Ui;
use crate::ui::style::Label;
use crate::workshop::Workshop;

/// Nothing is stored under this key.
#[derive(Debug, thiserror::Error)]
#[error("nothing is stored for {target:?}")]
struct NotStored {
    target: String,
}

/// Runs one of the commands.
pub fn run(workshop: &Workshop, command: PermissionsCommand) -> Result<Exit, CliError> {
    let ui = &workshop.ui;
    let permissions = workshop.permissions()?;
    match command {
        PermissionsCommand::List => {
            let stored = permissions.list()?;
            if stored.is_empty() {
                ui.status(
                    "Nothing is stored; see dunlin permissions explain TARGET for what holds.",
                );
            }
            show(ui, &stored);
            for key in permissions.stale_keys()? {
                let word = shell_word(&key);
                ui.status(&format!(
                    "{} is not there any more; dunlin permissions unset {} removes the line",
                    escape(&key),
                    escape(&word)
                ));
            }
        }
        PermissionsCommand::Set { target, bits } => {
            let key = permissions.set(&target, &bits)?;
            ui.data(&format!("{bits}  {}", escape(&key)));
            if !key.ends_with('/') && Path::new(&key).is_dir() {
                let folder = escape(&key);
                ui.status(&format!(
                    "This covers the folder itself; {folder}/ covers all that lies in it."
                ));
            }
        }
        PermissionsCommand::Unset { target } => {
            if !permissions.unset(&target)? {
                let hint = "dunlin permissions list shows what is stored".to_owned();
                return Err(CliError::failed(NotStored { target }).with_hint(hint));
            }
            ui.status(&format!("Removed what was stored for {}", escape(&target)));
        }
        PermissionsCommand::Explain { target } => {
            let (target, explained) = permissions.explain(&target)?;
            ui.data(
                &ui.styles()
                    .paint(Label::Target, &escape(&target.to_string())),
            );
            for line in explained {
                let (label, verdict) = match line.verdict {
                    Verdict::Allow => (Label::Good, "allow"),
                    Verdict::Deny => (Label::Bad, "deny"),
                    Verdict::Ask => (Label::Warning, "ask"),
                };
                let verdict = ui.styles().paint(label, &format!("{verdict:<5}"));
                let rule = line.rule.to_string();
                ui.data(&format!(
                    "  {:<7}  {verdict}  {}",
                    line.operation.verb(),
                    escape(&rule)
                ));
                if let Some(way_out) = line.way_out {
                    let other = if line.verdict == Verdict::Allow {
                        "denies"
                    } else {
                        "allows"
                    };
                    let hint = format!(
                        "{:19}{other} it: dunlin permissions set {} {}",
                        "",
                        shell_word(&way_out.target),
                        way_out.bits
                    );
                    ui.data(&ui.styles().paint(Label::Quiet, &escape(&hint)));
                }
            }
        }
    }
    Ok(Exit::Done)
}

/// A word as a shell takes it back.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%~".contains(c);
    // A tilde at the start is the shell's.
    if !text.is_empty() && !text.starts_with('~') && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Prints stored keys, one a line.
pub fn show(ui: &Ui, stored: &[dunlin_host::Stored]) {
    for line in stored {
        let bound = match &line.bound_to {
            Some(plugins) => ui
                .styles()
                .paint(Label::Quiet, &format!("  {}", escape(plugins))),
            None => String::new(),
        };
        ui.data(&format!(
            "{}  {}{bound}",
            escape(&line.bits),
            escape(&line.key)
        ));
    }
}
