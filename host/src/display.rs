//! Makes foreign text safe to show: what a model, a plugin or a server wrote can neither move the
//! cursor nor hide.

use std::borrow::Cow;

/// Escapes everything that could act on a terminal or deceive a reader: control characters (newline
/// and tab included), bidirectional overrides, zero-width and other invisible characters. For one
/// line of a prompt or a log. Borrowed when there was nothing to escape.
pub fn escape(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| !needs_escape(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Like [`escape`], but keeps newlines and tabs: for text of several lines, such as a reply.
pub fn escape_multiline(text: &str) -> Cow<'_, str> {
    let keep = |c: char| c == '\n' || c == '\t';
    if text.chars().all(|c| keep(c) || !needs_escape(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if !keep(c) && needs_escape(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
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

/// Whether a character acts on a terminal or cannot be seen: it carries text past whoever reads it.
pub fn needs_escape(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{034F}' | '\u{061C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202F}'
            | '\u{205F}'..='\u{206F}'
            | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{1D173}'..='\u{1D17A}'
            | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(
            escape("Read file 'süß 日本.rs' (lines 1-2)?"),
            Cow::Borrowed(_)
        ));
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
        ] {
            assert_eq!(escape(raw), shown);
        }
        assert_eq!(escape_multiline("a\n\tb\x07"), "a\n\tb\\u{7}");
    }

    #[test]
    fn long_text_keeps_both_ends() {
        assert_eq!(shorten("abcdefghij", 7), "abc…hij");
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("abcd", 1), "…");
    }
}
