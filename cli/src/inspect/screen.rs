//! The inspector of all running chats on the whole screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::error::{CliError, Exit};
use crate::inspect::client::{Chats, NoSuchChat};
use crate::inspect::logs::SessionLogs;
use crate::inspect::mirror::Mirrors;
use crate::value_in_editor::EditValue;
use dunlin_terminal::inspector::chats::{self, ChatList, Source};

/// How long the chats that run already may take to say which they are.
pub const LONGEST_GREETING: Duration = Duration::from_millis(500);

/// The terminal does not do what the inspector needs.
#[derive(Debug, thiserror::Error)]
#[error("the chats cannot be shown on the whole screen")]
struct NoScreen(#[source] std::io::Error);

/// Shows the chats until the user leaves.
///
/// # Errors
/// The terminal cannot be used, the folder of the sockets is not the user's own, or no chat is in this session.
pub fn run(app: &App, session: Option<&str>) -> Result<Exit, CliError> {
    let mut found = Chats::new(&app.settings.folders.run);
    found.look().map_err(CliError::failed)?;
    let mut mirrors = Mirrors::new(found);
    let logs = Arc::new(SessionLogs(app.store()));
    let mut list = ChatList::new(app.ui.styles(), session.map(str::to_owned), logs);
    // Those that run already are listed before the first frame.
    let end = Instant::now() + LONGEST_GREETING;
    while mirrors.is_greeting() && Instant::now() < end {
        for (chat, update) in mirrors.updates(end.saturating_duration_since(Instant::now())) {
            list.apply(&chat, update);
        }
    }
    if let Some(session) = session.filter(|_| list.is_missing()) {
        return Err(CliError::failed(NoSuchChat(session.to_owned())));
    }
    let edit = EditValue::of(app);
    let shown = chats::run(&app.ui, &mut list, &mut mirrors, &|draft| edit.run(draft));
    shown.map_err(|source| CliError::failed(NoScreen(source)))?;
    Ok(Exit::Done)
}
