//! What commands and the chat do with sessions that were kept.

use dunlin_host::json;

use crate::app::App;
use crate::args::ExportFormat;
use crate::error::CliError;
use crate::saved_edits;
use dunlin_chat::session::{Entry, Loaded, Session, Store, StoreError, export};
use dunlin_terminal::ui::stream::Filter;

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> CliError {
        let hint = error.hint();
        let error = match &error {
            StoreError::None
            | StoreError::NoName
            | StoreError::Unknown { .. }
            | StoreError::Ambiguous { .. }
            | StoreError::SameTitle { .. } => CliError::usage(error),
            _ => CliError::failed(error),
        };
        error.with_hint(hint)
    }
}

/// Makes a copy of a session in this project. Whoever has it open keeps it.
///
/// # Errors
/// It cannot be read, or the copy cannot be written.
pub fn fork(app: &App, entry: &Entry) -> Result<(Session, Loaded), CliError> {
    let loaded = entry.load()?;
    let copy = Session::fork(&app.store(), &Store::new_id(), entry, &loaded)?;
    saved_edits::copy(app, (&entry.id, &copy.id()), |_| true).map_err(CliError::failed)?;
    Ok((copy, loaded))
}

/// The text of a conversation. Printing it does nothing else to a terminal: a file of somebody else's may hold any text.
pub fn render(loaded: &Loaded, id: &str, format: ExportFormat) -> Result<String, CliError> {
    Ok(match format {
        ExportFormat::Md => Filter::default().piece(&export::markdown(loaded, id)),
        ExportFormat::Json => {
            let value = export::json(loaded, id);
            json::to_string_pretty(&value).map_err(CliError::failed)? + "\n"
        }
    })
}
