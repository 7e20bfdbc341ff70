//! How a piece of a reply looks. Only the sixteen colours, and of those only the ones that can be read on dark and on
//! light terminals alike; the rest is bold, dim, italic and underlined.

use crate::ui::style::Styles;

/// The look of a piece of text. Looks are laid over each other: a link in a heading is both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Look {
    bold: bool,
    dim: bool,
    underline: bool,
    italic: bool,
    /// The SGR parameter of a colour, 0 for none.
    colour: u8,
    /// The number of the address that it leads to, 0 for none.
    link: u16,
}

const RED: u8 = 31;
const GREEN: u8 = 32;
const MAGENTA: u8 = 35;
const CYAN: u8 = 36;

const NONE: Look = Look {
    bold: false,
    dim: false,
    underline: false,
    italic: false,
    colour: 0,
    link: 0,
};

const fn colour(colour: u8) -> Look {
    Look { colour, ..NONE }
}

impl Look {
    /// Running text.
    pub const TEXT: Look = NONE;
    /// What matters: `**strong**`, headings of the second level and below, the head of a table.
    pub const STRONG: Look = Look { bold: true, ..NONE };
    /// `*emphasis*`.
    pub const ITALIC: Look = Look {
        italic: true,
        ..NONE
    };
    /// The text of a link. Nothing else within a line is underlined.
    pub const UNDERLINED: Look = Look {
        underline: true,
        ..NONE
    };
    /// A heading of the first level.
    pub const TITLE: Look = Look {
        bold: true,
        underline: true,
        ..NONE
    };
    /// Beside the text: addresses, bars, rules, what is crossed out.
    pub const QUIET: Look = Look { dim: true, ..NONE };
    /// Code within text.
    pub const CODE: Look = colour(CYAN);
    /// A box that is ticked.
    pub const DONE: Look = colour(GREEN);
    /// Words of a programming language.
    pub const KEYWORD: Look = colour(MAGENTA);
    /// Strings and characters in code, lines that come in a difference.
    pub const STRING: Look = colour(GREEN);
    /// Numbers, types and names of fields in code.
    pub const VALUE: Look = colour(CYAN);
    /// Lines that go in a difference.
    pub const REMOVED: Look = colour(RED);

    /// This look as that of a link to the address with this number; 0: to none.
    #[must_use]
    pub fn leading_to(self, link: u16) -> Look {
        Look { link, ..self }
    }

    /// The number of the address that it leads to, 0 for none.
    pub fn link(self) -> u16 {
        self.link
    }

    /// This look with another over it. The upper colour wins.
    pub fn with(self, over: Look) -> Look {
        Look {
            bold: self.bold || over.bold,
            dim: self.dim || over.dim,
            underline: self.underline || over.underline,
            italic: self.italic || over.italic,
            colour: if over.colour == 0 {
                self.colour
            } else {
                over.colour
            },
            link: if over.link == 0 { self.link } else { over.link },
        }
    }

    /// Writes the text in this look. It must be free of escape sequences; the look ends with it.
    pub fn paint(self, styles: Styles, text: &str, out: &mut String) {
        if self == Look::TEXT || !styles.is_coloured() || text.is_empty() {
            out.push_str(text);
            return;
        }
        let parameters = [
            (self.bold, 1),
            (self.dim, 2),
            (self.italic, 3),
            (self.underline, 4),
            (self.colour != 0, self.colour),
        ];
        let mut lead = "\x1b[";
        for (_, parameter) in parameters.into_iter().filter(|(is_set, _)| *is_set) {
            out.push_str(lead);
            out.push_str(&parameter.to_string());
            lead = ";";
        }
        out.push('m');
        out.push_str(text);
        out.push_str("\x1b[0m");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_laid_over_each_other() {
        let check = |look: Look, expected: &str| {
            let mut out = String::new();
            look.paint(Styles::coloured(), "x", &mut out);
            assert_eq!(out, expected);
            out.clear();
            look.paint(Styles::plain(), "x", &mut out);
            assert_eq!(out, "x");
        };
        check(Look::TEXT, "x");
        check(Look::STRONG.with(Look::CODE), "\x1b[1;36mx\x1b[0m");
        check(Look::ITALIC, "\x1b[3mx\x1b[0m");
        check(Look::CODE.with(Look::TITLE), "\x1b[1;4;36mx\x1b[0m");
        check(Look::CODE.with(Look::DONE), "\x1b[32mx\x1b[0m");
    }
}
