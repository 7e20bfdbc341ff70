//! Holds back the start of a reply that may turn out to be reasoning.
//!
//! Where the opening tag of reasoning stood in the prompt, only the closing one tells that what came before was
//! none of the answer. On a terminal that is said when it comes. A pipe takes nothing back: there, a reply
//! that begins as models begin to think waits for its end. Every other one is passed on as it comes, and a wrong
//! guess costs time, never text.

/// How models begin to think, in small letters. Whoever trained them, they learnt it from the same texts.
const OPENINGS: [&str; 27] = [
    "okay",
    "ok,",
    "alright",
    "all right",
    "hmm",
    "let me",
    "let's",
    "first",
    "so ",
    "so,",
    "well,",
    "i need",
    "i should",
    "i think",
    "i have to",
    "we need",
    "we have",
    "the user",
    "user ",
    "the question",
    "wait",
    "now,",
    "thinking",
    "好的",
    "嗯",
    "首先",
    "用户",
];

/// The longest of them, in bytes.
const LONGEST: usize = 12;

/// The longest start that is held back, in bytes. Longer thoughts exist, but a reply has to begin some time.
const MAX_HELD_BYTES: usize = 64 * 1024;

/// The start of one reply.
#[derive(Debug, Default)]
pub struct Suspicion {
    held: String,
    cleared: bool,
}

impl Suspicion {
    /// Takes the next piece, and gives what can be passed on.
    pub fn piece(&mut self, piece: &str) -> String {
        if self.cleared {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        let start = self.held.trim_start();
        let opening = start
            .chars()
            .take(LONGEST)
            .collect::<String>()
            .to_lowercase();
        let suspicious = OPENINGS.iter().any(|known| {
            opening.starts_with(known) || (start.len() < LONGEST && known.starts_with(&opening))
        });
        if suspicious && self.held.len() < MAX_HELD_BYTES {
            return String::new();
        }
        self.cleared = true;
        self.rest()
    }

    /// What was held back, at the end of the reply.
    pub fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// What was held back was reasoning. The answer comes now.
    pub fn confirm(&mut self) {
        self.held.clear();
        self.cleared = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_begins_like_a_thought_waits() {
        let check = |pieces: &[&str], passed: &str, held: &str| {
            let mut suspicion = Suspicion::default();
            let seen: String = pieces.iter().map(|piece| suspicion.piece(piece)).collect();
            assert_eq!(
                (seen.as_str(), suspicion.rest().as_str()),
                (passed, held),
                "{pieces:?}"
            );
        };
        check(&["Hello", " there"], "Hello there", "");
        check(&["The", " file says"], "The file says", "");
        check(&["Okay", ", the user wants"], "", "Okay, the user wants");
        check(&["\n", "O", "k", "ay"], "", "\nOkay");
        check(&["Ok", "lahoma"], "Oklahoma", "");
        check(&["", ""], "", "");
        let long = "x".repeat(MAX_HELD_BYTES);
        check(&["Okay", &long], &format!("Okay{long}"), "");
    }

    #[test]
    fn a_thought_is_dropped_and_the_answer_passes() {
        let mut suspicion = Suspicion::default();
        assert_eq!(suspicion.piece("Okay, I see."), "");
        suspicion.confirm();
        assert_eq!(suspicion.piece("Okay"), "Okay");
        assert_eq!(suspicion.rest(), "");
    }
}
