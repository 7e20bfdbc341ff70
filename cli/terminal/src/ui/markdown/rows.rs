//! Lays text out in rows: words move to the next row as a whole, rows hang behind their margin, nothing trails.
//!
//! Only what cannot change any more is written, and nothing that was written is touched again: the cursor never moves
//! back, so scrollback and copying work as with any other output. A row is ended by whatever begins the next one.

use dunlin_host::display::{usual_width, usual_width_of_char};

use super::links::{self, Links};
use super::look::Look;
use crate::ui::style::Styles;

/// The narrowest window that rows are laid out for, in columns.
const MIN_COLUMNS: usize = 12;

/// With so many columns left in a row a word is shown before it is whole: hardly any is longer. One that is runs on over
/// the edge.
const ROOM_FOR_WORD: usize = 24;

/// A piece of text in one look.
pub type Bit = (String, Look);

/// The bar before each row of a quotation.
pub const BAR: &str = "│ ";

/// Where the cursor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Cursor {
    /// At the start of a row that is empty.
    #[default]
    Fresh,
    /// Behind the margin, or behind text of the row.
    Open,
    /// At the end of a row that is over.
    Ended,
}

/// The rows of one reply.
#[derive(Debug)]
pub struct Rows {
    styles: Styles,
    links: Links,
    columns: usize,
    out: String,
    cursor: Cursor,
    /// Columns that are taken in the present row.
    column: usize,
    /// Whether the row has nothing but its margin.
    is_bare: bool,
    /// Whether there is any row.
    started: bool,
    /// Whether an empty row has to come before the next one.
    blank_due: bool,
    /// What stands before the next row, and before those after it.
    first: Vec<Bit>,
    rest: Vec<Bit>,
    /// What stood before the last row.
    before: Vec<Bit>,
    /// Spaces that are written only if a word follows on the row.
    spaces: usize,
    spaces_look: Look,
    /// The word that is being written.
    word: Vec<Bit>,
    word_columns: usize,
    last: char,
    /// Whether the beginning of the word is written already, because it is longer than a row.
    is_glued: bool,
}

impl Rows {
    /// No rows yet. `links` has the addresses of the links in them.
    pub fn new(styles: Styles, links: Links) -> Rows {
        Rows {
            styles,
            links,
            columns: 80,
            out: String::new(),
            cursor: Cursor::Fresh,
            column: 0,
            is_bare: true,
            started: false,
            blank_due: false,
            first: Vec::new(),
            rest: Vec::new(),
            before: Vec::new(),
            spaces: 0,
            spaces_look: Look::TEXT,
            word: Vec::new(),
            word_columns: 0,
            last: ' ',
            is_glued: false,
        }
    }

    /// Sets how wide the window is. Rows that were begun keep what they have.
    pub fn resize(&mut self, columns: usize) {
        self.columns = columns.max(MIN_COLUMNS);
    }

    /// How many columns there are for text behind the margin. The last one stays free: writing into it wraps on
    /// some terminals.
    pub fn room(&self) -> usize {
        let margin = width(&self.rest);
        (self.columns - 1).saturating_sub(margin).max(MIN_COLUMNS)
    }

    /// Sets what stands before the rows from the next one on.
    pub fn set_margin(&mut self, first: Vec<Bit>, rest: Vec<Bit>) {
        self.first = first;
        self.rest = rest;
    }

    /// Takes what is ready to be written.
    pub fn take(&mut self) -> String {
        if !self.word.is_empty() && (self.is_glued || self.stays_in_row()) {
            self.end_word();
            self.is_glued = true;
        }
        std::mem::take(&mut self.out)
    }

    /// Somebody else has ended the row and written below it: what follows begins a row of its own.
    pub fn interrupted(&mut self) {
        self.cursor = Cursor::Fresh;
        self.is_glued = false;
    }

    /// Adds running text. Control characters count as spaces.
    pub fn text(&mut self, text: &str, look: Look) {
        for c in text.chars() {
            if c == ' ' || c.is_control() {
                self.end_word();
                self.is_glued = false;
                self.spaces += 1;
                self.spaces_look = look;
                self.last = ' ';
                continue;
            }
            if self.last != ' ' && may_break(self.last, c) {
                self.end_word();
                self.is_glued = false;
            }
            self.last = c;
            match self.word.last_mut() {
                Some((word, same)) if *same == look => word.push(c),
                _ => self.word.push((c.into(), look)),
            }
            self.word_columns += usual_width_of_char(c);
            // Longer than any row: it runs on over the edge of the window, so that it can be copied whole.
            if self.word_columns > self.columns {
                self.end_word();
                self.is_glued = true;
            }
        }
    }

    /// Ends the row; without any text only its margin is shown.
    pub fn end_row(&mut self) {
        self.end_word();
        self.is_glued = false;
        self.spaces = 0;
        self.last = ' ';
        if self.cursor == Cursor::Open {
            self.cursor = Cursor::Ended;
        }
    }

    /// Shows the margin alone, if the next row would have one of its own, such as the mark of an empty item.
    pub fn end_mark(&mut self) {
        self.end_row();
        if !self.first.is_empty() && self.first != self.rest {
            self.begin_row(true);
            self.cursor = Cursor::Ended;
        }
    }

    /// Puts one empty row before the next one, unless that is the first.
    pub fn blank_row(&mut self) {
        self.end_row();
        self.blank_due = true;
    }

    /// A row that is not wrapped, behind nothing but the bars of quotations.
    pub fn verbatim(&mut self, bits: &[Bit]) {
        self.end_mark();
        self.first.clone_from(&self.rest);
        self.first.retain(|(text, _)| text == BAR);
        self.begin_row(width(bits) == 0);
        self.more_verbatim(bits);
        self.first.clone_from(&self.rest);
    }

    /// More of that row.
    pub fn more_verbatim(&mut self, bits: &[Bit]) {
        for (text, look) in bits {
            self.paint(text, *look);
        }
        self.cursor = Cursor::Ended;
    }

    /// A row that is laid out already, behind the margin.
    pub fn laid_out(&mut self, bits: &[Bit]) {
        self.end_row();
        self.begin_row(bits.is_empty());
        self.more_verbatim(bits);
    }

    /// How many bytes are held.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.word.iter().map(|(text, _)| text.len()).sum()
    }

    fn begin_row(&mut self, is_empty: bool) {
        if self.cursor != Cursor::Fresh {
            self.out.push('\n');
        }
        if std::mem::take(&mut self.blank_due) && self.started {
            let both = self.before.iter().zip(&self.first);
            let shared = both.take_while(|(before, next)| before.0 == BAR && next.0 == BAR);
            let bars = shared.count();
            self.margin(bars, true);
            self.out.push('\n');
        }
        self.started = true;
        self.column = width(&self.first);
        if self.column > self.columns / 2 {
            // A margin that leaves no room: text in a narrow window is worth more.
            self.first.retain(|(text, _)| !text.trim().is_empty());
            self.column = width(&self.first);
        }
        self.margin(self.first.len(), is_empty);
        self.before = std::mem::replace(&mut self.first, self.rest.clone());
        self.cursor = Cursor::Open;
        self.is_bare = true;
        self.spaces = 0;
    }

    /// Writes text in its look, as a link where it is one.
    fn paint(&mut self, text: &str, look: Look) {
        let open = self.links.open(look.link());
        if let Some(open) = &open {
            self.out.push_str(open);
        }
        look.leading_to(0).paint(self.styles, text, &mut self.out);
        if open.is_some() {
            self.out.push_str(links::CLOSE);
        }
    }

    /// Writes the first bits of the margin.
    fn margin(&mut self, bits: usize, is_alone: bool) {
        for index in 0..bits {
            let Some((text, look)) = self.first.get(index) else {
                continue;
            };
            let is_last = is_alone && index + 1 == bits;
            let text = if is_last { text.trim_end() } else { text };
            look.paint(self.styles, text, &mut self.out);
        }
    }

    /// Whether a word that begins now stays in the row that it begins in, however long it gets.
    fn stays_in_row(&self) -> bool {
        self.cursor != Cursor::Open
            || self.is_bare
            || self.column + self.spaces + ROOM_FOR_WORD < self.columns
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let columns = std::mem::take(&mut self.word_columns);
        if self.cursor != Cursor::Open {
            self.begin_row(false);
        } else if !self.is_glued && !self.is_bare {
            if self.stays_in_row() || self.column + self.spaces + columns < self.columns {
                let spaces = " ".repeat(self.spaces);
                self.column += self.spaces;
                match self.word.first_mut() {
                    // One look for both: the line under a heading has no gaps.
                    Some((word, look)) if *look == self.spaces_look => word.insert_str(0, &spaces),
                    _ => self.out.push_str(&spaces),
                }
            } else {
                self.begin_row(false);
            }
        }
        for (text, look) in std::mem::take(&mut self.word) {
            self.paint(&text, look);
        }
        self.column += columns;
        if self.column >= self.columns {
            self.column %= self.columns;
        }
        self.spaces = 0;
        self.is_bare = false;
    }
}

/// Columns that bits take.
pub fn width(bits: &[Bit]) -> usize {
    bits.iter().map(|(text, _)| usual_width(text)).sum()
}

/// Whether a row may end between two characters without a space: beside those of scripts without spaces. Closing
/// marks stay behind what they close, opening marks before what they open, and nothing is taken from a picture that is
/// made of several characters.
pub fn may_break(before: char, after: char) -> bool {
    const JOINER: char = '\u{200d}';
    let is_wide = |c: char| usual_width_of_char(c) == 2;
    let is_modifier = |c: char| matches!(c, '\u{1f3fb}'..='\u{1f3ff}');
    let closes = |c: char| {
        "、。，．・：；？！）］｝〕〉》」』】〙〗”’…ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ.,:;?!)]}%".contains(c)
    };
    let opens = |c: char| "（［｛〔〈《「『【〘〖“‘([{".contains(c);
    (is_wide(before) || is_wide(after))
        && usual_width_of_char(after) > 0
        && before != JOINER
        && !is_modifier(after)
        && !closes(after)
        && !opens(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a text, however it is cut into pieces.
    #[track_caller]
    fn check(columns: usize, text: &str, expected: &[&str]) {
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let mut rows = Rows::new(Styles::plain(), Links::default());
            rows.resize(columns);
            rows.set_margin(
                vec![("* ".to_owned(), Look::TEXT)],
                vec![("  ".to_owned(), Look::TEXT)],
            );
            let (left, right) = text.split_at(cut);
            rows.text(left, Look::TEXT);
            rows.text(right, Look::TEXT);
            rows.end_row();
            let out = rows.take();
            assert_eq!(out.lines().collect::<Vec<_>>(), expected, "cut at {cut}");
        }
    }

    #[test]
    fn rows_hang_behind_their_margin() {
        check(
            20,
            "one two three four five six",
            &["* one two three", "  four five six"],
        );
        check(20, "", &[]);
        check(20, "  a   b  ", &["* a   b"]);
        check(20, "a 0123456789012345", &["* a", "  0123456789012345"]);
    }

    #[test]
    fn what_is_longer_than_a_row_runs_on() {
        let word = "0123456789".repeat(5);
        check(20, &format!("a {word} b"), &["* a", &format!("  {word} b")]);
    }

    #[test]
    fn scripts_without_spaces_break_anywhere_but_before_closing_marks() {
        check(
            20,
            "日本語の文章は空白なしで書かれる。",
            &["* 日本語の文章は空", "  白なしで書かれ", "  る。"],
        );
        check(16, "日本語の文章、は", &["* 日本語の文", "  章、は"]);
        check(
            14,
            "a 👨\u{200d}👩\u{200d}👧👍🏽👍🏽",
            &["* a 👨\u{200d}👩\u{200d}👧", "  👍🏽👍🏽"],
        );
    }
}
