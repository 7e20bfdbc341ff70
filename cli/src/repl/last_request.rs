//! `/metadata` at the prompt: the metadata of the last request of a turn.

use dunlin_host::display::grouped;

use super::metadata::{self, Metadata, edited, id};
use crate::app::App;
use crate::commands::requests::Log;
use crate::commands::requests::about::net_edits;
use crate::dialogue::Dialogue;
use crate::error::CliError;
use dunlin_chat::session::requests::{Kind, LoggedRequest, RequestFile};

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
            let shown = of_logged(app, &log.entry.id, &log.file, request, window);
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

/// That of a request in the log. `window`: the context window of its model, in tokens.
fn of_logged(
    app: &App,
    session: &str,
    file: &RequestFile,
    request: &LoggedRequest,
    window: Option<u64>,
) -> Metadata {
    let entry = &request.entry;
    let budget = match (entry.tokens, window) {
        (None, _) => "not counted".to_owned(),
        (Some(tokens), Some(window)) => {
            format!("{} of {} tokens", grouped(tokens), grouped(window))
        }
        (Some(tokens), None) => format!("{} tokens", grouped(tokens)),
    };
    Metadata {
        session: session.to_owned(),
        request: id(session, entry.number),
        agent: entry.agent.clone(),
        model: file.model(request).into_owned(),
        endpoint: entry.endpoint.clone(),
        mode: app.pausing.typed(),
        edited: edited(entry.is_edited(), net_edits(request, file)),
        budget,
    }
}
