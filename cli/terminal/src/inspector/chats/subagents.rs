//! Subagents, each in a row below that of its chat. They are only looked at: a row of one shows its latest request, as the
//! session's file has it.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use super::row::Row;
use super::state::{ChatList, Conversation};
use crate::ui::subagents::{SubagentRow, SubagentStatus};

/// How often the time that they run is drawn.
const TICK: Duration = Duration::from_secs(1);

/// A subagent of a chat. Its texts are foreign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subagent {
    /// Its number in the session.
    pub number: u64,
    pub row: SubagentRow,
    /// What it is to do.
    pub task: String,
    pub model: String,
    /// The number of its latest request in the session, if it has sent one.
    pub request: Option<u64>,
}

/// Which subagent of which chat a row is.
pub struct OfChat {
    pub chat: String,
    pub subagent: Subagent,
}

impl OfChat {
    /// Whether the subagent does nothing any more.
    pub(super) fn is_over(&self) -> bool {
        self.subagent.row.status != SubagentStatus::Running
    }
}

impl Row {
    /// The name of the chat that it is, or is of.
    fn chat(&self) -> &str {
        self.of.as_ref().map_or(&self.chat, |of| &of.chat)
    }

    /// Where it stands among the rows of its chat: below that those that run, and then those that ended last.
    fn place(&self) -> (u8, u64) {
        match &self.of {
            None => (0, 0),
            Some(of) if of.is_over() => (2, u64::MAX - of.subagent.number),
            Some(of) => (1, of.subagent.number),
        }
    }

    fn set_subagent(&mut self, chat: &str, subagent: Subagent) {
        let before = self.of.as_ref().and_then(|of| of.subagent.request);
        let request = subagent.request;
        self.of = Some(OfChat {
            chat: chat.to_owned(),
            subagent,
        });
        if request.is_some() && request != before {
            self.sent(request);
        }
    }
}

/// The name of a row: no socket, after which chats are named, has a slash in its name.
fn name(chat: &str, number: u64) -> String {
    format!("{chat}/{number}")
}

impl ChatList {
    /// These are the subagents of a chat now.
    pub(super) fn set_subagents(&mut self, chat: &str, subagents: Vec<Subagent>) {
        let is_gone = |row: &Row| {
            let of = row.of.as_ref().filter(|of| of.chat == chat);
            of.is_some_and(|of| subagents.iter().all(|it| it.number != of.subagent.number))
        };
        let selected = self.selected.as_deref();
        let mut rows = self.rows.iter();
        let loses = rows.any(|row| Some(row.chat.as_str()) == selected && is_gone(row));
        self.rows.retain(|row| !is_gone(row));
        if loses {
            self.selected = Some(chat.to_owned());
            self.is_new = true;
        }
        for subagent in subagents {
            let name = name(chat, subagent.number);
            match self.rows.iter_mut().find(|row| row.chat == name) {
                Some(row) => row.set_subagent(chat, subagent),
                None => {
                    let mut row = Row::new(&name);
                    row.set_subagent(chat, subagent);
                    self.rows.push(row);
                }
            }
        }
        self.follow_chat(chat);
    }

    /// The subagents of a chat are where it is, and in its conversation.
    pub(super) fn follow_chat(&mut self, chat: &str) {
        let parent = self.rows.iter().find(|row| row.chat == chat);
        let Some((session, active)) =
            parent.map(|row| (row.conversation.session.clone(), row.active))
        else {
            return;
        };
        for row in &mut self.rows {
            let Some(of) = row.of.as_ref().filter(|of| of.chat == chat) else {
                continue;
            };
            let conversation = Conversation {
                session: session.clone(),
                agent: of.subagent.row.name.clone(),
                title: of.subagent.task.clone(),
                model: of.subagent.model.clone(),
            };
            let before = std::mem::replace(&mut row.conversation, conversation);
            row.active = active;
            if !before.session.is_empty() && before.session != session {
                row.forget_requests();
            }
            row.rename();
        }
        self.rows.sort_by_cached_key(|row| {
            let chat = row.chat().to_owned();
            (Reverse(row.active), chat, row.place())
        });
    }

    /// Whether the time that a subagent has run is to be drawn anew.
    pub(super) fn counts(&mut self, now: Instant) -> bool {
        let mut subagents = self.rows.iter().filter_map(|row| row.of.as_ref());
        let runs = subagents.any(|of| !of.is_over());
        let is_due = runs && now.saturating_duration_since(self.counted) >= TICK;
        if is_due {
            self.counted = now;
        }
        is_due
    }
}
