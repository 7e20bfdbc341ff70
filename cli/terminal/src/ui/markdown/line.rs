//! What a line begins with: quotations, items, headings, fences, tables.
//!
//! A line is read as far as it is there; as long as its beginning could become several things, nothing is decided.
//! That is a few characters as a rule, and never more than [`MAX_HEAD_BYTES`].
//!
//! Where CommonMark wants to be followed to the letter, models do not follow it: nested lists are indented by two columns
//! under a number, fences by whatever comes to mind. The reading is lenient there.

/// The longest beginning of a line that is waited for, in bytes. A longer one is text.
pub const MAX_HEAD_BYTES: usize = 256;

/// How deep blocks may stand in each other; nobody reads deeper.
const MAX_DEPTH: usize = 12;

/// The longest number of an item, in digits.
const MAX_DIGITS: usize = 9;

/// How the mark of an item without a number is shown.
const BULLET: &str = "•";

/// Columns from one tab stop to the next.
const TAB_COLUMNS: usize = 4;

/// What blocks stand in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Container {
    Quote,
    /// An item of a list.
    Item {
        /// The column of its mark in the source.
        mark: usize,
        /// The column in which its text begins.
        content: usize,
        shown: String,
        /// Whether it is a box with a tick.
        is_done: bool,
    },
}

/// What the rest of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Blank,
    /// Running text, indented by so many columns within what it stands in.
    Text(usize),
    /// A heading of this level.
    Heading(usize),
    Rule,
    /// The line that opens code: the mark, how often it stands there, and the column in which it begins.
    Fence(char, usize, usize),
    /// A row of a table.
    Row,
}

/// How a line begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// How many of the containers it goes on in.
    pub kept: usize,
    pub opened: Vec<Container>,
    /// What the rest of it is.
    pub kind: Kind,
    /// Where that begins, in bytes.
    pub at: usize,
}

/// Goes over the beginning of a line.
struct Cursor<'a> {
    text: &'a str,
    at: usize,
    column: usize,
    /// Whether there is no more of the line.
    is_whole: bool,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn step(&mut self) {
        if let Some(c) = self.peek() {
            self.at += c.len_utf8();
            self.column = match c {
                '\t' => (self.column / TAB_COLUMNS + 1) * TAB_COLUMNS,
                _ => self.column + 1,
            };
        }
    }

    /// Over spaces, to a column at most. `None`: more of them may come.
    fn spaces(&mut self, most: usize) -> Option<()> {
        while self.column < most && matches!(self.peek(), Some(' ' | '\t')) {
            self.step();
        }
        (self.peek().is_some() || self.is_whole || self.column >= most).then_some(())
    }

    /// Over a mark. `None`: more of it may come.
    fn run(&mut self, mark: char) -> Option<usize> {
        let mut count = 0;
        while self.peek() == Some(mark) {
            self.step();
            count += 1;
        }
        (self.peek().is_some() || self.is_whole).then_some(count)
    }

    /// Whether a space or the end of the line comes next. `None`: not known yet.
    fn is_gap(&self) -> Option<bool> {
        match self.peek() {
            Some(c) => Some(matches!(c, ' ' | '\t')),
            None => self.is_whole.then_some(true),
        }
    }
}

/// Reads how a line begins. `within` is what the line before stood in, `in_text` whether that was running text. `None`:
/// it depends on what comes.
pub fn start(text: &str, is_whole: bool, within: &[Container], in_text: bool) -> Option<Start> {
    let mut cursor = Cursor {
        text,
        at: 0,
        column: 0,
        is_whole,
    };
    let mut kept = 0;
    for container in within {
        let before = (cursor.at, cursor.column);
        let goes_on = match container {
            Container::Quote => quote(&mut cursor)?,
            Container::Item { mark, content, .. } => {
                cursor.spaces(*content)?;
                // Blank lines end nothing.
                let is_blank = cursor.peek().is_none();
                is_blank || cursor.column >= *content || cursor.column >= mark + 2
            }
        };
        if !goes_on {
            (cursor.at, cursor.column) = before;
            break;
        }
        kept += 1;
    }
    let mut start = Start {
        kept,
        opened: Vec::new(),
        kind: Kind::Blank,
        at: cursor.at,
    };
    let in_item = within
        .iter()
        .take(kept)
        .any(|container| *container != Container::Quote);
    loop {
        let base = cursor.column;
        start.at = cursor.at;
        let spaces_at = cursor.at;
        cursor.spaces(usize::MAX)?;
        let indent = cursor.column - base;
        let Some(c) = cursor.peek() else {
            return Some(start);
        };
        let text_at = cursor.at;
        let is_code = indent >= 4 && !in_item && start.opened.is_empty() && !in_text;
        start.kind = Kind::Text(indent);
        if is_code && c != '`' && c != '~' {
            return Some(start);
        }
        start.at = text_at;
        let can_open = kept + start.opened.len() < MAX_DEPTH;
        match c {
            '>' if can_open => {
                quote(&mut cursor)?;
                start.opened.push(Container::Quote);
                start.kind = Kind::Blank;
                continue;
            }
            '#' => {
                let level = cursor.run('#')?;
                if level <= 6 && cursor.is_gap()? {
                    start.kind = Kind::Heading(level);
                    start.at = cursor.at;
                }
            }
            '`' | '~' => {
                let column = cursor.column;
                let count = cursor.run(c)?;
                if count >= 3 {
                    start.kind = Kind::Fence(c, count, column);
                    start.at = cursor.at;
                }
            }
            '|' => start.kind = Kind::Row,
            _ => {
                if let Some(is_rule) = rule(&cursor, c)
                    && is_rule?
                {
                    start.kind = Kind::Rule;
                    return Some(start);
                }
                if can_open
                    && let Some(item) = item(&mut cursor, c, in_text && start.opened.is_empty())?
                {
                    start.opened.push(item);
                    start.kind = Kind::Blank;
                    continue;
                }
                // Within an item this may have been another one, indented deeply; else it is code here, too.
                if indent >= 4 && in_item && !in_text && start.opened.is_empty() {
                    start.at = spaces_at;
                }
            }
        }
        return Some(start);
    }
}

/// The beginning of a line that was too long to wait for: text.
pub fn give_up(within: &[Container]) -> Start {
    Start {
        kept: within.len(),
        opened: Vec::new(),
        kind: Kind::Text(0),
        at: 0,
    }
}

/// A line of code that is code because it is indented, without that.
pub fn unindented(text: &str) -> &str {
    let mut cursor = Cursor {
        text,
        at: 0,
        column: 0,
        is_whole: true,
    };
    while cursor.column < TAB_COLUMNS && matches!(cursor.peek(), Some(' ' | '\t')) {
        cursor.step();
    }
    text.get(cursor.at..).unwrap_or_default()
}

/// Over the mark of a quotation, if there is one.
fn quote(cursor: &mut Cursor<'_>) -> Option<bool> {
    cursor.spaces(usize::MAX)?;
    if cursor.peek() != Some('>') {
        return Some(false);
    }
    cursor.step();
    if cursor.is_gap()? {
        cursor.step();
    }
    Some(true)
}

/// Whether the line is one across. The outer `None`: it cannot be; the inner one: not known yet.
fn rule(cursor: &Cursor<'_>, c: char) -> Option<Option<bool>> {
    if !matches!(c, '-' | '*' | '_') {
        return None;
    }
    let rest = cursor.text.get(cursor.at..).unwrap_or_default();
    if rest
        .chars()
        .any(|other| other != c && other != ' ' && other != '\t')
    {
        return Some(Some(false));
    }
    let marks = rest.chars().filter(|other| *other == c).count();
    Some(cursor.is_whole.then_some(marks >= 3))
}

/// The item that begins here, if one does. `None`: not known yet.
fn item(cursor: &mut Cursor<'_>, c: char, in_text: bool) -> Option<Option<Container>> {
    let mark = cursor.column;
    let begin = cursor.at;
    let shown = if matches!(c, '-' | '*' | '+') {
        cursor.step();
        BULLET.to_owned()
    } else if c.is_ascii_digit() {
        while cursor.peek().is_some_and(|c| c.is_ascii_digit()) && cursor.at - begin < MAX_DIGITS {
            cursor.step();
        }
        match cursor.peek() {
            None if !cursor.is_whole => return None,
            Some('.' | ')') => cursor.step(),
            _ => return Some(None),
        }
        cursor
            .text
            .get(begin..cursor.at)
            .unwrap_or_default()
            .to_owned()
    } else {
        return Some(None);
    };
    if !cursor.is_gap()? {
        return Some(None);
    }
    // A year at the end of a sentence that goes on in the next line is not a number of an item.
    if in_text
        && shown != BULLET
        && shown.trim_end_matches(['.', ')']) != "1"
        && mark == 0
        && shown.len() > 3
    {
        return Some(None);
    }
    let after = cursor.column;
    cursor.spaces(after + 4)?;
    let content = if cursor.peek().is_none() {
        after + 1
    } else {
        cursor.column.max(after + 1)
    };
    let mut item = (format!("{shown} "), false);
    let rest = cursor.text.get(cursor.at..).unwrap_or_default();
    if rest.starts_with('[') {
        let is_box = |rest: &str| {
            ["[ ] ", "[x] ", "[X] "]
                .iter()
                .any(|known| known.starts_with(rest))
        };
        let head: String = rest.chars().take(4).collect();
        match (head.chars().count(), is_box(&head)) {
            (4, true) => {
                let is_done = !head.starts_with("[ ");
                for _ in 0..4 {
                    cursor.step();
                }
                let ticked = if is_done { "[x] " } else { "[ ] " };
                // A bullet says nothing beside a box, a number does.
                let number = item
                    .0
                    .strip_prefix(BULLET)
                    .map_or(item.0.as_str(), str::trim);
                item = (format!("{number}{ticked}"), is_done);
            }
            (1..=3, true) if !cursor.is_whole => return None,
            _ => {}
        }
    }
    Some(Some(Container::Item {
        mark,
        content,
        shown: item.0,
        is_done: item.1,
    }))
}

/// What a line is while code is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeLine {
    /// Code, from this byte on.
    Code(usize),
    /// The end of it.
    Closed,
    /// A quotation that the code stood in is over: the line is something else.
    Left,
}

/// Reads the beginning of a line in a block of code that a fence has opened. `None`: it depends on what comes.
pub fn code(
    text: &str,
    is_whole: bool,
    quotes: usize,
    fence: (char, usize, usize),
) -> Option<CodeLine> {
    let mut cursor = Cursor {
        text,
        at: 0,
        column: 0,
        is_whole,
    };
    for _ in 0..quotes {
        if !quote(&mut cursor)? {
            return Some(CodeLine::Left);
        }
    }
    let (mark, count, column) = fence;
    cursor.spaces(column)?;
    let at = cursor.at;
    cursor.spaces(usize::MAX)?;
    if cursor.peek() == Some(mark) && cursor.run(mark)? >= count {
        cursor.spaces(usize::MAX)?;
        if cursor.peek().is_none() {
            return cursor.is_whole.then_some(CodeLine::Closed);
        }
    }
    Some(CodeLine::Code(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(mark: usize, content: usize, shown: &str) -> Container {
        Container::Item {
            mark,
            content,
            shown: shown.to_owned(),
            is_done: shown.starts_with("[x"),
        }
    }

    #[test]
    fn lines_begin_in_many_ways() {
        #[track_caller]
        fn check(text: &str, opened: &[Container], kind: Kind, rest: &str) {
            let start = start(text, true, &[], false).unwrap();
            assert_eq!(
                (start.opened.as_slice(), start.kind),
                (opened, kind),
                "{text:?}"
            );
            assert_eq!(&text[start.at..], rest, "{text:?}");
        }
        let text = Kind::Text(0);
        check("hello", &[], text, "hello");
        check("  hello", &[], Kind::Text(2), "hello");
        check("", &[], Kind::Blank, "");
        check("## Two ##", &[], Kind::Heading(2), " Two ##");
        check("#hashtag", &[], text, "#hashtag");
        check("####### seven", &[], text, "####### seven");
        check("- a", &[item(0, 2, "• ")], text, "a");
        check("*  a", &[item(0, 3, "• ")], text, "a");
        check("*a*", &[], text, "*a*");
        check("**a**", &[], text, "**a**");
        check("-", &[item(0, 2, "• ")], Kind::Blank, "");
        check("12. a", &[item(0, 4, "12. ")], text, "a");
        check("2) a", &[item(0, 3, "2) ")], text, "a");
        check("2024 was", &[], text, "2024 was");
        check("1.5 times", &[], text, "1.5 times");
        check("- [ ] a", &[item(0, 2, "[ ] ")], text, "a");
        check("- [x] a", &[item(0, 2, "[x] ")], text, "a");
        check("2. [ ] a", &[item(0, 3, "2. [ ] ")], text, "a");
        check("- [x](y)", &[item(0, 2, "• ")], text, "[x](y)");
        check("---", &[], Kind::Rule, "---");
        check("* * *", &[], Kind::Rule, "* * *");
        check("--- a", &[], text, "--- a");
        check("- - a", &[item(0, 2, "• "), item(2, 4, "• ")], text, "a");
        check("> a", &[Container::Quote], text, "a");
        check(">> a", &[Container::Quote, Container::Quote], text, "a");
        check("> - a", &[Container::Quote, item(2, 4, "• ")], text, "a");
        check("```rust", &[], Kind::Fence('`', 3, 0), "rust");
        check("  ~~~~", &[], Kind::Fence('~', 4, 2), "");
        check(
            "1. ```sh",
            &[item(0, 3, "1. ")],
            Kind::Fence('`', 3, 3),
            "sh",
        );
        check("``code`` a", &[], text, "``code`` a");
        check("| a |", &[], Kind::Row, "| a |");
        check("    code", &[], Kind::Text(4), "    code");
    }

    #[test]
    fn nothing_is_decided_too_early() {
        let undecided = [
            "", " ", "#", "##", "-", "--", "- ", "* *", "*", "**", "1", "12", "1.", "`", "```",
            ">", "- [", "- [x]", "_",
        ];
        for text in undecided {
            assert_eq!(start(text, false, &[], false), None, "{text:?}");
        }
        for text in [
            "a", "#a", "# ", "-a", "- a", "**a", "1a", "1.a", "`a", "``` ", "> a", "- [a", "__a",
            "|",
        ] {
            assert!(start(text, false, &[], false).is_some(), "{text:?}");
        }
    }

    #[test]
    fn lines_go_on_in_what_they_stand_in() {
        let within = [item(0, 3, "1. ")];
        let kept =
            |text: &str| start(text, true, &within, false).map(|start| (start.kept, start.kind));
        assert_eq!(kept("   text"), Some((1, Kind::Text(0))));
        // Two columns are enough.
        assert_eq!(kept("  - a"), Some((1, Kind::Text(0))));
        assert_eq!(kept(" text"), Some((0, Kind::Text(1))));
        assert_eq!(kept("2. next"), Some((0, Kind::Text(0))));
        assert_eq!(kept("      - deep"), Some((1, Kind::Text(0))));
        assert_eq!(kept(""), Some((1, Kind::Blank)));
        // Deeper text behind an empty line is code, with its own indentation.
        let code = start("       let a;", true, &within, false).unwrap();
        assert_eq!((code.kind, code.at), (Kind::Text(4), 3));
        let text = start("       goes on", true, &within, true).unwrap();
        assert_eq!(text.at, 7);
    }

    #[test]
    fn code_ends_with_its_fence() {
        let check = |text: &str, quotes, expected| {
            assert_eq!(
                code(text, true, quotes, ('`', 3, 2)),
                Some(expected),
                "{text:?}"
            );
        };
        check("```", 0, CodeLine::Closed);
        check("   ````  ", 0, CodeLine::Closed);
        check("``", 0, CodeLine::Code(0));
        check("``` a", 0, CodeLine::Code(0));
        check("    a", 0, CodeLine::Code(2));
        check("> a", 1, CodeLine::Code(2));
        check("> ```", 1, CodeLine::Closed);
        check("a", 1, CodeLine::Left);
        check("", 0, CodeLine::Code(0));
        for text in ["", "  ", "`", "```", "``` "] {
            assert_eq!(code(text, false, 0, ('`', 3, 2)), None, "{text:?}");
        }
    }
}
