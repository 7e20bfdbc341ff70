//! The help: all keys and what they do, over everything else.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::keymap::{self, Action};
use super::palette::Palette;
use crate::ui::style::{Label, Styles};
use crate::ui::wrap;

/// How it is scrolled and closed.
const KEYS: &str = "j k scroll · other keys close";

/// Keys, what they do, and the word that does the same at the prompt.
type Row = (&'static str, &'static str, &'static str);

/// Where the help is scrolled to, while it is shown.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Help {
    top: usize,
    /// How many were visible last.
    height: usize,
    /// How many there are, as they were laid out last.
    count: usize,
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
        let last = self.count.saturating_sub(page + 1);
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
        let wanted = |length: usize| u16::try_from(length + 2).unwrap_or(u16::MAX);
        let all = wanted(keys + about + words + 6);
        let (width, title) = match all <= area.width {
            true => (all, " Keys, and words at the prompt "),
            // The words can be listed at the prompt.
            false => (wanted(keys + about + 4).min(area.width), " Keys "),
        };
        let room = usize::from(width).saturating_sub(keys + 6).max(1);
        let mut lines = Vec::new();
        for row in &rows {
            if width == all {
                lines.push(Line::from(vec![
                    palette.span(Label::Key, format!(" {:keys$}  ", row.0)),
                    Span::raw(format!("{:about$}  ", row.1)),
                    palette.span(Label::Quiet, row.2),
                ]));
                continue;
            }
            for (index, piece) in wrap::rows(row.1, room).into_iter().enumerate() {
                let key = if index == 0 { row.0 } else { "" };
                lines.push(Line::from(vec![
                    palette.span(Label::Key, format!(" {key:keys$}  ")),
                    Span::raw(piece),
                ]));
            }
        }
        self.count = lines.len();
        let height = wanted(lines.len()).min(area.height);
        let place = Rect {
            x: area.x + (area.width - width) / 2,
            y: area.y + (area.height - height) / 2,
            width,
            height,
        };
        frame.render_widget(Clear, place);
        let block = Block::bordered()
            .title(title)
            .title_bottom(format!(" {KEYS} "))
            .border_style(palette.style(Label::Key));
        let inside = block.inner(place);
        self.height = usize::from(inside.height);
        frame.render_widget(block, place);
        let visible: Vec<Line<'_>> = lines.into_iter().skip(self.top).collect();
        frame.render_widget(Paragraph::new(visible), inside);
    }
}
