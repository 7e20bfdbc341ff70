//! Colours for code, line by line.
//!
//! synoptic finds what is a keyword, a string or a comment; that is all that a handful of colours can show. Grammars that
//! know more were measured: with syntect the first line of a block took up to half a second and the process grew by 15 to
//! 80 MiB; with this it is 3 ms and 3 MiB.

use synoptic::{Highlighter, TokOpt, TokenRef};

use super::look::Look;
use super::rows::Bit;

/// The longest line that is coloured, in bytes. Longer ones are data.
const MAX_COLOURED_BYTES: usize = 2000;

/// How many lines a comment or a string may have and be understood. All of it is kept until it ends.
const MAX_OPEN_LINES: usize = 2000;

/// What stands for a tab, which synoptic would replace with spaces: a character that is in no code.
const TAB: char = '\u{f809}';

/// Names of languages that are not file extensions.
const NAMES: &[(&str, &str)] = &[
    ("rust", "rs"),
    ("python", "py"),
    ("python3", "py"),
    ("javascript", "js"),
    ("jsx", "js"),
    ("mjs", "js"),
    ("node", "js"),
    ("typescript", "ts"),
    ("golang", "go"),
    ("csharp", "cs"),
    ("c#", "cs"),
    ("objective-c", "m"),
    ("objc", "m"),
    ("kotlin", "kt"),
    ("kts", "kt"),
    ("haskell", "hs"),
    ("perl", "pm"),
    ("shell", "sh"),
    ("zsh", "sh"),
    ("console", "sh"),
    ("shell-session", "sh"),
    ("shellscript", "sh"),
    ("fish", "sh"),
    ("dockerfile", "sh"),
    ("makefile", "sh"),
    ("make", "sh"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("jsonl", "json"),
    ("patch", "diff"),
    ("svg", "xml"),
    ("vue", "html"),
    ("svelte", "html"),
    ("scss", "css"),
    ("less", "css"),
    ("latex", "tex"),
    ("ini", "toml"),
    ("conf", "toml"),
    ("matlab", "m"),
    ("nushell", "nu"),
    ("mysql", "sql"),
    ("postgresql", "sql"),
    ("sqlite", "sql"),
    ("assembly", "asm"),
    ("nasm", "asm"),
];

/// How many languages are kept ready: more than one reply speaks.
const MAX_LANGUAGES: usize = 8;

/// The colours of the languages that were met; making them takes a few milliseconds.
#[derive(Debug, Default)]
pub struct Palette {
    known: Vec<(String, Option<Colours>)>,
    present: usize,
}

impl Palette {
    /// Begins a block of this language.
    pub fn choose(&mut self, language: &str) {
        if self.known.len() > MAX_LANGUAGES {
            self.known.clear();
        }
        let place = self.known.iter().position(|(known, _)| known == language);
        self.present = place.unwrap_or(self.known.len());
        match self.present() {
            Some(colours) => colours.restart(),
            None if place.is_none() => {
                let colours = Colours::of(language);
                self.known.push((language.to_owned(), colours));
            }
            None => {}
        }
    }

    /// The colours of the present block, if its language has any.
    pub fn present(&mut self) -> Option<&mut Colours> {
        self.known.get_mut(self.present)?.1.as_mut()
    }
}

/// Colours the lines of one block of code.
#[derive(Debug)]
pub struct Colours {
    highlighter: Highlighter,
}

impl Colours {
    /// For a language as it stands behind a fence. `None`: it is not known, or not worth it.
    pub fn of(language: &str) -> Option<Colours> {
        let name = language.to_ascii_lowercase();
        // Text with marks of its own would be shown differently from what it is.
        if name.is_empty() || ["md", "markdown", "csv"].contains(&name.as_str()) {
            return None;
        }
        let known = NAMES.iter().find(|(other, _)| *other == name);
        let highlighter = synoptic::from_extension(known.map_or(&name, |(_, known)| known), 1)?;
        // For what it does not know it has one that knows nothing.
        (!highlighter.atom_def.is_empty()).then_some(Colours { highlighter })
    }

    /// Begins anew.
    fn restart(&mut self) {
        self.highlighter.run(&[]);
    }

    /// The next line, without its end.
    pub fn line(&mut self, line: &str) -> Vec<Bit> {
        let plain = || vec![(line.to_owned(), Look::TEXT)];
        if line.len() > MAX_COLOURED_BYTES || line.contains(TAB) {
            return plain();
        }
        // Forgets the lines before, unless something that was begun there goes on.
        let goes_on = matches!(
            self.highlighter.tokens.last(),
            Some(TokenRef::Bounded { end: None, .. })
        );
        if !goes_on || self.highlighter.atoms.len() > MAX_OPEN_LINES {
            self.restart();
        }
        let stand_in = line.replace('\t', &TAB.to_string());
        self.highlighter.append(&stand_in);
        let last = self.highlighter.atoms.len() - 1;
        let tokens = self.highlighter.line(last, &stand_in);
        let bits: Vec<Bit> = tokens
            .into_iter()
            .map(|token| match token {
                TokOpt::Some(text, kind) => (text, look(&kind)),
                TokOpt::None(text) => (text, Look::TEXT),
            })
            .map(|(text, look)| (text.replace(TAB, "\t"), look))
            .collect();
        // Colours must never change what is there.
        let is_same = bits.iter().map(|(text, _)| text.len()).sum::<usize>() == line.len();
        if is_same { bits } else { plain() }
    }
}

fn look(kind: &str) -> Look {
    match kind {
        "comment" | "quote" => Look::QUIET,
        "string" | "character" | "insertion" => Look::STRING,
        "keyword" | "kw" | "tag" | "macros" => Look::KEYWORD,
        "digit" | "boolean" | "attribute" | "key" | "struct" | "type" => Look::VALUE,
        "deletion" => Look::REMOVED,
        "function" | "header" | "heading" | "table" => Look::STRONG,
        _ => Look::TEXT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_known_by_their_names() {
        for name in [
            "rust", "rs", "Python", "ts", "tsx", "bash", "json", "c++", "YAML", "diff", "toml",
        ] {
            assert!(Colours::of(name).is_some(), "{name}");
        }
        for name in ["", "text", "plaintext", "markdown", "nonsense"] {
            assert!(Colours::of(name).is_none(), "{name}");
        }
        for (name, known) in NAMES {
            assert!(Colours::of(name).is_some(), "{name} is {known}");
        }
    }

    #[test]
    fn lines_are_coloured_and_stay_what_they_are() {
        let mut colours = Colours::of("rust").unwrap();
        let looks = |bits: Vec<Bit>| -> Vec<_> {
            let bits = bits.into_iter().filter(|(_, look)| *look != Look::TEXT);
            bits.collect()
        };
        let bit = |text: &str, look| (text.to_owned(), look);
        assert_eq!(
            looks(colours.line("\tlet x = \"日本\"; // why")),
            [
                bit("let", Look::KEYWORD),
                bit("\"日本\"", Look::STRING),
                bit("// why", Look::QUIET),
            ]
        );
        assert_eq!(looks(colours.line("a /* b")), [bit("/* b", Look::QUIET)]);
        assert_eq!(looks(colours.line("let")), [bit("let", Look::QUIET)]);
        assert_eq!(
            looks(colours.line("c */ let")),
            [bit("c */", Look::QUIET), bit("let", Look::KEYWORD)]
        );
        assert!(colours.highlighter.atoms.len() <= 4);
        colours.line("let y = 2;");
        assert_eq!(colours.highlighter.atoms.len(), 1);
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(300))]

        #[test]
        fn no_code_is_changed(
            language in "rust|py|js|ts|sh|html|c|json|yaml|php|tex|go|css|sql|rb|diff|toml|cs|kt|lua|hs|nu|xml",
            lines in proptest::collection::vec("[a-z\"'`/*#{}<>$\\\\\t é日\u{301}=\\-!\\[\\]().0-9]{0,24}", 0..6),
        ) {
            let mut colours = Colours::of(&language).unwrap();
            for line in lines {
                let shown: String = colours.line(&line).into_iter().map(|(text, _)| text).collect();
                proptest::prop_assert_eq!(shown, line);
            }
        }
    }
}
