//! Words of command lines that people paste.

/// A word as bash, zsh and fish take it back.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    // Within single quotes fish alone reads backslashes: they stand outside, as the quotes do.
    let quoted = text.replace('\\', "\0");
    let quoted = quoted.replace('\'', "'\\''").replace('\0', "'\\\\'");
    format!("'{quoted}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_every_shell() {
        for (text, expected) in [
            ("/a/b.txt", "/a/b.txt"),
            ("r??", "'r??'"),
            ("~/x", "'~/x'"),
            ("it's", r"'it'\''s'"),
            (r"a\b", r"'a'\\'b'"),
            ("$ /usr/bin/cargo test", "'$ /usr/bin/cargo test'"),
            ("", "''"),
        ] {
            assert_eq!(shell_word(text), expected, "{text}");
        }
    }
}
