//! What an inspector knows of each chat: the request as the chat has it, and which commands were not answered yet.
//!
//! A command is made for the revision that the chat will have once it has done those before it. While one is not
//! answered, what the chat says of its edits is kept, not shown: it would show the past.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use dunlin_chat::request::editor::{EditableRequest, Outline, SectionId};
use dunlin_chat::request::measure::Measure;
use dunlin_chat::session::Store;
use dunlin_chat::session::requests::{RequestFile, Side};
use dunlin_chat::turn::PausedRequest;
use dunlin_terminal::inspector::chats::{Act, Conversation, Source, Update};
use dunlin_terminal::request::paused::Paused;
use serde_json::Value;

use super::client::{Chats, News};
use super::protocol::{At, Command, Edits, Message, Operation, PausedMessage, VERSION};
use crate::config::request_editor::PauseMode;

/// How much is taken in before the screen is drawn again.
const MAX_AT_ONCE: usize = 64;

/// One chat.
#[derive(Default)]
struct Mirror {
    session: String,
    mode: PauseMode,
    /// The paused request as it came, and its edits as the chat has them.
    paused: Option<(Box<PausedMessage>, Edits)>,
    /// The revision after all commands that were sent.
    ahead: u64,
    /// How many of them were not answered yet.
    unanswered: usize,
    /// Whether the session's file has to be read, and the last request that is known of it.
    must_read: bool,
    last: u64,
    is_ended: bool,
}

impl Mirror {
    /// The chat is in this session.
    fn converse(&mut self, session: &str) {
        if self.session != session {
            session.clone_into(&mut self.session);
            (self.must_read, self.last) = (true, 0);
        }
    }

    /// The paused request as the chat has it.
    fn request(&self) -> Option<Box<Paused>> {
        let (message, edits) = self.paused.as_ref()?;
        Some(Box::new(paused(message, edits)))
    }

    fn at(&self) -> Option<At> {
        let (_, edits) = self.paused.as_ref()?;
        Some(At {
            pause: edits.pause,
            revision: self.ahead,
        })
    }

    /// A command was answered: what the chat has can be shown once that was the last one.
    fn answered(&mut self) -> Option<Update> {
        self.unanswered = self.unanswered.saturating_sub(1);
        self.revised()
    }

    fn revised(&mut self) -> Option<Update> {
        if self.unanswered > 0 {
            return None;
        }
        self.ahead = self.paused.as_ref()?.1.revision;
        self.request().map(Update::Revised)
    }
}

/// The request as a chat has it.
pub fn paused(message: &PausedMessage, edits: &Edits) -> Paused {
    let body = Bytes::from(message.body.clone());
    let mut request = EditableRequest::new(body, message.outline.clone());
    let all = edits.edits.iter().chain(&edits.undone);
    // A chat that lies gets what of it is possible.
    let done = all
        .filter_map(|edit| request.apply(edit.clone()).ok())
        .count();
    for _ in edits.edits.len()..done {
        let _ = request.undo();
    }
    Paused::new(PausedRequest {
        request,
        round: message.round,
        number: message.number,
        model: &message.scale.model,
        described: Vec::new(),
        messages: &[],
        measure: Measure::restored(&message.scale),
        room: message.room,
        window: message.window,
        must_pause: true,
        last_sent: None,
        notice: None,
    })
}

/// All chats that an inspector is attached to.
pub struct Mirrors {
    chats: Chats,
    store: Store,
    mirrors: HashMap<String, Mirror>,
    kept: Vec<(String, News)>,
    id: u64,
}

impl Mirrors {
    /// Of no chat yet.
    pub fn new(chats: Chats, store: Store) -> Mirrors {
        Mirrors {
            chats,
            store,
            mirrors: HashMap::new(),
            kept: Vec::new(),
            id: 0,
        }
    }

    /// News that were read before anybody asked for them.
    pub fn keep(&mut self, chat: String, news: News) {
        self.kept.push((chat, news));
    }

    fn take_in(&mut self, chat: &str, news: News) -> Vec<Update> {
        let mirror = self.mirrors.entry(chat.to_owned()).or_default();
        let message = match news {
            News::Message(message) => message,
            News::Ended => {
                mirror.is_ended = true;
                mirror.paused = None;
                return vec![Update::Ended];
            }
        };
        match message {
            Message::Hello {
                version,
                mode,
                conversation,
                ..
            } => {
                mirror.is_ended = version != VERSION;
                mirror.converse(&conversation.session);
                mirror.mode = mode;
                let mut updates = vec![
                    Update::Conversation(listed(conversation)),
                    Update::Mode(mode.as_str().to_owned()),
                ];
                if version != VERSION {
                    self.chats.give_up(chat);
                    let why = "this chat is of another version of Dunlin, and cannot be inspected";
                    updates.push(Update::Refused(why.to_owned()));
                }
                updates
            }
            Message::Conversation(conversation) => {
                mirror.converse(&conversation.session);
                vec![Update::Conversation(listed(conversation))]
            }
            Message::Mode { mode } => {
                mirror.mode = mode;
                vec![Update::Mode(mode.as_str().to_owned())]
            }
            Message::Paused(message) => {
                let edits = message.edits.clone();
                mirror.ahead = edits.revision;
                mirror.unanswered = 0;
                mirror.paused = Some((message, edits));
                mirror.request().map(Update::Paused).into_iter().collect()
            }
            Message::Edited(edits) => {
                if let Some((_, now)) = &mut mirror.paused {
                    *now = edits;
                }
                mirror.revised().into_iter().collect()
            }
            Message::Sent {
                pause: None,
                number,
            } => {
                mirror.must_read = true;
                // In a session that was cleared, numbers begin again.
                let before = number.unwrap_or_default().saturating_sub(1);
                mirror.last = mirror.last.min(before);
                Vec::new()
            }
            Message::Sent { number, .. } => {
                mirror.paused = None;
                mirror.last = mirror.last.max(number.unwrap_or_default());
                let sent = match number {
                    Some(number) => format!("sent as request {number}"),
                    None => "sent".to_owned(),
                };
                vec![Update::Over(sent)]
            }
            Message::Cancelled { .. } => {
                mirror.paused = None;
                vec![Update::Over("cancelled before sending".to_owned())]
            }
            Message::Idle => Vec::new(),
            Message::Done { .. } => mirror.answered().into_iter().collect(),
            Message::Refused { error, .. } => {
                let revised = mirror.answered();
                revised
                    .into_iter()
                    .chain([Update::Refused(error)])
                    .collect()
            }
        }
    }

    /// Requests that chats have sent without a pause since.
    fn logged(&mut self) -> Vec<(String, Update)> {
        let mut found = Vec::new();
        for (chat, mirror) in &mut self.mirrors {
            if !mirror.must_read || mirror.is_ended || mirror.paused.is_some() {
                continue;
            }
            mirror.must_read = false;
            let path = self.store.entry(&mirror.session).path;
            let last = RequestFile::read(&path).ok().and_then(|file| {
                let number = file.requests().last()?.entry.number;
                let body = file.body(number, Side::Sent).ok()?;
                (number > mirror.last).then_some((number, body))
            });
            if let Some((number, body)) = last {
                mirror.last = number;
                let request = Box::new(sent(number, body));
                let update = Update::Sent(request, format!("sent as request {number}"));
                found.push((chat.clone(), update));
            }
        }
        found
    }
}

/// A request of the log, to be read.
fn sent(number: u64, body: Vec<u8>) -> Paused {
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let messages = value.get("messages").and_then(Value::as_array);
    let messages = messages.map_or(&[][..], Vec::as_slice);
    let has_system = messages
        .first()
        .is_some_and(|it| it.get("role").is_some_and(|it| it == "system"));
    let origins =
        (0..messages.len() - usize::from(has_system)).map(|at| SectionId::Message(at).into());
    let outline = Outline::of_chat(&value, &origins.collect::<Vec<_>>(), Vec::new());
    let model = value
        .get("model")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Paused::new(PausedRequest {
        request: EditableRequest::new(body.into(), outline),
        round: 1,
        number: Some(number),
        model,
        described: Vec::new(),
        messages: &[],
        measure: Measure::default(),
        room: u64::MAX,
        window: None,
        must_pause: false,
        last_sent: None,
        notice: None,
    })
}

fn listed(conversation: super::protocol::Conversation) -> Conversation {
    Conversation {
        session: conversation.session,
        agent: conversation.agent,
        title: conversation.title,
        model: conversation.model,
    }
}

impl Source for Mirrors {
    fn news(&mut self) -> Vec<(String, Update)> {
        // A folder that is not the user's any more has no chats.
        let _ = self.chats.look();
        let mut updates = Vec::new();
        let mut news = std::mem::take(&mut self.kept);
        while news.len() < MAX_AT_ONCE
            && let Some(next) = self.chats.next(Duration::ZERO)
        {
            news.push(next);
        }
        for (chat, news) in news {
            let taken = self.take_in(&chat, news).into_iter();
            updates.extend(taken.map(|update| (chat.clone(), update)));
        }
        updates.extend(self.logged());
        updates
    }

    fn act(&mut self, chat: &str, act: Act) {
        let Some(mirror) = self.mirrors.get_mut(chat) else {
            return;
        };
        let operation = match (act, mirror.at()) {
            (Act::NextMode, _) => Operation::Mode {
                mode: next(mirror.mode),
            },
            (_, None) => return,
            (Act::Edit(edit), Some(at)) => Operation::Edit { at, edit },
            (Act::Undo, Some(at)) => Operation::Undo(at),
            (Act::Redo, Some(at)) => Operation::Redo(at),
            (Act::Send, Some(at)) => Operation::Send(at),
            (Act::Cancel, Some(at)) => Operation::Cancel(at),
        };
        if matches!(
            operation,
            Operation::Edit { .. } | Operation::Undo(_) | Operation::Redo(_)
        ) {
            mirror.ahead += 1;
        }
        mirror.unanswered += 1;
        self.id += 1;
        let command = Command {
            id: self.id,
            operation,
        };
        if self.chats.send(chat, &command).is_err() {
            // The thread that reads says that it has ended.
            self.chats.give_up(chat);
        }
    }
}

/// The mode after this one. `next` is not one that stays.
fn next(mode: PauseMode) -> PauseMode {
    match mode {
        PauseMode::Off | PauseMode::Next => PauseMode::Turn,
        PauseMode::Turn => PauseMode::Every,
        PauseMode::Every => PauseMode::Auto,
        PauseMode::Auto => PauseMode::Off,
    }
}
