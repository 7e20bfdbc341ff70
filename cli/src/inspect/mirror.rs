//! What an inspector knows of each chat: which state of its request it was told last, and which command was not answered yet.
//!
//! A command is made for the state that was told last, which is the one that is shown, and there is one at a time. So the
//! chat does what was meant for what was on the screen, or refuses it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::request::editor::EditableRequest;
use dunlin_chat::request::measure::Measure;
use dunlin_chat::turn::PausedRequest;
use dunlin_host::ForeignError;
use dunlin_host::display::chain;
use dunlin_host::subagent::SubagentEnd;
use dunlin_terminal::inspector::chats::{
    Act, Arrived, Conversation, Source, Subagent, Update, When, follow,
};
use dunlin_terminal::request::paused::Paused;
use dunlin_terminal::ui::subagents::{SubagentRow, SubagentStatus};
use jiff::Timestamp;

use super::client::{ChatEvent, Chats};
use super::protocol::{self, At, Command, Edits, Message, Operation, PausedMessage, Pauses};
use super::shared_state::unix_millis;
use crate::config::request_editor::PauseMode;

/// How much is taken in before the screen is drawn again.
const MAX_AT_ONCE: usize = 64;

/// The word for a subagent that has answered.
const ANSWERED: &str = SubagentEnd::Answered.word();

/// Why a chat cannot be asked to do something.
#[derive(Debug, thiserror::Error)]
enum CannotAct {
    #[error("the chat is not attached")]
    NotAttached,
    #[error("the chat has not answered the last command")]
    Waits,
    #[error("no request is paused")]
    NotPaused,
    #[error("there is no such mode")]
    NoSuchMode,
}

/// How much of what a chat says is from before the inspector was attached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Greeting {
    /// The next state is.
    #[default]
    State,
    /// The state was, and a request that was sent without a pause would be.
    Logged,
    /// Nothing any more.
    Over,
}

/// One chat.
#[derive(Debug, Default)]
struct Mirror {
    greeting: Greeting,
    /// The state of the paused request as it was told last.
    told: Option<Edits>,
    /// The command that was not answered yet.
    waiting: Option<u64>,
}

impl Mirror {
    /// Takes in what a chat says.
    fn take_in(&mut self, message: Message) -> Vec<Update> {
        let is_new = self.greet(&message);
        let at = |active: u64| When {
            // A chat does not know the future, whatever it says.
            active: active.min(unix_millis()),
            is_new,
        };
        let just = When {
            active: if is_new { unix_millis() } else { 0 },
            is_new,
        };
        match message {
            Message::Hello {
                active,
                pauses,
                conversation,
                ..
            } => {
                *self = Mirror::default();
                vec![
                    Update::Attached(active.min(unix_millis())),
                    Update::Conversation(listed(conversation)),
                    Update::Mode(shown(pauses)),
                ]
            }
            Message::Conversation(conversation) => {
                vec![Update::Conversation(listed(conversation))]
            }
            Message::Mode(pauses) => vec![Update::Mode(shown(pauses))],
            Message::Subagents { subagents } => {
                let subagents = subagents.into_vec().into_iter().map(subagent);
                vec![Update::Subagents(subagents.collect())]
            }
            Message::Paused(message) => {
                // One with many edits is told whole again after each.
                let is_known = self.is_at(message.edits.pause);
                self.told = Some(message.edits.clone());
                let mut when = at(message.active);
                when.is_new &= !is_known;
                vec![Update::Paused(Box::new(paused(*message)), when)]
            }
            Message::Edited(edits) if self.is_at(edits.pause) => {
                let update = Update::Revised(edits.edits.clone(), edits.undone.clone());
                self.told = Some(edits);
                vec![update]
            }
            Message::Sent {
                pause: None,
                number,
            } => vec![Update::Sent(number, just)],
            Message::Sent {
                pause: Some(pause),
                number,
            } if self.told.is_none() || self.is_at(pause) => {
                self.told = None;
                let sent = match number {
                    Some(number) => format!("sent as request {number}"),
                    None => "sent".to_owned(),
                };
                vec![Update::Over(sent, just)]
            }
            Message::Cancelled { pause } if self.told.is_none() || self.is_at(pause) => {
                self.told = None;
                vec![Update::Over("cancelled before sending".to_owned(), just)]
            }
            // It is not said what became of the one before.
            Message::Idle if self.told.take().is_some() => {
                vec![Update::Over("not paused any more".to_owned(), just)]
            }
            Message::Done { id } => match self.waiting.take_if(|waiting| *waiting == id) {
                Some(_) => vec![Update::Done],
                None => Vec::new(),
            },
            Message::Refused { id, error } => {
                match self.waiting.take_if(|waiting| *waiting == id) {
                    // What was shown as done already is taken back.
                    Some(_) => self
                        .state()
                        .into_iter()
                        .chain([Update::Refused(error)])
                        .collect(),
                    None => vec![Update::Notice(error)],
                }
            }
            // Those of another pause are too late.
            Message::Edited(_)
            | Message::Sent { .. }
            | Message::Cancelled { .. }
            | Message::Idle
            | Message::Unknown => Vec::new(),
        }
    }

    /// Whether a message tells of something that has happened since the inspector was attached.
    fn greet(&mut self, message: &Message) -> bool {
        let (is_new, next) = match (self.greeting, message) {
            (Greeting::State, Message::Idle) => (false, Greeting::Over),
            // That was before, and a chat that is idle says so behind it.
            (Greeting::State, Message::Sent { pause: None, .. }) => (false, Greeting::State),
            (
                Greeting::State,
                Message::Paused(_) | Message::Sent { .. } | Message::Cancelled { .. },
            ) => (false, Greeting::Logged),
            (Greeting::Logged, Message::Sent { pause: None, .. }) => (false, Greeting::Over),
            (Greeting::State, _) => (false, Greeting::State),
            _ => (true, Greeting::Over),
        };
        self.greeting = next;
        is_new
    }

    fn is_at(&self, pause: u64) -> bool {
        self.told.as_ref().is_some_and(|told| told.pause == pause)
    }

    fn state(&self) -> Option<Update> {
        let told = self.told.as_ref()?;
        Some(Update::Revised(told.edits.clone(), told.undone.clone()))
    }

    /// The command that an act is, for the state that was told last.
    fn operation(&self, act: Act) -> Result<Operation, CannotAct> {
        if self.waiting.is_some() {
            return Err(CannotAct::Waits);
        }
        let at = || {
            let told = self.told.as_ref().ok_or(CannotAct::NotPaused)?;
            Ok::<At, CannotAct>(At {
                pause: told.pause,
                revision: told.revision.clone(),
            })
        };
        Ok(match act {
            Act::Edit(edit) => Operation::Edit { at: at()?, edit },
            Act::Undo => Operation::Undo(at()?),
            Act::Redo => Operation::Redo(at()?),
            Act::Send => Operation::Send(at()?),
            Act::Cancel => Operation::Cancel(at()?),
            Act::Mode(name) => {
                let mode = PauseMode::ALL.iter().find(|mode| mode.as_str() == name);
                let mode = *mode.ok_or(CannotAct::NoSuchMode)?;
                Operation::Mode { mode, at: None }
            }
        })
    }
}

/// The request as a chat has it. The body is not copied: it may be large.
pub fn paused(message: PausedMessage) -> Arrived {
    let request = EditableRequest::new(Bytes::from(message.body), message.outline);
    let mut paused = Paused::new(PausedRequest {
        round: message.round,
        number: message.number,
        time: message
            .time
            .and_then(|time| Timestamp::from_millisecond(time).ok()),
        measure: Measure::restored(&message.scale),
        max_request_tokens: message.max_request_tokens,
        window: message.window,
        ..PausedRequest::new(request)
    });
    let followed = follow(&mut paused, message.edits.edits, message.edits.undone);
    Arrived {
        paused,
        is_exact: followed.is_ok(),
        last_sent: message.last_sent,
    }
}

/// All chats that an inspector is attached to.
pub struct Mirrors {
    chats: Chats,
    mirrors: HashMap<String, Mirror>,
    problem: Option<String>,
    id: u64,
}

impl Mirrors {
    /// Of no chat yet.
    pub fn new(chats: Chats) -> Mirrors {
        Mirrors {
            chats,
            mirrors: HashMap::new(),
            problem: None,
            id: 0,
        }
    }

    /// Whether a chat is attached that has not said anything yet.
    pub fn is_greeting(&self) -> bool {
        self.chats.is_greeting()
    }

    fn take_in(&mut self, chat: &str, event: ChatEvent) -> Vec<Update> {
        match event {
            ChatEvent::Message(message) => {
                let mirror = self.mirrors.entry(chat.to_owned()).or_default();
                mirror.take_in(message)
            }
            ChatEvent::Ended(reason) => {
                self.mirrors.remove(chat);
                vec![Update::Ended(reason.to_string())]
            }
        }
    }
}

/// Chats of an earlier Dunlin tell the mode alone.
fn shown(pauses: Pauses) -> String {
    match pauses.shown.is_empty() {
        true => pauses.mode.as_str().to_owned(),
        false => pauses.shown,
    }
}

/// A subagent as it is listed.
pub fn subagent(told: protocol::Subagent) -> Subagent {
    let age = Duration::from_millis(unix_millis().saturating_sub(told.begun));
    let now = Instant::now();
    let status = match told.end.as_deref() {
        None => SubagentStatus::Running,
        Some(ANSWERED) => SubagentStatus::Answered,
        Some(_) => SubagentStatus::Failed,
    };
    Subagent {
        number: told.number,
        task: told.task,
        model: told.model,
        request: told.request,
        row: SubagentRow {
            name: told.name,
            status,
            state: told.state,
            calls: told.calls,
            tokens: told
                .usage
                .input_tokens
                .saturating_add(told.usage.output_tokens),
            // Nothing has run for longer than the machine.
            begun: now.checked_sub(age).unwrap_or(now),
            duration: told.duration_ms.map(Duration::from_millis),
        },
    }
}

fn listed(conversation: protocol::Conversation) -> Conversation {
    Conversation {
        session: conversation.session,
        agent: conversation.agent,
        title: conversation.title,
        model: conversation.model,
    }
}

impl Source for Mirrors {
    fn updates(&mut self, most: Duration) -> Vec<(String, Update)> {
        self.problem = self.chats.look().err().map(|error| chain(&error));
        let mut updates = Vec::new();
        let mut most = most;
        for _ in 0..MAX_AT_ONCE {
            let Some((chat, event)) = self.chats.next(most) else {
                break;
            };
            most = Duration::ZERO;
            let taken = self.take_in(&chat, event).into_iter();
            updates.extend(taken.map(|update| (chat.clone(), update)));
        }
        updates
    }

    fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    fn act(&mut self, chat: &str, act: Act) -> Result<(), ForeignError> {
        let mirror = self.mirrors.get_mut(chat);
        let mirror = mirror.ok_or(CannotAct::NotAttached)?;
        let operation = mirror.operation(act)?;
        self.id += 1;
        let id = self.id;
        self.chats.send(chat, &Command { id, operation })?;
        mirror.waiting = Some(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dunlin_chat::request::editor::{Edit, Outline, SectionId};
    use serde_json::json;

    use super::*;

    fn message(value: serde_json::Value) -> Message {
        serde_json::from_value(value).unwrap()
    }

    fn hello() -> Message {
        message(
            json!({"type": "hello", "version": 1, "active": 7, "pid": 1, "mode": "turn",
            "session": "k7mq2x9d", "agent": "bird", "title": "Terns", "model": "small"}),
        )
    }

    fn set(old: &str, new: &str) -> serde_json::Value {
        json!({"type": "set", "target": {"section": "message:0", "path": "content"},
            "old": format!("{old:?}"), "new": format!("{new:?}")})
    }

    fn pause(number: u64, edits: &serde_json::Value) -> Message {
        let body = json!({"model": "small", "messages": [{"role": "user", "content": "count"}]});
        let outline = Outline::of_chat(&body, &[SectionId::Message(0).into()], Vec::new());
        message(
            json!({"type": "paused", "pause": number, "revision": "a1", "edits": edits,
            "undone": [], "active": u64::MAX, "number": 3, "round": 1, "body": body.to_string(),
            "outline": outline, "scale": {"model": "small", "is_exact": false, "per_mille": 1000},
            "max_request_tokens": 30_000, "window": null}),
        )
    }

    fn edited(pause: u64, revision: &str, edits: &serde_json::Value) -> Message {
        message(
            json!({"type": "edited", "pause": pause, "revision": revision, "edits": edits, "undone": []}),
        )
    }

    /// A chat that has paused a request.
    fn mirror() -> Mirror {
        let mut mirror = Mirror::default();
        mirror.take_in(hello());
        mirror.take_in(pause(4, &json!([])));
        mirror
    }

    #[test]
    fn only_what_happens_later_is_new() {
        let mut mirror = Mirror::default();
        let first = mirror.take_in(hello());
        assert!(matches!(first[0], Update::Attached(7)), "{first:?}");
        let is_new = |updates: Vec<Update>| match &updates[..] {
            [Update::Paused(_, when) | Update::Over(_, when) | Update::Sent(_, when)] => {
                assert!(when.active <= unix_millis(), "{when:?}");
                when.is_new
            }
            other => panic!("{other:?}"),
        };
        let cancelled = |pause| message(json!({"type": "cancelled", "pause": pause}));
        let sent = || message(json!({"type": "sent", "number": 2}));
        assert!(!is_new(mirror.take_in(cancelled(3))));
        assert!(!is_new(mirror.take_in(sent())));
        assert!(is_new(mirror.take_in(sent())));
        assert!(is_new(mirror.take_in(pause(4, &json!([])))));
        assert!(is_new(mirror.take_in(cancelled(4))));
        mirror.take_in(hello());
        assert!(!is_new(mirror.take_in(pause(5, &json!([])))));
        // A chat that is idle now has sent something long ago.
        mirror.take_in(hello());
        assert!(!is_new(mirror.take_in(sent())));
        mirror.take_in(message(json!({"type": "idle"})));
        assert!(is_new(mirror.take_in(sent())));
    }

    #[test]
    fn subagents_are_shown_and_no_time_or_number_of_a_chat_does_harm() {
        let mut mirror = Mirror::default();
        mirror.take_in(hello());
        let subagent = |end: Option<&str>, begun: u64| {
            json!({"number": 2, "name": "research 2", "model": "small", "task": "Count", "state": "writing",
                "end": end, "calls": 1, "rounds": 2, "begun": begun, "duration_ms": end.map(|_| u64::MAX),
                "usage": {"input_tokens": u64::MAX, "cached_tokens": 0, "output_tokens": 9}})
        };
        let all = [
            subagent(None, u64::MAX),
            subagent(Some("answered"), 0),
            subagent(Some("stopped"), 1),
        ];
        let told = mirror.take_in(message(json!({"type": "subagents", "subagents": all})));
        let [Update::Subagents(told)] = &told[..] else {
            panic!("{told:?}");
        };
        let status = |at: usize| told[at].row.status;
        assert_eq!(
            [0, 1, 2].map(status),
            [
                SubagentStatus::Running,
                SubagentStatus::Answered,
                SubagentStatus::Failed
            ]
        );
        assert!(
            told.iter()
                .all(|it| it.row.tokens == u64::MAX && !it.row.figures().is_empty())
        );
        // What is told before the chat's last request does not make it new.
        let sent = mirror.take_in(message(json!({"type": "sent", "number": 2})));
        assert!(
            matches!(&sent[..], [Update::Sent(_, when)] if !when.is_new),
            "{sent:?}"
        );
    }

    #[test]
    fn a_command_is_for_the_state_that_was_told_last_and_waits_for_its_answer() {
        let mut mirror = mirror();
        let revision = |mirror: &Mirror, act| match mirror.operation(act) {
            Ok(operation) => operation.at().map(|at| (at.pause, at.revision.clone())),
            Err(error) => panic!("{error}"),
        };
        assert_eq!(revision(&mirror, Act::Send), Some((4, "a1".to_owned())));
        assert_eq!(revision(&mirror, Act::Mode("off")), None);
        mirror.waiting = Some(9);
        assert!(mirror.operation(Act::Undo).is_err());
        // Somebody else was faster: the state is shown at once, and again with the refusal.
        let other = json!([set("count", "sing")]);
        let updates = mirror.take_in(edited(4, "b2", &other));
        assert!(matches!(&updates[..], [Update::Revised(edits, _)] if edits.len() == 1));
        let done = message(json!({"type": "done", "id": 8}));
        assert!(mirror.take_in(done).is_empty(), "that was another one");
        assert!(mirror.operation(Act::Undo).is_err());
        let refused = |id| message(json!({"type": "refused", "id": id, "error": "too late"}));
        let updates = mirror.take_in(refused(0));
        assert!(matches!(&updates[..], [Update::Notice(_)]), "{updates:?}");
        let updates = mirror.take_in(refused(9));
        assert!(
            matches!(&updates[..], [Update::Revised(edits, _), Update::Refused(_)] if edits.len() == 1),
            "{updates:?}"
        );
        assert_eq!(revision(&mirror, Act::Send), Some((4, "b2".to_owned())));
        mirror.take_in(message(
            json!({"type": "sent", "pause": 4, "number": 3, "later": true}),
        ));
        assert!(mirror.operation(Act::Send).is_err());
    }

    #[test]
    fn messages_of_another_pause_and_unknown_ones_change_nothing() {
        let mut mirror = mirror();
        for other in [
            edited(3, "b2", &json!([set("count", "sing")])),
            message(json!({"type": "sent", "pause": 3, "number": 1})),
            message(json!({"type": "cancelled", "pause": 5})),
            message(json!({"type": "of the future", "pause": 4})),
        ] {
            let updates = mirror.take_in(other);
            assert!(updates.is_empty(), "{updates:?}");
        }
        assert_eq!(mirror.told.map(|told| told.revision), Some("a1".to_owned()));
    }

    #[test]
    fn a_request_that_cannot_be_repeated_is_not_exact() {
        let arrived = |edits| match pause(1, &edits) {
            Message::Paused(message) => paused(*message),
            other => panic!("{other:?}"),
        };
        let exact = arrived(json!([set("count", "sing"), {"type": "reset"}]));
        assert!(exact.is_exact);
        assert_eq!(exact.paused.request().edits().last(), Some(&Edit::Reset));
        assert!(!arrived(json!([set("dance", "sing")])).is_exact);
        assert!(!arrived(json!([set("dance", "sing"), set("count", "sing")])).is_exact);
    }
}
