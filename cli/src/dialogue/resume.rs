//! Continues a session that was kept, in a new dialogue or in the one there is.

use super::Dialogue;
use crate::app::App;
use crate::error::{CliError, Exit};
use crate::saved_edits;
use dunlin_chat::session::{Entry, Loaded};

/// A dialogue that goes on with a session: the last one of the project, or the one that was named.
///
/// # Errors
/// There is none, it is open elsewhere, or it cannot be read.
pub fn resume_named(app: &App, typed: Option<&str>) -> Result<Dialogue, CliError> {
    let (dialogue, loaded) = resume_first(app, typed)?;
    warn_of_damage(app, &loaded);
    Ok(dialogue)
}

/// The same, with what was found in the session, for whoever shows that.
///
/// # Errors
/// As [`resume_named`].
pub fn resume_first(app: &App, typed: Option<&str>) -> Result<(Dialogue, Loaded), CliError> {
    let entry = app.store().find(typed)?;
    let mut dialogue = None;
    let loaded = resume(app, &mut dialogue, &entry)?;
    dialogue
        .map(|dialogue| (dialogue, loaded))
        .ok_or_else(|| CliError::silent(Exit::Failed))
}

/// Goes on with a session, in the dialogue there is or in a new one.
///
/// # Errors
/// It is open elsewhere, or cannot be read; the dialogue is as it was.
pub fn resume(
    app: &App,
    dialogue: &mut Option<Dialogue>,
    entry: &Entry,
) -> Result<Loaded, CliError> {
    let loaded = match dialogue {
        Some(dialogue) => dialogue.resume(app, entry)?,
        none => {
            let mut begun = Dialogue::begin(app)?;
            let loaded = begun.resume(app, entry)?;
            *none = Some(begun);
            loaded
        }
    };
    // What the user has taken out of its requests would be in them again.
    if !app.asks() && saved_edits::has_edits_of_session(app).map_err(CliError::failed)? {
        return Err(CliError::usage(HasSavedEdits).with_hint(Some(
            "dunlin --resume continues it in a terminal; /auto remove takes the edits away"
                .to_owned(),
        )));
    }
    Ok(loaded)
}

/// There is nobody who could look at a request that the edits do not fit.
#[derive(Debug, thiserror::Error)]
#[error("this session has saved edits, which only the chat in a terminal applies")]
struct HasSavedEdits;

/// Says what of a session's file could not be read.
pub fn warn_of_damage(app: &App, loaded: &Loaded) {
    if let Some(notice) = loaded.damage.notice() {
        app.ui.warn(&format!(
            "the session's file is damaged; {notice}. Dunlin leaves it unchanged and appends new messages"
        ));
    }
}
