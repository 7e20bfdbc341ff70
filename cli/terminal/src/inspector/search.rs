//! How the inspector finds texts and edits.

use dunlin_chat::request::editor::{EditableRequest, Row, RowValue};

use super::state::{Inspector, Pane};
use super::tabs::Tab;

impl Inspector {
    /// Goes to the next place of the text that was searched, from the selected row on.
    pub(super) fn find(&mut self, forward: bool, request: &EditableRequest) {
        let needle = self.needle.clone();
        if needle.is_empty() {
            self.say("Nothing was searched yet; / finds a text.");
            return;
        }
        let has = |row: &Row| match &row.value {
            RowValue::Leaf(leaf) => leaf.text().to_lowercase().contains(&needle),
            RowValue::Object(_) | RowValue::Array(_) => false,
        };
        let here = match (self.pane, self.tab) {
            (Pane::Detail, Tab::Request) => {
                self.lines.get(self.detail.at).and_then(|line| line.value)
            }
            _ => None,
        };
        let count = request.sections().len();
        for distance in 0..=count {
            let number = match forward {
                true => (self.number - 1 + distance) % count + 1,
                false => (self.number - 1 + count - distance % count) % count + 1,
            };
            let rows = request.rows(number);
            let is_after = |index: usize| match (distance, here) {
                // The selected section, before and after the selected row.
                (0, Some(here)) => match forward {
                    true => index > here,
                    false => index < here,
                },
                _ => true,
            };
            let mut found = rows
                .iter()
                .enumerate()
                .filter(|(index, row)| is_after(*index) && has(row));
            let found = match forward {
                true => found.next(),
                false => found.next_back(),
            };
            if let Some((index, row)) = found {
                let row = row.clone();
                self.reveal(number, index, &row);
                return;
            }
        }
        self.say(&format!("Not found: {}", self.needle));
    }

    /// Selects a value: its section, with nothing around it folded.
    pub(super) fn reveal(&mut self, number: usize, index: usize, row: &Row) {
        self.show(Tab::Request);
        self.markdown = false;
        self.pane = Pane::Detail;
        self.select(number);
        let steps = row.target.path.steps();
        let before = self.folded.len();
        self.folded.retain(|folded| {
            folded.section != row.target.section || !steps.starts_with(folded.path.steps())
        });
        self.folds += usize::from(before != self.folded.len());
        self.wanted = Some(index);
    }

    /// Goes to the next section that is edited or deleted.
    pub(super) fn next_edit(&mut self, forward: bool, request: &EditableRequest) {
        let count = request.sections().len();
        let mut numbers = (1..=count).map(|distance| match forward {
            true => (self.number - 1 + distance) % count + 1,
            false => (self.number - 1 + count - distance) % count + 1,
        });
        let changed =
            numbers.find(|number| request.is_deleted(*number) || request.is_edited(*number));
        match changed {
            Some(number) => {
                self.show(Tab::Request);
                self.select(number);
                let rows = request.rows(number);
                let is_edited =
                    |row: &Row| matches!(&row.value, RowValue::Leaf(leaf) if leaf.is_edited);
                if let Some(index) = rows.iter().position(is_edited)
                    && let Some(row) = rows.get(index)
                {
                    self.reveal(number, index, row);
                }
            }
            None => self.say("Nothing is edited."),
        }
    }
}
