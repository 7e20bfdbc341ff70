//! Where a text is in a request.

use dunlin_chat::request::editor::{EditableRequest, Row, RowValue};

/// A value: its section's number, and its index among the section's rows.
pub(super) type Place = (usize, usize);

/// What was searched last, and where it is.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The text, and the revision of the request.
    asked: (String, u64),
    places: Vec<Place>,
}

impl Found {
    /// All places, in the order of the request.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    /// Finds the values that contain a text in small letters, unless they are known.
    pub(super) fn refresh(&mut self, needle: &str, request: &EditableRequest) {
        if self.asked.0 == needle && self.asked.1 == request.revision() {
            return;
        }
        let has = |row: &Row| match &row.value {
            RowValue::Leaf(leaf) => leaf.text().to_lowercase().contains(needle),
            RowValue::Object(_) | RowValue::Array(_) => false,
        };
        self.asked = (needle.to_owned(), request.revision());
        self.places.clear();
        for number in 1..=request.sections().len() {
            let rows = request.rows(number).into_iter().enumerate();
            let found = rows.filter(|(_, row)| has(row));
            self.places.extend(found.map(|(index, _)| (number, index)));
        }
    }
}
