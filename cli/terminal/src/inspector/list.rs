//! Which sections the left pane lists, and in which order.

use std::collections::HashSet;

use dunlin_chat::request::editor::EditableRequest;

use crate::request::paused::Paused;
use crate::request::pins::Pins;

/// The sections of the left pane: pins first, in an order of their own, then the others in the order of the request.
#[derive(Debug, Default)]
pub struct Sections {
    /// The text that listed sections contain, in lower case; empty: all are listed.
    filter: String,
    shown: Vec<usize>,
    /// The revision, the pins and the filter that `shown` was made for.
    made: Option<(u64, Pins, String)>,
}

impl Sections {
    /// The numbers of the sections as they are listed.
    pub fn shown(&self) -> &[usize] {
        &self.shown
    }

    /// Where a section is listed.
    pub fn position(&self, number: usize) -> Option<usize> {
        self.shown.iter().position(|shown| *shown == number)
    }

    /// The text that listed sections contain.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// Lists only the sections that contain a text, regardless of case; an empty one lists all. `false`: none contains it,
    /// and nothing is changed.
    pub fn set_filter(&mut self, text: &str, paused: &Paused) -> bool {
        let wanted = text.to_lowercase();
        let before = std::mem::replace(&mut self.filter, wanted.clone());
        self.refresh(paused);
        let is_found = self.filter == wanted;
        if !is_found {
            self.filter = before;
            self.refresh(paused);
        }
        is_found
    }

    /// Lists all sections where this one is not listed.
    pub fn reveal(&mut self, number: usize, paused: &Paused) {
        if self.position(number).is_none() {
            self.set_filter("", paused);
        }
    }

    /// The request is another one, though its revision may be the same.
    pub fn forget(&mut self) {
        self.made = None;
    }

    /// Lists the sections again, where something has changed; all of them where none contains the filter any more.
    pub fn refresh(&mut self, paused: &Paused) {
        let request = paused.request();
        let made = (
            request.revision(),
            paused.pins().clone(),
            self.filter.clone(),
        );
        if self.made.as_ref() == Some(&made) {
            return;
        }
        let pins = paused.pins().numbers(request);
        let pinned: HashSet<usize> = pins.iter().copied().collect();
        let others = (1..=request.sections().len()).filter(|number| !pinned.contains(number));
        let all = pins.iter().copied().chain(others);
        let filter = self.filter.as_str();
        self.shown = all
            .filter(|number| filter.is_empty() || contains(request, *number, filter))
            .collect();
        self.made = Some(made);
        if self.shown.is_empty() && !self.filter.is_empty() {
            self.filter.clear();
            self.refresh(paused);
        }
    }
}

/// Whether a section contains a text that is given in lower case.
fn contains(request: &EditableRequest, number: usize, text: &str) -> bool {
    let section = request.section(number);
    let in_label = section.is_some_and(|section| section.label.to_lowercase().contains(text));
    in_label || request.rows(number).iter().any(|row| row.contains(text))
}
