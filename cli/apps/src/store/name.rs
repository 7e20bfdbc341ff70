//! Titles and names of apps.

/// Characters of the longest title, and of the longest name without a number.
const MAX_TITLE_CHARS: usize = 80;
const MAX_NAME_CHARS: usize = 40;

/// The name of an app whose title has no letter that a name can have.
const NAMELESS: &str = "app";

/// Whether an app can have this name: what [`name_of`] makes. It is the name of a folder, and typed.
pub fn is_name(name: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let starts = name.bytes().next().is_some_and(|byte| byte != b'-');
    starts && name.len() <= MAX_NAME_CHARS + 5 && name.bytes().all(is_known)
}

/// The name for an app with this title; the second one of a name gets a number.
pub(super) fn name_of(title: &str, number: u32) -> String {
    let mut name = String::new();
    for c in title.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            // Only between others.
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
        if name.len() == MAX_NAME_CHARS {
            break;
        }
    }
    let name = name.trim_end_matches('-');
    let name = if name.is_empty() { NAMELESS } else { name };
    match number {
        1 => name.to_owned(),
        number => format!("{name}-{number}"),
    }
}

/// A title in one line: without control characters, with single spaces, and not too long.
pub(super) fn tidy(title: &str) -> String {
    let words = title.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let title = words.join(" ");
    match title.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", title.get(..end).unwrap_or_default().trim_end()),
        None => title,
    }
}

/// What a page says in its `<title>`; `None` where it says nothing. A label, so the few character references that titles have
/// are enough.
pub fn title_of(html: &str) -> Option<String> {
    // Of the same length, so that positions hold.
    let lower = html.to_ascii_lowercase();
    let (mut from, start) = lower.match_indices("<title").find_map(|(at, tag)| {
        let after = at + tag.len();
        let next = lower.get(after..)?.chars().next()?;
        let is_tag = next == '>' || next.is_whitespace();
        is_tag.then_some((after, lower.get(after..)?))
    })?;
    from += start.find('>')? + 1;
    let length = lower.get(from..)?.find("</title")?;
    let title = html.get(from..from + length)?;
    let mut title = title.to_owned();
    for (reference, character) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        // Last, since what it makes is no reference.
        ("&amp;", "&"),
    ] {
        title = title.replace(reference, character);
    }
    let title = tidy(&title);
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_titles() {
        for (title, number, name) in [
            ("Tide table", 1, "tide-table"),
            ("Tide table", 2, "tide-table-2"),
            ("  A/B: «test» ", 1, "a-b-test"),
            ("../../etc", 1, "etc"),
            ("日本語", 1, "app"),
            ("", 3, "app-3"),
            ("-", 1, "app"),
            (
                "a title that has more letters than a name needs",
                1,
                "a-title-that-has-more-letters-than-a-nam",
            ),
        ] {
            assert_eq!(name_of(title, number), name, "{title}");
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "-a",
            "..",
            "a/b",
            "A",
            "a b",
            ".new-x",
            "é",
            &"a".repeat(46),
        ] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn titles_are_found_in_pages() {
        for (html, title) in [
            ("<title>Tide table</title>", Some("Tide table")),
            (
                "<HTML><Title lang=en>\n A &amp;\tB\n</TITLE>",
                Some("A & B"),
            ),
            ("<titles>x</titles><title>y</title>", Some("y")),
            ("<title>&amp;lt;</title>", Some("&lt;")),
            ("<title>İ x</title>", Some("İ x")),
            ("<title>\u{1b}[2J</title>", Some("[2J")),
            ("<title> </title>", None),
            ("<title>open", None),
            ("<title", None),
            ("<p>none</p>", None),
        ] {
            assert_eq!(title_of(html).as_deref(), title, "{html}");
        }
        assert_eq!(tidy(&"é".repeat(100)), format!("{}…", "é".repeat(80)));
    }
}
