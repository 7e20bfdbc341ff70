//! Words of command lines that people paste, and the rows of such lines.

use dunlin_host::display::width;

/// The narrowest row of a command, in columns.
const MIN_COLUMNS: usize = 16;

/// A command in rows of at most `columns` columns that a shell takes for the same command when they are copied together:
/// each but the last ends with a backslash. `command` is made of words as [`shell_word`](dunlin_host::display::shell_word) writes them.
///
/// A row that begins between two words is indented. One that begins within a word begins with a quote at the left edge,
/// because a space would end the word there, and because foreign text must not begin a row.
pub fn rows(command: &str, indent: usize, columns: usize) -> Vec<String> {
    let columns = columns.max(indent + MIN_COLUMNS);
    let mut rows = Vec::new();
    let mut row = String::new();
    for word in words(command) {
        let begins = row.is_empty();
        // What stands behind it: a space and the backslash.
        if !begins && width(&row) + 1 + width(word) + 2 > columns {
            rows.push(format!("{row} \\"));
            row.clear();
        }
        match row.is_empty() {
            true => row = " ".repeat(indent),
            false => row.push(' '),
        }
        if width(&row) + width(word) + 2 <= columns {
            row.push_str(word);
            continue;
        }
        let mut is_quoted = false;
        let mut rest = word.chars();
        while let Some(c) = rest.next() {
            let mut unit = String::from(c);
            if c == '\\' && !is_quoted {
                unit.extend(rest.next());
            }
            // What stands behind it: the end of the quotation and the backslash.
            if width(&row) + width(&unit) + 2 > columns {
                row.push_str(if is_quoted { "'\\" } else { "\\" });
                rows.push(std::mem::take(&mut row));
                row.push_str(if is_quoted { "'" } else { "''" });
            }
            is_quoted ^= c == '\'';
            row.push_str(&unit);
        }
    }
    rows.push(row);
    rows
}

/// The words of a command, quotes included.
fn words(command: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    command.split(move |c| {
        let was_escaped = std::mem::take(&mut is_escaped);
        is_quoted ^= c == '\'' && !was_escaped;
        is_escaped = c == '\\' && !is_quoted && !was_escaped;
        c == ' ' && !is_quoted && !was_escaped
    })
}

#[cfg(test)]
mod tests {
    use dunlin_host::display::shell_word;

    use super::*;

    #[test]
    fn a_long_command_is_pasted_as_one() {
        assert_eq!(
            rows("dunlin permissions ask run '$ /usr/bin/make test'", 2, 34),
            [
                "  dunlin permissions ask run \\",
                "  '$ /usr/bin/make test'"
            ]
        );
        assert_eq!(
            rows("dunlin ask run '= echo one; echo two; echo three'", 2, 24),
            [
                "  dunlin ask run \\",
                "  '= echo one; echo tw'\\",
                "'o; echo three'"
            ]
        );
        assert_eq!(
            rows("ask /a/rather/long/path/of/a/file", 0, 16),
            ["ask \\", "/a/rather/long\\", "''/path/of/a/f\\", "''ile"]
        );
        // As a shell reads it, it is the command that it was.
        for word in [
            "= echo 'a b'; echo \"c\"; printf 'x\\n' | wc -l && echo done",
            "/home/ada/日本語/日本語/日本語/and a space",
            &"'\\'".repeat(30),
        ] {
            let command = format!("dunlin permissions ask run {}", shell_word(word));
            for columns in 0..100 {
                let rows = rows(&command, 4, columns);
                let fits = |row: &String| width(row) <= columns.max(4 + MIN_COLUMNS);
                assert!(rows.iter().all(fits), "{columns}: {rows:?}");
                let own = |row: &String| row.starts_with("    ") || row.starts_with('\'');
                assert!(rows.iter().all(own), "{columns}: {rows:?}");
                let pasted = rows.join("\n").replace("\\\n", "");
                assert_eq!(read(&pasted), read(&command), "{columns}: {rows:?}");
            }
        }
    }

    #[test]
    fn no_row_is_wider_than_the_widest_terminal_shows_it() {
        for text in crate::approval::text::tests::texts_of_all_characters() {
            let command = format!("run {}", shell_word(&text));
            let rows = rows(&command, 2, 30);
            let fits = |row: &String| width(row) <= 30;
            assert!(rows.iter().all(fits), "{rows:?}");
            assert_eq!(read(&rows.join("\n").replace("\\\n", "")), read(&command));
        }
    }

    /// The words that a shell makes of a command.
    fn read(command: &str) -> Vec<String> {
        let mut read = Vec::new();
        for word in words(command).filter(|word| !word.is_empty()) {
            let (mut text, mut is_quoted, mut is_escaped) = (String::new(), false, false);
            for c in word.chars() {
                match c {
                    _ if is_escaped => (is_escaped, text) = (false, text + c.to_string().as_str()),
                    '\'' => is_quoted = !is_quoted,
                    '\\' if !is_quoted => is_escaped = true,
                    c => text.push(c),
                }
            }
            read.push(text);
        }
        read
    }
}
