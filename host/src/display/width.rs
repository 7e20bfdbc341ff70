//! How many columns text takes on a terminal.
//!
//! Every terminal has a table of widths of its own, made from another version of Unicode, and shows some characters wider
//! than the table of the `unicode-width` crate says. A row that is wider than Dunlin counted runs on at the left edge of the
//! next row, where foreign text could look like a row of Dunlin's own. So whatever must fit is measured with [`width`],
//! which no common terminal exceeds. [`usual_width`] is what most terminals show, for aligning columns of text.
//!
//! Both count single characters: terminals do not agree on ligatures and sequences of emoji either.

use icu_properties::props::{
    EastAsianWidth, EmojiPresentation, GeneralCategory, HangulSyllableType,
};
use icu_properties::{CodePointMapData, CodePointSetData};
use unicode_width::UnicodeWidthChar;

/// The most columns that a common terminal shows a text in. The text must hold no control characters: they count nothing.
pub fn width(text: &str) -> usize {
    match is_plain(text) {
        true => text.len(),
        false => text.chars().map(width_of_char).sum(),
    }
}

/// The most columns that a common terminal shows a character in.
///
/// Nothing but a mark that is written over the character before it counts nothing. Characters that are wide in any table
/// count two: those that Unicode calls wide, pictures, and the symbols and numbers that Unicode calls ambiguous, which is what
/// terminals make of them. Letters that it calls ambiguous, such as Greek ones, count one: terminals show them so unless they
/// are set otherwise.
pub fn width_of_char(c: char) -> usize {
    if c.is_ascii() {
        return usize::from(!c.is_ascii_control());
    }
    let wide = CodePointMapData::<EastAsianWidth>::new().get(c);
    let is_wide = matches!(wide, EastAsianWidth::Wide | EastAsianWidth::Fullwidth);
    let is_ambiguous = wide == EastAsianWidth::Ambiguous;
    match CodePointMapData::<GeneralCategory>::new().get(c) {
        GeneralCategory::Control => 0,
        _ if is_wide || CodePointSetData::new::<EmojiPresentation>().contains(c) => 2,
        GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark => columns_by_crate(c),
        GeneralCategory::MathSymbol
        | GeneralCategory::CurrencySymbol
        | GeneralCategory::ModifierSymbol
        | GeneralCategory::OtherSymbol
        | GeneralCategory::LetterNumber
        | GeneralCategory::OtherNumber
            if is_ambiguous =>
        {
            2
        }
        _ => columns_by_crate(c).max(1),
    }
}

/// How many columns most terminals show a text in. For aligning; what must fit is measured with [`width`].
pub fn usual_width(text: &str) -> usize {
    match is_plain(text) {
        true => text.len(),
        false => text.chars().map(usual_width_of_char).sum(),
    }
}

/// How many columns most terminals show a character in.
pub fn usual_width_of_char(c: char) -> usize {
    match columns_by_crate(c) {
        0 if !super::needs_escape(c) && !is_joined(c) => width_of_char(c),
        columns => columns,
    }
}

/// Whether a character that takes no column of its own joins the one before it on most terminals: a mark over it, or the
/// second or third part of a Korean syllable.
fn is_joined(c: char) -> bool {
    is_part_of_syllable(c)
        || matches!(
            CodePointMapData::<GeneralCategory>::new().get(c),
            GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark
        )
}

/// Whether a character is the second or third part of a Korean syllable.
fn is_part_of_syllable(c: char) -> bool {
    matches!(
        CodePointMapData::<HangulSyllableType>::new().get(c),
        HangulSyllableType::VowelJamo | HangulSyllableType::TrailingJamo
    )
}

/// Whether a character without a column in the crate's table belongs to the one before it. Others are letters that few
/// fonts have, and nobody could tell where they stand.
pub(super) fn belongs_to_another(c: char) -> bool {
    is_joined(c)
        || CodePointMapData::<GeneralCategory>::new().get(c) == GeneralCategory::SpacingMark
}

/// Whether the crate's table gives a character no column.
pub(super) fn has_no_column(c: char) -> bool {
    columns_by_crate(c) == 0
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lint directs every other caller to this module"
)]
fn columns_by_crate(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// Whether each byte is a character of one column.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

#[cfg(test)]
mod tests {
    use super::super::{escape, needs_escape};
    use super::*;

    #[test]
    fn it_is_what_the_widest_terminal_shows() {
        for (text, most, usual) in [
            ("plain", 5, 5),
            ("süß", 3, 3),
            ("日本語", 6, 6),
            ("e\u{301}", 1, 1),
            ("ελληνικά кириллица", 18, 18),
            // Spacing marks, which the crate counts nothing.
            ("\u{ba4}\u{bbe}", 2, 2),
            ("a\u{302e}", 3, 3),
            ("a\u{16ff0}", 3, 3),
            // A mark that is as wide as what it stands over.
            ("か\u{3099}", 4, 2),
            // A ligature of two letters; a letter before others; a number in a square.
            ("\u{644}\u{627}", 2, 2),
            ("\u{d4e}", 1, 1),
            ("\u{3248}", 2, 1),
            ("\u{4dc0}", 2, 2),
            // Parts of a syllable, and those of a flag.
            ("\u{1112}\u{1161}\u{11ab}", 4, 2),
            ("🇩🇪", 4, 2),
            ("👍🏽", 4, 4),
            ("│→", 4, 2),
            ("…·“”", 4, 4),
        ] {
            assert_eq!((width(text), usual_width(text)), (most, usual), "{text}");
        }
    }

    #[test]
    fn only_marks_count_nothing() {
        for c in '\0'..=char::MAX {
            let category = CodePointMapData::<GeneralCategory>::new().get(c);
            let is_mark = matches!(
                category,
                GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark
            );
            let columns = width_of_char(c);
            assert!(columns >= columns_by_crate(c), "{c:?}");
            assert!(columns >= usual_width_of_char(c), "{c:?}");
            if !needs_escape(c) {
                assert!(columns > 0 || is_mark, "{}", c.escape_unicode());
            }
        }
    }

    #[test]
    fn letters_that_no_font_has_are_escaped() {
        for c in ['\u{d4e}', '\u{111c2}', '\u{a8fa}'] {
            let text = format!("a{c}");
            let is_shown = escape(&text) == text;
            assert!(!is_shown || !has_no_column(c), "{}", c.escape_unicode());
        }
    }
}
