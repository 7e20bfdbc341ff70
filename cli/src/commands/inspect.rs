//! `dunlin inspect`: the requests of running chats, from another terminal.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::app::App;
use crate::args::InspectArgs;
use crate::error::{CliError, Exit};
use crate::inspect::client::{ChatEvent, Chats, NoSuchChat, Reason};
use crate::inspect::protocol::Message;
use crate::inspect::screen::LONGEST_GREETING;
use dunlin_terminal::inspector::chats::is_meant;
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
/// There is no terminal, the folder of the sockets is not the user's own, or no chat is in the session.
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
    let mut events = Events::new(session);
    let mut has_said = false;
    let end = Instant::now() + LONGEST_GREETING;
    loop {
        ui.check()?;
        chats.look().map_err(CliError::failed)?;
        let is_late = !chats.is_greeting() || Instant::now() > end;
        if let Some(session) = session.filter(|_| is_late && events.is_missing()) {
            return Err(CliError::failed(NoSuchChat(session.to_owned())));
        }
        if chats.is_empty() && !std::mem::replace(&mut has_said, true) {
            ui.status(&ui.status_styles().paint(Label::Quiet, NO_CHAT));
        }
        let Some((chat, event)) = chats.next(INTERVAL) else {
            continue;
        };
        if let Some(event) = events.of(&chat, &event).map_err(CliError::failed)? {
            ui.data(&event.to_string());
        }
    }
}

/// Makes lines of what chats do, of those in one session if one is wanted.
struct Events<'a> {
    wanted: Option<&'a str>,
    /// In which session each chat is.
    sessions: HashMap<String, String>,
    has_found: bool,
}

impl Events<'_> {
    fn new(wanted: Option<&str>) -> Events<'_> {
        Events {
            wanted,
            sessions: HashMap::new(),
            has_found: false,
        }
    }

    /// Whether no chat was in the wanted session until now.
    fn is_missing(&self) -> bool {
        !self.has_found
    }

    /// The line, if the chat is wanted.
    fn of(&mut self, chat: &str, event: &ChatEvent) -> Result<Option<Value>, serde_json::Error> {
        if let ChatEvent::Message(
            Message::Hello { conversation, .. } | Message::Conversation(conversation),
        ) = event
        {
            let session = conversation.session.clone();
            self.sessions.insert(chat.to_owned(), session);
        }
        let session = self.sessions.get(chat).map_or("", String::as_str);
        if self.wanted.is_some_and(|wanted| !is_meant(session, wanted)) {
            return Ok(None);
        }
        self.has_found = true;
        let mut line = match event {
            ChatEvent::Message(message) => serde_json::to_value(message)?,
            ChatEvent::Ended(Reason::Closed) => json!({"type": "ended"}),
            ChatEvent::Ended(reason) => json!({"type": "ended", "reason": reason.to_string()}),
        };
        if matches!(event, ChatEvent::Ended(_)) {
            self.sessions.remove(chat);
        }
        if let Some(fields) = line.as_object_mut() {
            fields.insert("chat".to_owned(), chat.into());
        }
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(session: &str) -> ChatEvent {
        let hello = json!({"type": "hello", "version": 1, "active": 7, "pid": 1, "mode": "turn",
            "session": session, "agent": "bird", "title": "", "model": "small"});
        ChatEvent::Message(serde_json::from_value(hello).unwrap())
    }

    #[test]
    fn a_session_has_its_own_events() {
        let mut events = Events::new(Some("k7"));
        let mut of = |chat: &str, event: &ChatEvent| {
            let event = events.of(chat, event).unwrap();
            (event.map(|it| it.to_string()), events.is_missing())
        };
        assert_eq!(of("chat-1", &hello("b2cdq8rs")), (None, true));
        let (hello, is_missing) = of("chat-2", &hello("k7mq2x9d"));
        assert!(hello.is_some_and(|it| it.contains("chat-2") && it.contains("k7mq2x9d")));
        assert!(!is_missing);
        let ended = ChatEvent::Ended(Reason::Closed);
        assert_eq!(of("chat-1", &ended), (None, false));
        let expected = r#"{"type":"ended","chat":"chat-2"}"#.to_owned();
        assert_eq!(of("chat-2", &ended), (Some(expected), false));
        assert_eq!(of("chat-2", &ended), (None, false));
    }

    #[test]
    fn why_a_chat_is_left_alone_is_told() {
        let mut events = Events::new(None);
        let event = events.of("chat-1", &ChatEvent::Ended(Reason::Version(2)));
        let event = event.unwrap().unwrap();
        assert_eq!(event["type"], "ended");
        let reason = event["reason"].as_str().unwrap_or_default();
        assert!(reason.contains("version 2 of the protocol"), "{reason}");
    }
}
