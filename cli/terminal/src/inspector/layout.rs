//! What the right pane shows, laid out anew when it is another text or the pane has another width.

use ansi_to_tui::IntoText;
use dunlin_chat::request::editor::{EditableRequest, Leaf, SectionKind};
use dunlin_host::display::{escape, one_line};

use super::lines::{Line, Lines, Look};
use super::state::{Inspector, Pane};
use super::tabs::{self, Tab};
use super::tree;
use crate::approval::text::wrap;
use crate::request::paused::Paused;
use crate::ui::markdown::Markdown;
use crate::ui::stream::Filter;
use crate::ui::style::{Label, Styles};

/// How much of a text is looked at for a preview, in characters.
const PREVIEW_CHARS: usize = 120;

/// What the rows of the right pane were made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Made {
    tab: Tab,
    number: usize,
    revision: u64,
    columns: usize,
    markdown: bool,
    folds: usize,
}

impl Inspector {
    /// The beginning of a section's text; empty where it has none, or several.
    pub(super) fn preview(&mut self, request: &EditableRequest, number: usize) -> &str {
        // Reading a section takes time in proportion to it, and every frame shows many.
        let (revision, previews) = &mut self.previews;
        if *revision != request.revision() {
            *revision = request.revision();
            previews.clear();
        }
        previews.entry(number).or_insert_with(|| {
            let section = request.section(number);
            let has_text = section.is_some_and(|section| {
                section.kind.is_message() || section.kind == SectionKind::ToolDefinition
            });
            let leaf = has_text.then(|| request.only_leaf(number)).flatten();
            let text = leaf.as_ref().map(Leaf::beginning).unwrap_or_default();
            let beginning: String = text.trim_start().chars().take(PREVIEW_CHARS).collect();
            one_line(&beginning.replace(['\n', '\t'], " "))
        })
    }

    /// Brings everything that is shown up to date. `columns`: those of the right pane.
    pub fn refresh(&mut self, paused: &Paused, columns: usize) {
        let request = paused.request();
        self.sections.refresh(paused);
        match self.sections.position(self.number) {
            Some(at) => self.list.at = at,
            // An edit has taken it out of those with the filter: keys must not act on a section that is not listed.
            None if self.focus() == Pane::Sections => self.step_list(0),
            None => {}
        }
        let made = Made {
            tab: self.tab,
            number: match self.tab {
                Tab::Request => self.number,
                _ => 0,
            },
            revision: request.revision(),
            columns,
            markdown: self.markdown,
            folds: self.folds,
        };
        if self.made.as_ref() == Some(&made) {
            self.go_to_wanted();
            return;
        }
        // Those before go first: both together may be large.
        self.lines = Lines::default();
        self.lines = match self.tab {
            Tab::Request if self.markdown => self.rendered(request, columns),
            Tab::Request => {
                self.values = request.rows(self.number);
                tree::lines(&self.values, &self.folded, columns)
            }
            Tab::Payload => tabs::payload(request, columns),
            Tab::Diff => tabs::differences(paused, columns),
            Tab::Metadata => tabs::pairs(&(self.sides.metadata)(paused), columns),
            Tab::Log => self.log_lines(columns),
        };
        if self.tab == Tab::Request && self.lines.is_empty() && self.values.is_empty() {
            // A body that is not JSON.
            let text = request.text(self.number).unwrap_or_default();
            self.lines.push_text(text.to_owned(), None, columns);
        }
        self.made = Some(made);
        self.go_to_wanted();
        self.detail.at = self.detail.at.min(self.lines.len().saturating_sub(1));
    }

    /// Selects the row of the wanted value that has the text that was searched, or its first one.
    fn go_to_wanted(&mut self) {
        let Some(index) = self.wanted.take() else {
            return;
        };
        let mut rows = self.lines.of_value(index);
        let first = rows.next();
        let is_found = |at: &usize| {
            let line = self.lines.get(*at);
            line.is_some_and(|line| line.text().to_lowercase().contains(&self.needle))
        };
        let found = match self.needle.is_empty() {
            true => None,
            false => first.into_iter().chain(rows).find(is_found),
        };
        if let Some(at) = found.or(first) {
            self.detail.at = at;
        }
    }

    /// The text of the selected section as the chat would show it.
    fn rendered(&self, request: &EditableRequest, columns: usize) -> Lines {
        let target = request.only_text(self.number);
        let leaf = target.and_then(|target| request.leaf(&target));
        let text = match leaf {
            Ok(Some(leaf)) => leaf.text().into_owned(),
            Ok(None) => String::new(),
            Err(_) => {
                let note = "This section has no text of its own; m shows its values.";
                return wrap(note, columns)
                    .into_iter()
                    .map(|row| Line::new(Look::Label(Label::Quiet), row))
                    .collect();
            }
        };
        markdown(&text, columns, self.styles())
    }
}

/// A text as the chat renders Markdown.
fn markdown(text: &str, columns: usize, styles: Styles) -> Lines {
    let mut markdown = Markdown::new(styles.without_links());
    let mut filter = Filter::default();
    let text = filter.piece(text);
    let mut shown = markdown.piece(&text, columns);
    shown.push_str(&markdown.end(columns));
    let rendered = shown.into_text().unwrap_or_default();
    let lines = rendered.lines.into_iter().map(|line| Line {
        value: None,
        pieces: line
            .spans
            .into_iter()
            .map(|span| {
                let text = escape(&span.content).into_owned();
                (Look::Markdown(span.style), text)
            })
            .collect(),
    });
    lines.collect()
}
