//! Where in a text code stands.
//!
//! A tag within code is an example, whoever wrote it. What counts as code is what a reader sees as such:
//! a fence of three backticks or tildes at the start of a line, and what stands between two backticks of one
//! line.

/// Knows, character by character, whether the next one stands in code.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    /// The fence that is open: its character and its length.
    fence: Option<(char, usize)>,
    /// The run of fence characters at the start of the line so far.
    run: usize,
    run_of: char,
    /// Whether something else stands in the line before the next character.
    begun: bool,
    /// Whether the run at its start is followed by something.
    labelled: bool,
    /// Backticks in the line so far.
    ticks: usize,
}

impl Code {
    /// Whether the next character stands in code.
    pub(super) fn inside(&self) -> bool {
        let run = if self.run_of == '`' && self.run < 3 {
            self.run
        } else {
            0
        };
        self.fence.is_some() || (self.ticks + run) % 2 == 1
    }

    /// Whether the next character stands within a fence.
    pub(super) fn inside_fence(&self) -> bool {
        self.fence.is_some()
    }

    /// Whether nothing but white space stands in the line so far.
    pub(super) fn at_line_start(&self) -> bool {
        !self.begun && self.run == 0
    }

    /// Goes over a text.
    pub(super) fn pass(&mut self, text: &str) {
        for c in text.chars() {
            self.next(c);
        }
    }

    /// Goes over a character.
    pub(super) fn next(&mut self, c: char) {
        match c {
            '\n' => self.end_line(),
            '`' | '~' if !self.begun && !self.labelled && (self.run == 0 || self.run_of == c) => {
                self.run += 1;
                self.run_of = c;
            }
            _ if self.run > 0 && self.run < 3 => {
                // Too short for a fence: backticks in a line like others.
                self.ticks += if self.run_of == '`' { self.run } else { 0 };
                self.run = 0;
                self.begun = true;
                self.tick(c);
            }
            _ if self.run >= 3 => self.labelled |= !c.is_whitespace(),
            _ if c.is_whitespace() => {}
            _ => {
                self.begun = true;
                self.tick(c);
            }
        }
    }

    fn tick(&mut self, c: char) {
        if c == '`' && self.fence.is_none() {
            self.ticks += 1;
        }
    }

    fn end_line(&mut self) {
        if self.run >= 3 {
            self.fence = match self.fence {
                None => Some((self.run_of, self.run)),
                Some((c, length)) if c == self.run_of && self.run >= length && !self.labelled => {
                    None
                }
                open => open,
            };
        }
        *self = Code {
            fence: self.fence,
            ..Code::default()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks in the text, `#`, stand where the brackets say: in code or not.
    #[track_caller]
    fn check(text: &str, expected: &[bool]) {
        let mut code = Code::default();
        let mut seen = Vec::new();
        for c in text.chars() {
            if c == '#' {
                seen.push(code.inside());
            }
            code.next(c);
        }
        assert_eq!(seen, expected, "{text:?}");
    }

    #[test]
    fn code_is_what_a_reader_takes_for_it() {
        check("a # b", &[false]);
        check("a `#` #", &[true, false]);
        check("`#` b", &[true]);
        check("``#`` b", &[false]);
        check("``", &[]);
        check("a ` b\n#", &[false]);
        check("#\n```rust\n#\n```\n#", &[false, true, false]);
        check("```\n~~~\n#\n```\n#", &[true, false]);
        check("````\n```\n#\n````\n#", &[true, false]);
        check("  ```\n#\n  ```  \n#", &[true, false]);
        check("~~~\n#\n~~~\n#", &[true, false]);
        check("```\n``` not the end\n#", &[true]);
        check("a ```\n#", &[false]);
    }
}
