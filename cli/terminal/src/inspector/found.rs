//! Where a text is in a request.

use dunlin_chat::request::editor::{EditableRequest, Row};

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
        self.asked = (needle.to_owned(), request.revision());
        self.places.clear();
        for number in 1..=request.sections().len() {
            let rows = request.rows(number);
            let found: Vec<usize> = (0..rows.len())
                .filter(|index| rows.get(*index).is_some_and(|row| row.contains(needle)))
                .collect();
            for (at, index) in found.iter().enumerate() {
                // The text of a string that holds JSON is found where it is in that, and here only in its keys.
                let next = found.get(at + 1).and_then(|next| rows.get(*next));
                let is_in = |next: &Row| {
                    let row = rows.get(*index);
                    row.is_some_and(|row| {
                        next.target
                            .path
                            .steps()
                            .starts_with(row.target.path.steps())
                    })
                };
                if !next.is_some_and(is_in) {
                    self.places.push((number, *index));
                }
            }
        }
    }
}
