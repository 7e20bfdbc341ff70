//! What serde says of a file, in words that do not need to know Rust.
//!
//! The keys that a table may have, and the values of a setting with a few, are declared to serde alone; they are taken
//! from its errors.

use dunlin_host::nearest::nearest;
use toml::de::DeTable;

/// Keys that earlier versions knew, and what they are called now.
const RENAMED: [(&str, &str); 1] = [("condense_at", "compact_at")];

/// What is wrong with the text of a file, and the way out, if there is a good guess.
pub(super) fn of(message: &str, text: &str, offset: usize) -> (String, Option<String>) {
    let message = in_one_line(message);
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((&message, ""));
    let names = || expected.split('`').skip(1).step_by(2);
    let document = DeTable::parse(text).ok();
    let path = document.and_then(|document| path_to(document.get_ref(), offset));
    let (key, tables) = match path.as_deref().and_then(|path| path.split_last()) {
        Some((key, tables)) => (Some(key.as_str()), tables),
        None => (None, &[][..]),
    };
    if let Some(key) = key.filter(|_| found.starts_with("unknown field ")) {
        return unknown(key, tables, names().collect());
    }
    let value = found.strip_prefix("unknown variant `");
    let near = value.and_then(|value| nearest(value.trim_end_matches('`'), names()));
    let hint = near.map(|near| format!("the nearest known value is {near:?}"));
    (in_words(&message, key), hint)
}

/// The names that lead to the key whose name or value is at this place, its own last.
fn path_to(table: &DeTable<'_>, offset: usize) -> Option<Vec<String>> {
    table.iter().find_map(|(name, value)| {
        let inner = value.get_ref().as_table();
        let inner = inner.and_then(|table| path_to(table, offset));
        let is_here = || name.span().start == offset || value.span().contains(&offset);
        let mut path = inner.or_else(|| is_here().then(Vec::new))?;
        path.insert(0, name.get_ref().to_string());
        Some(path)
    })
}

fn unknown(name: &str, tables: &[String], known: Vec<&str>) -> (String, Option<String>) {
    let place = match tables {
        [] => String::new(),
        tables => format!(" in [{}]", tables.join(".")),
    };
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    let renamed = renamed.filter(|(_, new)| known.contains(new));
    let hint = match (renamed, nearest(name, known.iter().copied())) {
        (Some((_, new)), _) => format!("it is called {new:?} now"),
        (None, Some(near)) => format!("the nearest known key is {near:?}"),
        (None, None) => format!("known keys{place}: {}", known.join(", ")),
    };
    (format!("unknown key {name:?}{place}"), Some(hint))
}

/// What serde says of a value, in words that do not need to know Rust.
fn in_words(message: &str, key: Option<&str>) -> String {
    let subject = key.unwrap_or("this");
    // Ours, of a value that is out of range.
    if message.starts_with("must be ") {
        return format!("{subject} {message}");
    }
    // An address without its scheme.
    if message.starts_with("relative URL without a base") {
        return format!("{subject} must start with http:// or https://");
    }
    let stripped = ["invalid type: ", "invalid value: ", "unknown variant "]
        .iter()
        .find_map(|start| message.strip_prefix(start));
    let Some((found, expected)) = stripped.and_then(|rest| rest.rsplit_once(", expected ")) else {
        return match key {
            Some(key) => format!("{key}: {message}"),
            None => message.to_owned(),
        };
    };
    let expected = match expected {
        "u32" if found.starts_with("integer `-") => return format!("{subject} must be at least 0"),
        "u32" | "i64" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a string" => "a text",
        "a map" => "a table",
        table if table.starts_with("struct ") => "a table",
        other => other,
    };
    let found = match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "floating", value)) => {
            value.trim_start_matches("point ").replace('`', "")
        }
        Some(("boolean", value)) => value.replace('`', ""),
        _ => match found {
            "sequence" => "a list".to_owned(),
            "map" => "a table".to_owned(),
            other => other.to_owned(),
        },
    };
    format!("{subject} must be {expected}, not {found}")
}

/// The parser's messages may have several lines; an error of ours has one.
pub(super) fn in_one_line(message: &str) -> String {
    message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}
