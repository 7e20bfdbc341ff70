//! Takes secrets out of texts that somebody else has written: servers like to quote what they refuse.
//!
//! A secret is found as formats write its characters: as they are, with the escapes of JSON, percent-encoded and with those of
//! HTML. So it does not matter whether a text is masked before a reader has decoded it or after.

use std::borrow::Cow;

/// What stands where a secret was.
pub const MASK: &str = "****";

/// The text without the secret, wherever and however it stands in it.
pub fn mask<'a>(text: &'a str, secret: &str) -> Cow<'a, str> {
    if secret.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut masked = String::new();
    let mut kept = 0;
    let mut at = 0;
    let first = secret.chars().next();
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        // Most characters begin no form of it, and need no list of ends.
        let may_begin = rest.starts_with(['\\', '%', '&']) || rest.chars().next() == first;
        if may_begin && let Some(end) = end_of(text, at, secret) {
            masked.push_str(text.get(kept..at).unwrap_or_default());
            masked.push_str(MASK);
            at = end;
            kept = end;
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    match kept {
        0 => Cow::Borrowed(text),
        _ => {
            masked.push_str(text.get(kept..).unwrap_or_default());
            Cow::Owned(masked)
        }
    }
}

/// Where the secret ends that begins at `start`; `None`: it does not. Of several ends the last.
fn end_of(text: &str, start: usize, secret: &str) -> Option<usize> {
    let mut ends = vec![start];
    for c in secret.chars() {
        ends = ends
            .into_iter()
            .flat_map(|end| ends_after(text, end, c))
            .collect();
        ends.sort_unstable();
        ends.dedup();
        if ends.is_empty() {
            return None;
        }
    }
    ends.last().copied()
}

/// Where a character ends that begins at `start`, in each form that it may have there.
fn ends_after(text: &str, start: usize, c: char) -> impl Iterator<Item = usize> {
    let rest = text.get(start..).unwrap_or_default();
    let lengths = [
        rest.starts_with(c).then(|| c.len_utf8()),
        json_short(rest, c),
        json_unicode(rest, c),
        percent(rest, c),
        html(rest, c),
    ];
    lengths
        .into_iter()
        .flatten()
        .map(move |length| start + length)
}

/// How many backslashes there are: one, or more where JSON stands in a string of JSON.
fn slashes(rest: &str) -> usize {
    rest.len() - rest.trim_start_matches('\\').len()
}

/// `\/`
fn json_short(rest: &str, c: char) -> Option<usize> {
    match (c, slashes(rest)) {
        ('\\', 2..) => Some(2),
        ('"' | '/', slashes @ 1..) => {
            let is_next = rest.get(slashes..)?.starts_with(c);
            is_next.then_some(slashes + 1)
        }
        _ => None,
    }
}

/// `\u002f`
fn json_unicode(rest: &str, c: char) -> Option<usize> {
    let slashes = slashes(rest);
    let digits = rest.get(slashes..)?.strip_prefix('u')?.get(..4)?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    (slashes > 0 && code == u32::from(c)).then_some(slashes + 5)
}

/// `%2F`, byte by byte.
fn percent(rest: &str, c: char) -> Option<usize> {
    let mut buffer = [0; 4];
    let bytes = c.encode_utf8(&mut buffer).bytes();
    let mut length = 0;
    for byte in bytes {
        let digits = rest.get(length..)?.strip_prefix('%')?.get(..2)?;
        if u8::from_str_radix(digits, 16).ok()? != byte {
            return None;
        }
        length += 3;
    }
    Some(length)
}

/// `&amp;`, `&#38;` or `&#x26;`.
fn html(rest: &str, c: char) -> Option<usize> {
    /// More digits than any character takes, zeros in front included.
    const LONGEST: usize = 12;
    let name = rest.strip_prefix('&')?;
    let name = name.get(..name.bytes().take(LONGEST).position(|byte| byte == b';')?)?;
    let named = match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => name
            .strip_prefix('#')
            .and_then(|code| match code.strip_prefix(['x', 'X']) {
                Some(code) => u32::from_str_radix(code, 16).ok(),
                None => code.parse().ok(),
            })
            .and_then(char::from_u32),
    };
    (named? == c).then_some(name.len() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_secret_is_masked_in_every_form() {
        let check = |text: &str, secret: &str, expected: &str| {
            assert_eq!(mask(text, secret), expected, "{text}");
        };
        check(
            "bad key k+y, k%2By, k%2by",
            "k+y",
            "bad key ****, ****, ****",
        );
        check(
            r#"{"error":"bad k\u002By"}"#,
            "k+y",
            r#"{"error":"bad ****"}"#,
        );
        check(r"a\/b and a/b", "a/b", "**** and ****");
        check(r#"q\"\\x q"\x"#, "q\"\\x", "**** ****");
        check(r"a\\/b a\\u002Fb", "a/b", "**** ****");
        check("a&amp;b a&#38;b a&#x26;b", "a&b", "**** **** ****");
        check("%C3%A4 ä \\u00e4", "ä", "**** **** ****");
        check("aaaa", "aa", "********");
        check("keys", "key!", "keys");
        check("k%2", "k+", "k%2");
        check("x", "", "x");
        check("", "x", "");
    }

    proptest! {
        /// Whatever a format makes of a secret, and whatever stands around it.
        #[test]
        fn nothing_of_a_secret_is_left(
            before: String,
            after: String,
            secret in "[!-~]{8,40}",
        ) {
            let json = serde_json::to_string(&secret).unwrap();
            let unicode: String = secret.chars().map(|c| format!("\\u{:04X}", u32::from(c))).collect();
            let url: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
            let json = &json[1..json.len() - 1];
            for written in [secret.as_str(), json, &unicode, &url] {
                let text = format!("{before}{written}{after}");
                let masked = mask(&text, &secret);
                prop_assert!(masked.contains(MASK), "{text}: {masked}");
                prop_assert!(!masked.contains(&secret), "{text}: {masked}");
            }
        }

        #[test]
        fn a_text_without_it_stays(text: String) {
            prop_assert_eq!(mask(&text, "\u{10ffff}\u{10fffe}"), text.as_str());
        }
    }
}
