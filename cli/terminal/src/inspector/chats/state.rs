//! The conversations, which of them is selected, and what an event does.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_chat::request::editor::Edit;
use dunlin_host::display::one_line;
use ratatui_textarea::{Input, Key};

use super::row::{Row, Shows, Waiting};
use super::subagents::Subagent;
use crate::inspector::help::Help;
use crate::inspector::keymap::{self, Action};
use crate::inspector::log::Logs;
use crate::inspector::screen::is_control;
use crate::inspector::state::{Changed, Effect, Event, Inspector, Typed, changes};
use crate::request::paused::Paused;
use crate::ui::style::Styles;

/// How long a key waits until the chat has answered the command before it. Most chats take less.
pub(super) const PATIENCE: Duration = Duration::from_millis(300);

/// What Esc says where it has nothing to close.
const NOTHING_OPEN: &str = "Nothing is open here that Esc closes; q leaves.";

/// What is said of a key of a request where none is shown.
const NO_REQUEST: &str = "This key acts on a request, and none is shown.";

/// What is said where the mode of a subagent is to be chosen.
const NEVER_PAUSED: &str = "Requests of subagents are never paused. M acts on a chat.";

/// What is said of a key that would have to wait longer.
const NOT_ANSWERED: &str =
    "The chat has not answered the last command yet; this key did nothing. Ctrl-C leaves.";

/// The modes of pausing, each with the key that chooses it.
pub(super) const MODES: [(char, &str); 5] = [
    ('t', "turn"),
    ('e', "every"),
    ('a', "auto"),
    ('n', "next"),
    ('o', "off"),
];

/// What a conversation is listed by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The id of the session.
    pub session: String,
    pub agent: String,
    /// The title; empty before the first message.
    pub title: String,
    pub model: String,
}

/// When something happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct When {
    /// In milliseconds of Unix time.
    pub active: u64,
    /// Whether that was after the inspector attached.
    pub is_new: bool,
}

/// A request that a chat has paused.
#[derive(Debug)]
pub struct Arrived {
    pub paused: Paused,
    /// Whether all edits of the chat could be repeated.
    pub is_exact: bool,
    /// The SHA-256 of the request before, if one was sent.
    pub last_sent: Option<String>,
}

/// News of a chat.
#[derive(Debug)]
pub enum Update {
    /// The inspector is attached to it. Something happened in it then.
    Attached(u64),
    Conversation(Conversation),
    /// Which requests it pauses.
    Mode(String),
    /// Its subagents, the oldest first: all that are listed.
    Subagents(Vec<Subagent>),
    /// It has paused this request.
    Paused(Box<Arrived>, When),
    /// The paused request has these edits, and those that are undone.
    Revised(Vec<Edit>, Vec<Edit>),
    /// It is not paused any more; the sentence says why.
    Over(String, When),
    /// A request was sent without a pause; its number in the session, if the session keeps requests.
    Sent(Option<u64>, When),
    /// The last command was done.
    Done,
    /// The last command was refused, and this is why.
    Refused(String),
    Notice(String),
    /// It is not attached any more; the sentence says why.
    Ended(String),
}

/// What a chat is to do. It gets the next command once it has answered this one.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// An edit of its paused request.
    Edit(Edit),
    Undo,
    /// Redo what was undone last.
    Redo,
    Send,
    Cancel,
    /// Pause these requests from now on.
    Mode(&'static str),
}

/// Whether a session is meant by the beginning of its id, or by its end, which the list shows.
pub fn is_meant(session: &str, typed: &str) -> bool {
    session.starts_with(typed) || session.ends_with(typed)
}

/// All chats.
pub struct ChatList {
    pub(super) rows: Vec<Row>,
    pub(super) selected: Option<String>,
    follows: bool,
    /// Whether the chat is selected for a reason, and not because it is the first one.
    is_settled: bool,
    /// Whether keys act: not before what they act upon is on the screen.
    keys_act: bool,
    /// Whether keys would act on something else than before, and not because of a key.
    pub(super) is_new: bool,
    /// Whether the next key chooses a mode of pausing.
    chooses: bool,
    /// The help, while it is shown.
    pub(super) help: Option<Help>,
    /// The beginning of the id of the session that is to be selected.
    wanted: Option<String>,
    note: String,
    /// Why no chat can be found.
    problem: Option<String>,
    /// When the time that subagents run was drawn last.
    pub(super) counted: Instant,
    /// The chat whose request is being edited in the user's editor, and which pause of it that is.
    outside: Option<(String, u64)>,
    styles: Styles,
    logs: Arc<dyn Logs>,
}

impl ChatList {
    /// No chat yet. `wanted`: the beginning or the end of the id of the session to select; of several, the chat that is
    /// there first. `logs`: what sessions have sent before.
    pub fn new(styles: Styles, wanted: Option<String>, logs: Arc<dyn Logs>) -> ChatList {
        ChatList {
            rows: Vec::new(),
            selected: None,
            follows: wanted.is_none(),
            is_settled: false,
            keys_act: true,
            is_new: false,
            chooses: false,
            help: None,
            wanted,
            note: String::new(),
            problem: None,
            counted: Instant::now(),
            outside: None,
            styles,
            logs,
        }
    }

    /// The chats, the latest first, each with its subagents below it.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn selected(&self) -> Option<&str> {
        self.selected.as_deref()
    }

    /// Whether no chat of the wanted session was found yet.
    pub fn is_missing(&self) -> bool {
        self.wanted.is_some()
    }

    /// Whether the newest request is selected by itself.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// Whether the next key chooses a mode of pausing.
    pub(super) fn chooses(&self) -> bool {
        self.chooses
    }

    /// What was said last, where there is no request to say it below.
    pub fn note(&self) -> &str {
        &self.note
    }

    /// Why no chat can be found.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// No chat can be found for this reason, or for none. Whether that is new.
    pub fn set_problem(&mut self, problem: Option<&str>) -> bool {
        let is_new = self.problem.as_deref() != problem;
        if is_new {
            self.problem = problem.map(one_line);
        }
        is_new
    }

    /// Whether keys act from now on.
    pub fn keys_act(&mut self, act: bool) {
        self.keys_act = act;
    }

    /// Whether the row of keys is shown.
    pub(super) fn shows_keys(&self) -> bool {
        self.keys_act
    }

    /// Whether keys would act on something else than when this was asked last, and not because of a key.
    pub fn take_new(&mut self) -> bool {
        std::mem::take(&mut self.is_new)
    }

    /// The same, to be asked again.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    pub fn styles(&self) -> Styles {
        self.styles
    }

    fn row(&self) -> Option<&Row> {
        let selected = self.selected.as_deref()?;
        self.rows.iter().find(|row| row.chat == selected)
    }

    fn row_mut(&mut self) -> Option<&mut Row> {
        let selected = self.selected.as_deref()?;
        self.rows.iter_mut().find(|row| row.chat == selected)
    }

    /// The request that is shown.
    pub fn shown(&mut self) -> Option<(&mut Inspector, &mut Paused)> {
        let view = self.row_mut()?.view.as_mut();
        view.map(|(inspector, paused)| (inspector, paused))
    }

    /// Says something.
    pub fn say(&mut self, text: &str) {
        self.note = one_line(text);
        if let Some((inspector, _)) = self.shown() {
            inspector.say(text);
        }
    }

    /// What was said does not hold any more.
    fn forget_note(&mut self) {
        self.note.clear();
        if let Some((inspector, _)) = self.shown() {
            inspector.note = None;
        }
    }

    /// Updates what depends on the time. Whether to draw again.
    pub fn tick(&mut self, now: Instant) -> bool {
        let mut is_over = self.counts(now);
        for row in &mut self.rows {
            is_over |= row.flash.take_if(|until| *until <= now).is_some();
            is_over |= row.says_that_it_waits(now);
        }
        let selected = self.selected.as_deref();
        let before = self.rows.len();
        self.rows
            .retain(|row| Some(row.chat.as_str()) == selected || !row.is_past(now));
        is_over || self.rows.len() != before
    }

    /// Reads what the selected chat shows of its log. Whether anything was read.
    pub fn load(&mut self) -> bool {
        let (logs, styles, follows) = (Arc::clone(&self.logs), self.styles, self.follows);
        // It is read-only: no key does harm to it, so that none has to wait for it.
        let row = self.row_mut();
        row.is_some_and(|row| row.load(&logs, follows, styles))
    }

    /// Takes in news of a chat.
    pub fn apply(&mut self, chat: &str, update: Update) {
        let styles = self.styles;
        let is_shown = self.selected.as_deref() == Some(chat);
        if is_shown && matches!(update, Update::Done) && self.note == NOT_ANSWERED {
            self.forget_note();
        }
        // Nothing takes the keys away from a text, or from the choice of a mode.
        let types = self.types() || self.chooses;
        let is_busy = self.row().is_some_and(Row::is_at_work);
        let shows_paused = self.row().is_some_and(|row| row.is_paused);
        if !self.rows.iter().any(|row| row.chat == chat) {
            self.rows.push(Row::new(chat));
        }
        let Some(row) = self.rows.iter_mut().find(|row| row.chat == chat) else {
            return;
        };
        let typed = row.types();
        if let Update::Refused(why) | Update::Notice(why) = &update {
            self.note = one_line(why);
        }
        let update = match update {
            Update::Subagents(subagents) => return self.set_subagents(chat, subagents),
            update => update,
        };
        let has_ended = matches!(update, Update::Ended(_));
        let shows = row.apply(update, styles, &self.logs);
        // What is typed into a text goes on into it, as long as that is there.
        let is_other = !matches!(shows, Shows::Nothing | Shows::Sent) && !typed;
        self.is_new |= is_shown && (is_other || typed != row.types());
        let session = row.conversation.session.as_str();
        let wanted = self.wanted.as_deref();
        let is_wanted =
            !types && !session.is_empty() && wanted.is_some_and(|wanted| is_meant(session, wanted));
        if is_wanted {
            self.wanted = None;
        }
        let is_followed = match shows {
            Shows::Request(is_new) => is_new,
            Shows::Sent => !shows_paused,
            Shows::Nothing | Shows::Revision => false,
        };
        let follows = is_followed && self.follows && !types && !is_busy;
        let is_late = matches!(shows, Shows::Request(true) | Shows::Sent);
        self.is_settled |= is_wanted || is_late && self.selected.is_some();
        match has_ended {
            true => self.set_subagents(chat, Vec::new()),
            false => self.follow_chat(chat),
        }
        let select = match (is_wanted || follows, self.is_settled) {
            (true, _) => Some(chat.to_owned()),
            (false, false) => {
                let rows = self.rows.iter();
                let first = rows.min_by_key(|row| Reverse((row.is_paused, row.active)));
                first.map(|row| row.chat.clone())
            }
            (false, true) => None,
        };
        if select.is_some() && select != self.selected {
            self.selected = select;
            self.is_new = true;
        }
    }

    /// Whether a text is being typed, which nothing may interrupt.
    fn types(&self) -> bool {
        self.row().is_some_and(Row::types)
    }

    /// How much longer an event waits for the answer to the command before it.
    pub fn patience(&self, event: &Event) -> Option<Duration> {
        let waiting = self.row()?.waiting.as_ref()?;
        let rest = PATIENCE.saturating_sub(waiting.since.elapsed());
        (!rest.is_zero() && self.commands(event)).then_some(rest)
    }

    /// Whether an event may be a command to the chat.
    fn commands(&self, event: &Event) -> bool {
        let Event::Key(input) = event else {
            return false;
        };
        match (self.help.is_some(), self.chooses, self.types()) {
            (true, ..) => false,
            (_, true, _) => true,
            (.., true) => input.key == Key::Enter || is_control(input, 's'),
            _ => keymap::action(input).is_some_and(changes),
        }
    }

    /// Does what an event means; what the selected chat has to do then.
    pub fn handle(&mut self, event: Event) -> (Effect, Option<Act>) {
        const NOTHING: (Effect, Option<Act>) = (Effect::None, None);
        let is_key = matches!(event, Event::Key(_));
        self.is_settled |= is_key;
        if is_key {
            self.forget_note();
        }
        if let Some(help) = self.help.take() {
            self.help = match &event {
                Event::Key(input) => help.after(keymap::action(input)),
                Event::Press(_) => None,
                _ => Some(help),
            };
            return NOTHING;
        }
        let is_interrupt = matches!(&event, Event::Key(input) if is_control(input, 'c'));
        if self.commands(&event) && self.row().is_some_and(|row| row.waiting.is_some()) {
            if is_interrupt {
                return (Effect::Close, None);
            }
            self.chooses = false;
            self.say(NOT_ANSWERED);
            return NOTHING;
        }
        if std::mem::take(&mut self.chooses) {
            return (Effect::None, self.choose(&event));
        }
        let types = self.types();
        // Esc closes what was opened here, and must not close more than was meant.
        let is_esc = matches!(&event, Event::Key(input) if input.key == Key::Esc);
        if is_esc && !types && !self.has_open() {
            self.say(NOTHING_OPEN);
            return NOTHING;
        }
        // Nobody sees what a key does where there is no room.
        let has_room = self.shown().is_none_or(|(inspector, _)| inspector.has_room);
        // Ctrl-C ends this program, as it does others: it is no key of a request in another terminal.
        if is_interrupt && (!types || !has_room) {
            return (Effect::Close, None);
        }
        if let Event::Key(input) = &event
            && !types
            && has_room
        {
            match keymap::action(input) {
                Some(Action::NextChat) => self.step(true),
                Some(Action::PreviousChat) => self.step(false),
                Some(Action::Follow) => self.follows = !self.follows,
                Some(Action::PauseMode) => match self.row().map(|row| row.of.is_some()) {
                    Some(true) => self.say(NEVER_PAUSED),
                    is_subagent => self.chooses = is_subagent.is_some(),
                },
                Some(Action::Help) => self.help = Some(Help::of_chats()),
                _ => return self.handle_shown(event),
            }
            return NOTHING;
        }
        self.handle_shown(event)
    }

    /// Whether Esc closes something in the request that is shown.
    fn has_open(&self) -> bool {
        let view = self.row().and_then(|row| row.view.as_ref());
        view.is_some_and(|(inspector, _)| inspector.has_room && inspector.has_open())
    }

    /// What an event does to the request that is shown.
    fn handle_shown(&mut self, event: Event) -> (Effect, Option<Act>) {
        let leaves = matches!(&event, Event::Key(input)
            if is_control(input, 'c') || keymap::action(input) == Some(Action::Close));
        let is_key = matches!(event, Event::Key(_));
        let Some(row) = self.row_mut() else {
            return match leaves {
                true => (Effect::Close, None),
                false => (Effect::None, None),
            };
        };
        row.is_touched |= is_key && row.is_paused;
        let effect = match &mut row.view {
            Some((inspector, paused)) => match inspector.handle(event, paused) {
                // A single inspector has nothing more to show; this one has other chats.
                Effect::Close if !leaves => {
                    inspector.say_why_read_only();
                    Effect::None
                }
                effect => effect,
            },
            None if leaves => Effect::Close,
            None => {
                let acts = matches!(&event, Event::Key(input) if keymap::action(input).is_some());
                if acts {
                    self.say(NO_REQUEST);
                }
                return (Effect::None, None);
            }
        };
        self.command(effect)
    }

    /// Selects the request again that was edited in the user's editor. `false`: it is gone, and what is shown is another one.
    fn return_from_outside(&mut self) -> bool {
        let Some((chat, pauses)) = self.outside.take() else {
            return false;
        };
        let mut rows = self.rows.iter();
        let is_there = rows.any(|row| row.chat == chat && row.pauses == pauses);
        if is_there {
            self.selected = Some(chat);
            self.is_settled = true;
        }
        is_there
    }

    /// Takes over what a value was edited to in the user's editor. That has taken its time: another request may be shown by
    /// now, which the text was not meant for.
    pub fn set(&mut self, typed: Typed) -> Option<Act> {
        if !self.return_from_outside() {
            let why = "the request that you edited is gone; this was your text";
            match self.shown() {
                Some((inspector, _)) => inspector.show_text(why, &typed.new),
                None => self.say(why),
            }
            return None;
        }
        let is_waiting = self.row().is_some_and(|row| row.waiting.is_some());
        let (inspector, paused) = self.shown()?;
        if is_waiting {
            let problem = "the chat has not answered the last command yet";
            inspector.keep(typed, problem, paused);
            return None;
        }
        let effect = inspector.set(typed, paused);
        self.command(effect).1
    }

    /// The command that an effect is for the selected chat, which has not answered it then.
    fn command(&mut self, effect: Effect) -> (Effect, Option<Act>) {
        if let Effect::EditOutside(..) = &effect {
            self.outside = self.row().map(|row| (row.chat.clone(), row.pauses));
        }
        let (act, typed) = match effect {
            Effect::Changed(Changed::Edit(edit, typed)) => (Act::Edit(edit), typed),
            Effect::Changed(Changed::Undo) => (Act::Undo, None),
            Effect::Changed(Changed::Redo) => (Act::Redo, None),
            Effect::Send => (Act::Send, None),
            Effect::Cancel => (Act::Cancel, None),
            effect => return (effect, None),
        };
        self.wait(typed);
        (Effect::None, Some(act))
    }

    fn wait(&mut self, typed: Option<Typed>) {
        if let Some(row) = self.row_mut() {
            let since = Instant::now();
            row.waiting = Some(Waiting {
                since,
                typed,
                is_told: false,
            });
        }
    }

    /// The mode that a key chooses.
    fn choose(&mut self, event: &Event) -> Option<Act> {
        let chosen = match event {
            Event::Key(Input {
                key: Key::Char(typed),
                ctrl: false,
                alt: false,
                ..
            }) => MODES.iter().find(|(key, _)| key == typed),
            _ => None,
        };
        let Some((_, mode)) = chosen else {
            self.say("The pause mode is not changed.");
            return None;
        };
        self.wait(None);
        Some(Act::Mode(mode))
    }

    /// Selects the next chat or the one before, round and round.
    fn step(&mut self, down: bool) {
        let count = self.rows.len().max(1);
        let selected = self.selected.as_deref();
        let at = self
            .rows
            .iter()
            .position(|row| Some(&*row.chat) == selected);
        let next = match (at, down) {
            (None, _) => 0,
            (Some(at), true) => (at + 1) % count,
            (Some(at), false) => (at + count - 1) % count,
        };
        self.selected = self.rows.get(next).map(|row| row.chat.clone());
        self.note.clear();
    }
}
