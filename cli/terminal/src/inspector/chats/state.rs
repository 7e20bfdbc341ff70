//! The conversations, which of them is selected, and what an event does.

use dunlin_chat::request::editor::{Edit, EditableRequest, Target};
use dunlin_host::display::one_line;
use ratatui_textarea::{Input, Key};

use crate::inspector::help::{self, Help};
use crate::inspector::keymap::{self, Binding, KEYMAP, bind};
use crate::inspector::state::{Effect, Event, Inspector, Mode, Sides};
use crate::request::paused::Paused;
use crate::ui::style::Styles;

/// How many rounds of [`ChatList::tick`] a new request is marked as new: two seconds.
const FLASH_TICKS: u32 = 40;

/// What a conversation is listed by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The id of the session.
    pub session: String,
    /// The agent.
    pub agent: String,
    /// The title; empty before the first message.
    pub title: String,
    /// The model.
    pub model: String,
}

/// News of a chat.
#[derive(Debug)]
pub enum Update {
    /// It is in this conversation.
    Conversation(Conversation),
    /// Which requests it pauses.
    Mode(String),
    /// It has paused this request.
    Paused(Box<Paused>),
    /// Somebody has edited the paused request: it is this now.
    Revised(Box<Paused>),
    /// It is not paused any more; the sentence says why.
    Over(String),
    /// It has sent this request without a pause; the sentence says which one.
    Sent(Box<Paused>, String),
    /// It has refused something.
    Refused(String),
    /// It has ended.
    Ended,
}

/// What a chat is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// An edit of its paused request.
    Edit(Edit),
    /// Undo the last edit.
    Undo,
    /// Redo what was undone last.
    Redo,
    /// Send the request.
    Send,
    /// Cancel it.
    Cancel,
    /// Pause other requests: the next mode.
    NextMode,
}

/// One chat.
pub struct Row {
    /// Its name.
    pub chat: String,
    /// What it is listed by.
    pub conversation: Conversation,
    /// Which requests it pauses.
    pub mode: String,
    /// Whether a request is paused.
    pub is_paused: bool,
    /// Whether it has ended.
    pub is_ended: bool,
    /// For how many ticks more its request is new.
    pub flash: u32,
    /// When something happened last, in no unit.
    recency: u64,
    view: Option<(Inspector, Paused)>,
}

/// All chats.
pub struct ChatList {
    rows: Vec<Row>,
    selected: Option<String>,
    follows: bool,
    /// Whether keys act: not before what they act upon is on the screen.
    keys_act: bool,
    /// Whether keys would act on something else than before, and not because of a key.
    is_new: bool,
    /// The help, while it is shown.
    pub(super) help: Option<Help>,
    /// The beginning of the id of the session that is to be selected.
    wanted: Option<String>,
    clock: u64,
    note: String,
    styles: Styles,
}

impl ChatList {
    /// No chat yet. `wanted`: the beginning of the id of the session to select.
    pub fn new(styles: Styles, wanted: Option<String>) -> ChatList {
        ChatList {
            rows: Vec::new(),
            selected: None,
            follows: wanted.is_none(),
            keys_act: true,
            is_new: false,
            help: None,
            wanted,
            clock: 0,
            note: String::new(),
            styles,
        }
    }

    /// The chats, the latest first.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The selected chat.
    pub fn selected(&self) -> Option<&str> {
        self.selected.as_deref()
    }

    /// Whether the newest request is selected by itself.
    pub fn follows(&self) -> bool {
        self.follows
    }

    /// What was said last, where there is no request to say it below.
    pub fn note(&self) -> &str {
        &self.note
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

    /// How everything is coloured.
    pub fn styles(&self) -> Styles {
        self.styles
    }

    /// The request that is shown.
    pub fn shown(&mut self) -> Option<(&mut Inspector, &mut Paused)> {
        let selected = self.selected.as_deref()?;
        let row = self.rows.iter_mut().find(|row| row.chat == selected)?;
        row.view
            .as_mut()
            .map(|(inspector, paused)| (inspector, paused))
    }

    /// Says something.
    pub fn say(&mut self, text: &str) {
        self.note = one_line(text);
        if let Some((inspector, _)) = self.shown() {
            inspector.say(text);
        }
    }

    /// Time passes. Whether that is to be seen.
    pub fn tick(&mut self) -> bool {
        let mut is_over = false;
        for row in self.rows.iter_mut().filter(|row| row.flash > 0) {
            row.flash -= 1;
            is_over |= row.flash == 0;
        }
        is_over
    }

    /// Takes in news of a chat.
    pub fn apply(&mut self, chat: &str, update: Update) {
        self.clock += 1;
        let (clock, styles) = (self.clock, self.styles);
        let is_known = self.rows.iter().any(|row| row.chat == chat);
        if !is_known {
            self.rows.push(Row {
                chat: chat.to_owned(),
                conversation: Conversation::default(),
                mode: String::new(),
                is_paused: false,
                is_ended: false,
                flash: 0,
                recency: clock,
                view: None,
            });
        }
        let is_shown = self.selected.as_deref() == Some(chat);
        let types = self.types();
        let Some(row) = self.rows.iter_mut().find(|row| row.chat == chat) else {
            return;
        };
        let (mut is_request, mut is_revised) = (false, false);
        match update {
            Update::Conversation(conversation) => {
                row.is_ended = false;
                row.conversation = conversation;
            }
            Update::Mode(mode) => row.mode = mode,
            Update::Paused(paused) => {
                row.is_paused = true;
                row.flash = FLASH_TICKS;
                is_request = true;
                row.show(*paused, Mode::Paused, styles);
            }
            Update::Sent(paused, why) => {
                row.is_paused = false;
                is_request = true;
                row.show(*paused, Mode::ReadOnly(why), styles);
            }
            Update::Revised(paused) => is_revised = row.revise(*paused),
            Update::Over(why) => row.over(why),
            Update::Refused(why) => {
                if let Some((inspector, _)) = &mut row.view {
                    inspector.say(&why);
                }
                self.note = one_line(&why);
            }
            Update::Ended => {
                row.is_ended = true;
                row.over("the chat has ended".to_owned());
            }
        }
        if is_request {
            row.recency = clock;
        }
        // What is typed into a text goes on into it, as long as that is there.
        let stops_typing = is_shown && types && !row.types();
        self.is_new |= stops_typing || is_shown && (is_request || is_revised) && !types;
        if let Some((inspector, _)) = &mut row.view {
            inspector.rename(status(&row.conversation, &row.mode));
        }
        let session = row.conversation.session.clone();
        let is_wanted = !types
            && !session.is_empty()
            && self
                .wanted
                .as_ref()
                .is_some_and(|it| session.starts_with(it.as_str()));
        if is_wanted {
            self.wanted = None;
        }
        let follows = is_request && self.follows && !types;
        let is_first = self.selected.is_none();
        if !is_shown && (is_wanted || follows || is_first) {
            self.selected = Some(chat.to_owned());
            self.is_new = true;
        }
        self.rows.sort_by_key(|row| std::cmp::Reverse(row.recency));
    }

    /// Whether a text is being typed, which nothing may interrupt.
    fn types(&self) -> bool {
        let selected = self.selected.as_deref();
        let mut rows = self.rows.iter();
        rows.any(|row| Some(&*row.chat) == selected && row.types())
    }

    /// Does what an event means; what the selected chat has to do then.
    pub fn handle(&mut self, event: Event) -> (Effect, Vec<Act>) {
        let nothing = (Effect::None, Vec::new());
        if let Some(help) = self.help.take() {
            self.help = match &event {
                Event::Key(input) => help.after(keymap::action(input), help_rows().count()),
                Event::Press(_) => None,
                _ => Some(help),
            };
            return nothing;
        }
        let types = self.types();
        // Nobody sees what a key does where there is no room.
        let has_room = self.shown().is_none_or(|(inspector, _)| inspector.has_room);
        if let Event::Key(input) = &event
            && !types
            && has_room
        {
            match keymap::find(KEYS, input) {
                Some(Own::Next) => self.step(true),
                Some(Own::Previous) => self.step(false),
                Some(Own::Follow) => self.follows = !self.follows,
                Some(Own::Mode) => return (Effect::None, vec![Act::NextMode]),
                Some(Own::Leave) => return (Effect::Close, Vec::new()),
                Some(Own::Help) => self.help = Some(Help::default()),
                None => return self.handle_shown(event),
            }
            return nothing;
        }
        self.handle_shown(event)
    }

    /// What an event does to the request that is shown.
    fn handle_shown(&mut self, event: Event) -> (Effect, Vec<Act>) {
        let Some((inspector, paused)) = self.shown() else {
            let leaves = matches!(&event, Event::Key(input) if is_interrupt(input));
            let nothing = (Effect::None, Vec::new());
            return match leaves {
                true => (Effect::Close, Vec::new()),
                false => nothing,
            };
        };
        let before = History::of(paused.request());
        let effect = inspector.handle(event, paused);
        let mut acts: Vec<Act> = before.act(paused.request()).into_iter().collect();
        match effect {
            Effect::Send => acts.push(Act::Send),
            Effect::Cancel => acts.push(Act::Cancel),
            _ => {}
        }
        (effect, acts)
    }

    /// Takes over what a value was edited to.
    pub fn set(&mut self, target: &Target, text: &str) -> Option<Act> {
        let (inspector, paused) = self.shown()?;
        let before = History::of(paused.request());
        inspector.set(target, text, paused);
        before.act(paused.request())
    }

    fn step(&mut self, down: bool) {
        let selected = self.selected.as_deref();
        let at = self
            .rows
            .iter()
            .position(|row| Some(&*row.chat) == selected);
        let next = match (at, down) {
            (None, _) => 0,
            (Some(at), true) => (at + 1).min(self.rows.len().saturating_sub(1)),
            (Some(at), false) => at.saturating_sub(1),
        };
        self.selected = self.rows.get(next).map(|row| row.chat.clone());
    }
}

impl Row {
    fn show(&mut self, paused: Paused, mode: Mode, styles: Styles) {
        let conversation = self.conversation.clone();
        let pins = self.view.take().map(|(_, before)| before.pins().clone());
        let paused = match pins {
            Some(pins) => paused.with_pins(pins),
            None => paused,
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
            log: Box::new(|| vec!["`dunlin requests list` lists what was sent.".to_owned()]),
            conversation: status(&self.conversation, &self.mode),
        };
        let inspector = Inspector::new(mode, sides, styles, &paused);
        self.view = Some((inspector, paused));
    }

    /// Whether a text is being typed.
    fn types(&self) -> bool {
        let view = self.view.as_ref();
        view.is_some_and(|(inspector, _)| inspector.entry.is_some())
    }

    /// Shows the request as somebody else has edited it, unless it looks so already; whether it did not.
    fn revise(&mut self, paused: Paused) -> bool {
        let Some((inspector, before)) = &mut self.view else {
            return false;
        };
        let (old, new) = (before.request(), paused.request());
        if old.edits() == new.edits() && old.undone() == new.undone() {
            return false;
        }
        let pins = before.pins().clone();
        *before = paused.with_pins(pins);
        inspector.redraw();
        inspector.say("The request was edited elsewhere: this is what it is now.");
        true
    }

    fn over(&mut self, why: String) {
        self.is_paused = false;
        self.flash = 0;
        if let Some((inspector, _)) = &mut self.view {
            inspector.set_mode(Mode::ReadOnly(why));
        }
    }
}

fn status(conversation: &Conversation, mode: &str) -> String {
    format!("pause: {mode} · {}", label(conversation))
}

/// `agent · title · …id`
pub fn label(conversation: &Conversation) -> String {
    let id = &conversation.session;
    let end: String = id
        .chars()
        .skip(id.chars().count().saturating_sub(4))
        .collect();
    let title = match conversation.title.as_str() {
        "" => "new conversation",
        title => title,
    };
    one_line(&format!("{} · {title} · …{end}", conversation.agent))
}

/// What a key does that does not act on the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    /// Selects the next chat.
    Next,
    /// Selects the previous chat.
    Previous,
    /// Follows the newest request, or keeps the selected chat.
    Follow,
    /// Sets which requests the selected chat pauses.
    Mode,
    /// Leaves the inspector.
    Leave,
    /// Lists the keys.
    Help,
}

/// The keys of the list. All others act on the request.
pub(super) const KEYS: &[Binding<Own>] = &[
    bind("Ctrl-N", Own::Next, "next chat", ""),
    bind("Ctrl-P", Own::Previous, "previous chat", ""),
    bind("f", Own::Follow, "follow or keep the chat", ""),
    bind("M", Own::Mode, "next pause mode", "/pause"),
    bind("q Esc", Own::Leave, "leave", ""),
    bind("?", Own::Help, "all keys", ""),
];

/// The rows of the help: the keys of the list, and those of the request.
pub(super) fn help_rows() -> impl Iterator<Item = help::Row> {
    let is_own = |keys| KEYS.iter().any(|own| own.keys == keys);
    help::rows(KEYS).chain(help::rows(KEYMAP).filter(move |row| !is_own(row.0)))
}

fn is_interrupt(input: &Input) -> bool {
    input.key == Key::Char('c') && input.ctrl && !input.alt
}

/// How many edits are done and undone: which step was made is seen by them.
struct History {
    done: usize,
    revision: u64,
}

impl History {
    fn of(request: &EditableRequest) -> History {
        History {
            done: request.edits().len(),
            revision: request.revision(),
        }
    }

    /// The step that leads to the request as it is now.
    fn act(&self, now: &EditableRequest) -> Option<Act> {
        if now.revision() == self.revision {
            return None;
        }
        match (now.edits().len(), now.undone().len()) {
            (done, _) if done < self.done => Some(Act::Undo),
            // A new edit leaves nothing to redo, but the last redo does not, either: it is the same as the edit.
            (_, 0) => now.edits().last().cloned().map(Act::Edit),
            _ => Some(Act::Redo),
        }
    }
}
