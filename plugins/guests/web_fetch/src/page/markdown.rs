//! Writes a reduced page as Markdown.

use std::rc::Rc;

use htmd::element_handler::{HandlerResult, Handlers};
use htmd::options::{BulletListMarker, Options};
use htmd::{Element, HtmlToMarkdown, Node};
use markup5ever_rcdom::NodeData;

/// How far into the text a heading counts as the page's own.
const HEADING_BYTES: usize = 2_000;

/// Converts a reduced page. Its title comes first, unless the page has a heading of its own.
pub(super) fn convert(html: &str, title: &str) -> String {
    let converter = HtmlToMarkdown::builder()
        .options(Options {
            bullet_list_marker: BulletListMarker::Dash,
            ul_bullet_spacing: 1,
            ol_number_spacing: 1,
            ..Options::default()
        })
        .add_handler(vec!["table"], table)
        .build();
    // Parsing a string cannot fail: there is nothing to be read.
    let markdown = converter.convert(html).unwrap_or_default();
    let beginning = &markdown[..markdown.floor_char_boundary(HEADING_BYTES)];
    let has_heading = beginning.lines().any(|line| line.starts_with("# "));
    let markdown = tidy(&markdown);
    match has_heading || title.is_empty() {
        true => markdown,
        false => format!("# {title}\n\n{markdown}").trim_end().to_owned(),
    }
}

/// A table as it is in most dialects of Markdown, without the padding that would align it for the eye: a model has
/// none, and one long cell would widen all.
fn table(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let mut caption = String::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut add_row = |row: &Rc<Node>| {
        let children = row.children.borrow();
        let cells = children
            .iter()
            .filter(|cell| matches!(tag_of(cell), Some("td" | "th")));
        rows.push(cells.map(|cell| one_line(handlers, cell)).collect());
    };
    for child in element.node.children.borrow().iter() {
        match tag_of(child) {
            Some("caption") => caption = one_line(handlers, child),
            Some("tr") => add_row(child),
            Some("tbody") => {
                let children = child.children.borrow();
                let rows = children.iter().filter(|row| tag_of(row) == Some("tr"));
                rows.for_each(&mut add_row);
            }
            _ => {}
        }
    }
    rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
    let columns = rows.iter().map(Vec::len).max()?;
    let mut markdown = String::from("\n\n");
    if !caption.is_empty() {
        markdown.push_str(&caption);
        markdown.push_str("\n\n");
    }
    for (index, row) in rows.iter().enumerate() {
        markdown.push_str(&format!("| {} |\n", row.join(" | ")));
        if index == 0 {
            markdown.push('|');
            markdown.push_str(&" --- |".repeat(columns));
            markdown.push('\n');
        }
    }
    markdown.push('\n');
    Some(markdown.into())
}

fn one_line(handlers: &dyn Handlers, node: &Rc<Node>) -> String {
    let content = handlers.handle(node).map(|result| result.content);
    let content = content.unwrap_or_default().replace('|', "\\|");
    let words: Vec<&str> = content.split_whitespace().collect();
    words.join(" ")
}

fn tag_of(node: &Node) -> Option<&str> {
    match &node.data {
        NodeData::Element { name, .. } => Some(&name.local),
        _ => None,
    }
}

/// Without white space at the ends of lines, but for the two spaces that break one, and with at most one empty line
/// in a row; code stays as it is.
fn tidy(markdown: &str) -> String {
    let mut tidy = String::with_capacity(markdown.len());
    let mut empty = 0;
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        let start = line.trim_start();
        let ticks = &start[..start.len() - start.trim_start_matches('`').len()];
        let is_fence = ticks.len() >= 3;
        match fence {
            None if is_fence => fence = Some(ticks),
            Some(open) if is_fence && start.trim_end() == open => fence = None,
            _ => {}
        }
        let bare = line.trim_end();
        if fence.is_none() && bare.is_empty() {
            empty += 1;
            continue;
        }
        if !tidy.is_empty() {
            tidy.push_str(if empty > 0 { "\n\n" } else { "\n" });
        }
        empty = 0;
        let is_broken = fence.is_none() && line.ends_with("  ");
        tidy.push_str(if fence.is_some() { line } else { bare });
        if is_broken {
            tidy.push_str("  ");
        }
    }
    tidy.trim_end().to_owned()
}
