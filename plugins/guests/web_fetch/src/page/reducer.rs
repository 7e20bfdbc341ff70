//! Reduces a page to what a reader would miss.
//!
//! What is written is HTML again, of few elements, each closed and in its place, so that whoever parses it has
//! nothing to repair: `p`, `h1` to `h6`, `ul`, `ol`, `li`, `blockquote`, `pre`, `table` with `tr`, `td`, `th` and `caption`, and in
//! them `a`, `b`, `i`, `code`, `br`, `img`. Elements that only group (`div`) are not written; they end paragraphs.

mod writing;

use std::collections::HashSet;

use html5ever::tokenizer::states::RawKind;
use html5ever::{Attribute, LocalName};

use self::writing::escape;
use super::content::{Chars, Mark, Range, content};
use super::links::Links;
use super::tags::{Role, hides, is_frame_class, language, role_attribute, role_of};

/// Elements within one another in the reduced page. Lists and quotes of people are ten deep; the conversion calls itself
/// for each, and a guest's stack is small.
const MAX_DEPTH: usize = 32;

/// Elements within one another in the page, as far as they are told apart. Behind that an element is as if it were not
/// there.
const MAX_OPEN: usize = 512;

/// The first number of a list. Larger ones mean nothing, and make long lines.
const MAX_FIRST_NUMBER: u32 = 1_000_000;

/// Characters of a title.
const MAX_TITLE_CHARS: usize = 300;

/// Texts of links that only mark a place in the page.
const MARKS: [&str; 7] = ["", "#", "¶", "§", "🔗", "↩", "^"];

/// A page without what nobody would miss.
#[derive(Debug)]
pub(super) struct Reduced {
    pub(super) html: String,
    pub(super) title: String,
    pub(super) omitted_chars: usize,
}

/// See above.
#[derive(Debug)]
pub(super) struct Reducer {
    links: Links,
    html: String,
    open: Vec<Open>,
    /// Elements written and not closed.
    depth: usize,
    nodes: usize,
    /// Which raw element is being left out.
    raw: Option<LocalName>,
    title: Title,
    /// How many of the elements that are open are not shown, mark what is not content, and mark what is.
    hidden: usize,
    frames: usize,
    contents: usize,
    pre: usize,
    /// Whether what comes next begins on a new line.
    broken: bool,
    /// Characters of text so far.
    chars: Chars,
    omitted_chars: usize,
    /// What was marked, in the order in which it ended.
    marks: Vec<(Mark, Range)>,
    /// Where tables begin that only arrange things.
    layouts: HashSet<usize>,
}

/// An element as it begins.
struct Element<'a> {
    name: &'a LocalName,
    role: Role,
    mark: Option<Mark>,
    is_hidden: bool,
    /// Of code.
    language: Option<&'a str>,
    /// Of a link.
    href: Option<String>,
    /// Of a list: its first number.
    first: Option<u32>,
}

#[derive(Debug)]
enum Title {
    Missing,
    Reading(String),
    Read(String),
}

/// An element that is open.
#[derive(Debug)]
struct Open {
    name: LocalName,
    role: Role,
    /// What was written for it, if something was.
    written: Option<&'static str>,
    /// Where that stands, and where its content begins.
    start: usize,
    inner: usize,
    mark: Option<(Mark, Chars)>,
    is_hidden: bool,
    /// For a table: whether it is one of data, as far as can be seen.
    table: Table,
}

/// Where an element stands in what is written.
struct Place {
    written: Option<&'static str>,
    start: usize,
    inner: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Table {
    has_header: bool,
    has_blocks: bool,
    has_columns: bool,
}

impl Reducer {
    pub(super) fn new(url: &str) -> Reducer {
        Reducer {
            links: Links::new(url),
            html: String::new(),
            open: Vec::new(),
            depth: 0,
            nodes: 0,
            raw: None,
            title: Title::Missing,
            hidden: 0,
            frames: 0,
            contents: 0,
            pre: 0,
            broken: false,
            chars: Chars::default(),
            omitted_chars: 0,
            marks: Vec::new(),
            layouts: HashSet::new(),
        }
    }

    /// An element begins. Says how what follows is to be read, if not as HTML.
    pub(super) fn start(
        &mut self,
        name: &LocalName,
        attributes: &[Attribute],
        is_closed: bool,
    ) -> Option<RawKind> {
        let attribute = |wanted: &str| {
            let found = attributes.iter().find(|a| &*a.name.local == wanted);
            found.map(|attribute| &*attribute.value)
        };
        let role = role_of(name);
        match role {
            Role::Raw(raw) => {
                self.raw = Some(name.clone());
                return Some(raw);
            }
            Role::Title => {
                // An image may have one, too.
                if matches!(self.title, Title::Missing) && self.hidden == 0 {
                    self.title = Title::Reading(String::new());
                } else {
                    self.raw = Some(name.clone());
                }
                return Some(RawKind::Rcdata);
            }
            Role::Base => {
                if let Some(href) = attribute("href") {
                    self.links.set_base(href);
                }
            }
            Role::Void => {}
            Role::Break => self.line_break(),
            Role::Rule => {
                self.end_paragraph();
                if !self.is_inline_place() && self.pre == 0 {
                    self.write("<hr>");
                }
            }
            Role::Image => {
                let src = attribute("src").filter(|src| !src.trim_start().starts_with("data:"));
                let src = src.or_else(|| attribute("data-src"));
                self.image(src, attribute("alt"));
            }
            // Only what is none of HTML closes itself.
            _ if is_closed && (self.hidden > 0 || role == Role::Dropped) => {}
            _ => {
                let is_root = matches!(&**name, "html" | "body" | "main");
                let class = attribute("class");
                let is_frame = !is_root && class.is_some_and(is_frame_class);
                let is_hidden = role == Role::Dropped
                    || !is_root && hides(&attribute)
                    || is_frame && role.is_inline();
                let mark = match attribute("role").and_then(role_attribute) {
                    _ if self.frames > 0 || self.hidden > 0 || role.is_inline() => None,
                    Some(Role::Main) => Some(Mark::Main),
                    Some(Role::Article) => Some(Mark::Article),
                    Some(_) if !is_root => Some(Mark::Frame),
                    _ if is_frame => Some(Mark::Frame),
                    _ => match role {
                        Role::Main => Some(Mark::Main),
                        Role::Article => Some(Mark::Article),
                        Role::Navigation => Some(Mark::Frame),
                        Role::Frame if self.contents == 0 => Some(Mark::Frame),
                        _ => None,
                    },
                };
                let href = match role {
                    Role::Link => attribute("href").and_then(|href| self.links.link(href)),
                    _ => None,
                };
                let element = Element {
                    name,
                    role: match role {
                        Role::Link if href.is_none() => Role::Ignored,
                        role => role,
                    },
                    mark,
                    is_hidden,
                    language: class.and_then(language),
                    href,
                    first: attribute("start").and_then(|first| first.parse().ok()),
                };
                self.enter(element);
            }
        }
        None
    }

    pub(super) fn end(&mut self, name: &LocalName) {
        if let Some(raw) = &self.raw {
            if raw == name {
                self.raw = None;
            }
            return;
        }
        let role = role_of(name);
        match role {
            Role::Title => {
                if let Title::Reading(text) = &mut self.title {
                    self.title = Title::Read(std::mem::take(text));
                }
                return;
            }
            // Read as its start tag, as browsers do.
            Role::Break => return self.line_break(),
            Role::Void | Role::Raw(_) | Role::Rule | Role::Image | Role::Base => return,
            Role::Ignored if self.hidden == 0 && self.frames == 0 => return,
            _ => {}
        }
        let is_structure = matches!(
            role,
            Role::Table | Role::Rows | Role::Row | Role::Cell(_) | Role::Caption
        );
        let mut found = None;
        for (index, open) in self.open.iter().enumerate().rev() {
            if open.name == *name {
                found = Some(index);
                break;
            }
            let is_wall = match role {
                // What was begun outside of a block is ended with the block.
                Role::Phrase(_) | Role::Ignored => !open.role.is_inline(),
                Role::Rows | Role::Row | Role::Cell(_) | Role::Caption => open.role == Role::Table,
                _ => {
                    !is_structure
                        && matches!(open.role, Role::Cell(_) | Role::Caption | Role::Table)
                }
            };
            if is_wall {
                break;
            }
        }
        match found {
            Some(index) => self.close_to(index),
            None if role == Role::Block => self.end_paragraph(),
            None => {}
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        if let Title::Reading(title) = &mut self.title {
            if title.len() < 4 * MAX_TITLE_CHARS {
                title.push_str(text);
            }
            return;
        }
        if self.raw.is_some() || self.hidden > 0 {
            return;
        }
        let chars = text.chars().filter(|c| !c.is_whitespace()).count();
        if self.is_full() {
            self.omitted_chars += chars;
            return;
        }
        if self.pre > 0 {
            self.begin_code(None);
            // The line end right behind `<pre>` is not part of it.
            let is_first = self
                .open
                .last()
                .is_some_and(|open| open.inner == self.html.len());
            let text = match is_first {
                true => text.strip_prefix('\n').unwrap_or(text),
                false => text,
            };
            escape(text, &mut self.html);
        } else if chars == 0 {
            return self.space();
        } else {
            if text.starts_with(|c: char| c.is_ascii_whitespace()) {
                self.space();
            }
            self.begin_text();
            for (index, word) in text.split_ascii_whitespace().enumerate() {
                if index > 0 {
                    self.html.push(' ');
                }
                escape(word, &mut self.html);
            }
            if text.ends_with(|c: char| c.is_ascii_whitespace()) {
                self.html.push(' ');
            }
        }
        self.nodes += 1;
        self.chars.all += chars;
        if self.frames == 0 {
            self.chars.content += chars;
        }
    }

    /// Closes what is open, and takes what is content.
    pub(super) fn finish(mut self) -> Reduced {
        self.close_to(0);
        let title = match std::mem::replace(&mut self.title, Title::Missing) {
            Title::Missing => String::new(),
            Title::Reading(title) | Title::Read(title) => {
                let words: Vec<&str> = title.split_whitespace().collect();
                words.join(" ").chars().take(MAX_TITLE_CHARS).collect()
            }
        };
        Reduced {
            html: content(&self.html, self.chars, &self.marks, &self.layouts),
            title,
            omitted_chars: self.omitted_chars,
        }
    }

    /// An element that is more than a point in the text.
    fn enter(&mut self, element: Element<'_>) {
        let role = element.role;
        self.close_implied(element.name, role);
        if self.pre > 0 && self.hidden == 0 {
            if &**element.name == "code" {
                self.begin_code(element.language);
            }
            if matches!(role, Role::Block | Role::Row) && !self.html.ends_with(['\n', '>']) {
                self.html.push('\n');
            }
        }
        let is_nothing =
            role == Role::Ignored && !element.is_hidden && self.hidden == 0 && self.frames == 0;
        if is_nothing || self.open.len() >= MAX_OPEN {
            return;
        }
        if !role.is_inline() {
            self.end_paragraph();
        }
        let is_shown = !element.is_hidden && self.hidden == 0;
        let can_write = self.pre == 0 && self.depth < MAX_DEPTH && !self.is_full();
        let Place {
            written,
            start,
            inner,
        } = match is_shown && can_write {
            true => self.write_start(&element),
            false => self.nothing(),
        };
        if written.is_some() {
            self.depth += 1;
            self.nodes += 1;
        }
        if is_shown {
            self.note_in_table(role);
        }
        match element.mark {
            Some(Mark::Frame) => self.frames += 1,
            Some(Mark::Main | Mark::Article) => self.contents += 1,
            None => {}
        }
        self.hidden += usize::from(element.is_hidden);
        self.open.push(Open {
            name: element.name.clone(),
            role,
            written,
            start,
            inner,
            mark: element.mark.map(|mark| (mark, self.chars)),
            is_hidden: element.is_hidden,
            table: Table::default(),
        });
    }

    /// Writes the start tag of an element, if it becomes one.
    fn write_start(&mut self, element: &Element<'_>) -> Place {
        let parent = self.written_parent();
        match element.role {
            Role::Link => {
                let Some(href) = element.href.as_deref() else {
                    return self.nothing();
                };
                self.begin_text();
                let start = self.html.len();
                self.html.push_str("<a href=\"");
                escape(href, &mut self.html);
                self.html.push_str("\">");
                self.place("a", start)
            }
            Role::Phrase(tag) => {
                if self.open.iter().any(|open| open.written == Some(tag)) {
                    return self.nothing();
                }
                self.begin_text();
                self.begin_phrase(tag)
            }
            // Blocks in a link would break it up.
            _ if self.is_in_link() => self.nothing(),
            _ if self.is_in_heading() => self.nothing(),
            Role::Heading(tag) if !self.is_inline_place() => self.write_tag(tag),
            Role::List(tag) => {
                let start = self.html.len();
                match element.first.filter(|first| *first < MAX_FIRST_NUMBER) {
                    Some(first) if tag == "ol" => {
                        self.html.push_str(&format!("<ol start=\"{first}\">"));
                    }
                    _ => self.html.push_str(&format!("<{tag}>")),
                }
                self.place(tag, start)
            }
            Role::Item if matches!(parent, Some("ul" | "ol")) => self.write_tag("li"),
            Role::Quote => self.write_tag("blockquote"),
            Role::Pre => {
                self.pre += 1;
                let mut place = self.write_tag("pre");
                if element.language.is_some() {
                    self.begin_code(element.language);
                    place.inner = self.html.len();
                }
                place
            }
            Role::Table => self.write_tag("table"),
            Role::Row if parent == Some("table") => self.write_tag("tr"),
            Role::Cell(tag) if parent == Some("tr") => self.write_tag(tag),
            Role::Cell(tag) if parent == Some("table") => {
                self.push_written("tr", Role::Row);
                self.write_tag(tag)
            }
            Role::Caption if parent == Some("table") => self.write_tag("caption"),
            _ => self.nothing(),
        }
    }

    /// Closes what ends where this begins, though nothing says so.
    fn close_implied(&mut self, name: &str, role: Role) {
        if !role.is_inline() {
            let is_block = |open: &Open| !open.role.is_inline();
            let nearest = self.open.iter().rposition(is_block);
            let ends = nearest.filter(|index| match &*self.open[*index].name {
                "p" => true,
                "dt" | "dd" => matches!(name, "dt" | "dd"),
                _ => false,
            });
            if let Some(index) = ends {
                self.close_to(index);
            }
        }
        let closes: fn(Role) -> bool = match role {
            Role::Item => |open| open == Role::Item,
            Role::Row => |open| open == Role::Row,
            Role::Cell(_) => |open| matches!(open, Role::Cell(_) | Role::Caption),
            Role::Rows => |open| matches!(open, Role::Rows | Role::Row | Role::Caption),
            Role::Heading(_) => |open| matches!(open, Role::Heading(_)),
            Role::Link => |open| open == Role::Link,
            _ => return,
        };
        let is_wall: fn(Role) -> bool = match role {
            Role::Item => |open| matches!(open, Role::List(_) | Role::Cell(_) | Role::Table),
            Role::Row | Role::Cell(_) | Role::Rows => |open| open == Role::Table,
            _ => |open| matches!(open, Role::Cell(_) | Role::Item | Role::Table | Role::Quote),
        };
        let mut found = None;
        for (index, open) in self.open.iter().enumerate().rev() {
            if closes(open.role) {
                found = Some(index);
                // Of rows and what holds them the outermost.
                if role != Role::Rows {
                    break;
                }
            }
            if is_wall(open.role) {
                break;
            }
        }
        if let Some(index) = found {
            self.close_to(index);
        }
    }

    /// Closes everything from this element on.
    fn close_to(&mut self, index: usize) {
        while self.open.len() > index {
            if let Some(open) = self.open.pop() {
                self.leave(open);
            }
        }
    }

    fn leave(&mut self, open: Open) {
        self.hidden -= usize::from(open.is_hidden);
        if open.role == Role::Pre && open.written.is_some() {
            self.pre -= 1;
        }
        if let Some(tag) = open.written {
            self.depth -= 1;
            let is_empty = self.html.len() == open.inner;
            match tag {
                "td" | "th" => self.close_tag(tag),
                "a" if self
                    .html
                    .get(open.inner..)
                    .is_some_and(|text| MARKS.contains(&text.trim())) =>
                {
                    self.html.truncate(open.start);
                }
                _ if is_empty => self.html.truncate(open.start),
                "table" => {
                    self.close_tag(tag);
                    // One of a single column, or of blocks without headers, only arranges things.
                    let table = open.table;
                    if !table.has_columns || (table.has_blocks && !table.has_header) {
                        self.layouts.insert(open.start);
                    }
                }
                "pre" => self.html.push_str("</code></pre>"),
                "b" | "i" | "code" | "a" => {
                    let has_space = self.html.ends_with(' ') && self.html.len() > open.inner + 1;
                    if has_space {
                        self.html.pop();
                    }
                    self.close_tag(tag);
                    if has_space {
                        self.html.push(' ');
                    }
                }
                _ => self.close_tag(tag),
            }
        }
        if !open.role.is_inline() {
            self.end_paragraph();
        }
        if let Some((mark, before)) = open.mark {
            match mark {
                Mark::Frame => self.frames -= 1,
                Mark::Main | Mark::Article => self.contents -= 1,
            }
            let chars = Chars {
                all: self.chars.all - before.all,
                content: self.chars.content - before.content,
            };
            let range = Range {
                start: open.start.min(self.html.len()),
                end: self.html.len(),
                chars,
            };
            self.marks.push((mark, range));
        }
    }
}
