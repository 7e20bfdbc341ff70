//! Takes of a reduced page the part that is its content.

use std::collections::HashSet;

/// Which part of the text has to be in what is marked as the content, at least, for the mark to be believed: one of
/// this many.
const ENOUGH: usize = 5;

/// What a part of a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// What the page is about.
    Main,
    /// One of the things it is about.
    Article,
    /// What surrounds that: navigation, banners.
    Frame,
}

/// Characters of text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Chars {
    pub(super) all: usize,
    /// Of those, what is not in a frame.
    pub(super) content: usize,
}

/// A part of what was written, and the text in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) chars: Chars,
}

/// Takes the content out of `html`. `marks` stand in the order of their ends, `layouts` are the places of tables that
/// only arrange things: their cells become blocks.
pub(super) fn content(
    html: &str,
    chars: Chars,
    marks: &[(Mark, Range)],
    layouts: &HashSet<usize>,
) -> String {
    let content_of = |ranges: &[Range]| -> usize { ranges.iter().map(|r| r.chars.content).sum() };
    let mains = outermost(marks, Mark::Main);
    let articles = outermost(marks, Mark::Article);
    let taken = if content_of(&mains) > chars.content / ENOUGH {
        mains
    } else if content_of(&articles) > chars.content / 2 {
        articles
    } else {
        vec![Range {
            start: 0,
            end: html.len(),
            chars,
        }]
    };
    // A page may be nothing but navigation.
    let frames = match chars.content > chars.all / ENOUGH / 2 {
        true => outermost(marks, Mark::Frame),
        false => Vec::new(),
    };
    let mut copy = Copy {
        html,
        layouts,
        tables: Vec::new(),
        content: String::new(),
    };
    let mut frames = frames.iter().peekable();
    for range in &taken {
        let mut at = range.start;
        while let Some(frame) = frames.next_if(|frame| frame.start < range.end) {
            if frame.start >= at {
                copy.copy(at, frame.start);
                at = frame.end;
            }
        }
        copy.copy(at, range.end);
    }
    copy.content
}

/// The parts with this mark that are in no other of them, in the order in which they stand.
fn outermost(marks: &[(Mark, Range)], wanted: Mark) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (_, range) in marks.iter().filter(|(mark, _)| *mark == wanted) {
        // An outer one ends behind those in it.
        while ranges.pop_if(|inner| inner.start >= range.start).is_some() {}
        ranges.push(*range);
    }
    ranges
}

struct Copy<'a> {
    html: &'a str,
    layouts: &'a HashSet<usize>,
    /// The tables that are open: whether each only arranges things.
    tables: Vec<bool>,
    content: String,
}

impl Copy<'_> {
    fn copy(&mut self, start: usize, end: usize) {
        let Some(part) = self.html.get(start..end) else {
            return;
        };
        if self.layouts.is_empty() {
            self.content.push_str(part);
            return;
        }
        let mut at = start;
        while let Some(found) = self.html[at..end].find('<') {
            self.content.push_str(&self.html[at..at + found]);
            at += found;
            let length = self.html[at..end].find('>').map_or(end - at, |end| end + 1);
            let tag = &self.html[at..at + length];
            if tag == "<table>" {
                self.tables.push(self.layouts.contains(&at));
            }
            let is_layout = self.tables.last() == Some(&true);
            match tag {
                "<table>" | "</table>" | "<tr>" | "</tr>" if is_layout => {}
                "<td>" | "<th>" | "<caption>" if is_layout => self.content.push_str("<section>"),
                "</td>" | "</th>" | "</caption>" if is_layout => {
                    self.content.push_str("</section>");
                }
                tag => self.content.push_str(tag),
            }
            if tag == "</table>" {
                self.tables.pop();
            }
            at += length;
        }
        self.content.push_str(&self.html[at..end]);
    }
}
