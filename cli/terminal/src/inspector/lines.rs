//! The rows of the right pane, of which only those on the screen are ever made.
//!
//! A value may be a text of many megabytes: it is held once, escaped, and a row of it is only a place in it.

use dunlin_host::display::{escape_multiline, width_of_char};
use ratatui::style::Style;

use super::payload::Payload;
use crate::ui::style::Label;
use crate::ui::wrap;

/// A row. Its text is escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The value that the row belongs to, by its index; `None`: no value.
    pub value: Option<usize>,
    /// Pieces of text and their looks.
    pub pieces: Vec<(Look, String)>,
}

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Like any text.
    Plain,
    /// Like everything with this label.
    Label(Label),
    /// As Markdown says.
    Markdown(Style),
}

impl Line {
    /// A row that belongs to no value.
    pub fn new(look: Look, text: impl Into<String>) -> Line {
        Line {
            value: None,
            pieces: vec![(look, text.into())],
        }
    }

    pub fn text(&self) -> String {
        let texts = self.pieces.iter().map(|(_, text)| text.as_str());
        texts.collect()
    }
}

/// Rows in their order.
#[derive(Debug, Default)]
pub struct Lines {
    rows: Vec<Row>,
    /// Those that are not only a place in the text.
    made: Vec<Line>,
    text: String,
    /// The rows of a document below all others.
    payload: Option<Payload>,
}

/// One row, in a few bytes: there may be very many.
#[derive(Debug, Clone, Copy)]
enum Row {
    /// Its index among those that are made.
    Made(u32),
    /// A place in the text, and the value that it belongs to.
    Cut {
        start: u32,
        end: u32,
        /// The value, and how far in the bar before it stands; `None`: there is neither.
        of: Option<(u32, u8)>,
    },
}

impl Lines {
    /// Appends a row.
    pub fn push(&mut self, line: Line) {
        self.rows.push(Row::Made(number(self.made.len())));
        self.made.push(line);
    }

    /// Appends the rows of a text. `of`: the value that it belongs to, and how far in the bar before it stands.
    pub fn push_text(&mut self, text: String, of: Option<(usize, usize)>, columns: usize) {
        let mut start = self.text.len();
        let text = harmless(text);
        if start == 0 {
            self.text = text;
        } else {
            self.text.reserve_exact(text.len());
            self.text.push_str(&text);
        }
        let margin = |margin| u8::try_from(margin).unwrap_or(u8::MAX);
        let of = of.map(|(value, bar)| (number(value), margin(bar)));
        for line in self.text.get(start..).unwrap_or_default().split('\n') {
            let places = wrap::places(line, columns, width_of_char).into_iter();
            self.rows.extend(places.map(|place| Row::Cut {
                start: number(start + place.start),
                end: number(start + place.end),
                of,
            }));
            start += line.len() + 1;
        }
        self.rows.shrink_to_fit();
    }

    /// Shows the rows of a document below all others.
    pub fn end_with(&mut self, payload: Payload) {
        self.payload = Some(payload);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len() + self.payload.as_ref().map_or(0, Payload::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value that a row belongs to.
    pub fn value(&self, at: usize) -> Option<usize> {
        match self.rows.get(at)? {
            Row::Made(index) => self.made.get(*index as usize)?.value,
            Row::Cut { of, .. } => of.map(|(value, _)| value as usize),
        }
    }

    /// A row.
    pub fn get(&self, at: usize) -> Option<Line> {
        if let Some(at) = at.checked_sub(self.rows.len()) {
            let text = self.payload.as_ref()?.get(at)?;
            return Some(Line::new(Look::Plain, text));
        }
        match self.rows.get(at)? {
            Row::Made(index) => self.made.get(*index as usize).cloned(),
            Row::Cut { start, end, of } => {
                let text = self.text.get(*start as usize..*end as usize)?.to_owned();
                let bar = of.map(|(_, margin)| format!("{:1$}│ ", "", usize::from(margin)));
                let bar = bar.map(|bar| (Look::Label(Label::Quiet), bar)).into_iter();
                Some(Line {
                    value: of.map(|(value, _)| value as usize),
                    pieces: bar.chain([(Look::Plain, text)]).collect(),
                })
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Line> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// The rows of a value.
    pub fn of_value(&self, value: usize) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |at| self.value(*at) == Some(value))
    }
}

impl FromIterator<Line> for Lines {
    fn from_iter<I: IntoIterator<Item = Line>>(lines: I) -> Lines {
        let mut all = Lines::default();
        lines.into_iter().for_each(|line| all.push(line));
        all
    }
}

/// A text of several lines as it can be shown.
fn harmless(text: String) -> String {
    let escaped = match escape_multiline(&text) {
        std::borrow::Cow::Borrowed(_) => None,
        std::borrow::Cow::Owned(escaped) => Some(escaped),
    };
    let mut text = escaped.unwrap_or(text);
    if text.contains('\t') {
        text = text.replace('\t', "    ");
    }
    text.shrink_to_fit();
    text
}

/// No request comes near four gigabytes.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_a_place_in_the_text() {
        assert!(size_of::<Row>() <= 20);
        let mut lines = Lines::default();
        lines.push(Line::new(Look::Plain, "a row"));
        lines.push_text("one two\n\nthr\u{1b}ee".to_owned(), Some((3, 2)), 8);
        lines.push_text("\tfour".to_owned(), Some((5, 0)), 8);
        let rows: Vec<String> = lines.iter().map(|line| line.text()).collect();
        let expected = [
            "a row",
            "  │ one two",
            "  │ ",
            "  │ thr\\u{1b",
            "  │ }ee",
            "│     four",
        ];
        assert_eq!(rows, expected);
        assert_eq!(lines.value(0), None);
        assert_eq!(lines.of_value(3).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(lines.value(5), Some(5));
        let mut lines = Lines::default();
        lines.push_text("{\n  \"a\": 1\n}".to_owned(), None, 40);
        let rows: Vec<String> = lines.iter().map(|line| line.text()).collect();
        assert_eq!(rows, ["{", "  \"a\": 1", "}"]);
    }
}
