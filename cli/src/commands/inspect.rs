//! `dunlin inspect`: the requests of running chats, from another terminal.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::json;

use crate::app::App;
use crate::args::InspectArgs;
use crate::error::{CliError, Exit};
use crate::inspect::client::{Chats, News};
use crate::inspect::protocol::Message;
use dunlin_terminal::ui::style::Label;

/// How long something new is waited for before new chats are looked for.
const INTERVAL: Duration = Duration::from_millis(200);

/// What is said as long as there is no chat.
const NO_CHAT: &str = "No chat is running; waiting for one. Ctrl-C ends this.";

/// Nobody could look at the screen.
#[derive(Debug, thiserror::Error)]
#[error("the inspector needs a terminal; `dunlin inspect --json` prints the events as JSON lines")]
struct NoTerminal;

/// Runs the command.
///
/// # Errors
/// There is no terminal, or the folder of the sockets is not the user's own.
pub fn run(app: &App, args: &InspectArgs) -> Result<Exit, CliError> {
    if args.json {
        return stream(app, args.session.as_deref());
    }
    if !app.ui.has_full_screen() {
        return Err(CliError::usage(NoTerminal));
    }
    crate::inspect::screen::run(app, args.session.as_deref())
}

/// Prints what happens in all chats, or in those of a session, until nobody reads it.
fn stream(app: &App, session: Option<&str>) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let mut chats = Chats::new(&app.settings.folders.run);
    let mut sessions: HashMap<String, String> = HashMap::new();
    let mut has_said = false;
    loop {
        ui.check()?;
        chats.look().map_err(CliError::failed)?;
        if chats.is_empty() && !std::mem::replace(&mut has_said, true) {
            ui.status(&ui.status_styles().paint(Label::Quiet, NO_CHAT));
        }
        let Some((chat, news)) = chats.next(INTERVAL) else {
            continue;
        };
        if let News::Message(
            Message::Hello { conversation, .. } | Message::Conversation(conversation),
        ) = &news
        {
            let id = conversation.session.clone();
            sessions.insert(chat.clone(), id);
        }
        let of = sessions.get(&chat).map_or("", String::as_str);
        if session.is_some_and(|session| !of.starts_with(session)) {
            continue;
        }
        let mut event = match &news {
            News::Message(message) => serde_json::to_value(message).map_err(CliError::failed)?,
            News::Ended => json!({"type": "ended"}),
        };
        if let Some(fields) = event.as_object_mut() {
            fields.insert("chat".to_owned(), chat.into());
        }
        ui.data(&event.to_string());
    }
}
