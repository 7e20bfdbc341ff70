//! The inspector without a terminal: what is selected and shown, and what an event does to it and to the request.

use std::collections::{HashMap, HashSet};

use dunlin_chat::request::editor::{Edit, EditableRequest, Row, RowValue, Target};
use dunlin_host::display::one_line;
use ratatui::layout::{Position, Rect};
use ratatui_textarea::Input;

use super::entry::{Entry, Purpose, Typing};
use super::found::Found;
use super::help::Help;
use super::keymap::{self, Action};
use super::layout::Made;
use super::lines::Lines;
use super::list::Sections;
use super::log::{Opened, SessionLog};
use super::tabs::Tab;

use crate::request::paused::{Draft, Paused};
use crate::ui::style::Styles;

/// Rows that one notch of the wheel moves.
const WHEEL_ROWS: usize = 3;

/// What the inspector is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mode {
    /// A request waits to be sent.
    Paused,
    /// Nothing can be edited or sent; the sentence says why.
    ReadOnly(String),
}

/// Finds the names and values of the metadata tab.
type Metadata = Box<dyn Fn(&Paused) -> Vec<(String, String)> + Send>;

/// What is shown beside the request.
pub struct Sides {
    pub metadata: Metadata,
    /// The requests that the session has sent. Read when the tab is shown.
    pub log: SessionLog,
    /// The mode of pausing, the agent and the conversation's title, for the status line.
    pub conversation: String,
}

/// Where the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pane {
    Sections,
    /// The selected section, or the tab that is shown instead.
    Detail,
}

/// Something that the user did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Key(Input),
    Paste(String),
    /// A mouse button was pressed.
    Press(Position),
    /// The mouse was moved with the button pressed.
    Drag(Position),
    Release,
    Wheel {
        at: Position,
        /// Towards the user.
        down: bool,
    },
}

/// A text that was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// What it is the value of.
    pub target: Target,
    /// The value that was to be edited.
    pub old: String,
    /// What it was edited to.
    pub new: String,
}

/// How the request was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// By a new edit, which may be a text that was typed.
    Edit(Edit, Option<Typed>),
    /// The last edit was undone.
    Undo,
    Redo,
}

/// What has to be done outside.
#[derive(Debug)]
pub enum Effect {
    None,
    Changed(Changed),
    Send,
    Cancel,
    Close,
    /// A text goes to the clipboard; the name says what it is.
    Copy(String, &'static str),
    /// A value is edited in the user's editor.
    EditOutside(Target, Draft),
}

/// Where things were drawn last.
#[derive(Debug, Clone, Default)]
pub struct Areas {
    /// The rows of the list.
    pub list: Rect,
    /// The rows of the right pane.
    pub detail: Rect,
    /// The titles of the tabs.
    pub tabs: Vec<(Rect, Tab)>,
}

/// A row that is selected, and the first one that is visible.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cursor {
    pub at: usize,
    pub top: usize,
}

impl Cursor {
    /// Moves by so many rows within `count`.
    fn step(&mut self, rows: isize, count: usize) {
        let last = count.saturating_sub(1);
        self.at = self.at.saturating_add_signed(rows).min(last);
    }

    /// Scrolls so that the selected row is visible in `height` rows of `count`.
    pub fn scroll(&mut self, height: usize, count: usize) {
        self.at = self.at.min(count.saturating_sub(1));
        self.top = self.top.min(self.at);
        if height > 0 && self.at >= self.top + height {
            self.top = self.at + 1 - height;
        }
        self.top = self.top.min(count.saturating_sub(height.max(1)));
    }
}

/// The view of one request.
pub struct Inspector {
    mode: Mode,
    pub(super) sides: Sides,
    styles: Styles,
    pub(super) sections: Sections,
    pub(super) list: Cursor,
    pub(super) detail: Cursor,
    pub(super) pane: Pane,
    /// Whether the window has room for the right pane only.
    pub(super) hides_list: bool,
    pub(super) tab: Tab,
    pub(super) entry: Option<Entry>,
    pub(super) note: Option<String>,
    /// The help, while it is shown.
    pub(super) help: Option<Help>,
    /// Whether keys act: not before what they act upon is on the screen.
    pub(super) keys_act: bool,
    /// Whether the window has room for anything.
    pub(super) has_room: bool,
    pub(super) needle: String,
    pub(super) found: Found,
    pub(super) areas: Areas,
    pub(super) markdown: bool,
    pub(super) folded: HashSet<Target>,
    /// Counts the changes of `folded`.
    pub(super) folds: usize,
    pub(super) values: Vec<Row>,
    pub(super) lines: Lines,
    pub(super) made: Option<Made>,
    /// The beginnings of sections at one revision.
    pub(super) previews: (u64, HashMap<usize, String>),
    /// The section that was selected last; the list may be filtered.
    pub(super) number: usize,
    /// The value to select as soon as its rows are laid out.
    pub(super) wanted: Option<usize>,
    /// The request that each row of the log tab is about.
    pub(super) logged: Vec<Option<u64>>,
    /// A request of the log, shown instead of this one until it is closed.
    pub(super) opened: Option<Opened>,
}

impl Inspector {
    /// Begins at the last message: that is what the request is about.
    pub fn new(mode: Mode, sides: Sides, styles: Styles, paused: &Paused) -> Inspector {
        let mut sections = Sections::default();
        sections.refresh(paused);
        let request = paused.request();
        let messages = request.sections().iter().enumerate();
        let last = messages
            .filter(|(_, section)| section.kind.is_message())
            .map(|(index, _)| index)
            .next_back();
        let mut inspector = Inspector {
            mode,
            sides,
            styles,
            sections,
            list: Cursor::default(),
            detail: Cursor::default(),
            pane: Pane::Sections,
            hides_list: false,
            tab: Tab::default(),
            entry: None,
            note: None,
            help: None,
            keys_act: true,
            has_room: true,
            needle: String::new(),
            found: Found::default(),
            areas: Areas::default(),
            markdown: false,
            folded: HashSet::new(),
            folds: 0,
            values: Vec::new(),
            lines: Lines::default(),
            made: None,
            previews: (0, HashMap::new()),
            number: 1,
            wanted: None,
            logged: Vec::new(),
            opened: None,
        };
        inspector.select(last.unwrap_or_default() + 1);
        inspector
    }

    /// Whether keys act from now on.
    pub fn keys_act(&mut self, act: bool) {
        self.keys_act = act;
        if let Some(opened) = &mut self.opened {
            opened.0.keys_act(act);
        }
    }

    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// It is for something else from now on. A value that is being typed stays where it is, and cannot be saved any more
    /// where nothing can be edited.
    pub fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        // The log may have one more.
        self.made = None;
        let types = self.entry.as_ref().is_some_and(Entry::is_value);
        if let Mode::ReadOnly(why) = &self.mode
            && types
        {
            let note = format!("{why}: this text cannot be saved any more, Esc discards it");
            self.say(&note);
        }
    }

    /// Shows the same tab as another inspector, in the same way.
    pub fn look_like(&mut self, other: &Inspector) {
        (self.tab, self.markdown, self.pane) = (other.tab, other.markdown, other.pane);
    }

    /// The conversation is called this now.
    pub fn rename(&mut self, conversation: String) {
        self.sides.conversation = conversation;
    }

    /// The request is another one, or was edited by somebody else: everything is laid out again.
    pub fn redraw(&mut self) {
        self.made = None;
        self.found = Found::default();
        self.sections.forget();
    }

    /// What is shown beside the request.
    pub fn sides(&self) -> &Sides {
        &self.sides
    }

    pub fn styles(&self) -> Styles {
        self.styles
    }

    /// The number of the selected section.
    pub fn selected(&self) -> usize {
        self.number
    }

    /// The rows of the right pane.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The pane on which keys act: never one that cannot be seen.
    pub(super) fn focus(&self) -> Pane {
        match self.hides_list {
            true => Pane::Detail,
            false => self.pane,
        }
    }

    /// Says something in the line above the keys. The text is escaped here.
    pub fn say(&mut self, text: &str) {
        self.note = Some(one_line(text));
    }

    /// The value that is selected in the tree.
    pub fn value(&self) -> Option<&Row> {
        if self.tab != Tab::Request || self.markdown {
            return None;
        }
        self.values.get(self.lines.value(self.detail.at)?)
    }

    /// Does what an event means. Events come one by one; a frame is drawn after each.
    pub fn handle(&mut self, event: Event, paused: &mut Paused) -> Effect {
        let event = match self.handle_opened(event) {
            Ok(effect) => return effect,
            Err(event) => event,
        };
        if !self.has_room {
            // Nobody sees what another key would do, or what is being typed.
            let closes =
                matches!(&event, Event::Key(input) if keymap::action(input) == Some(Action::Close));
            return match closes && self.entry.is_none() {
                true => Effect::Close,
                false => Effect::None,
            };
        }
        if let Some(entry) = self.entry.take() {
            return self.type_on(entry, event, paused);
        }
        match event {
            Event::Key(input) => {
                if let Some(help) = self.help.take() {
                    self.help = help.after(keymap::action(&input));
                    return Effect::None;
                }
                self.note = None;
                match keymap::action(&input) {
                    Some(action) => self.act(action, paused),
                    None => self.no_meaning(),
                }
            }
            // A paste is no sequence of keys.
            Event::Paste(_) => {
                self.say("Text can be pasted while a value is edited (e).");
                Effect::None
            }
            Event::Press(at) => {
                self.help = None;
                self.press(at);
                Effect::None
            }
            Event::Drag(at) => {
                self.drag(at, paused);
                Effect::None
            }
            Event::Release => Effect::None,
            Event::Wheel { at, down } => {
                let rows = match down {
                    true => WHEEL_ROWS.cast_signed(),
                    false => -WHEEL_ROWS.cast_signed(),
                };
                match self.areas.list.contains(at) {
                    true => self.step_list(rows),
                    false => self.detail.step(rows, self.lines.len()),
                }
                Effect::None
            }
        }
    }

    fn type_on(&mut self, mut entry: Entry, event: Event, paused: &mut Paused) -> Effect {
        let typing = match event {
            Event::Key(input) => entry.input(input),
            Event::Paste(text) => {
                entry.paste(&text);
                Typing::More(Box::new(entry))
            }
            _ => Typing::More(Box::new(entry)),
        };
        match typing {
            Typing::More(entry) => self.entry = Some(*entry),
            Typing::Left => self.say("Nothing is changed."),
            Typing::Done(Purpose::Value(target, old), new) => {
                return self.set(Typed { target, old, new }, paused);
            }
            Typing::Done(Purpose::Option, text) => return self.add_option(&text, paused),
            // It is left with Esc alone.
            Typing::Done(Purpose::Lost, _) => {}
            Typing::Done(Purpose::Find, text) => {
                self.needle = text.to_lowercase();
                self.find(true, paused);
            }
            Typing::Done(Purpose::Filter, text) => {
                if !self.sections.set_filter(&text, paused) {
                    self.say(&format!("No section contains {text:?}."));
                } else if let Some(first) = self.sections.shown().first().copied()
                    && self.sections.position(self.number).is_none()
                {
                    self.select(first);
                }
            }
        }
        Effect::None
    }

    fn no_meaning(&mut self) -> Effect {
        self.say("This key has no meaning here; ? lists the keys.");
        Effect::None
    }

    /// Says why the request cannot be changed.
    pub(super) fn say_why_read_only(&mut self) {
        if let Mode::ReadOnly(why) = &self.mode {
            let why = format!("Nothing can be changed or sent here: {why}.");
            self.say(&why);
        }
    }

    fn act(&mut self, action: Action, paused: &mut Paused) -> Effect {
        let is_of_value = matches!(action, Action::Edit | Action::EditOutside);
        if is_of_value && self.focus() == Pane::Detail && self.tab != Tab::Request {
            self.say("Values are edited in the request tab.");
            return Effect::None;
        }
        if matches!(self.mode, Mode::ReadOnly(_)) && changes(action) {
            if action == Action::Cancel {
                return Effect::Close;
            }
            self.say_why_read_only();
            return Effect::None;
        }
        match action {
            Action::Send => match paused.problem() {
                None => return Effect::Send,
                Some(problem) => {
                    self.sections.reveal(problem.number, paused);
                    self.select(problem.number);
                    self.say(&format!("Not sent: {problem}"));
                }
            },
            Action::Cancel => return Effect::Cancel,
            Action::Close => return self.close(paused),
            Action::Help => self.help = Some(Help::default()),
            Action::Edit => return self.edit(false, paused),
            Action::EditOutside => return self.edit(true, paused),
            Action::Add => self.ask_for_option(""),
            Action::DeleteOrRestore => return self.delete_or_restore(paused),
            Action::Undo => return self.go(true, paused),
            Action::Redo => return self.go(false, paused),
            Action::Reset => return self.change("", paused, EditableRequest::reset),
            Action::NextChat | Action::PreviousChat | Action::Follow | Action::PauseMode => {
                return self.no_meaning();
            }
            Action::Pin => {
                let state = match paused.pin(self.number, true) {
                    true => "pinned at the top; what is sent keeps its order",
                    false => {
                        paused.pin(self.number, false);
                        "unpinned"
                    }
                };
                self.say(&format!("section {} {state}", self.number));
            }
            Action::PinUp | Action::PinDown => {
                let down = action == Action::PinDown;
                if !paused.shift_pin(self.number, down) {
                    self.say("Only a pin can be moved, and only among the pins.");
                }
            }
            Action::Find => {
                let title = "find in all sections".to_owned();
                self.entry = Some(Entry::new(Purpose::Find, title, &self.needle));
            }
            Action::FindNext => self.find(true, paused),
            Action::FindPrevious => self.find(false, paused),
            Action::Filter => {
                let title = "list only the sections that contain".to_owned();
                let filter = self.sections.filter();
                self.entry = Some(Entry::new(Purpose::Filter, title, filter));
            }
            Action::NextEdit => self.next_edit(true, paused),
            Action::PreviousEdit => self.next_edit(false, paused),
            Action::NextTab => self.show(self.tab.after(1)),
            Action::PreviousTab => self.show(self.tab.after(Tab::ALL.len() - 1)),
            Action::Markdown => {
                self.show(Tab::Request);
                self.markdown = !self.markdown;
                self.detail = Cursor::default();
            }
            Action::CopyValue | Action::CopySection | Action::CopyRequest => {
                return self.copy(action, paused.request());
            }
            Action::Open => match (self.focus(), self.tab) {
                (Pane::Sections, _) => self.go_to_detail(paused.request()),
                (Pane::Detail, Tab::Request) => drop(self.toggle_fold(None)),
                (Pane::Detail, Tab::Log) => self.open_logged(),
                (Pane::Detail, _) => {}
            },
            Action::Left => {
                if self.focus() == Pane::Detail && !self.toggle_fold(Some(true)) {
                    self.pane = Pane::Sections;
                    if self.hides_list {
                        self.show(Tab::Request);
                    }
                }
            }
            Action::Right => match self.focus() {
                Pane::Sections => self.go_to_detail(paused.request()),
                Pane::Detail => drop(self.toggle_fold(Some(false))),
            },
            Action::Down => self.step(1),
            Action::Up => self.step(-1),
            Action::PageDown => self.step(self.page()),
            Action::PageUp => self.step(-self.page()),
            Action::First => self.step(isize::MIN),
            Action::Last => self.step(isize::MAX),
        }
        Effect::None
    }

    fn close(&mut self, paused: &Paused) -> Effect {
        if !self.sections.filter().is_empty() {
            self.sections.set_filter("", paused);
            self.say("All sections are listed again.");
            return Effect::None;
        }
        Effect::Close
    }

    pub(super) fn show(&mut self, tab: Tab) {
        if self.tab != tab {
            self.tab = tab;
            self.detail = Cursor::default();
        }
    }

    /// Gives the keys to the right pane, and selects the text that the section is about unless something is selected there.
    fn go_to_detail(&mut self, request: &EditableRequest) {
        self.pane = Pane::Detail;
        if self.tab == Tab::Request
            && self.detail.at == 0
            && let Ok(text) = request.only_text(self.number)
        {
            let mut rows = request.rows(self.number).into_iter();
            self.wanted = rows.position(|row| row.target == text);
        }
    }

    /// Selects a section.
    pub fn select(&mut self, number: usize) {
        if self.number != number {
            self.detail = Cursor::default();
        }
        self.number = number;
        if let Some(at) = self.sections.position(number) {
            self.list.at = at;
        }
    }

    fn step(&mut self, rows: isize) {
        match self.focus() {
            Pane::Sections => self.step_list(rows),
            Pane::Detail => self.detail.step(rows, self.lines.len()),
        }
    }

    /// Moves in the list, and selects the section there.
    pub(super) fn step_list(&mut self, rows: isize) {
        self.list.step(rows, self.sections.shown().len());
        if let Some(number) = self.sections.shown().get(self.list.at) {
            self.select(*number);
        }
    }

    fn page(&self) -> isize {
        let rows = match self.focus() {
            Pane::Sections => self.areas.list.height,
            Pane::Detail => self.areas.detail.height,
        };
        isize::from(i16::try_from(rows.saturating_sub(1)).unwrap_or(1).max(1))
    }

    /// Folds or unfolds the selected value, or whichever it is not. Whether anything changed.
    pub(super) fn toggle_fold(&mut self, fold: Option<bool>) -> bool {
        let Some(row) = self.value() else {
            return false;
        };
        let can_fold = match &row.value {
            RowValue::Object(count) | RowValue::Array(count) => *count > 0,
            RowValue::Leaf(leaf) => leaf.holds_json || self.is_long(),
        };
        let target = row.target.clone();
        let is_folded = self.folded.contains(&target);
        let fold = fold.unwrap_or(!is_folded);
        if self.focus() != Pane::Detail || !can_fold || fold == is_folded {
            return false;
        }
        match fold {
            true => drop(self.folded.insert(target.clone())),
            false => drop(self.folded.remove(&target)),
        }
        self.folds += 1;
        // The rows of the value go or come: stay at its first one.
        let value = self.lines.value(self.detail.at);
        let first = value.and_then(|value| self.lines.of_value(value).next());
        self.detail.at = first.unwrap_or_default();
        true
    }

    /// Whether the selected value takes several rows, or would if it were not folded.
    fn is_long(&self) -> bool {
        let Some(value) = self.lines.value(self.detail.at) else {
            return false;
        };
        let row = self.values.get(value);
        let is_folded = row.is_some_and(|row| self.folded.contains(&row.target));
        is_folded || self.lines.of_value(value).nth(1).is_some()
    }
}

/// Whether an action changes the request or ends the pause.
pub fn changes(action: Action) -> bool {
    matches!(
        action,
        Action::Send
            | Action::Cancel
            | Action::Edit
            | Action::EditOutside
            | Action::Add
            | Action::DeleteOrRestore
            | Action::Undo
            | Action::Redo
            | Action::Reset
    )
}
