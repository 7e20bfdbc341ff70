//! Sections that stay at the top of every list.

use dunlin_chat::request::editor::{EditableRequest, SectionId};

/// The pinned sections, in an order of their own. Pins change what is shown, never what is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins(Vec<SectionId>);

impl Pins {
    /// Whether this section is pinned.
    pub fn has(&self, id: &SectionId) -> bool {
        self.0.contains(id)
    }

    /// Pins a section below the other pins, or unpins it. `false`: it was so already.
    pub fn set(&mut self, id: &SectionId, pinned: bool) -> bool {
        let was_pinned = self.has(id);
        match pinned {
            true if !was_pinned => self.0.push(id.clone()),
            true => {}
            false => self.0.retain(|pin| pin != id),
        }
        was_pinned != pinned
    }

    /// Exchanges a pin with the one above or below it. Whether there was one.
    pub fn shift(&mut self, id: &SectionId, down: bool) -> bool {
        let Some(at) = self.0.iter().position(|pin| pin == id) else {
            return false;
        };
        let other = match down {
            true => Some(at + 1).filter(|other| *other < self.0.len()),
            false => at.checked_sub(1),
        };
        if let Some(other) = other {
            self.0.swap(at, other);
        }
        other.is_some()
    }

    /// The numbers of the pinned sections of a request, in the order of the pins.
    pub fn numbers(&self, request: &EditableRequest) -> Vec<usize> {
        self.0.iter().filter_map(|id| request.number(id)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_moved_among_each_other() {
        let tool = |name: &str| SectionId::Tool(name.to_owned());
        let mut pins = Pins::default();
        for name in ["a", "b", "c"] {
            assert!(pins.set(&tool(name), true));
        }
        assert!(!pins.set(&tool("a"), true));
        assert!(!pins.shift(&tool("a"), false));
        assert!(pins.shift(&tool("a"), true));
        assert!(!pins.shift(&tool("c"), true));
        assert!(!pins.shift(&tool("d"), true));
        assert_eq!(pins.0, ["b", "a", "c"].map(tool));
        assert!(pins.set(&tool("a"), false));
        assert!(!pins.set(&tool("a"), false));
        assert_eq!(pins.0, ["b", "c"].map(tool));
    }
}
