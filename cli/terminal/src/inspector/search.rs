//! How the inspector finds texts and edits.

use dunlin_chat::request::editor::{Row, RowValue};

use super::found::Place;
use super::state::{Inspector, Pane};
use super::tabs::Tab;
use crate::request::paused::Paused;

impl Inspector {
    /// Goes to the next place of the text that was searched, from the selected row on.
    pub(super) fn find(&mut self, forward: bool, paused: &Paused) {
        let request = paused.request();
        if self.needle.is_empty() {
            self.say("Nothing was searched yet; / finds a text.");
            return;
        }
        self.found.refresh(&self.needle, request);
        let here = match (self.focus(), self.tab) {
            (Pane::Detail, Tab::Request) => self.lines.value(self.detail.at),
            _ => None,
        };
        // Where a section is selected, and no value in it, its first one counts.
        let is_before = |(number, index): &Place| match here {
            Some(here) if forward => (*number, *index) <= (self.number, here),
            Some(here) => (*number, *index) < (self.number, here),
            None if forward => *number < self.number,
            None => *number <= self.number,
        };
        let places = self.found.places();
        let (count, before) = (places.len(), places.partition_point(is_before));
        let at = match forward {
            _ if count == 0 => {
                self.say(&format!("Not found: {}", self.needle));
                return;
            }
            true => before % count,
            false => (before + count - 1) % count,
        };
        let Some((number, index)) = places.get(at).copied() else {
            return;
        };
        if let Some(row) = request.rows(number).into_iter().nth(index) {
            self.reveal((number, index), &row, paused);
            let path = row.path.unwrap_or(row.target.path);
            self.say(&format!("{} of {count} · {path}", at + 1));
        }
    }

    /// Selects a value: its section, which is listed then, with nothing around it folded.
    fn reveal(&mut self, (number, index): Place, row: &Row, paused: &Paused) {
        self.show(Tab::Request);
        self.markdown = false;
        self.pane = Pane::Detail;
        self.sections.reveal(number, paused);
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
    pub(super) fn next_edit(&mut self, forward: bool, paused: &Paused) {
        let request = paused.request();
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
                self.sections.reveal(number, paused);
                self.select(number);
                let rows = request.rows(number);
                let is_edited =
                    |row: &Row| matches!(&row.value, RowValue::Leaf(leaf) if leaf.is_edited);
                if let Some(index) = rows.iter().position(is_edited)
                    && let Some(row) = rows.get(index)
                {
                    self.reveal((number, index), row, paused);
                }
            }
            None => self.say("Nothing is edited."),
        }
    }
}
