//! The inspector of all running chats on the whole screen.

use std::time::Duration;

use crate::app::App;
use crate::error::{CliError, Exit};
use crate::inspect::client::Chats;
use crate::inspect::mirror::Mirrors;
use crate::repl::editing::EditValue;
use dunlin_terminal::inspector::chats::{self, ChatList};

/// The terminal does not do what the inspector needs.
#[derive(Debug, thiserror::Error)]
#[error("the chats cannot be shown on the whole screen")]
struct NoScreen(#[source] std::io::Error);

/// Shows the chats until the user leaves.
///
/// # Errors
/// The terminal cannot be used, or the folder of the sockets is not the user's own.
pub fn run(app: &App, session: Option<&str>) -> Result<Exit, CliError> {
    let mut found = Chats::new(&app.settings.folders.run);
    found.look().map_err(CliError::failed)?;
    // Those that run already are listed before the first frame.
    let first = found.next(Duration::ZERO);
    let mut mirrors = Mirrors::new(found, app.store());
    if let Some((chat, news)) = first {
        mirrors.keep(chat, news);
    }
    let mut list = ChatList::new(app.ui.styles(), session.map(str::to_owned));
    let edit = EditValue::of(app);
    let shown = chats::run(&app.ui, &mut list, &mut mirrors, &|draft| edit.run(draft));
    shown.map_err(|source| CliError::failed(NoScreen(source)))?;
    Ok(Exit::Done)
}
