//! Labels and their looks: code says what a text is, this table says how that looks.

use crate::variables::{self, Variables};

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// The name of something, such as a tool.
    Name,
    /// What is acted on: a path, a URL.
    Target,
    /// Beside the point, but there for who looks.
    Quiet,
    Good,
    /// Something failed or was refused.
    Bad,
    /// Something to think about.
    Warning,
    /// The heading of an error.
    Error,
    /// The way out.
    Hint,
    Added,
    Removed,
    /// Where in a file.
    Place,
    /// What can be typed.
    Key,
    /// Where something is typed.
    Prompt,
}

/// SGR parameters of each label. The sixteen colours only: they follow the user's own theme.
const LOOKS: &[(Label, &str)] = &[
    (Label::Name, "1"),
    (Label::Target, "36"),
    (Label::Quiet, "2"),
    (Label::Good, "32"),
    (Label::Bad, "31"),
    (Label::Warning, "33"),
    (Label::Error, "1;31"),
    (Label::Hint, "36"),
    (Label::Added, "32"),
    (Label::Removed, "31"),
    (Label::Place, "36"),
    (Label::Key, "1"),
    (Label::Prompt, "1;36"),
];

/// When to use colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    Always,
    Never,
}

/// Whether one output has colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Styles {
    coloured: bool,
    /// Whether the terminal opens links.
    links: bool,
}

impl Styles {
    /// No colours.
    pub const fn plain() -> Styles {
        Styles {
            coloured: false,
            links: false,
        }
    }

    pub const fn coloured() -> Styles {
        Styles {
            coloured: true,
            links: false,
        }
    }

    /// Decides for one output. The flag wins over the variables, they win over what the output is.
    pub fn decide(choice: ColorChoice, environment: &dyn Variables, is_terminal: bool) -> Styles {
        let is_zero = |name| environment.get(name).map(|value| value == "0");
        let coloured = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if environment.get(variables::NO_COLOR).is_some() => false,
            ColorChoice::Auto if is_zero(variables::CLICOLOR_FORCE) == Some(false) => true,
            ColorChoice::Auto => {
                is_terminal
                    && is_zero(variables::CLICOLOR) != Some(true)
                    && environment
                        .get(variables::TERM)
                        .is_none_or(|term| term != "dumb")
            }
        };
        Styles {
            coloured,
            links: coloured && is_terminal && environment.shows_links(),
        }
    }

    /// The same without links.
    #[must_use]
    pub const fn without_links(self) -> Styles {
        Styles {
            links: false,
            ..self
        }
    }

    /// Colours and links.
    #[cfg(test)]
    pub const fn linked() -> Styles {
        Styles {
            coloured: true,
            links: true,
        }
    }

    /// Whether the terminal opens links (OSC 8).
    pub fn shows_links(self) -> bool {
        self.links
    }

    pub fn is_coloured(self) -> bool {
        self.coloured
    }

    /// The text in the look of its label. The text must be escaped already.
    pub fn paint(self, label: Label, text: &str) -> String {
        let look = LOOKS.iter().find(|(known, _)| *known == label);
        match look {
            Some((_, look)) if self.coloured && !text.is_empty() => {
                format!("\x1b[{look}m{text}\x1b[0m")
            }
            _ => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn colours_are_decided_once() {
        let check = |choice, variables: &[(&str, &str)], is_terminal, expected| {
            let environment: BTreeMap<_, _> = variables.iter().copied().collect();
            let styles = Styles::decide(choice, &environment, is_terminal);
            assert_eq!(
                styles.is_coloured(),
                expected,
                "{choice:?} {variables:?} {is_terminal}"
            );
        };
        use ColorChoice::{Always, Auto, Never};
        check(Auto, &[], true, true);
        check(Auto, &[], false, false);
        check(Auto, &[("NO_COLOR", "1")], true, false);
        check(Auto, &[("NO_COLOR", "")], true, true);
        check(Auto, &[("CLICOLOR", "0")], true, false);
        check(Auto, &[("CLICOLOR_FORCE", "1")], false, true);
        check(Auto, &[("CLICOLOR_FORCE", "0")], false, false);
        check(
            Auto,
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
            true,
            false,
        );
        check(Auto, &[("TERM", "dumb")], true, false);
        check(Always, &[("NO_COLOR", "1")], false, true);
        check(Never, &[("CLICOLOR_FORCE", "1")], true, false);
    }

    #[test]
    fn every_label_has_a_look_and_plain_has_none() {
        for (label, look) in LOOKS {
            assert_eq!(
                Styles::coloured().paint(*label, "x"),
                format!("\x1b[{look}mx\x1b[0m")
            );
            assert_eq!(Styles::plain().paint(*label, "x"), "x");
        }
        assert_eq!(Styles::coloured().paint(Label::Key, ""), "");
    }
}
