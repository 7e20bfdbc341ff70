//! The help: all keys and what they do, over everything else.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::keymap::{self, Action};
use super::view::Palette;
use crate::ui::style::{Label, Styles};

/// How it is scrolled and closed.
const KEYS: &str = "j k scroll · any other key closes";

/// Keys, what they do, and the word that does the same at the prompt.
type Row = (&'static str, &'static str, &'static str);

/// Where the help is scrolled to, while it is shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Help {
    /// The first visible row.
    top: usize,
    /// How many were visible last.
    height: usize,
    /// Whether several chats are listed.
    are_chats: bool,
}

impl Help {
    /// The help where several chats are listed.
    pub(super) fn of_chats() -> Help {
        Help {
            are_chats: true,
            ..Help::default()
        }
    }

    fn rows(self) -> Vec<Row> {
        let bindings = keymap::of(self.are_chats);
        // There Ctrl-C leaves, as it ends other programs, and Esc only closes what was opened.
        let is_other = |action| matches!(action, Action::Cancel | Action::Close);
        bindings
            .map(|binding| {
                let first = binding.keys.split(' ').next();
                let keys = match self.are_chats && is_other(binding.action) {
                    true => first.unwrap_or_default(),
                    false => binding.keys,
                };
                (keys, binding.about, binding.word)
            })
            .chain(self.are_chats.then_some(("Ctrl-C", "leave", "")))
            .collect()
    }

    /// After a key; `None`: the key closes it.
    pub(super) fn after(self, action: Option<Action>) -> Option<Help> {
        // One row of those before stays.
        let page = self.height.saturating_sub(1).max(1);
        let last = self.rows().len().saturating_sub(page + 1);
        let top = match action? {
            Action::Down => self.top + 1,
            Action::Up => self.top.saturating_sub(1),
            Action::PageDown => self.top + page,
            Action::PageUp => self.top.saturating_sub(page),
            Action::First => 0,
            Action::Last => last,
            _ => return None,
        };
        Some(Help {
            top: top.min(last),
            ..self
        })
    }

    /// Draws it over a part of the screen.
    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, styles: Styles) {
        let palette = Palette(styles);
        let rows = self.rows();
        let widest = |column: fn(&Row) -> &str| rows.iter().map(|row| column(row).len()).max();
        let keys = widest(|row| row.0).unwrap_or_default();
        let about = widest(|row| row.1).unwrap_or_default();
        let words = widest(|row| row.2).unwrap_or_default();
        let lines = rows.iter().skip(self.top).map(|row| {
            Line::from(vec![
                palette.span(Label::Key, format!(" {:keys$}  ", row.0)),
                Span::raw(format!("{:about$}  ", row.1)),
                palette.span(Label::Quiet, row.2),
            ])
        });
        let wanted = |length: usize| u16::try_from(length + 2).unwrap_or(u16::MAX);
        let width = wanted(keys + about + words + 6).min(area.width);
        let height = wanted(rows.len()).min(area.height);
        let place = Rect {
            x: area.x + (area.width - width) / 2,
            y: area.y + (area.height - height) / 2,
            width,
            height,
        };
        frame.render_widget(Clear, place);
        let block = Block::bordered()
            .title(" Keys, and words at the prompt ")
            .title_bottom(format!(" {KEYS} "))
            .border_style(palette.style(Label::Key));
        let inside = block.inner(place);
        self.height = usize::from(inside.height);
        frame.render_widget(block, place);
        frame.render_widget(Paragraph::new(lines.collect::<Vec<Line<'_>>>()), inside);
    }
}
