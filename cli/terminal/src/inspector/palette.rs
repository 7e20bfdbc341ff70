//! Labels as styles of the screen.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Span;

use super::lines::Look;
use crate::ui::style::{Label, Styles};

/// Labels as styles of the screen.
#[derive(Clone, Copy)]
pub(super) struct Palette(pub(super) Styles);

impl Palette {
    pub(super) fn style(self, label: Label) -> Style {
        let plain = Style::default();
        let bold = plain.add_modifier(Modifier::BOLD);
        let coloured = |color| match self.0.is_coloured() {
            true => plain.fg(color),
            false => plain,
        };
        match label {
            Label::Name | Label::Key | Label::Prompt => bold,
            Label::Quiet => match self.0.is_coloured() {
                true => plain.add_modifier(Modifier::DIM),
                false => plain,
            },
            Label::Target | Label::Hint | Label::Place => coloured(Color::Cyan),
            Label::Good | Label::Added => coloured(Color::Green),
            Label::Bad | Label::Removed => coloured(Color::Red),
            Label::Error => coloured(Color::Red).add_modifier(Modifier::BOLD),
            Label::Warning => coloured(Color::Yellow),
        }
    }

    pub(super) fn look(self, look: Look) -> Style {
        match look {
            Look::Plain => Style::default(),
            Look::Label(label) => self.style(label),
            Look::Markdown(style) if self.0.is_coloured() => style,
            Look::Markdown(_) => Style::default(),
        }
    }

    pub(super) fn span(self, label: Label, text: impl Into<String>) -> Span<'static> {
        Span::styled(text.into(), self.style(label))
    }
}
