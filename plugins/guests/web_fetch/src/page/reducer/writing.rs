//! The writing of the reduced page: elements that are closed in the order in which they were begun, text in its place.

use html5ever::LocalName;

use super::super::tags::Role;
use super::{MAX_TITLE_CHARS, Open, Place, Reducer, Table};

/// Bytes of the reduced page. Text of a thousand printed pages, and a dozen times what a model is given.
const MAX_BYTES: usize = 3 * 1024 * 1024;

/// Elements and texts of the reduced page. Each costs some hundred bytes while it is converted.
const MAX_NODES: usize = 120_000;

/// Bytes of a link's text. A longer one was never closed.
const MAX_LINK_BYTES: usize = 2_000;

/// Ends of what text goes on behind without a gap: a space there is one between words.
const INLINE_ENDS: [&str; 5] = ["</a>", "</b>", "</i>", "</code>", "\">"];

impl Reducer {
    /// Makes sure that there is something that text can stand in.
    pub(super) fn begin_text(&mut self) {
        let broken = std::mem::take(&mut self.broken);
        let place = self.open.iter().rev().find(|open| open.written.is_some());
        match place.map(|open| (open.written, open.inner)) {
            Some((Some("table"), _)) => {
                self.push_written("tr", Role::Row);
                self.push_written("td", Role::Cell("td"));
            }
            Some((Some("tr"), _)) => self.push_written("td", Role::Cell("td")),
            Some((Some("ul" | "ol"), _)) => self.push_written("li", Role::Item),
            None | Some((Some("blockquote"), _)) => self.push_written("p", Role::Ignored),
            Some((Some("li" | "td" | "th"), inner)) if broken && self.html.len() > inner => {
                self.note_in_table(Role::Quote);
                self.push_written("p", Role::Ignored);
            }
            Some(_) => {}
        }
    }

    /// Writes an element that the page left out.
    pub(super) fn push_written(&mut self, tag: &'static str, role: Role) {
        let Place { start, inner, .. } = self.write_tag(tag);
        self.depth += 1;
        self.nodes += 1;
        self.note_in_table(role);
        self.open.push(Open {
            // No page has such an element: only what closes all around it ends it.
            name: LocalName::from("dunlin-implied"),
            role,
            written: Some(tag),
            start,
            inner,
            mark: None,
            is_hidden: false,
            table: Table::default(),
        });
    }

    /// Ends the paragraph that is open, and the phrases in it.
    pub(super) fn end_paragraph(&mut self) {
        if self.pre > 0 || self.hidden > 0 {
            return;
        }
        let is_inline = |open: &&Open| open.role.is_inline();
        let count = self.open.iter().rev().take_while(is_inline).count();
        let index = self.open.len() - count;
        let link = self.open[index..]
            .iter()
            .find(|open| open.written == Some("a"));
        // A link around blocks stays whole.
        if link.is_some_and(|link| self.html.len() - link.inner < MAX_LINK_BYTES) {
            return self.space();
        }
        self.close_to(index);
        self.broken = true;
        if self.is_inline_place() || self.is_in_link() {
            self.space();
        }
    }

    pub(super) fn line_break(&mut self) {
        if self.hidden > 0 || self.raw.is_some() || self.is_full() {
            return;
        }
        if self.pre > 0 {
            self.begin_code(None);
            self.html.push('\n');
        } else if self.html.ends_with("<br>") {
            // Two of them part paragraphs.
            self.html.truncate(self.html.len() - "<br>".len());
            self.end_paragraph();
        } else if self.is_inline_place() {
            self.space();
        } else if !self.html.is_empty() && (!self.html.ends_with('>') || self.ends_inline()) {
            self.write("<br>");
        }
    }

    pub(super) fn image(&mut self, src: Option<&str>, alt: Option<&str>) {
        let alt = alt.map(str::trim).unwrap_or_default();
        // Without words it is decoration.
        if alt.is_empty() || self.pre > 0 || self.hidden > 0 || self.is_full() {
            return;
        }
        let Some(src) = src.and_then(|src| self.links.image(src)) else {
            return;
        };
        self.begin_text();
        self.html.push_str("<img src=\"");
        escape(&src, &mut self.html);
        self.html.push_str("\" alt=\"");
        let words: Vec<&str> = alt.split_whitespace().collect();
        let alt: String = words.join(" ").chars().take(MAX_TITLE_CHARS).collect();
        escape(&alt, &mut self.html);
        self.write("\">");
    }

    /// Begins the code in a `pre`, in a language if one is known.
    pub(super) fn begin_code(&mut self, language: Option<&str>) {
        if !self.html.ends_with("<pre>") {
            return;
        }
        match language {
            Some(language) => {
                self.html.push_str("<code class=\"language-");
                escape(language, &mut self.html);
                self.html.push_str("\">");
            }
            None => self.html.push_str("<code>"),
        }
        let inner = self.html.len();
        if let Some(open) = self
            .open
            .iter_mut()
            .rev()
            .find(|open| open.role == Role::Pre)
        {
            open.inner = inner;
        }
    }

    /// Begins a phrase, or goes on with one of its kind that ended right here.
    pub(super) fn begin_phrase(&mut self, tag: &'static str) -> Place {
        let ended = match tag {
            "b" => "</b>",
            "i" => "</i>",
            _ => "</code>",
        };
        if !self.html.ends_with(ended) {
            return self.write_tag(tag);
        }
        self.html.truncate(self.html.len() - ended.len());
        Place {
            written: Some(tag),
            start: self.html.len(),
            // There is something in it already.
            inner: 0,
        }
    }

    /// A space between words, where there is one to be had.
    pub(super) fn space(&mut self) {
        if self.html.is_empty() || self.hidden > 0 || self.is_full() {
            return;
        }
        // At the beginning of a phrase it belongs before the phrase.
        let mut at = self.html.len();
        let mut index = self.open.len();
        while let Some(open) = index.checked_sub(1).map(|below| &self.open[below]) {
            if open.inner != at || !matches!(open.written, Some("a" | "b" | "i" | "code")) {
                break;
            }
            at = open.start;
            index -= 1;
        }
        let before = &self.html[..at];
        let is_behind_text =
            !before.ends_with([' ', '>']) || INLINE_ENDS.iter().any(|end| before.ends_with(end));
        if before.is_empty() || !is_behind_text {
            return;
        }
        self.html.insert(at, ' ');
        for open in &mut self.open[index..] {
            open.start += 1;
            open.inner += 1;
        }
    }

    pub(super) fn ends_inline(&self) -> bool {
        INLINE_ENDS.iter().any(|end| self.html.ends_with(end))
    }

    /// Tells the table that this stands in what it is made of.
    pub(super) fn note_in_table(&mut self, role: Role) {
        let is_behind_cell = self
            .open
            .iter()
            .rev()
            .find(|open| open.written == Some("tr"))
            .and_then(|row| self.html.get(row.inner..))
            .is_some_and(|cells| cells.contains("</t"));
        let table = self
            .open
            .iter_mut()
            .rev()
            .find(|open| open.written == Some("table"));
        let Some(Open { table, .. }) = table else {
            return;
        };
        match role {
            Role::Cell(tag) => {
                table.has_header |= tag == "th";
                table.has_columns |= is_behind_cell;
            }
            Role::Table => {
                table.has_blocks = true;
                table.has_header = false;
            }
            Role::Heading(_) | Role::List(_) | Role::Quote | Role::Pre => table.has_blocks = true,
            _ => {}
        }
    }

    pub(super) fn write_tag(&mut self, tag: &'static str) -> Place {
        let start = self.html.len();
        self.html.push('<');
        self.html.push_str(tag);
        self.html.push('>');
        self.place(tag, start)
    }

    /// Where an element stands whose start tag was just written.
    pub(super) fn place(&self, tag: &'static str, start: usize) -> Place {
        Place {
            written: Some(tag),
            start,
            inner: self.html.len(),
        }
    }

    /// Where an element stands that is not written.
    pub(super) fn nothing(&self) -> Place {
        Place {
            written: None,
            start: self.html.len(),
            inner: self.html.len(),
        }
    }

    pub(super) fn close_tag(&mut self, tag: &str) {
        self.html.push_str("</");
        self.html.push_str(tag);
        self.html.push('>');
    }

    pub(super) fn write(&mut self, html: &str) {
        if !self.is_full() {
            self.html.push_str(html);
            self.nodes += 1;
        }
    }

    pub(super) fn written_parent(&self) -> Option<&'static str> {
        self.open.iter().rev().find_map(|open| open.written)
    }

    /// Whether text stands in something that has no paragraphs.
    pub(super) fn is_inline_place(&self) -> bool {
        let mut written = self.open.iter().rev().filter_map(|open| open.written);
        let place = written.find(|tag| !matches!(*tag, "a" | "b" | "i" | "code" | "p"));
        matches!(
            place,
            Some("caption" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
        )
    }

    pub(super) fn is_in_link(&self) -> bool {
        self.open.iter().any(|open| open.written == Some("a"))
    }

    pub(super) fn is_in_heading(&self) -> bool {
        let mut written = self.open.iter().filter_map(|open| open.written);
        written.any(|tag| matches!(tag, "h1" | "h2" | "h3" | "h4" | "h5" | "h6"))
    }

    pub(super) fn is_full(&self) -> bool {
        self.html.len() > MAX_BYTES || self.nodes > MAX_NODES
    }
}

/// Text as it stands in HTML. Control characters mean nothing there, and a space that does not break is a space.
pub(super) fn escape(text: &str, html: &mut String) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\u{a0}' => html.push(' '),
            '\n' | '\t' => html.push(c),
            c if c.is_control() => {}
            c => html.push(c),
        }
    }
}
