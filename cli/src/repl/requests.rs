//! `/requests`: what was sent in this session.

use crate::app::App;
use crate::commands::requests::{Log, Part, print, rows};
use crate::dialogue::Dialogue;
use crate::error::CliError;
use dunlin_terminal::ui::style::Label;

/// How many requests are listed.
const MAX_LISTED: usize = 20;

/// Lists the requests, or shows one: `[N [PART]]`.
///
/// # Errors
/// There is no such request, or it cannot be restored.
pub fn run(app: &App, dialogue: Option<&Dialogue>, rest: &str) -> Result<(), CliError> {
    let ui = &app.ui;
    let session = dialogue.and_then(Dialogue::session);
    let Some(session) = session.filter(|session| session.exists()) else {
        ui.status("Nothing was sent in this session yet.");
        return Ok(());
    };
    session.requests().flush();
    let log = Log::of(session.entry())?;
    if rest.is_empty() {
        let all = log.file.requests();
        let left_out = all.len().saturating_sub(MAX_LISTED);
        rows(app, &log.file, all.get(left_out..).unwrap_or_default());
        let note = match left_out {
            0 => "/requests N shows one".to_owned(),
            _ => {
                format!("{left_out} earlier ones: dunlin requests list -n 0; /requests N shows one")
            }
        };
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
        return Ok(());
    }
    let mut words = rest.split_whitespace();
    let number = words.next().and_then(|word| word.parse().ok());
    let part = match words.next() {
        None => Some(Part::About),
        Some("sent") => Some(Part::Sent),
        Some("original") => Some(Part::Original),
        Some("diff") => Some(Part::Diff),
        Some("curl") => Some(Part::Curl),
        Some(_) => None,
    };
    match (number, part, words.next()) {
        (Some(number), Some(part), None) => print(app, &log, number, part),
        _ => {
            ui.status("Usage: /requests [N [PART]], where PART is sent, original, diff or curl");
            Ok(())
        }
    }
}
