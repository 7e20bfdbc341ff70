//! The models that run in this process: those that can be fetched, and those that are here.

use std::io;
use std::path::PathBuf;

use dunlin_host::display::{escape, size};
use dunlin_terminal::ui::style::Label;
use serde::Serialize;

use crate::app::App;
use crate::error::CliError;
use crate::models::{self, EMBEDDING_MODEL, Entry, Installed};

/// How wide the columns of names and sizes are.
const NAME_COLUMNS: usize = 14;
const SIZE_COLUMNS: usize = 8;

/// What the disk refuses.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}", path.display())]
pub struct CannotUse {
    pub path: PathBuf,
    pub source: io::Error,
}

/// A model that can be fetched, or that is here.
#[derive(Serialize)]
pub struct Row {
    name: String,
    bytes: u64,
    is_here: bool,
    about: String,
}

impl Row {
    /// Prints it as a line.
    pub fn print(&self, app: &App) {
        let ui = &app.ui;
        let name = format!("{:<NAME_COLUMNS$}", escape(&self.name));
        let place = format!("{:<4}", if self.is_here { "here" } else { "" });
        ui.data(&format!(
            "{} {:>SIZE_COLUMNS$}  {}  {}",
            ui.styles().paint(Label::Name, &name),
            size(self.bytes),
            ui.styles().paint(Label::Quiet, &place),
            self.about,
        ));
    }
}

/// The models that can be fetched, and the user's own.
///
/// # Errors
/// The folder cannot be read.
pub fn rows(app: &App) -> Result<Vec<Row>, CliError> {
    if cfg!(not(feature = "local-model")) {
        return Ok(Vec::new());
    }
    let here = installed(app)?;
    let fetchable = models::fetchable().map(|entry| Row {
        name: entry.name.to_owned(),
        bytes: entry.bytes,
        is_here: is_here(app, &here, entry),
        about: format!("{} · {}", entry.about, entry.licence),
    });
    let own = here
        .iter()
        .filter(|model| models::entry(&model.name).is_none());
    let own = own.map(|model| Row {
        name: model.name.clone(),
        bytes: model.bytes,
        is_here: true,
        about: "yours".to_owned(),
    });
    Ok(fetchable.chain(own).collect())
}

/// Whether a model that can be fetched is here.
pub fn is_here(app: &App, here: &[Installed], entry: &Entry) -> bool {
    match *entry == EMBEDDING_MODEL {
        true => entry.file_in(&app.settings.folders).is_file(),
        false => here.iter().any(|model| model.name == entry.name),
    }
}

/// The models that are in the folder, and can be talked to.
pub fn installed(app: &App) -> Result<Vec<Installed>, CliError> {
    let path = app.settings.folders.models();
    models::installed(&path).map_err(|source| CliError::failed(CannotUse { path, source }))
}
