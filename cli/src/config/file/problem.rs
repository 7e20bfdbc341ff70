//! What serde says of a file, in words that do not need to know Rust.
//!
//! The keys that a table may have, and the values of a setting with a few, are declared to serde alone; they are taken
//! from its errors.

use dunlin_host::nearest::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Keys that earlier versions knew, and what they are called now.
const RENAMED: [(&str, &str); 2] = [("condense_at", "compact_at"), ("meaning", "semantic")];

/// What is wrong with the text of a file, and the way out, if there is a good guess.
pub(super) fn of(message: &str, text: &str, offset: usize) -> (String, Option<String>) {
    let message = in_one_line(message);
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((&message, ""));
    let names = || expected.split('`').skip(1).step_by(2);
    let document = DeTable::parse(text).ok();
    let field = found.strip_prefix("unknown field `");
    let field = field.map(|field| field.trim_end_matches('`'));
    let place = document.and_then(|document| place_of(document.get_ref(), offset, field));
    let key = place.as_ref().map(|place| place.key.as_str());
    if let (Some(place), true) = (&place, found.starts_with("unknown field ")) {
        return unknown(&place.key, &place.table, names().collect());
    }
    if let (Some(place), Some(missing)) = (&place, message.strip_prefix("missing field ")) {
        let missing = missing.trim_matches('`');
        return (format!("{}: {missing} is missing", place.header), None);
    }
    let value = found.strip_prefix("unknown variant `");
    let near = value.and_then(|value| nearest(value.trim_end_matches('`'), names()));
    let hint = near.map(|near| format!("the nearest known value is {near:?}"));
    let hint = hint.or_else(|| brackets(place.as_ref()?, &message, text, offset));
    (in_words(&message, key), hint)
}

/// Where something stands in a file.
struct Place {
    /// The last of the names that lead there.
    key: String,
    /// The table that holds it as its header is written: `[limits]`, `[[hook]]`. Empty: none does.
    table: String,
    /// The header that what stands there would have, were it a table.
    header: String,
}

/// The place of the key whose name or value is at this offset. `field`: what it is called, where that is known: `[[a.b]]` begins
/// at one place with two names.
fn place_of(table: &DeTable<'_>, offset: usize, field: Option<&str>) -> Option<Place> {
    let (mut names, lists) = path_to(table, offset)?;
    if let Some(at) = names
        .iter()
        .rposition(|name| field.is_some_and(|it| it == name))
    {
        names.truncate(at + 1);
    }
    let header = |length: usize| {
        let path = names.get(..length)?.join(".");
        let is_list = *lists.get(length.checked_sub(1)?)?;
        Some(match is_list {
            true => format!("[[{path}]]"),
            false => format!("[{path}]"),
        })
    };
    Some(Place {
        key: names.last()?.clone(),
        table: header(names.len() - 1).unwrap_or_default(),
        header: header(names.len()).unwrap_or_default(),
    })
}

/// The names that lead to the key whose name or value is at this offset, its own last, and whether each is that of a list.
fn path_to(table: &DeTable<'_>, offset: usize) -> Option<(Vec<String>, Vec<bool>)> {
    table.iter().find_map(|(name, value)| {
        let (inner, is_list) = match value.get_ref() {
            DeValue::Table(table) => (path_to(table, offset), false),
            DeValue::Array(values) => {
                let mut tables = values.iter().filter_map(|value| value.get_ref().as_table());
                (tables.find_map(|table| path_to(table, offset)), true)
            }
            _ => (None, false),
        };
        let is_within = |value: &Spanned<DeValue<'_>>| value.span().contains(&offset);
        let is_here = || {
            let values = value
                .get_ref()
                .as_array()
                .into_iter()
                .flat_map(|it| it.iter());
            name.span().start == offset || is_within(value) || values.into_iter().any(is_within)
        };
        let (mut names, mut lists) = inner.or_else(|| is_here().then(Default::default))?;
        names.insert(0, name.get_ref().to_string());
        lists.insert(0, is_list);
        Some((names, lists))
    })
}

/// The right header of a list, where it has one pair of brackets too few.
fn brackets(place: &Place, message: &str, text: &str, offset: usize) -> Option<String> {
    let before = text.get(..offset)?;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let is_header = text.get(start..)?.trim_start().starts_with('[');
    let is_table = message == "invalid type: map, expected a sequence";
    let header = &place.header;
    (is_header && is_table)
        .then(|| format!("write [{header}]: each begins one more entry of a list"))
}

fn unknown(name: &str, table: &str, known: Vec<&str>) -> (String, Option<String>) {
    let place = match table {
        "" => String::new(),
        table => format!(" in {table}"),
    };
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    let renamed = renamed.filter(|(_, new)| known.contains(new));
    let near = nearest(name, known.iter().copied()).or_else(|| abbreviated(name, &known));
    let hint = match (renamed, near) {
        (Some((_, new)), _) => format!("it is called {new:?} now"),
        (None, Some(near)) => format!("the nearest known key is {near:?}"),
        (None, None) => format!("known keys{place}: {}", known.join(", ")),
    };
    (format!("unknown key {name:?}{place}"), Some(hint))
}

/// The one name that this is short for: it begins alike, and has all of its letters in this order, as `command` has those of
/// `cmd`.
fn abbreviated<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let first = name.chars().next()?;
    let is_short_for = |long: &&&str| {
        let mut letters = long.chars();
        long.starts_with(first) && name.chars().all(|c| letters.any(|letter| letter == c))
    };
    let mut longer = known.iter().filter(is_short_for);
    let only = longer.next()?;
    longer.next().is_none().then_some(*only)
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
        // It may be a secret that stands in the wrong place.
        Some(("string", _)) if expected == "a table" => "a text".to_owned(),
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
