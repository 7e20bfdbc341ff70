//! `/metadata` at the prompt: the metadata of the last request of a turn.

use crate::app::App;
use crate::dialogue::Dialogue;
use crate::error::CliError;
use crate::prompt::metadata::{self, Metadata};
use crate::requests::Log;
use dunlin_chat::session::requests::Kind;

/// `/metadata [FIELD ...|copy FIELD]` at the prompt: the last request of a turn.
///
/// # Errors
/// The log or the configuration cannot be read.
pub fn run(app: &App, dialogue: Option<&Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let copied = rest.strip_prefix(metadata::COPY);
    if !rest.is_empty() && copied.is_none() {
        ui.status(&metadata::choose(app, rest)?);
        return Ok(());
    }
    let session = dialogue.and_then(Dialogue::session);
    if let Some((session, dialogue)) = session.zip(dialogue) {
        session.requests().flush();
        if !session.exists() && !dialogue.messages().is_empty() {
            ui.status("This session is not stored, so there is no record of its requests.");
            return Ok(());
        }
    }
    let session = session.filter(|session| session.exists());
    if let Some((session, dialogue)) = session.zip(dialogue) {
        let log = Log::of(session.entry())?;
        let requests = log.file.requests().iter().rev();
        let mut turns = requests.filter(|request| request.entry.kind == Kind::Turn);
        if let Some(request) = turns.next() {
            // That of another model is not known any more.
            let is_same = request.entry.model == dialogue.model();
            let window = dialogue.report(app).window.filter(|_| is_same);
            let window = window.map(|window| window.tokens);
            let shown = Metadata::of_logged(app, &log, request, window);
            if let Some(name) = copied {
                ui.status(&metadata::copy(app, &shown, name));
                return Ok(());
            }
            let rows = shown.rows(&app.metadata_fields());
            rows.iter()
                .for_each(|row| ui.data_rows(row, metadata::INDENT));
            return Ok(());
        }
    }
    ui.status("Nothing was sent in this session yet.");
    Ok(())
}
