//! `dunlin requests export`: everything that is known of the requests of a session, as JSON lines.

use std::io::{self, Write};
use std::path::PathBuf;

use dunlin_host::json;
use serde::Serialize;

use super::about::About;
use super::log::Log;
use crate::app::App;
use crate::commands::sessions::{must_be_new, with_real_folder, write_with};
use crate::error::CliError;
use dunlin_chat::message::Message;
use dunlin_chat::session::requests::{LoggedRequest, Side};

/// A line of an export. The bodies are texts, so that a program gets their exact bytes.
#[derive(Serialize)]
struct Exported<'a> {
    #[serde(flatten)]
    about: About<'a>,
    /// The body as sent; null: it cannot be restored.
    sent: Option<String>,
    /// The body as composed, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    original: Option<String>,
    /// What the model replied.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Message>,
    /// Why there is no body.
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

/// Writes the requests of a session.
pub fn run(app: &App, log: &Log, output: Option<PathBuf>, force: bool) -> Result<(), CliError> {
    let ui = &app.ui;
    let mut damaged = 0_usize;
    let mut line = |request: &LoggedRequest| {
        let exported = exported(log, request);
        damaged += usize::from(exported.damage.is_some());
        json::to_string(&exported).map_err(io::Error::other)
    };
    match output {
        Some(path) => {
            if !force {
                must_be_new(&path)?;
            }
            write_with(&with_real_folder(path), force, |file| {
                let mut file = io::BufWriter::new(file);
                for request in log.file.requests() {
                    writeln!(file, "{}", line(request)?)?;
                }
                file.flush()
            })?;
        }
        None => {
            for request in log.file.requests() {
                // The output may be large, and nobody may be reading any more.
                ui.check()?;
                ui.data(&line(request)?);
            }
        }
    }
    if damaged > 0 {
        ui.warn(&format!(
            "requests whose bodies cannot be restored: {damaged}"
        ));
    }
    Ok(())
}

fn exported<'a>(log: &'a Log, request: &'a LoggedRequest) -> Exported<'a> {
    let number = request.entry.number;
    let body = |side| {
        let bytes = log
            .file
            .body(number, side)
            .map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|error| error.to_string())
    };
    let is_edited = request.entry.is_edited();
    let (sent, damage) = match body(Side::Sent) {
        Ok(sent) => (Some(sent), None),
        Err(damage) => (None, Some(damage)),
    };
    Exported {
        about: About::of(&log.entry.id, &log.file, request),
        sent,
        original: is_edited.then(|| body(Side::Original).ok()).flatten(),
        reply: log.file.reply(request),
        damage,
    }
}
