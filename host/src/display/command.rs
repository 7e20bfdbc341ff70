//! Commands that are printed to be copied into a shell.

use super::escape;

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

/// A command of Dunlin with these words behind its name, to be copied into a shell: each word is quoted where a shell would
/// read anything into it, and escaped. Every command that Dunlin prints and that holds a name is made here.
pub fn own_command(words: &[&str]) -> String {
    let words = words.iter().map(|word| shell_word(word));
    let words: Vec<String> = [String::from("dunlin")].into_iter().chain(words).collect();
    escape(&words.join(" ")).into_owned()
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

    #[test]
    fn no_word_of_a_command_is_more_than_a_word() {
        assert_eq!(own_command(&["--resume", "k7w2"]), "dunlin --resume k7w2");
        assert_eq!(
            own_command(&["--project", "/home/ada/shore'; touch x; '"]),
            r"dunlin --project '/home/ada/shore'\''; touch x; '\'''"
        );
        assert_eq!(
            own_command(&["mcp", "login", "$(id)\u{1b}[2J\n"]),
            r"dunlin mcp login '$(id)\u{1b}[2J\n'"
        );
    }
}
