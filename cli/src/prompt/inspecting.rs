//! The request inspector on a paused request, and what it shows beside a request.

use std::io;
use std::sync::Arc;

use super::metadata::{Answering, Metadata};
use crate::app::App;
use crate::inspect::logs::SessionLogs;
use crate::inspect::remote_pause::RemotePause;
use crate::value_in_editor::EditValue;
use dunlin_terminal::inspector::{self, Closed, Inspector, Mode, SessionLog, Sides};
use dunlin_terminal::request::paused::Paused;

/// What is said where nothing can take the whole screen.
pub const NO_SCREEN: &str =
    "This terminal has no full screen; list, show N and payload show the same.";

/// Shows a paused request until the inspector is left. `None`: it failed, and the request is lost.
///
/// The terminal belongs to the inspector meanwhile; everything else that the turn waits for goes on.
pub async fn paused(
    app: &App,
    answering: Answering<'_>,
    paused: Paused,
    remote: Arc<RemotePause>,
) -> Option<(Paused, io::Result<Closed>)> {
    let metadata = Metadata::of_paused(app, answering, &paused);
    let sides = sides(app, metadata);
    let edit = EditValue::of(app);
    let ui = Arc::clone(&app.ui);
    let work = move || {
        let mut paused = paused;
        let styles = ui.styles();
        let mut inspector = Inspector::new(Mode::Paused, sides, styles, &paused);
        let edit = |draft: &_| edit.run(draft);
        let closed = inspector::run(&ui, &mut inspector, &mut paused, &edit, remote.as_ref());
        (paused, closed)
    };
    tokio::task::spawn_blocking(work).await.ok()
}

/// The terminal does not do what the inspector needs.
#[derive(Debug, thiserror::Error)]
#[error("the request cannot be shown on the whole screen")]
pub struct NoInspector {
    pub source: io::Error,
}

/// What is shown beside a request.
pub fn sides(app: &App, metadata: Metadata) -> Sides {
    let fields = app.metadata_fields();
    let conversation = format!(
        "pause: {} · {} · {}",
        app.pausing.typed(),
        metadata.agent,
        metadata.session
    );
    let log = SessionLog {
        logs: Arc::new(SessionLogs(app.store())),
        session: metadata.session.clone(),
    };
    Sides {
        metadata: Box::new(move |paused| {
            let metadata = metadata.after_edits(paused);
            let fields = metadata.fields(&fields).into_iter();
            fields
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect()
        }),
        log,
        conversation,
    }
}
