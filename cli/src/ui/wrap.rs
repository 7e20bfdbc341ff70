//! Text on as many rows as it takes, broken between words.

use unicode_width::UnicodeWidthStr;

/// The text in rows of at most so many columns, but for words that are longer.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split(' ') {
        match rows.last_mut() {
            Some(row) if row.is_empty() => row.push_str(word),
            Some(row) if row.width() + 1 + word.width() <= columns => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

/// The same behind a margin: what stands there on the first row, and as much room below it.
pub fn hanging(first: &str, margin: usize, text: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(margin);
    let rows = wrapped(text, columns.saturating_sub(margin));
    let mut before = Some(first);
    let row = |row: String| format!("{}{row}", before.take().unwrap_or(&indent));
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_break_between_words() {
        let check = |columns, expected: &[&str]| {
            assert_eq!(
                hanging("a: ", 3, "one two three-and-more", columns),
                expected
            );
        };
        check(80, &["a: one two three-and-more"]);
        check(12, &["a: one two", "   three-and-more"]);
        check(0, &["a: one", "   two", "   three-and-more"]);
    }
}
