//! Trusting a project's configuration: asked at the start of a chat, given and taken back by
//! `dunlin config trust` and `untrust`.
//!
//! What is trusted is the text that was read; the question shows what it would set, each value with its line,
//! and all of it can be viewed. Where nobody can be asked nothing is, and the settings say what they left out.

use std::path::PathBuf;

use dunlin_host::display::{escape, escape_multiline, shorten};

use crate::args::Global;
use crate::config::env::Environment;
use crate::config::project::ProjectFile;
use crate::config::trust::{self, Trust};
use crate::error::CliError;
use crate::settings::Settings;
use crate::ui::style::Label;
use crate::ui::{Typed, Ui};

/// Characters of a value that the list shows. `v` shows all.
const MAX_SHOWN_CHARS: usize = 120;

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

/// `dunlin config trust`
pub fn give(ui: &Ui, settings: &Settings) -> Result<(), CliError> {
    let file = project_file(settings)?;
    let short = settings.folders.short(&file.path);
    if file.wishes.is_empty() {
        ui.data(&format!(
            "{short} only narrows your settings: it needs no trust"
        ));
    } else {
        keep(settings, file, Some(true))?;
        ui.data(&format!("{short} is trusted until it changes; it sets:"));
        show_wishes(ui, file);
    }
    show_refused(ui, file);
    Ok(())
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

/// `None`: nobody answered.
fn ask(ui: &Ui, settings: &Settings, file: &ProjectFile) -> Option<bool> {
    let short = settings.folders.short(&file.path);
    let what = match file.trust {
        Trust::Changed => "changed since you trusted it; it now wants to set:",
        _ => "wants to set more than a project may by itself:",
    };
    ui.data(&format!("{} {what}", escape(&short)));
    show_wishes(ui, file);
    show_refused(ui, file);
    loop {
        match ui.plain_line("Trust it as it is now? y/n, v shows all of it ") {
            Typed::Line(line) => match line.trim() {
                "y" | "yes" => return Some(true),
                "n" | "no" => return Some(false),
                "v" | "view" => ui.data(&escape_multiline(&file.text)),
                _ => {}
            },
            Typed::Interrupted | Typed::End => return None,
        }
    }
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
