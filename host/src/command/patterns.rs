//! Finds the files that a pattern stands for, so that secrets among them are asked about.
//!
//! What else a pattern stands for decides nothing: it counts only for a program that runs nothing else and writes nothing,
//! whichever files it is given.

use super::Names;

/// Files of one pattern that are looked at.
const MAX_FILES: usize = 1_000;

/// Names of one folder that are read to find them.
const MAX_NAMES: usize = 20_000;

/// The files that match a pattern, and perhaps more; `None`: there are too many, or not all can be found.
///
/// Blocks for the file system.
pub(super) fn files(pattern: &str, names: &dyn Names) -> Option<Vec<String>> {
    let mut found = vec![String::new()];
    for part in pattern.split('/') {
        let mut next = Vec::new();
        for folder in &found {
            if !part.contains(['*', '?']) {
                next.push(format!("{folder}{part}"));
                continue;
            }
            let place = match folder.as_str() {
                "" => ".",
                folder => folder.trim_end_matches('/'),
            };
            // Elsewhere no names are read.
            if !names.is_inside(place) {
                return None;
            }
            for name in names.names_in(place, MAX_NAMES)? {
                if matches(part, &name) {
                    next.push(format!("{folder}{name}"));
                }
            }
        }
        if next.len() > MAX_FILES {
            return None;
        }
        // What is no folder holds nothing.
        found = next.into_iter().map(|path| format!("{path}/")).collect();
    }
    let files = found.into_iter();
    Some(
        files
            .map(|path| path.trim_end_matches('/').to_owned())
            .collect(),
    )
}

/// Whether a name may match a part of a pattern, if `?` stands for any characters as well. Hidden files match none.
fn matches(part: &str, name: &str) -> bool {
    let mut pieces = part.split(['*', '?']);
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = pieces.collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_what_a_shell_matches_and_perhaps_more() {
        for (part, name) in [
            ("*", "a"),
            ("*.rs", "a.rs"),
            ("a*c*e", "abcde"),
            ("a*", "a"),
            ("?", "é"),
            ("a??", "abc"),
            ("a*a", "aa"),
            ("**", "a"),
            ("*é", "xé"),
        ] {
            assert!(matches(part, name), "{part} {name}");
        }
        for (part, name) in [
            ("*", ".env"),
            ("*.rs", "a.rsx"),
            ("a*a", "a"),
            ("a*", "ba"),
            ("a*c*e", "aecb"),
        ] {
            assert!(!matches(part, name), "{part} {name}");
        }
    }
}
