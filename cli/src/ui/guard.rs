//! Keeps a reply from drawing a prompt: a line of it that begins like a place where Dunlin is answered is put
//! behind the bar of foreign text.
//!
//! Nobody reads the keyboard during a reply, so such a line could collect no answer; it could make a person
//! believe that one was given. Only what begins like a prompt is held back, and only until that is known.

/// How the lines begin in which something is typed, without their margin.
const PROMPTS: [&str; 4] = ["›", "allow?", "approve?", "answer?"];

/// What is put before a line that begins like one of them.
const BAR: &str = "│ ";

/// Where in a reply the guard is.
#[derive(Debug)]
pub struct Guard {
    /// The beginning of a line that may still become a prompt. `None`: within a line that did not.
    begun: Option<String>,
}

impl Default for Guard {
    fn default() -> Guard {
        Guard {
            begun: Some(String::new()),
        }
    }
}

impl Guard {
    /// What can be printed after the next piece, which must be filtered already.
    pub fn piece(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            if c == '\n' {
                out.push_str(&self.rest());
                out.push(c);
                continue;
            }
            let Some(begun) = &mut self.begun else {
                out.push(c);
                continue;
            };
            begun.push(c);
            let text = begun.trim_start();
            let looks_alike = PROMPTS.iter().any(|prompt| text.starts_with(prompt));
            if looks_alike {
                out.push_str(BAR);
            }
            if looks_alike || !PROMPTS.iter().any(|prompt| prompt.starts_with(text)) {
                out.push_str(begun);
                self.begun = None;
            }
        }
        out
    }

    /// What was held back, at the end of a line or of the reply.
    pub fn rest(&mut self) -> String {
        self.begun.replace(String::new()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the text is cut into pieces.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let cuts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for cut in cuts {
            let mut guard = Guard::default();
            let (first, second) = text.split_at(cut);
            let shown = guard.piece(first) + &guard.piece(second) + &guard.rest();
            assert_eq!(shown, expected, "cut at {cut}");
        }
    }

    #[test]
    fn prompts_stand_behind_the_bar() {
        check("  allow? y\n", "│   allow? y\n");
        check("one\n\u{a0} approve? \ntwo", "one\n│ \u{a0} approve? \ntwo");
        check("› hello", "│ › hello");
        check("a\n\n\tanswer?", "a\n\n│ \tanswer?");
    }

    #[test]
    fn everything_else_is_left_alone() {
        for text in [
            "",
            "\n\n",
            "allow",
            "  all of it\n    indented\n- approve of it",
            "do you allow? yes",
            "   \nанд answers",
        ] {
            check(text, text);
        }
    }
}
