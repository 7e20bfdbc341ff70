//! Markdown as it streams.
//!
//! What a model writes is shown while it is written, and nothing that is shown changes afterwards: no row is drawn again,
//! the cursor never moves back. So scrollback stays, a block of code can be copied as it is, and changing the window in
//! the middle of a reply does no harm.
//!
//! - [`line`] decides what a line begins with, as soon as that is certain.
//! - `inline` reads what stands within it; an open mark is held until it is closed or the line ends.
//! - [`rows`] lays words out; code is not wrapped and has neither bars nor margins.
//! - `table` waits for the whole table; that is the only thing that is held for longer than a line.
//!
//! The text must have been through [`Filter`], and what comes out goes through
//! `Guard`: here nothing is made safe but what becomes other characters by being read.
//!
//! Where looks cannot be shown the marks stay, and the layout is the same.

mod code;
mod inline;
mod line;
mod links;
mod look;
mod rows;
mod table;

use self::code::Palette;
use self::inline::Inline;
use self::line::{CodeLine, Container, Kind, MAX_HEAD_BYTES};
use self::links::Links;
use self::look::Look;
use self::rows::{BAR, Bit, Rows};
use self::table::{Layout, is_delimiter};
use crate::ui::guard::Guard;
use crate::ui::stream::Filter;
use crate::ui::style::Styles;

/// The longest line that is held until it ends, in bytes: a heading, a row of a table, a line of code. The rest
/// of a longer one is shown as it comes.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// How much of a table is held, in lines and in bytes. Then its columns are settled, and what follows is shown
/// row by row.
const MAX_TABLE_LINES: usize = 300;
const MAX_TABLE_BYTES: usize = 64 * 1024;

/// The longest line across, in columns.
const MAX_RULE_COLUMNS: usize = 60;

/// Renders one reply.
#[derive(Debug)]
pub struct Markdown {
    rows: Rows,
    shows_marks: bool,
    /// What is known of the present line.
    line: Line,
    is_empty_line: bool,
    /// The beginning of the line, or all of it so far, where it is held.
    head: String,
    within: Vec<Container>,
    block: Block,
    inline: Inline,
    links: Links,
    palette: Palette,
}

/// What is known of the present line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Unknown,
    /// Running text that is passed on.
    Text,
    /// Something that is held until the line ends.
    Held(Held),
    /// Text that is shown as it is, because the line was too long to be held.
    Raw,
    /// The same from the beginning to the end, but wrapped.
    Plain,
}

/// What is held until the line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    Heading(usize),
    Fence(char, usize, usize),
    Row,
    Code,
}

/// What the lines before belong to, as far as it matters to the next one.
#[derive(Debug)]
enum Block {
    None,
    Text,
    /// Code: the mark that closes it, how often it must stand there, and the column of the fence.
    Code(char, usize, usize),
    /// The beginning of a table, or of what looks like one.
    Table(Vec<String>),
    /// A long table whose columns are settled.
    Settled(Layout),
}

impl Markdown {
    /// Before the first character.
    pub fn new(styles: Styles) -> Markdown {
        let shows_marks = !styles.is_coloured();
        let links = Links::new(styles.shows_links());
        Markdown {
            rows: Rows::new(styles, links.clone()),
            shows_marks,
            line: Line::Unknown,
            is_empty_line: true,
            head: String::new(),
            within: Vec::new(),
            block: Block::None,
            inline: Inline::new(shows_marks, links.clone()),
            links,
            palette: Palette::default(),
        }
    }

    /// Text that has no marks, such as what a model thinks: it is only wrapped.
    pub fn without_marks(styles: Styles) -> Markdown {
        Markdown {
            line: Line::Plain,
            ..Markdown::new(styles)
        }
    }

    /// What is to be printed after the next piece, in a window of this width. It ends in the middle of a row.
    pub fn piece(&mut self, piece: &str, columns: usize) -> String {
        self.rows.resize(columns);
        for c in piece.chars() {
            self.next(c);
        }
        self.rows.take()
    }

    /// What was held. Open marks are text then.
    pub fn end(&mut self, columns: usize) -> String {
        self.rows.resize(columns);
        if self.line != Line::Unknown || !self.head.is_empty() {
            self.end_line();
        }
        self.end_table();
        self.rows.end_mark();
        self.rows.take()
    }

    /// Whether a table is held that is not whole.
    pub fn holds_table(&self) -> bool {
        matches!(&self.block, Block::Table(lines) if lines.len() > 1)
    }

    /// Somebody else has ended the row and printed below it.
    pub fn interrupted(&mut self) {
        self.rows.interrupted();
    }

    fn next(&mut self, c: char) {
        if c == '\n' {
            return self.end_line();
        }
        self.is_empty_line = false;
        match self.line {
            Line::Unknown => {
                self.head.push(c);
                self.begin(false);
            }
            Line::Text => self.inline.push(c, &mut self.rows),
            Line::Held(held) => {
                self.head.push(c);
                if self.head.len() > MAX_LINE_BYTES {
                    self.let_go(held);
                }
            }
            Line::Raw => self.raw(c.encode_utf8(&mut [0; 4])),
            Line::Plain => self.rows.text(c.encode_utf8(&mut [0; 4]), Look::QUIET),
        }
    }

    fn end_line(&mut self) {
        let is_empty = std::mem::replace(&mut self.is_empty_line, true);
        if self.line == Line::Plain {
            return if is_empty {
                self.rows.blank_row()
            } else {
                self.rows.end_row()
            };
        }
        if self.line == Line::Unknown {
            self.begin(true);
        }
        match std::mem::replace(&mut self.line, Line::Unknown) {
            Line::Unknown => {}
            Line::Text => {
                self.inline.end(&mut self.rows);
                self.rows.end_row();
            }
            Line::Held(held) => {
                let text = std::mem::take(&mut self.head);
                self.held(held, &text);
            }
            Line::Raw | Line::Plain => self.rows.end_row(),
        }
        self.head.clear();
    }

    /// Begins a line, if it is certain what it is.
    fn begin(&mut self, is_whole: bool) {
        if let Block::Code(mark, count, column) = self.block {
            let fence = (mark, count, column);
            let quotes = self
                .within
                .iter()
                .filter(|container| **container == Container::Quote);
            let read = line::code(&self.head, is_whole, quotes.count(), fence);
            let gave_up = (self.head.len() > MAX_HEAD_BYTES).then_some(CodeLine::Code(0));
            match read.or(gave_up) {
                None => return,
                Some(CodeLine::Code(at)) => {
                    self.head.drain(..at);
                    self.line = Line::Held(Held::Code);
                    return;
                }
                Some(CodeLine::Closed) => {
                    if self.shows_marks {
                        let fence = String::from_iter(std::iter::repeat_n(mark, count));
                        self.rows.verbatim(&[(fence, Look::QUIET)]);
                    } else {
                        self.rows.blank_row();
                    }
                    self.block = Block::None;
                    return;
                }
                Some(CodeLine::Left) => self.block = Block::None,
            }
        }
        let in_text = matches!(self.block, Block::Text);
        let mut read = line::start(&self.head, is_whole, &self.within, in_text);
        if read.is_none() && self.head.len() > MAX_HEAD_BYTES {
            read = Some(line::give_up(&self.within));
        }
        if let Some(start) = read {
            self.start(start);
        }
    }

    fn start(&mut self, mut start: line::Start) {
        let is_row =
            start.kind == Kind::Row && start.kept == self.within.len() && start.opened.is_empty();
        if !is_row {
            self.end_table();
        }
        if start.kind == Kind::Blank && start.opened.is_empty() {
            self.rows.end_mark();
            self.rows.blank_row();
            self.block = Block::None;
            return;
        }
        let is_text = matches!(start.kind, Kind::Text(_));
        if is_text && start.opened.is_empty() && matches!(self.block, Block::Text) {
            // Text that goes on need not be indented again.
            start.kept = self.within.len();
        }
        if start.kept < self.within.len() || !start.opened.is_empty() {
            self.rows.end_mark();
            self.within.truncate(start.kept);
            let rest = self.margin();
            self.within.append(&mut start.opened);
            let mut first = rest;
            first.extend(self.within.iter().skip(start.kept).map(mark));
            self.rows.set_margin(first, self.margin());
        }
        if start.kind != Kind::Row {
            self.block = Block::None;
        }
        let head = std::mem::take(&mut self.head);
        let rest = head.get(start.at..).unwrap_or_default();
        match start.kind {
            Kind::Blank => self.line = Line::Unknown,
            Kind::Text(indent) => {
                // Four columns are code only where nothing else is meant by them.
                let is_code = rest.starts_with([' ', '\t']);
                self.block = if is_code { Block::None } else { Block::Text };
                self.inline.begin(Look::TEXT);
                if is_code && indent >= 4 {
                    let code = if self.shows_marks {
                        rest
                    } else {
                        line::unindented(rest)
                    };
                    self.head = code.to_owned();
                    self.line = Line::Held(Held::Code);
                    return;
                }
                self.line = Line::Text;
                for c in rest.chars() {
                    self.inline.push(c, &mut self.rows);
                }
            }
            Kind::Rule => {
                let columns = self.rows.room().min(MAX_RULE_COLUMNS);
                self.rows.laid_out(&[("─".repeat(columns), Look::QUIET)]);
                self.line = Line::Unknown;
            }
            Kind::Heading(level) => self.hold(Held::Heading(level), rest),
            Kind::Fence(mark, count, column) => self.hold(Held::Fence(mark, count, column), rest),
            Kind::Row => self.hold(Held::Row, rest),
        }
    }

    fn hold(&mut self, held: Held, rest: &str) {
        self.head = rest.to_owned();
        self.line = Line::Held(held);
    }

    /// What stands before each row.
    fn margin(&self) -> Vec<Bit> {
        let bit = |container: &Container| match container {
            Container::Quote => (BAR.to_owned(), Look::QUIET),
            Container::Item { shown, .. } => (" ".repeat(shown.chars().count()), Look::TEXT),
        };
        self.within.iter().map(bit).collect()
    }

    /// A line that was held is over.
    fn held(&mut self, held: Held, text: &str) {
        match held {
            Held::Heading(level) => self.heading(level, text),
            Held::Fence(mark, count, column) => self.fence((mark, count, column), text),
            Held::Code => {
                let is_fenced = matches!(self.block, Block::Code(..));
                let colours = self.palette.present().filter(|_| is_fenced);
                let bits = match colours {
                    Some(colours) => colours.line(text),
                    None => vec![(text.to_owned(), Look::CODE)],
                };
                self.rows.verbatim(&bits);
            }
            Held::Row => self.row(text),
        }
    }

    /// A line is too long to be held: it is shown as text from here on.
    fn let_go(&mut self, held: Held) {
        let text = std::mem::take(&mut self.head);
        match held {
            Held::Code => {
                self.rows.verbatim(&[(text, Look::TEXT)]);
                self.line = Line::Raw;
            }
            Held::Row | Held::Heading(_) | Held::Fence(..) => {
                self.end_table();
                self.block = Block::Text;
                self.rows.text(&text, Look::TEXT);
                self.line = Line::Text;
                self.inline.begin(Look::TEXT);
            }
        }
    }

    fn raw(&mut self, text: &str) {
        self.rows.more_verbatim(&[(text.to_owned(), Look::TEXT)]);
    }

    fn heading(&mut self, level: usize, text: &str) {
        let closed = text.trim_end().trim_end_matches('#');
        // Marks at the end belong to the heading only behind a space.
        let text = if closed.is_empty() || closed.ends_with([' ', '\t']) {
            closed
        } else {
            text
        };
        let text = text.trim();
        if !self
            .within
            .iter()
            .any(|container| *container != Container::Quote)
        {
            self.rows.blank_row();
        }
        let look = if level == 1 {
            Look::TITLE
        } else {
            Look::STRONG
        };
        if self.shows_marks {
            self.rows.text(&format!("{} ", "#".repeat(level)), look);
        }
        for (text, over) in inline::whole(text, self.shows_marks, &self.links) {
            inline::put(&mut self.rows, &text, look.with(over));
        }
        self.rows.end_row();
    }

    fn fence(&mut self, fence: (char, usize, usize), info: &str) {
        let (mark, count, column) = fence;
        let marks = String::from_iter(std::iter::repeat_n(mark, count));
        if mark == '`' && info.contains('`') {
            // Code within text that begins with three marks.
            self.block = Block::Text;
            for (text, look) in inline::whole(&(marks + info), self.shows_marks, &self.links) {
                inline::put(&mut self.rows, &text, look);
            }
            return self.rows.end_row();
        }
        let info = info.trim();
        let language = info.split([' ', ',', '{']).next().unwrap_or_default();
        // Without colours there is nothing to find out.
        self.palette
            .choose(if self.shows_marks { "" } else { language });
        self.rows.end_mark();
        if self.shows_marks {
            self.rows.verbatim(&[(marks + info, Look::QUIET)]);
        } else {
            self.rows.blank_row();
        }
        self.block = Block::Code(mark, count, column);
    }

    fn row(&mut self, text: &str) {
        match std::mem::replace(&mut self.block, Block::None) {
            Block::Table(mut lines) => {
                lines.push(text.to_owned());
                let bytes: usize = lines.iter().map(String::len).sum();
                let is_table = lines.get(1).is_some_and(|line| is_delimiter(line));
                if !is_table {
                    // The last line may still be the head of one.
                    lines.pop();
                    self.text_lines(&lines);
                    lines = vec![text.to_owned()];
                }
                if is_table && (lines.len() >= MAX_TABLE_LINES || bytes > MAX_TABLE_BYTES) {
                    let layout = self.table(&lines);
                    self.block = Block::Settled(layout);
                } else {
                    self.block = Block::Table(lines);
                }
            }
            Block::Settled(layout) => {
                let rows = layout.line(text);
                self.table_rows(&layout, rows);
                self.block = Block::Settled(layout);
            }
            _ => self.block = Block::Table(vec![text.to_owned()]),
        }
    }

    /// Shows what was held of a table.
    fn end_table(&mut self) {
        match std::mem::replace(&mut self.block, Block::None) {
            Block::Table(lines) if lines.get(1).is_some_and(|line| is_delimiter(line)) => {
                self.table(&lines);
                self.rows.blank_row();
            }
            Block::Table(lines) => self.text_lines(&lines),
            Block::Settled(_) => self.rows.blank_row(),
            other => self.block = other,
        }
    }

    fn table(&mut self, lines: &[String]) -> Layout {
        let (layout, rows) = Layout::of(lines, self.rows.room(), self.shows_marks, &self.links);
        self.rows.end_mark();
        self.rows.blank_row();
        self.table_rows(&layout, rows);
        layout
    }

    fn table_rows(&mut self, layout: &Layout, rows: Vec<Vec<Bit>>) {
        for row in rows {
            if !layout.is_list() {
                self.rows.laid_out(&row);
            } else if row.is_empty() {
                self.rows.blank_row();
            } else {
                for (text, look) in row {
                    self.rows.text(&text, look);
                }
                self.rows.end_row();
            }
        }
    }

    /// What looked like a table and is none.
    fn text_lines(&mut self, lines: &[String]) {
        for line in lines {
            for (text, look) in inline::whole(line, self.shows_marks, &self.links) {
                inline::put(&mut self.rows, &text, look);
            }
            self.rows.end_row();
        }
        self.block = Block::Text;
    }
}

/// A whole text in rows, as a reply of it would be shown. Nothing in it acts on the terminal or draws a prompt.
pub fn rows(text: &str, styles: Styles, columns: usize) -> Vec<String> {
    // What is printed as lines passes a filter that knows colours only.
    let mut markdown = Markdown::new(styles.without_links());
    let mut guard = Guard::default();
    let text = markdown.piece(&Filter::default().piece(text), columns) + &markdown.end(columns);
    let text = guard.piece(&text, columns) + &guard.rest();
    text.split('\n').map(str::to_owned).collect()
}

/// What stands before the first row of what a line opens.
fn mark(container: &Container) -> Bit {
    match container {
        Container::Quote => (BAR.to_owned(), Look::QUIET),
        Container::Item { shown, is_done, .. } => {
            let look = if *is_done { Look::DONE } else { Look::QUIET };
            (shown.clone(), look)
        }
    }
}

#[cfg(test)]
mod tests;
