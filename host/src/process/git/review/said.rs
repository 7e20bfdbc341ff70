//! What is said after a command.

/// Bytes that are said after one command.
pub(in crate::process) const MAX_SAID_BYTES: usize = 48 * 1024;

/// Bytes of each of the three kinds of sentences.
const MAX_BYTES: usize = MAX_SAID_BYTES / 3;

/// Sentences of one kind: as many as may be said, and how many there are beside them. A command can give reason for any
/// number.
#[derive(Debug)]
pub(super) struct Sentences {
    kept: Vec<String>,
    bytes: usize,
    most: usize,
    more: usize,
}

impl Sentences {
    pub(super) fn at_most(most: usize) -> Sentences {
        Sentences {
            kept: Vec::new(),
            bytes: 0,
            most,
            more: 0,
        }
    }

    pub(super) fn push(&mut self, sentence: String) {
        let bytes = self.bytes + sentence.len();
        if self.more == 0 && self.kept.len() < self.most && bytes <= MAX_BYTES {
            self.bytes = bytes;
            self.kept.push(sentence);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn into_all(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("And {} more.", self.more));
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted() {
        let mut few = Sentences::at_most(2);
        for text in ["a", "b", "c", "d"] {
            few.push(text.to_owned());
        }
        assert_eq!(few.into_all(), ["a", "b", "And 2 more."]);
        let mut long = Sentences::at_most(2);
        long.push("x".repeat(MAX_BYTES + 1));
        long.push("a".to_owned());
        assert_eq!(long.into_all(), ["And 2 more."]);
    }
}
