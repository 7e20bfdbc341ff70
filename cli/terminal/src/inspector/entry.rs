//! The text area in which a value, or a text to find, is typed.

use dunlin_chat::request::editor::Target;
use ratatui_textarea::{CursorMove, Input, Key, TextArea, WrapMode};

/// What is typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    /// The new value of a leaf; the second is the text that it has now.
    Value(Target, String),
    /// The name of a new option and its value.
    Option,
    Find,
    /// A text that listed sections contain.
    Filter,
    /// Nothing: the text is shown, and cannot be saved.
    Lost,
}

/// A text that is being typed.
#[derive(Debug)]
pub struct Entry {
    purpose: Purpose,
    area: TextArea<'static>,
    title: String,
}

/// What became of it after a key.
#[derive(Debug)]
pub enum Typing {
    /// It is still being typed.
    More(Box<Entry>),
    Done(Purpose, String),
    Left,
}

impl Entry {
    /// Begins with this text. The title is escaped.
    pub fn new(purpose: Purpose, title: String, text: &str) -> Entry {
        let mut area = TextArea::from(text.split('\n'));
        area.set_wrap_mode(WrapMode::WordOrGlyph);
        area.set_cursor_line_style(ratatui::style::Style::default());
        match purpose {
            // What is typed replaces what was searched last.
            Purpose::Find | Purpose::Filter => area.select_all(),
            Purpose::Value(..) | Purpose::Option | Purpose::Lost => {
                area.move_cursor(CursorMove::Bottom);
                area.move_cursor(CursorMove::End);
            }
        }
        Entry {
            purpose,
            area,
            title,
        }
    }

    /// Whether a value is typed, and not a text to find.
    pub fn is_value(&self) -> bool {
        matches!(self.purpose, Purpose::Value(..) | Purpose::Option)
    }

    /// What is typed, for people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The keys that end it. `can_save`: whether a value can be taken over.
    pub fn keys(&self, can_save: bool) -> &'static str {
        match (&self.purpose, self.is_long()) {
            (Purpose::Value(..) | Purpose::Option, _) if !can_save => "Esc discards",
            (Purpose::Lost, _) => "Esc discards",
            (Purpose::Value(..), true) => "Ctrl-S saves · Esc discards",
            (Purpose::Value(..), false) => "Enter saves · Esc discards · Alt-Enter new line",
            (Purpose::Option, _) => "Enter adds it · Esc discards",
            (Purpose::Find | Purpose::Filter, _) => "Enter · Esc",
        }
    }

    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    /// Whether it has several lines, so that Enter begins a new one.
    pub fn is_long(&self) -> bool {
        self.area.lines().len() > 1
    }

    /// Takes a key.
    pub fn input(mut self, input: Input) -> Typing {
        let is_value = matches!(self.purpose, Purpose::Value(..));
        match input {
            Input { key: Key::Esc, .. }
            | Input {
                key: Key::Char('c'),
                ctrl: true,
                ..
            } => return Typing::Left,
            Input {
                key: Key::Char('s'),
                ctrl: true,
                ..
            } if self.purpose != Purpose::Lost => return self.done(),
            // As at the prompt; the text area would undo.
            Input {
                key: Key::Char('u'),
                ctrl: true,
                ..
            } => drop(self.area.delete_line_by_head()),
            Input {
                key: Key::Enter,
                alt: true,
                ..
            } if is_value => self.area.insert_newline(),
            Input {
                key: Key::Enter, ..
            } if self.purpose == Purpose::Lost => self.area.insert_newline(),
            Input {
                key: Key::Enter, ..
            } if !is_value || !self.is_long() => return self.done(),
            input => drop(self.area.input(input)),
        }
        Typing::More(Box::new(self))
    }

    /// Takes a text that was pasted. Line ends of a terminal's paste are carriage returns.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match self.purpose {
            Purpose::Value(..) | Purpose::Lost => drop(self.area.insert_str(text)),
            Purpose::Option | Purpose::Find | Purpose::Filter => {
                self.area.insert_str(text.replace('\n', " "));
            }
        }
    }

    fn done(self) -> Typing {
        let text = self.area.lines().join("\n");
        Typing::Done(self.purpose, text)
    }
}
