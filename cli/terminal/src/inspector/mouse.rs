//! What the mouse does in the inspector.

use ratatui::layout::Position;

use super::state::{Inspector, Pane};
use crate::request::paused::Paused;

impl Inspector {
    pub(super) fn press(&mut self, at: Position) {
        if let Some((_, tab)) = self.areas.tabs.iter().find(|(area, _)| area.contains(at)) {
            let tab = *tab;
            self.show(tab);
        } else if self.areas.list.contains(at) {
            self.pane = Pane::Sections;
            let row = self.list.top + usize::from(at.y - self.areas.list.y);
            if let Some(number) = self.sections.shown().get(row).copied() {
                self.select(number);
            }
        } else if self.areas.detail.contains(at) {
            let row = self.detail.top + usize::from(at.y - self.areas.detail.y);
            let again = self.pane == Pane::Detail && self.detail.at == row;
            self.pane = Pane::Detail;
            self.detail.at = row.min(self.lines.len().saturating_sub(1));
            if again {
                self.toggle_fold(None);
            }
        }
    }

    /// Moves the selected pin to where the mouse is.
    pub(super) fn drag(&mut self, at: Position, paused: &mut Paused) {
        if !self.areas.list.contains(at) {
            return;
        }
        let row = self.list.top + usize::from(at.y - self.areas.list.y);
        while let Some(position) = self.sections.position(self.number)
            && position != row
            && paused.shift_pin(self.number, position < row)
        {
            self.sections.refresh(paused);
        }
    }
}
