//! One chat, and what its news show.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_chat::request::editor::Edit;
use dunlin_host::display::{chain, one_line};

use super::history::follow;
use super::state::{Conversation, PATIENCE, Update, When};
use super::subagents::OfChat;
use crate::inspector::log::{Logs, SessionLog};
use crate::inspector::state::{Inspector, Mode, Sides, Typed};
use crate::request::paused::Paused;
use crate::ui::style::Styles;

/// How long a chat that has ended stays listed while another one is selected.
pub(super) const REMEMBERED: Duration = Duration::from_secs(30);

/// What is said behind a step that the chat has not answered yet, and where nothing was said of the step.
const UNCONFIRMED: &str = " · the chat has not confirmed this yet";
const ALL_UNCONFIRMED: &str = "the chat has not confirmed this yet";

/// How long a new request is marked as new.
pub(super) const FLASH: Duration = Duration::from_secs(2);

/// What is said where the edits of a chat cannot be repeated.
const DIFFERS: &str =
    "an edit of the chat does not apply here, so it may send another request than this";

/// A command that was not answered yet.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) since: Instant,
    /// The text that it takes over.
    pub(super) typed: Option<Typed>,
    /// Whether it was said that it is not answered yet.
    pub(super) is_told: bool,
}

/// One chat, or a subagent of one.
pub struct Row {
    /// The name of the chat; of a subagent, its own among the rows.
    pub chat: String,
    /// Which subagent of which chat it is, if it is one.
    pub of: Option<OfChat>,
    /// What it is listed by.
    pub conversation: Conversation,
    /// Which requests it pauses.
    pub mode: String,
    /// Whether a request is paused.
    pub is_paused: bool,
    /// Why it is not attached any more.
    pub ended: Option<String>,
    /// What became of its last request, in words, where that is not shown.
    pub last_event: Option<String>,
    /// Whether its last request was sent.
    pub has_sent: bool,
    /// Until when its request is new.
    pub flash: Option<Instant>,
    /// When something happened last, in milliseconds of Unix time.
    pub(super) active: u64,
    /// Whether a key was pressed since its request is paused.
    pub(super) is_touched: bool,
    pub(super) waiting: Option<Waiting>,
    ended_at: Option<Instant>,
    /// The number of a request that was sent, and is to be read in the log.
    unread: Option<u64>,
    /// The SHA-256 of the request before the paused one, which is to be read in the log.
    last_sent: Option<String>,
    /// How many requests it has paused since it is listed.
    pub(super) pauses: u64,
    pub(super) view: Option<(Inspector, Paused)>,
}

/// What an update shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shows {
    Nothing,
    /// Another state of the request.
    Revision,
    /// Another request; whether it is new.
    Request(bool),
    /// That a request was sent just now.
    Sent,
}

impl Row {
    pub(super) fn new(chat: &str) -> Row {
        Row {
            chat: chat.to_owned(),
            of: None,
            conversation: Conversation::default(),
            mode: String::new(),
            is_paused: false,
            ended: None,
            last_event: None,
            has_sent: false,
            flash: None,
            active: 0,
            is_touched: false,
            waiting: None,
            ended_at: None,
            unread: None,
            last_sent: None,
            pauses: 0,
            view: None,
        }
    }

    /// Takes in news.
    pub(super) fn apply(&mut self, update: Update, styles: Styles, logs: &Arc<dyn Logs>) -> Shows {
        let shows = self.take_in(update, styles, logs);
        self.rename();
        shows
    }

    /// What it is called may have changed.
    pub(super) fn rename(&mut self) {
        let status = self.status();
        if let Some((inspector, _)) = &mut self.view {
            inspector.rename(status);
        }
    }

    /// A request was sent, and is to be read in the log.
    pub(super) fn sent(&mut self, number: Option<u64>) {
        self.unread = number;
        self.has_sent = true;
        self.last_event = Some(was_sent(number));
        if let Some((inspector, _)) = &mut self.view {
            // Its log has one more.
            inspector.redraw();
        }
    }

    /// Nothing of another session is shown.
    pub(super) fn forget_requests(&mut self) {
        (self.view, self.unread, self.last_event) = (None, None, None);
        self.has_sent = false;
    }

    /// Reads what is to be shown of the log; whether there was anything. `follows`: a request that was sent replaces the one
    /// that is shown.
    pub(super) fn load(&mut self, logs: &Arc<dyn Logs>, follows: bool, styles: Styles) -> bool {
        let session = self.conversation.session.as_str();
        if let Some(sha256) = self.last_sent.take()
            && let Some((_, paused)) = &mut self.view
            && let Some(body) = logs.body(session, &sha256)
        {
            paused.set_last_sent(&body);
            return true;
        }
        let view = self.view.as_ref();
        let reads = view.is_some_and(|(inspector, _)| inspector.has_open() || !follows);
        if self.is_paused || self.types() || reads {
            return false;
        }
        let Some(number) = self.unread.take() else {
            return false;
        };
        let why = was_sent(Some(number));
        match logs.sent(session, number) {
            Ok(paused) => self.show(paused, Mode::ReadOnly(why), styles, logs),
            Err(error) => {
                self.view = None;
                let error = chain(&*error);
                self.last_event = Some(format!("{why}; it cannot be shown: {error}"));
            }
        }
        true
    }

    /// Says that the last command is not answered yet, once it has waited for a while. Whether it was said now.
    pub(super) fn says_that_it_waits(&mut self, now: Instant) -> bool {
        let (Some(waiting), Some((inspector, _))) = (&mut self.waiting, &mut self.view) else {
            return false;
        };
        let is_late = now.saturating_duration_since(waiting.since) > PATIENCE;
        let says = is_late && !waiting.is_told;
        if says {
            waiting.is_told = true;
            inspector.note = Some(match inspector.note.take() {
                Some(note) => note + UNCONFIRMED,
                None => ALL_UNCONFIRMED.to_owned(),
            });
        }
        says
    }

    /// Whether it has ended so long ago that it need not be listed.
    pub(super) fn is_past(&self, now: Instant) -> bool {
        let ended = self.ended_at;
        ended.is_some_and(|at| now.saturating_duration_since(at) > REMEMBERED)
    }

    fn take_in(&mut self, update: Update, styles: Styles, logs: &Arc<dyn Logs>) -> Shows {
        match update {
            Update::Attached(active) => {
                (self.ended, self.ended_at) = (None, None);
                self.active = self.active.max(active);
            }
            Update::Conversation(conversation) => {
                // What was sent in another session is none of this one.
                if conversation.session != self.conversation.session && !self.is_paused {
                    self.forget_requests();
                }
                self.conversation = conversation;
            }
            Update::Mode(mode) => self.mode = mode,
            // They have rows of their own.
            Update::Subagents(_) => {}
            Update::Paused(arrived, when) => {
                self.happens(when);
                (self.is_paused, self.is_touched) = (true, false);
                self.has_sent = false;
                self.pauses += 1;
                (self.unread, self.last_sent) = (None, arrived.last_sent);
                let mode = mode(arrived.is_exact);
                self.show(arrived.paused, mode, styles, logs);
                return Shows::Request(when.is_new);
            }
            Update::Revised(edits, undone) if self.is_paused => return self.revise(edits, undone),
            Update::Revised(..) => {}
            Update::Over(why, when) => {
                self.over(why.clone());
                // A request that is shown says itself what became of it.
                self.last_event = self.view.is_none().then_some(why);
                self.happens(when);
            }
            Update::Sent(number, when) => {
                self.happens(when);
                if self.is_paused && !when.is_new {
                    // That was before the request that is paused.
                    return Shows::Nothing;
                }
                self.sent(number);
                if when.is_new {
                    return Shows::Sent;
                }
            }
            Update::Done => {
                self.waiting = None;
                if let Some((inspector, _)) = &mut self.view
                    && let Some(note) = &inspector.note
                {
                    let rest = note.strip_suffix(UNCONFIRMED).unwrap_or(note);
                    inspector.note = (rest != ALL_UNCONFIRMED).then(|| rest.to_owned());
                }
            }
            Update::Refused(why) => self.refused(&why),
            Update::Notice(text) => {
                if let Some((inspector, _)) = &mut self.view {
                    inspector.say(&text);
                }
            }
            Update::Ended(why) => {
                self.waiting = None;
                self.flash = None;
                self.over(why.clone());
                self.ended = Some(why);
                self.ended_at = Some(Instant::now());
            }
        }
        Shows::Nothing
    }

    fn happens(&mut self, when: When) {
        self.active = self.active.max(when.active);
        if when.is_new {
            self.flash = Some(Instant::now() + FLASH);
        }
    }

    fn show(&mut self, paused: Paused, mode: Mode, styles: Styles, logs: &Arc<dyn Logs>) {
        let conversation = self.conversation.clone();
        let typed = self.types();
        let before = self.view.take();
        let paused = match &before {
            Some((_, before)) => paused.with_pins(before.pins().clone()),
            None => paused,
        };
        let log = SessionLog {
            logs: Arc::clone(logs),
            session: conversation.session.clone(),
        };
        let sides = Sides {
            metadata: Box::new(move |paused| {
                let model = paused.model().unwrap_or_else(|| conversation.model.clone());
                [
                    ("session", conversation.session.clone()),
                    ("agent", conversation.agent.clone()),
                    ("model", model),
                    ("budget", paused.total()),
                ]
                .map(|(name, value)| (name.to_owned(), value))
                .to_vec()
            }),
            log,
            conversation: self.status(),
        };
        let mut inspector = Inspector::new(mode, sides, styles, &paused);
        if let Some((before, _)) = &before {
            inspector.look_like(before);
        }
        if typed {
            inspector.say(
                "This is another request: what was being typed for the last one is discarded.",
            );
        }
        self.view = Some((inspector, paused));
    }

    /// Whether a text is being typed.
    pub(super) fn types(&self) -> bool {
        let view = self.view.as_ref();
        view.is_some_and(|(inspector, _)| inspector.types())
    }

    /// Whether the user works on its paused request.
    pub(super) fn is_at_work(&self) -> bool {
        self.is_paused && self.is_touched
    }

    /// Shows the request with these edits, unless it has them already.
    fn revise(&mut self, edits: Vec<Edit>, undone: Vec<Edit>) -> Shows {
        let Some((inspector, paused)) = &mut self.view else {
            return Shows::Nothing;
        };
        let followed = follow(paused, edits, undone);
        inspector.set_mode(mode(followed.is_ok()));
        match followed {
            Ok(false) => Shows::Nothing,
            Ok(true) => {
                inspector.redraw();
                inspector.say("The request was edited elsewhere: this is what it is now.");
                Shows::Revision
            }
            Err(error) => {
                inspector.redraw();
                inspector.say(&format!("An edit of the chat does not apply here: {error}"));
                Shows::Revision
            }
        }
    }

    /// The last command was refused. A text that it took over can be typed on.
    fn refused(&mut self, why: &str) {
        let typed = self.waiting.take().and_then(|waiting| waiting.typed);
        let Some((inspector, paused)) = &mut self.view else {
            return;
        };
        match typed.filter(|_| self.is_paused && *inspector.mode() == Mode::Paused) {
            Some(typed) => inspector.keep(typed, why, paused),
            None => inspector.say(&format!("The chat has refused this: {why}")),
        }
    }

    fn over(&mut self, why: String) {
        if let Some((inspector, _)) = &mut self.view
            && self.is_paused
        {
            inspector.set_mode(Mode::ReadOnly(why));
        }
        self.is_paused = false;
    }
}

fn was_sent(number: Option<u64>) -> String {
    let request = number.map_or("a request".to_owned(), |number| format!("request {number}"));
    format!("{request} was sent")
}

/// What a request is for, of which all edits could be repeated or not.
fn mode(is_exact: bool) -> Mode {
    match is_exact {
        true => Mode::Paused,
        false => Mode::ReadOnly(DIFFERS.to_owned()),
    }
}

impl Row {
    /// What it is, for the status line.
    fn status(&self) -> String {
        match &self.of {
            Some(of) => one_line(&of.subagent.row.name),
            None => format!(
                "pause: {} · {}",
                one_line(&self.mode),
                label(&self.conversation)
            ),
        }
    }
}

/// `agent · title · …id`
pub fn label(conversation: &Conversation) -> String {
    one_line(&format!("{} · {}", conversation.agent, name(conversation)))
}

/// `title · …id`
pub fn name(conversation: &Conversation) -> String {
    let id = &conversation.session;
    let end: String = id
        .chars()
        .skip(id.chars().count().saturating_sub(4))
        .collect();
    let title = match conversation.title.as_str() {
        "" => "new conversation",
        title => title,
    };
    one_line(&format!("{title} · …{end}"))
}
