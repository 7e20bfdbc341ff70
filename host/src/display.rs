//! Makes foreign text safe to show: what a model, a plugin or a server wrote can neither move the
//! cursor nor hide.
//!
//! What is escaped follows from the properties that Unicode gives each character, not from a list of those known to be
//! dangerous: everything that acts, and everything that nobody can see.

mod command;
mod width;

use std::borrow::Cow;
use std::path::Path;

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory};
use icu_properties::{CodePointMapData, CodePointSetData};

pub use self::command::{own_command, shell_word};
pub use self::width::{usual_width, usual_width_of_char, width, width_of_char};

/// How many characters without a width of their own, such as accents, one character may carry. Writing systems need up to
/// four; more of them paint over the rows above and below.
const MAX_MARKS: usize = 4;

/// The only symbol whose picture is empty.
const BRAILLE_BLANK: char = '\u{2800}';

/// Escapes everything that could act on a terminal or deceive a reader: control characters (newline
/// and tab included), bidirectional overrides, characters that cannot be seen, spaces other than the usual one, and
/// more accents than a character can have. For one line of a prompt or a log. Borrowed when there was nothing to escape.
pub fn escape(text: &str) -> Cow<'_, str> {
    escape_unless(text, |_| false, |c| needs_escape(c) || is_blank(c))
}

/// Like [`escape`], but keeps newlines, tabs and the spaces of all languages: for text of several lines, such as a reply.
pub fn escape_multiline(text: &str) -> Cow<'_, str> {
    escape_unless(text, |c| matches!(c, '\n' | '\t'), needs_escape)
}

/// One line, escaped, with single spaces: many in a row could push text to where it would be misread.
pub fn one_line(text: &str) -> String {
    let text = escape(text);
    let words = text.split(|c: char| c.is_whitespace() || c == BRAILLE_BLANK);
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn escape_unless(
    text: &str,
    keeps: impl Fn(char) -> bool,
    escapes: impl Fn(char) -> bool,
) -> Cow<'_, str> {
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~') || keeps(char::from(byte)) && byte < 0x80;
    if text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut marks = Marks::default();
    for c in text.chars() {
        if keeps(c) {
            marks = Marks::default();
            out.push(c);
        } else if !escapes(c) && marks.admit(c) {
            out.push(c);
        } else {
            marks = Marks::default();
            match c {
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                c => out.extend(c.escape_unicode()),
            }
        }
    }
    match out == text {
        true => Cow::Borrowed(text),
        false => Cow::Owned(out),
    }
}

/// Shortens in the middle to at most `max` characters, with `…` where something is missing.
pub fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= max {
        return Cow::Borrowed(text);
    }
    let tail = max.saturating_sub(1) / 2;
    let head = max.saturating_sub(1) - tail;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    Cow::Owned(format!("{start}…{end}"))
}

/// Whether a character acts on a terminal or cannot be seen, so that it carries text past whoever reads it: a control or
/// format character, a separator of lines or paragraphs, one that programs are to ignore where they cannot show it
/// (variation selectors, fillers, tags), or one without a meaning that everybody knows (unassigned, private use).
pub fn needs_escape(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    matches!(
        category,
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Unassigned
            | GeneralCategory::PrivateUse
            | GeneralCategory::Surrogate
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// Whether a character looks like a space and is another one: a shell takes it as part of a word.
fn is_blank(c: char) -> bool {
    let is_space =
        || CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::SpaceSeparator;
    !c.is_ascii() && (c == BRAILLE_BLANK || is_space())
}

/// Counts the marks that a character carries, as text goes by.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    /// How many more may follow. None at the start of a line: they would join what stands before the text.
    room: usize,
}

impl Marks {
    /// Takes in the next character that is not escaped for another reason. `false`: it has no width, and would join a
    /// character that carries enough, or none of this text, or it is not a mark at all.
    pub fn admit(&mut self, c: char) -> bool {
        if !width::has_no_column(c) {
            self.room = MAX_MARKS;
            return true;
        }
        let fits = self.room > 0 && width::belongs_to_another(c);
        self.room = self.room.saturating_sub(1);
        fits
    }
}

/// A number with its thousands set apart, for people.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes, for people: `933 bytes`, `45 kB`, `8.3 MB`, `98 MB`.
pub fn size(bytes: u64) -> String {
    const KB: u64 = 1_000;
    const MB: u64 = 1_000 * KB;
    const GB: u64 = 1_000 * MB;
    let with_tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit / (unit / 10));
    match bytes {
        1 => "1 byte".to_owned(),
        KB..MB => format!("{} kB", bytes / KB),
        // Limits of some MB are compared with what goes a little beyond them.
        MB..10_000_000 => format!("{} MB", with_tenths(MB)),
        10_000_000..GB => format!("{} MB", bytes / MB),
        GB.. => format!("{} GB", with_tenths(GB)),
        _ => format!("{bytes} bytes"),
    }
}

/// An error and its causes in one line, for places that take one string.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// `a`, `a and b`, `a, b and c`.
pub fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A path as guests are told of it: theirs to write, so escaped like everything they could forge.
pub(crate) fn shown(path: &Path) -> String {
    escape(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        for (bytes, expected) in [
            (0, "0 bytes"),
            (1, "1 byte"),
            (999, "999 bytes"),
            (4_200, "4 kB"),
            (999_999, "999 kB"),
            (8_388_608, "8.3 MB"),
            (98_362_432, "98 MB"),
            (1_117_320_736, "1.1 GB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn one_line_has_no_holes() {
        assert_eq!(one_line("a   b  c\td"), "a b c\\td");
        assert_eq!(one_line("a\u{2800}\u{3000}b"), "a\\u{2800}\\u{3000}b");
    }

    #[test]
    fn plain_text_is_borrowed() {
        for text in [
            "Read file 'süß 日本.rs' (lines 1-2)?",
            "e\u{301}a\u{308}, ภาษาไทย, हिन्दी, עִבְרִית, 각, \u{1112}\u{1161}\u{11ab}",
            "🎉 🇩🇪 👍🏽",
        ] {
            assert!(matches!(escape(text), Cow::Borrowed(_)), "{}", escape(text));
        }
    }

    #[test]
    fn nothing_acts_on_the_terminal_or_hides() {
        for (raw, shown) in [
            ("a\x1b[2Jb", "a\\u{1b}[2Jb"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("evil\u{202e}txt.exe", "evil\\u{202e}txt.exe"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("tag\u{e0041}", "tag\\u{e0041}"),
            (
                "rm\u{a0}-r\u{3000}x\u{2800}y",
                "rm\\u{a0}-r\\u{3000}x\\u{2800}y",
            ),
        ] {
            assert_eq!(escape(raw), shown);
        }
        assert_eq!(escape_multiline("a\n\tb\x07"), "a\n\tb\\u{7}");
        assert_eq!(
            escape_multiline("«\u{a0}oui\u{202f}»"),
            "«\u{a0}oui\u{202f}»"
        );
    }

    #[test]
    fn what_cannot_be_seen_is_escaped_by_its_properties() {
        for c in [
            '\u{7f}',
            '\u{80}',
            '\u{ad}',
            '\u{34f}',
            '\u{378}',
            '\u{61c}',
            '\u{115f}',
            '\u{1160}',
            '\u{17b4}',
            '\u{180b}',
            '\u{180e}',
            '\u{180f}',
            '\u{200d}',
            '\u{2028}',
            '\u{2029}',
            '\u{2065}',
            '\u{2069}',
            '\u{3164}',
            '\u{e000}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff0}',
            '\u{fff9}',
            '\u{ffff}',
            '\u{13430}',
            '\u{1bca0}',
            '\u{1d173}',
            '\u{e0001}',
            '\u{e0101}',
            '\u{f0000}',
            '\u{10ffff}',
        ] {
            assert!(needs_escape(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn no_lone_character_without_a_width_is_shown() {
        for c in '\0'..=char::MAX {
            let mut buffer = [0; 4];
            let text = &*c.encode_utf8(&mut buffer);
            if width::has_no_column(c) {
                assert_ne!(escape(text), text, "{}", c.escape_unicode());
            }
        }
    }

    #[test]
    fn marks_are_bounded() {
        let zalgo = format!("a{}b", "\u{301}".repeat(7));
        let shown = format!("a{}{}b", "\u{301}".repeat(4), "\\u{301}".repeat(3));
        assert_eq!(escape(&zalgo), shown);
        assert_eq!(escape("\u{301}a"), "\\u{301}a");
        assert_eq!(escape_multiline("a\n\u{301}"), "a\n\\u{301}");
    }

    #[test]
    fn long_text_keeps_both_ends() {
        assert_eq!(shorten("abcdefghij", 7), "abc…hij");
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("abcd", 1), "…");
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_shown_is_seen(
            raw in proptest::collection::vec(
                proptest::prop_oneof![
                    proptest::char::any(),
                    proptest::char::range('\u{0}', '\u{ff}'),
                    proptest::char::range('\u{300}', '\u{36f}'),
                    proptest::char::range('\u{2000}', '\u{206f}'),
                ],
                0..60,
            )
        ) {
            let raw: String = raw.into_iter().collect();
            for (shown, keeps) in [(escape(&raw), ""), (escape_multiline(&raw), "\n\t")] {
                let mut marks = 0;
                for (index, c) in shown.chars().enumerate() {
                    if keeps.contains(c) {
                        marks = MAX_MARKS;
                        continue;
                    }
                    proptest::prop_assert!(!needs_escape(c), "{}", c.escape_unicode());
                    marks = match width::has_no_column(c) {
                        true if index == 0 => MAX_MARKS + 1,
                        true => marks + 1,
                        false => 0,
                    };
                    proptest::prop_assert!(marks <= MAX_MARKS, "{shown:?}");
                }
                // What is safe stays as it is.
                let again = match keeps {
                    "" => escape(&shown).into_owned(),
                    _ => escape_multiline(&shown).into_owned(),
                };
                proptest::prop_assert_eq!(again, shown);
            }
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        let check = |number, text: &str| assert_eq!(grouped(number), text);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(12_345, "12,345");
        check(1_234_567, "1,234,567");
    }
}
