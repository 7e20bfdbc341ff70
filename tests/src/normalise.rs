//! Takes out of an output what differs from run to run.

use std::path::Path;

/// Stands for how long ago something was.
const AGE: &str = "[AGE]";

/// Names the folders of the test, ports on loopback and measured times: `[PROJECT]`, `[HOME]`,
/// `[ROOT]`, `127.0.0.1:[PORT]`, `[TIME]`.
///
/// A time is a number with `ms` or `µs`, also `<1 ms`, or a fraction of seconds; whole seconds are limits,
/// which belong to the message.
pub(crate) fn normalise(text: &str, root: &Path) -> String {
    let root = root.display().to_string();
    let text = text
        .replace(&format!("{root}/project"), "[PROJECT]")
        .replace(&format!("{root}/home"), "[HOME]")
        .replace(&root, "[ROOT]");
    times(&ports(&text))
}

/// Takes out of a normalised text what a snapshot cannot have besides:
///
/// - `[ID]`: ids of sessions, digests, also shortened ones, and other words of 8, 16, 32 or 64 hexadecimal digits. Another
///   compiler makes other components of the guests.
/// - `[DATE]`: a day, with the time if one follows.
/// - `[AGE]`: how long ago something was, up to an hour. What stands in a column behind it stays where it is.
/// - `[SIZE]`: how large a component is, and from a thousand on tokens, and bytes that are counted with them: most of both are
///   the declarations of tools.
/// - `[ROOT]`: the folder of the test where its path is shortened in the middle.
pub(crate) fn for_snapshot(text: &str, root: &Path) -> String {
    let text = shortened_roots(text, &root.display().to_string());
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(char::is_alphanumeric) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (token, behind) = token(from);
        rest = behind;
        let is_size = is_number(token)
            && (behind.starts_with(" kB\n")
                || behind.starts_with(" kB ·")
                || token.contains(',') && is_counted(out.as_str(), behind));
        if is_date(token) {
            out.push_str("[DATE]");
            rest = without_time(behind);
        } else if is_id(token) {
            out.push_str("[ID]");
        } else if is_size {
            out.push_str("[SIZE]");
        } else if let Some(after) = behind_age(from) {
            out.push_str(AGE);
            if after.starts_with("  ") {
                let age = from.len() - after.len();
                out.push_str(&" ".repeat(age.saturating_sub(AGE.len())));
            }
            rest = after;
        } else {
            out.push_str(token);
        }
    }
    out + rest
}

/// A word, a number with its separators, or a date with a time; and what is behind it.
fn token(from: &str) -> (&str, &str) {
    let end = |rest: &str| from.len() - rest.len();
    let word = end(from.trim_start_matches(char::is_alphanumeric));
    let long = end(from.trim_start_matches(|c: char| c.is_alphanumeric() || "-:,.".contains(c)));
    let whole = from[..long].trim_end_matches(['-', ':', ',', '.']);
    let length = if is_date(whole) || is_number(whole) {
        whole.len()
    } else {
        word
    };
    from.split_at(length)
}

/// What follows an age, if the text begins with one, as in `just now · 2 messages`.
fn behind_age(from: &str) -> Option<&str> {
    let unit = from.trim_start_matches(|c: char| c.is_ascii_digit());
    let minutes = unit.strip_prefix(" min ago");
    let behind = minutes
        .filter(|_| unit.len() < from.len())
        .or_else(|| from.strip_prefix("just now"))?;
    (!behind.starts_with(char::is_alphanumeric)).then_some(behind)
}

/// Whether a number says how large a request is, or a part of it.
fn is_counted(before: &str, behind: &str) -> bool {
    let is_with_tokens = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    behind.starts_with(" tokens")
        || before.ends_with("tools ")
        || behind.strip_prefix(" bytes, ").is_some_and(is_with_tokens)
}

/// What follows a time with its zone, as in ` 18:08:12 UTC`.
fn without_time(behind: &str) -> &str {
    let time = behind.strip_prefix(' ').filter(|it| {
        let (digits, colons) = ([0, 1, 3, 4, 6, 7], [2, 5]);
        let bytes = it.as_bytes();
        let all = |places: &[usize], is: fn(&u8) -> bool| {
            places.iter().all(|at| bytes.get(*at).is_some_and(is))
        };
        all(&digits, u8::is_ascii_digit) && all(&colons, |byte| *byte == b':')
    });
    let Some(time) = time else { return behind };
    let zone = time[8..].trim_start_matches(' ');
    zone.trim_start_matches(|c: char| c.is_alphanumeric() || "+-".contains(c))
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || c == ',')
}

/// As in `2026-11-28` and `2026-11-28T18:00:41.537Z`.
fn is_date(word: &str) -> bool {
    let mut parts = word.splitn(3, '-');
    let mut digits = |count: usize| {
        let part = parts.next().unwrap_or_default();
        part.len() >= count && part.bytes().take(count).all(|byte| byte.is_ascii_digit())
    };
    word.len() >= 10 && digits(4) && digits(2) && digits(2)
}

fn is_id(word: &str) -> bool {
    /// Of which ids of sessions are made.
    const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxz23456789";
    let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_digest = matches!(word.len(), 8 | 16 | 32 | 64)
        && word.bytes().all(is_hex)
        && word.contains(|c: char| c.is_ascii_digit());
    is_digest || word.len() == 8 && word.bytes().all(|byte| LETTERS.contains(&byte))
}

/// Names the folder of the test where `…` is in the middle of its path.
fn shortened_roots(text: &str, root: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('…') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        rest = &from['…'.len_utf8()..];
        let head = (5..root.len())
            .rev()
            .find(|end| out.ends_with(&root[..*end]));
        let tail = (1..root.len()).find(|start| rest.starts_with(&root[*start..]));
        match (head, tail) {
            (Some(head), Some(tail)) => {
                out.truncate(out.len() - head);
                out.push_str("[ROOT]");
                rest = &rest[root.len() - tail..];
            }
            _ => out.push('…'),
        }
    }
    out + rest
}

fn ports(text: &str) -> String {
    const LOOPBACK: &str = "127.0.0.1:";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(LOOPBACK) {
        let (before, port) = rest.split_at(at + LOOPBACK.len());
        out.push_str(before);
        rest = port.trim_start_matches(|c: char| c.is_ascii_digit());
        out.push_str(if rest.len() < port.len() {
            "[PORT]"
        } else {
            ""
        });
    }
    out + rest
}

fn times(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let behind = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let digits = &number[..number.len() - behind.len()];
        let in_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '.');
        match (in_word, unit(digits, behind)) {
            (false, Some(after)) => {
                out.push_str(before.strip_suffix('<').unwrap_or(before));
                out.push_str("[TIME]");
                rest = after;
            }
            _ => {
                out.push_str(before);
                out.push_str(digits);
                rest = behind;
            }
        }
    }
    out + rest
}

/// What follows the unit, if `digits` with what is `behind` it is a measured time.
fn unit<'a>(digits: &str, behind: &'a str) -> Option<&'a str> {
    let behind = behind.strip_prefix(' ').unwrap_or(behind);
    let seconds = if digits.contains('.') {
        behind.strip_prefix('s')
    } else {
        None
    };
    let after = behind
        .strip_prefix("ms")
        .or_else(|| behind.strip_prefix("µs"))
        .or(seconds)?;
    (!after.starts_with(char::is_alphanumeric)).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_run_to_run() {
        let check = |text: &str, expected: &str| {
            assert_eq!(normalise(text, Path::new("/tmp/x")), expected);
        };
        check(
            "✓ read_file /tmp/x/project/a.rs  12 ms",
            "✓ read_file [PROJECT]/a.rs  [TIME]",
        );
        check(
            "/tmp/x/home/config /tmp/x/outside",
            "[HOME]/config [ROOT]/outside",
        );
        check("http://127.0.0.1:4711/v1", "http://127.0.0.1:[PORT]/v1");
        check(
            "1.25 s, 300µs, 4ms. <1 ms",
            "[TIME], [TIME], [TIME]. [TIME]",
        );
        check(
            "stopped after 30 s, line 12, 4 msgs, v1.2ms",
            "stopped after 30 s, line 12, 4 msgs, v1.2ms",
        );
    }

    #[test]
    fn a_snapshot_has_no_ids_dates_and_sizes() {
        let check = |text: &str, expected: &str| {
            assert_eq!(
                for_snapshot(text, Path::new("/tmp/dunlin-test-abc")),
                expected
            );
        };
        let digest = "0123456789abcdef".repeat(4);
        let text = format!("sha256:{digest}, 1.0.0, 89abcdef; deadbeef 12345 v89abcdef");
        check(&text, "sha256:[ID], 1.0.0, [ID]; deadbeef 12345 v89abcdef");
        check("session vt4zhth6 (ksh6mtx7)", "session [ID] ([ID])");
        check(
            "on 2026-11-28, 2026-11-28T18:00:41.537Z.",
            "on [DATE], [DATE].",
        );
        check(
            "3 min ago, just now; just nowhere",
            "[AGE], [AGE]; just nowhere",
        );
        check("1  just now    a", "1  [AGE]       a");
        check("1  12 min ago  a", "1  [AGE]       a");
        check(
            "12,164 bytes, 45 bytes, 1,200 lines; tools 2,912 ·",
            "[SIZE] bytes, 45 bytes, 1,200 lines; tools [SIZE] ·",
        );
        check("/tmp/dunl…st-abc/a.txt, a…b", "[ROOT]/a.txt, a…b");
    }
}
