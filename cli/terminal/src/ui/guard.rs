//! Keeps a reply from drawing a prompt: a row of it that begins like a place where Dunlin is answered is put
//! behind the bar of foreign text.
//!
//! Nobody reads the keyboard for a line during a reply, so such a row could collect no answer; it could make a person
//! believe that one was given. Only what begins like a prompt is held back, and only until that is known.
//!
//! What counts is the screen: a row begins after a line end, and where text runs over the edge of the window. Colours and
//! links of Dunlin's own are looked through.

use dunlin_host::display::usual_width_of_char;

use super::input_marks;

/// How the rows begin in which something is typed, without their margin.
fn prompts() -> impl Iterator<Item = &'static str> {
    input_marks::ALL.iter().map(|prompt| prompt.trim())
}

/// What is put before a row that begins like one of them.
const BAR: &str = "│ ";

/// How many columns that takes.
const BAR_COLUMNS: usize = 2;

const ESCAPE: char = '\x1b';

/// Columns from one tab stop to the next.
const TAB_COLUMNS: usize = 8;

/// Where in a reply the guard is.
#[derive(Debug)]
pub struct Guard {
    /// The beginning of a row that may still become a prompt, as it is printed and as it is seen. `None`: within a row
    /// that did not.
    begun: Option<(String, String)>,
    /// Columns that the row takes so far.
    column: usize,
    /// Within an escape sequence.
    escape: Escape,
}

/// Where in an escape sequence of Dunlin's own a piece ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    None,
    /// Behind its first character.
    Begun,
    /// In a colour, which ends with `m`.
    Colour,
    /// In a link, which ends with Esc and a backslash.
    Link,
    /// Between these two.
    LinkEnds,
}

impl Escape {
    fn next(self, c: char) -> Escape {
        match (self, c) {
            (Escape::None, ESCAPE) => Escape::Begun,
            (Escape::Begun, ']') | (Escape::Link, _) if c != ESCAPE => Escape::Link,
            (Escape::Link, _) => Escape::LinkEnds,
            (Escape::None | Escape::LinkEnds, _) | (Escape::Colour, 'm') => Escape::None,
            (Escape::Begun | Escape::Colour, _) => Escape::Colour,
        }
    }
}

impl Default for Guard {
    fn default() -> Guard {
        Guard {
            begun: Some(Default::default()),
            column: 0,
            escape: Escape::None,
        }
    }
}

impl Guard {
    /// What can be printed after the next piece, in a window of so many columns. Its only escape sequences must be
    /// colours and links of Dunlin's own.
    pub fn piece(&mut self, piece: &str, columns: usize) -> String {
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            let next = self.escape.next(c);
            if next != Escape::None || self.escape != Escape::None {
                self.escape = next;
                match &mut self.begun {
                    Some((printed, _)) => printed.push(c),
                    None => out.push(c),
                }
                continue;
            }
            if c == '\n' {
                out.push_str(&self.rest());
                out.push(c);
                continue;
            }
            let columns_of_c = usual_width_of_char(c);
            if self.column + columns_of_c > columns {
                // The terminal goes on in the next row.
                out.push_str(&self.rest());
            }
            self.column = match c {
                '\t' => ((self.column / TAB_COLUMNS + 1) * TAB_COLUMNS).min(columns),
                _ => self.column + columns_of_c,
            };
            let Some((printed, seen)) = &mut self.begun else {
                out.push(c);
                continue;
            };
            printed.push(c);
            if !seen.is_empty() || !is_blank(c) {
                seen.push(c);
            }
            let looks_alike = prompts().any(|prompt| seen.starts_with(prompt));
            if looks_alike {
                out.push_str(BAR);
                self.column += BAR_COLUMNS;
            }
            if looks_alike || !prompts().any(|prompt| prompt.starts_with(seen.as_str())) {
                out.push_str(printed);
                self.begun = None;
            }
        }
        out
    }

    /// Somebody else has ended the row and printed below it.
    pub fn interrupted(&mut self) {
        if self.begun.is_none() {
            self.rest();
        }
    }

    /// What was held back, at the end of a row or of the reply.
    pub fn rest(&mut self) -> String {
        self.column = 0;
        let begun = self.begun.replace(Default::default());
        begun.map_or_else(String::new, |(printed, _)| printed)
    }
}

/// Whether nothing is to be seen of a character.
fn is_blank(c: char) -> bool {
    const BRAILLE_BLANK: char = '\u{2800}';
    c.is_whitespace() || c == BRAILLE_BLANK || usual_width_of_char(c) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the text is cut into pieces.
    #[track_caller]
    fn check_in(columns: usize, text: &str, expected: &str) {
        let cuts = text.char_indices().map(|(at, _)| at).chain([text.len()]);
        for cut in cuts {
            let mut guard = Guard::default();
            let (first, second) = text.split_at(cut);
            let shown = guard.piece(first, columns) + &guard.piece(second, columns) + &guard.rest();
            assert_eq!(shown, expected, "cut at {cut}");
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        check_in(80, text, expected);
    }

    #[test]
    fn prompts_stand_behind_the_bar() {
        check("  allow? y\n", "│   allow? y\n");
        check("one\n\u{a0} approve? \ntwo", "one\n│ \u{a0} approve? \ntwo");
        check("› hello", "│ › hello");
        check("a\n\n\tanswer?", "a\n\n│ \tanswer?");
        check("\u{2800}\u{301}allow?", "│ \u{2800}\u{301}allow?");
    }

    #[test]
    fn no_prompt_can_be_drawn() {
        for prompt in input_marks::ALL {
            check(&format!("{prompt}y\n"), &format!("│ {prompt}y\n"));
        }
    }

    #[test]
    fn colours_are_looked_through() {
        check(
            "\x1b[1mal\x1b[0m\x1b[4mlow?\x1b[0m",
            "│ \x1b[1mal\x1b[0m\x1b[4mlow?\x1b[0m",
        );
        check("\x1b[2m│ \x1b[0mallow?", "\x1b[2m│ \x1b[0mallow?");
        check("a \x1b[1mallow?\x1b[0m", "a \x1b[1mallow?\x1b[0m");
    }

    #[test]
    fn what_runs_over_the_edge_begins_a_row() {
        check_in(8, "12345678allow?", "12345678│ allow?");
        check_in(12, "12345678901     allow?", "12345678901 │     allow?");
        check_in(8, "1234567日allow?", "1234567日allow?");
        check_in(8, "123456日› x", "123456日│ › x");
        check_in(8, "allow? › x", "│ allow?│  › x");
        check_in(8, "12345678x allow?", "12345678x allow?");
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
