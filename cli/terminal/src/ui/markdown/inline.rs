//! What stands within a line: emphasis, code, links.
//!
//! Reading it is pulldown-cmark's work; here is decided how much of a line that is still being written can be read
//! already. Plain text is passed on at once. From the first character on that may open something the line is held, until
//! all that was opened is closed or the line ends: then an unmatched mark is the character that it is.

use dunlin_host::display::escape;
use dunlin_host::display::usual_width_of_char;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::links::{self, Links};
use super::look::Look;
use super::rows::{Bit, Rows};

/// The longest beginning of a line that is held, in bytes; what is open then is taken as it is. Nothing that is meant
/// is longer, and a line without an end must neither be held for ever nor be read over and over.
const MAX_HELD_BYTES: usize = 4096;

/// From this length on, in bytes, a line that is held is read again only after it has grown by an eighth.
const OFTEN_BYTES: usize = 128;

/// The longest address that is shown, in characters.
const MAX_ADDRESS_CHARS: usize = 300;

/// Characters that may begin something, or change what they stand before.
const SPECIAL: &str = "*_`[<&\\!~$";

/// Characters that may end something that was begun.
const CLOSING: &str = "*_`])>;~$";

/// Stands before what is read, so that nothing in it is taken for a list or a heading. It ends with the character that
/// really stands there.
const LEAD: char = 'x';

/// The line that is being read.
#[derive(Debug)]
pub struct Inline {
    /// What is not decided yet.
    held: String,
    /// What stands before it.
    before: char,
    /// Whether anything came that could decide it.
    may_be_decided: bool,
    /// The length from which on it is read again.
    read_at: usize,
    /// Marks are shown, where looks cannot be.
    shows_marks: bool,
    /// The look of the line.
    base: Look,
    /// Where the addresses of links are kept.
    links: Links,
}

impl Inline {
    /// At the beginning of a line. `shows_marks`: there are no looks, so the marks stay.
    pub fn new(shows_marks: bool, links: Links) -> Inline {
        Inline {
            held: String::new(),
            before: ' ',
            may_be_decided: false,
            read_at: 0,
            shows_marks,
            base: Look::TEXT,
            links,
        }
    }

    /// Begins a line in a look of its own.
    pub fn begin(&mut self, base: Look) {
        self.held.clear();
        self.before = ' ';
        self.may_be_decided = false;
        self.read_at = 0;
        self.base = base;
    }

    /// The next character of the line.
    pub fn push(&mut self, c: char, rows: &mut Rows) {
        if self.held.is_empty() && !SPECIAL.contains(c) {
            self.before = c;
            rows.text(c.encode_utf8(&mut [0; 4]), self.base);
            return;
        }
        self.held.push(c);
        self.may_be_decided |= SPECIAL.contains(c) || CLOSING.contains(c);
        let is_cut = c == ' ' || c == '\t' || usual_width_of_char(c) == 2;
        let length = self.held.len();
        if length > MAX_HELD_BYTES {
            self.read(rows, true);
        } else if is_cut && self.may_be_decided && length >= self.read_at {
            self.read(rows, false);
        }
    }

    /// The line is over.
    pub fn end(&mut self, rows: &mut Rows) {
        self.read(rows, true);
    }

    fn read(&mut self, rows: &mut Rows, is_whole: bool) {
        if self.held.is_empty() {
            return;
        }
        let text = self.held.trim_end_matches([' ', '\t']);
        let spaces = self.held.len() - text.len();
        let next = (spaces > 0).then_some(' ');
        match bits(
            text,
            self.before,
            next,
            is_whole,
            self.shows_marks,
            &self.links,
        ) {
            Some(bits) => {
                for (text, look) in bits {
                    put(rows, &text, self.base.with(look));
                }
                rows.text(&" ".repeat(spaces), self.base);
                let last = self.held.chars().next_back().unwrap_or(' ');
                // A mark that was read must not be read again.
                self.before = if is_special(last) { '.' } else { last };
                self.held.clear();
                self.may_be_decided = false;
                self.read_at = 0;
            }
            None => {
                let length = self.held.len();
                self.read_at = if length < OFTEN_BYTES {
                    0
                } else {
                    length + length / 8
                };
                // A mark at the very end is decided by what comes next.
                self.may_be_decided = next.is_none() && text.ends_with(is_special);
            }
        }
    }
}

/// Adds text in which a line end is a new row.
pub fn put(rows: &mut Rows, text: &str, look: Look) {
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            rows.end_row();
        }
        rows.text(line, look);
    }
}

fn is_special(c: char) -> bool {
    SPECIAL.contains(c)
}

/// A text as a whole, such as the cell of a table.
pub fn whole(text: &str, shows_marks: bool, links: &Links) -> Vec<Bit> {
    bits(text.trim(), ' ', None, true, shows_marks, links).unwrap_or_default()
}

/// Reads text that stands between two characters. `None`: something in it is open, and the line goes on.
fn bits(
    text: &str,
    before: char,
    next: Option<char>,
    is_whole: bool,
    shows_marks: bool,
    targets: &Links,
) -> Option<Vec<Bit>> {
    let lead = String::from_iter([LEAD, before]);
    let source = format!("{lead}{text}");
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
    let mut reading = Reading {
        bits: Vec::new(),
        looks: vec![Look::TEXT],
        links: Vec::new(),
        targets,
        marks: shows_marks,
    };
    for (event, range) in Parser::new_ext(&source, options).into_offset_iter() {
        let slice = source.get(range.clone()).unwrap_or_default();
        let is_escaped = source
            .get(..range.start)
            .is_some_and(|before| before.ends_with('\\'));
        if let (Event::Text(_), false) = (&event, is_whole) {
            let after = source.get(range.end..).unwrap_or_default();
            let after = after.chars().next().or(next);
            let before = source.get(..range.start).unwrap_or_default();
            if is_open(
                slice,
                before.chars().next_back(),
                after,
                is_escaped,
                &source,
                range.start,
            ) {
                return None;
            }
        }
        reading.take(event, slice, is_escaped);
    }
    reading.cut(lead.chars().count());
    Some(reading.bits)
}

/// Whether literal text has something in it that what follows could still close.
fn is_open(
    slice: &str,
    before: Option<char>,
    after: Option<char>,
    is_escaped: bool,
    source: &str,
    start: usize,
) -> bool {
    let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_mark = |c: Option<char>| c.is_some_and(|c| c.is_ascii_punctuation());
    let mut previous = before;
    let mut characters = slice.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        if at == 0 && is_escaped {
            previous = Some(c);
            continue;
        }
        let rest = slice.get(at + c.len_utf8()..).unwrap_or_default();
        match c {
            '*' | '_' | '~' => {
                let mut run = 1;
                while characters.next_if(|(_, same)| *same == c).is_some() {
                    run += 1;
                }
                let next = slice
                    .get(at + run..)
                    .and_then(|rest| rest.chars().next())
                    .or(after);
                let unknown = next.is_none();
                let opens = !is_space(next)
                    && (!is_mark(next) || is_space(previous) || is_mark(previous))
                    && (c != '_' || is_space(previous) || is_mark(previous));
                // One tilde means "about".
                if (unknown || opens) && (c != '~' || run == 2 || unknown) {
                    return true;
                }
            }
            '`' => return true,
            '[' => {
                let rest = source.get(start + at + 1..).unwrap_or_default();
                if is_open_link(rest, after) {
                    return true;
                }
            }
            '<' => {
                let next = rest.chars().next().or(after);
                let begins = next.is_none_or(|c| c.is_ascii_alphabetic() || "/!?".contains(c));
                let rest = source.get(start + at..).unwrap_or_default();
                if begins && !rest.contains('>') {
                    return true;
                }
            }
            '&' => {
                let name = rest.trim_start_matches('#');
                if after.is_none() && name.chars().all(|c| c.is_ascii_alphanumeric()) {
                    return true;
                }
            }
            '\\' | '!' if rest.is_empty() && after.is_none() => return true,
            _ => {}
        }
        previous = Some(c);
    }
    false
}

/// Whether what stands behind a `[` may still become a link.
fn is_open_link(rest: &str, after: Option<char>) -> bool {
    let mut depth = 1;
    let mut characters = rest.char_indices();
    let end = characters.find_map(|(at, c)| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at + 1)
    });
    let Some(behind) = end.and_then(|end| rest.get(end..)) else {
        return true;
    };
    match behind.chars().next().or(after) {
        None => true,
        Some('(') => !behind.contains(')'),
        Some(_) => false,
    }
}

/// What was read so far.
struct Reading<'a> {
    bits: Vec<Bit>,
    looks: Vec<Look>,
    /// The addresses of open links, and where their text begins.
    links: Vec<(String, usize)>,
    targets: &'a Links,
    marks: bool,
}

impl Reading<'_> {
    fn take(&mut self, event: Event<'_>, slice: &str, is_escaped: bool) {
        match event {
            Event::Text(text) => {
                // `\(` and `\[` are what formulas stand between: they stay as they are.
                if is_escaped && text.starts_with(['(', ')', '[', ']']) {
                    self.add("\\");
                }
                // A character reference can be any character.
                if *text == *slice {
                    self.add(slice);
                } else {
                    self.add(&escape(&text));
                }
            }
            Event::Code(_) if self.marks => self.add(slice),
            Event::Code(code) => self.styled(&code, Look::CODE),
            Event::Start(Tag::Strong) => self.open(Look::STRONG, "**"),
            Event::End(TagEnd::Strong) => self.close("**"),
            Event::Start(Tag::Emphasis) => self.open(Look::ITALIC, "*"),
            Event::End(TagEnd::Emphasis) => self.close("*"),
            Event::Start(Tag::Strikethrough) if slice.starts_with("~~") => {
                self.open(Look::QUIET, "~~");
            }
            Event::Start(Tag::Strikethrough) => {
                self.add("~");
                self.open(Look::TEXT, "~");
            }
            Event::End(TagEnd::Strikethrough) if slice.starts_with("~~") => self.close("~~"),
            Event::End(TagEnd::Strikethrough) => {
                self.close("~");
                self.add("~");
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.open_link(dest_url.into_string());
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                self.styled("image: ", Look::QUIET);
                self.open_link(dest_url.into_string());
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.close_link(),
            Event::InlineHtml(tag) | Event::Html(tag) if is_break(&tag) => self.add("\n"),
            Event::InlineHtml(_)
            | Event::Html(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {
                self.add(slice);
            }
            _ => {}
        }
    }

    fn open_link(&mut self, address: String) {
        let look = Look::UNDERLINED.leading_to(self.targets.add(&address));
        self.links.push((address, self.bits.len()));
        self.open(look, "");
    }

    /// Where the text of a link is not its address, that is shown as well: nobody shall believe a wrong one.
    fn close_link(&mut self) {
        self.close("");
        let Some((address, begin)) = self.links.pop() else {
            return;
        };
        let texts = self.bits.get(begin..).unwrap_or_default();
        let shown: String = texts.iter().map(|(text, _)| text.as_str()).collect();
        let address = links::legible(&address);
        let address = escape(&address);
        let plain = address.strip_prefix("mailto:").unwrap_or(&address);
        if shown != plain && !address.is_empty() {
            let address = dunlin_host::display::shorten(&address, MAX_ADDRESS_CHARS);
            let gap = if shown.is_empty() { "" } else { " " };
            self.styled(&format!("{gap}({address})"), Look::QUIET);
        }
    }

    fn open(&mut self, look: Look, mark: &str) {
        if self.marks && look != Look::TEXT {
            self.add(mark);
        }
        let present = self.look();
        self.looks.push(present.with(look));
    }

    fn close(&mut self, mark: &str) {
        if self.looks.len() > 1 {
            self.looks.pop();
        }
        if self.marks && mark != "~" {
            self.add(mark);
        }
    }

    fn look(&self) -> Look {
        self.looks.last().copied().unwrap_or_default()
    }

    fn styled(&mut self, text: &str, look: Look) {
        let look = self.look().with(look);
        self.bits.push((text.to_owned(), look));
    }

    fn add(&mut self, text: &str) {
        if !text.is_empty() {
            self.styled(text, Look::TEXT);
        }
    }

    /// Takes the lead away.
    fn cut(&mut self, mut characters: usize) {
        for (text, _) in &mut self.bits {
            while characters > 0 && !text.is_empty() {
                text.remove(0);
                characters -= 1;
            }
        }
        self.bits.retain(|(text, _)| !text.is_empty());
    }
}

/// `<br>`, as models write it into the cells of tables.
fn is_break(tag: &str) -> bool {
    let name = tag.trim_start_matches('<').trim_end_matches('>');
    name.trim_end_matches('/').trim().eq_ignore_ascii_case("br")
}
