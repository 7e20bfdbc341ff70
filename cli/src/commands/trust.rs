//! Trusting a project's configuration: asked at the start of a chat, given and taken back by
//! `dunlin config trust` and `untrust`.
//!
//! What is trusted is the text that was read. The question shows what it would set, each value whole and with its line. A
//! yes counts only if all of that was on the screen, or if the file was read to its end with `v`. Where nobody can be asked
//! nothing is trusted, and the settings say what they left out.

use std::path::PathBuf;

use dunlin_host::display::{escape, shorten};

use crate::args::Global;
use crate::config::env::Environment;
use crate::config::trust::{self, Trust};
use crate::error::{CliError, Exit};
use crate::settings::Settings;
use crate::settings::project::ProjectFile;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::ui::review::{Review, barred};
use dunlin_terminal::ui::style::Label;

/// Characters of a value in lists that nothing is decided by.
const MAX_SHOWN_CHARS: usize = 120;

/// Margin of foreign text, in columns.
const INDENT: usize = 2;

/// There is nobody to ask.
#[derive(Debug, thiserror::Error)]
#[error("nothing was trusted: can't ask for confirmation here")]
struct NobodyToAsk;

/// There is nothing that could be trusted.
#[derive(Debug, thiserror::Error)]
#[error("this project has no configuration: {} does not exist", path.display())]
struct NoProjectFile {
    path: PathBuf,
}

/// Loads the settings, and asks once whether the project's configuration is to be trusted, if it wants that
/// and somebody can be asked.
pub fn offer(ui: &Ui, global: &Global, environment: Environment) -> Result<Settings, CliError> {
    let settings = super::load(global, environment.clone())?;
    let Some(file) = settings.project_file.as_ref() else {
        return Ok(settings);
    };
    let is_new = matches!(file.trust, Trust::Unknown | Trust::Changed);
    if !(is_new && file.wants_trust() && ui.can_ask()) {
        return Ok(settings);
    }
    let Some(trusted) = ask(ui, &settings, file) else {
        return Ok(settings);
    };
    keep(&settings, file, Some(trusted))?;
    // Read anew: had the file changed meanwhile, it is not the one that was trusted.
    super::load(global, environment)
}

/// `dunlin config trust`: shows what the file would set, and asks.
pub fn give(ui: &Ui, settings: &Settings, yes: bool) -> Result<Exit, CliError> {
    let file = project_file(settings)?;
    let short = settings.folders.short(&file.path);
    let short = escape(&short);
    if file.wishes.is_empty() {
        ui.data(&format!(
            "{short} only narrows your settings; it needs no trust."
        ));
        show_refused(ui, file);
        return Ok(Exit::Done);
    }
    if file.trust == Trust::Trusted {
        ui.data(&format!("{short} is already trusted."));
        return Ok(Exit::Done);
    }
    let trusted = match yes {
        true => {
            ui.data(&format!("{short} sets:"));
            show_wishes(ui, file);
            show_refused(ui, file);
            Some(true)
        }
        false if !ui.can_ask() => {
            return Err(CliError::new(Exit::Denied, NobodyToAsk)
                .with_hint("--yes trusts it without asking".to_owned()));
        }
        false => ask(ui, settings, file),
    };
    if let Some(trusted) = trusted {
        keep(settings, file, Some(trusted))?;
    }
    ui.data(&match trusted {
        Some(true) => format!("{short} is trusted until it changes."),
        Some(false) => format!("{short} is not trusted."),
        None => "Nothing was changed.".to_owned(),
    });
    Ok(Exit::Done)
}

/// `dunlin config untrust`
pub fn take_back(ui: &Ui, settings: &Settings) -> Result<(), CliError> {
    let file = project_file(settings)?;
    let short = settings.folders.short(&file.path);
    if keep(settings, file, None)? {
        ui.data(&format!(
            "{short} is not trusted any more; it can only narrow your settings"
        ));
    } else {
        ui.data(&format!("{short} was not trusted"));
    }
    Ok(())
}

/// What needs trust, a line each.
pub fn show_wishes(ui: &Ui, file: &ProjectFile) {
    for wish in &file.wishes {
        let value = shorten(&wish.value, MAX_SHOWN_CHARS);
        let line = ui
            .styles()
            .paint(Label::Quiet, &format!("line {}", wish.line));
        ui.data(&format!(
            "  {} = {}  {line}",
            escape(&wish.name),
            escape(&value)
        ));
    }
}

/// What no trust makes count, a line each.
pub fn show_refused(ui: &Ui, file: &ProjectFile) {
    for refused in &file.refused {
        ui.data(&format!(
            "  {} is never used: {}",
            escape(&refused.name),
            escape(&refused.why)
        ));
    }
}

/// Asks until there is an answer that counts. `None`: there is none.
fn ask(ui: &Ui, settings: &Settings, file: &ProjectFile) -> Option<bool> {
    let short = settings.folders.short(&file.path);
    let what = match file.trust {
        Trust::Changed => "changed since you trusted it; it now wants to set:",
        _ => "wants to set more than a project may by itself:",
    };
    ui.data(&format!("{} {what}", escape(&short)));
    ui.review(&Review {
        rows: question_rows(file, ui.window()),
        whole: Some(file_rows(file, ui.window())),
        question: "Trust this version of the file?",
    })
}

/// Everything the file would set and what never counts, each value whole.
fn question_rows(file: &ProjectFile, window: Window) -> Vec<String> {
    let wishes = file
        .wishes
        .iter()
        .map(|wish| format!("{}: {} = {}", wish.line, wish.name, wish.value));
    let refused = file
        .refused
        .iter()
        .map(|refused| format!("never used: {}: {}", refused.name, refused.why));
    wishes
        .chain(refused)
        .flat_map(|line| barred(&line, INDENT, window))
        .collect()
}

/// The file, with the numbers of its lines.
fn file_rows(file: &ProjectFile, window: Window) -> Vec<String> {
    let lines = (1..).zip(file.text.lines());
    lines
        .flat_map(|(number, line)| barred(&format!("{number}: {line}"), INDENT, window))
        .collect()
}

fn keep(settings: &Settings, file: &ProjectFile, trusted: Option<bool>) -> Result<bool, CliError> {
    let answer = trusted.map(|trusted| (file.digest.as_str(), trusted));
    trust::keep(&settings.folders.trust_file(), &file.path, answer).map_err(CliError::failed)
}

fn project_file(settings: &Settings) -> Result<&ProjectFile, CliError> {
    settings.project_file.as_ref().ok_or_else(|| {
        let path = settings.project.join(".dunlin/config.toml");
        CliError::failed(NoProjectFile { path })
    })
}
